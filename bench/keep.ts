/**
 * `keep` over 10,000 sessions of Claude Code: new, unchanged, and one of them changed; the same for `keep --to` a second store, and
 * `copy` of unchanged ones. As processor time of this process. `--quick` for 1,000.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'indelible/store/sqlite'
import { keepSessions, type KeepOptions } from '../packages/cli/src/keep/keep-store.ts'
import { RunFile, runFilePath } from '../packages/cli/src/keep/run-file.ts'
import { sendSessions } from '../packages/cli/src/keep/send.ts'
import { copy } from '../packages/cli/src/maintenance/copy.ts'
import type { Call, Terminal } from '../packages/cli/src/terminal/command.ts'
import { machine } from './measure.ts'

const sessions = process.argv.includes('--quick') ? 1000 : 10_000
const home = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
const folder = join(home, '.claude/projects/-w')
mkdirSync(folder, { recursive: true })
const idOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
const line = (id: string, number: number): string => {
  const role = number % 2 === 0 ? 'user' : 'assistant'
  const text = `Message ${number} of ${id}: ${'words that a person could write '.repeat(20)}`
  const message = role === 'user' ? { role, content: text } : { id: `m${number}`, type: 'message', role, model: 'm', stop_reason: 'end_turn', content: [{ type: 'text', text }] } // oxfmt-ignore
  const place = { uuid: `${id}-${number}`, parentUuid: number === 0 ? null : `${id}-${number - 1}`, sessionId: id }
  return `${JSON.stringify({ ...place, version: '2.1.0', cwd: '/w', timestamp: new Date(1.79e12 + number * 1000).toISOString(), type: role, message })}\n`
}
for (let number = 0; number < sessions; number++)
  writeFileSync(join(folder, `${idOf(number)}.jsonl`), Array.from({ length: 10 }, (_, at) => line(idOf(number), at)).join('')) // oxfmt-ignore

const bar = { at: () => {}, pause: () => {}, end: () => {} }
const terminal = {
  ...{ env: { HOME: home, INDELIBLE_HOST: 'bench' }, columns: 100, progress: () => bar, path: (name: string) => name },
  tell: () => {},
  print: async () => {},
} as unknown as Terminal
const options: KeepOptions = {
  programs: ['claude-code'],
  isExcluded: () => false,
  again: [],
  redactor: undefined,
  isDry: false,
}
const path = join(home, 'sessions.db')

const measured = async (name: string, work: () => Promise<object>): Promise<void> => {
  const from = [process.cpuUsage(), performance.now()] as const
  const result = await work()
  const { user, system } = process.cpuUsage(from[0])
  const seconds = ((user + system) / 1e6).toFixed(2)
  process.stdout.write(`${name}: ${seconds} s of processor time, ${((performance.now() - from[1]) / 1000).toFixed(2)} s; ${JSON.stringify(result)}\n`) // oxfmt-ignore
}

const keep = async (name: string): Promise<void> => {
  const store = await sqliteStore({ path })
  await measured(name, async () => {
    const run = new RunFile(runFilePath(path))
    run.lock()
    const [report] = await keepSessions(store, run, options, terminal)
    run.end({ at: 0, failures: [] })
    return { ...report?.changes, failures: report?.failures.length }
  })
  await store.close()
}

const [target, copied] = [join(home, 'target.db'), join(home, 'copied.db')]
const send = async (name: string): Promise<void> => {
  const [from, to] = [await sqliteStore({ path }), await sqliteStore({ path: target })]
  await measured(name, async () => {
    const { added, grown, failures } = await sendSessions(from, to, 'ann', options, terminal)
    return { added, grown, failures: failures.length }
  })
  await from.close()
  await to.close()
}

const copyAll = (name: string): Promise<void> =>
  measured(name, async () => {
    const call = { values: { from: path, to: copied }, positionals: [], terminal } as unknown as Call
    return { code: (await copy.run(call, [])) ?? 0 }
  })

process.stdout.write(`${machine()}; ${sessions} sessions of 10 messages\n`)
await keep('new, bytes and rows')
await keep('unchanged')
appendFileSync(join(folder, `${idOf(7)}.jsonl`), line(idOf(7), 10))
await keep('one changed')
await send('sent: new')
await send('sent: unchanged')
appendFileSync(join(folder, `${idOf(7)}.jsonl`), line(idOf(7), 11))
await keep('one changed again')
await send('sent: one changed')
await copyAll('copied: new')
await copyAll('copied: unchanged')
rmSync(home, { recursive: true })
