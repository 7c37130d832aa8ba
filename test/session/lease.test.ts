/** Leases of sessions: in one process, and in eight that are paused and killed. At full size 500 times each. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { left } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import {
  createSession,
  memoryStore,
  openSession,
  readSession,
  textOf,
  user,
  verifySession,
  type CallbackThrew,
  type FaultError,
} from 'indelible'
import { describeSession, eraseMessages, type SessionFault, pending } from 'indelible/session'
import type { StoreFault } from 'indelible/store'
import { root } from '../../scripts/run.ts'
import { storeTask } from '../../src/store/internal.ts'
import { fault } from '../task-results.ts'
import { startPostgres, noPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { openAt } from './open-at.ts'
import { isFull, rounds } from '../rounds.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-lease-'))
const server = await startPostgres()
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Times of leases, which pass when a test lets them. */
const clock: Parameters<typeof vi.useFakeTimers>[0] = { toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }

describe('a session lease', () => {
  afterEach(() => void vi.useRealTimers())
  it("has one holder at a time, who starts with the previous holder's appends", async () => {
    const store = memoryStore({ now: () => 1_000_000 })
    const one = await createSession(store, { id: 's' })
    const other = await openSession(store, 's')
    const lease = await one.lease({ holder: 'one' })
    expect([lease.holder, lease.held]).toEqual(['one', true])
    const busy = await fault('SessionBusy', other.lease({ holder: 'other' }))
    expect([busy.id, busy.holder, busy.remaining]).toEqual(['s', 'one', 10_000])
    expect((await store.leaseOf('s'))?.holder).toBe('one')
    const waiting = other.lease({ holder: 'other', wait: 600_000 })()
    await one.append(user('of one'))
    await lease.release()
    await waiting
    expect((await store.leaseOf('s'))?.number).toBe(lease.number + 1)
    expect(other.view().toArray().map(textOf)).toEqual(['of one'])
    await other.append(user('of the other'))
    expect(lease.held).toBe(false)
  })
  it('tells its holder which steps the holder before it left open', async () => {
    const store = memoryStore()
    const one = await createSession(store, { id: 's', messages: [user('go')] })
    const other = await openSession(store, 's')
    const lease = await one.lease({ holder: 'one' })
    await one.note({ type: 'journal', step: 'x', lease: lease.number, said: [{ index: 0, text: 'Let me' }] })
    await other.refresh()
    expect(pending(other).messages).toEqual([])
    await lease.release()
    await other.lease({ holder: 'other' })
    expect(pending(other).messages.map(({ role }) => role)).toEqual(['assistant', 'developer'])
    await other.close()
  })

  it('once lost, blocks every append until it is given up', async () => {
    let now = 1_000_000
    const store = memoryStore({ now: () => now })
    const session = await createSession(store, { id: 's' })
    const lease = await session.lease({ holder: 'paused', ttl: 60_000 })
    expect(Object.isFrozen(lease)).toBe(true)
    now += 60_000
    await session.append(user('nobody has taken it')) // so nothing of what this handle knows is old
    await store.lease('s', { holder: 'next', ttl: 1000 })
    const lost = await fault('LeaseLost', session.append(user('late')))
    expect([lost.id, lost.number, session.len]).toEqual(['s', lease.number, 1])
    await fault('LeaseLost', session.append([user('late'), user('later')]))
    await lease.release()
    await session.append(user('without a lease'))
    await fault('SessionBusy', session.append(user('x'), { respectLease: true }))
    now += 1000
    await session.append(user('nobody holds it'), { respectLease: true })
    expect((await session.lease({ holder: 'paused' })).number).toBe(lease.number + 2)
  })
  it.each([
    ['', undefined],
    [
      ', nor if the answer was lost',
      left({ _tag: 'Io', operation: 'release', cause: new Error('no answer') } as const),
    ],
  ])(
    'released before an append of the same handle reached the store is not lost%s: the append carries none',
    async (_, answer) => {
      const memory = memoryStore()
      await createSession(memory, { id: 's' })
      let isReleased = (): void => undefined
      const released = new Promise<void>((resolve) => (isReleased = resolve))
      const session = await openSession(
        {
          ...memory,
          append: (...given) => storeTask(async () => (await released, memory.append(...given)()), 'store.append'),
          release: (...given) =>
            storeTask(async () => {
              const released = await memory.release(...given)()
              isReleased()
              return answer ?? released
            }, 'store.release'),
        },
        's',
      )
      const lease = await session.lease({ holder: 'run' })
      const append = session.append(user('a question of another turn'))
      await lease.release()()
      expect([(await append).head.size, lease.signal.aborted]).toEqual([1, false])
    },
  )
  it('of another holder is respected by every method that writes, if the caller wants that', async () => {
    const store = memoryStore({ now: () => 1_000_000 })
    const session = await createSession(store, { id: 's', messages: [user('first'), user('second')] })
    const head = session.head()
    const other = await openSession(store, 's')
    const lease = await other.lease({ holder: 'other' })
    const options = { respectLease: true } as const
    const writes: readonly (() => TaskEither<SessionFault | StoreFault | CallbackThrew, unknown>)[] = [
      () => session.append(user('x'), options),
      () => session.rebase(() => [user('x')], options),
      () => session.pop(options),
      () => session.rewind(1, options),
      () => session.note({ type: 'pin', position: 0 }, options),
      () => session.note({ type: 'summary', from: 0, to: 1, text: 'x' }, options),
      () => eraseMessages(session, [1], options),
      () => session.update((metadata) => void (metadata['x'] = 1), options),
      () => session.seal(options),
    ]
    for (const write of writes) expect(await fault('SessionBusy', write())).toMatchObject({ holder: 'other' })
    expect(await fault('SessionBusy', eraseMessages(store, 's', [1], options))).toMatchObject({ holder: 'other' })
    expect(await describeSession(store, 's')).toMatchObject({ head, metadata: {} })
    await lease.release()
    await session.update((metadata) => void (metadata['x'] = 1), options)
    expect((await eraseMessages(session, [1], { ...options, reason: 'asked to' })).messages).toEqual([1])
    expect((await session.seal(options)).state).toBe('sealed')
  })
  it('taken by another holder blocks updates and erasures as well', async () => {
    let now = 1_000_000
    const store = memoryStore({ now: () => now })
    const session = await createSession(store, { id: 's', messages: [user('secret')] })
    const lease = await session.lease({ holder: 'zombie', ttl: 1000 })
    const rename = (by: string) => session.update((metadata) => void (metadata['by'] = by))
    await rename('its holder')
    now += 1000
    await store.lease('s', { holder: 'next', ttl: 1000 })
    const before = await store.info('s')
    await fault('LeaseLost', eraseMessages(session, [0]))
    expect(lease.signal.aborted).toBe(true)
    await fault('LeaseLost', rename('a zombie'))
    expect(await store.info('s')).toEqual(before)
    expect(session.metadata()).toEqual({ by: 'its holder' })
    await lease.release()
    await rename('somebody without a lease')
    expect((await eraseMessages(session, [0])).messages.length).toBe(1)
  })
  it('is renewed while it is held, and released when the session is closed', async () => {
    vi.useFakeTimers(clock)
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const before = await store.info('s')
    const lease = await session.lease({ holder: 'steady', ttl: 1500 })
    const expires = (await store.leaseOf('s'))?.expires ?? 0
    await vi.advanceTimersByTimeAsync(499)
    expect((await store.leaseOf('s'))?.expires).toBe(expires)
    await vi.advanceTimersByTimeAsync(1) // a third of its time
    expect((await store.leaseOf('s'))?.expires).toBe(expires + 500)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(lease.held).toBe(true)
    await fault('LeaseHeld', store.lease('s', { holder: 'other', ttl: 1000 }))
    expect(await store.info('s')).toEqual(before)
    await session.close()
    expect(lease.held).toBe(false)
    expect(await store.leaseOf('s')).toBeUndefined()
  })
  it('notifies its holder to stop or that it was lost', async () => {
    vi.useFakeTimers(clock)
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const lease = await session.lease({ holder: 'worker', ttl: 1500 })
    const reader = await readSession(store, 's')
    if (reader.state === 'sealed') throw new Error('it is not sealed')
    expect((await store.requestStop('s'))?.holder).toBe('worker')
    await vi.advanceTimersByTimeAsync(500)
    expect((lease.signal.reason as FaultError).fault).toEqual({ _tag: 'StopRequested', id: 's' })
    expect(lease.held).toBe(true) // it ends in order
    await session.append(user('the end'))
    await lease.release()

    const next = await session.lease({ holder: 'worker', ttl: 1500 })
    expect(next.signal.aborted).toBe(false)
    await store.release('s', next.number)
    await vi.advanceTimersByTimeAsync(500)
    expect(next.signal.aborted).toBe(true)
    expect(next.held).toBe(false)
    expect((next.signal.reason as FaultError).fault).toMatchObject({ _tag: 'LeaseLost', number: next.number })
  })
  it('of a store that throws where it should answer is an Io fault, and one that is held stays held', async () => {
    vi.useFakeTimers(clock)
    const memory = memoryStore()
    const broken = new Set<string>()
    const throwing =
      <T extends unknown[], R>(name: string, call: (...given: T) => R) =>
      (...given: T): R => {
        if (broken.has(name)) throw new Error(`${name} is broken`)
        return call(...given)
      }
    const { lease, renew, release } = memory
    const store = {
      ...memory,
      lease: throwing('lease', lease),
      renew: throwing('renew', renew),
      release: throwing('release', release),
    }
    const session = await createSession(store, { id: 's' })
    broken.add('lease')
    const refused = await fault('Io', session.lease({ holder: 'worker' }))
    expect([refused.operation, (refused.cause as Error).message]).toEqual(['lease', 'lease is broken'])
    broken.delete('lease')

    const held = await session.lease({ holder: 'worker', ttl: 1500 })
    broken.add('renew')
    await vi.advanceTimersByTimeAsync(700)
    expect([held.held, held.signal.aborted]).toEqual([true, false])
    broken.delete('renew')
    await vi.advanceTimersByTimeAsync(5000)
    await session.append(user('still held'))
    expect((await store.leaseOf('s'))?.number).toBe(held.number)

    broken.add('release')
    expect((await fault('Io', held.release())).operation).toBe('release')
    expect(held.held).toBe(false)
  })
})

