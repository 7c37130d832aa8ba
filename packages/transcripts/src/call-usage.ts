/** The tokens of the call that an imported answer came from, as its file counts them. */
import { isObject, type Json, type JsonObject } from 'indelible/json/kit'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/notes/kit'
import { count, objectIn } from './origin.ts'

/** The model of a call, and what it was sent and answered. */
export interface CallUsage {
  readonly model: string
  readonly usage: Usage
}

/** Undefined where the file of a message counts nothing for it. */
export const callUsageOf = ({ role, meta }: Message): CallUsage | undefined => {
  if (role !== 'assistant' || meta === undefined) return undefined
  for (const [name, read] of Object.entries(readers)) {
    const own = meta[name]
    const found = isObject(own) ? read(own) : undefined
    if (found === undefined) continue
    const { model, fresh, cacheRead, cacheWrite, output } = found
    if (typeof model !== 'string' || typeof fresh !== 'number') return undefined
    const [read_, written] = [count(cacheRead), count(cacheWrite)]
    const usage = { input: fresh + read_ + written, output: count(output), cacheRead: read_, cacheWrite: written }
    return usage.input + usage.output === 0 ? undefined : { model, usage } // a program that counts nothing writes zeros
  }
  return undefined
}

/** `fresh`: input tokens beside those that the cache gave or took. */
type Counted = { readonly [name in 'model' | 'fresh' | 'cacheRead' | 'cacheWrite' | 'output']: Json | undefined }

/** By the name under which a reader keeps what its file says beside a message. */
const readers: { readonly [meta: string]: (own: JsonObject) => Counted } = {
  'anthropic-response': (own) => {
    const of = objectIn(own, 'usage')
    return {
      model: own['model'],
      fresh: of['input_tokens'],
      cacheRead: of['cache_read_input_tokens'],
      cacheWrite: of['cache_creation_input_tokens'],
      output: of['output_tokens'],
    }
  },
  'pi-session': (own) => {
    const { input, cacheRead, cacheWrite, output } = objectIn(own, 'usage')
    return { model: own['model'], fresh: input, cacheRead, cacheWrite, output }
  },
  'gemini-cli': (own) => {
    const { input, cached, output, thoughts } = objectIn(own, 'tokens')
    const fresh = typeof input === 'number' ? input - count(cached) : undefined
    return { model: own['model'], fresh, cacheRead: cached, cacheWrite: 0, output: count(output) + count(thoughts) }
  },
  opencode: (own) => {
    const info = objectIn(own, 'info')
    const tokens = objectIn(info, 'tokens')
    const { read, write } = objectIn(tokens, 'cache')
    return {
      model: info['modelID'],
      fresh: tokens['input'],
      cacheRead: read,
      cacheWrite: write,
      output: tokens['output'],
    }
  },
}
