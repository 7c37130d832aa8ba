/** Searching a store that keeps no index: its messages are read. */
import * as fc from 'fast-check'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it, vi } from 'vitest'
import { createSession, faultMessage, forkSession, memoryStore, orThrow, user, type Store } from 'indelible'
import { dropIndex, indexStore, searchStore } from 'indelible/search'
import type { StoredRow } from 'indelible/store'
import type { RowsIndexed } from 'indelible/store/driver'
import { unreadTerm, wordsIn, type SearchText } from '../../src/entry/internal.ts'
import { blockIdOf } from '../../src/proof/internal.ts'
import { Slices, storeTask } from '../../src/store/internal.ts'
import { matchIn as matchInSlices, type Match } from '../../src/search/match.ts'
import { PhraseFinder, type Phrase } from '../../src/search/phrases.ts'
import { isOneTerm, parseQuery, termsOfPhrase, type Query } from '../../src/search/query.ts'
import { Outputs } from '../outputs.ts'
import { thawed } from '../thawed.ts'
import { searchCases } from './cases.ts'
import type { RowIndex } from '../../src/store/port/row-terms.ts'

const matchIn = (texts: readonly SearchText[], query: Query): Promise<Match | undefined> =>
  matchInSlices(texts, query, new Slices())

describe('searching a memory store', () => {
  searchCases(() => ({ open: async () => memoryStore(), indexed: false }))

  it.each([
    [{}, '`question` must be a string, found undefined'],
    [{ question: 5 }, '`question` must be a string, found 5'],
    [{ question: 'a', limit: 101 }, '`limit` must be a whole number from 1 to 100, found 101'],
    [{ question: 'a', passages: 0 }, '`passages` must be a whole number from 1 to 20, found 0'],
    [{ question: 'a', where: 'project' }, '`where` must be an object, found "project"'],
    [{ question: 'a', sort: 'time' }, 'searchStore has no option "sort"'],
    [['a'], 'the query must be a string, or an object with a question'],
    [null, 'the query must be a string, or an object with a question, found null'],
  ])('rejects the question %j', (question, text) => {
    expect(() => searchStore(memoryStore(), question as unknown as { question: string })).toThrow(text)
  })

  it.each([
    [{ since: NaN }, '`since` must be a time in milliseconds since 1970, found NaN'],
    [{ until: Infinity }, '`until` must be a time'],
    [{ since: 8.64e15 + 1 }, '`since` must be a time'],
    [{ until: -8.64e15 - 1 }, '`until` must be a time'],
    [{ limit: 1001 }, '`limit` must be a whole number'],
    [{ since: '2026-01-01' }, '`since` must be a time'],
    [{ role: 'model' }, "`role` must be one of 'system', 'developer', 'user', 'assistant', 'tool', found \"model\""],
    [{ in: 'text' }, "`in` must be one of 'messages', 'tools', 'all', found \"text\""],
    [{ sort: 'score' }, "`sort` must be one of 'relevance', 'time', found \"score\""],
    [{ limit: 0 }, '`limit` must be a whole number from 1 to 1000, found 0'],
    [{ limit: 1.5 }, '`limit` must be a whole number'],
    [{ limit: NaN }, '`limit` must be a whole number'],
    [{ limit: '5' }, '`limit` must be a whole number'],
    [{ session: 5 }, '`session` must be a string, found 5'],
    [{ after: {} }, '`after` must be a string'],
    [{ retracted: 'no' }, '`retracted` must be true or false, found "no"'],
    [{ typing: 1 }, '`typing` must be true or false, found 1'],
  ])('refuses %j and names the option', (options, message) => {
    expect(() => searchStore(memoryStore(), 'a', options as object)).toThrow(message)
    expect(() => searchStore(memoryStore(), 'a', options as object)).toThrow(TypeError)
  })

  it('accepts any date and any size of a page', async () => {
    const store = memoryStore()
    await createSession(store, { messages: [user('a word'), user('a word')] })
    for (const [limit, hits] of [
      [1, 1],
      [2, 2],
      [1000, 2],
    ] as const)
      expect((await searchStore(store, 'word', { limit, since: -8.64e15, until: 8.64e15 })).hits).toHaveLength(hits)
  })

  it('continues at its page of sessions', async () => {
    const inner = memoryStore()
    for (let number = 0; number < 102; number++)
      await createSession(inner, { id: `s${number}`, messages: number < 2 ? [user('a word')] : [] })
    const lists: unknown[] = []
    const list: Store['list'] = (query) => (lists.push(query?.after), inner.list(query))
    const found: string[] = []
    let after: string | undefined
    do {
      const page = await searchStore({ ...inner, list }, 'word', { limit: 1, sort: 'time', ...(after && { after }) })
      found.push(...page.hits.map(({ session }) => session))
      after = page.next
    } while (after !== undefined)
    expect(found).toEqual(['s1', 's0'])
    expect(lists.filter((list) => list === undefined)).toHaveLength(1) // the first page is read once
  })

  it('continues where the session of its cursor was removed', async () => {
    const store = memoryStore()
    for (const id of ['a', 'b']) await createSession(store, { id, messages: [user('a word'), user('a word')] })
    const { next } = await searchStore(store, 'word', { limit: 1, sort: 'time' })
    await store.remove('b')
    const { hits, next: end } = await searchStore(store, 'word', {
      limit: 9,
      sort: 'time',
      ...(next && { after: next }),
    })
    expect([hits.map(({ session, position }) => `${session} ${position}`), end]).toEqual([['a 1', 'a 0'], undefined])
  })

  it('finds all messages whose blocks it can read, and reports faults of the store', async () => {
    const inner = memoryStore()
    const [good, bad] = ['good', 'bad'].map((name) => `the ${name} word ${name.repeat(2000)}`) as [string, string]
    await createSession(inner, { id: 's', messages: [user(good), user(bad)] })
    const damaged = blockIdOf(new TextEncoder().encode(bad), inner.hash)
    const getBlocks: Store['getBlocks'] = (ids) =>
      ids.includes(damaged)
        ? storeTask(async () => left({ _tag: 'DamagedBlock', id: damaged } as never), 'store.getBlocks')
        : inner.getBlocks(ids)
    const page = await searchStore({ ...inner, getBlocks }, 'word')
    expect([page.hits.map(({ position }) => position), page.damaged]).toEqual([[0], ['s']])
    for (const [tag, expected] of [
      ['NoSuchLog', { right: { hits: [] } }],
      ['Io', { left: { _tag: 'Io' } }],
    ] as const) {
      const nodes: Store['nodes'] = () => storeTask(async () => left({ _tag: tag } as never), 'store.nodes')
      const answer = await searchStore({ ...inner, nodes }, 'word')()
      expect(answer).toMatchObject(expected)
      expect(answer).not.toHaveProperty('right.damaged')
    }
  })

  it('refuses what is no store', () => {
    for (const call of [indexStore, dropIndex, (store: Store) => searchStore(store, 'a')])
      expect(() => call({} as Store)).toThrow(TypeError)
    expect(() => indexStore({} as Store)).toThrow('indexStore')
    expect(() => dropIndex({} as Store)).toThrow('dropIndex')
  })

  it('refuses unknown index options', () => {
    expect(() => indexStore(memoryStore(), { rebuild: 1 as unknown as boolean })).toThrow(
      '`rebuild` must be true or false',
    )
    expect(() => indexStore(memoryStore(), { progress: 1 as unknown as () => void })).toThrow('`progress` must be a function') // oxfmt-ignore
  })

  it('returns 20 hits per page by default', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: Array.from({ length: 25 }, () => user('a word')) })
    const pages = [await searchStore(store, 'word'), await searchStore(store, 'word', { limit: 24 })]
    expect(pages.map(({ hits }) => hits.length)).toEqual([20, 24])
    for (const { next, hits } of pages)
      expect((await searchStore(store, 'word', { after: next as string })).hits.length).toBe(25 - hits.length)
    const foreign = await searchStore(store, 'word', { after: 'of another search' })()
    expect(foreign).toMatchObject({ left: { _tag: 'InvalidId', what: 'cursor' } })
    expect(isLeft(foreign) && Object.isFrozen(foreign.left)).toBe(true)
  })

  it('has no index', async () => {
    const made = await indexStore(memoryStore())()
    expect(made).toMatchObject({ left: { _tag: 'NoFullText' } })
    if (made._tag === 'Left') expect(faultMessage(made.left)).toMatch(/can't have a search index/)
    orThrow(await dropIndex(memoryStore())())
  })
})

