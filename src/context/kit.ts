/** Entry for the rooms and packages of this repository, which are released together. No stability promise. */
export { imageTokens } from './counting/attachments.ts'
export { callDollars, ratesAt, unitsOf, usageDollars } from './counting/model-prices.ts'
export { estimatorOf, memoizeEstimator, textTokens } from './counting/tokens.ts'
export { defaultPrices } from './deriving/derive.ts'
export { extractive } from './deriving/prepare.ts'
export { isSubstantive } from './deriving/substantive.ts'
export { type ContextFault, contextSentences } from './fault.ts'
export { represent } from './showing/represent.ts'
