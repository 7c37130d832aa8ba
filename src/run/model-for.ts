/** Choosing a model by what a person or a configuration names. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../json/index.ts'
import type { RunFault } from './fault.ts'
import type { Model } from './model.ts'
import { modelTypes, type ModelType } from './model-types.ts'

/** Which model is wanted. */
export interface ModelConfig {
  /** As its provider names it. */
  readonly name?: string
  /** Default: found out by the name, where it is one of OpenAI's, Anthropic's or Google's. */
  readonly type?: string
}

/** A provider that can be reached. `indelible/run/openai` and `indelible/run/anthropic` make them. */
export interface ModelProvider {
  /** Undefined, where none was found. A server that wants none has the empty string. */
  readonly apiKey: string | undefined
  /** Where to set the key: the name of an environment variable, say. Told in the fault. */
  readonly keyFrom?: string
  /** Makes a model by its name. */
  readonly model: (name: string) => Model
}

/** The providers that are configured, by type: one of `ModelType`, or any name of your own. */
export type ModelRegistry = { readonly [Type in ModelType]?: ModelProvider } & {
  readonly [type: string]: ModelProvider | undefined
}

/**
 * The model that is wanted, or which of four things keeps it from being there: nothing was specified, the type is
 * unknown, its provider is not configured, its key is missing.
 *
 * @example
 * modelFor({ name: 'claude-opus-5' }, { anthropic: anthropicProvider({ apiKey: process.env.ANTHROPIC_API_KEY }) })
 */
export const modelFor = ({ name, type }: ModelConfig, registry: ModelRegistry): Either<RunFault, Model> => {
  if (name === undefined || name === '') return left({ _tag: 'UnspecifiedModel', configured: configured(registry) })
  const wanted = type ?? typeOf(name)
  const provider = wanted !== undefined && Object.hasOwn(registry, wanted) ? registry[wanted] : undefined
  if (wanted === undefined || (provider === undefined && !isModelType(wanted)))
    return left({ _tag: 'UnknownModelType', name, ...(wanted !== undefined && { type: wanted }) })
  if (provider === undefined)
    return left({ _tag: 'UnconfiguredModel', name, type: wanted, configured: configured(registry) })
  if (provider.apiKey === undefined)
    return left({
      _tag: 'MissingKey',
      name,
      type: wanted,
      ...(provider.keyFrom !== undefined && { keyFrom: provider.keyFrom }),
    })
  return right(provider.model(name))
}

const configured = (registry: ModelRegistry): readonly string[] =>
  Object.keys(registry).filter((type) => registry[type] !== undefined)

const isModelType = (type: string): type is ModelType => (modelTypes as readonly string[]).includes(type)

const typeOf = (name: string): ModelType | undefined => {
  if (name.startsWith('claude-')) return 'anthropic'
  if (/^(?:models\/)?gemini-/.test(name)) return 'google'
  return /^(?:gpt-|chatgpt-|o\d|codex-)/.test(name) ? 'openai' : undefined
}
