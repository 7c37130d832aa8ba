/** The model for `indelible chat`: chosen by options and environment, or the local rules. */
import { faultMessage } from 'indelible'
import { isLeft } from 'indelible/internal/json'
import type { Anthropic } from '@anthropic-ai/sdk'
import type { OpenAI } from 'openai'
import { modelFor, type Model, type ModelRegistry } from 'indelible/run'
import { anthropicModel } from 'indelible/run/anthropic'
import { openaiChatModel, openaiResponsesModel } from 'indelible/run/openai'
import { Misuse, Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { localModel } from './local-model.ts'

export const modelFromOptions = async ({ values, terminal }: Pick<Call, 'values' | 'terminal'>): Promise<Model> => {
  const { model: name, type, 'base-url': baseURL } = values
  if (name === undefined) {
    if (type !== undefined || baseURL !== undefined)
      throw new Misuse('--type and --base-url describe a model: name it with --model')
    return localModel(15)
  }
  const chosen = modelFor(
    { name: String(name), ...(typeof type === 'string' && { type }) },
    await registry(typeof baseURL === 'string' ? baseURL : undefined, terminal),
  )
  if (isLeft(chosen)) throw new Misuse(faultMessage(chosen.left))
  return chosen.right
}

/** Loads the providers' clients, which are optional peers, only if a model is requested. */
const registry = async (baseURL: string | undefined, { env }: Terminal): Promise<ModelRegistry> => {
  const anthropic = await importIfInstalled('@anthropic-ai/sdk', () => import('@anthropic-ai/sdk'))
  const openai = await importIfInstalled('openai', () => import('openai'))
  if (anthropic === undefined && openai === undefined)
    throw new Unreadable('no provider client is installed; npm install openai or @anthropic-ai/sdk beside indelible')
  return {
    ...(anthropic && anthropicRegistry(anthropic.Anthropic, env['ANTHROPIC_API_KEY'], baseURL)),
    ...(openai && openAIRegistry(openai.OpenAI, env['OPENAI_API_KEY'], baseURL)),
  }
}

const anthropicRegistry = (
  Client: typeof Anthropic,
  key: string | undefined,
  baseURL: string | undefined,
): ModelRegistry => {
  const at = (server: { readonly baseURL?: string }) => (model: string) =>
    anthropicModel(new Client({ apiKey: key ?? '', ...server }), { model })
  return {
    anthropic: { apiKey: key, keyFrom: 'the environment variable ANTHROPIC_API_KEY', model: at({}) },
    ...(baseURL !== undefined && { anthropic_compatible: { apiKey: key ?? '', model: at({ baseURL }) } }),
  }
}

const openAIRegistry = (Client: typeof OpenAI, key: string | undefined, baseURL: string | undefined): ModelRegistry => {
  // The client requires a key; a server that needs none ignores it.
  const at = (modelOf: typeof openaiChatModel, server: { readonly baseURL?: string }) => (model: string) =>
    modelOf(new Client({ apiKey: key || 'none', ...server }), { model })
  return {
    openai: { apiKey: key, keyFrom: 'the environment variable OPENAI_API_KEY', model: at(openaiResponsesModel, {}) },
    ...(baseURL !== undefined && {
      openai_compatible: { apiKey: key ?? '', model: at(openaiChatModel, { baseURL }) },
      openai_responses_compatible: { apiKey: key ?? '', model: at(openaiResponsesModel, { baseURL }) },
    }),
  }
}

const importIfInstalled = async <T>(name: string, load: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' && String(error).includes(name))
      return undefined
    throw error
  }
}
