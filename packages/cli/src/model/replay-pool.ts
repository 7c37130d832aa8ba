/** Runs independent replays on all cores. */
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { View } from 'indelible/history'
import type { Message } from 'indelible/message'
import { doReplay, toSentConversation, type PricedReplay, type ReplayJob, type SentJob } from './replay-job.ts'

/** A conversation shorter than this is replayed faster than a thread starts. */
const shortestForThreads = 200

/**
 * Run replays, and yield each as soon as it and the earlier ones are done.
 *
 * @param progress receives the number of messages replayed, over all jobs
 */
export async function* replaysOf(
  view: View<Message>,
  jobs: readonly ReplayJob[],
  progress: (done: number) => void,
): AsyncGenerator<PricedReplay> {
  const done = jobs.map(() => 0)
  const reportProgress = (index: number, messages: number): void => {
    done[index] = messages
    progress(done.reduce((sum, each) => sum + each, 0))
  }
  const threads = Math.min(availableParallelism(), jobs.length)
  if (threads < 2 || view.length < shortestForThreads) {
    for (const [index, job] of jobs.entries()) yield doReplay(view, job, (messages) => reportProgress(index, messages))
    return
  }
  const conversation = toSentConversation(view)
  const workers = new Set<Worker>()
  const replays: Promise<PricedReplay>[] = []
  const begin = (): void => {
    const index = replays.length
    const job = jobs[index]
    if (job === undefined) return
    const { promise, resolve, reject } = Promise.withResolvers<PricedReplay>()
    const file = `./replay-thread${extname(import.meta.url)}`
    const worker = new Worker(new URL(file, import.meta.url), { workerData: { conversation, job } satisfies SentJob })
    workers.add(worker)
    worker.on('message', (said: number | PricedReplay) => {
      if (typeof said === 'number') return reportProgress(index, said)
      reportProgress(index, view.length)
      resolve(said)
      begin()
    })
    worker.on('error', reject)
    worker.on('exit', () => workers.delete(worker))
    promise.catch(() => undefined) // the caller that awaits it gets the error
    replays.push(promise)
  }
  for (let thread = 0; thread < threads; thread++) begin()
  try {
    for (let index = 0; index < jobs.length; index++) yield replays[index] as Promise<PricedReplay>
  } finally {
    await Promise.all([...workers].map((worker) => worker.terminate()))
  }
}
