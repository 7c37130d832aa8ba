/** Sessions on PostgreSQL: writers in several processes, killed processes, and a server that is killed. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isLeft } from 'fp-ts/lib/Either.js'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createSession,
  listSessions,
  openSession,
  orThrow,
  textOf,
  user,
  verifySession,
  type Session,
  type Store,
} from 'indelible'
import { describeSession } from 'indelible/session'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { postgresStore } from '@indelible/postgres'
import { root } from '../../scripts/run.ts'
import { fault, ok } from '../task-results.ts'
import { holdCases } from '../../packages/evidence/test/hold-cases.ts'
import { searchInPostgres } from '../search/postgres-cases.ts'
import { rounds } from '../rounds.ts'
import { noPostgres, notOurServer, openPool, startPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { batchOf } from './batches.ts'
import { eraseCases } from './erase-cases.ts'
import { contentOf, plantedCases } from './planted-cases.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { program } from '../programs.ts'

const server = await startPostgres()
afterAll(() => server?.stop())
/** A schema of this run's own: a server of somebody else's is left as it was. */
const schema = `sessions ${process.pid}`
const address = new URL(server?.url ?? 'postgres://none')
address.searchParams.set('schema', schema)

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

interface Writer {
  readonly lines: readonly string[]
  readonly kill: () => void
  /** The signal that ended it, or null; throws what it said if it failed. */
  readonly ended: Promise<NodeJS.Signals | null>
}

const writer = (args: readonly string[], onLine: (line: string) => void = () => {}): Writer => {
  const child = spawn(process.execPath, [program('test/session/writer-process.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
  })
  const lines: string[] = []
  let output = ''
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line)
    onLine(line)
  })
  child.stderr.on('data', (text: Buffer) => (output += text.toString()))
  const ended = new Promise<NodeJS.Signals | null>((resolve, reject) => {
    child.on('close', (code, signal) => (code === 0 || signal !== null ? resolve(signal) : reject(new Error(output))))
  })
  return { lines, kill: () => void child.kill('SIGKILL'), ended }
}

describe('erasing in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => {
  const stores: Store[] = []
  let cases = 0
  beforeAll(async () => {
    for (let handle = 0; handle < 2; handle++)
      stores.push(
        await ok(
          postgresStore({
            timeout: 600_000,
            connectionString: server?.url ?? '',
            schema: `${schema} erasing`,
            connections: 4,
          }),
        ),
      )
  })
  afterAll(async () => {
    for (const store of stores) await ok(store.close())
    const client = new Client({ connectionString: server?.url ?? '' })
    await client.connect()
    await client.query(`drop schema "${schema} erasing" cascade`)
    await client.end()
  })
  /** Two handles of one scope of its own. */
  const open = async (): Promise<readonly [Store, Store]> => {
    const scope = `case ${++cases}`
    const [first, second] = await Promise.all(stores.map((store) => orThrow(store.scoped(scope))))
    if (first === undefined || second === undefined) throw new Error('no stores')
    return [first, second]
  }
  eraseCases('PostgreSQL', async () => (await open())[0])
  holdCases('PostgreSQL', open)
  /** The bytes of the tables; older versions of rows stay until VACUUM. */
  const bytesOf = async (stores: readonly Store[]): Promise<Buffer> => {
    const client = new Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const pieces = await Promise.all(stores.map(contentOf))
    for (const table of ['log', 'segment', 'row', 'operation', 'mention', 'lease']) {
      const { rows } = await client.query(`select t::text as row from "${schema} erasing".${table} t where scope = $1`, [stores[0]?.scope]) // oxfmt-ignore
      pieces.push(Buffer.from(JSON.stringify(rows)))
    }
    await client.end()
    return Buffer.concat(pieces)
  }
  plantedCases('PostgreSQL', async () => {
    const [store] = await open()
    return { store, bytes: () => bytesOf([store]) }
  })
  plantedCases('PostgreSQL with encryption', async () => {
    const [inner] = await open()
    const store = withKeys(inner, keyRing([newHostKey()]))
    return { store, bytes: () => bytesOf([inner, store]) }
  })
})

