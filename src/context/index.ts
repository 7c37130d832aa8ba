export { usableTokens, type Budget, type WindowParts } from './deriving/budget.ts'
export {
  deriveContext,
  type DerivedContext,
  type DerivedBy,
  type DeriveOptions,
  type Prices,
  type SentContext,
} from './deriving/derive.ts'
export {
  modelSummarizer,
  summariesInBackground,
  type BackgroundOptions,
  type BackgroundSummaries,
} from './deriving/background.ts'
export { degrade } from './policies/degrade.ts'
export type { ContextFault, MinimumPage, RecallFault, RecallRequest, SummaryFault } from './fault.ts'
export { manageHistory, type ManagedView, type ManageOptions } from './policies/manage.ts'
export type { Range } from '../sequence/index.ts'
export { markMessage, type MessageMark, type MarkOf } from './policies/marks.ts'
export { modelPrices, pricesOf, type ModelPrices, type ModelRates, type Rates } from './counting/model-prices.ts'
export type { OfferedTool } from './deriving/offered-tools.ts'
export { paged, type PagedOptions } from './policies/paged.ts'
export type { Candidate, Choice, Cut, Policy, Selection } from './policies/policy.ts'
export { prepareSummaries, type PrepareOptions, type Summarizer, type SummaryRange } from './deriving/prepare.ts'

export type { ContextFaults } from './replay/judge.ts'
export {
  recall,
  recallTool,
  type Recalled,
  type RecalledEntry,
  type RecallOptions,
  type RecallTool,
  type RecallToolOptions,
} from './recall/recall.ts'
export { replay, type Replay, type ReplayOptions } from './replay/replay.ts'
export { lexicalSearch, type RecallMatch, type RecallSearch } from './recall/search.ts'
export type { ContextSource } from './deriving/source.ts'
export type { Span } from './deriving/span.ts'

export { estimateTokens, type Estimator, type Tokenizer } from './counting/tokens.ts'
export { window } from './policies/window.ts'
