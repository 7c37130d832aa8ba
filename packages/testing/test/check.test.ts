/** The checks of the contract suites: a wrong answer must fail, and its message must say how. */
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, memoryStore, orThrow, toolCall } from 'indelible'
import { scriptedModel, type Model } from 'indelible/run'
import type { Append, KeyValueStore, ListQuery, Store, StoreFault } from 'indelible/store'
import { blockContract, keyValueContract, modelContract, storeContract, type ContractCase } from '@indelible/testing'
import { storeTask } from '../../../src/store/internal.ts'
import { keyValueMap } from '../../../test/store/key-value-map.ts'
import { mustCome, faultOf, mustBeFrozen, mustHold, mustEqual, valueOrThrow, changeEverything } from '../src/check.ts'
import { injectFaults, strikes, type FaultPlan, type Strike, type StruckStep } from '../src/faults.ts'

const bytes = (...values: readonly number[]): Uint8Array => new Uint8Array(values)

/** Values no two of which are the same. */
const different: readonly unknown[] = [
  ...[null, true, false, 0, 1, NaN, '', '1', 'a', [], [0], [0, 1], [1, 0], [undefined], [null], [[]]],
  ...[{}, { a: 1 }, { a: 2 }, { b: 1 }, { a: 1, b: 1 }, { a: null }, { a: {} }, { a: [] }, { 0: 0 }],
  ...[bytes(), bytes(0), bytes(0, 1), bytes(1, 0)],
]

