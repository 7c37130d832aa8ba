/** The token counts of the call behind an imported answer, as its source file has them in the `meta` of the message. */
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import { answerCounts, usageOf } from '../format/call-counts.ts'
import type { Counted } from '../format/format-facts.ts'
import { formats } from '../programs/formats.ts'
import { isUndercounted } from '../format/origin.ts'

export interface CallUsage {
  /** The model, with the way of serving it where that changes its price, as `gpt-5 (batch)`. */
  readonly model: string
  readonly usage: Usage
  /** Names the call, where a file may write its answer in several lines, or again. */
  readonly key?: string
  /** Set if the answer holds more tokens than were counted: its cost is at least that of `usage`. */
  readonly undercounted?: true
}

/** Undefined if the file counts nothing for the message. */
export const callUsageOf = (message: Message): CallUsage | undefined => {
  let counted: Counted | undefined
  for (const { countsOf } of formats) counted ??= countsOf && answerCounts(countsOf, message)
  if (typeof counted?.model !== 'string' || typeof counted.fresh !== 'number') return undefined
  const { model, tier } = counted
  const { input, ...used } = usageOf(counted)
  const usage: Usage = {
    input,
    output: used.output,
    cacheRead: used.cacheRead,
    cacheWrite: used.cacheWrite,
    ...(used.cacheWriteHour > 0 && { cacheWriteHour: used.cacheWriteHour }),
  }
  if (input + usage.output === 0) return undefined // a program that counts nothing writes zeros
  return {
    model: tier === undefined ? model : `${model} (${tier})`,
    usage,
    ...(counted.key !== undefined && { key: counted.key }),
    ...(isUndercounted([message], usage.output) && { undercounted: true as const }),
  }
}