const searched = <T>(value: T) => storeTask(async () => right(value), 'search')

const noIndex: RowIndex = {
  find: () => searched(undefined),
  findIn: () => searched(new Map()),
  places: () => searched(undefined),
  logsAt: () => searched([]),
  segmentsOf: () => searched([]),
  encrypted: () => searched([]),
  make: () => searched(undefined),
  drop: () => searched(undefined),
  add: () => searched({ rows: 0, behind: 0 }),
}

it.each(['time', 'relevance'] as const)('a page by %s judges at most 5000 proposed rows', async (sort) => {
  const store = memoryStore()
  await createSession(store, { id: 's', messages: [user('hay')] })
  const [row] = await orThrow(store.read('s', { from: 0, to: 1 }))
  let proposed = 0
  const find: RowIndex['find'] = ({ all, limit = 0 }) => {
    if (all.some(({ term }) => term === unreadTerm))
      // a log that was removed meanwhile is not damaged
      return searched({ rows: [{ row: row as StoredRow, logs: ['gone'], cursor: '' }], behind: 0 })
    if (proposed > 100_000) return searched({ rows: [], behind: 0 })
    const rows = Array.from({ length: limit }, () => ({
      row: row as StoredRow,
      logs: ['s'],
      cursor: `1.${++proposed}`,
    }))
    return searched({ rows, next: `1.${proposed}`, behind: 0 })
  }
  const page = await searchStore({ ...store, index: { ...noIndex, find } }, 'needle', { sort })
  expect(page).toEqual({ hits: [], indexed: true, next: expect.any(String) as string })
  expect(proposed).toBeLessThanOrEqual(5000)
})

