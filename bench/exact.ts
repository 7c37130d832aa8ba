/**
 * The bytes that `answers: 'exact'` adds: single recorded streams of real providers, put together as the turns of one
 * made-up conversation for each API, on SQLite. Argument: the folder with them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordingFetch } from '@indelible/recorder'
import { sqliteStore } from 'indelible/store/sqlite'

const from = process.argv[2] ?? join(import.meta.dirname, '../../shared/data/wire')
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

/** The bytes of the tables with everything recorded. */
const stored = async (folder: string, answers: 'exact' | undefined): Promise<number> => {
  const place = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  const path = join(place, 'exact.db')
  await (await sqliteStore({ path })).close()
  const empty = statSync(path).size
  const store = await sqliteStore({ path })
  const streams = readdirSync(join(from, folder)).filter((name) => name.endsWith('.chunks.txt'))
  let turn = 0
  const fetch = recordingFetch({
    store,
    ...(answers !== undefined && { answers }),
    onNotice: ({ reason }) => console.error(reason),
    fetch: async () => {
      const lines = readFileSync(join(from, folder, streams[turn] as string), 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
      const text = lines.map((line) => {
        const type = folder === 'openai-chat' ? undefined : /^\{"type":"([^"]+)"/.exec(line)?.[1]
        return `${type === undefined ? '' : `event: ${type}\n`}data: ${line}\n\n`
      })
      return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const messages: object[] = []
  for (; turn < streams.length; turn++) {
    messages.push({ role: 'user', content: `question ${turn} ${words(40)}` })
    const body = {
      model: 'm',
      stream: true,
      tools: tools(folder),
      [folder === 'openai-responses' ? 'input' : 'messages']: messages,
    }
    await (await fetch(urls[folder] as string, { method: 'POST', body: JSON.stringify(body) })).text()
    await fetch.settled()
    messages.push({ role: 'assistant', content: `answer ${turn}` })
  }
  await fetch.close()
  await store.close()
  const bytes = statSync(path).size - empty
  rmSync(place, { recursive: true })
  return bytes
}

console.log("| API | stored, bytes | with answers: 'exact' | more |\n|---|---:|---:|---:|")
for (const folder of Object.keys(urls)) {
  const [plain, exact] = [await stored(folder, undefined), await stored(folder, 'exact')]
  console.log(`| ${folder} | ${plain} | ${exact} | ${(((exact - plain) / plain) * 100).toFixed(0)} % |`)
}
