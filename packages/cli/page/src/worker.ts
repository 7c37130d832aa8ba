/** The worker of the page: it derives contexts, so that the page itself never waits for one. */
// oxlint-disable unicorn/require-post-message-target-origin -- a worker's messages have no origin
import { reasonOf } from 'indelible/task/kit'
import { Deriver } from './deriving.ts'
import type { FromWorker, ToWorker } from './worker-client.ts'

const deriver = new Deriver()
const stopped = new Set<number>()
const say = (said: FromWorker): void => postMessage(said)

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if ('messages' in data) return deriver.add(data.messages, data.notes)
  if ('stop' in data) return void stopped.add(data.stop)
  void answer(data).catch((cause: unknown) => say({ id: data.id, fault: reasonOf(cause) }))
})

const answer = async (
  data: Exclude<ToWorker, { readonly messages: unknown } | { readonly stop: number }>,
): Promise<void> => {
  const { id } = data
  if (data.name !== 'compare')
    return say({
      id,
      answer: (deriver[data.name] as (asked: unknown) => unknown)(data.asked),
      derived: deriver.derived,
    })
  const pause = async (share: number): Promise<boolean> => {
    say({ id, share })
    await new Promise((resolve) => setTimeout(resolve))
    return !stopped.has(id)
  }
  for await (const series of deriver.compare(data.calls, data.budget, pause)) say({ id, series })
  say({ id, answer: undefined, derived: deriver.derived })
}
