/**
 * The kinds of provider that have a name. The compatible ones are other servers that speak the same protocol. A registry
 * may have others under names of its own.
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
/** A provider, as `modelFor` names it. */
export type ModelType = (typeof modelTypes)[number]
