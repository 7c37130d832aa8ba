/**
 * `reset`: when the budget is reached, everything before the tail becomes one summary, and the conversation goes on from
 * there. The tail is the active turn and what stands before it, up to half of the budget; where the turn alone is too much,
 * its longest texts are cut. Notes give the summaries; what none covers is summed up by the library's own extract.
 *
 * Source  Lu et al., "Scaling LLM Multi-turn RL with End-to-end Summarization-based Context Management" (arXiv 2510.06727)
 */
import { isProtected } from './degrade.ts'
import { activeFits, activeOnly, filled, fitted } from './fit.ts'
import type { Candidate, Policy } from './policy.ts'

/** The policy that keeps the active turn, and stands one summary for everything before it. */
export const reset: Policy = Object.freeze<Policy>({
  name: 'reset',
  choose: 'epochs',
  extracts: true,
  select: (selection) => {
    const { candidates, budget } = selection
    const choices = activeFits(selection) ? activeOnly(selection) : fitted(selection, budget / 2)
    const whole = choices.map((choice, index) => {
      const candidate = candidates[index] as Candidate
      return isProtected(candidate) ? candidate.level : choice
    })
    return filled(selection, whole, budget / 2)
  },
})
