/**
 * The bytes that `answers: 'exact'` adds, on SQLite: for single recorded streams of real providers, put together as the turns of one
 * made-up conversation for each API; and for real sessions of agents, whose answers are streamed again in pieces of 12 and of 40
 * characters. Argument: the folder with both.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { orThrow } from 'indelible'
import { anthropic } from 'indelible/codecs/anthropic'
import { sqliteStore } from 'indelible/store/sqlite'
import { recordingFetch } from '@indelible/recorder'
import { readTranscript } from '@indelible/transcripts'

const from = process.argv[2] ?? join(import.meta.dirname, '../../shared/data')
const urls: { readonly [folder: string]: string } = {
  'anthropic-messages': 'https://api.anthropic.com/v1/messages',
  'openai-chat': 'https://api.openai.com/v1/chat/completions',
  'openai-responses': 'https://api.openai.com/v1/responses',
}
const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')
const tools = (folder: string): readonly object[] =>
  Array.from({ length: 12 }, (_, index) => {
    const tool = { name: `tool_${index}`, description: words(80) }
    return folder === 'anthropic-messages'
      ? { ...tool, input_schema: {} }
      : { type: 'function', function: tool, ...tool }
  })

/** A call: its request, and the events of its answer as JSON. */
interface Turn {
  readonly request: object
  readonly events: readonly string[]
}

/** The turns of a conversation that is made of recorded streams. */
const madeTurns = (folder: string): readonly Turn[] => {
  const messages: object[] = []
  const streams = readdirSync(join(from, 'wire', folder)).filter((name) => name.endsWith('.chunks.txt'))
  return streams.map((name, turn) => {
    messages.push({ role: 'user', content: `question ${turn} ${words(40)}` })
    const request = { tools: tools(folder), [folder === 'openai-responses' ? 'input' : 'messages']: [...messages] }
    messages.push({ role: 'assistant', content: `answer ${turn}` })
    const lines = readFileSync(join(from, 'wire', folder, name), 'utf8').split('\n')
    return { request, events: lines.filter((line) => line.trim() !== '') }
  })
}

interface Block {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly input?: object
}

/** The events of an answer of Anthropic, in pieces of so many characters. */
const eventsOf = (blocks: readonly Block[], size: number): readonly string[] => {
  const pieces = (text: string): readonly string[] => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
  const message = { id: 'msg', type: 'message', role: 'assistant', model: 'm', content: [] }
  const events: readonly object[] = [
    { type: 'message_start', message: { ...message, stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } } },
    ...blocks.flatMap(({ text, thinking, signature, input, ...block }, index) => {
      const delta = (piece: object): object => ({ type: 'content_block_delta', index, delta: piece })
      const empty = text === undefined ? (thinking === undefined ? { input: {} } : { thinking: '' }) : { text: '' }
      return [
        { type: 'content_block_start', index, content_block: { ...block, ...empty } },
        ...pieces(text ?? '').map((piece) => delta({ type: 'text_delta', text: piece })),
        ...pieces(thinking ?? '').map((piece) => delta({ type: 'thinking_delta', thinking: piece })),
        ...(signature === undefined ? [] : [delta({ type: 'signature_delta', signature })]),
        ...(input === undefined ? [] : pieces(JSON.stringify(input))).map((piece) =>
          delta({ type: 'input_json_delta', partial_json: piece }),
        ),
        { type: 'content_block_stop', index },
      ]
    }),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => JSON.stringify(event))
}

/** The turns of a real session: each answer, with all that was before it. */
const realTurns = (file: string, size: number): readonly Turn[] => {
  const { messages } = orThrow(readTranscript(readFileSync(join(from, 'transcripts', file))))
  const said = messages.filter(({ role }) => role !== 'system' && role !== 'developer')
  const { wire } = orThrow(anthropic.encode(said as never, { allow: 'unsettled' }))
  const all = (wire as { readonly messages: readonly { readonly role: string; readonly content: string | Block[] }[] })
    .messages
  return all.flatMap(({ role, content }, index) => {
    if (role !== 'assistant') return []
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const request = { max_tokens: 9, tools: tools('anthropic-messages'), messages: all.slice(0, index) }
    return [{ request, events: eventsOf(blocks, size) }]
  })
}

/** The bytes of the tables with everything recorded. */
const stored = async (folder: string, turns: readonly Turn[], answers: 'exact' | undefined): Promise<number> => {
  const place = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  const path = join(place, 'exact.db')
  await (await sqliteStore({ path })).close()
  const empty = statSync(path).size
  const store = await sqliteStore({ path })
  let turn = 0
  const fetch = recordingFetch({
    store,
    ...(answers !== undefined && { answers }),
    onNotice: ({ reason }) => console.error(reason),
    fetch: async () => {
      const text = (turns[turn] as Turn).events.map((line) => {
        const type = folder === 'openai-chat' ? undefined : /^\{"type":"([^"]+)"/.exec(line)?.[1]
        return `${type === undefined ? '' : `event: ${type}\n`}data: ${line}\n\n`
      })
      return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  for (const { request } of turns) {
    const body = JSON.stringify({ model: 'm', stream: true, ...request })
    await (await fetch(urls[folder] as string, { method: 'POST', body })).text()
    await fetch.settled()
    turn++
  }
  await fetch.close()
  await store.close()
  const bytes = statSync(path).size - empty
  rmSync(place, { recursive: true })
  return bytes
}

console.log("| what | calls | stored, bytes | with answers: 'exact' | more |\n|---|---:|---:|---:|---:|")
const row = async (name: string, folder: string, turns: readonly Turn[]): Promise<void> => {
  const [plain, exact] = [await stored(folder, turns, undefined), await stored(folder, turns, 'exact')]
  const more = (((exact - plain) / plain) * 100).toFixed(0)
  console.log(`| ${name} | ${turns.length} | ${plain} | ${exact} | ${more} % |`)
}
for (const folder of Object.keys(urls)) await row(folder, folder, madeTurns(folder))
for (const file of ['claude-code-opus-4-5', 'codex-gpt-5-2', 'coding-agent.pi-session'])
  for (const size of [12, 40])
    await row(`${file}, pieces of ${size}`, 'anthropic-messages', realTurns(`${file}.jsonl`, size))
