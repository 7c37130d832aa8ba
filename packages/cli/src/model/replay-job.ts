/** One replay, of a policy at a budget: its input for a thread, and its work. */
import type { ModelPrices } from 'indelible/context'
import { policies } from '../compare/policies.ts'
import { replay, type Replay } from '../compare/replay.ts'
import { createHistory, type View } from 'indelible/history'
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import { costCounter, type ReplayCosts } from './replay-costs.ts'

export interface ReplayJob {
  readonly policy: string
  readonly budget: number
  readonly model?: ModelPrices
}

/** A conversation in the form that is sent to a thread. */
export interface SentConversation {
  readonly messages: readonly Message[]
  readonly pages: readonly PageKind[]
}

/** The data that starts a thread. */
export interface SentJob {
  readonly conversation: SentConversation
  readonly job: ReplayJob
}

export type PricedReplay = Replay & ReplayCosts

export const doReplay = (view: View<Message>, job: ReplayJob, onProgress: (done: number) => void): PricedReplay => {
  const policy = policies.find(({ name }) => name === job.policy)
  if (policy === undefined) throw new TypeError(`there is no policy ${JSON.stringify(job.policy)}`)
  const { budget, model } = job
  const costs = costCounter({ model })
  const measured = replay(view, { budget, policy, prices: costs.prices, onProgress, onAnswer: costs.add })
  return { ...measured, ...costs.sum() }
}

export const toSentConversation = (view: View<Message>): SentConversation => ({
  messages: [...view],
  pages: [...view.pages],
})

export const viewOf = ({ messages, pages }: SentConversation): View<Message> => {
  const history = createHistory<Message>()
  messages.forEach((message, position) => history.append(message, pages[position]))
  return history.view()
}
