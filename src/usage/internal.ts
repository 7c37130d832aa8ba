/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export type { Evidence, UsageCause } from './call.ts'
export { breakIn, explainCalls, UsageExplainer } from './explain.ts'
export {
  callsIn,
  changedEffort,
  lineEvidence,
  packCalls,
  ReceiptCalls,
  summedCalls,
  unpackCalls,
  type LineChange,
  type PackedCalls,
} from './session-calls.ts'
export { sumCalls } from './sums.ts'
