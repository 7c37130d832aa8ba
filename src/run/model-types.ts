/** The kinds of provider there are. The compatible ones are other servers that speak the same protocol. */
export const modelTypes = [
  'openai',
  'openai_compatible',
  'openai_responses_compatible',
  'anthropic',
  'anthropic_compatible',
] as const
/** A provider, as `modelFor` names it. */
export type ModelType = (typeof modelTypes)[number]