describe('mustEqual', () => {
  it('accepts only a copy as equal', () => {
    for (const [index, store] of different.entries())
      for (const [other, value] of different.map((each) => structuredClone(each)).entries()) {
        const check = (): void => mustEqual(store, value, 'it')
        if (index === other) check()
        else expect(check, `${index} and ${other}`).toThrow(/^it is .*, expected/)
      }
  })
  it('treats undefined fields as absent', () => {
    mustEqual({ a: 1, b: undefined }, { a: 1 })
    mustEqual({ a: 1 }, { a: 1, b: undefined })
    expect(() => mustEqual({ a: undefined }, { a: null })).toThrow('the answer is {}, expected {"a":null}')
  })
  it('shows at most 500 characters of the found value', () => {
    expect(() => mustEqual(undefined, bytes(1, 2))).toThrow('the answer is undefined, expected "2 bytes"')
    expect(() => mustEqual('x'.repeat(498), 0)).toThrow(/^the answer is "x{498}", expected 0$/)
    expect(() => mustEqual('x'.repeat(499), 0)).toThrow(/^the answer is "x{499}…, expected 0$/)
  })
})

it('a key-value store that keeps the bytes of its caller fails with that reason', async () => {
  const map = new Map<string, Uint8Array>()
  const store: KeyValueStore = {
    mget: async (keys) => keys.map((key) => map.get(key)),
    mset: async (entries) => entries.forEach(([key, value]) => map.set(key, value)),
  }
  const name = 'a map: the bytes passed in and the bytes returned belong to the caller'
  const keeping = keyValueContract('a map', async () => ({ store })).find((contractCase) => contractCase.name === name)
  await expect(keeping?.run()).rejects.toThrow('expected that mset and mget copy the bytes')
})

it('a key-value store that refuses to write nothing fails with its own error', async () => {
  const map = keyValueMap()
  const mset: KeyValueStore['mset'] = async (entries) => {
    if (entries.length === 0) throw new Error('no entries')
    return map.mset(entries)
  }
  const cases = keyValueContract('a map', async () => ({ store: { ...map, mset } }))
  await expect(cases.find(({ name }) => name.includes('empty batches'))?.run()).rejects.toThrow('no entries')
})

it('a model whose parallel calls share an id fails with that reason', async () => {
  const calls = assistant('Reading.', toolCall('c', 'read', { path: 'a' }), toolCall('c', 'read', {}))
  const name = 'a model: parallel calls arrive complete and in order, in the blocks and in the answer'
  const cases = modelContract('a model', async () => ({ model: scriptedModel([calls]) }))
  const found = cases.find((one) => one.name === name)
  await expect(found?.run()).rejects.toThrow('the number of ids is 1, expected 2')
})

describe('checks of a result', () => {
  const fault: StoreFault = { _tag: 'NoSuchLog', id: 'a' }
  const failed = async () => left(fault)
  const well = async () => right(Object.freeze({ a: 1 }))
  it('require a value or a fault of one type', async () => {
    expect(await valueOrThrow(well)).toEqual({ a: 1 })
    expect(await faultOf('NoSuchLog', failed)).toBe(fault)
    await expect(valueOrThrow(failed)).rejects.toMatchObject({
      message: expect.stringMatching(/^NoSuchLog: /),
      cause: fault,
    })
    await expect(faultOf('NoSuchLog', well)).rejects.toThrow('expected NoSuchLog, but it succeeded: {"a":1}')
    await expect(faultOf('Conflict', failed)).rejects.toMatchObject({
      message: expect.stringMatching(/^expected Conflict, found NoSuchLog: /),
      cause: fault,
    })
  })
  it('require plain objects and lists to be frozen, at any depth', async () => {
    await expect(valueOrThrow(async () => right({ a: 1 }))).rejects.toThrow('the answer is not frozen: {"a":1}')
    for (const value of [bytes(1), new Map(), 'a', null, undefined]) expect(mustBeFrozen(value)).toBe(value)
    expect(() => mustBeFrozen(Object.freeze({ a: Object.freeze([[1]]) }))).toThrow('the answer.a.0 is not frozen: [1]')
  })
  it('require a promise to resolve', async () => {
    expect(await mustCome(Promise.resolve(1))).toBe(1)
    await expect(mustCome(Promise.reject(new Error('mine')))).rejects.toThrow('mine')
  })
  it('name a failed condition', () => {
    mustHold(true, 'all is well')
    expect(() => mustHold(false, 'all is well')).toThrow('expected that all is well')
  })
})

it('changeEverything leaves nothing of an argument except frozen and non-plain data', () => {
  const kept = Object.freeze({ a: 1 })
  const map = new Map([['a', 1]])
  const given = {
    ...{ text: 'a', number: 1, yes: true, none: null, list: ['a', [2]], bytes: bytes(1, 2), run: () => 'a' },
    ...{ bare: Object.assign(Object.create(null) as object, { a: 1 }), kept, map },
  }
  changeEverything(given)
  expect({ ...given, run: given.run(), bare: { ...given.bare } }).toEqual({
    ...{ text: 'wrecked', number: 2, yes: false, none: null, list: ['wrecked', [3, 'wrecked'], 'wrecked'] },
    ...{ bytes: bytes(255, 255), run: 'wrecked', bare: { a: 2, wrecked: 'wrecked' }, kept: { a: 1 }, map },
    wrecked: 'wrecked',
  })
  for (const value of [null, undefined, 1, 'a']) changeEverything(value)
  expect([...map]).toEqual([['a', 1]])
})

it('a case closes every handle before it leaves its place, also if it fails', async () => {
  const closed: boolean[] = []
  const cases = (breaks: boolean): ReturnType<typeof storeContract> =>
    storeContract('counted', async () => {
      const memory = memoryStore()
      const open = async (scope = 'default'): Promise<Store> => {
        const handle = closed.push(false) - 1
        const close: Store['close'] = () =>
          storeTask(async () => {
            await new Promise(setImmediate)
            closed[handle] = true
            return right(undefined)
          }, 'close')
        const store = { ...orThrow(memory.scoped(scope)), close }
        return breaks ? { ...store, list: () => storeTask(async () => left({ _tag: 'Closed' }), 'list') } : store
      }
      return { lasting: false, open, openFaulty: () => open(), leave: async () => expect(closed).not.toContain(false) }
    })
  const named = (breaks: boolean, part: string) => cases(breaks).find(({ name }) => name.includes(part))
  await named(false, 'sees its own logs and blocks')?.run()
  await expect(named(true, 'sees its own logs and blocks')?.run()).rejects.toThrow('Closed')
  expect(closed).toHaveLength(18)
  await named(false, 'whatever step fails')?.run()
  expect(closed.length).toBeGreaterThan(20)
})

it('a case of blocks, keys or a model leaves its place, also if it fails', async () => {
  let left = 0
  const leave = async (): Promise<void> => void (left += 1)
  const broken = async (): Promise<never> => {
    throw new Error('broken')
  }
  const cases = (breaks: boolean): readonly ContractCase[] => [
    ...blockContract('', async () => ({ store: breaks ? ({} as Store) : memoryStore(), leave })),
    ...keyValueContract('', async () => ({ store: { ...keyValueMap(), ...(breaks && { mset: broken }) }, leave })),
    ...modelContract('', async () => ({ model: breaks ? ({} as Model) : scriptedModel([]), leave })),
  ]
  for (const breaks of [false, true])
    for (const [index, { name, run }] of cases(breaks).entries()) {
      if (/any number|hangs|whole chunk/.test(name)) continue
      await run().catch(() => undefined)
      expect(left, `${index}${name}`).toBe(1)
      left = 0
    }
})

it.each<readonly [StoreFault['_tag'], number]>([
  ['NoSuchLog', 0],
  ['Closed', 0],
])('a follower must fail with %s: another fault instead of number %i is found', async (tag, number) => {
  let met = 0
  const cases = storeContract('followed', async () => {
    const memory = memoryStore()
    const faulty = <Name extends 'read' | 'identities'>(name: Name): Store[Name] => {
      const called = memory[name] as (...given: unknown[]) => ReturnType<Store[Name]>
      return ((...given: unknown[]) =>
        storeTask(async () => {
          const answer = await called(...given)()
          const isOther = answer._tag === 'Left' && answer.left._tag === tag && met++ === number
          return isOther ? left({ _tag: 'Io', operation: name, cause: 'another fault' }) : answer
        }, name)) as never
    }
    return { lasting: false, open: async () => ({ ...memory, read: faulty('read'), identities: faulty('identities') }) }
  })
  const fails = cases.find(({ name }) => name.includes('a follower fails'))
  await expect(fails?.run()).rejects.toThrow(`"Io", expected "${tag}"`)
})

const without = <T extends object>(given: T, name: keyof T): T =>
  Object.fromEntries(Object.entries(given).filter(([key]) => key !== name)) as T

it.each<readonly [broken: string, title: string, (store: Store) => Partial<Store>]>([
  ['calls a watcher after its end', 'a watcher is called', (store) => ({ watch: (id, wake) => store.watch(id, () => { wake(); setTimeout(wake, 5) }) })], // oxfmt-ignore
  ['never calls a watcher', 'a watcher is called', () => ({ watch: () => storeTask(async () => right(() => {}), 'watch') })], // oxfmt-ignore
  ['appends whatever lease is named', 'an expired lease', (store) => ({ append: (id, { expected, rows }) => store.append(id, { expected, rows }) })], // oxfmt-ignore
  ['updates whatever lease is named', 'whose lease was taken', (store) => ({ update: (id, { expected, meta }) => store.update(id, { expected, meta }) })], // oxfmt-ignore
  ['erases whatever lease is named', 'whose lease was taken', (store) => ({ erase: ({ logs, ...rest }) => store.erase({ ...rest, logs: logs.map(({ id, expected, rows }) => ({ id, expected, rows })) }) })], // oxfmt-ignore
  ['keeps a released lease', 'a released lease', (store) => ({ release: (id) => storeTask(async () => right(orThrow(await store.info(id)()).head), 'release') })], // oxfmt-ignore
  ['asks nobody to stop', 'asked to stop', (store) => ({ requestStop: (id) => store.leaseOf(id) })],
  ['lists in any order', 'an unknown order', (store) => ({ list: () => store.list() })],
  [
    'lists from any cursor',
    'an invalid cursor',
    (store) => ({ list: (query = {}) => store.list(without(query, 'after')) }),
  ],
  [
    'lists each log',
    'with the wanted metadata',
    (store) => ({ list: (query = {}) => store.list(without(query, 'where')) }),
  ],
  [
    'lists each log',
    'matches the metadata under',
    (store) => ({ list: (query = {}) => store.list(without(query, 'where')) }),
  ],
  ...[
    'when they were last appended',
    'the number of their entries',
    'the bytes of their ids',
    'a cursor of one order',
  ].map(
    (title) =>
      [
        'lists in one order',
        title,
        (store: Store) => ({ list: (query: ListQuery = {}) => store.list(without(query, 'by')) }),
      ] as const,
  ),
  [
    'lists pages of any size',
    'up to 1,000 logs',
    (store) => ({ list: (query = {}) => store.list(without(query, 'limit')) }),
  ],
  ...['retried operation returns', 'with other rows is a fault', 'many concurrent tries of one'].map(
    (title) =>
      [
        'knows no operations',
        title,
        (store: Store) => ({ append: (id: string, append: Append) => store.append(id, without(append, 'operation')) }),
      ] as const,
  ),
  [
    'forks at the start',
    'only be forked at a position',
    (store) => ({ fork: (id, { id: to }) => store.fork(id, { id: to, at: 0 }) }),
  ],
  [
    'removes nothing',
    'a removed log is gone',
    () => ({ remove: () => storeTask(async () => right(undefined), 'remove') }),
  ],
  ['updates nothing', 'metadata is replaced', (store) => ({ update: (id) => store.info(id) })],
  ['has another time than its rows', 'without a time gets', (store) => ({ now: () => store.now() + 60_000 })],
  ['reads the whole log', 'a range equals the result', (store) => ({ read: (id) => store.read(id) })],
])('a store that %s fails a case: %s', async (_, title, breaks) => {
  const cases = storeContract('broken', async () => {
    const store = memoryStore()
    return { lasting: false, open: async () => ({ ...store, ...breaks(store) }) }
  })
  await expect(cases.find(({ name }) => name.includes(title))?.run()).rejects.toThrow(/expected/)
})

describe('injected faults', () => {
  /** What becomes of three steps of which the second is struck: what was done, and the answers. */
  const after = async (strike: Strike, way: 'now' | 'later'): Promise<string> => {
    const faults = injectFaults({ at: 1, strike })
    const done: string[] = []
    const medium = {
      error: (struck: StruckStep) => new Error(`${struck.strike} ${struck.step} ${struck.number}`),
      tear: (share: number) => void done.push(share >= 0 && share < 1 ? 'part' : 'all'),
      crash: () => void done.push('locks'),
    }
    const step = async (name: string): Promise<string> => {
      try {
        return await faults[way](name, () => (done.push(name), name) as never, medium)
      } catch (error) {
        return (error as Error).message
      }
    }
    const unarmed = await step('a')
    faults.arm()
    const answers = [unarmed, await step('b'), await step('c'), await step('d')]
    faults.rest()
    answers.push(await step('e'))
    expect(faults.steps.join('')).toBe(faults.crashed ? 'bc' : 'bcd')
    expect(faults.struck).toEqual([{ strike, step: 'c', number: 1 }])
    faults.restart()
    expect([faults.crashed, await step('f')]).toEqual([false, 'f'])
    return `${answers.join(', ')}; ${done.join(' ')}`
  }
  it.each<readonly [Strike, string]>([
    ['fail before', 'a, b, fail before c 1, d, e; a b d e f'],
    ['fail after', 'a, b, fail after c 1, d, e; a b c d e f'],
    ['crash before', 'a, b, crash before c 1, crashed before: d, crashed before: e; a b locks f'],
    ['crash after', 'a, b, crash after c 1, crashed before: d, crashed before: e; a b c locks f'],
    ['tear', 'a, b, tear c 1, d, e; a b part d e f'],
    ['outage', 'a, b, outage c 1, outage c 1, e; a b e f'],
    ['delay', 'a, b, c, d, e; a b c d e f'],
  ])('strike one step: %s', async (strike, expected) => {
    expect([await after(strike, 'now'), await after(strike, 'later')]).toEqual([expected, expected])
  })
  it('strike about one step in `every` by a seed, the same ones each time', () => {
    const struckBy = (plan: FaultPlan): readonly StruckStep[] => {
      const faults = injectFaults(plan)
      faults.arm()
      for (let step = 0; step < 1000; step++)
        try {
          faults.now(`${step}`, () => step)
        } catch {
          faults.rest()
          faults.restart()
          faults.arm()
        }
      return faults.struck
    }
    const often = struckBy({ seed: 1, every: 2 })
    expect(struckBy({ seed: 1, every: 2 })).toEqual(often)
    expect(struckBy({ seed: 2, every: 2 })).not.toEqual(often)
    expect(new Set(often.map(({ strike }) => strike)).size).toBe(strikes.length)
    expect(often.length).toBeGreaterThan(400)
    expect(often.length).toBeLessThan(600)
    const seldom = struckBy({ seed: 1 }).length
    expect(seldom).toBeGreaterThan(60)
    expect(seldom).toBeLessThan(140)
  })
})
