import { createSession, faultMessage, memoryStore, openSession, orThrow, user, verifySession } from 'indelible'
import { copySession, createFork, exportSession, eraseMessages, findMessages, readRange } from 'indelible/session'
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { blockIdOf } from '../../../src/proof/internal.ts'
import { verifyLog, type Head, type Row, type Store, type StoreFault } from 'indelible/store'
import { findingText, sessionMember, storeTask } from '../../../src/store/internal.ts'
import { postgresStore, type PostgresOptions } from '@indelible/postgres'
import { injectFaults, storeContract, type StorePlace, type Faults } from '@indelible/testing'
import { cancelStatement } from '../src/cancel.ts'
import { listLogs } from '../src/list.ts'
import { sizedAt } from '../src/log.ts'
import { Database, isUnsupported, stateOf, type PostgresClient, type PostgresPool } from '../src/database.ts'
import { endingProxy } from './postgres-ending-proxy.ts'
import { bouncerVersion, hasTransactionMode, startBouncer, type Bouncer } from './pgbouncer.ts'
import { faultyPool } from './faulty-postgres.ts'
import { isRunning, noPostgres, notOurServer, openPool, startPostgres } from './postgres-server.ts'
import { isFull, oneIn, rounds } from '../../../test/rounds.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { listProperties } from '../../../test/store/list-model.ts'
import { program, programUrl } from '../../../test/programs.ts'

const terminations = rounds(6, 100)
const server = await startPostgres()
afterAll(async () => {
  // A server of somebody else's is left as it was.
  if (server !== undefined && server.own === undefined)
    for (const schema of schemas) await sql(`drop schema if exists ${quoted(schema)} cascade`)
  await Promise.all([asking.end(), shared.end()])
  await server?.stop()
})
const url = server?.url ?? ''
/** Connections beside those of the stores: each takes the server a process. */
const asking = openPool({ connectionString: url, max: 2, idleTimeoutMillis: 0 })
const schemas: string[] = []
const fresh = (): string => {
  const schema = `it "${process.pid} ${schemas.length}`
  schemas.push(schema)
  return schema
}
const quoted = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

const done = async <T>(task: TaskEither<StoreFault, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(faultMessage(answer.left), { cause: answer.left })
  return answer.right
}
const outcomeText = async (task: TaskEither<StoreFault, unknown>): Promise<string> => {
  const answer = await task()
  return isLeft(answer) ? `${answer.left._tag}: ${faultMessage(answer.left)}` : 'went well'
}
/** A store that waits for a machine with other work. */
const open = (options: Partial<PostgresOptions>): Promise<Store> =>
  done(postgresStore({ connectionString: url, timeout: 600_000, ...options } as PostgresOptions))
/** A store with little time, which a machine that stands still for a moment opens at a later try. */
const openHasty = async (options: Partial<PostgresOptions>): Promise<Store> => {
  for (;;) {
    const opened = await postgresStore({ connectionString: url, ...options } as PostgresOptions)()
    if (!isLeft(opened)) return opened.right
    expect(opened.left._tag).toMatch(/^(?:Busy|Io)$/)
  }
}

const sql = async (text: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await asking.query(text)).rows as Readonly<Record<string, unknown>>[]

/** A step of a plan, as the server explains it. */
interface Plan {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Plan[]
}

const row = (body: string): Row => ({ kind: 'entry', body })

/** Schemas of ended cases, with empty tables: to make them anew for each case takes longer than all the rest of it. */
const emptied: string[] = []
const empty = async (schema: string): Promise<void> => {
  const named = schema.replaceAll("'", "''")
  await sql(`do $$ declare t text; begin
    set local lock_timeout = '60s';
    for t in select tablename from pg_tables where schemaname = '${named}' and tablename <> 'indelible' order by tablename = 'block' loop
      execute format('delete from %I.%I', '${named}', t);
    end loop; end $$`)
  emptied.push(schema)
}

/** Connections that the cases share: to a server, each new one is a process that knows nothing yet. */
const shared = openPool({ connectionString: url, max: 12, idleTimeoutMillis: 0 })

const place = async (connectionString: string = url): Promise<StorePlace> => {
  const schema = emptied.pop() ?? fresh()
  const remake = `drop schema if exists ${quoted(schema)} cascade; create schema ${quoted(schema)}`
  return {
    open: (scope) => {
      const named = { schema, ...(scope !== undefined && { scope }) }
      if (isFull) return open({ connectionString, connections: 4, ...named })
      return done(postgresStore({ pool: shared, timeout: 600_000, ...named }))
    },
    openFaulty: async (faults) => {
      const pool = faultyPool(isFull ? connectionString : shared, faults)
      const store = await done(postgresStore({ pool, schema, timeout: 1000 }))
      // The pool is ours, and ends with the handle.
      return {
        ...store,
        close: () =>
          storeTask(
            () =>
              store
                .close()()
                .finally(() => pool.end()),
            'store.close',
          ),
      }
    },
    faultEvery: oneIn(53),
    lasting: true,
    elsewhere: {
      module: programUrl('packages/postgres/test/postgres-elsewhere.ts'),
      argument: JSON.stringify({ connectionString, schema }),
    },
    wrecks: [
      { name: 'an empty schema', make: async () => void (await sql(remake)) },
      {
        name: 'a schema without a version',
        make: async () =>
          void (await sql(
            `${remake}; create table ${quoted(schema)}.indelible (format integer primary key, fingerprint text not null)`,
          )),
      },
    ],
    leave: () => empty(schema),
  }
}

for (const { name, run } of storeContract('postgres', () => place()))
  it(name, leftOutIf(server === undefined, noPostgres), run)

let listed: Promise<Store> | undefined
let lists = 0
listProperties(
  'PostgreSQL',
  async () => orThrow((await (listed ??= open({ schema: fresh() }))).scoped(`list ${lists++}`)),
  leftOutIf(server === undefined, noPostgres),
)
afterAll(async () => await (await listed)?.close())

/** The connections whose statements wait for a lock of the schema. */
const blockedIn = (schema: string): ReturnType<typeof sql> =>
  sql(
    `select pid from pg_stat_activity where wait_event_type = 'Lock' and position(${literal(quoted(schema))} in query) > 0`,
  )
const blocked = async (schema: string): Promise<number> => (await blockedIn(schema)).length
/** The answer of a call that waits for a lock. A tenth more than its timeout passes, and then no time at all. */
const heldUp = async (schema: string, timeout: number, call: () => Promise<string>): Promise<string> => {
  while ((await blocked(schema)) > 0) await new Promise((resolve) => setImmediate(resolve)) // of an earlier call
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const answer = call()
  let isWaiting = true
  void answer.finally(() => (isWaiting = false))
  for (let passed = 0; passed < 1.1 * timeout;) {
    await new Promise((resolve) => setImmediate(resolve))
    if ((await blocked(schema)) === 0 && isWaiting) continue // it has not come that far
    await vi.advanceTimersByTimeAsync(timeout / 10)
    passed += timeout / 10
  }
  const answered = await answer
  vi.useRealTimers()
  return answered
}
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

