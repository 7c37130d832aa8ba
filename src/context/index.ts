export { usableTokens, type Budget, type WindowParts } from './budget.ts'
export {
  defaultPrices,
  deriveContext,
  type DerivedContext,
  type DeriveOptions,
  type Prices,
  type SentContext,
} from './derive.ts'
export { deriveContextAsync, type AsyncDeriveOptions, type AsyncPolicy, type AsyncTokenizer } from './derive-task.ts'
export {
  modelSummarizer,
  summariesInBackground,
  type BackgroundOptions,
  type BackgroundSummaries,
} from './background.ts'
export { degrade } from './degrade.ts'
export type { ContextFault, MinimumPage, RecallFault, RecallRequest, SummaryFault } from './fault.ts'
export { fusedSearch, type AsyncRecallSearch, type Embed, type FusedOptions } from './fused.ts'
export { manageHistory, type ManagedView, type ManageOptions } from './manage.ts'
export type { Range } from '../sequence/index.ts'
export { marked, type Mark, type MarkOf } from './marks.ts'
export {
  callDollars,
  modelPrices,
  pricesOf,
  unitsOf,
  usageDollars,
  type ModelPrices,
  type ModelRates,
  type Rates,
} from './model-prices.ts'
export type { OfferedTool } from './offered.ts'
export { paged, pagedWith, type PagedOptions } from './paged.ts'
export type { Candidate, Choice, Cut, Policy, Selection } from './policy.ts'
export { extractive, prepareSummaries, type PrepareOptions, type Summarizer, type SummaryRange } from './prepare.ts'
export { represent, structuredResult, type Recorded, type StructuredResult } from './represent.ts'
export type { ContextFaults } from './judge.ts'
export {
  recall,
  recallAsync,
  recallTool,
  type AsyncRecallOptions,
  type Recalled,
  type RecalledEntry,
  type RecallOptions,
  type RecallTool,
  type RecallToolOptions,
} from './recall.ts'
export { countedIn, timeIn } from './counted.ts'
export { claudeTokens, openaiTokens } from './provider-tokens.ts'
export { residencyReason } from './reason.ts'
export { replay, type AgainstProvider, type ProviderCount, type Replay, type ReplayOptions } from './replay.ts'
export { lexicalSearch, type Found, type RecallSearch } from './search.ts'
export type { ContextSource } from './source.ts'
export type { Span } from './span.ts'
export { isSubstantive } from './substantive.ts'
export { imageTokens, type ImageRule } from './attachments.ts'
export { estimateTokens, estimatorOf, textTokens, type Estimator, type Tokenizer } from './tokens.ts'
export { window } from './window.ts'