it.each([
  ['time', 1, 20, 20],
  ['time', 10, 200, 20],
  ['relevance', 1, 250, 20],
  ['relevance', 10, 1250, 20],
  ['relevance', 1000, 4250, 4],
] as const)(
  'a page by %s, of rows of which one in %i matches, examines %i and has %i hits',
  async (sort, each, needed, hits) => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('hay'), user('needle')] })
    const [hay, needle] = (await orThrow(store.read('s'))) as readonly StoredRow[]
    let proposed = 0
    const find: RowIndex['find'] = ({ all, limit = 0 }) => {
      if (all.some(({ term }) => term === unreadTerm)) return searched({ rows: [], behind: 0 })
      const rows = Array.from({ length: limit }, () => ({
        row: (++proposed % each === 0 ? needle : hay) as StoredRow,
        logs: ['s'],
        cursor: `1.${proposed}`,
      }))
      return searched({ rows, next: `1.${proposed}`, behind: 0 })
    }
    const page = await searchStore({ ...store, index: { ...noIndex, find } }, 'needle', { sort })
    expect([proposed, page.hits.length]).toEqual([needed, hits])
  },
)

it('a hit is in the first session that has its row, and a store that does not describe one is a fault', async () => {
  const store = memoryStore()
  for (const id of ['s', 't']) await createSession(store, { id, messages: [user('needle')] })
  await store.create({ id: 'log', meta: {}, encrypt: false })
  const [row] = (await orThrow(store.read('t'))) as readonly StoredRow[]
  const find: RowIndex['find'] = ({ all }) =>
    searched({
      rows: all.some(({ term }) => term === unreadTerm)
        ? []
        : [{ row: row as StoredRow, logs: ['gone', 'log', 't', 's'], cursor: '1.1' }],
      behind: 0,
    })
  const indexed = { ...store, index: { ...noIndex, find } }
  expect((await searchStore(indexed, 'needle')).hits).toMatchObject([{ session: 't', position: 0, retracted: false }])
  const info: Store['info'] = (id) =>
    id === 't'
      ? storeTask(async () => left({ _tag: 'Io', operation: 'info', cause: 'gone' } as const), 'store.info')
      : store.info(id)
  expect(await searchStore({ ...indexed, info }, 'needle')()).toMatchObject({ left: { _tag: 'Io', operation: 'info' } })
})

