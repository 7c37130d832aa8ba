/**
 * `reset`: when the budget is reached, everything before the tail becomes one summary, and the conversation goes on from
 * there. The tail is the active turn; where that alone is too much, its task and the latest of it, up to half of the
 * budget. Notes give the summaries; what none covers is summed up by the library's own extract.
 *
 * Source  Lu et al., "Scaling LLM Multi-turn RL with End-to-end Summarization-based Context Management" (arXiv 2510.06727)
 */
import type { ResidencyLevel } from '../pages/index.ts'
import { isProtected } from './degrade.ts'
import type { Policy } from './policy.ts'

export const reset: Policy = Object.freeze<Policy>({
  name: 'reset',
  choose: 'epochs',
  extracts: true,
  select: ({ candidates, budget }) => {
    const levels = candidates.map((candidate): ResidencyLevel => (isProtected(candidate) ? candidate.level : 'pointer'))
    const task = candidates.findIndex(({ active }) => active)
    let room = budget / 2
    for (const index of task === -1 ? [] : [task, ...latestFirst(task + 1, candidates.length)]) {
      const candidate = candidates[index]
      if (candidate === undefined || isProtected(candidate)) continue
      room -= candidate.tokens(candidate.level)
      if (room < 0) break
      levels[index] = candidate.level
    }
    return levels
  },
})

const latestFirst = (from: number, to: number): readonly number[] => Array.from({ length: Math.max(0, to - from) }, (_, index) => to - 1 - index)
