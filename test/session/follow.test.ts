/**
 * Following across processes that are killed. At full size 20,000 rows on SQLite, and as many on PostgreSQL.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Pool } from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSession, memoryStore, user, verifySession, type Store } from 'indelible'
import { follow } from 'indelible/session'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { noPostgres, openPool, startPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { openAt } from './open-at.ts'
import { rounds } from '../rounds.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-follow-'))
const server = await startPostgres()
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const parties = rounds(2, 4)

/** A process that is started again whenever it is killed, from where its lines have got. */
class Party {
  readonly lines: string[] = []
  readonly #args: (lines: readonly string[]) => readonly string[]
  readonly #onLine: () => void
  #child: ChildProcess | undefined
  #kills = 0
  #leaving = false
  readonly ended: Promise<void>
  #settle: (error?: Error) => void = () => {}

  constructor(args: (lines: readonly string[]) => readonly string[], onLine: () => void) {
    this.#args = args
    this.#onLine = onLine
    this.ended = new Promise((resolve, reject) => {
      this.#settle = (error) => (error === undefined ? resolve() : reject(error))
    })
    this.#start()
  }

  get kills(): number {
    return this.#kills
  }

  /** Whether it has not done its work yet. A follower is at work until it is told to leave. */
  get works(): boolean {
    return this.#child?.exitCode === null
  }