it('a page without an index reads at most 20,000 rows, and the next one those before them', async () => {
  const inner = memoryStore()
  await createSession(inner, { id: 's', messages: [user('hay')] })
  const [row] = (await orThrow(inner.read('s'))) as readonly StoredRow[]
  const info: Store['info'] = (id) =>
    storeTask(async () => {
      const found = await inner.info(id)()
      return isLeft(found) ? found : right({ ...found.right, head: { ...found.right.head, size: 20_150 } })
    }, 'store.info') as never
  const read: Store['read'] = (_, { from = 0, to = 0, only } = {}) =>
    storeTask(
      async () =>
        right(
          only === 'note'
            ? []
            : Array.from({ length: to - from }, (_each, at) => ({
                ...(row as StoredRow),
                position: from + at,
                index: from + at,
              })),
        ),
      'store.read',
    ) as never
  const store = { ...inner, info, read }
  const first = await searchStore(store, 'needle', { session: 's', sort: 'time' })
  const second = await searchStore(store, 'needle', {
    session: 's',
    sort: 'time',
    ...(first.next && { after: first.next }),
  })
  expect([first.read, second.read, second.next]).toEqual([20_000, 150, undefined])
})

it.each([
  ['"a b c" b', 'x a b c', [[2, 7]]],
  [
    'b "a b c"',
    'x a b c b',
    [
      [2, 7],
      [8, 9],
    ],
  ],
  ['"a b" "b c"', 'a b c', [[0, 5]]],
  [
    'a c',
    'a b c',
    [
      [0, 1],
      [4, 5],
    ],
  ],
] as const)('the query %s marks each place of %j once, from its first character', async (query, text, marks) => {
  const found = await matchIn([{ of: 'text', text } as never], orThrow(parseQuery(query, false)))
  expect(found?.excerpt).toEqual({ text, marks, cutBefore: false, cutAfter: false })
})

it('encrypted sessions are listed as they are now, also if the clock is set by days meanwhile', async () => {
  let ids = ['a']
  const encrypted: NonNullable<RowIndex['encrypted']> = () => {
    vi.setSystemTime(Date.now() + 3 * 86_400_000)
    return searched(ids)
  }
  const store = { ...memoryStore(), index: { ...noIndex, find: () => searched({ rows: [], behind: 0 }), encrypted } }
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    expect((await searchStore(store, 'word')).encrypted).toEqual(['a'])
    ids = ['a', 'b']
    vi.setSystemTime(0)
    let found: readonly string[] | undefined
    // A list that took a while to fetch is reused for a moment.
    for (let attempt = 0; attempt < 100 && found?.length !== 2; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      found = (await searchStore(store, 'word')).encrypted
    }
    expect(found).toEqual(['a', 'b'])
  } finally {
    vi.useRealTimers()
  }
})

it('the notes of a session are read once, and a fork of one whose notes can not be read shows its own messages', async () => {
  const inner = memoryStore()
  await createSession(inner, { id: 's', messages: [user('a word'), user('the word')] })
  const fork = await forkSession(inner, 's', { id: 'f', at: 1 })
  for (const text of ['my word', 'a last word']) await fork.append(user(text))
  let fault: string | undefined
  const reads: string[] = []
  const read: Store['read'] = (id, given) => {
    if (given?.only !== 'note') return inner.read(id, given)
    reads.push(id)
    if (id !== 's' || fault === undefined) return inner.read(id, given)
    return storeTask(async () => left({ _tag: fault, id } as never), 'read')
  }
  const search = () => searchStore({ ...inner, read }, 'word', { sort: 'time' })()
  const all = ['f 2', 'f 1', 's 1', 's 0']
  for (const [tag, expected, more] of [
    [undefined, all, {}],
    ['NoSuchLog', ['f 2', 'f 1', 'f 0'], {}],
    ['DamagedLog', ['f 2', 'f 1'], { damaged: ['s'] }],
    ['NoKey', ['f 2', 'f 1'], { encrypted: ['s'] }],
  ] as const) {
    fault = tag
    reads.length = 0
    const page = orThrow(await search())
    expect([tag, page.hits.map(({ session, position }) => `${session} ${position}`)]).toEqual([tag, expected])
    expect(page).toEqual({ hits: page.hits, indexed: false, read: expect.any(Number) as number, ...more })
    if (tag === undefined) expect(reads.toSorted()).toEqual(['f', 's'])
  }
  fault = 'Io'
  expect(await search()).toMatchObject({ left: { _tag: 'Io' } })
})

