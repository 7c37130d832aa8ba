/** Packing: candidates taken whole while there is room, the others as pointers. */
import type { ResidencyLevel } from '../pages/index.ts'
import type { Candidate } from './policy.ts'

/** The levels of all candidates, and how to keep one whole: nothing happens where it does not fit. */
export const pack = (candidates: readonly Candidate[], budget: number, markerTokens: number): { readonly levels: ResidencyLevel[]; readonly keep: (index: number) => void } => {
  const levels = candidates.map((): ResidencyLevel => 'pointer')
  // A message that is kept may stand between two ranges that are not shown, each with a marker of its own.
  let room = budget - markerTokens
  const keep = (index: number): void => {
    const tokens = (candidates[index] as Candidate).tokens('full') + markerTokens
    if (tokens > room) return
    room -= tokens
    levels[index] = 'full'
  }
  return { levels, keep }
}
