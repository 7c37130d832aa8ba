/** When a run ends though the model would go on. */
import type { Usage } from '../notes/index.ts'
import type { RunStep } from './result.ts'

/** The limits of a run, with every default filled in. */
export interface Limits {
  /** Model calls. Default: 50. */
  readonly maxSteps: number
  /** Tool calls of the whole run: an answer with more than are left has none of them run. Default: none. */
  readonly maxToolCalls: number
  /** Input and output tokens of all steps, as the provider counts them; checked after each answer. Default: none. */
  readonly maxTokens: number
  /** Milliseconds, of the whole run. Default: none. */
  readonly timeout: number
  /** Milliseconds, of each step: the answer and its tools. Default: none. */
  readonly stepTimeout: number
  /** Asked after each step with tools: whether that was enough. */
  readonly stopWhen?: (state: { readonly steps: readonly RunStep[]; readonly usage: Usage }) => boolean
}

export const noLimits: Limits = Object.freeze({
  maxSteps: 50,
  maxToolCalls: Infinity,
  maxTokens: Infinity,
  timeout: Infinity,
  stepTimeout: Infinity,
})
