/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { imageTokens } from './counting/attachments.ts'
export {
  callDollars,
  defaultPrices,
  ratesAt,
  unitsOf,
  usageDollars,
  type ModelRates,
  type Rates,
} from './counting/model-prices.ts'
export { estimatorOf, memoizeEstimator, textTokens } from './counting/tokens.ts'
export { checkDeriving, checkView, noteAt } from './check.ts'
export { contextOf, design, type SentContext, type DerivedBy } from './deriving/context.ts'
export { groupAt, groupsIn, groupStart, withOwnIds, type Group, type Shown } from './deriving/group.ts'
export { cutGroup, tokensIn } from './deriving/render.ts'
export { sizesOf, type Sizes } from './deriving/size.ts'
export { indexIn } from './positions.ts'
export { markerText } from './showing/marker.ts'
export { isSpoken, isSubstantive } from './substantive.ts'
export { type ContextFault, contextSentences } from './fault.ts'
export { cutText, plain } from './showing/represent.ts'
export type { OfferedTool } from './recall/offered-tools.ts'
