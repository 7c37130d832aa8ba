/** The types of providers, and why `modelFor` found no model of them: what the faults of a run name. */

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

/** A provider type. */
export type ModelType = (typeof modelTypes)[number]

/** Why `modelFor` found no model. */
export type NoModel =
  /** The model has no type, and its name does not imply a provider. */
  | { readonly _tag: 'UnspecifiedModel'; readonly configured: readonly string[] }
  /** No provider has this type. */
  | { readonly _tag: 'UnknownModelType'; readonly name: string; readonly type?: string }
  /** The registry has no provider for this model. */
  | {
      readonly _tag: 'UnconfiguredModel'
      readonly name: string
      readonly type: string
      readonly configured: readonly string[]
    }
  /** The provider has no key. `keyFrom` is where to set it. */
  | { readonly _tag: 'MissingKey'; readonly name: string; readonly type: string; readonly keyFrom?: string }
