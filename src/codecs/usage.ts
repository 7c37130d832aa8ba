/** The token counts in an answer of each provider: those that it has. */
import { isObject, ownField, present } from '../json/index.ts'
import type { Fields } from './joining.ts'

/** The token counts of a call. `input` has the tokens that a cache read and wrote. */
export interface UsageCounts {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly cacheWriteHour?: number
}

export const anthropicUsage = (answer: Fields): UsageCounts => {
  const usage = ownField(answer, 'usage')
  const [input, output] = [countIn(usage, 'input_tokens'), countIn(usage, 'output_tokens')]
  const cacheRead = countIn(usage, 'cache_read_input_tokens') ?? 0
  const cacheWrite = countIn(usage, 'cache_creation_input_tokens') ?? 0
  const hour = countIn(usage, 'cache_creation', 'ephemeral_1h_input_tokens') ?? 0
  return {
    // `input_tokens` does not include the tokens that the cache read and wrote.
    ...present({ input: input === undefined ? undefined : input + cacheRead + cacheWrite, output }),
    ...{ cacheRead, cacheWrite, ...(hour > 0 && { cacheWriteHour: hour }) },
  }
}

/** Gemini counts reasoning, and input from its own tools, separately. */
export const geminiUsage = (answer: Fields): UsageCounts => {
  const usage = ownField(answer, 'usageMetadata')
  const input = countIn(usage, 'promptTokenCount')
  const count = (name: string): number => countIn(usage, name) ?? 0
  return {
    ...present({ input: input === undefined ? undefined : input + count('toolUsePromptTokenCount') }),
    output: count('candidatesTokenCount') + count('thoughtsTokenCount'),
    ...present({ cacheRead: countIn(usage, 'cachedContentTokenCount') }),
  }
}

/** Some servers count in the first choice. */
export const openaiChatUsage = (answer: Fields): UsageCounts => {
  const choices = ownField(answer, 'choices')
  const [choice] = Array.isArray(choices) ? (choices as readonly unknown[]) : []
  const counts = ownField(answer, 'usage') ?? (isObject(choice) ? ownField(choice, 'usage') : undefined)
  return openaiUsage(counts, 'prompt_tokens', 'completion_tokens', 'prompt_tokens_details')
}

export const openaiResponsesUsage = (answer: Fields): UsageCounts =>
  openaiUsage(ownField(answer, 'usage'), 'input_tokens', 'output_tokens', 'input_tokens_details')

const openaiUsage = (usage: unknown, input: string, output: string, details: string): UsageCounts =>
  present({
    input: countIn(usage, input),
    output: countIn(usage, output),
    cacheRead: countIn(usage, details, 'cached_tokens') ?? countIn(usage, 'prompt_cache_hit_tokens'), // DeepSeek's own name
    cacheWrite: countIn(usage, details, 'cache_write_tokens') ?? countIn(usage, details, 'cache_creation_tokens'),
  })

const countIn = (value: unknown, ...path: readonly string[]): number | undefined => {
  const found = path.reduce<unknown>((at, key) => (isObject(at) ? ownField(at, key) : undefined), value)
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined
}
