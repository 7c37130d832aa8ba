/** Leases: who is working on a log. */
import { isLeft, isRight } from 'indelible/internal/json'
import type { EraseRequest, Lease, LeaseClaim, Store } from 'indelible/store'
import { valueOrThrow, faultOf, mustHold, mustEqual } from './check.ts'
import { add, entry, storeInScope, createLogWith, note, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

/** The duration in milliseconds of a lease that should expire. No case has to act within it. */
const short = 50
/** The duration of a lease that should not expire. */
const long = 60_000

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** A short lease, renewed well before its end. If the process stalls for a moment, it takes a new one. */
const renewLease = async (store: Store, id: string): Promise<Lease> => {
  for (;;) {
    const { number } = await valueOrThrow(store.lease(id, { holder: 'steady', ttl: short }))
    const renewed = await store.renew(id, { number, ttl: long })()
    if (isRight(renewed)) return renewed.right
    mustEqual(renewed.left._tag, 'LeaseLost')
  }
}

const headOf = async (store: Store, id: string) => (await valueOrThrow(store.info(id))).head

export const leaseCases: StoreCases = {
  'a lease has one holder at a time: the second learns who it is, and for how long': async (store) => {
    await createLogWith(store, 'a')
    mustEqual(await valueOrThrow(store.leaseOf('a')), undefined)
    const first = await valueOrThrow(store.lease('a', { holder: 'first', ttl: long }))
    mustEqual([first.holder, first.stopRequested], ['first', false])
    mustHold(Number.isSafeInteger(first.number) && first.number > 0, 'the number is a positive integer')
    mustHold(first.remaining > 0 && first.remaining <= long, 'the remaining time is at most the ttl')
    const held = await faultOf('LeaseHeld', store.lease('a', { holder: 'second', ttl: long }))
    mustEqual([held.id, held.holder, held.expires], ['a', 'first', first.expires])
    mustHold(held.remaining > 0 && held.remaining <= long, 'the remaining time is reported')
    mustEqual((await valueOrThrow(store.leaseOf('a')))?.holder, 'first')
    await valueOrThrow(store.release('a', first.number))
    mustEqual(await valueOrThrow(store.leaseOf('a')), undefined)
    mustEqual((await valueOrThrow(store.lease('a', { holder: 'second', ttl: long }))).number, first.number + 1)
  },
  'of many concurrent requests for one lease, one gets it': async (store) => {
    await createLogWith(store, 'a')
    const wanted = Array.from({ length: 8 }, (_, index) => store.lease('a', { holder: `${index}`, ttl: long })())
    const answers = await Promise.all(wanted)
    mustEqual(answers.filter(isRight).length, 1, 'the leases granted')
    for (const answer of answers) if (isLeft(answer)) mustEqual(answer.left._tag, 'LeaseHeld')
  },
  'an expired lease stays its holder’s until another takes it; then the holder cannot append any more': async (
    store,
  ) => {
    const { head } = await createLogWith(store, 'a')
    const { number } = await valueOrThrow(store.lease('a', { holder: 'paused', ttl: short }))
    const untilExpired = async (): Promise<void> => {
      while ((await valueOrThrow(store.leaseOf('a'))) !== undefined) await pause(short)
    }
    await untilExpired()
    // Nobody has held it since, so the holder's knowledge is current.
    const appended = await valueOrThrow(store.append('a', { expected: head, rows: [entry('held')], lease: { number } }))
    const renewed = await valueOrThrow(store.renew('a', { number, ttl: long }))
    mustEqual([renewed.number, renewed.holder], [number, 'paused'])
    mustEqual((await valueOrThrow(store.leaseOf('a')))?.number, number)
    await valueOrThrow(store.renew('a', { number, ttl: short }))
    await untilExpired()
    const second = await valueOrThrow(store.lease('a', { holder: 'next', ttl: short }))
    mustEqual(second.number, number + 1)
    // Even if the holder knows the head: it may have been paused for years.
    const late = { expected: appended.head, rows: [entry('x')], lease: { number } }
    const lost = await faultOf('LeaseLost', store.append('a', late))
    mustEqual([lost.id, lost.number], ['a', number])
    await faultOf('LeaseLost', store.renew('a', { number, ttl: long }))
    await untilExpired()
    await faultOf('LeaseLost', store.append('a', late)) // even if the next one has expired
    await faultOf('LeaseLost', store.renew('a', { number, ttl: long }))
    await valueOrThrow(store.renew('a', { number: second.number, ttl: long }))
    await valueOrThrow(store.release('a', number)) // already lost
    mustEqual((await valueOrThrow(store.leaseOf('a')))?.holder, 'next')
    const rows = [entry('of the next')]
    await valueOrThrow(store.append('a', { expected: appended.head, rows, lease: { number: second.number } }))
    mustEqual((await valueOrThrow(store.read('a'))).length, 2)
  },
  'a holder whose lease was taken by another cannot change metadata or erase': async (store) => {
    const { head } = await createLogWith(store, 'a', someRows(3))
    const logs = (claim: LeaseClaim): EraseRequest['logs'] => [
      { id: 'a', expected: head, rows: [{ position: 0, stub: '"gone"' }], ...claim },
    ]
    const answer = await store.sharing('none')()
    const canErase = !isLeft(answer) || answer.left._tag !== 'CannotErase'
    const { number } = await valueOrThrow(store.lease('a', { holder: 'zombie', ttl: short }))
    const mine = { lease: { number } }
    await valueOrThrow(store.update('a', { expected: 1, meta: { by: 'its holder' }, ...mine }))
    while ((await valueOrThrow(store.leaseOf('a'))) !== undefined) await pause(short)
    await valueOrThrow(store.update('a', { expected: 2, meta: { by: 'nobody has taken it' }, ...mine }))
    const next = await valueOrThrow(store.lease('a', { holder: 'next', ttl: long }))
    const before = await valueOrThrow(store.info('a'))
    const mustRefuse = async (tag: 'LeaseLost' | 'LeaseHeld', claim: LeaseClaim): Promise<void> => {
      const fault = await faultOf(tag, store.update('a', { expected: 3, meta: {}, ...claim }))
      mustEqual(fault.id, 'a')
      await faultOf(tag, store.update('a', { expected: 1, meta: {}, ...claim })) // at any expected version
      if (canErase) await faultOf(tag, store.erase({ logs: logs(claim) }))
      mustEqual(await valueOrThrow(store.info('a')), before)
      mustEqual(
        (await valueOrThrow(store.read('a'))).some(({ erased }) => erased !== undefined),
        false,
      )
    }
    await mustRefuse('LeaseLost', mine)
    await mustRefuse('LeaseHeld', { respectLease: true })
    const theirs = { lease: { number: next.number } }
    await valueOrThrow(store.update('a', { expected: 3, meta: { by: 'the next' }, ...theirs }))
    await faultOf('MetaConflict', store.update('a', { expected: 3, meta: {}, ...theirs }))
    if (canErase) mustEqual((await valueOrThrow(store.erase({ logs: logs(theirs) }))).rows, 1)
    await valueOrThrow(store.release('a', next.number))
    await faultOf('LeaseLost', store.update('a', { expected: 4, meta: {}, ...theirs }))
    await valueOrThrow(store.update('a', { expected: 4, meta: {}, respectLease: true }))
  },
  'a released lease is over, also if it had expired': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const { number } = await valueOrThrow(store.lease('a', { holder: 'x', ttl: short }))
    while ((await valueOrThrow(store.leaseOf('a'))) !== undefined) await pause(short)
    await valueOrThrow(store.release('a', number))
    await faultOf('LeaseLost', store.append('a', { expected: head, rows: [entry('x')], lease: { number } }))
    await faultOf('LeaseLost', store.renew('a', { number, ttl: long }))
  },
  'a renewed lease lasts, and the log does not change': async (store) => {
    await createLogWith(store, 'a', someRows(5))
    const before = await valueOrThrow(store.info('a'))
    const { number, expires } = await renewLease(store, 'a')
    await pause(short + 50) // past its original end
    for (let last = expires, turn = 0; turn < 3; turn++) {
      await pause(5)
      const renewed = await valueOrThrow(store.renew('a', { number, ttl: long }))
      mustEqual([renewed.number, renewed.holder], [number, 'steady'])
      mustHold(renewed.expires > last, 'a renewal lasts from now on')
      last = renewed.expires
    }
    await faultOf('LeaseHeld', store.lease('a', { holder: 'other', ttl: long }))
    mustEqual(await valueOrThrow(store.info('a')), before)
  },
  'anyone can append without a lease, unless the append requires that there is none': async (store) => {
    await createLogWith(store, 'a')
    const appendRequest = async () => ({
      expected: await headOf(store, 'a'),
      rows: [entry('asks')],
      respectLease: true,
    })
    await valueOrThrow(store.append('a', await appendRequest()))
    const { number } = await valueOrThrow(store.lease('a', { holder: 'somebody', ttl: long }))
    await add(store, 'a', [entry('does not ask')])
    const held = await faultOf('LeaseHeld', store.append('a', await appendRequest()))
    mustEqual([held.id, held.holder], ['a', 'somebody'])
    await valueOrThrow(store.append('a', { ...(await appendRequest()), lease: { number } }))
    await valueOrThrow(store.release('a', number))
    await valueOrThrow(store.append('a', await appendRequest()))
    mustEqual((await valueOrThrow(store.read('a'))).length, 4)
    await faultOf('LeaseLost', store.append('a', { ...(await appendRequest()), lease: { number } }))
  },
  'an operation that was stored is answered, also after its lease was lost': async (store) => {
    const { head } = await createLogWith(store, 'a')
    const { number } = await valueOrThrow(store.lease('a', { holder: 'first', ttl: long }))
    const append = { expected: head, rows: [entry('x'), note('y')], operation: 'op', lease: { number } }
    const answer = await valueOrThrow(store.append('a', append))
    await valueOrThrow(store.release('a', number))
    mustEqual(await valueOrThrow(store.append('a', append)), answer)
    await faultOf('LeaseLost', store.append('a', { ...append, operation: 'another' }))
  },
  'concurrent appends with different leases and without one are each judged by their own': async (store) => {
    const heads = await Promise.all(['a', 'b', 'c'].map(async (id) => (await createLogWith(store, id)).head))
    const [a, b, c] = heads as [(typeof heads)[0], (typeof heads)[0], (typeof heads)[0]]
    const held = await valueOrThrow(store.lease('a', { holder: 'x', ttl: long }))
    await valueOrThrow(store.lease('b', { holder: 'x', ttl: long }))
    const answers = await Promise.all([
      store.append('a', { expected: a, rows: [entry('1')], lease: { number: held.number } })(),
      store.append('b', { expected: b, rows: [entry('2')], lease: { number: 99 } })(),
      store.append('c', { expected: c, rows: [entry('3')], respectLease: true })(),
    ])
    mustEqual(
      answers.map((answer) => (isLeft(answer) ? answer.left._tag : 'appended')),
      ['appended', 'LeaseLost', 'appended'],
    )
  },
  'a holder who is asked to stop sees it at the renewal; the next holder does not': async (store) => {
    await createLogWith(store, 'a')
    mustEqual(await valueOrThrow(store.requestStop('a')), undefined)
    const { number } = await valueOrThrow(store.lease('a', { holder: 'worker', ttl: long }))
    mustEqual((await valueOrThrow(store.renew('a', { number, ttl: long }))).stopRequested, false)
    mustEqual((await valueOrThrow(store.requestStop('a')))?.holder, 'worker')
    mustEqual((await valueOrThrow(store.renew('a', { number, ttl: long }))).stopRequested, true)
    await valueOrThrow(store.release('a', number))
    mustEqual((await valueOrThrow(store.lease('a', { holder: 'next', ttl: long }))).stopRequested, false)
  },
  'a lease belongs to one log of one scope, and is removed with it; a fork has none': async (store) => {
    await createLogWith(store, 'a', someRows(4))
    const other = storeInScope(store, 'other')
    await createLogWith(other, 'a')
    await valueOrThrow(store.lease('a', { holder: 'x', ttl: long }))
    mustEqual(await valueOrThrow(other.leaseOf('a')), undefined)
    await valueOrThrow(store.fork('a', { id: 'fork', at: 2 }))
    mustEqual(await valueOrThrow(store.leaseOf('fork')), undefined)
    await valueOrThrow(store.remove('a'))
    for (const call of [
      () => store.leaseOf('a'),
      () => store.lease('a', { holder: 'x', ttl: long }),
      () => store.renew('a', { number: 1, ttl: long }),
      () => store.release('a', 1),
      () => store.requestStop('a'),
    ])
      await faultOf('NoSuchLog', call())
    await createLogWith(store, 'a')
    mustEqual(await valueOrThrow(store.leaseOf('a')), undefined)
  },
  'a lease with an invalid holder or time is refused': async (store) => {
    await createLogWith(store, 'a')
    for (const holder of ['', 'a\nb', 'x'.repeat(256), undefined as unknown as string])
      await faultOf('InvalidLease', store.lease('a', { holder, ttl: long }))
    for (const ttl of [0, -1, 1.5, Number.NaN, 2 ** 31]) {
      await faultOf('InvalidLease', store.lease('a', { holder: 'x', ttl }))
      await faultOf('InvalidLease', store.renew('a', { number: 1, ttl }))
    }
    mustEqual(await valueOrThrow(store.leaseOf('a')), undefined)
  },
  'a lease survives a reopen': async (store, place) => {
    if (!place.lasting) return
    await createLogWith(store, 'a')
    const { number, expires } = await valueOrThrow(store.lease('a', { holder: 'x', ttl: long }))
    await valueOrThrow(store.close())
    const again = await place.open()
    mustEqual((await valueOrThrow(again.leaseOf('a')))?.expires, expires)
    await faultOf('LeaseHeld', again.lease('a', { holder: 'y', ttl: long }))
    await valueOrThrow(again.append('a', { expected: await headOf(again, 'a'), rows: [entry('x')], lease: { number } }))
  },
  'the lease of a removed log is not that of another log with its id': async (store) => {
    for (let time = 0; time < 3; time++) {
      const { head } = await createLogWith(store, 'a')
      const { number } = await valueOrThrow(store.lease('a', { holder: 'of the removed one', ttl: long }))
      await valueOrThrow(store.remove('a'))
      await createLogWith(store, 'a')
      const next = await valueOrThrow(store.lease('a', { holder: 'of the new one', ttl: long }))
      mustHold(next.number > number, 'the numbers go on')
      await faultOf('LeaseLost', store.renew('a', { number, ttl: short }))
      await valueOrThrow(store.release('a', number))
      mustEqual((await valueOrThrow(store.leaseOf('a')))?.holder, 'of the new one')
      await faultOf('LeaseLost', store.append('a', { expected: head, rows: [entry('late')], lease: { number } }))
      await valueOrThrow(store.remove('a'))
    }
  },
}
