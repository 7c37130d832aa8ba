/** Finds the breaks of the provider's cached prefix in consecutive calls, from the provider's token counts. */
import { ownFields } from 'indelible/internal/json'
import type { Usage } from 'indelible/internal/notes'
import { shortName } from './named-tools.ts'
import type { CacheBreak } from './receipt.ts'

/** The smallest block that providers cache. Fewer repeated tokens prove nothing. */
const smallest = 1024

/** The counts of a call, compared with the previous call. */
export interface SentAgain {
  /** The tokens that were sent before but were not cached; 0 if they are too few to count. */
  readonly again: number
  /** Whether some of them may be new: the request is not larger than the previous one, or another model counted that. */
  readonly isUpperBound: boolean
  /** The model of the previous call, if different. */
  readonly other: string | undefined
  /** Whether most of the previous request was no longer in the cache, where it had been. */
  readonly broke: boolean
}

/** Where a cached prefix ended: as the receipt says, or as the token counts show. */
export interface CallBreak extends Omit<CacheBreak, 'where'> {
  /** `model`: the previous call went to another model. `missed`: nothing changed, but the provider no longer had it. */
  readonly where: CacheBreak['where'] | 'model' | 'missed'
}

export const otherModelText = (other: string): string =>
  `the previous call went to ${shortName(other)}, and each model has its own cache`

export const missedText = 'nothing changed, but the prefix was no longer in the provider’s cache'

/** Compares consecutive calls. */
export class CacheWatch {
  #last: { readonly model: string; readonly input: number } | undefined
  #hasCache = false
  /** Whether the last counted call left something in the cache, as far as its counts say. */
  #leftCache = true
  /** Whether a call without counts named a break, which is then that of the call that repeats it. */
  #isNamed = false

  /** The next call with token counts. `named`: whether the recorder reported a break. */
  next(model: string, usage: Usage, named: boolean): SentAgain | undefined {
    const { input, cacheRead, cacheWrite } = ownFields(usage)
    const last = this.#last
    this.#last = { model, input }
    if (cacheRead === undefined) return undefined
    const grown = last === undefined ? input : Math.max(0, input - last.input)
    const again = Math.max(0, input - cacheRead - grown)
    const isKnown = named || again >= smallest
    const isLost = isKnown && this.#hasCache && last !== undefined && again * 2 > last.input
    const broke = this.#leftCache && (named || isLost)
    this.#leftCache = cacheWrite === undefined || cacheRead + cacheWrite > 0
    this.#hasCache ||= cacheRead > 0 || (cacheWrite ?? 0) > 0
    const other = last === undefined || last.model === model ? undefined : last.model
    const isUpperBound = last !== undefined && (input <= last.input || other !== undefined)
    return { again: isKnown ? again : 0, isUpperBound, other, broke }
  }

  /** The break at the next call, counted or not; undefined if there is none, or if the call before it had the same one. */
  breakAt(model: string, usage: Usage | undefined, named: CacheBreak | undefined): CallBreak | undefined {
    const wasNamed = this.#isNamed
    const sent = usage && this.next(model, usage, named !== undefined || wasNamed)
    this.#isNamed = usage === undefined && (named !== undefined || wasNamed)
    const other = sent?.other === undefined ? undefined : otherModelText(sent.other)
    if (named !== undefined && sent?.broke !== false)
      return other === undefined ? named : { ...named, where: 'model', because: `${other}; ${named.because}` }
    if (sent?.broke !== true || wasNamed) return undefined
    return other === undefined ? { where: 'missed', because: missedText } : { where: 'model', because: other }
  }
}
