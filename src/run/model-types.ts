/**
 * The known types of providers. The compatible ones are other servers with the same protocol. A
 * registry may add types.
 */
export const modelTypes = [
  'openai',
  'openai_compatible',
  'openai_responses_compatible',
  'anthropic',
  'anthropic_compatible',
  'google',
  'ai_sdk',
] as const
/** A provider type, for `modelFor`. */
export type ModelType = (typeof modelTypes)[number]
