/**
 * `oracle`: the measure for the others. It looks ahead in a recorded conversation and keeps what the next calls will ask
 * for again, then the latest. Of no use but in a replay, where the future is known; its type says so.
 */
import { toolCallsOf, type Message } from '../message/index.ts'
import { packed } from './fit.ts'
import type { EvaluationPolicy } from './policy.ts'
import { callKey } from './repeats.ts'

/**
 * A policy for comparison that knows the future of a recording. `replay` takes it, `deriveContext` does not.
 *
 * @param horizon the number of messages that it looks ahead. Default: 100
 * @returns the policy
 */
export const oracle = (horizon: number = usual): EvaluationPolicy => (horizon === usual ? standard : oracleOf(horizon))

const usual = 100

const oracleOf = (horizon: number): EvaluationPolicy =>
  Object.freeze<EvaluationPolicy>({
    name: 'oracle',
    evaluationOnly: true,
    at: (recording, position) => {
      const coming = new Map<string, number>()
      for (const [ahead, message] of recording.slice(position, position + horizon).entries())
        for (const call of toolCallsOf(message)) if (!coming.has(callKey(call))) coming.set(callKey(call), ahead)
      return {
        name: 'oracle',
        choose: 'always',
        select: (selection) => {
          const latest = [...selection.candidates.entries()].toReversed()
          const wanted = latest.map(([index, { messages }]) => ({ index, ahead: soonest(messages, coming) }))
          const [soon, rest] = [
            wanted.filter(({ ahead }) => ahead < Infinity),
            wanted.filter(({ ahead }) => ahead === Infinity),
          ]
          return packed(
            selection,
            [...soon.toSorted((a, b) => a.ahead - b.ahead), ...rest].map(({ index }) => index),
          )
        },
      }
    },
  })

/** The one that others are compared with. */
export const standard: EvaluationPolicy = oracleOf(usual)

/** How soon one of the calls of these messages is made again; Infinity, if not within the horizon. */
const soonest = (messages: readonly Message[], coming: ReadonlyMap<string, number>): number => {
  let first = Infinity
  for (const { content } of messages)
    for (const part of content)
      if (part.type === 'tool_call') first = Math.min(first, coming.get(callKey(part)) ?? Infinity)
  return first
}
