/** The worker of the page: it derives contexts, so that the page itself never waits for one. */
// oxlint-disable unicorn/require-post-message-target-origin -- a worker's messages have no origin
import { reasonOf } from 'indelible/internal/task'
import { Deriver } from '../../../src/calls/derive-contexts.ts'
import type { QuestionWithId, FromWorker, ToWorker } from './worker-client.ts'

let deriver = new Deriver()
const stoppedIds = new Set<number>()
const postAnswer = (report: FromWorker): void => postMessage(report)

/** Answer the page from here on. */
export const startWorker = (): void =>
  addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
    if ('restart' in data) return void (deriver = new Deriver())
    if ('messages' in data) return deriver.add(data.messages, data.notes)
    if ('stop' in data) return void stoppedIds.add(data.stop)
    void answer(data).catch((cause: unknown) => postAnswer({ id: data.id, fault: reasonOf(cause) }))
  })

const answer = async (asked: QuestionWithId): Promise<void> => {
  const { id } = asked
  const pause = async (share: number): Promise<boolean> => {
    postAnswer({ id, share })
    await new Promise((resolve) => setTimeout(resolve))
    return !stoppedIds.has(id)
  }
  if (asked.name === 'compare')
    for await (const series of deriver.compare(asked.calls, asked.budget, pause)) postAnswer({ id, series })
  const found =
    asked.name === 'compare'
      ? undefined
      : asked.name === 'epoch'
        ? await deriver.epoch(asked.asked, pause)
        : (deriver[asked.name] as (asked: unknown) => unknown)(asked.asked)
  stoppedIds.delete(id)
  postAnswer({ id, answer: found })
}
