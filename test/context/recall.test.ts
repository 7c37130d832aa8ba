/** Recall: what a context only points at, given back by position, by search, and to a model as a tool. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, system, toolCall, toolResult, user, type Message } from 'indelible'
import { lexicalSearch, recall, recallFaultText, recallTool, type RecallFault } from 'indelible/context'

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
  it('by position gives the recorded entry', () => {
    expect(recall(view, { position: 1 })).toMatchObject({ right: [{ position: 1, page: 'conversation', message: user('The billing period is wrong in leap years.') }] })
  })
  it('by query gives the best matches, with the words that were met', () => {
    const recalled = recall(view, { query: 'billing period' })
    expect(recalled).toMatchObject({ right: [{ position: 1 }, { position: 2 }] })
    expect(recalled).toMatchObject({ right: [{ words: expect.arrayContaining(['billing', 'period']) as string[] }, {}] })
  })
  it('finds prefixes and near misses, and what stands in arguments and answers', () => {
    expect(recall(view, { query: 'bill' })).toMatchObject({ right: [{ position: 1 }, { position: 2 }] })
    expect(recall(view, { query: 'biling' })).toMatchObject({ right: [{ position: 1 }, { position: 2 }] })
    expect(recall(view, { query: 'leapYear' })).toMatchObject({ right: [{ position: 3 }] })
  })
  it('no match, denied and a search that fails are faults of their own', () => {
    expect(faultOf(recall(view, { position: 99 }))).toEqual({ _tag: 'NoMatch', request: { position: 99 }, length: 5 })
    expect(faultOf(recall(view, { position: -1 }))._tag).toBe('NoMatch')
    expect(faultOf(recall(view, { position: 1.5 }))._tag).toBe('NoMatch')
    expect(faultOf(recall(view, { query: 'zebra' }))._tag).toBe('NoMatch')
    const allow = (_: number, page: string): boolean => page !== 'conversation'
    expect(faultOf(recall(view, { position: 1 }, { allow }))).toEqual({ _tag: 'Denied', request: { position: 1 }, positions: [1] })
    const broken = { search: (): never => { throw new Error('index is gone') } }
    expect(faultOf(recall(view, { query: 'x' }, { search: broken }))).toMatchObject({ _tag: 'SearchFailed', cause: new Error('index is gone') })
    expect([{ position: 99 }, { query: 'zebra' }].map((request) => recallFaultText(faultOf(recall(view, request))))).toEqual([
      'there is no position 99: the record has 5 entries, from position 0',
      'nothing in the record matches "zebra"; try other words, or a position that a marker names',
    ])
    expect(recallFaultText(faultOf(recall(view, { query: 'x' }, { search: broken })))).toBe('the search for "x" failed: index is gone; a position can still be recalled')
  })
  it('a kept search reads only what is new, and knows another record when it sees one', () => {
    const search = lexicalSearch()
    const growing = createHistory<Message>({ from: view })
    expect(search.search(growing.view(), 'parrot', 5)).toEqual([])
    growing.append(user('Feed the parrot.'))
    expect(search.search(growing.view(), 'parrot', 5)).toMatchObject([{ position: 5 }])
    expect(search.search(view, 'parrot', 5)).toEqual([]) // an earlier view of it
    const other = createHistory<Message>({ from: [user('A parrot.'), ...Array.from({ length: 6 }, () => user('x'))] })
    expect(search.search(other.view(), 'parrot', 5)).toMatchObject([{ position: 0 }])
  })
})

describe('recallTool', () => {
  const tool = recallTool(() => history.view(), { maxCharacters: 1000 })

  it('describes itself as a tool', () => {
    expect(tool).toMatchObject({ name: 'recall', parameters: { type: 'object', properties: { position: { type: 'integer' }, query: { type: 'string' } } } })
  })
  it('gives an entry back by the position that a marker names', () => {
    expect(tool.run({ position: 1 })).toBe('[1] user, conversation\nThe billing period is wrong in leap years.')
  })
  it('gives a long entry in parts, none of which cuts a code point in two', () => {
    let [offset, all, parts] = [0, '', 0]
    for (;;) {
      const [, said = ''] = /^\[3\] tool, evidence\n(.*)$/s.exec(tool.run({ position: 3, offset })) ?? []
      const more = /\n\[characters [\d,]+–[\d,]+ of [\d,]+; go on with \{"position": 3, "offset": (\d+)\}\]$/.exec(said)
      all += more === null ? said : said.slice(0, more.index)
      parts += 1
      if (more === null) break
      offset = Number(more[1])
    }
    expect(parts).toBeGreaterThan(20)
    expect(all).toBe(longAnswer)
  })
  it('searches, and shows what stands around the words', () => {
    expect(tool.run({ query: 'leapYear' })).toMatch(/^\[3\] tool, evidence\n….*export const leapYear/s)
  })
  it('reads the record as it is when it is called', () => {
    const growing = createHistory<Message>({ from: view })
    const fresh = recallTool(() => growing.view())
    expect(() => fresh.run({ query: 'parrot' })).toThrow('nothing in the record matches "parrot"')
    growing.append(user('Feed the parrot.'))
    expect(fresh.run({ query: 'parrot' })).toBe('[5] user, conversation\nFeed the parrot.')
  })
  it.each([null, {}, { position: -1 }, { position: '1' }, { query: ' ' }, 'x', { position: 1, offset: -1 }])('refuses %j', (input) => {
    expect(() => tool.run(input)).toThrow('give a position (0, 1, 2 …) or a query (words to search for)')
  })
})
