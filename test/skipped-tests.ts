/** Tests that need what a machine may lack. What is left out is listed with its reason at the end of a run. */
import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test, or every test of a suite, was left out. */
    leftOut?: string
  }
}

/** Options of a test or a suite that is left out where something is missing: `it(name, leftOutIf(!there, 'reason'), run)`. */
export const leftOutIf = (isMissing: boolean, reason: string): TestOptions =>
  isMissing ? { skip: true, meta: { leftOut: reason } } : {}
