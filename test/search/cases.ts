/** What every store finds: the cases of a search, for a store of any kind, with an index or without. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it, vi } from 'vitest'
import {
  assistant,
  createSession,
  forkSession,
  memoryStore,
  openSession,
  orThrow,
  reasoning,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
  type Session,
  type Store,
} from 'indelible'
import { destroyKey, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { rangeDigest } from '../../src/notes/internal.ts'
import { eraseMessages } from 'indelible/session'
import { searchStore, type QuestionSearch, type SearchHit, type SearchOptions } from 'indelible/search'
import type { RowQuery } from 'indelible/store/driver'
import { isFull, rounds } from '../rounds.ts'
import { thawed } from '../thawed.ts'

export interface Place {
  /** A new scope of a store, of which each use finds only its own. */
  readonly open: () => Promise<Store>
  /** Whether the index answers. */
  readonly indexed: boolean
}

/** All hits of all pages. */
export const all = async (store: Store, query: string, options: SearchOptions = {}): Promise<readonly SearchHit[]> => {
  const hits: SearchHit[] = []
  let { after } = options
  do {
    const page = await searchStore(store, query, { ...options, ...(after !== undefined && { after }) })
    expect(thawed(page)).toBeUndefined()
    hits.push(...page.hits)
    after = page.next
  } while (after !== undefined)
  return hits
}

/** Hits as `session:position`, and what is marked in each. */
export const places = (hits: readonly SearchHit[]): readonly string[] =>
  hits.map(({ session, position }) => `${session}:${position}`)

export const marked = (hits: readonly SearchHit[]): readonly string[] =>
  hits.flatMap(({ excerpt }) => excerpt.marks.map(([from, to]) => excerpt.text.slice(from, to)))

/** The places of all hits, the newest first. */
const find = async (store: Store, query: string, options?: SearchOptions): Promise<readonly string[]> =>
  places(await all(store, query, { sort: 'time', ...options }))

const createWith = (store: Store, id: string, ...messages: readonly Message[]): Promise<Session> =>
  Promise.resolve(createSession(store, { id, messages }))

