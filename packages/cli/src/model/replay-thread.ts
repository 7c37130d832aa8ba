/** A thread that replays a conversation: it is given the conversation, then one job after the other. */
// oxlint-disable unicorn/require-post-message-target-origin -- a thread's port has no origin
import { parentPort, workerData } from 'node:worker_threads'
import { doReplay, viewOf, type ReplayJob, type SentConversation } from './replay-job.ts'

const view = viewOf(workerData as SentConversation)

parentPort?.on('message', (job: ReplayJob) => {
  let told = Date.now()
  const replay = doReplay(view, job, (done) => {
    if (Date.now() - told < 100) return
    told = Date.now()
    parentPort?.postMessage({ done })
  })
  parentPort?.postMessage({ replay })
})
