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

const answer = async (question: QuestionWithId): Promise<void> => {
  const { id } = question
  const pause = async (share: number): Promise<boolean> => {
    postAnswer({ id, share })
    await new Promise((resolve) => setTimeout(resolve))
    return !stoppedIds.has(id)
  }
  if (question.name === 'compare')
    for await (const series of deriver.compare(question.calls, question.budget, pause)) postAnswer({ id, series })
  const found =
    question.name === 'compare'
      ? undefined
      : question.name === 'epoch'
        ? await deriver.epoch(question.argument, pause)
        : (deriver[question.name] as (argument: unknown) => unknown)(question.argument)
  stoppedIds.delete(id)
  postAnswer({ id, answer: found })
}
