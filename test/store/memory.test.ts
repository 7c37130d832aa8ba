import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { createSession, orThrow } from 'indelible'
import { verifyLog, type LogInfo, type Store } from 'indelible/store'
import { memoryDriver, storeOf, type StoreDriver } from 'indelible/store/driver'
import { ledgerId } from 'indelible/internal/store'
import { faultyDriver, storeContract, type StorePlace } from '@indelible/testing'
import type { JsonObject } from '../../src/json/index.ts'
import { fault } from '../task-results.ts'
import type { BlockId } from '../../src/proof/internal.ts'
import {
  encryptedBody,
  encryptedRow,
  encryptionKey,
  encryptionOf,
  isEncrypted,
  isEncryptedLog,
  isEncryptedMeta,
  ownKeyIn,
  ownKeyOf,
  readEncrypted,
  withoutKeys,
} from '../../src/store/port/encrypted.ts'
import { changeLease, claimFault, claimIn, claims, invalidLease, type LeaseRow } from '../../src/store/port/lease.ts'

const place = async (): Promise<StorePlace> => {
  const driver = memoryDriver()
  const opened = storeOf(driver)
  if (isLeft(opened)) throw new Error('the scope is good')
  const store = opened.right
  const open = async (scope?: string) => {
    if (scope === undefined) return store
    const scoped = store.scoped(scope)
    if (isLeft(scoped)) throw new Error(scope)
    return scoped.right
  }
  return {
    open,
    lasting: false,
    openFaulty: async (faults) => {
      // To close it leaves the memory as it is.
      const faulty = storeOf({ ...faultyDriver(driver, faults), close: async () => {} })
      if (isLeft(faulty)) throw new Error('the scope is good')
      return faulty.right
    },
  }
}

it('a check passes on faults of unreadable rows and asks a driver only for what it supports', async () => {
  const driver = memoryDriver()
  const { erasing } = driver
  if (erasing === undefined) throw new Error('it erases')
  const checkOf = async (change: Partial<StoreDriver>): Promise<unknown> => {
    const store = orThrow(storeOf({ ...driver, ...change }))
    return store.check()()
  }
  await orThrow(storeOf(driver)).create({ id: 'log', encrypt: false })
  const busy = { _tag: 'Busy', waited: 1 } as const
  expect(await checkOf({ erasing: { ...erasing, erased: async () => left(busy) } })).toEqual(left(busy))
  expect(await checkOf({ scopes: async () => left(busy) })).toEqual(left(busy))
  expect(await checkOf({ check: async () => left(busy) })).toEqual(left(busy))
  const { erased: _none, ...rest } = erasing
  for (const change of [{}, { erasing: rest }, { check: async () => right([]) }])
    expect(await checkOf(change)).toEqual(right([]))
  const gone = { erasing: { ...erasing, erased: async () => right([{ id: '', position: 0 }]) } }
  expect(await checkOf(gone)).toEqual(right([])) // a row that no log has
})

it('a log that is removed and created again while it is verified is verified as the new log', async () => {
  const driver = memoryDriver({ now: () => ++now })
  let now = 0
  const bare = orThrow(storeOf(driver))
  const create = async (body: string): Promise<LogInfo> =>
    bare.create({ id: 'log', rows: [{ kind: 'note', body }], encrypt: false })
  await create('one')
  let reads = 0
  const store = orThrow(
    storeOf({
      ...driver,
      read: async (...given) => {
        if (reads++ === 0) {
          await bare.remove('log')
          await create('other')
        }
        return driver.read(...given)
      },
    }),
  )
  expect(await verifyLog(store, 'log')).toEqual(await bare.info('log'))
})

