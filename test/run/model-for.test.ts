import { faultMessage } from 'indelible'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { modelFor, scriptedModel, type ModelConfig, type ModelRegistry } from 'indelible/run'
import { aiSdkProvider } from '@indelible/ai-sdk'
import { anthropicProvider } from 'indelible/run/anthropic'
import { openaiProvider } from 'indelible/run/openai'

const registry: ModelRegistry = {
  openai: openaiProvider({ apiKey: undefined }),
  openai_compatible: openaiProvider({ apiKey: '', baseURL: 'http://127.0.0.1:1/v1', api: 'chat' }),
  openai_responses_compatible: openaiProvider({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' }),
  anthropic: anthropicProvider({ apiKey: 'k' }),
}

const said = (config: ModelConfig, from: ModelRegistry = registry): string => {
  const found = modelFor(config, from)
  return isLeft(found) ? `${found.left._tag}: ${faultMessage(found.left)}` : found.right.name
}

describe('modelFor', () => {
  it('chooses by type, or by a name that tells whose it is', () => {
    expect(said({ name: 'claude-opus-5' })).toBe('claude-opus-5')
    expect(said({ name: 'qwen3', type: 'openai_compatible' })).toBe('qwen3')
    expect(said({ name: 'x', type: 'openai_responses_compatible' })).toBe('x')
    expect(
      said(
        { name: 'x', type: 'anthropic_compatible' },
        { anthropic_compatible: anthropicProvider({ apiKey: '', baseURL: 'http://127.0.0.1:1' }) },
      ),
    ).toBe('x')
    expect(said({ name: 'gemini-3-pro' }, { google: aiSdkProvider((name) => name) })).toBe('gemini-3-pro')
    expect(said({ name: 'any', type: 'ai_sdk' }, { ai_sdk: aiSdkProvider((name) => name) })).toBe('any')
    expect(said({ name: 'any', type: 'mine' }, { mine: { apiKey: '', model: () => scriptedModel([]) } })).toBe(
      'scripted',
    )
    expect(said({ name: 'any', type: 'mine' }, {})).toMatch(/^UnknownModelType/)
    expect(said({ name: 'gemini-3-pro' }, {})).toMatch(/^UnconfiguredModel/)
    expect(said({ name: 'gpt-5' }, { openai: { apiKey: 'k', model: () => scriptedModel([]) } })).toBe('scripted')
  })
  it('has four faults, each with what to do', () => {
    expect(said({})).toBe(
      'UnspecifiedModel: no model was named; name one of a configured provider: openai, openai_compatible, openai_responses_compatible, anthropic',
    )
    expect(said({ name: '' }, {})).toBe(
      'UnspecifiedModel: no model was named; configure a provider and name one of its models',
    )
    expect(said({ name: 'qwen3' })).toBe(
      'UnknownModelType: the provider of model "qwen3" does not follow from its name; give its type: openai, openai_compatible, openai_responses_compatible, anthropic, anthropic_compatible, google, ai_sdk',
    )
    expect(said({ name: 'x', type: 'toString' })).toMatch(
      /^UnknownModelType: model type "toString" is unknown; expected one of openai,/,
    )
    expect(said({ name: 'x', type: 'anthropic_compatible' })).toBe(
      'UnconfiguredModel: x needs the provider anthropic_compatible, which is not configured (configured: openai, openai_compatible, openai_responses_compatible, anthropic); add it to the registry',
    )
    expect(said({ name: 'gpt-5' })).toBe('MissingKey: gpt-5 needs a key of openai; set OPENAI_API_KEY')
  })
})
