/** One replay: a policy at a budget. What a thread is given, and what it does with it. */
import {
  incremental,
  oracle,
  paged,
  replay,
  reset,
  thrifty,
  timeIn,
  window,
  type EvaluationPolicy,
  type ModelPrices,
  type Policy,
  type Replay,
} from '../context/index.ts'
import { createHistory, type View } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'

export interface ReplayJob {
  /** The name of the policy. */
  readonly policy: string
  readonly budget: number
  readonly model?: ModelPrices
  /** Whether it is compared with `oracle`: that takes a second replay. */
  readonly compared: boolean
}

/** A conversation as another thread can be given it. */
export interface SentConversation {
  readonly messages: readonly Message[]
  readonly pages: readonly PageKind[]
}

/** The policies that a replay can judge. */
export const judged: readonly (Policy | EvaluationPolicy)[] = [paged, thrifty, reset, incremental, window, oracle()]

/** Do one replay. */
export const doReplay = (view: View<Message>, job: ReplayJob, onProgress: (done: number) => void): Replay => {
  const policy = judged.find(({ name }) => name === job.policy)
  if (policy === undefined) throw new TypeError(`there is no policy ${JSON.stringify(job.policy)}`)
  const { budget, model, compared } = job
  const given = { budget, policy, onProgress, timeOf: timeIn }
  return replay(view, { ...given, ...(model && { model }), ...(!compared && { oracleRereads: 0 }) })
}

export const sentOf = (view: View<Message>): SentConversation => ({ messages: [...view], pages: [...view.pages] })

export const viewOf = ({ messages, pages }: SentConversation): View<Message> => {
  const history = createHistory<Message>()
  messages.forEach((message, position) => history.append(message, pages[position]))
  return history.view()
}