it('an erasure does not record itself in a ledger that is removed meanwhile', async () => {
  const driver = memoryDriver()
  const erasing = driver.erasing as NonNullable<StoreDriver['erasing']>
  const late: typeof erasing.erase = async (scope, erasure) => {
    await driver.remove(scope, ledgerId, undefined)
    return erasing.erase(scope, erasure)
  }
  const store = orThrow(storeOf(driver))
  const erase = async (where: Store, position: number) => {
    const { head: expected } = await store.info('log')
    return where.erase({
      logs: [{ id: 'log', expected, rows: [{ position, stub: '"gone"' }] }],
      reason: 'r',
      by: 'me',
    })()
  }
  const rows = ['one', 'two'].map((body) => ({ kind: 'note' as const, body }))
  await store.create({ id: 'log', rows, encrypt: false })
  orThrow(await erase(store, 0))
  const racing = orThrow(storeOf({ ...driver, erasing: { ...erasing, erase: late } }))
  expect(await erase(racing, 1)).toEqual(left({ _tag: 'NoSuchLog', id: ledgerId }))
  expect(await store.read('log', { from: 1 })).toMatchObject([{ body: 'two' }])
})

it('a removal is tried again if the ledger changes meanwhile', async () => {
  const driver = memoryDriver()
  const bare = orThrow(storeOf(driver))
  const rows = [{ kind: 'note' as const, body: 'one' }]
  const logs = await Promise.all(['log', 'other', 'third'].map((id) => bare.create({ id, rows, encrypt: false })))
  const erase = async ({ id, head }: LogInfo) =>
    bare.erase({ logs: [{ id, expected: head, rows: [{ position: 0, stub: '"gone"' }] }], reason: 'r', by: 'me' })
  await erase(logs[1] as LogInfo)
  let calls = 0
  const remove: StoreDriver['remove'] = async (...given) => {
    if (calls++ === 0) await erase(logs[2] as LogInfo)
    return driver.remove(...given)
  }
  await orThrow(storeOf({ ...driver, remove })).remove('log')
  expect([calls, (await bare.list()).logs.map(({ id }) => id).includes('log')]).toEqual([2, false])
})

for (const { name, run } of storeContract('memory', place)) it(name, run)