const processes = rounds(3, 8)
const times = rounds(4, 500)

/** Processes that want one session, whose clocks are minutes apart. Some are paused past their ttl, some killed. */
const contest = async (path: string, each: number, disturbances: number): Promise<void> => {
  const store = await openAt(path)
  await createSession(store, { id: 's' })
  const acknowledged = new Set<string>()
  let [kills, stops, lost, held] = [0, 0, 0, 0]
  const run = (name: string, ahead: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = (turns: number): void => {
        let done = 0
        const child = spawn(
          process.execPath,
          [program('test/session/lease-process.ts'), path, 's', name, String(turns), String(ahead)],
          {
            stdio: ['ignore', 'pipe', 'pipe'],
            env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
          },
        )
        let output = ''
        child.stderr.on('data', (text: Buffer) => (output += text.toString()))
        createInterface(child.stdout).on('line', (line) => {
          const [what, ...rest] = line.split(' ')
          if (what === 'ack') acknowledged.add(rest.join(' '))
          if (what === 'lost') lost += 1
          if (what !== 'held') return
          held += 1
          done += 1
          // A holder is disturbed just after it said so, while it appends.
          if (kills + stops >= disturbances || held % 5 !== 0) return
          if (kills < stops) {
            kills += 1
            child.kill('SIGKILL')
          } else {
            stops += 1
            child.kill('SIGSTOP')
            setTimeout(() => child.kill('SIGCONT'), 1600)
          }
        })
        child.on('close', (code, signal) => {
          if (code === 0) resolve()
          else if (signal === 'SIGKILL') start(turns - done)
          else reject(new Error(`${name}: ${output}`))
        })
      }
      start(each)
    })
  await Promise.all(Array.from({ length: processes }, (_, index) => run(`p${index}`, (index - 4) * 180_000)))

  const session = await openSession(store, 's')
  const texts = session.view().toArray().map(textOf)
  expect(new Set(texts).size).toBe(texts.length)
  for (const text of acknowledged) expect(texts).toContain(text)
  const numbers = texts.map((text) => Number(text.split(' ')[0]))
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b)) // whoever came later had the greater number
  const holders = new Map<number, string>()
  for (const text of texts) {
    const [number, name = ''] = text.split(' ')
    expect(holders.get(Number(number)) ?? name).toBe(name)
    holders.set(Number(number), name)
  }
  expect(held).toBeGreaterThanOrEqual(processes * each - kills)
  expect(kills).toBeGreaterThan(0)
  expect(stops).toBeGreaterThan(0)
  // oxlint-disable-next-line no-console -- figures of the soak
  if (isFull) console.log({ path, held, kills, stops, lost, messages: texts.length })
  await verifySession(store, 's')
  await store.close()
}

