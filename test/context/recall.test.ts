/** Recall: what a context only points at, given back by position, by search, and to a model as a tool. */
import { isLeft } from 'fp-ts/lib/Either.js'
import SearchableMap from 'minisearch/SearchableMap'
import { describe, expect, it, vi } from 'vitest'
import {
  faultMessage,
  assistant,
  createHistory,
  createSession,
  memoryStore,
  system,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import { lexicalSearch, recall, recallTool, type RecallFault } from 'indelible/context'
import { languages } from './languages.ts'

const longAnswer = `const days = 365\n${'// filler\n'.repeat(3000)}export const leapYear = (year: number) => year % 4 === 0 🙂`
const history = createHistory<Message>({
  from: [
    system('You fix bugs.'),
    user('The billing period is wrong in leap years.'),
    assistant('I will look.', toolCall('c1', 'read_file', { path: 'src/billing/period.ts' })),
    toolResult('c1', longAnswer),
    assistant('Found it.'),
  ],
})
const view = history.view()

const faultOf = (recalled: ReturnType<typeof recall>): RecallFault => {
  if (!isLeft(recalled)) throw new Error('it was found')
  return recalled.left
}

describe('recall', () => {
  it('returns the recorded entry for a position', () => {
    expect(recall(view, { position: 1 })).toMatchObject({
      right: [{ position: 1, page: 'conversation', message: user('The billing period is wrong in leap years.') }],
    })
  })
  it('returns the best matches for a query, with the matched words', () => {
    const recalled = recall(view, { query: 'billing period' })
    expect(recalled).toMatchObject({
      right: [
        { position: 2, words: ['billing', 'period'] },
        { position: 1, words: ['billing', 'period'] },
        { position: 3, words: [] }, // what stands between them and says neither
      ],
    })
  })
  it('finds prefixes and near misses, also in arguments and answers', () => {
    const positions = (query: string): readonly number[] => {
      const recalled = recall(view, { query })
      return isLeft(recalled) ? [] : recalled.right.map(({ position }) => position).toSorted()
    }
    expect(positions('bill')).toEqual([1, 2])
    expect(positions('biling')).toEqual([1, 2])
    expect(positions('pariod')).toEqual([1, 2])
    expect(positions('leap')).toEqual([1, 3])
    expect(recall(view, { query: 'leapYear' })).toMatchObject({ right: [{ position: 3 }, { position: 1 }] })
  })
  it('has separate faults for no match, denial and a failed search', () => {
    expect(faultOf(recall(view, { position: 99 }))).toEqual({ _tag: 'NoMatch', request: { position: 99 }, length: 5 })
    expect(faultOf(recall(view, { position: -1 }))._tag).toBe('NoMatch')
    expect(faultOf(recall(view, { position: 1.5 }))._tag).toBe('NoMatch')
    expect(faultOf(recall(view, { query: 'zebra' }))._tag).toBe('NoMatch')
    const awaited = faultOf(recall(view, { position: 1 }, { allow: (async () => false) as never }))
    expect(faultMessage(awaited)).toBe(
      'the search for position 1 failed: `allow` returned a promise; expected true or false',
    )
    const allow = (_: number, page: string): boolean => page !== 'conversation'
    expect(faultOf(recall(view, { position: 1 }, { allow }))).toEqual({
      _tag: 'Denied',
      request: { position: 1 },
      positions: [1],
    })
    const broken = {
      search: (): never => {
        throw new Error('index is gone')
      },
    }
    expect(faultOf(recall(view, { query: 'x' }, { search: broken }))).toMatchObject({
      _tag: 'SearchFailed',
      cause: new Error('index is gone'),
    })
    expect(
      [{ position: 99 }, { query: 'zebra' }].map((request) => faultMessage(faultOf(recall(view, request)))),
    ).toEqual([
      'there is no position 99: the record has 5 entries, from position 0',
      'nothing in the record matches "zebra"; try other words, or a position that a marker names',
    ])
    expect(faultMessage(faultOf(recall(view, { query: 'x' }, { search: broken })))).toBe(
      'the search for "x" failed: index is gone; you can still recall a message by its position',
    )
  })
  it('says of an asynchronous search what to do, and of a retracted position where it is', async () => {
    const asynchronous = { search: async () => [] } as never
    expect(faultMessage(faultOf(recall(view, { query: 'a' }, { search: asynchronous })))).toMatch(
      /await the search first/,
    )
    const session = await createSession(memoryStore(), { messages: [user('a'), user('b')] })
    await session.pop()
    expect(faultMessage(faultOf(recall(session.conversation(), { position: 1 })))).toMatch(
      /^position 1 is not part of this conversation/,
    )
  })
  it('reuses an index for new messages and detects another record', () => {
    const search = lexicalSearch()
    const growing = createHistory<Message>({ from: view })
    expect(search.search(growing.view(), 'parrot', 5)).toEqual([])
    growing.append(user('Feed the parrot.'))
    expect(search.search(growing.view(), 'parrot', 5)).toMatchObject([{ position: 5 }])
    expect(search.search(view, 'parrot', 5)).toEqual([]) // an earlier view of it
    const other = createHistory<Message>({ from: [user('A parrot.'), ...Array.from({ length: 6 }, () => user('x'))] })
    expect(search.search(other.view(), 'parrot', 5)).toMatchObject([{ position: 0 }])
    const [beginning, end] = [view.toArray().slice(0, -1), user('A cockatoo.')]
    const forked = createHistory<Message>({ from: [...beginning, end] }) // other only in its last message
    search.search(view, 'found', 5)
    expect(search.search(forked.view(), 'cockatoo', 5)).toMatchObject([{ position: beginning.length }])
  })
})

describe('context around a recalled answer', () => {
  const messages = ['zero', 'one', 'two apples', 'three apples', 'four', 'five', 'six apples'].map((one) => user(one))
  const fruit = createHistory<Message>({ from: messages }).view()
  const answers = (options: Parameters<typeof recall>[2]): readonly (readonly [number, readonly number[]])[] => {
    const recalled = recall(fruit, { query: 'apples' }, options)
    if (isLeft(recalled)) throw new Error(recalled.left._tag)
    return recalled.right
      .map(({ position, around = [] }) => [position, around.map((one) => one.position)] as const)
      .toSorted(([a], [b]) => a - b)
  }

  it('is included, each message once', () => {
    expect(answers({})).toEqual([
      [2, [1]],
      [3, [4]],
      [6, [5]],
    ])
    expect(answers({ around: 0 })).toEqual([
      [2, []],
      [3, []],
      [6, []],
    ])
    expect(
      answers({ around: 9 })
        .flatMap(([position, around]) => [[position], around].flat())
        .toSorted(),
    ).toEqual([0, 1, 2, 3, 4, 5, 6])
  })
  it('is included only where `allow` permits it', () => {
    expect(answers({ allow: (position) => position !== 4 && position !== 1 && position !== 2 })).toEqual([
      [3, []],
      [6, [5]],
    ])
  })
  it('is empty for a recall by position', () => {
    const recalled = recall(fruit, { position: 3 })
    expect(recalled).toEqual({ _tag: 'Right', right: [{ position: 3, page: 'conversation', message: messages[3] }] })
  })
})

describe('lexical search', () => {
  const positionsIn = (messages: readonly Message[], query: string, limit = 5): readonly number[] =>
    lexicalSearch()
      .search(createHistory<Message>({ from: messages }).view(), query, limit)
      .map(({ position }) => position)
  const others = ['The weather is fine.', 'Lunch is at noon.', 'Parking costs two coins.', 'The lamp is green.'].map(
    (output) => user(output),
  )

  it('finds inflected forms and ignores question words', () => {
    const messages = [...others, user('Melanie was painting sunrises with her studies.'), ...others]
    for (const query of ['Which sunrise did Melanie paint?', 'study', 'painted', 'What did Melanie paint?'])
      expect([query, positionsIn(messages, query)[0]]).toEqual([query, 4])
    expect(positionsIn(messages, 'what did she do?')).toEqual([])
    expect(positionsIn(messages, 'with her')[0]).toBe(4) // there is nothing else to go by
  })
  it('counts the forms of a word in a query once', () => {
    const messages = [...others, user('A sunrise.'), user('A lighthouse.'), user('Sunrise sunrise.')]
    const search = lexicalSearch()
    const scores = (query: string): unknown =>
      search.search(createHistory<Message>({ from: messages }).view(), query, 9)
    expect(scores('sunrise sunrises lighthouse')).toEqual(scores('sunrise lighthouse'))
  })
  it('finds an answer next to its question even without shared words', () => {
    const messages = [
      ...others,
      user('Where did Caroline spend her summer vacation?'),
      assistant('Mostly in Norway, hiking from hut to hut near the fjords and reading.'),
      ...others,
      user('Caroline called.'),
    ]
    expect(positionsIn(messages, 'Caroline summer vacation', 2)).toEqual([5, 4])
  })
  it('splits identifiers into parts and matches speaker names', () => {
    const messages = [...others, assistant('I changed parseInvoiceDate.'), { ...user('I like tea.'), name: 'Anna' }]
    expect(positionsIn(messages, 'parseInvoiceDate')).toEqual([4])
    expect(positionsIn(messages, 'invoice date')[0]).toBe(4)
    expect(positionsIn(messages, 'what does Anna like')[0]).toBe(5)
    expect(positionsIn(messages, 'Anna')).toEqual([5])
  })
  it('is no worse than a plain search in any language, and better without spaces', () => {
    // In turn, so that no two neighbours speak the same language.
    const output = [0, 1, 2, 3].flatMap((index) =>
      Object.values(languages).map((language) => language.said[index] ?? ''),
    )
    const view = createHistory<Message>({ from: output.map((one) => user(one)) }).view()
    const search = lexicalSearch()
    const missed = Object.values(languages).flatMap((language) =>
      language.asked.flatMap(([query, index]) => {
        const countMatches = search.search(view, query, 5).map(({ position }) => output[position])
        return countMatches.includes(language.said[index]) ? [] : [query]
      }),
    )
    expect(missed).toEqual(['猫が寝る場所']) // minisearch with its defaults misses 13 of the 51
  })
  it('does not depend on earlier queries', () => {
    const growing = createHistory<Message>()
    const kept = lexicalSearch()
    const output = [0, 1, 2, 3].flatMap((index) =>
      Object.values(languages).map((language) => language.said[index] ?? ''),
    )
    for (const one of output) {
      growing.append(user(one))
      kept.search(growing.view(), 'server update Katze', 5)
    }
    for (const length of [output.length, 20, 3])
      for (const query of ['server update', 'Rechnung März', '服务器', 'kissa'])
        expect(kept.search(growing.view().slice(0, length), query, 5)).toEqual(
          lexicalSearch().search(growing.view().slice(0, length), query, 5),
        )
  })
})

describe('a query of any size', () => {
  /** Words that share beginnings, and near misses of each other: what prefixes and fuzzy search have most work with. */
  const word = (index: number): string =>
    `${['config', 'contain', 'compare', 'process'][index % 4]}${index.toString(36)}`
  const record = createHistory<Message>({
    from: Array.from({ length: 2000 }, (_, index) =>
      user(Array.from({ length: 20 }, (_, at) => word((index * 20 + at) % 9973)).join(' ')),
    ),
  }).view()
  const search = lexicalSearch()
  search.search(record, 'where is the configuration of the process that compares containers?', 5)
  /** How many terms of the record are looked at for a query, and how many near misses are found. */
  const work = (query: string): { readonly terms: number; readonly misses: number } => {
    const { keys, fuzzyGet } = SearchableMap.prototype
    let [terms, misses] = [0, 0]
    vi.spyOn(SearchableMap.prototype, 'keys').mockImplementation(function* (this: SearchableMap) {
      for (const term of keys.call(this)) {
        terms += 1
        yield term
      }
    } as never)
    vi.spyOn(SearchableMap.prototype, 'fuzzyGet').mockImplementation(function (this: SearchableMap, ...given) {
      misses += 1
      return fuzzyGet.apply(this, given)
    })
    try {
      search.search(record, query, 5)
    } finally {
      vi.restoreAllMocks()
    }
    return { terms, misses }
  }

  it.each([
    ['one word of 30,000 letters', 'a'.repeat(30_000)],
    ['one word of 200,000 letters', 'z'.repeat(200_000)],
    ['one word of 3,000,000 letters', 'con'.repeat(1_000_000)],
    ['5,000 words', Array.from({ length: 5000 }, (_, index) => word(index)).join(' ')],
    ['words of three letters', 'con com pro cnf '.repeat(20_000)],
    ['near misses of many words', Array.from({ length: 3000 }, (_, index) => `x${word(index)}y`).join(' ')],
    ['words of 60 letters', Array.from({ length: 300 }, (_, index) => word(index).repeat(10)).join(' ')],
    ['no spaces, no letters', '\uffff\u202e\u0000-/'.repeat(100_000)],
    ['a language without spaces', '請求期間'.repeat(50_000)],
  ])('looks up at most 200 terms for each of 8 words: %s', (_, query) => {
    const { terms, misses } = work(query)
    expect(terms).toBeLessThanOrEqual(1600)
    expect(misses).toBeLessThanOrEqual(8)
  })
  it('is read up to 2,000 characters, and up to 20 words', () => {
    const countMatches = (query: string): number => search.search(record, query, 5).length
    const last = word(7)
    expect(countMatches(`${'. '.repeat(900)}${last}`)).toBeGreaterThan(0)
    expect(countMatches(`${'. '.repeat(1000)}${last}`)).toBe(0)
    const strange = (count: number): string => Array.from({ length: count }, (_, index) => `q${index}`).join(' ')
    expect(countMatches(`${strange(19)} ${last}`)).toBeGreaterThan(0)
    expect(countMatches(`${strange(20)} ${last}`)).toBe(0)
  })
  it('finds a word longer than the compared length', () => {
    const long = createHistory<Message>({ from: [user('Hello.'), user(`The key is ${'k'.repeat(5000)}.`)] }).view()
    expect(recall(long, { query: 'k'.repeat(5000) })).toMatchObject({ right: [{ position: 1 }] })
  })
})

describe('recallTool', () => {
  const tool = recallTool(() => history.view(), { maxCharacters: 1000 })

  it('has a tool description', () => {
    expect(tool).toMatchObject({
      name: 'recall',
      parameters: { type: 'object', properties: { position: { type: 'integer' }, query: { type: 'string' } } },
    })
  })
  it("returns the entry at a marker's position", () => {
    expect(tool.run({ position: 1 })).toBe('[1] user, conversation\nThe billing period is wrong in leap years.')
  })
  it('returns a long entry in parts without splitting a code point', () => {
    let [offset, all, parts] = [0, '', 0]
    for (;;) {
      const [, output = ''] = /^\[3\] tool, evidence\n(.*)$/s.exec(tool.run({ position: 3, offset })) ?? []
      const more =
        /\n\[Characters [\d,]+–[\d,]+ of [\d,]+\. To read on, use \{"position": 3, "offset": (\d+)\}\.\]$/.exec(output)
      all += more === null ? output : output.slice(0, more.index)
      parts += 1
      if (more === null) break
      offset = Number(more[1])
    }
    expect(parts).toBeGreaterThan(20)
    expect(all).toBe(longAnswer)
  })
  it('searches and shows the text around the words', () => {
    expect(tool.run({ query: 'leapYear' })).toMatch(/^\[3\] tool, evidence\n….*export const leapYear/s)
  })
  it('reads the record at the time of the call', () => {
    const growing = createHistory<Message>({ from: view })
    const fresh = recallTool(() => growing.view())
    expect(() => fresh.run({ query: 'parrot' })).toThrow('nothing in the record matches "parrot"')
    growing.append(user('Feed the parrot.'))
    expect(fresh.run({ query: 'parrot' })).toBe(
      '[5] user, conversation\nFeed the parrot.\nbefore it [4] assistant: Found it.',
    )
  })
  it.each([null, {}, { position: -1 }, { position: '1' }, { query: ' ' }, 'x', { position: 1, offset: -1 }])(
    'refuses %j',
    (input) => {
      expect(() => tool.run(input)).toThrow('Pass a position (0, 1, 2 …) or a query (words to search for).')
    },
  )
})

it('a search that knows a longer record finds in a shorter one what a new search finds', () => {
  const words = ['apple', 'pear', 'plum', 'cherry', 'fig']
  const record = createHistory<Message>()
  for (let index = 0; index < 60; index++)
    record.append(
      user(`${words[index % 5]} ${words[(index * 7 + 1) % 4]} ${index > 20 ? 'apple fig' : 'other things'}`),
    )
  const known = lexicalSearch()
  known.search(record.view(), 'apple', 5)
  for (let length = 0; length <= 60; length += 5)
    for (const query of ['apple', 'apple fig', 'pear things'])
      expect(known.search(record.view().slice(0, length), query, 60)).toEqual(lexicalSearch().search(record.view().slice(0, length), query, 60)) // oxfmt-ignore
})
