/**
 * One agent on a machine with `indelible keep` and `indelible mcp`: `keep.ts NAME FOLDER`. It is asked, its hook keeps the
 * session, it asks the record, its files are deleted and restored, and it continues. Prints what went wrong as JSON. Started by
 * `run.ts` where there is no way out.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { providerServer } from '../test/run/provider-server.ts'
import { agents } from './agents.ts'
import { scripted } from './scripted.ts'

/** What one step left. */
export interface KeepStep {
  readonly step: string
  readonly seconds: number
  readonly wrong: readonly string[]
}

const [name, folder = ''] = process.argv.slice(2)
const agent = agents.find((agent) => agent.name === name)
const program = agent?.program()
if (agent === undefined || program === undefined) throw new Error(`${name} is not here`)

const place = { home: join(folder, 'home'), work: join(folder, 'work') }
const store = join(folder, 'sessions.db')
const bin = join(folder, 'bin')
for (const each of [place.home, bin, join(place.work, '.git')]) mkdirSync(each, { recursive: true })
const note = join(place.work, 'note.txt')
writeFileSync(note, 'first:alpha\nsecond:beta\n')
const commands: { readonly [name: string]: string } = { 'Claude Code': 'claude', Codex: 'codex', opencode: 'opencode' }
if (name !== undefined && commands[name] !== undefined) symlinkSync(realpathSync(program), join(bin, commands[name]))

/** What the provider was sent, as JSON. */
const received: string[] = []
const provider = await providerServer((request) => {
  const reply = scripted(request)
  received.push(JSON.stringify(request.body))
  if (process.env['CLIENTS_WIRE'] !== undefined)
    writeFileSync(join(folder, 'wire.jsonl'), `${JSON.stringify({ ...request, reply })}\n`, { flag: 'a' })
  return reply
})

agent.prepare?.(place, provider.url)

const variables: Readonly<Record<string, string>> = {
  OPENAI_BASE_URL: `${provider.url}/v1`,
  OPENAI_API_KEY: 'none',
  ANTHROPIC_BASE_URL: provider.url,
  ANTHROPIC_API_KEY: 'none',
  GOOGLE_GEMINI_BASE_URL: provider.url,
}
const filled = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (all, key: string) => variables[key] ?? all)
const env = {
  PATH: [bin, dirname(process.execPath), process.env['PATH']].join(':'),
  HOME: place.home,
  ...variables,
  ...Object.fromEntries(Object.entries(agent.env).map(([key, value]) => [key, filled(value)])),
}
const main = join(import.meta.dirname, '../packages/cli/dist/bin/main.js')
const indelible = (...args: readonly string[]) =>
  spawnSync(process.execPath, [main, ...args], { cwd: place.work, env, encoding: 'utf8' })

const ask = (question: string, goesOn: boolean): Promise<string | undefined> =>
  new Promise((resolve) => {
    const child = spawn(program, [...agent.ask(question, goesOn), ...(agent.trust ?? [])].map(filled), {
      cwd: place.work,
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    })
    let out = ''
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    child.stderr.on('data', (chunk) => (out += String(chunk)))
    const timer = setTimeout(() => child.kill('SIGKILL'), 300_000) // ends a hang
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? undefined : `exit code ${code}: ${out.slice(-1500)}`)
    })
  })

/** The sessions of the store, the newest first. */
const kept = (): readonly { readonly id: string; readonly len: number }[] =>
  existsSync(store)
    ? indelible('list', '--json', '--store', store)
        .stdout.split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { readonly id: string; readonly len: number })
    : []