describe.each([
  ['session', bouncerVersion === undefined, 'no pgbouncer is installed'],
  ['transaction', !hasTransactionMode, 'pgbouncer 1.21 or later is needed, and INDELIBLE_PGBOUNCER can name it'],
] as const)('behind PgBouncer in %s mode', (mode, isMissing, reason) => {
  const options = leftOutIf(server === undefined || isMissing, server === undefined ? noPostgres : reason)
  let bouncer: Bouncer | undefined
  beforeAll(async () => {
    if (options.skip !== true) bouncer = await startBouncer(url, mode)
  })
  afterAll(async () => bouncer?.stop())

  it('works fully: several statements per transaction, and changes elsewhere', options, async () => {
    const schema = fresh()
    const connectionString = bouncer?.url ?? ''
    const [a, b] = [await open({ connectionString, schema }), await open({ connectionString, schema })]
    const { head } = await done(a.create({ id: 'log', encrypt: false, rows: [row('first')] }))
    let wakes = 0
    const end = await done(b.watch('log', () => wakes++))
    const { number } = await done(a.lease('log', { holder: 'x', ttl: 60_000 }))
    const appended = await done(a.append('log', { expected: head, rows: [row('second')], lease: { number } }))
    const rows = [{ position: 0, stub: '"gone"' }]
    expect((await done(a.erase({ logs: [{ id: 'log', expected: appended.head, rows }] }))).rows).toBe(1)
    await vi.waitUntil(() => wakes > 0, { timeout: 300_000 })
    expect((await done(b.read('log'))).map(({ body }) => body)).toEqual(['"gone"', 'second'])
    expect(await done(b.check())).toEqual([])
    end()
    await done(a.remove('log'))
    for (const store of [a, b]) await done(store.close())
  })
  it(
    'ends a blocked statement after the timeout, also at the server, alone and in a transaction',
    options,
    async () => {
      const schema = fresh()
      const store = await open({ connectionString: bouncer?.url ?? '', schema, timeout: 1000 })
      const { head } = await done(store.create({ id: 'log', encrypt: false }))
      const holder = new Client({ connectionString: url })
      await holder.connect()
      await holder.query('begin')
      await holder.query(`select 1 from ${quoted(schema)}.log for update`)
      const append = () => outcomeText(store.append('log', { expected: head, rows: [row('x')] }))
      expect(await heldUp(schema, 1000, append)).toMatch(/^Busy: /)
      expect(await heldUp(schema, 1000, () => outcomeText(store.remove('log')))).toMatch(/^Busy: /)
      expect(await blocked(schema)).toBe(0)
      await holder.end()
      expect((await done(store.append('log', { expected: head, rows: [row('x')] }))).from).toBe(0)
      await done(store.close())
    },
  )
  // The whole contract takes its time, and is the same below.
  if (isFull)
    for (const { name, run } of storeContract(`PgBouncer, ${mode}`, () => place(bouncer?.url))) it(name, options, run)
})