it(`SQLite: ${processes} processes hold one session ${times} times each, one at a time, despite pauses and kills`, async () => {
  await contest(join(folder, 'contest.db'), times, rounds(2, 40))
})

it(
  `PostgreSQL: processes hold one session one at a time, by the server's clock`,
  leftOutIf(server === undefined, noPostgres),
  async () => {
    const address = new URL(server?.url ?? '')
    address.searchParams.set('schema', `lease ${process.pid}`)
    await contest(address.href, times, rounds(2, 40))
  },
)

it('a holder paused past its ttl is replaced and learns that it lost the lease', async () => {
  const path = join(folder, 'paused.db')
  const store = await openAt(path)
  await createSession(store, { id: 's' })
  const module = program('test/session/lease-process.ts')
  const child = spawn(process.execPath, [module, path, 's', 'paused', '1', '0', '600000'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const acknowledged = new Promise<void>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line)
      if (line.startsWith('ack')) resolve() // between its two appends
    })
    child.on('close', () => reject(new Error(`it ended after ${lines.join(', ')}`)))
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  await acknowledged
  const session = await openSession(store, 's')
  await fault('SessionBusy', session.lease({ holder: 'next' }))
  child.kill('SIGSTOP')
  const number = (await store.leaseOf('s'))?.number ?? 0
  await store.renew('s', { number, ttl: 50 }) // it stands still, and its ten minutes need not pass
  const next = await session.lease({ holder: 'next', wait: 600_000 })
  expect(next.number).toBe(number + 1)
  await session.append(user('of the next'))
  child.kill('SIGCONT')
  child.stdin.end('go on\n')
  expect(await ended).toBe(0)
  expect(lines).toEqual(['ready', `held ${number}`, `ack ${number} paused 0a`, `lost ${number}`])
  await session.append(user('and on'))
  expect(session.view().toArray().map(textOf)).toEqual([`${number} paused 0a`, 'of the next', 'and on'])
  await session.close()
  await store.close()
})
