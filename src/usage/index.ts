export type { UsageCall, UsagePart } from './call.ts'
export type { ExplainedCall } from './explain.ts'
export { explainUsage } from './explain-usage.ts'
export type { ExplainedUsage } from './sums.ts'
