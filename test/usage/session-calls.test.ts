/** The calls of a stored session: those of its receipts, and the sums of its imported file. */
import { describe, expect, it } from 'vitest'
import { createSession, forkSession, memoryStore, user, type Store } from 'indelible'
import { copySession, describeSession, listSessions } from 'indelible/session'
import { present } from '../../src/json/index.ts'
import { callsIn, dayOf, hasFailed, summedCalls } from '../../src/usage/internal.ts'
import { ok } from '../task-results.ts'

describe('the token usage of a session', () => {
  const usage = { input: 10, output: 2 }
  const receipt = (model: string, details?: object) =>
    ({ type: 'receipt', len: 0, contextDigest: '0'.repeat(64), model, usage, ...(details && { details }) }) as const

  it('is that of its receipts, each with its day, whether it failed, and what it shares with an earlier one', async () => {
    let now = Date.parse('2026-01-02T03:04:05Z')
    const store = memoryStore({ now: () => now })
    const session = await ok(createSession(store, { id: 's', metadata: { from: { usage, models: ['m'] } } }))
    await ok(session.append(user('hello')))
    await ok(session.note(receipt('a', { status: 500 }) as never))
    await ok(session.note(receipt('b', { at: Date.parse('2025-12-31T23:59:59Z') }) as never))
    await ok(session.note({ type: 'pin', position: 0 }))
    await ok(session.note(receipt('c', { like: 0 }) as never))
    await ok(session.note(receipt('d', { like: 2 }) as never)) // no receipt
    await ok(session.note({ type: 'application', namespace: 'a', content: 'receipt' }))
    await ok(session.note({ ...receipt('e'), usage: undefined } as never))
    const own = (model: string, isFailed: boolean, day = '2026-01-02'): object => ({
      ...{ model, day, usage, ...(isFailed && { isFailed }) },
    })
    const { usage: _, ...silent } = own('e', false) as { usage: unknown }
    const receipts = [own('a', true), own('b', false, '2025-12-31'), own('c', true), own('d', false), silent]
    const callsOf = async (id: string): Promise<readonly object[]> => {
      const info = await ok(describeSession(store, id))
      return callsIn(info, await ok(store.read(id, { only: 'note' }))).map(
        ({ model, usage, calls, day, isFailed, isShared, ...call }) =>
          present({ model, usage, calls, day: dayOf({ ...call, ...present({ day }) }), isFailed, isShared }),
      )
    }
    const filed = { model: 'm', calls: 0, usage }
    expect(await callsOf('s')).toEqual([filed, ...receipts])
    now += 86_400_000
    const fork = await ok(forkSession(store, 's', { id: 'f' }))
    await ok(fork.note(receipt('f') as never))
    const shared = receipts.map((call) => Object.assign(call, { isShared: true }))
    expect(await callsOf('f')).toEqual([...shared, own('f', false, '2026-01-03')])
    // A description has their sum, without reading them.
    const tokensIn = async (of: Store): Promise<object> =>
      Object.fromEntries((await ok(listSessions(of))).sessions.map(({ id, tokens }) => [id, tokens]))
    expect(await tokensIn(store)).toEqual({ s: 48, f: 12 })
    const other = memoryStore()
    for (const id of ['s', 'f']) await ok(copySession(store, other, id))
    expect(await tokensIn(other)).toEqual({ s: 48, f: 60 }) // a copied fork has its rows for itself
  })

  it('of a file is by model and day where it has them, and only of whole figures', () => {
    const whole = { ...usage, cacheRead: 3, cacheWrite: 4 }
    const file = { model: '', calls: 0 }
    for (const [origin, uses] of [
      [undefined, []],
      ['from', []],
      [{ usage: undefined }, []],
      [{ usage: { input: 1 } }, []],
      [{ usage: { output: 1 } }, []],
      [
        { usage: whole, models: ['m'], ended: '2026-01-02T03:04:05Z' },
        [{ ...file, model: 'm', day: '2026-01-02', usage: whole }],
      ],
      [{ usage, models: ['m', 'n'], ended: 5 }, [{ ...file, usage }]],
      [{ usage, models: [5] }, [{ ...file, usage }]],
      [
        {
          models: ['m'],
          ended: '2026-01-02',
          usage: whole,
          uses: [usage, { ...whole, model: 'n', day: '2026-01-01', calls: 7, undercounted: 1 }, {}],
        },
        [
          { ...file, model: 'm', usage },
          { ...file, model: 'n', day: '2026-01-01', calls: 7, isUndercounted: true, usage: whole },
        ],
      ],
      [
        { uses: [{ ...usage, cacheRead: '3', cacheWrite: null, calls: '7', model: 5, day: 5, undercounted: '1' }] },
        [{ ...file, usage }],
      ],
    ] as const)
      expect(summedCalls(origin)).toEqual(uses)
  })

  it('counts a call as failed with an error, a status from 400 on, or a cut answer', () => {
    for (const [call, failed] of [
      [{}, false],
      [{ status: 399 }, false],
      [{ status: 400 }, true],
      [{ status: '500' }, false],
      [{ cut: true }, true],
      [{ cut: 'true' }, false],
      [{ error: null }, true],
    ] as const)
      expect(hasFailed(call)).toBe(failed)
  })
})