describe('a store in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => {
  /** Ends the connections of a store, as a server does that is told to stop. */
  const cut = (application: string): Promise<unknown> =>
    sql(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${application}'`)
  const named = (application: string, at = url): string => {
    const address = new URL(at)
    address.searchParams.set('application_name', application)
    return address.href
  }

  it('is created once by four concurrent processes, which lose and double no appends', async () => {
    const schema = fresh()
    const argument = JSON.stringify({ connectionString: url, schema })
    const names = ['a', 'b', 'c', 'd']
    const each = rounds(8, 40)
    await Promise.all(
      names.map((name) =>
        promisify(execFile)(process.execPath, [
          program('packages/postgres/test/postgres-appender.ts'),
          argument,
          name,
          `${each}`,
        ]),
      ),
    )
    const store = await open({ schema })
    const bodies = (await done(store.read('log'))).map(({ body }) => body)
    for (const name of names)
      expect(bodies.filter((body) => body.startsWith(name))).toEqual(
        Array.from({ length: each }, (_, index) => `${name} ${index}`),
      )
    expect(bodies.length).toBe(4 * each)
    await done(verifyLog(store, 'log'))
    await done(store.close())
  })

  it.each(isFull ? ['0A000', '42883'] : ['0A000'])(
    'is created concurrently also without advisory locks (%s)',
    async (state) => {
      const [schema, shadow] = [fresh(), fresh()]
      await sql(
        `create schema ${quoted(shadow)}; create function ${quoted(shadow)}.pg_advisory_xact_lock(integer, integer) returns void language plpgsql as $$ begin raise exception 'none here' using errcode = '${state}'; end $$`,
      )
      const address = new URL(url)
      address.searchParams.set('options', `-c search_path=${quoted(shadow).replaceAll(' ', '\\ ')},pg_catalog`)
      const stores = await Promise.all(
        Array.from({ length: 6 }, () => open({ connectionString: address.href, schema })),
      )
      const created = await Promise.all(stores.map((each) => each.create({ id: 'log', encrypt: false })()))
      expect(created.filter(({ _tag }) => _tag === 'Right').length).toBe(1)
      for (const each of stores) await done(each.close())
      const store = await open({ schema, create: false })
      expect((await done(verifyLog(store, 'log'))).head.size).toBe(0)
      await done(store.close())
    },
  )

  it('finishes a schema left half-created by a crash, and leaves newer and foreign ones unchanged', async () => {
    const { wrecks = [] } = await place()
    expect(wrecks.length).toBe(2)
    for (const index of wrecks.keys()) {
      const at = await place()
      await at.wrecks?.[index]?.make()
      const store = await at.open()
      await done(store.create({ id: 'a', encrypt: false }))
      await done(store.close())
    }
    const newer = fresh()
    await done((await open({ schema: newer })).close())
    await sql(`update ${quoted(newer)}.indelible set format = 99`)
    expect(await outcomeText(postgresStore({ connectionString: url, schema: newer }))).toMatch(
      /^NewerStore: .* written by a newer version of this library \(format 99; this one knows 3\); nothing was changed/,
    )
    const namesake = fresh()
    await sql(`create schema ${quoted(namesake)}; create table ${quoted(namesake)}.indelible (x integer)`)
    for (const create of [true, false])
      expect(await outcomeText(postgresStore({ connectionString: url, schema: namesake, create }))).toMatch(
        /^NotAStore: .* is not a store of Indelible but a schema of another program; nothing was changed: choose another path/,
      )
    expect(
      await sql(
        `select table_name from information_schema.tables where table_schema = '${namesake.replaceAll("'", "''")}'`,
      ),
    ).toEqual([{ table_name: 'indelible' }])
    const foreign = fresh()
    await sql(`create schema ${quoted(foreign)}; create table ${quoted(foreign)}.log (mine text)`)
    for (const create of [true, false])
      expect(await outcomeText(postgresStore({ connectionString: url, schema: foreign, create }))).toMatch(
        /^NotAStore: .* is not a store of Indelible but a schema of another program; nothing was changed/,
      )
    expect(await sql(`select table_name from information_schema.tables where table_schema = '${foreign}'`)).toEqual([
      { table_name: 'log' },
    ])
    for (const [connectionString, name] of [
      ['postgres://u:secret@127.0.0.1:1/x', '127.0.0.1:1/x'],
      ['/no/such/folder x', 'the database'],
      ['socket:/no/such/folder?db=x', '/no/such/folder'],
    ] as const)
      expect(await outcomeText(postgresStore({ connectionString, timeout: 300 }))).toContain(
        `Io: the store failed to open schema indelible of ${name}: no connection to PostgreSQL could be made`,
      )
    expect(await outcomeText(postgresStore({ connectionString: url, schema: 'x'.repeat(64) }))).toMatch(
      /^Io: .*can't be the name of a schema/,
    )
    expect(await outcomeText(postgresStore({ connectionString: url, schema: newer, scope: '' }))).toMatch(/^NewerStore/)
  })

  it.each([1, 2, 3])('opens a schema of format %i and appends to it', async (format) => {
    const schema = fresh()
    await sql(
      readFileSync(new URL(`../../../test/fixtures/store-${format}.sql`, import.meta.url), 'utf8').replaceAll(
        /\bfixture(?=[.;])/g,
        () => quoted(schema),
      ),
    )
    const store = await open({ schema, create: false })
    const info = await done(verifyLog(store, 'conversation'))
    expect(info).toMatchObject({
      entries: 3,
      meta: { title: 'fixture' },
      head: { size: 4 },
      created: 1_700_000_000_000,
    })
    const [, , note] = await done(store.read('conversation'))
    expect(note?.body).toBe('a note with \u0000 and \u0001')
    const block = new TextEncoder().encode('a block')
    expect(await done(store.getBlocks([blockIdOf(block, store.hash)]))).toEqual([block])
    expect((await done(store.read('fork'))).map(({ body }) => body)).toEqual([
      '{"message":1}',
      '{"message":2}',
      'only here',
    ])
    expect((await done(store.list({ where: { title: 'fixture' } }))).logs.map(({ id }) => id)).toEqual(['conversation'])
    await done(store.append('conversation', { expected: info.head, rows: [row('and on')] }))
    await done(verifyLog(store, 'conversation'))
    expect(await done(store.check())).toEqual([])
    await done(store.close())
  })

  it('reports a schema of another format as older or newer and leaves it unchanged', async () => {
    const made = async (): Promise<string> => {
      const schema = fresh()
      await done((await open({ schema })).close())
      return schema
    }
    const tagOf = async (schema: string): Promise<unknown> => {
      const opened = await postgresStore({ connectionString: url, schema })()
      return isLeft(opened) ? opened.left : 'opened'
    }
    // As they were before formats were counted anew: no fingerprint, and higher numbers than there are now.
    for (const format of [1, 5]) {
      const older = fresh()
      await sql(
        `create schema ${quoted(older)}; create table ${quoted(older)}.indelible (format integer primary key); insert into ${quoted(older)}.indelible values (${format}); create table ${quoted(older)}.log (id text)`,
      )
      expect(await tagOf(older)).toMatchObject({ _tag: 'OlderStore', found: format })
      expect(await sql(`select * from ${quoted(older)}.indelible`)).toEqual([{ format }])
    }
    const other = await made()
    await sql(`update ${quoted(other)}.indelible set fingerprint = 'other'`)
    expect(await tagOf(other)).toMatchObject({ _tag: 'OlderStore', found: 3, fingerprint: 'other' })
    const newer = await made()
    await sql(`update ${quoted(newer)}.indelible set format = 4, fingerprint = 'other'`)
    expect(await tagOf(newer)).toMatchObject({ _tag: 'NewerStore', found: 4, supported: 3 })
  })

  it('finds in a check metadata and creation times changed in the tables', async () => {
    const schema = fresh()
    const store = await open({ schema })
    await done(store.create({ id: 'one', meta: { user: { id: 1 } }, encrypt: false }))
    await done(store.create({ id: 'two', meta: { user: { id: 2 } }, encrypt: false }))
    await done(store.fork('one', { id: 'three', at: 0, meta: { of: 'one' } }))
    await done(store.update('two', { expected: 1, meta: { user: { id: 3 } } }))
    expect(await done(store.check())).toEqual([])
    const log = `${quoted(schema)}.log`
    await sql(`update ${log} set meta = '{"user":{"id":9}}' where id = 'one'`)
    await sql(`update ${log} set created = created + 1 where id = 'two'`)
    await sql(`update ${log} set terms = '{1}' where id = 'three'`)
    const found = (await done(store.check())).map(({ where, what }) => `${where}: ${what}`)
    expect(found).toEqual([
      '"one" of scope "default": its metadata is not what was stored',
      '"two" of scope "default": its creation time is not what was stored',
      '"three" of scope "default": its terms are not those of its metadata, so lists may not find it: update its metadata',
    ])
    await done(store.update('three', { expected: 1, meta: { of: 'one' } }))
    expect((await done(store.check())).length).toBe(2)
    await done(store.close())
  })

  it('gives advice without a connection and refuses an invalid address', async () => {
    const at = (change: Partial<URL>): string => Object.assign(new URL(url), change).href
    expect(await outcomeText(postgresStore({ connectionString: at({ pathname: '/nowhere' }) }))).toMatch(
      /database "nowhere" does not exist\); nothing was changed: create the database, or name another$/,
    )
    expect(await outcomeText(postgresStore({ connectionString: at({ username: 'nobody-here' }) }))).toMatch(
      /nothing was changed: check the user and the password$/,
    )
    expect(
      await outcomeText(postgresStore({ connectionString: 'postgres://u@no.such.host.invalid/x', timeout: 2000 })),
    ).toMatch(/nothing was changed: (?:check the name of the host|try again)$/) // a resolver may be away
    for (const address of ['hello', 'host=localhost user=u', 'postgres://u:a/b@h:1/x:y', 'mysql://u:secret@h/x']) {
      const problem = await outcomeText(postgresStore({ connectionString: address }))
      expect(problem).toMatch(/^Io: the store failed to read the connection string: expected postgres:/)
      expect(problem).not.toContain('secret')
    }
  })

  it('reads the schema from the address', async () => {
    const schema = fresh()
    const address = new URL(url)
    address.searchParams.set('schema', schema)
    const store = await open({ connectionString: address.href })
    await done(store.create({ id: 'here', encrypt: false }))
    await done(store.close())
    const again = await open({ schema, create: false })
    expect((await done(again.list())).logs.length).toBe(1)
    await done(again.close())
  })

  it('refuses a database with another encoding', async () => {
    const name = `latin_${process.pid}`
    await sql(`create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`)
    const address = new URL(url)
    address.pathname = `/${name}`
    expect(await outcomeText(postgresStore({ connectionString: address.href }))).toMatch(
      /^NotAStore: .* in a database with the encoding LATIN1, but a store needs UTF8; nothing was changed/,
    )
    await sql(`drop database ${name} with (force)`)
  })

  it('repeats a cancel request that had no effect', async () => {
    const pool = openPool({ connectionString: url })
    let requests = 0
    const cancel = (client: PostgresClient): void => {
      if (++requests > 1) cancelStatement(client)
    }
    const sleeping = new Database(pool, { name: '', schema: '', timeout: 50 }, { timeout: 50, cancel }).write(
      'select pg_sleep(60)',
    )
    await expect(sleeping).rejects.toMatchObject({ code: '57014' })
    await pool.end()
  })
  it(
    'gives up on a silent server shortly after the timeout',
    leftOutIf(server?.own === undefined, notOurServer),
    async () => {
      const store = await openHasty({ schema: fresh(), timeout: 500 })
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
      server?.own?.freeze(true)
      const answers: string[] = []
      void outcomeText(store.list()).then((text) => answers.push(text))
      let waited = 0
      for (; answers.length === 0; waited += 50) {
        await vi.advanceTimersByTimeAsync(50)
        await new Promise((resolve) => setImmediate(resolve))
      }
      vi.useRealTimers()
      server?.own?.freeze(false)
      expect(answers[0]).toMatch(
        /^Io: .*(?:the connection to PostgreSQL was lost|no connection to PostgreSQL could be made)/,
      )
      expect(waited).toBeLessThan(4000) // 0.5 s and 1 s more, then as long again for another connection
      while (isLeft(await store.list()())) continue
      await done(store.close())
    },
  )

  it('does not create a missing store if told not to', async () => {
    const schema = fresh()
    expect(await outcomeText(postgresStore({ connectionString: url, schema, create: false }))).toMatch(
      /^NoStore: there is no store at schema it "\d+ \d+ of \S+; nothing was created/,
    )
    expect(await sql(`select 1 from information_schema.schemata where schema_name = '${schema}'`)).toEqual([])
  })

  it('commits waiting appends in one transaction', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const heads = await Promise.all(
      Array.from({ length: 50 }, (_, index) => done(store.create({ id: `log ${index}`, encrypt: false }))),
    )
    await Promise.all(heads.map(({ id, head }) => done(store.append(id, { expected: head, rows: [row('x')] }))))
    const [counted] = await sql(
      `select count(distinct xmin::text)::int as transactions, count(*)::int as rows from ${quoted(schema)}.row`,
    )
    expect(counted?.['rows']).toBe(50)
    expect(counted?.['transactions']).toBeLessThan(5)
    await done(store.close())
  })

  it('fails only the one append that cannot be written', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const [good, bad] = [
      await done(store.create({ id: 'good', encrypt: false })),
      await done(store.create({ id: 'bad', encrypt: false })),
    ]
    await sql(`alter table ${quoted(schema)}.row add check (body <> 'cursed')`)
    const answers = await Promise.all([
      store.append('bad', { expected: bad.head, rows: [row('fine'), row('cursed')] })(),
      store.append('good', { expected: good.head, rows: [row('x')] })(),
    ])
    expect(answers.map((answer) => (isLeft(answer) ? answer.left._tag : 'Right'))).toEqual(['Io', 'Right'])
    expect(await done(store.read('bad'))).toEqual([])
    await done(store.close())
  })

  it('reports a connection cut during an append, applies its operation once, and continues', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`select 1 from ${quoted(schema)}.log for update`) // so that the append is on its way for a while
    const append = { expected: head, rows: [row('x')], operation: 'op' }
    const going = outcomeText(store.append('log', append))
    for (let waiting = 0; waiting === 0;)
      waiting = Number(
        (
          await sql(
            `select count(*) as n from pg_stat_activity where application_name = '${schema}' and wait_event_type = 'Lock'`,
          )
        )[0]?.['n'],
      )
    await cut(schema)
    expect(await going).toMatch(
      /^Io: the store failed to append: the connection to PostgreSQL was lost before the response arrived .*the change may have been made/,
    )
    await holder.query('commit')
    await holder.end()
    expect(await outcomeText(store.info('log'))).toBe('went well')
    expect(await done(store.append('log', append))).toMatchObject({ from: 0 })
    expect(await done(store.append('log', append))).toMatchObject({ from: 0 })
    expect((await done(store.read('log'))).length).toBe(1)
    await done(store.close())
  })

  it('gives a lease that several ask for at once to one of them', async () => {
    const schema = fresh()
    const store = await open({ schema })
    await done(store.create({ id: 'log', encrypt: false }))
    const { number } = await done(store.lease('log', { holder: 'before', ttl: 60_000 }))
    await done(store.release('log', number))
    const locker = new Client({ connectionString: url })
    await locker.connect()
    await locker.query('begin')
    await locker.query(`select 1 from ${quoted(schema)}.lease for update`) // so that all have asked before one gets it
    const asked = ['a', 'b', 'c'].map((holder) => outcomeText(store.lease('log', { holder, ttl: 60_000 })))
    while ((await blocked(schema)) < 3) await new Promise((resolve) => setImmediate(resolve))
    await locker.query('commit')
    await locker.end()
    expect((await Promise.all(asked)).filter((outcome) => outcome === 'went well')).toEqual(['went well'])
    await done(store.close())
  })

  it('retries reads after a cut connection', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    await done(store.append('log', { expected: head, rows: [row('x')] }))
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`lock table ${quoted(schema)}.row in access exclusive mode`)
    // Several at once, so that the pool has connections that are lost without being used.
    await Promise.all(Array.from({ length: 5 }, () => done(store.info('log'))))
    const answers: unknown[] = []
    const reading = store
      .read('log')()
      .finally(() => answers.push('answered'))
    const waiting = async (): Promise<number> =>
      Number(
        (
          await sql(
            `select count(*) as n from pg_stat_activity where application_name = '${schema}' and wait_event_type = 'Lock'`,
          )
        )[0]?.['n'],
      )
    while ((await waiting()) === 0) continue
    await cut(schema)
    while ((await waiting()) === 0 && answers.length === 0) continue // it is asked again
    expect(answers).toEqual([])
    await holder.query('commit')
    await holder.end()
    expect(await reading).toMatchObject({ _tag: 'Right', right: [{ body: 'x' }] })
    await done(store.close())
  })

  it('retries reads on every silently lost connection of the pool', async () => {
    const pool = openPool({ connectionString: url, max: 3 })
    let toCut = 0
    const connect = async () => {
      const client = await pool.connect()
      const { processID } = client as unknown as { readonly processID: number }
      return {
        query: async (query: { readonly text: string; readonly values: unknown[] }) => {
          if (toCut > 0) await sql(`select pg_terminate_backend(${processID})`)
          toCut -= 1
          return client.query(query)
        },
        release: (destroy?: boolean) => client.release(destroy),
        on: (event: 'error', listener: (cause: Error) => void) => client.on(event, listener),
        off: (event: 'error', listener: (cause: Error) => void) => client.off(event, listener),
      }
    }
    const lossy = { connect, options: { max: 3 }, end: () => pool.end() } as unknown as PostgresPool
    const store = await done(postgresStore({ pool: lossy, schema: fresh() }))
    await done(store.create({ id: 'log', encrypt: false, rows: [row('x')] }))
    toCut = 3
    expect(await done(store.read('log'))).toMatchObject([{ body: 'x' }])
    await done(store.close())
    await pool.end()
  })

  it('does not notice idle connections being cut', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    for (let round = 0; round < 5; round++) {
      await done(store.create({ id: `log ${round}`, encrypt: false }))
      await cut(schema)
      expect((await done(store.list())).logs.length).toBe(round + 1)
    }
    await done(store.close())
  })

  it(`survives ${terminations} ended connections, watching and idle ones too, without losing an acknowledged append`, async () => {
    const schema = fresh()
    await done((await open({ schema })).close())
    const proxy = await endingProxy(url, (number) => number % 3 === 2)
    const child = spawn(
      process.execPath,
      [program('packages/postgres/test/postgres-watcher.ts'), named(schema, proxy.url), schema],
      { stdio: ['pipe', 'pipe', 'pipe'] },
    )
    let errors = ''
    child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
    const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const lines: string[] = []
    const reader = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    for (let ended = 0; ended + proxy.ended() < terminations;) {
      const next = await reader.next()
      if (next.done === true) break
      lines.push(next.value)
      if (lines.length % 5 !== 0) continue
      await cut(schema)
      ended += 1
    }
    child.stdin.end()
    for (let next = await reader.next(); next.done !== true; next = await reader.next()) lines.push(next.value)
    expect([await exit, errors]).toEqual([0, ''])
    expect(proxy.ended()).toBeGreaterThan(0)
    await proxy.close()
    const store = await open({ schema })
    for (const line of lines.filter((line) => line.startsWith('appended ')))
      expect((await done(store.read(line.slice('appended '.length)))).length).toBe(1)
    await done(store.close())
  })

  it('watches other processes by notifications and polls only until the first', async () => {
    const schema = fresh()
    const [store, other] = [await open({ schema }), await open({ schema })]
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    const second = await done(store.create({ id: 'second', encrypt: false }))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }) // a poll comes when time passes, which it does not
    const wakes: unknown[] = []
    const heard = async (): Promise<void> => {
      for (const { length } = wakes; wakes.length === length;) await new Promise(setImmediate)
    }
    const end = await done(store.watch('log', () => wakes.push(0)))
    await heard() // its own notification has come back
    await done(other.append('log', { expected: head, rows: [row('x')] }))
    const appended = heard()
    await vi.advanceTimersByTimeAsync(20) // the other one gathers changes for so long
    await appended
    const { length } = wakes
    const ofSecond: unknown[] = []
    const endSecond = await done(store.watch('second', () => ofSecond.push(0)))
    await done(other.append('second', { expected: second.head, rows: [row('x')] }))
    const appendedSecond = (async () => {
      while (ofSecond.length === 0) await new Promise(setImmediate)
    })()
    await vi.advanceTimersByTimeAsync(20)
    await appendedSecond
    expect(wakes.length).toBe(length) // each change is named once
    endSecond()
    await vi.advanceTimersByTimeAsync(5200)
    expect(wakes.length - length).toBeLessThanOrEqual(2) // 26, if it did not trust its notifications
    end()
    vi.useRealTimers()
    for (const each of [store, other]) await done(each.close())
  })

  it('whose creation fails at any statement is created by the next open', async () => {
    const opened = async (schema: string, faults: Faults): Promise<boolean> => {
      const pool = faultyPool(url, faults)
      faults.arm()
      const store = await postgresStore({ pool, schema, timeout: 300 })()
      faults.rest()
      if (!isLeft(store)) await done(store.right.close())
      await pool.end()
      return !isLeft(store)
    }
    const counting = injectFaults({ at: -1, strike: 'delay' })
    expect(await opened(fresh(), counting)).toBe(true)
    const { steps } = counting
    expect(steps.length).toBeGreaterThan(6)
    for (let at = 0; at < steps.length; at += oneIn(2)) {
      const schema = fresh()
      await opened(schema, injectFaults({ at, strike: at % 4 < 2 ? 'outage' : 'fail before' }))
      const store = await open({ schema })
      await done(store.create({ id: 'a', encrypt: false }))
      await done(store.close())
    }
  })

  it('reports an append that is blocked for too long', async () => {
    const schema = fresh()
    const patient = await open({ schema })
    const { head } = await done(patient.create({ id: 'log', encrypt: false }))
    await done(patient.close())
    const store = await openHasty({ schema, timeout: 200 })
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`select 1 from ${quoted(schema)}.log for update`)
    const append = (): Promise<string> => outcomeText(store.append('log', { expected: head, rows: [row('x')] }))
    const busy = 'Busy: the store was held by another writer for more than 200 ms; nothing was changed: try again'
    for (const call of [
      append,
      () => outcomeText(store.update('log', { expected: 1, meta: { n: 1 } })),
      () => outcomeText(store.remove('log')), // in a transaction, where the server counts the time
    ])
      expect(await heldUp(schema, 200, call)).toBe(busy)
    await holder.end()
    let again = await append()
    while (again === busy) again = await append() // so little time may be too little without a holder
    expect(again).toBe('went well')
    await done(store.close())
  })

  it('does not resend an append whose time is over', async () => {
    const schema = fresh()
    const store = await open({ schema, timeout: 1000 })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`select 1 from ${quoted(schema)}.log for update`)
    const connections = new Set<unknown>() // one is not used again after its statement was ended
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const answers: string[] = []
    void outcomeText(store.append('log', { expected: head, rows: [row('x')] })).then((answer) => answers.push(answer))
    while (answers.length === 0 && connections.size < 2) {
      for (const { pid } of await blockedIn(schema)) {
        if (connections.size === 0) await vi.advanceTimersByTimeAsync(1000)
        connections.add(pid)
      }
    }
    vi.useRealTimers()
    await holder.end()
    expect(connections.size).toBe(1)
    expect(answers).toEqual([expect.stringMatching(/^Busy: /)])
    await done(store.close())
  })

  it('lets one blocked log not block others waiting with it', async () => {
    const schema = fresh()
    const store = await open({ schema, timeout: 2000 })
    const ids = Array.from({ length: 8 }, (_, number) => `log ${number}`)
    const heads = await Promise.all(ids.map(async (id) => (await done(store.create({ id, encrypt: false }))).head))
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(`select 1 from ${quoted(schema)}.log where id = 'log 0' for update`)
    const answers = await Promise.all(
      ids.map((id, index) => outcomeText(store.append(id, { expected: heads[index] as Head, rows: [row('x')] }))),
    )
    expect(answers).toEqual([expect.stringMatching(/^Busy: /), ...Array.from({ length: 7 }, () => 'went well')])
    await holder.end()
    await done(store.close())
  })

  it('copies and exports no text that the ledger records as erased, also through a fork', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const session = await createSession(store, { id: 's', erasable: true, messages: [user('Grace Hopper'), user('b')] })
    const rows = `${quoted(schema)}.row`
    await sql(`create table ${quoted(schema)}.older as select * from ${rows} where body like '%Grace%'`)
    await eraseMessages(session, [0], { reason: 'asked to' })
    await sql(`update ${rows} r set body = o.body, salt = o.salt, erased = null from ${quoted(schema)}.older o
      where r.segment = o.segment and r.position = o.position`)
    await createFork(store, 's', { id: 'f' })
    const reason = expect.stringContaining('(asked to), but its text is still there') as string
    for (const id of ['s', 'f'])
      for (const call of [
        () => verifySession(store, id)(),
        () => copySession(store, memoryStore(), id)(),
        () => exportSession(store, id)(),
      ])
        expect(await call()).toMatchObject({ left: { _tag: 'DamagedLog', id, position: 0, reason } })
    await store.close()
  })
  it('leaves a given pool open', async () => {
    const pool = openPool({ connectionString: url })
    for (const schema of [fresh(), fresh()]) {
      const store = await done(postgresStore({ pool, schema }))
      await done(store.create({ id: schema, encrypt: false }))
      expect((await done(store.list())).logs.map(({ id }) => id)).toEqual([schema])
      await done(store.close())
    }
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })

  it("refuses appends if a log's tree state has a flipped bit, and verify reports it", async () => {
    const schema = fresh()
    const store = await open({ schema })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    const first = { expected: head, rows: ['a', 'b', 'c'].map(row), operation: 'op' }
    const grown = await done(store.append('log', first))
    await done(store.close())
    await sql(`update ${quoted(schema)}.log set peaks = set_byte(peaks, 40, get_byte(peaks, 40) # 4)`)
    const damaged = await open({ schema })
    for (const call of [
      () => damaged.append('log', { expected: grown.head, rows: [row('d')] }),
      () => verifyLog(damaged, 'log'),
      () => verifyLog(damaged, 'log', grown.head),
    ])
      expect(await outcomeText(call())).toMatch(/^DamagedLog: "log" is damaged at row 3: the peaks/)
    expect((await done(damaged.read('log'))).length).toBe(3)
    expect(await outcomeText(damaged.append('log', first))).toBe('went well')
    await done(damaged.close())
  })

  it.each(['', '0A000', '42883'])('repairs a damaged block when it is stored again (sha256: %s)', async (state) => {
    const [schema, shadow] = [fresh(), fresh()]
    const address = new URL(url)
    if (state !== '') {
      await sql(
        `create schema ${quoted(shadow)}; create function ${quoted(shadow)}.sha256(bytea) returns bytea language plpgsql as $$ begin raise exception 'none here' using errcode = '${state}'; end $$`,
      )
      address.searchParams.set('options', `-c search_path=${quoted(shadow).replaceAll(' ', '\\ ')},pg_catalog`)
    }
    const store = await open({ connectionString: address.href, schema })
    const block = new Uint8Array(5000).fill(7)
    const id = blockIdOf(block, store.hash)
    const rows = [{ ...row('x'), blocks: [id] }]
    const { head } = await done(store.create({ id: 'a', encrypt: false }))
    await done(store.append('a', { expected: head, rows, blocks: [block] }))
    await done(store.create({ id: 'b', encrypt: false }))
    for (const way of [
      async () => done(store.append('b', { expected: head, rows, blocks: [block] })),
      async () => done(store.putBlocks([block])),
      async () => done(store.putBlocks([block])), // as one that is kept
    ]) {
      await sql(`update ${quoted(schema)}.block set bytes = '\\x00'`)
      expect(await done(store.hasBlocks([id]))).toEqual([false])
      await way()
      expect(await done(store.getBlocks([id]))).toEqual([block])
      expect(await done(store.hasBlocks([id]))).toEqual([true])
    }
    await done(verifyLog(store, 'b'))
    await done(store.close())
  })

  it(
    'kills a server with all of its processes in these tests',
    leftOutIf(server?.own === undefined, notOurServer),
    async () => {
      const client = new Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      const found = (await client.query('select pid from pg_stat_activity')).rows as readonly { readonly pid: number }[]
      expect(found.length).toBeGreaterThan(3) // the one that serves us, and those that write
      await server?.own?.kill()
      const alive = found.filter(({ pid }) => isRunning(pid))
      await server?.own?.start()
      expect(alive).toEqual([])
      expect(await sql('select 1 as one')).toEqual([{ one: 1 }])
    },
  )

  it('removes a log in pieces, also after a crash, including blocks only it references', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    const bytes = new Uint8Array(5000).fill(7)
    const own = blockIdOf(bytes, store.hash)
    const rows: Row[] = Array.from({ length: 3500 }, (_, index) => row(`row ${index}`))
    await done(
      store.append('log', {
        expected: head,
        rows: [...rows, { ...row('with a block'), blocks: [own] }],
        blocks: [bytes],
        operation: 'op',
      }),
    )
    await done(store.fork('log', { id: 'fork', at: 2000 }))
    await done(store.remove('log'))
    const tables = ['row', 'segment', 'mention', 'block', 'operation']
    const counted = async (): Promise<unknown> =>
      (
        await sql(
          `select ${tables.map((table) => `(select count(*)::int from ${quoted(schema)}.${table}) as ${table}`).join(', ')}`,
        )
      )[0]
    expect(await counted()).toEqual({ row: 2000, segment: 2, mention: 0, block: 0, operation: 0 })
    await done(verifyLog(store, 'fork'))
    await done(store.close())
    // As a crash right after the removal leaves it.
    await sql(`delete from ${quoted(schema)}.log; update ${quoted(schema)}.segment set state = 1`)
    const again = await open({ schema })
    await done(again.list())
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await counted()).toMatchObject({ row: 2000, segment: 2 }) // reading deletes nothing
    await done(again.create({ id: 'another', encrypt: false }))
    await done(again.remove('another'))
    await done(again.close())
    expect(await counted()).toEqual({ row: 0, segment: 0, mention: 0, block: 0, operation: 0 })
  })

  describe('a text that two sessions share, after its mention by one of them was lost', () => {
    const text = 'a text that is stored as a block '.repeat(200)
    const damagedBy = async (change: string): Promise<{ readonly schema: string; readonly store: Store }> => {
      const schema = fresh()
      const store = await open({ schema })
      for (const id of ['a', 'b']) await createSession(store, { id, messages: [user(text)] })
      await done(store.close())
      await sql(change.replaceAll('@', `${quoted(schema)}.`))
      return { schema, store: await open({ schema }) }
    }
    const lost = 'delete from @mention where segment = 2'
    const isThere = async (store: Store): Promise<boolean> =>
      JSON.stringify((await openSession(store, 'b')).view().at(0)).includes(text)
    it('stays when the other one is removed or erased, with and without a repair', async () => {
      for (const isRepaired of [false, true])
        for (const isErased of [false, true]) {
          const { schema, store } = await damagedBy(lost)
          expect((await done(store.check())).map(findingText)).toEqual([
            'mention "2 at 0" of scope "default": the row names more blocks than are mentioned',
          ])
          if (isRepaired) {
            expect((await done(store.repair())).map((repair) => repair.done)).toEqual([
              'they were read from the row again',
            ])
            expect(await done(store.check())).toEqual([])
          }
          if (isErased) await eraseMessages(store, 'a', [0], { reason: 'asked to' })
          else await done(store.remove('a'))
          expect(await isThere(store)).toBe(true)
          expect(await done(store.check())).toEqual([])
          await done(store.remove('b'))
          expect(await sql(`select count(*)::int as blocks from ${quoted(schema)}.block`)).toEqual([{ blocks: 0 }])
          await done(store.close())
        }
    })
    it('stays when nobody can say which block a row names, or its count was lost, too', async () => {
      const { store } = await damagedBy(`${lost}; update @row set blocks = 2 where segment = 2`)
      await done(store.remove('a'))
      expect(await isThere(store)).toBe(true)
      await done(store.close())
      const { store: other } = await damagedBy('update @row set blocks = null where segment = 2')
      expect((await done(other.check())).map(findingText)).toEqual([
        'row "2 at 0" of scope "default": it counts fewer blocks than it names',
      ])
      expect((await done(other.repair())).map((repair) => repair.done)).toEqual(['they were counted again'])
      expect(await done(other.check())).toEqual([])
      await done(other.close())
    })
  })

  it('compares all tables in a check, and repair fixes what the rest proves', async () => {
    const schema = fresh()
    const store = await open({ schema })
    for (const id of ['a', 'b']) {
      const { head } = await done(store.create({ id, encrypt: false }))
      const blocks = [new Uint8Array(5000).fill(7)]
      const named = blocks.map((bytes) => blockIdOf(bytes, store.hash))
      const rows: readonly Row[] = [
        { kind: 'entry', body: id, blocks: named },
        { kind: 'note', body: '{"type":"receipt","usage":{"input":40,"output":2}}' },
      ]
      await done(store.append(id, { expected: head, rows, blocks, operation: 'o' }))
    }
    await done(store.fork('a', { id: 'fork', at: 1 }))
    expect(await done(store.check())).toEqual([])
    const found = async (change: string): Promise<readonly string[]> => {
      await sql(change.replaceAll('@', `${quoted(schema)}.`))
      return (await done(store.check())).map(findingText)
    }
    expect(await found('update @segment set state = 1 where key = 1')).toEqual([
      'segment "1" of scope "default": it is marked as that of a removed log, but its log exists',
    ])
    expect(await found('update @log set used = used - 1 where key = 2')).toContainEqual(
      'log "b" of scope "default": it is not listed at the time of its last use',
    )
    expect(await found('update @log set sized = sized + 1 where key = 2')).toContainEqual(
      'log "b" of scope "default": it is not listed by the number of its entries',
    )
    expect(await found('update @log set tokens = -1 where key = 2')).toContainEqual(
      'log "b" of scope "default": its tokens are not those of its receipts',
    )
    expect((await done(store.list({ by: 'tokens' }))).logs.map(({ id, tokens }) => [id, tokens])).toEqual([
      ['a', 42],
      ['fork', 0],
      ['b', 0],
    ])
    await done(store.remove('fork'))
    expect((await done(store.repair())).map(({ done: mended }) => mended)).toEqual([
      'they were added up again',
      'the mark was removed',
      'it was listed at the time of its last row',
      'it was listed by the number of its entries',
    ])
    expect(await done(store.check())).toEqual([])
    expect((await done(store.info('b'))).tokens).toBe(42)
    await done(verifyLog(store, 'a'))
    for (const [change, back, says] of [
      [
        'update @segment set parent = key where key = 1',
        'update @segment set parent = null where key = 1',
        /^segment "1".*its parent is missing, or begins after it/,
      ],
      [
        'update @log set size = 3 where key = 1',
        'update @log set size = 2 where key = 1',
        /^log "a".*its size is not that of its rows/,
      ],
      [
        `update @block set bytes = 'x'`,
        "update @block set bytes = decode(repeat('07', 5000), 'hex')",
        /^block .*its bytes are not those of its id/,
      ],
      [
        `update @row set body = 'x' where segment = 2 and position = 0`,
        `update @row set body = 'b' where segment = 2 and position = 0`,
        /^log "b".*damaged at row 0/,
      ],
      [
        'update @operation set size = 3 where log = 1',
        'update @operation set size = 2 where log = 1',
        /^operation "o".*are missing/,
      ],
    ] as const) {
      expect(await found(change)).toContainEqual(expect.stringMatching(says))
      expect(await found(back)).toEqual([])
    }
    await done(store.close())
  })
  it('lists an unreadable log as one line that blocks nothing and can be removed', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const heads = new Map<string, Head>()
    for (const id of ['a', 'b', 'c']) heads.set(id, (await done(store.create({ id, encrypt: false }))).head)
    for (const change of ["meta = 'null'", "meta = 'x'", 'created = 9007199254740992', 'size = -1', 'changes = -1']) {
      await sql(`update ${quoted(schema)}.log set ${change} where id = 'b'`)
      const { logs, damaged } = await done(store.list())
      expect([change, logs.map(({ id }) => id), damaged?.map(({ id }) => id)]).toEqual([change, ['c', 'a'], ['b']])
      expect(await outcomeText(store.info('b'))).toMatch(
        /^DamagedLog: "b" is damaged at row 0: its \w+ can not be read/,
      )
      const other = await open({ schema })
      const answers = await Promise.all(
        ['a', 'b'].map((id) =>
          other.append(id, { expected: heads.get(id) as Head, rows: [{ kind: 'entry', body: 'x' }] })(),
        ),
      )
      expect(answers.map((answer) => (isLeft(answer) ? answer.left._tag : 'Right'))).toEqual(['Right', 'DamagedLog'])
      if (!isLeft(answers[0] as (typeof answers)[0])) heads.set('a', (await done(other.info('a'))).head)
      await done(other.close())
      await done(store.remove('b'))
      await done(store.create({ id: 'b', encrypt: false }))
      await done(store.remove('c'))
      await done(store.create({ id: 'c', encrypt: false }))
    }
    await done(store.close())
  })

  let manyLogs: Promise<{ readonly schema: string; readonly logs: number }> | undefined
  const makeManyLogs = async () => {
    const schema = fresh()
    const store = await open({ schema })
    await createSession(store, { id: 'first' })
    await done(store.close())
    const logs = 20_000
    const columns = 'scope, segments, bases, size, tokens, peaks, root, meta, changes, terms, created_sum, meta_sum'
    // Twenty a second, and a third of them was appended to later, in another order.
    await sql(`insert into ${quoted(schema)}.log (${columns}, id, key, entries, created, appended, used, sized)
    select ${columns}, 's' || n, n + 1, n * 7919 % ${logs}, created + n * 50, nullif(created + ${logs * 50} + n * 7919 % ${logs} * 50, case when n % 3 = 0 then -1 else created + ${logs * 50} + n * 7919 % ${logs} * 50 end), 0, 0
    from ${quoted(schema)}.log, generate_series(1, ${logs - 1}) as n`)
    await sql(
      `update ${quoted(schema)}.log set used = coalesce(appended, created) / 1000, sized = ${sizedAt('entries')}`,
    )
    await sql(`analyze ${quoted(schema)}.log`)
    return { schema, logs }
  }

  it.each(['created', 'appended', 'entries', 'id'] as const)(
    "reads only a page's logs by %s, without sorting others",
    async (by) => {
      const [limit, pages] = [20, rounds(12, 30)]
      const { schema, logs } = await (manyLogs ??= makeManyLogs())
      const client = new Client({ connectionString: url })
      await client.connect()
      let visited = 0
      const query = async (
        text: string,
        values: readonly unknown[] = [],
      ): Promise<readonly Readonly<Record<string, unknown>>[]> => {
        const explained = await client.query(`explain (analyze, format json) ${text}`, [...values])
        const visit = (plan: Plan): void => {
          if (plan['Relation Name'] === 'log')
            visited +=
              plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
          plan.Plans?.forEach(visit)
        }
        visit(
          (explained.rows[0] as { 'QUERY PLAN': readonly { readonly Plan: Plan }[] })['QUERY PLAN'][0]?.Plan as Plan,
        )
        return (await client.query(text, [...values])).rows as Readonly<Record<string, unknown>>[]
      }
      const where = { [sessionMember]: 1 } // as a list of sessions asks
      const ids = new Set<string>()
      let after: string | undefined
      for (let page = 0; page < pages; page++) {
        visited = 0
        const cursor = after?.split(/[.:]/)
        const found = await listLogs(query, quoted(schema), 'default', {
          limit,
          by,
          where,
          after:
            cursor &&
            (by === 'id'
              ? { value: after, key: 0 }
              : { value: by === 'created' ? undefined : Number(cursor[0]), key: Number(cursor.at(-1)) }),
        })
        for (const { id } of found.logs) ids.add(id)
        // Those of the seconds, or of the number, that the page begins and ends in are read as a whole.
        const sorted = { created: 0, appended: 2 * limit, entries: logs / 5, id: 0 }
        expect(visited).toBeLessThanOrEqual(limit + 1 + sorted[by])
        after = found.next
      }
      expect(ids.size).toBe(pages * limit)
      await client.end()
    },
  )

  /** Does something while another transaction holds what `statement` takes, until so many of the store's wait for it. */
  const whileHeld = async (
    schema: string,
    statement: string,
    waiting: number,
    work: () => Promise<unknown>,
    meanwhile: () => Promise<void> = async () => {},
  ): Promise<void> => {
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query(statement)
    const going = work()
    for (let count = 0; count < waiting;)
      count = Number(
        (
          await sql(
            `select count(*) as n from pg_stat_activity where application_name = '${schema}' and wait_event_type = 'Lock'`,
          )
        )[0]?.['n'],
      )
    await meanwhile()
    await holder.query('commit')
    await holder.end()
    await going
  }

  it('removes the operations together with their log, so a removal that is cut short leaves none', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    await done(store.append('log', { expected: head, rows: [row('a')], operation: 'o' }))
    const found: unknown[] = []
    await whileHeld(
      schema,
      `select 1 from ${quoted(schema)}.row for update`,
      1,
      () => done(store.remove('log')),
      async () => {
        found.push(await store.info('log')(), ...(await sql(`select count(*)::int as rows from ${quoted(schema)}.row`)))
        found.push(await done(store.check()))
      },
    )
    // The log was removed, and its rows were not: as after a crash.
    expect(found).toEqual([left({ _tag: 'NoSuchLog', id: 'log' }), { rows: 1 }, []])
    expect(await done(store.check())).toEqual([])
    await done(store.close())
  })

  it('removes an operation that is appended, but not committed, when the removal begins', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    await done(store.create({ id: 'log', encrypt: false }))
    const append = `update @log set size = 1; insert into @row (scope, segment, position, place, node, body, at)
      select scope, key, 0, 0, root, '', 0 from @log; insert into @operation (scope, log, id, base, size, root)
      select scope, key, 'o', 0, 1, root from @log`
    await whileHeld(schema, append.replaceAll('@', `${quoted(schema)}.`), 1, () => done(store.remove('log')))
    for (const table of ['log', 'segment', 'row', 'operation'])
      expect(await sql(`select count(*)::int as left from ${quoted(schema)}.${table}`)).toEqual([{ left: 0 }])
    await done(store.close())
  })

  it('does not remove a log that is created after the removal has found none to lock', async () => {
    const schema = fresh()
    const other = await open({ schema })
    let isCreated = false
    const pool: PostgresPool = {
      connect: async () => {
        const client = await asking.connect()
        return {
          query: async (query) => {
            const found = await client.query(query)
            if (!isCreated && query.text.endsWith('for update')) {
              isCreated = true
              await done(other.create({ id: 'log', encrypt: false }))
            }
            return found
          },
          release: (destroy) => client.release(destroy),
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
        }
      },
      end: async () => {},
    }
    const store = await done(postgresStore({ pool, schema, timeout: 600_000 }))
    expect(await store.remove('log')()).toEqual(left({ _tag: 'NoSuchLog', id: 'log' }))
    expect(isCreated).toBe(true)
    expect((await done(other.info('log'))).id).toBe('log')
    await Promise.all([done(store.close()), done(other.close())])
  })

  it('reports a session as missing, not as damaged, if another handle removes it while it is read', async () => {
    const schema = fresh()
    const [store, other] = [await open({ schema }), await open({ schema })]
    const reads: readonly ((from: Store, id: string) => TaskEither<{ readonly _tag: string }, unknown>)[] = [
      (from, id) => openSession(from, id),
      (from, id) => findMessages(from, id, { matching: /text/ }),
      (from, id) => readRange(from, id),
      (from, id) => eraseMessages(from, id, [0], { reason: 'asked to' }),
      (from, id) => copySession(from, memoryStore(), id),
      (from, id) => verifySession(from, id),
    ]
    for (const [index, read] of reads.entries()) {
      const id = `session ${index}`
      await createSession(store, { id, messages: [user('a text that is stored as a block '.repeat(200))] })
      const removing: Store = {
        ...store,
        getBlocks: (ids) =>
          storeTask(async () => {
            await done(other.remove(id))
            return store.getBlocks(ids)()
          }, 'store.getBlocks'),
      }
      expect(await read(removing, id)()).toEqual(left({ _tag: 'NoSuchLog', id }))
    }
    await Promise.all([done(store.close()), done(other.close())])
  })

  it('deletes operations whose log is missing in a repair, and no others', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    await done(store.append('log', { expected: head, rows: [row('a')], operation: 'kept' }))
    await sql(`insert into ${quoted(schema)}.operation (scope, log, id, base, size, root)
      select scope, log + 1, 'lost', base, size, root from ${quoted(schema)}.operation`)
    const [finding, ...others] = await done(store.check())
    expect(others).toEqual([])
    expect(finding).toMatchObject({ where: '"lost" of scope "default"', what: 'its log is missing', repairable: true })
    expect((await done(store.repair())).map((repair) => repair.done)).toEqual(['it was deleted'])
    expect(await done(store.check())).toEqual([])
    expect(await sql(`select id from ${quoted(schema)}.operation`)).toEqual([{ id: 'kept' }])
    await done(store.close())
  })

  it('deletes a block shared by two concurrently removed logs with the last of them', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    const block = new Uint8Array(3000).fill(1)
    const id = blockIdOf(block, store.hash)
    for (const log of ['a', 'b'])
      await done(
        store.append(log, {
          expected: (await done(store.create({ id: log, encrypt: false }))).head,
          rows: [{ kind: 'entry', body: log, blocks: [id] }],
          blocks: [block],
        }),
      )
    await whileHeld(schema, `select 1 from ${quoted(schema)}.mention for update`, 2, () =>
      Promise.all(['a', 'b'].map((log) => done(store.remove(log)))),
    )
    expect(await done(store.hasBlocks([id]))).toEqual([false])
    await done(store.close())
  })

  it('never forks a log removed meanwhile', async () => {
    const schema = fresh()
    const store = await open({ connectionString: named(schema), schema })
    await done(store.create({ id: 'log', encrypt: false }))
    let answer = ''
    await whileHeld(
      schema,
      `delete from ${quoted(schema)}.log where id = 'log'`,
      1,
      async () => void (answer = await outcomeText(store.fork('log', { id: 'fork', at: 0 }))),
    )
    expect(answer).toMatch(/^NoSuchLog/)
    expect((await done(store.list())).logs).toEqual([])
    await done(store.close())
  })

  it('removes logs sharing blocks beside appends: no block is lost and none is left', async () => {
    const schema = fresh()
    const store = await open({ schema })
    const blocks = [1, 2, 3].map((fill) => new Uint8Array(3000).fill(fill))
    const ids = blocks.map((block) => blockIdOf(block, store.hash))
    const turn = async (name: string): Promise<void> => {
      for (let round = 0; round < rounds(4, 8); round++) {
        const id = `${name} ${round}`
        const { head } = await done(store.create({ id, encrypt: false }))
        await done(store.append(id, { expected: head, rows: [{ kind: 'entry', body: id, blocks: ids }], blocks }))
        expect((await done(store.getBlocks(ids))).every((block) => block !== undefined)).toBe(true)
        await done(store.remove(id))
      }
    }
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map(turn))
    expect(await done(store.hasBlocks(ids))).toEqual([false, false, false])
    await done(store.close())
  })

  it('reads for a role without INSERT, and each of its writes is ReadOnly', async () => {
    const schema = fresh()
    const owned = await open({ schema })
    const { head } = await done(owned.create({ id: 'log', rows: [row('first')], encrypt: false }))
    const role = `reader_${process.pid}`
    await sql(`do $$ begin create role ${role}; exception when duplicate_object then null; end $$`)
    await sql(`grant usage on schema ${quoted(schema)} to ${role}`)
    await sql(`grant select on all tables in schema ${quoted(schema)} to ${role}`)
    const address = new URL(url)
    address.searchParams.set('options', `-c role=${role}`)
    const reading = await open({ connectionString: address.href, schema })
    expect((await done(reading.read('log'))).map(({ body }) => body)).toEqual(['first'])
    expect((await done(reading.list())).logs.map(({ id }) => id)).toEqual(['log'])
    const readOnly = left(expect.objectContaining({ _tag: 'ReadOnly' }) as object)
    expect(await reading.append('log', { expected: head, rows: [row('second')] })()).toEqual(readOnly)
    expect(await reading.create({ id: 'other', encrypt: false })()).toEqual(readOnly)
    expect(await reading.update('log', { expected: 0, meta: { a: 1 } })()).toEqual(readOnly)
    expect(await reading.remove('log')()).toEqual(readOnly)
    expect(await reading.putBlocks([new Uint8Array(9)])()).toEqual(readOnly)
    expect(await reading.lease('log', { holder: 'h', ttl: 1000 })()).toEqual(readOnly)
    await sql(`revoke select on all tables in schema ${quoted(schema)} from ${role}`)
    expect(await reading.read('log')()).toMatchObject({ left: { _tag: 'Io', operation: 'read rows' } })
    for (const store of [reading, owned]) await done(store.close())
    await sql(`drop owned by ${role}`)
    await sql(`drop role ${role}`)
  })
})

