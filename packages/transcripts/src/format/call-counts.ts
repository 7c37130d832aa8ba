/** The token counts of a call, as its source file has them, and as they are added up. */
import { ownField, present, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import { countsIn, type Counted, type CountsOf, type FormatFacts } from './format-facts.ts'
import { count, objectIn, type CallDetails, type OriginDraft } from './origin.ts'

/** Count the call behind an answer. */
export const countAnswer = (
  origin: OriginDraft,
  { countsOf }: FormatFacts,
  message: Message,
  call: Omit<CallDetails, 'answer'> = {},
): void => {
  const counted = countsOf === undefined ? undefined : answerCounts(countsOf, message)
  if (counted !== undefined)
    countCall(origin, counted, { ...present({ key: ownField(counted, 'key') }), ...call, answer: [message] })
}

/** Count a call that has no answer in the conversation, such as that of a compaction. */
export const countCall = (origin: OriginDraft, counted: Counted, call: CallDetails = {}): void => {
  origin.model(counted.model)
  origin.usage(usageOf(counted), { ...call, ...(counted.tier !== undefined && { tier: counted.tier }) })
}

/** The counts of an answer. A program's own words, of a model such as `<synthetic>`, are no answer. */
export const answerCounts = (countsOf: CountsOf, message: Message): Counted | undefined => {
  const counted = countsOf(message)
  return typeof counted?.model === 'string' && counted.model.startsWith('<') ? undefined : counted
}

export const usageOf = ({ fresh, output, cacheRead, cacheWrite, cacheWriteHour }: Counted): Required<Usage> => {
  const [read, written, hour] = [count(cacheRead), count(cacheWrite), count(cacheWriteHour)]
  return {
    input: count(fresh) + read + written,
    output: count(output),
    cacheRead: read,
    cacheWrite: written,
    cacheWriteHour: hour,
  }
}

/** The counts of Anthropic's answers. */
export const anthropicCounts: CountsOf = countsIn('anthropic-response', (own, { id, meta = {} }) => {
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
})

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
export const geminiUse = (
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