describe('a lease', () => {
  const row = (more: Partial<LeaseRow> = {}): LeaseRow => ({
    ...{ number: 4, holder: 'ann', expires: 100, stopRequested: false },
    ...more,
  })
  const lease = (of: LeaseRow, remaining: number): object => ({ ...of, remaining })
  const lost = { left: { _tag: 'LeaseLost', id: 's', number: 4 } }
  const held = { left: { _tag: 'LeaseHeld', id: 's', holder: 'ann', expires: 100, remaining: 1 } }
  const released = row({ holder: undefined })

  it('that a driver answers without a number or a time is a fault, so that nobody waits for it without a pause', async () => {
    const answers: readonly unknown[] = [
      right({ lease: { number: '1', holder: 'x', expires: 5, remaining: 5, stopRequested: false }, head: { size: 0 } }),
      right({ lease: { number: 1, holder: 'x', expires: 5, remaining: 5, stopRequested: false } }),
      right({ lease: undefined, head: { size: 0 } }),
      right({}),
      left({ _tag: 'LeaseHeld', id: 's', holder: 'x', expires: 5 }),
    ]
    for (const answer of answers) {
      const driver = { ...memoryDriver(), lease: async () => answer as never }
      const store = orThrow(storeOf(driver))
      const session = await createSession(store, { id: 's' })
      expect((await fault('Io', session.lease({ holder: 'x', wait: 60_000 }))).cause).toMatchObject({
        message: expect.stringMatching(/^the driver answered .* for a lease$/) as string,
      })
    }
  })
  it('is taken, renewed, released and stopped by one set of rules', () => {
    const take = { type: 'take', holder: 'bob', ttl: 50 } as const
    const taken = (number: number, now: number): object => {
      const next = { number, holder: 'bob', expires: now + 50, stopRequested: false }
      return { right: { row: next, lease: lease(next, 50) } }
    }
    for (const [before, change, now, after] of [
      [undefined, take, 10, taken(10, 10)],
      [row({ number: 0, holder: undefined }), take, 10, taken(10, 10)],
      [row(), take, 99, held],
      [row({ stopRequested: true }), take, 100, taken(5, 100)],
      [released, take, 10, taken(5, 10)],
      [undefined, { type: 'look' }, 10, { right: { row: undefined, lease: undefined } }],
      [row(), { type: 'look' }, 99, { right: { row: undefined, lease: lease(row(), 1) } }],
      [row(), { type: 'look' }, 100, { right: { row: undefined, lease: undefined } }],
      [released, { type: 'look' }, 10, { right: { row: undefined, lease: undefined } }],
      [
        row({ stopRequested: true }),
        { type: 'renew', number: 4, ttl: 7 },
        200,
        {
          right: {
            row: row({ expires: 207, stopRequested: true }),
            lease: lease(row({ expires: 207, stopRequested: true }), 7),
          },
        },
      ],
      [row({ number: 5 }), { type: 'renew', number: 4, ttl: 7 }, 10, lost],
      [released, { type: 'renew', number: 4, ttl: 7 }, 10, lost],
      [undefined, { type: 'renew', number: 4, ttl: 7 }, 10, lost],
      [row(), { type: 'release', number: 4 }, 10, { right: { row: released, lease: undefined } }],
      [
        row({ number: 5 }),
        { type: 'release', number: 4 },
        99,
        { right: { row: undefined, lease: lease(row({ number: 5 }), 1) } },
      ],
      [released, { type: 'release', number: 4 }, 10, { right: { row: undefined, lease: undefined } }],
      [
        row(),
        { type: 'stop' },
        99,
        { right: { row: row({ stopRequested: true }), lease: lease(row({ stopRequested: true }), 1) } },
      ],
      [row(), { type: 'stop' }, 100, { right: { row: undefined, lease: undefined } }],
      [undefined, { type: 'stop' }, 10, { right: { row: undefined, lease: undefined } }],
    ] as const)
      expect([before, change, changeLease('s', before, change, now)]).toMatchObject([before, change, after])
    expect(changeLease('s', undefined, take, 10, 10)).toMatchObject({ right: { row: { number: 11 } } })
    expect(changeLease('s', undefined, take, 10, 8)).toMatchObject({ right: { row: { number: 10 } } })
  })

  it('forbids the changes of others only to those who respect it, and of a lost one always', () => {
    const [own, respects] = [{ lease: { number: 4 } }, { respectLease: true }]
    for (const [before, claim, fault] of [
      [row(), {}, undefined],
      [row(), { respectLease: false }, undefined],
      [row(), respects, held.left],
      [row({ expires: 99 }), respects, undefined],
      [released, respects, undefined],
      [undefined, respects, undefined],
      [row({ expires: 1 }), { ...own, ...respects }, undefined],
      [row({ number: 5 }), own, lost.left],
      [released, own, lost.left],
      [undefined, own, lost.left],
    ] as const)
      expect(claimFault('s', before, claim, 99)).toEqual(fault)
    expect([{}, { respectLease: false }, respects, own].map(claims)).toEqual([false, false, true, true])
    expect([{}, respects, { lease: { number: 4, more: 1 } }].map(claimIn)).toEqual([
      { lease: undefined, respectLease: false },
      { lease: undefined, respectLease: true },
      { lease: { number: 4 }, respectLease: false },
    ])
  })

  it('has a holder with a name and a time to live in whole milliseconds', () => {
    const why = (holder: string, ttl: unknown): string | undefined =>
      (invalidLease({ holder, ttl: ttl as number }) as { readonly reason?: string } | undefined)?.reason
    for (const ttl of [1, 2 ** 31 - 1]) expect(why('ann', ttl)).toBeUndefined()
    for (const ttl of [0, -1, 1.5, 2 ** 31, NaN, '1'])
      expect(why('ann', ttl)).toBe(`its ttl is ${ttl}; expected whole milliseconds from 1 to 2,147,483,647`)
    for (const holder of ['', 'a\nb']) expect(why(holder, 1)).toMatch(/^the name of its holder is invalid: /)
  })
})

