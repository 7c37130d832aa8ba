/**
 * `window`, the baseline that everyone has: the latest messages that fit, with calls and results kept together, the first
 * that does not fit cut to what remains, and (the laws of every context) what may not be lost before them. It slides with
 * every call, so that a provider's prompt cache seldom holds.
 */
import { textVersion } from '../showing/marker.ts'
import { packWindow } from './fit.ts'
import type { Policy } from './policy.ts'

/** The policy that keeps the latest messages that fit. It chooses anew at each call. */
export const window: Policy = Object.freeze<Policy>({
  name: 'window',
  version: `${textVersion}`,
  choose: 'always',
  select: (selection) => packWindow(selection, [...selection.candidates.keys()].toReversed()),
})
