/** Replays on all cores: each of them is work of its own, and none needs another. */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { View } from 'indelible/history'
import type { Message } from 'indelible/message'
import { doReplay, sentOf, type PricedReplay, type ReplayJob, type SentConversation } from './replay-job.ts'

/** A conversation shorter than this is replayed sooner than a thread starts. */
const short = 200

/**
 * Do replays, and give each as soon as it and those before it are done.
 *
 * @param progress gets how many messages were replayed, of all jobs together
 */
export async function* replaysOf(
  view: View<Message>,
  jobs: readonly ReplayJob[],
  progress: (done: number) => void,
): AsyncGenerator<PricedReplay> {
  const done = jobs.map(() => 0)
  const tell = (index: number, messages: number): void => {
    done[index] = messages
    progress(done.reduce((sum, each) => sum + each, 0))
  }
  const threads = Math.min(availableParallelism(), jobs.length)
  if (threads < 2 || view.length < short) {
    for (const [index, job] of jobs.entries()) yield doReplay(view, job, (messages) => tell(index, messages))
    return
  }
  const results = jobs.map(() => Promise.withResolvers<PricedReplay>())
  for (const { promise } of results) promise.catch(() => undefined) // whoever awaits it is told
  const conversation = sentOf(view)
  let next = 0
  const workers = Array.from({ length: threads }, () =>
    threadOf(conversation, {
      next: () => (next < jobs.length ? { index: next, job: jobs[next++] as ReplayJob } : undefined),
      progress: tell,
      done: (index, replay) => {
        tell(index, view.length)
        results[index]?.resolve(replay)
      },
      failed: (error) => {
        for (const { reject } of results) reject(error)
      },
    }),
  )
  try {
    for (const { promise } of results) yield await promise
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

interface Work {
  readonly next: () => { readonly index: number; readonly job: ReplayJob } | undefined
  readonly progress: (index: number, messages: number) => void
  readonly done: (index: number, replay: PricedReplay) => void
  readonly failed: (error: unknown) => void
}

type Said = { readonly done: number } | { readonly replay: PricedReplay }

/** A thread that takes the next job whenever it has done one. */
const threadOf = (conversation: SentConversation, work: Work): Worker => {
  const file = import.meta.url.endsWith('.ts') ? './replay-thread.ts' : './replay-thread.js'
  const worker = new Worker(new URL(file, import.meta.url), { workerData: conversation })
  let current: number | undefined
  const take = (): void => {
    const taken = work.next()
    current = taken?.index
    if (taken !== undefined) worker.postMessage(taken.job) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has none
  }
  worker.on('message', (said: Said) => {
    if (current === undefined) return
    if ('done' in said) return work.progress(current, said.done)
    work.done(current, said.replay)
    take()
  })
  worker.on('error', work.failed)
  take()
  return worker
}
