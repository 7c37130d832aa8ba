/** One job of a comparison, a policy at a budget: its input for a thread, and its work. */
import type { ModelPrices } from 'indelible/context'
import { policies } from '@indelible/view/internal'
import { replay, type Replay } from './replay.ts'
import type { View } from 'indelible/history'
import { viewWithPages } from '../sources/input.ts'
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import { costCounter, type CallCosts } from './costs.ts'

export interface CompareJob {
  readonly policy: string
  readonly budget: number
  readonly model?: ModelPrices
}

/** A conversation in the form that is sent to a thread. */
interface SentConversation {
  readonly messages: readonly Message[]
  readonly pages: readonly PageKind[]
}

/** The data that starts a thread. */
export interface SentJob {
  readonly conversation: SentConversation
  readonly job: CompareJob
}

export type PricedResult = Replay & CallCosts

export const runJob = (view: View<Message>, job: CompareJob, onProgress: (done: number) => void): PricedResult => {
  const policy = policies.find(({ name }) => name === job.policy)
  if (policy === undefined) throw new TypeError(`there is no policy ${JSON.stringify(job.policy)}`)
  const { budget, model } = job
  const costs = costCounter(model)
  const measured = replay(view, { budget, policy, prices: costs.prices, onProgress, onAnswer: costs.add })
  return { ...measured, ...costs.sum() }
}

export const toSentConversation = (view: View<Message>): SentConversation => ({
  messages: [...view],
  pages: [...view.pages],
})

export const viewOf = ({ messages, pages }: SentConversation): View<Message> => viewWithPages(messages, pages)