describe('a session on PostgreSQL', leftOutIf(server === undefined, noPostgres), () => {
  let store: Store
  beforeAll(async () => {
    store = await ok(postgresStore({ timeout: 600_000, connectionString: server?.url ?? '', schema }))
  })
  afterAll(async () => {
    await ok(store.close())
    const client = new Client({ connectionString: server?.url ?? '' })
    await client.connect()
    await client.query(`drop schema "${schema}" cascade`)
    await client.end()
  })

  it('two processes lose and double nothing, and each conflict carries the missed rows', async () => {
    const id = 'shared'
    const each = rounds(20, 150)
    await ok(createSession(store, { id }))
    const names = ['a', 'b']
    const writers = names.map((name) => writer(['rebase', address.href, id, name, String(each)]))
    await Promise.all(writers.map(({ ended }) => ended))
    const texts = (await ok(openSession(store, id))).view().toArray().map(textOf)
    for (const name of names)
      expect(texts.filter((text) => text.startsWith(`${name}:`))).toEqual(
        Array.from({ length: each }, (_, number) => `${name}:${number}`),
      )
    expect(texts.length).toBe(names.length * each)
    for (const line of writers.flatMap(({ lines }) => lines).filter((found) => found.startsWith('missed '))) {
      const [, from, ...carried] = line.split(' ')
      expect(carried.length).toBeGreaterThan(0)
      expect(carried).toEqual(texts.slice(Number(from), Number(from) + carried.length))
    }
    await ok(verifySession(store, id))
  })

  it('eight constantly rebasing writers lose and double nothing', async () => {
    const id = 'eight'
    await ok(createSession(store, { id }))
    const writers = 8
    const stores = await Promise.all(
      Array.from({ length: writers }, () =>
        ok(postgresStore({ timeout: 600_000, connectionString: server?.url ?? '', schema, connections: 3 })),
      ),
    )
    const sessions = await Promise.all(stores.map((own) => ok(openSession(own, id))))
    const each = rounds(4, 150)
    await Promise.all(
      sessions.map(async (session, writer) => {
        for (let count = 0; count < each; count++) await ok(session.rebase(() => user(`${writer}:${count}`)))
      }),
    )
    for (const own of stores) await ok(own.close())
    const texts = (await ok(openSession(store, id))).view().toArray().map(textOf)
    expect(texts.length).toBe(writers * each)
    for (let writer = 0; writer < writers; writer++)
      expect(texts.filter((text) => text.startsWith(`${writer}:`))).toEqual(
        Array.from({ length: each }, (_, count) => `${writer}:${count}`),
      )
    await ok(verifySession(store, id))
  })

  it('a history answers positions at once, and flush stores what is pending; another writer is a conflict', async () => {
    const session = await ok(createSession(store, { id: 'history', messages: [user('a')] }))
    const history = session.history()
    expect([history.append(user('b')), history.append(user('c'), 'plan'), history.len]).toEqual([1, 2, 3])
    expect(await ok(session.flush())).toEqual(session.head())
    const other = await ok(openSession(store, 'history'))
    expect([other.view().toArray().map(textOf), [...other.view().pages]]).toEqual([
      ['a', 'b', 'c'],
      ['conversation', 'conversation', 'plan'],
    ])
    await ok(other.append(user('from elsewhere')))
    history.append(user('d'))
    expect((await fault('SessionConflict', session.flush())).missed.toArray().map(textOf)).toEqual(['from elsewhere'])
    expect(() => history.append(user('e'))).toThrow('another writer appended')
    expect(session.history().append(user('e'))).toBe(4)
    await ok(session.flush())
    expect((await ok(openSession(store, 'history'))).view().toArray().map(textOf)).toEqual([
      ...['a', 'b', 'c'],
      ...['from elsewhere', 'e'],
    ])
    await ok(verifySession(store, 'history'))
  })

  it('metadata is the fold of notes, also of two writers at once, and lists show the latest', async () => {
    const id = 'described'
    const session = await ok(createSession(store, { id, metadata: { count: 0 }, messages: [user('a')] }))
    const other = await ok(openSession(store, id))
    const add = (store: Session) =>
      ok(store.update((metadata) => void (metadata['count'] = Number(metadata['count']) + 1)))
    await Promise.all([add(session), add(other), add(session), add(other)])
    await ok(session.refresh())
    const counts = [0, 0, 1, 2, 3, 4]
    const read = await ok(openSession(store, id))
    for (const line of [session, read])
      expect(counts.map((_, size) => line.at({ size })?.metadata['count'])).toEqual(counts)
    expect((await ok(describeSession(store, id))).metadata).toEqual({ count: 4 })
    const { sessions } = await ok(listSessions(store, { where: { count: 4 } }))
    expect(sessions.map((found) => found.id)).toEqual([id])
    expect((await ok(verifySession(store, id))).staleMetadata).toBeUndefined()
  })

  it('an uncontended append is one statement, also with `rebase`', async () => {
    const id = 'alone'
    const pool = openPool({ connectionString: server?.url ?? '', max: 3 })
    const texts: string[] = []
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (given: { readonly text: string }) => unknown
      client.query = ((given: { readonly text: string }) => {
        if (!given.text.includes('pg_notify')) texts.push(given.text) // sent by a timer
        return query(given)
      }) as never
    })
    const own = await ok(postgresStore({ timeout: 600_000, pool, schema }))
    const session = await ok(createSession(own, { id, messages: [user('first')] }))
    await ok(session.append(user('second')))
    texts.length = 0
    for (let count = 0; count < 5; count++) await ok(session.append(user('by append')))
    expect(texts.map((text) => text.startsWith('with planned as') && !text.includes('advisory'))).toEqual(
      Array(5).fill(true),
    )
    texts.length = 0
    for (let count = 0; count < 5; count++) await ok(session.rebase(() => user('by rebase')))
    expect(texts.filter((text) => !text.startsWith('with planned as'))).toEqual([])
    expect(texts.length).toBe(5)
    await ok(own.close())
    await pool.end()
  })

  it('processes killed at random moments: all acknowledged messages exist, in order, once', async () => {
    const [kills, lanes] = [rounds(2, 12), rounds(1, 2)]
    let total = 0
    const lane = async (number: number): Promise<void> => {
      const id = `killed ${number}`
      await ok(createSession(store, { id }))
      let at = 0
      for (let kill = 0; kill < kills / lanes; kill++) {
        const round = `round ${kill}`
        let lines = 0
        const named = new URL(address)
        named.searchParams.set('application_name', id)
        const child = writer(['append', named.href, id, round], () => {
          // Half of them at once, half once an append was acknowledged, however slow the machine is.
          if (++lines === (kill % 2) + 1) setTimeout(child.kill, Math.random() * 120)
        })
        expect(await child.ended).toBe('SIGKILL')
        const acknowledged = child.lines
          .filter((line) => line.startsWith('ack '))
          .map((line) => Number(line.split(' ')[1]))
        total += acknowledged.length
        const session = await settled(id)
        const messages = session.view().toArray()
        let batches = 0
        for (
          let batch = batchOf(round, 0);
          at < messages.length && JSON.stringify(messages[at]) === JSON.stringify(batch[0]);
          batch = batchOf(round, ++batches)
        ) {
          expect(messages.slice(at, at + batch.length)).toEqual(batch)
          at += batch.length
        }
        expect(at).toBe(messages.length)
        expect(batches).toBeGreaterThan(Math.max(-1, ...acknowledged))
        await ok(verifySession(store, id))
      }
    }
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
    expect(total).toBeGreaterThanOrEqual(kills / 2) // they did get to write
  })

  /** A statement may still be running on the server after its process was killed; then its connections end. */
  const settled = async (id: string): Promise<Awaited<ReturnType<typeof open>>> => {
    const client = new Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const connected = 'select 1 from pg_stat_activity where application_name = $1'
    while ((await client.query(connected, [id])).rows.length > 0) await pause(20)
    await client.end()
    return open(id)
  }
  const open = (id: string) => ok(openSession(store, id))

  it(
    'the server killed and restarted while sessions write: all acknowledged messages exist once',
    leftOutIf(server?.own === undefined, notOurServer),
    async () => {
      const own = server?.own
      if (own === undefined) return
      const acknowledged = new Map<string, number>()
      const end = new AbortController()
      const lost: string[] = []
      const write = async (name: string): Promise<void> => {
        const id = `outage ${name}`
        const session = await ok(createSession(store, { id }))
        for (let number = 0; !end.signal.aborted;) {
          const answer = await session.append(user(`${name}:${number}`), { operation: `op ${number}` })()
          if (!isLeft(answer)) {
            number += 1
            acknowledged.set(id, number)
            continue
          }
          if (answer.left._tag !== 'Io') throw new Error(JSON.stringify(answer.left))
          lost.push(name)
          await pause(20)
        }
        await ok(session.append(user('on'), { operation: 'last' }))
      }
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      const writing = Promise.all(names.map(write))
      const count = (name: string): number => acknowledged.get(`outage ${name}`) ?? 0
      /** Each has had so many more acknowledged, however slow the machine is. */
      const written = async (more: number): Promise<void> => {
        const wanted = names.map((name) => count(name) + more)
        while (names.some((name, index) => count(name) < (wanted[index] ?? 0))) await pause(10)
      }
      for (let outage = 0; outage < rounds(1, 2); outage++) {
        await written(6)
        await pause(Math.random() * 200)
        lost.length = 0
        await own.kill()
        while (lost.length === 0) await pause(10) // nothing can be acknowledged now
        await own.start()
      }
      await written(5)
      end.abort()
      await writing
      for (const name of names) {
        const id = `outage ${name}`
        const count = acknowledged.get(id) ?? 0
        expect(count).toBeGreaterThan(10)
        const texts = (await ok(openSession(store, id))).view().toArray().map(textOf)
        expect(texts).toEqual([...Array.from({ length: count }, (_, number) => `${name}:${number}`), 'on'])
        await ok(verifySession(store, id))
      }
    },
  )
})

searchInPostgres(server) // here for its server: starting one takes longer than these cases