it('an index is built in pieces until it is complete or nothing more can be added', async () => {
  const made = async (pieces: readonly RowsIndexed[]): Promise<readonly unknown[]> => {
    const rest = [...pieces]
    const told: unknown[] = []
    const index = { ...noIndex, add: () => searched(rest.shift() ?? { rows: 0, behind: 0 }) }
    const rows = await indexStore({ ...memoryStore(), index }, { progress: (...at) => told.push(at) })
    return [rows, told, rest.length]
  }
  expect(await made([{ rows: 2, behind: 3 }, { rows: 3, behind: 0, encrypted: 1 }])).toEqual([4, [[2, 5], [5, 5]], 0]) // oxfmt-ignore
  expect(await made([{ rows: 0, behind: 3 }, { rows: 3, behind: 0 }])).toEqual([0, [[0, 3]], 1]) // oxfmt-ignore
  expect(await made([{ rows: 5, behind: 0 }, { rows: 1, behind: 0 }])).toEqual([5, [[5, 5]], 1]) // oxfmt-ignore
})

it('a word that must be absent, and texts after the first with all words, change no score', async () => {
  const texts = ['needle '.repeat(3000), 'needle needle'].map((text) => ({ of: 'text', text }) as never)
  const [plain, without] = ['needle', 'needle -hay'].map((text) => orThrow(parseQuery(text, false)))
  const score = (await matchIn(texts.slice(0, 1), plain as never))?.score
  expect(score).toBeGreaterThan(0)
  for (const query of [plain, without]) expect((await matchIn(texts, query as never))?.score).toBe(score)
  expect(await matchIn([...texts, { of: 'text', text: 'hay' } as never], without as never)).toBeUndefined()
  for (const text of [`${'needle '.repeat(3000)}hay`, `hay ${'needle '.repeat(3000)}`])
    expect(await matchIn([{ of: 'text', text } as never], without as never)).toBeUndefined()
})

it('a score depends on the length of the text, the number of matches and where they are', async () => {
  const outputs = new Outputs()
  const query = orThrow(parseQuery('needle hay', false))
  for (let length = 10; length < 2400; length += 2)
    for (const [of, many] of [
      ['text', 1],
      ['tool', 3],
    ] as const) {
      const text = `${'needle hay '.repeat(many)}${' '.repeat(length)}`
      outputs.add((await matchIn([{ of, text } as never], query))?.score)
    }
  for (let gap = 585; gap < 595; gap++)
    outputs.add((await matchIn([{ of: 'text', text: `needle hay ${' '.repeat(gap)}needle` } as never], query))?.score)
  outputs.expectToBe('906c027bc9699baf')
})

it.each<readonly [query: string, typing: boolean, wanted: string, unwanted: string]>([
  ['one two', false, 'one|two', ''],
  ['one two', true, 'one|two*', ''],
  ['one two ', true, 'one|two', ''],
  ['one two.', true, 'one|two', ''],
  ['one -two', true, 'one', 'two'],
  ['one "two three"', true, 'one|two three', ''],
  ['one "two three', true, 'one|two three*', ''],
  ['"two th"* one* -three* x', false, 'two th*|one*|x', 'three*'],
  ['“one two” „three“ «four»', false, 'one two|three|four', ''],
  ['a-b c.d', false, 'a b|c d', ''],
  ['... one -- "" *', false, 'one', ''],
  ['"one" -"two three"', false, 'one', 'two three'],
])('the query %j (typing: %j) wants %s and not %s', (query, typing, wanted, unwanted) => {
  const found = orThrow(parseQuery(query, typing))
  const shown = (phrases: Iterable<Phrase>): string =>
    [...phrases].map(({ units, prefix }) => `${units.map(({ text }) => text).join(' ')}${prefix ? '*' : ''}`).join('|')
  expect([shown(found.wanted), shown(found.unwanted)]).toEqual([wanted, unwanted])
})

it('a query without a word to find is refused', () => {
  for (const query of ['', ' ', '-one', '"" .', '-"one two"'])
    expect(parseQuery(query, true)).toEqual(left({ _tag: 'EmptyQuery', query }))
})

