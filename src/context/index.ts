export { modelPrices, pricesOf, type ModelPrices, type Prices } from '../prices/index.ts'
export { usableTokens, type Budget } from './counting/budget.ts'
export { estimateTokens, type Estimator, type Tokenizer } from './counting/tokens.ts'
export type { DerivedContext } from './deriving/context.ts'
export { deriveContext, type DeriveOptions } from './deriving/derive.ts'
export type { ContextSource } from './deriving/group.ts'
export type { Keep } from './keep.ts'
export type { ContextFault, RecallFault, SummaryFault } from './fault.ts'
export { recall, recallTool, type Recalled, type RecallTool } from './recall/recall.ts'
export { lexicalSearch, type RecallMatch, type RecallSearch } from './recall/search.ts'
export {
  modelSummarizer,
  summariesInBackground,
  type BackgroundOptions,
  type BackgroundSummaries,
} from './summarizing/background.ts'
export { prepareSummaries, type Summarizer } from './summarizing/prepare.ts'
