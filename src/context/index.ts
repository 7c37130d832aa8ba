export { usableTokens, type Budget, type WindowParts } from './counting/budget.ts'
export {
  modelPrices,
  pricesOf,
  type ModelPrices,
  type ModelRates,
  type Prices,
  type Rates,
} from './counting/model-prices.ts'
export { estimateTokens, type Estimator, type Tokenizer } from './counting/tokens.ts'
export type { DerivedBy, DerivedContext, SentContext } from './deriving/context.ts'
export { deriveContext, type DeriveOptions } from './deriving/derive.ts'
export type { ContextSource } from './deriving/group.ts'
export type { Keep } from './deriving/keep.ts'
export type { ContextFault, MinimumPage, RecallFault, RecallRequest, SummaryFault } from './fault.ts'
export type { OfferedTool } from './recall/offered-tools.ts'
export {
  recall,
  recallTool,
  type Recalled,
  type RecalledEntry,
  type RecallOptions,
  type RecallTool,
  type RecallToolOptions,
} from './recall/recall.ts'
export { lexicalSearch, type RecallMatch, type RecallSearch } from './recall/search.ts'
export type { Span } from './span.ts'
export {
  modelSummarizer,
  summariesInBackground,
  type BackgroundOptions,
  type BackgroundSummaries,
} from './summarizing/background.ts'
export { prepareSummaries, type PrepareOptions, type Summarizer, type SummaryRange } from './summarizing/prepare.ts'
export type { Range } from '../sequence/index.ts'
