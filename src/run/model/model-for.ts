/** Chooses a model by the name that a person or a configuration gives. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../../json/index.ts'
import type { Model } from './model.ts'
import { modelTypes, type ModelType, type NoModel } from './model-types.ts'

/** The model to use. */
export interface ModelConfig {
  /** The provider's name for the model. */
  readonly name?: string
  /** The type of its provider. Default: inferred from the name, for models of OpenAI, Anthropic and Google. */
  readonly type?: string
}

/** A configured provider. */
interface ModelProvider {
  /**
   * The key. If it is undefined, or empty and there is a `keyFrom`, `modelFor` returns `MissingKey`. For a server
   * without keys, use the empty string and no `keyFrom`.
   */
  readonly apiKey: string | undefined
  /** Where to set the key, for the fault: for example, the name of an environment variable. */
  readonly keyFrom?: string
  /** Makes a model, for example with `anthropicModel`. Called only if there is a key. */
  readonly model: (name: string) => Model
}

/** The configured providers, by type. */
export type ModelRegistry = { readonly [Type in ModelType]?: ModelProvider } & {
  readonly [type: string]: ModelProvider | undefined
}

/**
 * Finds the model of a configuration.
 *
 * @param config the name of the model, and its type if the name does not imply it
 * @returns the model; or `UnspecifiedModel`, `UnknownModelType`, `UnconfiguredModel`, `MissingKey`
 * @example
 * const apiKey = process.env.ANTHROPIC_API_KEY
 * const model = (name: string) => anthropicModel(new Anthropic({ apiKey }), { model: name })
 * modelFor({ name: 'claude-opus-5' }, { anthropic: { apiKey, model } })
 */
export const modelFor = ({ name, type }: ModelConfig, registry: ModelRegistry): Either<NoModel, Model> => {
  if (name === undefined || name === '')
    return left({ _tag: 'UnspecifiedModel', configured: configuredPrefixes(registry) })
  const wanted = type ?? typeOf(name)
  const provider = wanted !== undefined && Object.hasOwn(registry, wanted) ? registry[wanted] : undefined
  if (wanted === undefined || (provider === undefined && !isModelType(wanted)))
    return left({ _tag: 'UnknownModelType', name, ...(wanted !== undefined && { type: wanted }) })
  if (provider === undefined)
    return left({ _tag: 'UnconfiguredModel', name, type: wanted, configured: configuredPrefixes(registry) })
  if (provider.apiKey === undefined || (provider.apiKey === '' && provider.keyFrom !== undefined))
    return left({
      _tag: 'MissingKey',
      name,
      type: wanted,
      ...(provider.keyFrom !== undefined && { keyFrom: provider.keyFrom }),
    })
  return right(provider.model(name))
}

const configuredPrefixes = (registry: ModelRegistry): readonly string[] =>
  Object.keys(registry).filter((type) => registry[type] !== undefined)

const isModelType = (type: string): type is ModelType => (modelTypes as readonly string[]).includes(type)

const typeOf = (name: string): ModelType | undefined => {
  if (name.startsWith('claude-')) return 'anthropic'
  if (/^(?:models\/)?gemini-/.test(name)) return 'google'
  return /^(?:gpt-|chatgpt-|o\d|codex-)/.test(name) ? 'openai' : undefined
}