it('the terms of a phrase are in every message that has it, and are the phrase if it is one term', () => {
  const termsIn = (query: string): readonly unknown[] =>
    orThrow(parseQuery(query, false)).wanted.map((phrase) => [
      termsOfPhrase(phrase).map(({ term, prefix }) => `${term}${prefix === true ? '*' : ''}`),
      isOneTerm(phrase),
    ])
  expect(termsIn('one two* "three four"*')).toEqual([
    [['one'], true],
    [['two*'], true],
    [['three', 'four*'], false],
  ])
  expect(termsIn('日本 日 日本語')).toEqual([
    [['日本'], true],
    [['日*'], true],
    [['日本', '本語'], false],
  ])
})

it('an excerpt does not end inside a surrogate pair, not even of a character whose second half is the lowest', async () => {
  const query = orThrow(parseQuery('word', false))
  for (let letters = 165; letters < 185; letters++) {
    const match = await matchIn([{ of: 'text', text: `word ${'x'.repeat(letters)}\u{1f400}` } as never], query)
    expect(match?.excerpt.text.isWellFormed(), `${letters}`).toBe(true)
  }
})

it('property: an excerpt starts at a word at most 60 units before the first match and has 180 units after it', async () => {
  const word = fc.constantFrom(
    'needle',
    'hay',
    '\u{1f642}',
    'a-long-word-of-more-than-thirty-units',
    'wörter',
    'x'.repeat(90),
  )
  const text = fc
    .array(fc.tuple(word, fc.constantFrom(' ', '\n', '. ')), { maxLength: 30 })
    .map((words) => words.flat().join(''))
  const query = orThrow(parseQuery('needle', false))
  await fc.assert(
    fc.asyncProperty(text, async (output) => {
      const { excerpt } = (await matchIn([{ of: 'text', text: output } as never], query)) ?? {}
      const first = output.indexOf('needle')
      expect(excerpt === undefined).toBe(first === -1)
      if (excerpt === undefined) return
      const from = first - (excerpt.marks[0]?.[0] ?? NaN)
      const to = from + excerpt.text.length
      expect(excerpt.text).toBe(output.slice(from, to))
      const earliest = Math.max(0, first - 60)
      const spaces = output.slice(earliest, first).search(/\s/)
      const isHalf = (at: number): boolean => /[\udc00-\udfff]/.test(output.charAt(at))
      const start = earliest === 0 ? 0 : spaces === -1 ? earliest : earliest + spaces + 1
      expect(from).toBe(isHalf(start) ? start - 1 : start)
      expect(to).toBe(Math.min(output.length, first + 180) - (isHalf(first + 180) ? 1 : 0))
      expect([excerpt.cutBefore, excerpt.cutAfter]).toEqual([from > 0, to < output.length])
      const found = [...output.matchAll(/needle/g)].flatMap(({ index }) =>
        index < to ? [[index - from, Math.min(index + 6, to) - from]] : [],
      )
      expect(excerpt.marks).toEqual(found)
      expect(thawed(excerpt)).toBeUndefined()
    }),
    { numRuns: 200, examples: [[`${'x'.repeat(60)}-needle`], [`needle ${'x'.repeat(174)}`]] },
  )
})

/** The score by its formula: each shortest run of words that has all the wanted ones counts by how close they are. */
const modelScore = (words: readonly string[], wanted: readonly string[], length: number, isTool: boolean): number => {
  const hasAll = (from: number, to: number): boolean => wanted.every((one) => words.slice(from, to).includes(one))
  let density = 0
  for (let from = 0; from < words.length; from++)
    for (let to = from + 1; to <= words.length; to++)
      if (hasAll(from, to) && !hasAll(from + 1, to) && !hasAll(from, to - 1))
        density += wanted.length / Math.max(wanted.length, to - from)
  const saturated = density / (density + 1.2 * (0.25 + 0.75 * Math.sqrt(length / 1000)))
  return Math.round((isTool ? 0.5 : 1) * saturated * 20) / 20
}

it('property: a score is that of a naive model', async () => {
  const word = fc.constantFrom('one', 'two', 'three', 'hay', 'straw')
  const texts = fc.array(word, { minLength: 1, maxLength: 25 })
  const wanted = fc.uniqueArray(fc.constantFrom('one', 'two', 'three'), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(texts, wanted, fc.boolean(), async (words, asked, isTool) => {
      const text = words.join(' ')
      const found = await matchIn(
        [{ of: isTool ? 'tool' : 'text', text } as never],
        orThrow(parseQuery(asked.join(' '), false)),
      )
      const hasAll = asked.every((one) => words.includes(one))
      expect(found?.score).toBe(hasAll ? modelScore(words, asked, text.length, isTool) : undefined)
    }),
    { numRuns: 300 },
  )
})

