/**
 * `window`, the common baseline: the latest messages that fit. Calls and results stay together, the
 * first message that does not fit is cut, and the guarantees of every context still hold. The
 * window slides with every call, so a provider's prompt cache is rarely valid.
 */
import { textVersion } from '../showing/marker.ts'
import { packWindow } from './fit.ts'
import type { Policy } from './policy.ts'

/** The policy that keeps the latest messages that fit. It chooses at every call. */
export const window: Policy = Object.freeze<Policy>({
  name: 'window',
  version: `${textVersion}`,
  choose: 'always',
  reads: 8, // it shows messages of the latest one; of the latest 1.25 if the provider counts less than was estimated
  select: (selection) => packWindow(selection, [...selection.candidates.keys()].toReversed()),
})
