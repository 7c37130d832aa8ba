/** The commands on sessions with the address of a server in the place of a path: what they print is the same. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession, openSession, user, verifySession, type Store } from 'indelible'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../../scripts/run.ts'
import { ok } from '../../../test/task-results.ts'
import { startPostgres, noPostgres } from '../../postgres/test/postgres-server.ts'
import { folder, indelible, main, writeTestFile } from './indelible.ts'
import { isFull, rounds } from '../../../test/rounds.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

const server = await startPostgres()
const url = server?.url ?? 'postgres://none'
const schemas = ['same', 'absent', 'reader', 'copies', 'secrets'].map((name) => `cli ${name} ${process.pid}`)
const [same, absent, reader, copies, secrets] = schemas as [string, string, string, string, string]
const role = `cli_reader_${process.pid}`

const sql = async (text: string): Promise<readonly unknown[]> => {
  const client = new Client({ connectionString: server?.url ?? '' })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
/** The address of a schema, as `--store` takes it. */
const at = (schema: string, login?: { readonly user: string; readonly password: string }): string => {
  const address = new URL(url)
  address.searchParams.set('schema', schema)
  if (login !== undefined) Object.assign(address, { username: login.user, password: login.password })
  return address.href
}
const example = join(root, 'examples/coding-agent.json')
/** Commands that change nothing. A short run tries every second one. */
const reads: ReadonlySet<string> = new Set('show list context export search diff spend'.split(' '))

