/** The model that `indelible chat` talks with: by its options and the environment, or the local rules. */
import { faultMessage } from 'indelible'
import { isLeft } from 'indelible/json/kit'
import { modelFor, type Model, type ModelRegistry } from 'indelible/run'
import { Misuse, Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { localModel } from './local-model.ts'

export const chosenModel = async ({ values, terminal }: Pick<Call, 'values' | 'terminal'>): Promise<Model> => {
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

/** The providers' clients are loaded only where somebody asks for a model: they are peers that may not be installed. */
const registry = async (baseURL: string | undefined, { env }: Terminal): Promise<ModelRegistry> => {
  const { OPENAI_API_KEY: openaiKey, ANTHROPIC_API_KEY: anthropicKey } = env
  const anthropic = await installed('@anthropic-ai/sdk', () => import('indelible/run/anthropic'))
  const openai = await installed('openai', () => import('indelible/run/openai'))
  if (anthropic === undefined && openai === undefined)
    throw new Unreadable('no provider client is installed; npm install openai or @anthropic-ai/sdk beside indelible')
  return {
    ...(anthropic && {
      anthropic: anthropic.anthropicProvider({
        apiKey: anthropicKey,
        keyFrom: 'the environment variable ANTHROPIC_API_KEY',
      }),
    }),
    ...(openai && {
      openai: openai.openaiProvider({ apiKey: openaiKey, keyFrom: 'the environment variable OPENAI_API_KEY' }),
    }),
    ...(baseURL !== undefined &&
      anthropic && {
        anthropic_compatible: anthropic.anthropicProvider({ apiKey: anthropicKey ?? '', baseURL }),
      }),
    ...(baseURL !== undefined &&
      openai && {
        openai_compatible: openai.openaiProvider({ apiKey: openaiKey ?? '', baseURL, api: 'chat' }),
        openai_responses_compatible: openai.openaiProvider({ apiKey: openaiKey ?? '', baseURL }),
      }),
  }
}

const installed = async <T>(name: string, load: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND' && String(error).includes(name))
      return undefined
    throw error
  }
}
