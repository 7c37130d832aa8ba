/**
 * One agent, recorded once and answered from its record: `rerun.ts NAME FOLDER`. Each rerun has an empty home at
 * the same path, a work folder of its own, and another day. The last one asks something else. Prints as JSON what each said. Started by `run.ts` where
 * there is no way out.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listSessions, openSession } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { providerServer } from '../test/run/provider-server.ts'
import { agents } from './agents.ts'
import { scripted } from './scripted.ts'

/** What one rerun said at its end. */
export interface Rerun {
  readonly title: string
  readonly seconds: number
  /** The last lines of the command. */
  readonly said: string
  readonly wrong: readonly string[]
}

const [name, folder = ''] = process.argv.slice(2)
const agent = agents.find((agent) => agent.name === name)
const program = agent?.program()
if (agent === undefined || program === undefined) throw new Error(`${name} is not here`)
const main = join(import.meta.dirname, '../packages/cli/dist/bin/main.js')
const store = join(folder, 'sessions.db')
const provider = await providerServer(scripted)

const shellText = (text: string): string =>
  `"${text.replaceAll(/["$`\\]/g, '\\$&').replaceAll(/\{(\w+)\}/g, (_, key: string) => `$${key}`)}"`

let places = 0

/** Run the agent with two questions in a new home and a new folder, as COMMAND of the command line. */
const run = (
  command: readonly string[],
  questions: readonly [string, string],
  zone: string,
): Promise<{ readonly code: number | null; readonly said: string }> => {
  const place = { home: join(folder, 'home'), work: join(folder, `work-${++places}`) }
  rmSync(place.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }) // the run before may still write
  mkdirSync(place.home)
  mkdirSync(place.work)
  writeFileSync(join(place.work, 'note.txt'), 'first:alpha\nsecond:beta\n')
  agent.prepare?.(place, provider.url)
  const asks = questions.map((question, index) => [program, ...agent.ask(question, index > 0)].map(shellText).join(' '))
  const script = asks.join(' && ')
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...command, '--', 'sh', '-c', script], {
      cwd: place.work,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: place.home,
        XDG_DATA_HOME: join(place.home, '.local/share'),
        TZ: zone,
        ...agent.env,
        OPENAI_BASE_URL: `${provider.url}/v1`,
        OPENAI_API_KEY: 'none',
        ANTHROPIC_BASE_URL: provider.url,
        ANTHROPIC_API_KEY: 'none',
        GOOGLE_GEMINI_BASE_URL: provider.url,
      },
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    const timer = setTimeout(() => child.kill('SIGKILL'), 300_000) // ends a hang
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, said: output })
    })
  })
}

const questions = ['Please read note.txt and tell me its second word.', 'And what was the first?'] as const

/** The session with both questions. */
const recordedSession = async (): Promise<string> => {
  const opened = await sqliteStore({ path: store })
  try {
    for (const { id } of (await listSessions(opened, { limit: 1000 })).sessions) {
      const session = await openSession(opened, id)
      const text = JSON.stringify([...session.conversation()])
      if (questions.every((question) => text.includes(question))) return id
    }
    throw new Error('no session has both questions')
  } finally {
    await opened.close()
  }
}

const recorded = await run(['record', '--store', store], questions, 'UTC+12')
if (recorded.code !== 0) throw new Error(`it was not recorded: ${recorded.said.slice(-1500)}`)
const session = await recordedSession()
const called = provider.requests.length

const reruns: Rerun[] = []
const rerun = async (title: string, asked: readonly [string, string], isRight: (output: string) => boolean) => {
  const from = Date.now()
  const options = ['--store', store, '--trust-session', '--yes', '--ignore', 'dates,folder']
  const { code, said: text } = await run(['rerun', session, ...options], asked, 'UTC-14')
  const wrong =
    isRight(text) && code === (asked === questions ? 0 : 1) ? [] : [`exit code ${code}: ${text.slice(-3000)}`]
  if (provider.requests.length !== called) wrong.push('the provider was called')
  const lines = text.trimEnd().split('\n')
  reruns.push({
    title,
    seconds: (Date.now() - from) / 1000,
    said: lines.slice(asked === questions ? -2 : -20).join('\n'),
    wrong,
  })
}

/** An agent may ask for a title as well, which is another session. */
const asRecorded = /^(\d+) of \1 calls as recorded(?:, and \d+ calls? of \d+ other sessions?)?$/m
for (let round = 1; round <= 5; round++) await rerun(`rerun ${round}`, questions, (output) => asRecorded.test(output))
const other = 'And what was the third?'
await rerun(
  'another prompt',
  [questions[0], other],
  (output) => output.includes(other) && output.includes(questions[1]),
)
await provider.close()
process.stdout.write(JSON.stringify(reruns))
