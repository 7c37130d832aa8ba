/** The token counts of the call behind an imported answer, as its source file has them in the `meta` of the message. */
import { isObject, ownField, ownFields, present, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import { count, objectIn, textIn, type CallDetails, type OriginDraft } from './origin.ts'
import { isUndercounted } from './undercount.ts'

export interface CallUsage {
  /** The model, with the way of serving it where that changes its price, as `gpt-5 (batch)`. */
  readonly model: string
  readonly usage: Usage
  /** Names the call, where a file may write its answer in several lines, or again. */
  readonly key?: string
  /** Set if the answer holds more tokens than were counted: its cost is at least that of `usage`. */
  readonly undercounted?: true
}

/** Undefined if the file counts nothing for the message. */
export const callUsageOf = (message: Message): CallUsage | undefined => {
  const counted = countedIn(message)
  if (typeof counted?.model !== 'string' || typeof counted.fresh !== 'number') return undefined
  const { model, tier } = counted
  const { input, ...used } = usageOf(counted)
  const usage: Usage = {
    input,
    output: used.output,
    cacheRead: used.cacheRead,
    cacheWrite: used.cacheWrite,
    ...(used.cacheWriteHour > 0 && { cacheWriteHour: used.cacheWriteHour }),
  }
  if (input + usage.output === 0) return undefined // a program that counts nothing writes zeros
  return {
    model: tier === undefined ? model : `${model} (${tier})`,
    usage,
    ...(counted.key !== undefined && { key: counted.key }),
    ...(isUndercounted([message], usage.output) && { undercounted: true as const }),
  }
}

/** Count the call behind an answer. */
export const countAnswer = (origin: OriginDraft, message: Message, call: Omit<CallDetails, 'answer'> = {}): void => {
  const counted = countedIn(message)
  if (counted !== undefined)
    countCall(origin, counted, { ...present({ key: ownField(counted, 'key') }), ...call, answer: [message] })
}

/** Count a call that has no answer in the conversation, such as that of a compaction. */
export const countCall = (origin: OriginDraft, counted: Counted, call: CallDetails = {}): void => {
  origin.model(counted.model)
  origin.usage(usageOf(counted), { ...call, ...(counted.tier !== undefined && { tier: counted.tier }) })
}

/** What a source counts of a call. `fresh`: input tokens that were neither read from the cache nor written to it. */
export type Counted = {
  readonly [name in 'model' | 'fresh' | 'cacheRead' | 'cacheWrite' | 'output']: Json | undefined
} & {
  readonly cacheWriteHour?: Json | undefined
  /** How the call was served, where that changes its price. */
  readonly tier?: string | undefined
  readonly key?: string | undefined
}

const countedIn = (message: Message): Counted | undefined => {
  const { role, meta } = ownFields(message)
  if (role !== 'assistant' || meta === undefined) return undefined
  for (const [name, read] of Object.entries(readers)) {
    const own = ownField(meta, name)
    const found = isObject(own) ? read(ownFields(own), message) : undefined
    if (found !== undefined) return typeof found.model === 'string' && found.model.startsWith('<') ? undefined : found
  }
  return undefined
}

const usageOf = ({ fresh, output, cacheRead, cacheWrite, cacheWriteHour }: Counted): Required<Usage> => {
  const [read, written, hour] = [count(cacheRead), count(cacheWrite), count(cacheWriteHour)]
  return {
    input: count(fresh) + read + written,
    output: count(output),
    cacheRead: read,
    cacheWrite: written,
    cacheWriteHour: hour,
  }
}

/** By the name of the `meta` field that holds the source's own fields. */
const readers: {
  readonly [meta: string]: (own: JsonObject, message: Message) => Counted | undefined
} = {
  'anthropic-response': (own, { id, meta = {} }) => {
    // The program's own words about an error have the form of an answer.
    if (objectIn(meta, 'claude-code')['isApiErrorMessage'] === true) return undefined
    const used = objectIn(own, 'usage')
    return {
      model: own['model'],
      fresh: used['input_tokens'],
      cacheRead: used['cache_read_input_tokens'],
      cacheWrite: used['cache_creation_input_tokens'],
      cacheWriteHour: objectIn(used, 'cache_creation')['ephemeral_1h_input_tokens'],
      output: used['output_tokens'],
      // Servers other than Anthropic's may give all answers one id.
      key:
        id === undefined || id.length > 16
          ? id
          : `${id} ${String(used['input_tokens'])} ${String(used['cache_read_input_tokens'])}`,
      tier: used['speed'] === 'fast' ? 'fast' : used['service_tier'] === 'batch' ? 'batch' : undefined,
    }
  },
  'pi-session': (own) => ({ ...piUse(own), key: textIn(objectIn(own, 'entry'), 'id') }),
  'gemini-cli': (own) => {
    const { input, cached, output, thoughts } = objectIn(own, 'tokens')
    return geminiUse(own['model'], input, cached, count(output) + count(thoughts))
  },
  'qwen-code': (own) => {
    const used = objectIn(own, 'usageMetadata')
    const output = count(used['candidatesTokenCount']) + count(used['thoughtsTokenCount'])
    return geminiUse(own['model'], used['promptTokenCount'], used['cachedContentTokenCount'], output)
  },
  codex: (own) => (isObject(own['call']) ? codexUse(own['call']) : undefined),
  opencode: (own) => opencodeUse('tokens' in own ? own : objectIn(own, 'info')),
  amp: (own) => {
    const used = objectIn(own, 'usage')
    return {
      model: used['model'],
      fresh: used['inputTokens'],
      cacheRead: used['cacheReadInputTokens'],
      cacheWrite: used['cacheCreationInputTokens'],
      output: used['outputTokens'],
    }
  },
  cline: (own) => {
    const { prompt, completion, cached } = objectIn(objectIn(own, 'metrics'), 'tokens')
    return {
      model: objectIn(own, 'modelInfo')['modelId'],
      fresh: prompt,
      cacheRead: cached,
      cacheWrite: 0,
      output: completion,
    }
  },
}

/** The counts of pi, on answers, compactions and summaries of branches. */
export const piUse = (own: JsonObject): Counted => {
  const { input, cacheRead, cacheWrite, output } = objectIn(own, 'usage')
  return { model: own['model'], fresh: input, cacheRead, cacheWrite, output }
}

/** The counts of opencode, whose reasoning is beside the output and costs the same. */
export const opencodeUse = (info: JsonObject): Counted => {
  const tokens = objectIn(info, 'tokens')
  const { read, write } = objectIn(tokens, 'cache')
  const model = objectIn(info, 'model')
  return {
    model: info['modelID'] ?? model['modelID'] ?? model['id'],
    fresh: tokens['input'],
    cacheRead: read,
    cacheWrite: write,
    output: count(tokens['output']) + count(tokens['reasoning']),
  }
}

/** Codex counts tokens that are read from the cache, or written to it, in the input. */
export const codexUse = (used: JsonObject): Counted => {
  const { model, input_tokens: input, cached_input_tokens: cacheRead, cache_write_input_tokens: cacheWrite } = used
  const fresh = typeof input === 'number' ? Math.max(0, input - count(cacheRead) - count(cacheWrite)) : undefined
  return { model, fresh, cacheRead, cacheWrite, output: used['output_tokens'] }
}

/** Gemini counts cached tokens in the input. */
const geminiUse = (
  model: Json | undefined,
  input: Json | undefined,
  cached: Json | undefined,
  output: number,
): Counted => ({
  model,
  fresh: typeof input === 'number' ? input - count(cached) : undefined,
  cacheRead: cached,
  cacheWrite: 0,
  output,
})
