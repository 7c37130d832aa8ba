import { faultMessage } from 'indelible'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { modelFor, scriptedModel, type ModelConfig, type ModelRegistry } from 'indelible/run'
import { Anthropic } from '@anthropic-ai/sdk'
import { anthropicModel } from 'indelible/run/anthropic'

const mine = { apiKey: '', model: () => scriptedModel([]) }
const anthropic = {
  apiKey: 'k',
  model: (model: string) => anthropicModel(new Anthropic({ apiKey: 'k' }), { model }),
}
const registry: ModelRegistry = {
  openai: { ...mine, apiKey: undefined, keyFrom: 'OPENAI_API_KEY' },
  openai_compatible: mine,
  openai_responses_compatible: mine,
  anthropic,
}

const said = (config: ModelConfig, from: ModelRegistry = registry): string => {
  const found = modelFor(config, from)
  return isLeft(found) ? `${found.left._tag}: ${faultMessage(found.left)}` : found.right.name
}

describe('modelFor', () => {
  it("chooses a provider by type or by the model name's prefix", () => {
    expect(said({ name: 'claude-opus-5' })).toBe('claude-opus-5')
    expect(said({ name: 'x', type: 'openai_compatible' })).toBe('scripted')
    expect(said({ name: 'x', type: 'anthropic_compatible' }, { anthropic_compatible: anthropic })).toBe('x')
    expect(said({ name: 'gemini-3-pro' }, { google: mine })).toBe('scripted')
    expect(said({ name: 'any', type: 'ai_sdk' }, { ai_sdk: mine })).toBe('scripted')
    expect(said({ name: 'any', type: 'mine' }, { mine })).toBe('scripted')
    expect(said({ name: 'any', type: 'mine' }, {})).toMatch(/^UnknownModelType/)
    expect(said({ name: 'gemini-3-pro' }, {})).toMatch(/^UnconfiguredModel/)
    expect(said({ name: 'gpt-5' }, { openai: { ...mine, apiKey: 'k' } })).toBe('scripted')
  })
  it('has four faults, each with advice', () => {
    expect(said({})).toBe(
      'UnspecifiedModel: the name of the model is missing; specify one of a configured provider: openai, openai_compatible, openai_responses_compatible, anthropic',
    )
    expect(said({ name: '' }, {})).toBe(
      'UnspecifiedModel: the name of the model is missing; configure a provider and specify one of its models',
    )
    expect(said({ name: 'qwen3' })).toBe(
      'UnknownModelType: no provider can be inferred from the model name "qwen3"; pass its type: openai, openai_compatible, openai_responses_compatible, anthropic, anthropic_compatible, google, ai_sdk',
    )
    expect(said({ name: 'x', type: 'toString' })).toMatch(
      /^UnknownModelType: model type "toString" is unknown; expected one of openai,/,
    )
    expect(said({ name: 'x', type: 'anthropic_compatible' })).toBe(
      'UnconfiguredModel: x needs the provider anthropic_compatible, which is not configured (configured: openai, openai_compatible, openai_responses_compatible, anthropic); add it to the registry',
    )
    expect(said({ name: 'gpt-5' })).toBe('MissingKey: gpt-5 needs a key of openai; set OPENAI_API_KEY')
    const empty = { ...mine, keyFrom: 'OPENAI_API_KEY' }
    expect(said({ name: 'gpt-5' }, { openai: empty })).toBe(
      'MissingKey: gpt-5 needs a key of openai; set OPENAI_API_KEY',
    )
  })
})
