/** A thread that runs one job of a comparison. It reports the number of messages done, and then the result. */
// oxlint-disable unicorn/require-post-message-target-origin -- a thread's port has no origin
import { parentPort, workerData } from 'node:worker_threads'
import { runJob, viewOf, type SentJob } from './job.ts'

const { conversation, job } = workerData as SentJob
let lastReport = Date.now()
const result = runJob(viewOf(conversation), job, (done) => {
  if (Date.now() - lastReport < 100) return
  lastReport = Date.now()
  parentPort?.postMessage(done)
})
parentPort?.postMessage(result)
