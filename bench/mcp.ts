/**
 * The tools of `indelible mcp` beside many sessions: a client of the official SDK asks the server's process. A question is
 * four words of a random message. Each call is timed from the client, over standard input and output; the processor time is
 * that of the server, on average (Linux).
 *
 *     node --conditions=@indelible/source mcp.ts [SESSIONS] [MESSAGES OF EACH]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createSession, textOf, user } from 'indelible'
import { indexStore } from 'indelible/search'
import { openSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'
import { messages } from './messages.ts'

const sessions = Number(process.argv[2] ?? 10_000)
const each = Number(process.argv[3] ?? 20)
const projects = 10
const rounds = 100
const home = mkdtempSync(join(tmpdir(), 'indelible-mcp-'))
const path = join(home, 'sessions.db')
const main = join(import.meta.dirname, '../packages/cli/src/main.ts')
const folderOf = (project: number): string => join(home, `project-${project}`)
for (let project = 0; project < projects; project++) mkdirSync(join(folderOf(project), '.git'), { recursive: true })

/** The same numbers in every run. */
let state = 7
const random = (below: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state % below
}
const texts = messages.map(textOf).filter((text) => text.length > 40 && text.length < 4000)
const question = (): string => {
  const words = texts[random(texts.length)]?.match(/[a-z]{4,}/gi) ?? []
  return Array.from({ length: 4 }, () => words[random(words.length)] ?? 'flight').join(' ')
}

const store = await sqliteStore({ path, durability: 'os' })
for (let number = 0; number < sessions; number++) {
  const from = random(Math.max(1, messages.length - each))
  await createSession(store, {
    id: `session ${number}`,
    metadata: { cwd: folderOf(number % projects), title: `Session ${number}` },
    messages: messages.slice(from, from + each),
  })
}
await indexStore(store)

const quantile = (times: readonly number[], share: number): string =>
  `${(times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN).toPrecision(3)} ms`

/** The milliseconds of the processor that a process has taken, in steps of ten. */
const spent = (pid: number | null): number => {
  if (!existsSync(`/proc/${pid}/stat`)) return NaN
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user, system] = rest.split(' ').slice(11, 13)
  return 10 * (Number(user) + Number(system))
}

const connect = async (options: readonly string[]): Promise<{ client: Client; pid: number | null }> => {
  const client = new Client({ name: 'bench', version: '1' })
  const args = ['--conditions=@indelible/source', main, 'mcp', '--store', path, ...options]
  const env = { PATH: process.env['PATH'] ?? '', HOME: home }
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: folderOf(0), env })
  await client.connect(transport)
  return { client, pid: transport.pid }
}

console.log(`${machine()}; ${sessions} sessions of ${each} messages, ${projects} projects\n`)
console.log('| | first call | median | p95 | processor |\n|---|---:|---:|---:|---:|')
for (const [name, options] of [
  ['one project', []],
  ['all projects', ['--all-projects']],
] as const) {
  for (const [tool, argumentsOf] of [
    ['search', () => ({ question: question() })],
    ['read', () => ({ session: `session ${random(sessions / projects) * projects}` })],
    ['list_sessions', () => ({})],
    ['list_sessions, while a writer appends', () => ({})],
  ] as const) {
    const { client, pid } = await connect(options)
    let before = 0
    const times: number[] = []
    const session = await openSession(store, 'session 0')
    for (let round = 0; round <= rounds; round++) {
      if (tool.includes('writer')) await session.append([user('A message.')])
      const from = performance.now()
      const { isError } = await client.callTool({ name: tool.split(',')[0] ?? '', arguments: argumentsOf() })
      times.push(performance.now() - from)
      if (round === 0) before = spent(pid)
      if (isError === true) throw new Error(`${tool} failed`)
    }
    const processor = (spent(pid) - before) / rounds
    await session.close()
    await client.close()
    const [first = NaN, ...others] = times
    console.log(
      `| ${tool}, ${name} | ${first.toPrecision(3)} ms | ${quantile(others, 0.5)} | ${quantile(others, 0.95)} | ${processor.toPrecision(3)} ms |`,
    )
  }
}
await store.close()
rmSync(home, { recursive: true, force: true })