/** Wait until the store has an answer. Returns what is wrong. */
const waitForAnswer = async (answer: string): Promise<string | undefined> => {
  const from = Date.now()
  for (let last = 0; ; last = Date.now() - from) {
    if (indelible('search', '--json', '--store', store, '--', `"${answer}"`).stdout.includes('"session"'))
      return undefined
    if (last > 60_000) return `after a minute the store has no ${JSON.stringify(answer)}`
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** The rows of a session in all tables, column by column. */
const rowsOf = (path: string, id: string): readonly unknown[] => {
  const db = new DatabaseSync(path, { readOnly: true })
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table'")
    .all()
    .map(({ name: table }) => String(table))
  const rows = tables.flatMap((table) => {
    const columns = db
      .prepare('select name from pragma_table_info(?)')
      .all(table)
      .map((column) => column['name'])
    const column = table === 'session' ? 'id' : columns.includes('session_id') ? 'session_id' : undefined
    return column === undefined ? [] : db.prepare(`select * from ${table} where ${column} = ? order by 1`).all(id)
  })
  db.close()
  return rows
}

const steps: KeepStep[] = []
const step = async (title: string, work: () => Promise<readonly (string | undefined)[]>): Promise<void> => {
  const from = Date.now()
  const found = await work().catch((error: unknown) => [String(error)])
  const wrong = found.flatMap((one) => one ?? [])
  steps.push({ step: title, seconds: (Date.now() - from) / 1000, wrong })
}
const failure = ({ status, stdout, stderr }: ReturnType<typeof indelible>): string | undefined =>
  status === 0 ? undefined : `exit code ${status}: ${stdout.slice(-500)}${stderr.slice(-1000)}`

await step('a session', async () => [await ask(`Please read ${note} and tell me its second word.`, false)])
await step('keep --install', async () => [failure(indelible('keep', '--install', '--yes', '--store', store))])
await step('a hook keeps the last answer', async () => {
  if (agent.hasHook === false) return [failure(indelible('keep', '--store', store))]
  return [
    await ask('Is the colour ultramarine?', true),
    await waitForAnswer('ultramarine'),
    await waitForAnswer('That was message'),
  ]
})
if (agent.mcp !== undefined) {
  const { mcp } = agent
  await step('mcp --install', async () => [
    failure(indelible('index', '--store', store)),
    failure(indelible('mcp', '--install', mcp, '--yes', '--store', store)),
  ])
  await step('it asks the record', async () => {
    received.length = 0
    const failed = await ask('Please ask the record for the second word.', false)
    const answers = received.filter((body) => body.includes('<<indelible '))
    const pairs = [
      ...(answers.at(-1) ?? '').matchAll(/session\\+":\\+"([^"\\]+)\\+".*?head\\+":\\+"(\d+:[0-9a-f]{64})/g),
    ]
    const unproven = pairs.flatMap(([, id = '', head = '']) => failure(indelible('verify', id, '--head', head, '--store', store)) ?? []) // oxfmt-ignore
    return [
      failed,
      ...(answers.length === 0 ? ['no request has an answer of the tool search'] : []),
      ...(pairs.length === 0 ? ['no answer has a session with a head'] : []),
      ...unproven,
    ]
  })
}
await step('deleted and restored', async () => {
  let run = indelible('keep', '--store', store)
  // A hook's run may be under way.
  while (run.stderr.includes('another run keeps this store now')) run = indelible('keep', '--store', store)
  const failed = failure(run)
  const files = (): ReadonlyMap<string, string> =>
    new Map(globSync(join(place.home, agent.files ?? agent.transcript)).map((path) => [path, readFileSync(path).toString('base64')])) // oxfmt-ignore
  const before = files()
  const database = [...before.keys()].find((path) => path.endsWith('.db'))
  if (database !== undefined) {
    const sessions = kept().map(({ id }) => ({ id, rows: rowsOf(database, id) }))
    const deleting = new DatabaseSync(database)
    for (const { id } of sessions) deleting.prepare('delete from session where id = ?').run(id)
    deleting.close()
    const left = sessions.filter(({ id }) => rowsOf(database, id).length > 0).map(({ id }) => `${id} was not deleted`)
    const again = [0, 1].flatMap(() => sessions.map(({ id }) => failure(indelible('restore', id, '--store', store))))
    const differing = sessions.flatMap(({ id, rows }) =>
      rows.length > 0 && isDeepStrictEqual(rowsOf(database, id), rows)
        ? []
        : [`the rows of ${id} are not as they were`],
    )
    return [failed, ...left, ...again, ...differing]
  }
  for (const path of before.keys()) rmSync(path)
  const restored = kept().map(({ id }) => failure(indelible('restore', id, '--store', store)))
  const after = files()
  const differing = [...before].flatMap(([path, text]) =>
    after.get(path) === text ? [] : [`${path} is not as it was`],
  )
  const again = indelible('keep', '--dry-run', '--store', store).stdout
  return [failed, ...restored, ...differing, /grown|new/.test(again) ? `a dry run says: ${again}` : undefined]
})
await step('and continued', async () => [await ask('And what was the first?', true)])
await step('uninstalled', async () => [
  ...(agent.mcp === undefined ? [] : [failure(indelible('mcp', '--uninstall', agent.mcp, '--yes'))]),
  failure(indelible('keep', '--uninstall', '--yes', '--store', store)),
])
await provider.close()
process.stdout.write(JSON.stringify(steps))