/** The cases. */
export const searchCases = (place: () => Place): void => {
  const open = (): Promise<Store> => place().open()

  it('finds words, phrases and prefixes, and excludes words', async () => {
    const store = await open()
    await createWith(store, 'a', user('The rate limit was hit.'), assistant('A limited rate; retrying'))
    await createWith(store, 'b', user('limit the rate'), assistant('nothing'))
    const page = await searchStore(store, 'rate', { sort: 'time' })
    expect(places(page.hits)).toEqual(['b:0', 'a:1', 'a:0'])
    expect([page.indexed, page.read]).toEqual(place().indexed ? [true, undefined] : [false, 4])
    expect(await find(store, 'rate limit')).toEqual(['b:0', 'a:0'])
    expect(await find(store, '"rate limit"')).toEqual(['a:0'])
    expect(await find(store, 'rate-limit')).toEqual(['a:0'])
    expect(await find(store, 'lim*')).toEqual(['b:0', 'a:1', 'a:0'])
    expect(await find(store, '"the rate lim*')).toEqual([])
    expect(await find(store, '"the rate lim"*')).toEqual(['a:0'])
    expect(await find(store, 'rate -hit')).toEqual(['b:0', 'a:1'])
    expect(await find(store, 'rate -"rate limit"')).toEqual(['b:0', 'a:1'])
    expect(await find(store, 'rate -ret*')).toEqual(['b:0', 'a:0'])
    expect(await find(store, 'ra')).toEqual([])
    expect(await find(store, 'rate retr', { typing: true })).toEqual(['a:1'])
    expect(await find(store, 'RATE')).toHaveLength(3)
  })

  it('marks the matches', async () => {
    const store = await open()
    await createWith(store, 'a', user(`${'before '.repeat(50)}the Wörter and wörter${' after'.repeat(50)}`))
    const [hit] = await all(store, 'worter')
    expect(marked(hit === undefined ? [] : [hit])).toEqual(['Wörter', 'wörter'])
    expect(hit?.excerpt).toMatchObject({ cutBefore: true, cutAfter: true })
    expect(hit?.excerpt.text.length).toBeLessThan(300)
    expect(hit).toMatchObject({ role: 'user', in: 'message', retracted: false })
    expect(typeof hit?.at).toBe('number')
  })

  it.each([180, 250])('marks only matches within the excerpt, and no word that starts at %i', async (at) => {
    const store = await open()
    await createWith(store, 'a', user(`needle ${'x'.repeat(at - 8)} needle`))
    const [{ excerpt } = {}] = await all(store, 'needle')
    expect(excerpt).toMatchObject({ marks: [[0, 6]], cutBefore: false, cutAfter: true })
  })

  it('finds text in any script', async () => {
    const store = await open()
    await createWith(
      store,
      'a',
      user('東京都の天気はどうですか'),
      user('서울에서 만나요'),
      user('café über naïve ＦＵＬＬ'),
      user('поезд и ёлка'),
      user('สวัสดีครับ'),
      user('ship it 🚀👍🏽 now'),
      user('GPT模型'),
      user('ﾃｽﾄ'),
    )
    expect(await find(store, '東京')).toEqual(['a:0'])
    expect(await find(store, '京都')).toEqual(['a:0'])
    expect(await find(store, '気')).toEqual(['a:0'])
    expect(await find(store, '東都')).toEqual([])
    expect(await find(store, '天気 東京')).toEqual(['a:0'])
    expect(await find(store, '서울')).toEqual(['a:1'])
    expect(await find(store, 'cafe UBER naive full')).toEqual(['a:2'])
    expect(await find(store, 'елка')).toEqual(['a:3'])
    expect(await find(store, 'สวัสดี')).toEqual(['a:4'])
    expect(await find(store, '🚀')).toEqual(['a:5'])
    expect(await find(store, 'gpt 模型')).toEqual(['a:6'])
    expect(await find(store, 'テスト')).toEqual(['a:7'])
    expect(await find(store, '東京 -大阪')).toEqual(['a:0'])
    expect(await find(store, 'gpt \u0301')).toEqual(['a:6']) // an accent on nothing is no word
    expect(await find(store, '東京 -天気')).toEqual([])
  })

  it('distinguishes messages from tools', async () => {
    const store = await open()
    const call = toolCall('c1', 'read_file', JSON.stringify({ path: 'src/needle.ts', text: 'line one\nline two' }))
    await createWith(
      store,
      'a',
      user('where is the haystack'),
      assistant(reasoning('a thought about it'), text('I look'), call),
      toolResult('c1', 'needle in a haystack'),
    )
    expect(await find(store, 'haystack')).toEqual(['a:2', 'a:0'])
    expect(await find(store, 'haystack', { in: 'tools' })).toEqual(['a:2'])
    expect(await find(store, 'haystack', { in: 'messages' })).toEqual(['a:0'])
    expect(await find(store, 'needle', { in: 'tools' })).toEqual(['a:2', 'a:1'])
    expect(await find(store, 'needle', { in: 'messages' })).toEqual([])
    expect(await find(store, 'read_file')).toEqual(['a:1'])
    expect(await find(store, 'line two')).toEqual(['a:1']) // not `nline`: the arguments are JSON
    expect(await find(store, 'thought', { in: 'messages' })).toEqual(['a:1'])
    expect(await find(store, 'look -needle', { in: 'messages' })).toEqual(['a:1'])
    expect(await find(store, 'look -needle')).toEqual([])
    expect((await all(store, 'needle')).map((hit) => hit.in)).toEqual(['tool', 'tool'])
  })

  it('finds retracted messages only if asked to', async () => {
    const store = await open()
    const session = await createWith(store, 'a', user('alpha one'), assistant('alpha two'), user('alpha three'))
    await session.rewind(1)
    await session.append(user('alpha four'))
    expect(await find(store, 'alpha')).toEqual(['a:3', 'a:0'])
    expect(await find(store, 'alpha', { retracted: true })).toEqual(['a:3', 'a:2', 'a:1', 'a:0'])
    const shown = await all(store, 'alpha', { retracted: true, sort: 'time' })
    expect(shown.map((hit) => hit.retracted)).toEqual([false, true, true, false])
  })

  it('finds summarized messages: only a retraction hides them', async () => {
    const store = await open()
    const session = await createWith(store, 'a', user('alpha one'), assistant('alpha two'))
    await session.note({ type: 'summary', from: 0, to: 2, sourceDigest: rangeDigest(session.view()), text: 'both' })
    const shown = await all(store, 'alpha', { sort: 'time' })
    expect(shown.map(({ position, retracted }) => [position, retracted])).toEqual([
      [1, false],
      [0, false],
    ])
  })

  it('finds messages that a fork has and its origin retracted, ranked below shared ones', async () => {
    const store = await open()
    const session = await createWith(store, 'a', user('gamma one'), assistant('gamma two'), user('gamma three'))
    await forkSession(store, 'a', { id: 'f', at: 3 })
    await session.note({ type: 'retraction', from: 0, to: 1 })
    expect((await find(store, 'gamma')).toSorted()).toEqual(['a:1', 'a:2', 'f:0'])
  })

  it('finds shared messages of forks once, in the session where they were appended', async () => {
    const store = await open()
    const session = await createWith(store, 'a', user('beta one'), assistant('beta two'), user('beta three'))
    await forkSession(store, 'a', { id: 'f', at: 2 })
    const fork = await openSession(store, 'f')
    await fork.append(user('beta four'))
    expect(await find(store, 'beta')).toEqual(['f:2', 'a:2', 'a:1', 'a:0'])
    expect(await find(store, 'beta', { session: 'f' })).toEqual(['f:2', 'f:1', 'f:0'])
    await session.rewind(1)
    expect((await find(store, 'beta')).toSorted()).toEqual(['a:0', 'f:1', 'f:2'])
    await store.remove('a')
    expect((await find(store, 'beta')).toSorted()).toEqual(['f:0', 'f:1', 'f:2'])
    await store.remove('f')
    expect(await find(store, 'beta')).toEqual([])
  })

  it('filters by session, role and time', async () => {
    const store = await open()
    let now = 1000
    const clock = { ...store, now: () => now }
    const session = await createWith(clock, 'a', user('gamma'))
    now = 2000
    await session.append(assistant('gamma'))
    await createWith(clock, 'b', user('gamma'))
    expect(await find(store, 'gamma', { session: 'a' })).toEqual(['a:1', 'a:0'])
    expect(await find(store, 'gamma', { role: 'user' })).toEqual(['b:0', 'a:0'])
    expect(await find(store, 'gamma', { since: 2000 })).toEqual(['b:0', 'a:1'])
    expect(await find(store, 'gamma', { until: 2000 })).toEqual(['a:0'])
    expect(await find(store, 'gamma', { since: 1001, until: 2001, role: 'assistant' })).toEqual(['a:1'])
    expect(await searchStore(store, 'gamma', { session: 'none' })()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
  })

  it('returns pages and refuses an invalid cursor', async () => {
    const store = await open()
    for (const id of ['a', 'b', 'c'])
      await createWith(store, id, ...Array.from({ length: 7 }, (_, n) => user(`delta ${n}`)))
    const whole = await find(store, 'delta', { limit: 1000 })
    expect(whole).toHaveLength(21)
    const best = await find(store, 'delta', { limit: 1000, sort: 'relevance' })
    expect(best.toSorted()).toEqual(whole.toSorted())
    for (const limit of isFull ? [1, 2, 5, 7, 20, 21] : [1, 7, 20, 21]) {
      expect(await find(store, 'delta', { limit })).toEqual(whole)
      expect(await find(store, 'delta', { limit, sort: 'relevance' })).toEqual(best)
    }
    for (const after of ['x', '5', '[5]', '["x"]', '[null,1]'])
      for (const sort of ['relevance', 'time'] as const)
        expect([after, await searchStore(store, 'delta', { after, sort })()]).toMatchObject([after, { left: { _tag: 'InvalidId' } }]) // oxfmt-ignore
  })

  it('tells with an index whether another page follows', async () => {
    const store = await open()
    const { index } = store
    if (index === undefined || !place().indexed) return
    for (const id of ['a', 'b'])
      await createWith(store, id, ...Array.from({ length: 3 }, (_, n) => user(`epsilon ${n}`)))
    const at = (position: number) => store.now() + position
    const pages = async (query: Omit<RowQuery, 'all'>): Promise<readonly (readonly number[])[]> => {
      const found: (readonly number[])[] = []
      for (let after: string | undefined; ;) {
        const page = await index.find({ all: [{ term: 'epsilon' }], ...query, ...(after !== undefined && { after }) })
        if (page === undefined) throw new Error('there is an index')
        found.push(page.rows.map(({ row }) => row.position))
        for (const { logs } of page.rows) expect(logs).toHaveLength(1)
        after = page.next
        if (after === undefined) return found
      }
    }
    expect(await pages({ limit: 6 })).toEqual([[2, 1, 0, 2, 1, 0]])
    expect(await pages({ limit: 5 })).toEqual([[2, 1, 0, 2, 1], [0]])
    expect(await pages({ limit: 3 })).toEqual([
      [2, 1, 0],
      [2, 1, 0],
    ])
    for (const log of ['a', 'b']) {
      expect(await pages({ limit: 3, log })).toEqual([[2, 1, 0]])
      expect(await pages({ limit: 2, log })).toEqual([[2, 1], [0]])
    }
    expect(await pages({ limit: 6, since: at(-600_000) })).toEqual([[2, 1, 0, 2, 1, 0]])
    expect(await pages({ limit: 6, since: at(600_000) })).toEqual([[]])
    expect(await pages({ limit: 6, until: at(600_000) })).toEqual([[2, 1, 0, 2, 1, 0]])
    expect(await pages({ limit: 6, until: at(-600_000) })).toEqual([[]])
  })

  it.each([1, 3, 20])('returns all remaining hits where the last hit of a page of %i goes', async (limit) => {
    const gone: Readonly<Record<string, (store: Store, session: Session, position: number) => Promise<unknown>>> = {
      erased: async (store, session, position) => eraseMessages(store, session.id, [position]),
      retracted: async (_, session, position) => session.rewind(position),
    }
    for (const go of Object.values(gone)) {
      const store = await open()
      for (const id of ['a', 'b'])
        await createWith(
          store,
          id,
          ...Array.from({ length: isFull || limit === 20 ? 25 : 8 }, (_, n) => user(`zeta ${n}`)),
        )
      const before = places(await all(store, 'zeta'))
      const { hits, next } = await searchStore(store, 'zeta', { limit })
      const last = hits.at(-1) as SearchHit
      await go(store, await openSession(store, last.session), last.position)
      const rest = places(await all(store, 'zeta', { limit, after: next as string }))
      expect([...places(hits), ...rest]).toEqual(before)
    }
  })

  it('ranks by score, then newest first', async () => {
    const store = await open()
    const far = (a: string, b: string): string => `${a} ${'and then something else '.repeat(12)}${b}`
    await createWith(store, 'once', user(`${'a long story about many things '.repeat(40)} the rate limit at its end`))
    await createWith(store, 'tool', toolResult('c1', 'rate limit'))
    await createWith(store, 'again', user('rate limit: the rate limit is the rate limit'), user('rate limit'))
    await createWith(store, 'apart', user(far('rate', 'limit')))
    await createWith(store, 'same', user('rate limit'))
    const hits = await all(store, 'rate limit')
    expect(places(hits)).toEqual(['again:0', 'same:0', 'again:1', 'once:0', 'tool:0', 'apart:0'])
    expect(hits.every(({ score }, index) => score >= 0 && score <= (hits[index - 1]?.score ?? 1))).toBe(true)
    expect(hits[1]?.score).toBe(hits[2]?.score)
  })

  it('ranks the newest hits first, then the next ones', async () => {
    const store = await open()
    const about = (n: number): Message => user(n === 0 || n === 400 ? 'eta eta eta' : `one eta in message ${n} of many`)
    await createWith(store, 'a', ...Array.from({ length: 600 }, (_, n) => about(n)))
    const pages = await all(store, 'eta', { limit: 100 })
    expect(pages).toHaveLength(600)
    expect(new Set(places(pages)).size).toBe(600)
    expect(places(pages).indexOf('a:400')).toBe(0)
    expect(places(pages).indexOf('a:0')).toBe(500)
  })

  it('skips and lists sessions without a key', async () => {
    const store = await open()
    const ring = keyRing([newHostKey()], { keysIn: memoryStore() })
    const keyed = withKeys(store, ring)
    await createWith(store, 'clear', user('theta is said'))
    await createWith(keyed, 'kept', user('theta is secret'))
    await createWith(keyed, 'gone', user('theta is lost'))
    const passed = await searchStore(store, 'theta')
    expect(passed).toMatchObject({ hits: [{ session: 'clear' }], encrypted: ['gone', 'kept'] })
    expect(thawed(passed)).toBeUndefined()
    expect(await searchStore(store, 'theta', { session: 'kept' })).toMatchObject({ hits: [], encrypted: ['kept'] })
    expect(await searchStore(store, 'theta', { session: 'clear' })).not.toHaveProperty('encrypted')
    await forkSession(keyed, 'gone', { id: 'fork', at: 1 })
    await destroyKey(store, 'gone', ring)
    // Names that took long are used for twenty times as long, so it is later now.
    const later = Date.now() + 3_600_000
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => later)
    try {
      const page = await searchStore(withKeys(store, ring, { plain: 'read' }), 'theta', { sort: 'time' })
      expect(places(page.hits)).toEqual(['kept:0', 'clear:0'])
      expect(page.encrypted?.toSorted()).toEqual(['fork', 'gone'])
    } finally {
      clock.mockRestore()
    }
  })

  it('accepts any text as a query', async () => {
    const store = await open()
    const hostile = `"a' OR 1=1; drop table row; -- NEAR(x, y) {col}: ^z \u0000nul \ud83d\ude80 * (`
    await createWith(store, 'a', user(hostile), user('é'.repeat(20_000)), user(`${'x'.repeat(100_000)} end`))
    const queries = [hostile, '"', '""', '*', '-', '-*', '"-"', 'a AND OR NOT b', 'NEAR(a b)', 'col:a', '^a', '\0', '\ud83d', 'a*b', "'", '%', '_', '\\', '{}', '\u202e', ';', `${'w '.repeat(5000)}`] // oxfmt-ignore
    for (const query of queries) {
      const found = await searchStore(store, query)()
      if (found._tag === 'Left') expect([query, found.left._tag]).toEqual([query, 'EmptyQuery'])
    }
    expect(await find(store, 'drop table nul')).toEqual(['a:0'])
    expect(await find(store, '"or 1 1 drop"')).toEqual(['a:0'])
    expect(await find(store, 'end')).toEqual(['a:2'])
    expect(await find(store, 'x'.repeat(100_000))).toEqual(['a:2'])
    expect(await find(store, 'x'.repeat(99_999))).toEqual([])
    expect(await find(store, `${'x'.repeat(99_999)}*`)).toEqual(['a:2'])
    expect(await find(store, `end -${'x'.repeat(99_999)}`)).toEqual(['a:2'])
    expect(await find(store, 'é'.repeat(20_000))).toEqual(['a:1'])
    expect(await searchStore(store, '-a -b')()).toMatchObject({ left: { _tag: 'EmptyQuery' } })
  })

  it('finds messages of erasable sessions', async () => {
    const store = await open()
    await createSession(store, { id: 'a', erasable: true, messages: [user('the needle'), user('the needle too')] })
    await eraseMessages(store, 'a', [1], { reason: 'asked to' })
    const { hits, damaged } = await searchStore(store, 'needle')
    expect([places(hits), damaged]).toEqual([['a:0'], undefined])
  })

  it('finds nothing outside of sessions or in an unfinished import', async () => {
    const store = await open()
    await store.create({ id: 'log', rows: [{ kind: 'entry', body: '{"page":"conversation","message":{"role":"user","content":[{"type":"text","text":"epsilon"}]}}' }], encrypt: false }) // oxfmt-ignore
    await store.create({ id: 'other', rows: [{ kind: 'entry', body: 'epsilon' }, { kind: 'note', body: 'retraction' }], encrypt: false }) // oxfmt-ignore
    await store.create({ id: 'half', meta: { 'indelible.partial': 'import' }, rows: [{ kind: 'entry', body: '{"page":"conversation","message":{"role":"user","content":[{"type":"text","text":"epsilon"}]}}' }], encrypt: false }) // oxfmt-ignore
    await createWith(store, 'a', user('epsilon'))
    expect(await find(store, 'epsilon')).toEqual(['a:0'])
  })

  it('keeps scopes apart', async () => {
    const store = await open()
    const other = orThrow(store.scoped(`${store.scope}-other`))
    await createWith(store, 'a', user('zeta here'))
    await createWith(other, 'a', user('zeta there'))
    expect(marked(await all(store, 'zeta here'))).toEqual(['zeta', 'here'])
    expect(await find(store, 'there')).toEqual([])
    expect(await find(other, 'there')).toEqual(['a:0'])
  })

  it('finds exactly what a linear scan finds', async () => {
    const word = fc.constantFrom('ab', 'abc', 'b', 'cd', 'CD', 'é', 'e')
    const said = fc.array(word, { minLength: 1, maxLength: 6 })
    const term = fc.record({ words: fc.array(word, { minLength: 1, maxLength: 2 }), prefix: fc.boolean() })
    const query = fc.record({ wanted: fc.array(term, { minLength: 1, maxLength: 2 }), unwanted: fc.array(term, { maxLength: 1 }) }) // oxfmt-ignore
    type Term = { readonly words: readonly string[]; readonly prefix: boolean }
    const plain = (text: string): string => text.toLowerCase().replace('é', 'e')
    const has = (words: readonly string[], wanted: Term): boolean =>
      words.some((_, at) =>
        wanted.words.every((word, index) => {
          const there = plain(words[at + index] ?? '\0')
          const isLast = index === wanted.words.length - 1
          return wanted.prefix && isLast ? there.startsWith(plain(word)) : there === plain(word)
        }),
      )
    const textOf = ({ words, prefix }: Term): string => `"${words.join(' ')}"${prefix ? '*' : ''}`
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(said, { maxLength: 5 }), { maxLength: 3 }),
        fc.array(query, { maxLength: 4 }),
        async (sessions, queries) => {
          const store = await open()
          for (const [index, messages] of sessions.entries())
            await createWith(store, `s${index}`, ...messages.map((words) => user(words.join(', '))))
          for (const { wanted, unwanted } of queries) {
            const expected = sessions.flatMap((messages, index) =>
              messages.flatMap((words, position) =>
                wanted.every((one) => has(words, one)) && !unwanted.some((one) => has(words, one))
                  ? [`s${index}:${position}`]
                  : [],
              ),
            )
            const asked = [...wanted.map(textOf), ...unwanted.map((one) => `-${textOf(one)}`)].join(' ')
            expect([asked, (await find(store, asked)).toSorted()]).toEqual([asked, expected.toSorted()])
          }
        },
      ),
      { numRuns: rounds(8, 300) },
    )
  })

  it('answers a question with sessions, each with its best passages', async () => {
    const store = await open()
    await createWith(store, 'tabs', user('Use tabs, please.'), assistant('Tabs it is.'))
    await createWith(
      store,
      'database',
      user('Which database should we use?'),
      assistant('We decided on SQLite, because it needs no server.'),
      user('Good. And the tests?'),
    )
    await createWith(store, 'postgres', user('A database for the server: PostgreSQL?'), assistant('Decide later.'))
    const found = await searchStore(store, { question: 'When did we decide on SQLite as the database?' })
    expect(thawed(found)).toBeUndefined()
    expect(found.indexed).toBe(place().indexed)
    expect(found.sessions.map(({ session }) => session)).toEqual(['database', 'postgres'])
    const [best] = found.sessions
    expect(places(best?.passages ?? [])).toEqual(['database:1', 'database:0'])
    expect(marked(best?.passages ?? [])).toEqual(['decided', 'SQLite', 'database'])
    expect(best?.passages[0]).toMatchObject({ role: 'assistant', in: 'message', retracted: false })
    expect([best?.more, found.more]).toEqual([0, 0])
    const one = await searchStore(store, { question: 'database, server, decide', limit: 1, passages: 1 })
    expect(one.sessions.map(({ passages, more }) => [places(passages), more])).toEqual([[['postgres:0'], 1]])
    expect(one.more).toBe(1)
    expect((await searchStore(store, { question: 'Who has a zebra?' })).sessions).toEqual([])
    expect((await searchStore(store, { question: 'Whose is it?' })).sessions).toEqual([]) // frequent words only
    const damaged = await searchStore(store, { question: '¿?' })()
    expect(damaged).toMatchObject({ left: { _tag: 'EmptyQuery' } })
  })

  it('finds the words of a question in other forms and in any script', async () => {
    const store = await open()
    const texts = ['The policies were generalized.', '東京都の天気はどうですか', 'Der Zügel, die Entscheidungen', 'café 42', 'поезд', '서울에서'] // oxfmt-ignore
    for (const [index, output] of texts.entries()) await createWith(store, `s${index}`, user(output))
    const ask = async (question: string): Promise<readonly string[]> =>
      (await searchStore(store, { question })).sessions.map(({ session }) => session)
    expect(await ask('Which policy generalizes?')).toEqual(['s0'])
    expect(await ask('東京の天気')).toEqual(['s1'])
    expect(await ask('気')).toEqual(['s1'])
    expect(await ask('entscheidungen')).toEqual(['s2'])
    expect(await ask('Entscheidung')).toEqual([])
    expect(await ask('ZUGEL?')).toEqual(['s2'])
    expect(await ask('cafes')).toEqual(['s3'])
    expect(await ask('поезд')).toEqual(['s4'])
    expect(await ask('서울')).toEqual(['s5'])
    expect(await find(store, 'polici')).toEqual([]) // a stem is no word
    expect(await find(store, 'polici*')).toEqual(['s0:0'])
    expect(await find(store, 'generalized -gener')).toEqual(['s0:0'])
  })

  it('filters what a question finds', async () => {
    const store = await open()
    await createSession(store, { id: 'a', messages: [user('deploy on Monday'), assistant('deploying')], metadata: { project: { name: 'x' } } }) // oxfmt-ignore
    await createSession(store, {
      id: 'b',
      messages: [user('deploy on Friday'), assistant(toolCall('c', 'deploy', '{}')), toolResult('c', 'never')],
      metadata: { project: { name: 'y' } },
    })
    const ask = async (options: Omit<QuestionSearch, 'question'>): Promise<readonly string[]> =>
      (await searchStore(store, { question: 'When is the deployment deployed?', ...options })).sessions
        .flatMap(({ passages }) => places(passages))
        .toSorted()
    expect(await ask({})).toEqual(['a:0', 'a:1', 'b:0', 'b:1'])
    expect(await ask({ where: { project: { name: 'y' } } })).toEqual(['b:0', 'b:1'])
    expect(await ask({ where: { project: 'x' } })).toEqual([])
    expect(await ask({ sessions: ['b', 'none'] })).toEqual(['b:0', 'b:1'])
    expect(await ask({ sessions: ['a'], where: { project: { name: 'y' } } })).toEqual([])
    expect(await ask({ sessions: [] })).toEqual([])
    expect(await ask({ session: 'a', sessions: ['b'] })).toEqual([])
    expect(await ask({ role: 'user' })).toEqual(['a:0', 'b:0'])
    expect(await ask({ in: 'tools' })).toEqual(['b:1'])
    expect(await ask({ in: 'messages' })).toEqual(['a:0', 'a:1', 'b:0'])
    expect(await ask({ session: 'a' })).toEqual(['a:0', 'a:1'])
    expect(await ask({ until: 5 })).toEqual([])
    expect(await ask({ since: 5 })).toHaveLength(4)
    expect(await searchStore(store, { question: 'deploy', session: 'none' })()).toMatchObject({ left: { _tag: 'NoSuchLog' } }) // oxfmt-ignore
    const asked = { question: 'When is the deployment deployed?', limit: 1 }
    for (const filter of [{ sessions: ['a', 'none'] }, { where: { project: { name: 'x' } } }])
      expect(await searchStore(store, { ...asked, ...filter })).toMatchObject({ sessions: [{ session: 'a' }], more: 0 })
    await forkSession(store, 'a', { id: 'fork', at: 1 })
    expect(await ask({ session: 'fork' })).toEqual(['fork:0'])
    expect(await ask({ sessions: ['fork'] })).toEqual([]) // its only message is found in the session it is of
    expect(await ask({})).toHaveLength(4)
  })

  it('answers no question from retracted or erased messages, or removed sessions', async () => {
    const store = await open()
    const session = await createSession(store, { id: 'a', messages: [user('the vault code'), assistant('noted')] })
    await session.rewind(0)
    const ask = async (options: Partial<QuestionSearch> = {}): Promise<readonly string[]> =>
      (await searchStore(store, { question: 'What is the code of the vault?', ...options })).sessions.flatMap(
        ({ passages }) => places(passages),
      )
    expect(await ask()).toEqual([])
    expect(await ask({ retracted: true })).toEqual(['a:0'])
    await createSession(store, { id: 'b', erasable: true, messages: [user('another vault'), user('more')] })
    expect(await ask()).toEqual(['b:0'])
    await eraseMessages(store, 'b', [0], { reason: 'asked' })
    expect(await ask()).toEqual([])
    await createWith(store, 'c', user('a vault'))
    expect(await ask()).toEqual(['c:0'])
    await store.remove('c')
    expect(await ask()).toEqual([])
  })

  it('puts sessions of the month that a question names before others', async () => {
    const store = await open()
    const month = new Date().toLocaleString('en', { month: 'long', timeZone: 'UTC' })
    const other = month === 'January' ? 'July' : 'January'
    await createWith(store, 'a', user('We had a meeting.'))
    const [now, then] = await Promise.all(
      [month, other].map((name) => searchStore(store, { question: `Where did we meet in ${name}?` })),
    )
    expect(now?.sessions[0]?.score).toBeGreaterThan(then?.sessions[0]?.score ?? 1)
  })

  it('answers what memory answers, whatever is asked', async () => {
    const word = fc.constantFrom(
      'decide',
      'decided',
      'deciding',
      'vault',
      'vaults',
      'é',
      'E',
      '東京',
      '京',
      'the',
      'x1',
      'a\u0000b',
      "o'clock",
      'U\ufb01',
      '🚀',
    )
    const said = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(said, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 }),
        fc.array(fc.oneof(said, fc.string({ unit: 'binary' })), { minLength: 1, maxLength: 4 }),
        async (sessions, questions) => {
          const [store, plain] = [await open(), memoryStore()]
          for (const [index, messages] of sessions.entries())
            for (const each of [store, plain])
              await createWith(each, `s${index}`, ...messages.map((text) => user(text)))
          for (const question of questions) {
            const [a, b] = [await searchStore(store, { question })(), await searchStore(plain, { question })()]
            const answer = (found: typeof a): unknown =>
              isLeft(found)
                ? found.left
                : [
                    found.right.more,
                    found.right.sessions.map(({ passages, ...rest }) => [
                      rest,
                      passages.map((hit) => ({ ...hit, at: 0 })), // the stores have clocks of their own
                    ]),
                  ]
            expect([question, answer(a)]).toEqual([question, answer(b)])
          }
        },
      ),
      { numRuns: rounds(8, 300) },
    )
  })

  it('answers questions of any length, and lets other work run', async () => {
    const store = await open()
    const long = Array.from({ length: 150_000 }, (_, n) => `word${n}`).join(' ')
    await createWith(store, 'a', user(`${'lorem ipsum dolor '.repeat(40_000)} word3`), user(long.slice(0, 300_000)))
    const pasted = `${'lorem ipsum sit amet '.repeat(200)} word3`
    for (const question of [long, pasted, '?'.repeat(100_000) + ' word3', '" - * NEAR( word3', '東'.repeat(50_000)]) {
      let turns = 0
      let going = true
      const count = (): void => {
        turns += 1
        if (going) setImmediate(count)
      }
      setImmediate(count)
      const found = await searchStore(store, { question })
      going = false
      if (question !== pasted) expect((await searchStore(store, `${question} nowhere`)).hits).toEqual([])
      expect(found.sessions).toHaveLength(question.startsWith('東') ? 0 : 1)
      if (!place().indexed) expect(turns).toBeGreaterThan(2)
    }
  })
}
