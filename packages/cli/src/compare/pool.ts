/** Runs the jobs of a comparison on all cores. */
import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { View } from 'indelible/history'
import type { Message } from 'indelible/message'
import { runJob, toSentConversation, type PricedResult, type CompareJob, type SentJob } from './job.ts'

/** A conversation shorter than this is compared faster than a thread starts. */
const shortestForThreads = 200

/**
 * Run jobs, and yield each result as soon as it and the earlier ones are done.
 *
 * @param progress receives the number of messages done, over all jobs
 */
export async function* resultsOf(
  view: View<Message>,
  jobs: readonly CompareJob[],
  progress: (done: number) => void,
): AsyncGenerator<PricedResult> {
  const done = jobs.map(() => 0)
  const reportProgress = (index: number, messages: number): void => {
    done[index] = messages
    progress(done.reduce((sum, each) => sum + each, 0))
  }
  const threads = Math.min(availableParallelism(), jobs.length)
  if (threads < 2 || view.length < shortestForThreads) {
    for (const [index, job] of jobs.entries()) yield runJob(view, job, (messages) => reportProgress(index, messages))
    return
  }
  const conversation = toSentConversation(view)
  const workers = new Set<Worker>()
  const results: Promise<PricedResult>[] = []
  const startNext = (): void => {
    const index = results.length
    const job = jobs[index]
    if (job === undefined) return
    const { promise, resolve, reject } = Promise.withResolvers<PricedResult>()
    const file = `./compare-thread${extname(import.meta.url)}`
    const worker = new Worker(new URL(file, import.meta.url), { workerData: { conversation, job } satisfies SentJob })
    workers.add(worker)
    worker.on('message', (report: number | PricedResult) => {
      if (typeof report === 'number') return reportProgress(index, report)
      reportProgress(index, view.length)
      resolve(report)
      startNext()
    })
    worker.on('error', reject)
    worker.on('exit', () => workers.delete(worker))
    promise.catch(() => undefined) // the caller that awaits it gets the error
    results.push(promise)
  }
  for (let thread = 0; thread < threads; thread++) startNext()
  try {
    for (let index = 0; index < jobs.length; index++) yield results[index] as Promise<PricedResult>
  } finally {
    await Promise.all([...workers].map((worker) => worker.terminate()))
  }
}