describe('an encrypted row', () => {
  const block = 'ab'.repeat(32) as BlockId
  const [plain, named] = [
    { key: 'k', cipher: 'a.b', blocks: [] },
    { key: 'k', cipher: 'QQ==', blocks: [block, block] },
  ]

  it('is read as it was written, and in no other spelling', () => {
    expect(encryptedBody(plain)).toBe('{"encrypted":"k.a.b"}')
    expect(encryptedBody(named)).toBe(`{"encrypted":"k.QQ==","blocks":["${block}","${block}"]}`)
    for (const text of [plain, named]) expect(readEncrypted(encryptedBody(text))).toEqual(text)
    const whole = encryptedBody(named)
    for (const body of [
      ...[
        '',
        '{}',
        '{"encrypted":1}',
        '{"encrypted":""}',
        '{"encrypted":"k"}',
        '{"encrypted":".a"}',
        '{"encrypted":"k.a"',
      ],
      ...[
        '{"encrypted":"k.a" }',
        '{"encrypted":"k\\u002ea"}',
        ' {"encrypted":"k.a"}',
        '{"encrypted":"k.a","blocks":[]}',
      ],
      ...['{"encrypted":"k.a","blocks":["ab"]}', '{"encrypted":"k.a","blocks":"ab"}', '{"encrypted":"k.a","more":"b"}'],
      ...[`${whole} `, whole.replace('}', ',"more":1}'), whole.replace('"blocks"', '"block"'), whole.slice(0, -1)],
    ])
      expect([body, readEncrypted(body)]).toEqual([body, undefined])
    expect([isEncrypted(whole), isEncrypted('{"encrypted":"'), isEncrypted('{"encrypted":'), isEncrypted('')]).toEqual([
      ...[true, true, false, false],
    ])
  })

  it('is appended elsewhere with its blocks, or as the stub that it is', () => {
    const row = { kind: 'entry', at: 5, body: encryptedBody(named), salt: undefined, erased: undefined } as const
    expect(encryptedRow(row)).toEqual({ kind: 'entry', at: 5, body: row.body, blocks: named.blocks })
    const salt = 'cd'.repeat(16)
    expect(encryptedRow({ ...row, body: '{}', salt })).toEqual({ kind: 'entry', at: 5, body: '{}', salt, blocks: [] })
    expect(encryptedRow({ ...row, erased: block })).toEqual({ kind: 'entry', at: 5, body: row.body, erased: block })
  })

  it('has the last key that the metadata of its log lists, if the list is whole', () => {
    const listed = { keys: ['a', 'b'], from: [0, 3], meta: 'x' }
    const log = (encryption: unknown): { readonly meta: JsonObject } => ({
      meta: { [encryptionKey]: encryption as JsonObject },
    })
    expect([encryptionOf(log(listed)), ownKeyOf(log(listed)), isEncryptedLog(log(listed))]).toEqual([listed, 'b', true])
    for (const wrong of [
      { keys: [] },
      { keys: ['a'] },
      { keys: ['a', 1] },
      { keys: 1 },
      { from: [0] },
      { from: [0, 0.5] },
      { from: 1 },
      { meta: 1 },
    ])
      expect([wrong, encryptionOf(log({ ...listed, ...wrong }))]).toEqual([wrong, undefined])
    for (const wrong of [1, null, [], { keys: [1] }, { keys: 'ab' }, {}]) expect(ownKeyOf(log(wrong))).toBeUndefined()
    for (const none of [{ meta: {} }, { meta: { more: 1 } }])
      expect([encryptionOf(none), ownKeyOf(none), isEncryptedLog(none)]).toEqual([undefined, undefined, false])
    const text = JSON.stringify(log(listed).meta)
    for (const _ of ['first', 'again']) expect([ownKeyIn(text), isEncryptedMeta(text)]).toEqual(['b', true])
    for (const other of ['{', `[${text}]`, '{"more":1}', `{"more":{${text.slice(1)}}`, text.slice(1)])
      expect([other, ownKeyIn(other), isEncryptedMeta(other)]).toEqual([other, undefined, false])
    expect(withoutKeys('s', undefined)).toMatchObject({ _tag: 'NoKey', id: 's', key: 'unknown' })
    expect(withoutKeys('s', 'k').key).toBe('k')
  })
})
