/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export type { Evidence, UsageCause } from './call.ts'
export { breakIn, dayOf, explainCalls, inputDollars, UsageExplainer } from './explain.ts'
export {
  callsIn,
  changedEffort,
  lineEvidence,
  packCalls,
  ReceiptCalls,
  receiptCalls,
  summedCalls,
  unpackCalls,
  type LineChange,
  type PackedCalls,
} from './session-calls.ts'
export { hasAnswer, hasFailed } from './receipt.ts'
export { keepSums, SumsReader, type SummedSession } from './kept-sums.ts'
export { mostDearest, sessionSums, type CallGroup, type DearestCall, type SessionSums } from './session-sums.ts'
export { sumCalls } from './sums.ts'
