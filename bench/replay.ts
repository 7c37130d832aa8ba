/**
 * What a replay and the recorder cost as a conversation grows to 1,000 calls, each of which repeats all earlier ones:
 * milliseconds of the processor beyond `JSON.parse` of its body, and the memory of the process at its most.
 *
 * Arguments: the API (default: all), which is measured in a process for each row.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listSessions } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch } from '@indelible/recorder/replay'

const calls = 1_000
const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')
const text = (kind: string, call: number): string => `${kind} ${call} ${words(20)}`
const schema = { type: 'object', properties: { path: { type: 'string' } } }

interface Format {
  readonly url: string
  readonly request: (items: readonly object[]) => object
  /** What a call adds to the request of the next: the answer, a result of its tool. */
  readonly question: (call: number) => object
  readonly answer: (call: number) => object
  /** The items of an answer. */
  readonly items: (call: number) => readonly object[]
}

const anthropicContent = (call: number): readonly object[] => [
  { type: 'text', text: text('answer', call) },
  { type: 'tool_use', id: `toolu_${call}`, name: 'look', input: { path: `/src/${call}.ts` } },
]
const chatMessage = (call: number): object => ({
  role: 'assistant',
  content: text('answer', call),
  tool_calls: [
    { id: `call_${call}`, type: 'function', function: { name: 'look', arguments: `{"path":"/src/${call}.ts"}` } },
  ],
})
const responsesOutput = (call: number): readonly object[] => [
  {
    type: 'message',
    role: 'assistant',
    id: `msg_${call}`,
    status: 'completed',
    content: [{ type: 'output_text', text: text('answer', call), annotations: [] }],
  },
  {
    type: 'function_call',
    id: `fc_${call}`,
    call_id: `call_${call}`,
    name: 'look',
    arguments: `{"path":"/src/${call}.ts"}`,
    status: 'completed',
  },
]
const geminiContent = (call: number): object => ({
  role: 'model',
  parts: [{ text: text('answer', call) }, { functionCall: { name: 'look', args: { path: `/src/${call}.ts` } } }],
})

const formats: { readonly [api: string]: Format } = {
  anthropic: {
    url: 'https://api.anthropic.com/v1/messages',
    request: (messages) => ({
      model: 'm',
      max_tokens: 1024,
      system: words(200),
      tools: [{ name: 'look', description: words(40), input_schema: schema }],
      messages,
    }),
    question: (call) =>
      call === 0
        ? { role: 'user', content: text('question', call) }
        : {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `toolu_${call - 1}`, content: text('result', call) }],
          },
    items: (call) => [{ role: 'assistant', content: anthropicContent(call) }],
    answer: (call) => ({
      id: `msg_${call}`,
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: anthropicContent(call),
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
  },
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    request: (messages) => ({
      model: 'm',
      tools: [{ type: 'function', function: { name: 'look', description: words(40), parameters: schema } }],
      messages: [{ role: 'system', content: words(200) }, ...messages],
    }),
    question: (call) =>
      call === 0
        ? { role: 'user', content: text('question', call) }
        : { role: 'tool', tool_call_id: `call_${call - 1}`, content: text('result', call) },
    items: (call) => [chatMessage(call)],
    answer: (call) => ({
      id: `c_${call}`,
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: chatMessage(call), finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  },
  'openai-responses': {
    url: 'https://api.openai.com/v1/responses',
    request: (input) => ({
      model: 'm',
      instructions: words(200),
      tools: [{ type: 'function', name: 'look', description: words(40), parameters: schema, strict: false }],
      input,
      store: false,
    }),
    question: (call) =>
      call === 0
        ? { type: 'message', role: 'user', content: [{ type: 'input_text', text: text('question', call) }] }
        : { type: 'function_call_output', call_id: `call_${call - 1}`, output: text('result', call) },
    items: responsesOutput,
    answer: (call) => ({
      id: `resp_${call}`,
      object: 'response',
      created_at: 1,
      model: 'm',
      status: 'completed',
      output: responsesOutput(call),
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    }),
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models/m:generateContent',
    request: (contents) => ({
      systemInstruction: { parts: [{ text: words(200) }] },
      tools: [{ functionDeclarations: [{ name: 'look', description: words(40), parameters: schema }] }],
      contents,
    }),
    question: (call) =>
      call === 0
        ? { role: 'user', parts: [{ text: text('question', call) }] }
        : { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output: text('result', call) } } }] },
    items: (call) => [geminiContent(call)],
    answer: (call) => ({
      candidates: [{ content: geminiContent(call), finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: 'm',
      responseId: `r_${call}`,
    }),
  },
}

/** Milliseconds that this thread has used of a processor, so that other programs don't count. */
const used = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const [api, what, place] = process.argv.slice(2)
const modes = ['record', 'replay', 'record file', 'replay file'] as const
if (api === undefined || what === undefined) {
  console.log(
    '| API | what | ms a call beyond parsing: all; the last 100 | parsing, ms | memory, MB |\n|---|---|---:|---:|---:|',
  )
  for (const one of api === undefined ? Object.keys(formats) : [api]) {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
    for (const mode of modes)
      spawnSync(process.execPath, [...process.execArgv, import.meta.filename, one, mode, folder], { stdio: 'inherit' })
    rmSync(folder, { recursive: true })
  }
} else await measure(formats[api] as Format, what, place ?? tmpdir())

/** The body of each call in turn. */
function* bodies({ request, question, items }: Format): Generator<string> {
  const all: object[] = []
  for (let call = 0; call < calls; call++) {
    all.push(question(call))
    yield JSON.stringify(request(all))
    all.push(...items(call))
  }
}

async function measure(format: Format, mode: string, folder: string): Promise<void> {
  process.env['CI'] = ''
  const file = join(folder, 'calls.json')
  const store = await sqliteStore({ path: join(folder, 'calls.db') })
  let answered = 0
  const provider = async (): Promise<Response> => Response.json(format.answer(answered++))
  const recording = recordingFetch({ store, fetch: provider, onNotice: ({ reason }) => console.error(reason) })
  const [send, settled] =
    mode === 'record'
      ? [recording, recording.settled]
      : mode === 'replay'
        ? [replayingFetch({ store, sessions: (await listSessions(store)).sessions.map(({ id }) => id) })]
        : [replayingFetch({ file, ...(mode === 'record file' && { onMiss: 'record', fetch: provider }) })]
  const times: number[] = []
  let parsing = 0
  for (const body of bodies(format)) {
    let from = used()
    JSON.parse(body)
    const parsed = used() - from
    parsing += parsed
    from = used()
    const response = await send(format.url, { method: 'POST', body })
    await response.text()
    await settled?.()
    times.push(used() - from - parsed)
    if (response.status !== 200) throw new Error(`call ${times.length} got ${response.status}`)
  }
  await send.close()
  await store.close()
  const mean = (some: readonly number[]): string => (some.reduce((sum, one) => sum + one, 0) / some.length).toFixed(2)
  const memory = (process.resourceUsage().maxRSS / 1024).toFixed(0)
  console.log(
    `| ${api} | ${mode} | ${mean(times)}; ${mean(times.slice(-100))} | ${(parsing / calls).toFixed(2)} | ${memory} |`,
  )
}
