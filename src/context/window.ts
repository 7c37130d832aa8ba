/**
 * `window`, the baseline that everyone has: the latest messages that fit, in full, with calls and results kept together,
 * and (the laws of every context) what may not be lost before them. It slides with every call, so that a provider's
 * prompt cache seldom holds.
 */
import type { ResidencyLevel } from '../pages/index.ts'
import { isProtected } from './degrade.ts'
import type { Policy } from './policy.ts'

export const window: Policy = Object.freeze<Policy>({
  name: 'window',
  choose: 'always',
  select: ({ candidates, budget, markerTokens }) => {
    const levels = candidates.map((candidate): ResidencyLevel => (isProtected(candidate) ? 'full' : 'pointer'))
    // Every kept rule may stand between two ranges that are not shown, each with a marker of its own.
    let room = budget - markerTokens
    for (const candidate of candidates) if (isProtected(candidate)) room -= candidate.tokens('full') + markerTokens
    for (let index = candidates.length - 1; index >= 0; index--) {
      const candidate = candidates[index]
      if (candidate === undefined || isProtected(candidate)) continue
      room -= candidate.tokens('full')
      if (room < 0) break
      levels[index] = 'full'
    }
    return levels
  },
})
