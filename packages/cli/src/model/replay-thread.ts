/** A thread that runs one replay. It reports the number of messages done, and then the replay. */
// oxlint-disable unicorn/require-post-message-target-origin -- a thread's port has no origin
import { parentPort, workerData } from 'node:worker_threads'
import { doReplay, viewOf, type SentJob } from './replay-job.ts'

const { conversation, job } = workerData as SentJob
let lastReport = Date.now()
const replay = doReplay(viewOf(conversation), job, (done) => {
  if (Date.now() - lastReport < 100) return
  lastReport = Date.now()
  parentPort?.postMessage(done)
})
parentPort?.postMessage(replay)
