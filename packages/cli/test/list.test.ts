/** What `indelible list --limit N` reads of a store of many sessions, and that it prints what it would print of all. */
import { mkdtempSync, rmSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { createSession, openSession, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { runCommand } from './command-run.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-list-'))
const path = join(folder, 'sessions.db')
const sessions = 400
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.restoreAllMocks())

beforeAll(async () => {
  let now = Date.UTC(2026, 0, 1)
  const store = await sqliteStore({ path, durability: 'os', now: () => (now += 1000) })
  for (let index = 0; index < sessions; index++) {
    // Each fifth is imported: its file ended before, in another order.
    const ended = new Date(Date.UTC(2025, 11, 1) + ((index * 7919) % sessions) * 600_000).toISOString()
    const file = index === 0 && { usage: { input: 6000, output: 1 }, metadata: { cwd: '/home/ann/calendar' } }
    const metadata = { title: `Session ${index}`, ...(index % 5 === 0 && { from: { ended, ...file } }) }
    const session = await createSession(store, { id: `s${index}`, metadata })
    if (index % 5 !== 0) await session.append(Array.from({ length: (index * 31) % 7 }, () => user('Hello.')))
  }
  const grown = await createSession(store, { id: 'grown' })
  for (let index = 0; index < 3; index++) await grown.append(user('Hello.'))
  const receipt = (model: string, input: number) =>
    ({ type: 'receipt', len: 0, contextDigest: '0'.repeat(64), model, usage: { input, output: 1 } }) as const
  await grown.note(receipt('m-1', 500))
  await grown.note(receipt('m-2', 500))
  await (await openSession(store, 's7')).note(receipt('m-1', 5000))
  await store.close()
})

/** What a command prints, and how many logs it was given. */
const counted = async (args: readonly string[]) => {
  let logs = 0
  const real = StatementSync.prototype.iterate as (...given: unknown[]) => Iterator<unknown>
  vi.spyOn(StatementSync.prototype, 'iterate').mockImplementation(function* (this: StatementSync, ...given: unknown[]) {
    const rows = real.apply(this, given)
    for (let row = rows.next(); row.done !== true; row = rows.next()) {
      if (this.sourceSQL.includes(' from log ')) logs += 1
      yield row.value
    }
    return undefined
  } as never)
  const { stdout, stderr, status } = await runCommand({ args: [...args, '--store', path] })
  vi.restoreAllMocks()
  return { stdout, stderr, status, logs }
}

const listed = async (...args: readonly string[]) => {
  const { stdout, stderr, status, logs } = await counted(['list', '--json', ...args])
  expect([status, stderr]).toEqual([0, ''])
  const ids = stdout.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { id: string }).id]))
  return { ids, logs }
}

const fields = ['activity', 'appended', 'created', 'messages', 'tokens', 'id']

it.each(fields)('list: the first sessions by %s match the full list', async (field) => {
  const all = await listed('--sort', field)
  expect(all.ids).toHaveLength(sessions + 1)
  for (const limit of [1, 20, 300, sessions + 1, 1000])
    expect((await listed('--sort', field, '--limit', `${limit}`)).ids, `${limit}`).toEqual(all.ids.slice(0, limit))
  const where = ['--sort', field, '--where', 'title~7']
  expect((await listed(...where, '--limit', '9')).ids).toEqual((await listed(...where)).ids.slice(0, 9))
})

it('list: sorts by tokens, and finds a session by each model of its calls', async () => {
  expect((await listed('--sort', 'tokens', '--limit', '2')).ids).toEqual(['s0', 's7'])
  expect((await listed('--where', 'model=m-2')).ids).toEqual(['grown'])
  expect((await listed('--where', 'tokens>1001')).ids).toEqual(['s7', 'grown', 's0'])
  expect((await listed('--where', 'tokens<5001', '--where', 'tokens>0')).ids).toEqual(['grown'])
  for (const asked of [
    ['--sort', 'tokens', '--limit', '1'],
    ['--where', 'tokens>5001'],
    ['--where', 'project~calendar', '--where', 'tokens>0'],
  ])
    expect((await counted(['list', ...asked])).stdout).toMatch(
      /^last activity +messages +tokens +session +about\n\S+ \S+ +0 +6,001 +s0 +calendar: Session 0\n$/,
    )
  expect((await counted(['list', '--where', 'cost>1'])).stderr).toContain('a list has no costs')
  expect((await counted(['list', '--where', 'tokens>=1'])).stderr).toContain('--where takes FIELD=VALUE')
  expect((await counted(['list', '--sort', 'cost'])).stderr).toMatch(
    /; "indelible spend --by session .*" orders by cost\n/,
  )
  expect((await listed('--where', 'model=m-1', '--where', 'messages>2')).ids).toEqual(['grown'])
})

it('spend --by session: says of each session what list does, beside or below its figures', async () => {
  const { stdout } = await counted(['spend', '--by', 'session'])
  expect(stdout).toMatch(
    /^session .* about\ns0 .* \? {2}calendar: Session 0\ns7 .* \? {2}Session 7\ngrown .* \? {2}Hello\.\nall /,
  )
  const narrow = await runCommand({ args: ['spend', '--by', 'session', '--store', path], terminal: 60 })
  expect(narrow.stdout).toMatch(
    /^session .* dollars\ns0 .* \?\n {2}calendar: Session 0\ns7 .* \?\n {2}Session 7\ngrown .* \?\n {2}Hello\.\nall /,
  )
})

it.each(['appended', 'created', 'id'])('list: the first 20 by %s read one page of the store', async (field) => {
  expect((await listed('--sort', field, '--limit', '20')).logs).toBe(22) // one to know that they are all, one for the cursor
})

it('list: the first 20 by messages read one page and sessions of about as many messages as the last', async () => {
  expect((await listed('--sort', 'messages', '--limit', '20')).logs).toBeLessThan(22 + sessions / 8)
})

it('list: the first 20 by activity read no session used before the last of them', async () => {
  expect((await listed('--limit', '20')).logs).toBeLessThan(70)
})

it('the beginning of an id is found without reading the other sessions, and an ambiguous one names its sessions', async () => {
  const found = await counted(['verify', 'gro'])
  expect([found.status, found.stdout]).toEqual([0, expect.stringContaining('grown: good, 3 messages')])
  expect(found.logs).toBeLessThan(30)
  const shortened = await counted(['verify', 'g…wn'])
  expect([shortened.status, shortened.logs < 30]).toEqual([0, true])
  const several = await counted(['verify', 's39'])
  expect([several.status, several.stderr]).toEqual([0, '']) // a whole id
  const ambiguous = await counted(['verify', 's3…'])
  expect(ambiguous.stderr).toContain(
    '111 sessions of this store begin with "s3…": s3, s30, s300, s301, s302, …; write more',
  )
  expect(ambiguous.logs).toBeLessThan(200)
})
