/** The lease of a run: its own, or the application's, which one run uses at a time. */
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { createSession, memoryStore, openSession, type Session } from 'indelible'
import { acquireRunLease, type RunLease, type RunLeaseOptions } from '../../src/run/recording/run-lease.ts'
import { movedClock, settled } from './moved-clock.ts'

type Stop = readonly [reason: string, isLost: boolean]

const world = async () => {
  const clock = movedClock()
  const store = memoryStore({ now: () => 1_000_000 + clock.now() })
  const session = await createSession(store, { id: 's' })
  const stops: Stop[] = []
  const acquire = async (options: RunLeaseOptions = {}, of: Partial<Session> = session): Promise<RunLease> => {
    const lease = await acquireRunLease(of, { clock, ...options }, (...stop) => void stops.push(stop))
    if (isLeft(lease)) throw new Error(lease.left._tag)
    if (lease.right === undefined) throw new Error('no leases')
    return lease.right
  }
  return { clock, store, session, stops, acquire, holder: async () => (await store.leaseOf('s'))?.holder }
}

it('is taken with the defaults, and released', async () => {
  const { clock, store, session, acquire, holder } = await world()
  const lease = await acquire()
  const another = await acquireRunLease(session, { clock }, () => undefined)
  expect(another).toMatchObject({ left: { _tag: 'SessionBusy', holder: 'run' } }) // of the same handle, but a run's
  expect(await store.leaseOf('s')).toMatchObject({ holder: 'run', number: lease.number, expires: 1_010_000 })
  expect(lease.lost).toBe(false)
  await lease.release()
  expect([await holder(), lease.lost]).toEqual([undefined, false])
  await acquire({ holder: 'mine', ttl: 50 })
  expect(await store.leaseOf('s')).toMatchObject({ holder: 'mine', expires: 1_000_050 })
  expect(await acquireRunLease({}, {}, () => undefined)).toEqual({ _tag: 'Right', right: undefined })
})

it("is the application's, if it has one, and stays with it", async () => {
  const { session, acquire, holder } = await world()
  const own = await session.lease({ holder: 'app' })
  for (let run = 0; run < 2; run++) {
    const lease = await acquire()
    expect([lease.number, lease.lost]).toEqual([own.number, false])
    await lease.release()
    expect([own.held, await holder()]).toEqual([true, 'app'])
  }
  await own.release()
  expect((await acquire()).number).toBe(own.number + 1)
})

it("is not the application's if that was lost", async () => {
  const { clock, store, session } = await world()
  const own = await session.lease({ holder: 'app', ttl: 100, clock: { ...clock, after: () => ({ cancel: () => undefined }) } }) // oxfmt-ignore
  await clock.moveTo(101)
  const other = await openSession(store, 's')
  await other.lease({ holder: 'other', clock })
  await session.note({ type: 'application', namespace: 'a', content: 1 })()
  expect(own.held).toBe(false)
  expect(await acquireRunLease(session, { clock }, () => undefined)).toMatchObject({
    left: { _tag: 'SessionBusy', holder: 'other' },
  })
})

it.each([
  ['as long as it may', 100, 'SessionBusy'],
  ['until the other run gives it back', 99, 'Right'],
] as const)("waits for the application's, which another run uses, %s", async (_, back, expected) => {
  const { clock, session, acquire } = await world()
  const own = await session.lease({ holder: 'app' })
  const first = await acquire()
  expect(await acquireRunLease(session, { clock }, () => undefined)).toMatchObject({ left: { _tag: 'SessionBusy' } })
  let second: Either<{ readonly _tag: string }, RunLease | undefined> | undefined
  void acquireRunLease(session, { clock, whenBusy: 'wait', wait: 100 }, () => undefined).then(
    (lease) => (second = lease),
  )
  await clock.moveTo(99)
  await settled()
  expect([second, clock.due()]).toEqual([undefined, [100]])
  await clock.moveTo(back)
  if (back === 99) await first.release()
  await settled()
  expect(second === undefined ? undefined : isLeft(second) ? second.left._tag : second._tag).toBe(expected)
  if (second !== undefined && !isLeft(second)) expect(second.right?.number).toBe(own.number)
  expect(clock.due()).toEqual([])
})

it('stops its run when somebody asks for it, also if that was before, and not once it is released', async () => {
  const { clock, store, session, stops, acquire } = await world()
  const stop: Stop = ['Somebody asked the run to stop.', false]
  const own = await session.lease({ holder: 'app', ttl: 300, clock })
  const before = await acquire()
  await before.release()
  const during = await acquire()
  await store.requestStop('s')
  await clock.moveTo(100)
  await settled()
  expect([stops, during.lost]).toEqual([[stop], false])
  await during.release()
  await acquire()
  expect([stops, own.held]).toEqual([[stop, stop], true])
})

it('stops its run when another holder has the session, and says so until it is released', async () => {
  const { clock, store, session, stops, acquire } = await world()
  const lease = await acquire({ ttl: 300, clock: { ...clock, after: () => ({ cancel: () => undefined }) } })
  await clock.moveTo(301)
  await (await openSession(store, 's')).lease({ holder: 'other', clock })
  expect([lease.lost, stops]).toEqual([false, []])
  await session.note({ type: 'application', namespace: 'a', content: 1 })()
  expect(stops).toEqual([[expect.stringMatching(/^The session is held by another run\. .*other/), true]])
  expect([lease.lost, lease.fault]).toEqual([true, { _tag: 'LeaseLost', id: 's', number: lease.number }])
  await lease.release()
  expect(lease.lost).toBe(false)
})
