/** What a context is derived with, checked. */
import type { Estimator } from '../counting/tokens.ts'
import type { Policy } from '../policies/policy.ts'
import type { RecallName } from '../showing/marker.ts'

export interface Settings {
  readonly policy: Policy
  /** The tokens available for messages. */
  readonly budget: number
  readonly estimate: Estimator
  /** The tool that markers name. */
  readonly recall: RecallName
  /** The tokens of tools and system prompt, not included in the budget. */
  readonly reserved: number
  /** The model whose receipts correct the estimate. */
  readonly model: string | undefined
}
