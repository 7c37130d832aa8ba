/** The token counts of the call behind an imported answer, read from the source file. */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import { count, objectIn } from './origin.ts'
import { isUndercounted } from './undercount.ts'

export interface CallUsage {
  readonly model: string
  readonly usage: Usage
  /** Set if the answer holds more tokens than were counted: its cost is at least that of `usage`. */
  readonly undercounted?: true
}

/** Undefined if the file counts nothing for the message. */
export const callUsageOf = (message: Message): CallUsage | undefined => {
  const { role, meta } = message
  if (role !== 'assistant' || meta === undefined) return undefined
  for (const [name, read] of Object.entries(readers)) {
    const own = meta[name]
    const found = isObject(own) ? read(own) : undefined
    if (found === undefined) continue
    const { model, fresh, cacheRead, cacheWrite, output } = found
    if (typeof model !== 'string' || model.startsWith('<') || typeof fresh !== 'number') return undefined
    const [read_, written] = [count(cacheRead), count(cacheWrite)]
    const usage = { input: fresh + read_ + written, output: count(output), cacheRead: read_, cacheWrite: written }
    if (usage.input + usage.output === 0) return undefined // a program that counts nothing writes zeros
    return { model, usage, ...(isUndercounted([message], usage.output) && { undercounted: true as const }) }
  }
  return undefined
}

/** `fresh`: input tokens that were neither read from the cache nor written to it. */
type Counted = { readonly [name in 'model' | 'fresh' | 'cacheRead' | 'cacheWrite' | 'output']: Json | undefined }

/** By the name of the `meta` field that holds the source's own fields. */
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
      output: count(tokens['output']) + count(tokens['reasoning']),
    }
  },
}
