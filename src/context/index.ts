export { estimateTokens } from './tokens.ts'
