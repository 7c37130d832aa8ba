export type { UsageCall, UsageCause } from './call.ts'
export type { ExplainedCall, UsagePart } from './explain.ts'
export { explainUsage, type ExplainedUsage } from './explain-usage.ts'
export type { CauseSum, UsageSums } from './sums.ts'
