/** The states of a lease: what a claim does with a slow store, with a close, with a grant that comes late. */
import { readFileSync } from 'node:fs'
import { left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { assistant, createSession, memoryStore, openSession, user } from 'indelible'
import { scriptedModel, turn } from 'indelible/run'
import type { Store, StoreFault } from 'indelible/store'
import { storeTask } from '../../src/store/internal.ts'
import type { Task } from '../../src/task/index.ts'
import { leaseStep, leaseTable, type LeaseEvent, type LeaseState } from '../../src/session/writing/lease-machine.ts'
import { fault } from '../task-results.ts'

const states = Object.keys(leaseTable) as LeaseState[]
const gate = () => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

it('docs/run.md has the table of the states', () => {
  const page = readFileSync(new URL('../../docs/run.md', import.meta.url), 'utf8')
  const output = [...page.matchAll(/^\| `(\w+)` \| [^|]+ \| `(\w+)`/gm)]
    .map(([, from = '', to = '']) => `${from} ${to}`)
    .filter((move) => move.split(' ').every((name) => Object.hasOwn(leaseTable, name)))
  const moves = states.flatMap((from) => Object.values(leaseTable[from]).map(([to]) => `${from} ${to}`))
  expect([...new Set(output)].toSorted()).toEqual([...new Set(moves)].toSorted())
})

it('an unwanted claim in any state ends and releases a granted lease', () => {
  for (const from of states)
    for (const answer of ['granted', 'refused', 'failed'] as const) {
      let state = from
      let isHeld = from === 'ours' || from === 'giving'
      let gave = from === 'giving'
      const on = (event: LeaseEvent): void => {
        const [next, command] = leaseStep(state, event)
        if (event === 'granted' && next !== state) isHeld = true
        if (command === 'release') gave = true
        state = next
      }
      on('unwanted')
      on(answer)
      on('gone')
      expect([from, answer, state, gave]).toEqual([from, answer, 'free', isHeld])
    }
})

it('only the store can end a lease: no other answer and no clock does', () => {
  for (const event of ['silent', 'renewed', 'stopAsked'] as const) expect(leaseStep('ours', event)[0]).toBe('ours')
  expect(leaseStep('ours', 'lost')).toEqual(['free', 'tell'])
})

it("a lease granted without notice belongs to nobody until it expires: the holder's name proves nothing", async () => {
  let now = 1_000_000
  const inner = memoryStore({ now: () => now })
  let isFirst = true
  const renewed: number[] = []
  const store: Store = {
    ...inner,
    lease: (id, newLease) =>
      storeTask(async () => {
        const answer = await inner.lease(id, newLease)()
        if (!isFirst) return answer
        isFirst = false
        return left({ _tag: 'Io', operation: 'lease', cause: new Error('no answer'), outcome: 'unknown' } as const)
      }, 'lease'),
    renew: (id, renewal) => {
      renewed.push(renewal.number)
      return inner.renew(id, renewal)
    },
  }
  const session = await createSession(store, { id: 's' })
  await fault('Io', session.lease({ holder: 'same', ttl: 60_000 }))
  const unanswered = await inner.leaseOf('s')
  expect(unanswered?.holder).toBe('same')
  expect((await fault('SessionBusy', session.lease({ holder: 'same', ttl: 60_000 }))).holder).toBe('same')
  await session.append(user('without a lease'))
  now += 60_000
  const lease = await session.lease({ holder: 'same', ttl: 60_000 })
  expect([lease.number, renewed]).toEqual([(unanswered?.number ?? 0) + 1, []])
  await lease.release()
})

/** A store that stands still from the first append on, for as long as the test says. */
const stalling = (inner: Store, stall: () => Promise<void>): Store => {
  let still: Promise<void> | undefined
  const slow = (name: 'append' | 'lease' | 'renew' | 'release' | 'read' | 'info' | 'leaseOf') => {
    const method = inner[name] as (...given: unknown[]) => Task<StoreFault, unknown>
    return (...given: unknown[]) =>
      storeTask(async () => {
        if (name === 'append') still ??= stall()
        await still
        return method(...given)()
      }, 'store.call')
  }
  const names = ['append', 'lease', 'renew', 'release', 'read', 'info', 'leaseOf'] as const
  return { ...inner, ...Object.fromEntries(names.map((name) => [name, slow(name)])) }
}

it('a turn whose first append outlasts its lease is answered and releases the session', async () => {
  const inner = memoryStore()
  await createSession(inner, { id: 's' })
  const session = await openSession(
    stalling(inner, () => pause(390)),
    's',
  )
  const options = { model: scriptedModel([assistant('fine')]), ttl: 300, id: 'i', whenBusy: 'wait' } as const
  const ended = await turn(session, 'go', options).result()
  expect(ended.stopReason).toBe('end_turn')
  expect(await inner.leaseOf('s')).toBeUndefined()
})

it('a lease granted after the session closed is released', async () => {
  const inner = memoryStore()
  await createSession(inner, { id: 's' })
  const { opened, open } = gate()
  let asked = (): void => undefined
  const asking = new Promise<void>((resolve) => (asked = resolve))
  const lease: Store['lease'] = (id, newLease) =>
    (async () => {
      asked()
      const answer = await inner.lease(id, newLease)()
      await opened
      return answer
    }) as never
  const session = await openSession({ ...inner, lease }, 's')
  const taking = session.lease({ holder: 'late', ttl: 60_000 })()
  await asking
  const closing = session.close()()
  open()
  expect(await taking).toMatchObject({ _tag: 'Left', left: { _tag: 'SessionClosed' } })
  await closing
  expect(await inner.leaseOf('s')).toBeUndefined()
})

it('a claim waiting for another holder ends when the session closes', async () => {
  const store = memoryStore()
  const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
  await a.lease({ holder: 'one' })
  const waiting = fault('SessionClosed', b.lease({ holder: 'other', wait: Infinity }))
  await b.close()
  await waiting
  await a.append(user('goes on'))
})