it('adjacent matches count again elsewhere; a word merely following them does not', async () => {
  const query = orThrow(parseQuery('needle hay', false))
  const scoreOf = async (text: string): Promise<number> =>
    (await matchIn([{ of: 'text', text } as never], query))?.score ?? 0
  const once = await scoreOf('needle hay … …………… …')
  expect(await scoreOf('needle hay … ……… hay')).toBe(once)
  expect(await scoreOf('needle hay needle hay')).toBeGreaterThan(once)
  expect(await scoreOf('needle … …… … …… hay')).toBe(once) // nothing but signs is between them
  expect(await scoreOf('needle a b c d e f hay')).toBeLessThan(once)
})

it('property: a finder finds the phrases that comparing each with the words before each word finds', () => {
  const query = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'abc', '日', '日本', '本', '日本語', ' ', ' ', '"', '*', '-'), {
      minLength: 1,
      maxLength: 16,
    })
    .map((parts) => parts.join(''))
  const text = fc.array(fc.constantFrom('a', 'b', 'abc', '日', '本', '語', ' ', ' '), { maxLength: 40 })
  fc.assert(
    fc.property(query, text, (asked, said) => {
      const parsed = parseQuery(`x ${asked}`, false)
      const { wanted, unwanted } = orThrow(parsed)
      const phrases = [...wanted, ...unwanted]
      const words = [...wordsIn(said.join(''))]
      const search = new PhraseFinder(phrases).search()
      for (const [index, word] of words.entries()) {
        const expected = phrases.filter(({ units, prefix }) => {
          const from = index - units.length + 1
          return units.every((unit, at) => {
            const there = words[from + at]
            const begins = prefix && at === units.length - 1 && there?.unspaced === false
            const isSame = begins ? there.text.startsWith(unit.text) : there?.text === unit.text
            return isSame && (!unit.joined || there?.joined === true)
          })
        })
        const found = search(word)
        expect(new Set(found.map(({ phrase }) => phrase))).toEqual(new Set(expected))
        expect(found).toHaveLength(expected.length)
        for (const { phrase, start } of found) expect(start).toBe(words[index - phrase.units.length + 1]?.start)
      }
    }),
    { numRuns: 1000 },
  )
})

it('the work of a search grows with the query and the texts, and not with their product', async () => {
  const words = (count: number, start = 0): string =>
    Array.from({ length: count }, (_, at) => `w${start + at}`).join(' ')
  const long = words(9000, 500)
  const queries = {
    'many words': words(2000),
    'many equal words': 'w '.repeat(2000),
    'a long phrase': `"x ${'w '.repeat(2000)}"`,
    'phrases with one end': Array.from({ length: 500 }, (_, at) => `"w${at} w"`).join(' '),
    'words that must be absent': `end ${words(2000).replaceAll('w', '-v')}`,
    '20,000 words': words(20_000, 200_000),
  }
  for (const [name, query] of Object.entries(queries))
    for (const text of [long, 'w '.repeat(30_000), `${long} end`]) {
      const { get } = Map.prototype
      let looked = 0
      // oxlint-disable-next-line no-extend-native
      Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
        looked += 1
        return get.call(this, key)
      }
      try {
        const search = orThrow(parseQuery(query, false)).finder.search()
        for (const word of wordsIn(text)) search(word)
      } finally {
        // oxlint-disable-next-line no-extend-native
        Map.prototype.get = get
      }
      expect([name, looked <= 3 * (text.length + query.length)]).toEqual([name, true])
    }
})

it('a search with 150,000 words finds a message that has them all, and lets other work run', async () => {
  const store = memoryStore()
  const text = Array.from({ length: 150_000 }, (_, at) => `w${at}`).join(' ')
  await createSession(store, { id: 's', messages: [user(text), user(`${text.slice(0, -3)} x`)] })
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const { hits } = await searchStore(store, text)
  isOver = true
  expect(hits).toMatchObject([{ position: 0, excerpt: { text: expect.stringMatching(/^w0 w1 /) } }])
  expect(turns).toBeGreaterThanOrEqual(2)
})
