/**
 * Processes that are killed, and a server that is, mixed with imports of one id, forks, removals and retries. What was
 * acknowledged is there, once and in order. At full size 1,000 kills on SQLite and 50 of the server.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, textOf, verifySession, type Store } from 'indelible'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { ok } from '../task-results.ts'
import { startPostgres, notOurServer } from '../../packages/postgres/test/postgres-server.ts'
import { bodyOf, forkId, importedTexts, importId, kindOf, removes, shared, work } from './soak-deeds.ts'
import { rounds } from '../rounds.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { program } from '../programs.ts'

const kills = rounds(3, 1000)
const outages = Math.ceil(kills / 20)
/** Kills, and deeds, before a store is left for a new one: each check reads all of it. */
const perStore = 25
const deedsPerStore = 300

const folder = mkdtempSync(join(tmpdir(), 'indelible-session-soak-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The last deed of each writer that was acknowledged; -1: none. */
type Acknowledged = Map<string, number>

const sumOf = (acknowledged: Acknowledged): number =>
  [...acknowledged.values()].reduce((all, last) => all + last + 1, 0)

/** `still` writers do nothing now: then no more than the one deed that was on its way is there beside what was acknowledged. */
const check = async (store: Store, acknowledged: Acknowledged, still: ReadonlySet<string>): Promise<void> => {
  const known = new Map(acknowledged)
  await ok(verifySession(store, shared))
  const texts = (await ok(openSession(store, shared))).view().toArray().map(textOf)
  for (const [writer, last] of known) {
    const own = texts.filter((text) => text.startsWith(`${writer}:`))
    const numbers = own.map((text) => Number(text.split(':')[1]))
    const appends = Array.from({ length: (numbers.at(-1) ?? -1) + 1 }, (_, number) => number).filter(
      (number) => kindOf(number) === 'append',
    )
    expect(own).toEqual(appends.map((number) => bodyOf(writer, number)))
    const atLeast = Array.from({ length: last + 1 }, (_, number) => number).findLast(
      (each) => kindOf(each) === 'append',
    )
    expect(numbers.at(-1) ?? -1).toBeGreaterThanOrEqual(atLeast ?? -1)
    if (still.has(writer)) expect(numbers.at(-1) ?? -1).toBeLessThanOrEqual(last + 1)
    for (let number = 0; number <= last; number++) {
      if (kindOf(number) === 'import')
        expect((await ok(openSession(store, importId(number)))).view().toArray().map(textOf)).toEqual(
          importedTexts(importId(number)),
        )
      if (kindOf(number) !== 'fork') continue
      const removal = number + 2
      if (removes(removal) && removal > last && !still.has(writer)) continue // it may be removed at this moment
      const found = await verifySession(store, forkId(writer, number))()
      if (removes(removal) && removal <= last) expect(isLeft(found) && found.left._tag).toBe('NoSuchLog')
      else if (!isLeft(found)) {
        const fork = (await ok(openSession(store, forkId(writer, number)))).view().toArray().map(textOf)
        expect(fork).toEqual(texts.slice(0, fork.length))
      } else expect([found.left._tag, removes(removal) && removal === last + 1]).toEqual(['NoSuchLog', true])
    }
  }
}

interface Child {
  readonly writer: string
  /** It has acknowledged a new deed since it was started. */
  readonly acknowledging: Promise<unknown>
  readonly kill: () => Promise<void>
  /** Let it stand still, or go on. */
  readonly freeze: (still: boolean) => void
}

const start = (path: string, writer: string, acknowledged: Acknowledged): Child => {
  // The last deed again: it must not be done twice.
  const from = Math.max(0, acknowledged.get(writer) ?? 0)
  const child = spawn(process.execPath, [program('test/session/soak-process.ts'), path, writer, String(from)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
  })
  let output = ''
  let began: (value?: unknown) => void
  const acknowledging = new Promise((resolve) => (began = resolve))
  createInterface(child.stdout).on('line', (line) => {
    const [last, number] = [acknowledged.get(writer) ?? -1, Number(line.split(' ')[0])]
    if (number <= last) return
    acknowledged.set(writer, number)
    began()
  })
  child.stderr.on('data', (text: Buffer) => (output += text.toString()))
  const closed = new Promise<NodeJS.Signals | null>((resolve) => child.on('close', (_code, signal) => resolve(signal)))
  void closed.then(() => began())
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    if ((await closed) !== 'SIGKILL') throw new Error(`${writer} ended by itself: ${output}`)
  }
  return { writer, acknowledging, kill, freeze: (still) => void child.kill(still ? 'SIGSTOP' : 'SIGCONT') }
}

const pause = (most: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, Math.random() * most))