it('options that are missing, contradictory or without effect are a TypeError', () => {
  const [connectionString, pool] = ['postgres://127.0.0.1:1/x', openPool({})]
  for (const [options, said] of [
    [{}, 'postgresStore needs one of `connectionString` and `pool`'],
    [{ connectionString, pool }, 'postgresStore needs one of `connectionString` and `pool`'],
    [{ pool, connections: 3 }, '`connections` is of your own `pool`'],
    [{ connectionString, timeout: 0 }, 'timeout is 0; expected a number of milliseconds, at least 1'],
    [{ connectionString, timeout: Infinity }, 'timeout is Infinity; expected a number'],
    [{ connectionString, Schema: 'x' }, 'Did you mean `schema`?'],
  ] as const)
    expect(() => postgresStore(options as never)).toThrow(said)
})

it("an error has the server's state code, and none for connection or other errors", () => {
  const refusal = (code: unknown, severity: unknown = 'ERROR'): unknown =>
    Object.assign(new Error(''), { code, severity })
  for (const code of ['42P01', '23505', '57014', '0A000', '42883']) expect(stateOf(refusal(code))).toBe(code)
  for (const other of [
    ...['08006', '57P01', '57P03', 'ECONNRESET', '4250', '425011', '42p01', 42501, undefined].map((code) =>
      refusal(code),
    ),
    ...[refusal('42P01', null), refusal('42P01', 7), { code: '42P01' }, { severity: 'ERROR' }],
    ...[new Error('42P01'), '42P01', 42, null, undefined],
  ])
    expect([other, stateOf(other)]).toEqual([other, undefined])
  const states = ['42883', '0A000', '42P01', '08006']
  expect(states.map((code) => isUnsupported(refusal(code)))).toEqual([true, true, false, false])
  expect(isUnsupported(null)).toBe(false)
})
