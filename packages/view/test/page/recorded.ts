/** Records a session: a local provider answers its calls with the token counts that the test chooses. */
import OpenAI from 'openai'
import type { Store } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { providerServer } from '../../../../test/run/provider-server.ts'

export type Chat = OpenAI.ChatCompletionMessageParam[]

/** A local provider that says how many messages it heard, and clients of it that are recorded. */
export const provider = async (
  store: Store,
  now: () => RecordedCall,
): Promise<{
  readonly fetch: ReturnType<typeof recordingFetch>
  readonly clientOf: (name: string) => OpenAI
  readonly close: () => Promise<void>
}> => {
  const server = await providerServer(({ body }) => {
    const { how, input, cached, output = 150 } = now()
    if (how === 'fails') return { status: 503, body: { error: { message: 'The server is overloaded.' } } }
    const content = `heard ${(body['messages'] as readonly unknown[]).length}`
    return {
      body: {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        model: body['model'],
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
          prompt_tokens_details: { cached_tokens: cached },
        },
      },
    }
  })
  const fetch = recordingFetch({ store })
  const clientOf = (name: string): OpenAI =>
    new OpenAI({
      apiKey: 'k',
      baseURL: `${server.url}/v1`,
      fetch,
      maxRetries: 0,
      defaultHeaders: { 'session-id': name },
    })
  return { fetch, clientOf, close: () => server.close() }
}

export const tool = (name: string): OpenAI.ChatCompletionTool => ({
  type: 'function',
  function: { name, parameters: {} },
})

/** One call: its input tokens, those of them from the cache, and what is special about it. */
export interface RecordedCall {
  readonly input: number
  readonly cached: number
  readonly output?: number
  /** `fails`: the provider is overloaded. `again`: the same request as the call before. `tools`, `shortened`: that part changes. `parts`: the first question is sent as a list. `model`: another one, without the last tool. `unpriced`: a model without a list price. */
  readonly how?: 'fails' | 'again' | 'tools' | 'shortened' | 'parts' | 'beside' | 'model' | 'unpriced'
}

const modelFor = ({ how }: RecordedCall): string =>
  how === 'model' ? 'gpt-5.4' : how === 'unpriced' ? 'acme-1' : 'gpt-5.5'

/** Fourteen calls: a failure and its repetition, three cache breaks, and a sub-agent. The thirteenth costs most. */
export const fourteenCalls: readonly RecordedCall[] = [
  { input: 12_000, cached: 0 },
  { input: 13_500, cached: 12_000 },
  { input: 16_000, cached: 13_400 },
  { input: 21_000, cached: 15_900 },
  { input: 0, cached: 0, how: 'fails' },
  { input: 24_000, cached: 20_900, how: 'again' },
  { input: 26_000, cached: 0, how: 'tools' },
  { input: 9_000, cached: 8_000, how: 'beside' },
  { input: 29_000, cached: 25_900 },
  { input: 36_000, cached: 28_900 },
  { input: 41_000, cached: 35_900, output: 2400 },
  { input: 30_000, cached: 9000, how: 'shortened' },
  { input: 48_000, cached: 29_900 },
  { input: 52_000, cached: 0 },
  { input: 55_000, cached: 51_900 },
]

/** Record calls one after another. Gives the id of their session. */
export const recordCalls = async (
  store: Store,
  calls: readonly RecordedCall[],
  question = 'Add a test for leap years to the calendar, please.',
  ownTool = 'bash',
): Promise<string> => {
  let now: RecordedCall = { input: 0, cached: 0 }
  const { fetch, clientOf, close } = await provider(store, () => now)
  const openai = clientOf(question)
  const messages: Chat = [
    { role: 'system', content: 'You are a coding agent. Be brief.' },
    { role: 'user', content: `${question} ${'Mind the rules of the project. '.repeat(10)}` },
  ]
  const names = ['read', ownTool]
  for (const [index, call] of calls.entries()) {
    now = call
    if (call.how === 'tools') names.push('search')
    if (call.how === 'model') names.pop()
    if (call.how === 'shortened') messages[1] = { role: 'user', content: question }
    if (call.how === 'parts')
      messages[1] = { role: 'user', content: [{ type: 'text', text: String(messages[1]?.content) }] }
    const sent: Chat =
      call.how === 'beside' ? [...messages.slice(0, -1), { role: 'user', content: 'Look into the git log.' }] : messages
    const by = call.how === 'beside' ? clientOf('a sub-agent') : openai
    const answer = await by.chat.completions
      .create({ model: modelFor(call), messages: sent, tools: names.map(tool) })
      .catch((): undefined => undefined)
    await fetch.settled()
    if (answer === undefined || call.how === 'beside') continue
    messages.push(answer.choices[0]?.message as Chat[number], { role: 'user', content: `Go on: step ${index}.` })
  }
  await close()
  return fetch.summary().sessions.find((id) => !id.includes('.fork-')) ?? ''
}