it(`SQLite: survives ${kills} kills among imports, forks, removals and retries`, async () => {
  let done = 0
  let total = 0
  let early = 0
  const lane = async (number: number): Promise<void> => {
    for (let file = 0; done < kills; file++) {
      const path = join(folder, `${number}-${file}.db`)
      const store = await ok(sqliteStore({ path, wait: 60_000 }))
      await ok(createSession(store, { id: shared }))
      const acknowledged: Acknowledged = new Map(['a', 'b'].map((writer) => [writer, -1]))
      const children = ['a', 'b'].map((writer) => start(path, writer, acknowledged))
      for (let kill = 0; kill < perStore && done < kills && sumOf(acknowledged) < deedsPerStore; kill++) {
        done += 1
        const index = Math.random() < 0.5 ? 0 : 1
        const child = children[index] as Child // there are two
        // Most die while they write, however slow the machine is; some before they have opened the store.
        if (kill % 7 < 6) await child.acknowledging
        else early += 1
        await pause(80)
        await child.kill()
        const other = children[1 - index] as Child
        other.freeze(true) // a check takes time, and the record would be longer after each
        await check(store, acknowledged, new Set([child.writer]))
        other.freeze(false)
        children[index] = start(path, child.writer, acknowledged)
      }
      await Promise.all(children.map((child) => child.kill()))
      await check(store, acknowledged, new Set(['a', 'b']))
      total += sumOf(acknowledged)
      await ok(store.close())
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    }
  }
  await Promise.all(Array.from({ length: rounds(1, 2) }, (_, number) => lane(number)))
  process.stdout.write(`${done} kills on SQLite, ${total} deeds acknowledged\n`)
  expect(total).toBeGreaterThanOrEqual(done - early)
})

const server = await startPostgres()
afterAll(() => server?.stop())

it(
  `PostgreSQL: survives ${outages} kills of the whole server among imports, forks, removals and retries`,
  leftOutIf(server?.own === undefined, notOurServer),
  async () => {
    const own = server?.own
    if (own === undefined) return
    const store = await ok(postgresStore({ timeout: 600_000, connectionString: server?.url ?? '', connections: 20 }))
    let total = 0
    for (let outage = 0; outage < outages;) {
      const scope = store.scoped(`from ${outage}`)
      if (isLeft(scope)) throw new Error('the scope is good')
      const place = scope.right
      await ok(createSession(place, { id: shared }))
      const writers = ['a', 'b', 'c', 'd']
      const acknowledged: Acknowledged = new Map(writers.map((writer) => [writer, -1]))
      const end = new AbortController()
      const going = (): boolean => !end.signal.aborted
      const working = Promise.all(
        writers.map((writer) =>
          work(place, writer, 0, (line) => void acknowledged.set(writer, Number(line.split(' ')[0])), going),
        ),
      )
      void working.catch(() => end.abort()) // it is awaited below
      const sum = (): number => sumOf(acknowledged)
      for (let kill = 0; kill < perStore && outage < outages && going() && sum() < deedsPerStore; kill++, outage++) {
        const before = sum()
        while (sum() < before + 8 && going()) await pause(20) // they do get to write, however slow the machine is
        await pause(200)
        await own.kill()
        await pause(100)
        await own.start()
        await check(place, acknowledged, new Set())
      }
      end.abort()
      await working
      await check(place, acknowledged, new Set(writers))
      total += sum()
    }
    process.stdout.write(`${outages} kills of PostgreSQL, ${total} deeds acknowledged\n`)
    expect(total).toBeGreaterThanOrEqual(outages * 8)
    await ok(store.close())
  },
)