  kill(): void {
    if (this.#child?.kill('SIGKILL') === true) this.#kills += 1
  }

  leave(): void {
    this.#leaving = true
    this.#child?.kill('SIGKILL')
  }

  #start(): void {
    const child = spawn(process.execPath, [program('test/session/follow-process.ts'), ...this.#args(this.lines)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
    })
    this.#child = child
    let output = ''
    child.stderr.on('data', (text: Buffer) => (output += text.toString()))
    createInterface(child.stdout).on('line', (line) => {
      if (!line.startsWith('row ')) return
      this.lines.push(line)
      this.#onLine()
    })
    child.on('close', (code, signal) => {
      if (code === 0 || this.#leaving) this.#settle()
      else if (signal === 'SIGKILL') this.#start()
      else this.#settle(new Error(output))
    })
  }
}

/** Writers and followers of one session, killed at random, until every follower has every row. */
const crowd = async (path: string, each: number, kills: number): Promise<void> => {
  const store = await openAt(path)
  await createSession(store, { id: 's' })
  let news: () => void = () => {}
  const killEach = Math.floor((parties * each * (1 + parties)) / (kills + 1))
  let lines = 0
  const told = (): void => {
    news()
    lines += 1
    const working = all.filter(({ works }) => works)
    if (lines % killEach === 0) working[Math.floor(Math.random() * working.length)]?.kill()
  }
  const writers = Array.from(
    { length: parties },
    (_, writer) => new Party((lines) => ['write', path, 's', `w${writer}`, String(lines.length), String(each)], told),
  )
  const followers = Array.from(
    { length: parties },
    () => new Party((lines) => ['follow', path, 's', String(lines.length)], told),
  )
  const all = [...writers, ...followers]
  try {
    await Promise.all(writers.map(({ ended }) => ended))
    while (followers.some(({ lines }) => lines.length < parties * each))
      await Promise.race([new Promise<void>((resolve) => (news = resolve)), ...followers.map(({ ended }) => ended)])
  } finally {
    for (const party of all) party.leave()
  }
  await Promise.all(followers.map(({ ended }) => ended))
  const stored = (await store.read('s')).map(({ position, body }) => `row ${position} ${body}`)
  expect(stored.length).toBe(parties * each)
  for (const { lines } of followers) expect(lines).toEqual(stored)
  for (let writer = 0; writer < parties; writer++)
    expect((await store.read('s')).map(({ body }) => body).filter((body) => body.startsWith(`w${writer}:`))).toEqual(
      Array.from({ length: each }, (_, number) => `w${writer}:${number}`),
    )
  expect(all.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThan(0)
  await store.close()
}

const perWriter = rounds(20, 5000)
const kills = rounds(2, 40)

it(`SQLite: ${parties} followers get all of ${parties} × ${perWriter} rows once and in order, despite kills`, async () => {
  await crowd(join(folder, 'crowd.db'), perWriter, kills)
})

it(
  `PostgreSQL: followers get all rows once and in order, ${perWriter} from each writer`,
  leftOutIf(server === undefined, noPostgres),
  async () => {
    const address = new URL(server?.url ?? '')
    address.searchParams.set('schema', `follow ${process.pid}`)
    await crowd(address.href, perWriter, rounds(1, 40))
  },
)

describe('cost of an idle follower', () => {
  /** Statements that have begun, and those of them that were not answered yet. */
  const counts = { begun: 0, open: 0 }
  const counted = async (answer: unknown): Promise<unknown> => {
    try {
      return await answer
    } finally {
      counts.open -= 1
    }
  }
  const counting = (own: Function, isAsync: boolean) =>
    function (this: unknown, ...given: unknown[]): unknown {
      counts.begun += 1
      if (!isAsync) return Reflect.apply(own, this, given)
      counts.open += 1
      return counted(Reflect.apply(own, this, given))
    }
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  /** Everything that was begun is answered, and what follows from it has begun. */
  const settled = async (): Promise<void> => {
    for (let quiet = 0; quiet < 5; quiet = counts.open === 0 ? quiet + 1 : 0) await turn()
  }
  /** The pauses that the code asks for pass; the clock stands still while a statement waits for its answer. */
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed < milliseconds; passed += 20) {
      await vi.advanceTimersByTimeAsync(20)
      await settled()
    }
  }
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  const real = globalThis.setTimeout
  afterEach(() => {
    vi.useRealTimers()
    expect(globalThis.setTimeout).toBe(real)
  })
  /** Where stores and what follows them set timers from now on: earlier files of this process may set others. */
  const timersOfStores = (): readonly string[] => {
    const stacks: string[] = []
    const fake = globalThis.setTimeout
    // Ends with the fake timers, which put the real function back.
    globalThis.setTimeout = Object.assign((...given: Parameters<typeof fake>) => {
      const { stack = '' } = new Error('a timer')
      if (/\/src\/(?:store|session\/opening)\//.test(stack)) stacks.push(stack)
      return fake(...given)
    }, fake)
    return stacks
  }

  /** The statements of four seconds in which nothing happens. */
  const idling = async (store: Store, listening: () => Promise<void> = settled): Promise<number> => {
    const session = await createSession(store, { id: 's' })
    await session.append(user('hello'))
    const rows = follow(session)[Symbol.asyncIterator]()
    await rows.next()
    const next = rows.next()
    await listening()
    await pass(800) // the pauses grow
    const before = counts.begun
    await pass(4000)
    const after = counts.begun
    await session.append(user('at last'))
    const { value } = (await next) as { readonly value: { readonly position: number } }
    expect(value.position).toBe(1)
    await rows.return?.()
    return after - before
  }

  it('SQLite: 5 polls a second', async () => {
    const store = await sqliteStore({ path: join(folder, 'idle.db') })
    const timers = timersOfStores()
    const { get, all } = StatementSync.prototype
    Object.assign(StatementSync.prototype, { get: counting(get, false), all: counting(all, false) })
    try {
      expect(await idling(store)).toBe(20)
      expect(timers.length).toBeGreaterThan(19)
    } finally {
      Object.assign(StatementSync.prototype, { get, all })
      await store.close()
    }
  })
  it('memory: no poll and no timer', async () => {
    const store = memoryStore()
    const session = await createSession(store)
    const timers = timersOfStores()
    const next = follow(session)[Symbol.asyncIterator]().next()
    await settled()
    expect(timers).toEqual([])
    await session.append(user('hello'))
    expect((await next).done).toBe(false)
  })
  describe('PostgreSQL', leftOutIf(server === undefined, noPostgres), () => {
    /** @returns a pool, and a promise of so many more notifications on its connections */
    const countingPool = (
      max: number,
    ): { readonly pool: Pool; readonly notified: (count: number) => Promise<void> } => {
      const pool = openPool({ connectionString: server?.url, max })
      const hearers = new Set<() => void>()
      pool.on('connect', (client) => {
        Object.assign(client, { query: counting(client.query, true) })
        client.on('notification', () => hearers.forEach((hear) => hear()))
      })
      const notified = async (count: number): Promise<void> => {
        await new Promise<void>((resolve) => {
          let heard = 0
          const hear = (): void => {
            if (++heard < count) return
            hearers.delete(hear)
            resolve()
          }
          hearers.add(hear)
        })
        await settled()
      }
      return { pool, notified }
    }
    it('no statement while notifications arrive, which report other processes at once', async () => {
      const { pool, notified } = countingPool(4)
      const schema = `idle ${process.pid}`
      const store = await postgresStore({ timeout: 600_000, pool, schema })
      const own = notified(1) // it listens from then on
      expect(await idling(store, () => own)).toBe(0)
      const other = await postgresStore({ timeout: 600_000, connectionString: server?.url ?? '', schema })
      const rows = follow({ store, id: 's' }, { from: 2 })[Symbol.asyncIterator]()
      const again = notified(1)
      const next = rows.next()
      await again
      await pass(800)
      const { head } = await other.info('s')
      await other.append('s', { expected: head, rows: [{ kind: 'entry', body: 'elsewhere' }] })
      await pass(20) // changes are gathered for so long; the next poll is seconds away
      await next
      await rows.return?.()
      await other.close()
      await store.close()
      await pool.end()
    })
    it('5 polls a second without a spare connection to listen', async () => {
      const { pool } = countingPool(1)
      const store = await postgresStore({ timeout: 600_000, pool, schema: `poll ${process.pid}` })
      expect(await idling(store)).toBe(20)
      await store.close()
      await pool.end()
    })
  })
})

it('follow(session) ends when the session is sealed, and refuses other values', async () => {
  const store = memoryStore()
  const session = await createSession(store)
  const rows: string[] = []
  const following = (async () => {
    for await (const { kind, body } of follow(session)) rows.push(`${kind} ${body.length}`)
  })()
  await session.append(user('one'))
  const sealed = await session.seal()
  await following
  expect(rows.map((row) => row.split(' ')[0])).toEqual(['entry', 'note'])
  const again: number[] = []
  for await (const { position } of follow(sealed, { from: 1 })) again.push(position)
  expect(again).toEqual([1])
  expect(() => follow({ ...session } as typeof session)).toThrow(TypeError)
  expect(() => follow(session, { from: -1 })).toThrow('from is -1')
  await verifySession(store, session.id)
})