describe('--store postgres://', leftOutIf(server === undefined, noPostgres), () => {
  beforeAll(() => sql(`create role ${role} login password 'hush hush'`))
  afterAll(async () => {
    // A server of somebody else's is left as it was.
    for (const schema of schemas) await sql(`drop schema if exists "${schema}" cascade`)
    await sql(`drop owned by ${role}; drop role ${role}`)
    await server?.stop()
  })

  it('every command works as with a file', () => {
    const [proof, keys] = [join(folder, 'proof of both.json'), join(folder, 'of both.keys')]
    const commands: readonly (readonly string[])[] = [
      ['import', example, '--id', 'x'],
      ['import', example],
      ['append', 'x', 'And the tests?', '--page', 'plan', '--operation', 'o'],
      ['append', 'x', 'And the tests?', '--page', 'plan', '--operation', 'o'],
      ['append', 'x', 'late', '--at', '19'],
      ['fork', 'x', '--at', '5', '--id', 'y'],
      ['list'],
      ['show', 'x'],
      ['show', 'x', '--json', '--from', '-3'],
      ['prove', 'x'],
      ['verify', 'x'],
      ['verify', '--all'],
      ['prove', 'x', '4'],
      ['context', 'x', '--budget', '2000', '--explain'],
      ['export', 'x', '--to', 'indelible'],
      ['export', 'y', '--to', 'anthropic'],
      ['show', 'nowhere'],
      ['show', 'x', '0-2'],
      ['search', 'test', '--sort', 'time'],
      ['index'],
      ['index'],
      ['search', 'test', '--json'],
      ['search', 'test', '--all-scopes', '--in', 'tools'],
      ['note', 'x', 'a remark', '--at', '2'],
      ['pin', 'x', '0', '-1'],
      ['retag', 'x', '2', 'plan'],
      ['rename', 'x', 'the title'],
      ['rewind', 'y', '--to', '-1'],
      ['diff', 'x', 'y'],
      ['list', '--tree'],
      ['list', '--tree', '--json'],
      ['spend'],
      ['list', '--scopes'],
      ['context', '--compare', 'x', '--budget', '2k', '--policy', 'paged,window', '--json'],
      ['ledger', 'update'],
      ['hold', 'x', '--reason', 'why', '--by', 'ann'],
      ['erase', 'x', '3', '--yes'],
      ['remove', 'x', '--yes'],
      ['list', '--json'],
      ['list', '--where', 'held=true'],
      ['hold', '--release', 'x'],
      ['erase', 'x', '3', '--yes'],
      ['erase', '--matching', 'nothing like it', '--dry-run'],
      ['ledger', 'show'],
      ['ledger', 'verify'],
      ['list'],
      ['import', example, '--id', 'z', '--key-file', keys],
      ['search', 'test', '--sort', 'time'],
      ['search', 'test', '--session', 'z', '--key-file', keys],
      ['encryption', 'destroy', 'z', '--yes', '--key-file', keys],
      ['search', 'test', '--key-file', keys],
      ['show', 'z', '--key-file', keys],
      ['verify', '--all', '--deep'],
      ['repair'],
      ['remove', 'y', '--yes'],
      ['remove', '--unfinished', '--yes'],
      ['index', '--drop'],
    ]
    indelible(['encryption', 'new', keys])
    const path = join(folder, 'same.db')
    for (const [index, command] of commands.entries()) {
      if (!isFull && index % 2 === 1 && reads.has(command[0] as string)) continue
      const [file, base] = [path, at(same)].map((store) => indelible([...command, '--store', store]))
      // When a row was written is part of its leaf, and so of the head.
      const timeless = (text = ''): string =>
        text
          .replaceAll(/^ {2}dead rows: PostgreSQL .*\n/gm, '') // which a file has none of
          .replaceAll(/--store (?:'[^']*'|[^"\s]+)/g, '--store STORE')
          .replaceAll(/(?<="(?:median|p99|took)":)[\d.e-]+/g, 'TIME')
          .replaceAll(/\d{4}-\d\d-\d\d[ T][\d:.Z]+|\b\d\d:\d\d:\d\d\b|(?<="at":)\d+/g, 'TIME')
          .replaceAll(/\b[0-9a-f]{12,64}\b/g, 'HASH')
      expect([command, base?.status, timeless(base?.stdout), timeless(base?.stderr)]).toEqual([
        command,
        file?.status,
        timeless(file?.stdout),
        timeless(file?.stderr),
      ])
      if (command[0] !== 'prove' || command.length === 2) continue
      writeTestFile('proof of both.json', base?.stdout ?? '')
      const head = indelible(['prove', 'x', '--store', at(same)]).lines[0] ?? ''
      expect(indelible(['prove', '--check', proof, '--head', head]).status).toBe(0)
    }
  })

  it('reading commands create nothing and need only a read-only role', async () => {
    for (const command of [
      ['list'],
      ['verify', '--all'],
      ['append', 'x', 'y'],
      ['copy', '--to', join(folder, 'never.db')],
    ]) {
      const { status, stderr } = indelible([...command, command[0] === 'copy' ? '--from' : '--store', at(absent)])
      expect([command, status, stderr]).toEqual([
        command,
        1,
        expect.stringMatching(
          /^indelible: postgres:\/\/[^ ]+\?schema=cli%20absent%20\d+: this store does not exist; "indelible import FILE(?: --store '.*')?" creates it\n$/,
        ),
      ])
    }
    expect(await sql(`select 1 from information_schema.schemata where schema_name = '${absent}'`)).toEqual([])

    indelible(['import', example, '--id', 'x', '--store', at(reader)])
    await sql(
      `grant usage on schema "${reader}" to ${role}; grant select on all tables in schema "${reader}" to ${role}`,
    )
    const limited = at(reader, { user: role, password: 'hush hush' })
    for (const command of [['list'], ['show', 'x'], ['verify', 'x'], ['export', 'x', '--to', 'indelible']])
      expect(indelible([...command, '--store', limited])).toMatchObject({ status: 0, stderr: '' })
    const refused = indelible(['append', 'x', 'y', '--store', limited])
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('is read-only')])
    expect(indelible(['list', '--json', '--store', at(reader)]).stdout).toContain('"len":19')
  })

  it('no password is printed, whatever goes wrong', async () => {
    indelible(['import', example, '--id', 'x', '--store', at(secrets)])
    await sql(`grant usage on schema "${secrets}" to ${role}`)
    const login = { user: role, password: 'hush hush' }
    const elsewhere = (change: Partial<URL>): string => Object.assign(new URL(at(secrets, login)), change).href
    const tried: readonly (readonly [address: string, says: RegExp, status?: number])[] = [
      [
        elsewhere({ host: '127.0.0.1:1' }),
        /127\.0\.0\.1:1\/\S+: no connection to PostgreSQL could be made \(connect ECONNREFUSED 127\.0\.0\.1:1\)/,
      ],
      [elsewhere({ pathname: '/nowhere' }), /database "nowhere" does not exist/],
      [at(secrets, login), /permission denied for table indelible/],
      ['postgres://me:hush hush@[nonsense', /not a valid address/, 2],
      ['mysql://me:hush@h/x', /--store takes a path or postgres:.*; mysql: is neither/, 2],
      ['postgres:/me:hush@h/x', /not a valid address/, 2],
      [`${at(secrets, login)}&sslmode=nonsense`, /sslmode|SSL/],
    ]
    for (const [address, says, code = 1] of tried)
      for (const command of [
        ['list', '--store', address],
        ['copy', '--from', address, '--to', join(folder, 'x.db')],
      ]) {
        const { status, stdout, stderr } = indelible(command)
        expect([command, status, stderr]).toEqual([command, code, expect.stringMatching(says)])
        expect(`${stdout}${stderr}`).not.toMatch(/hush/)
      }
  })

  it('copy copies sessions from a file to a server and back, and continues after a kill', async () => {
    const [path, back] = [join(folder, 'origin.db'), join(folder, 'back.db')]
    const origin = await ok(sqliteStore({ path, durability: 'os' }))
    const heads = await filled(origin)
    await ok(origin.close())
    const target = await ok(postgresStore({ timeout: 600_000, connectionString: server?.url ?? '', schema: copies }))

    const args = ['copy', '--from', path, '--to', at(copies)]
    const rowsThere = async (): Promise<number> => {
      const there = await target.info('long')()
      return there._tag === 'Right' ? there.right.head.size : 0
    }
    // It waits for a lock in the middle of the long session, however fast or slow the machine is.
    const holder = new Client({ connectionString: server?.url ?? '' })
    await holder.connect()
    await holder.query(`select pg_advisory_lock(7);
      create function "${copies}".wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(7); return new; end';
      create trigger wait before insert on "${copies}".row for each row when (new.position = 2000) execute function "${copies}".wait()`)
    const child = spawn(process.execPath, [main, ...args], { stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('close', (_, signal) => resolve(signal)))
    const waits = `from pg_locks where locktype = 'advisory' and not granted`
    while (child.exitCode === null && (await holder.query(`select 1 ${waits}`)).rows.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20))
    child.kill('SIGKILL')
    expect(await ended).toBe('SIGKILL')
    await holder.query(`select pg_terminate_backend(pid, 300000) ${waits}`)
    await holder.query(`drop trigger wait on "${copies}".row; drop function "${copies}".wait()`)
    await holder.end()
    const begun = await rowsThere()
    expect(begun).toBeGreaterThan(0)
    expect(begun).toBeLessThan(heads.get('long')?.size ?? 0)
    expect(indelible(['list', '--store', at(copies)]).stdout).not.toContain('long') // it is no session before it is whole
    expect(indelible(['append', 'long', 'x', '--store', at(copies)]).stderr).toMatch(
      /^indelible: "long" is an unfinished copy with [\d,]+ rows so far/,
    )

    const again = indelible(args)
    expect([again.status, again.stderr]).toEqual([0, '1 session was already copied\n'])
    expect(again.lines.map((line) => line.split(', head')[0])).toEqual([
      `long: ${rounds(2500, 9000).toLocaleString('en')} messages`,
      '',
    ])
    for (const [id, head] of heads) await ok(verifySession(target, id, { head }))
    await ok(target.close())

    expect(indelible(['copy', '--from', at(copies), '--to', back]).status).toBe(0)
    for (const id of heads.keys())
      expect(indelible(['export', id, '--to', 'indelible', '--store', back]).stdout).toBe(
        indelible(['export', id, '--to', 'indelible', '--store', path]).stdout,
      )

    indelible(['append', 'short', 'gone its own way', '--store', at(copies)])
    const ahead = indelible([...args, 'short'])
    expect([ahead.status, ahead.stderr]).toEqual([
      1,
      'short: the session in the other store is longer (3 rows, here 2); it was not changed\nindelible: 1 session of 1 was not copied\n',
    ])
    expect(indelible(['prove', 'short', '--store', at(copies)]).stdout).toMatch(/^3:/)
  })
})

const filled = async (store: Store): Promise<ReadonlyMap<string, { readonly size: number; readonly root: string }>> => {
  const short = await ok(createSession(store, { id: 'short' }))
  await ok(short.append([user('one'), user('two '.repeat(3000))]))
  const long = await ok(createSession(store, { id: 'long', metadata: { title: 'to be copied' } }))
  await ok(
    long.append(
      Array.from({ length: rounds(2500, 9000) }, (_, number) =>
        user(`message ${number} ${'of many words '.repeat(40)}`),
      ),
    ),
  )
  await ok(long.note({ type: 'pin', position: 7 }))
  expect((await ok(openSession(store, 'long'))).len).toBe(rounds(2500, 9000))
  return new Map([short, long].map((session) => [session.id, session.head()]))
}
