/** Searching a store that keeps no index: its messages are read. */
import { describe, expect, it } from 'vitest'
import { faultMessage, memoryStore, orThrow } from 'indelible'
import { dropIndex, indexStore, searchStore } from 'indelible/search'
import { searchCases } from './cases.ts'

describe('a search of a store in memory', () => {
  searchCases(() => ({ open: async () => memoryStore(), indexed: false }))

  it.each([
    [{ since: NaN }, '`since` as a time in milliseconds since 1970, not NaN'],
    [{ until: Infinity }, '`until` as a time'],
    [{ since: '2026-01-01' }, '`since` as a time'],
    [{ role: 'model' }, "`role` as one of 'system', 'developer', 'user', 'assistant', 'tool', not \"model\""],
    [{ in: 'text' }, "`in` as one of 'messages', 'tools', 'all', not \"text\""],
    [{ sort: 'score' }, "`sort` as one of 'relevance', 'time', not \"score\""],
    [{ limit: 0 }, '`limit` as a whole number from 1 to 1000, not 0'],
    [{ limit: 1.5 }, '`limit` as a whole number'],
    [{ limit: NaN }, '`limit` as a whole number'],
    [{ limit: '5' }, '`limit` as a whole number'],
    [{ session: 5 }, '`session` as a text, not 5'],
    [{ after: {} }, '`after` as a text'],
    [{ retracted: 'no' }, '`retracted` as true or false, not "no"'],
    [{ typing: 1 }, '`typing` as true or false, not 1'],
  ])('refuses %j, and says which option it is', (options, message) => {
    expect(() => searchStore(memoryStore(), 'a', options as object)).toThrow(message)
    expect(() => searchStore(memoryStore(), 'a', options as object)).toThrow(TypeError)
  })

  it('refuses options of an index that are none', () => {
    expect(() => indexStore(memoryStore(), { rebuild: 1 as unknown as boolean })).toThrow('`rebuild` as true or false')
    expect(() => indexStore(memoryStore(), { progress: 1 as unknown as () => void })).toThrow('`progress` as a function') // oxfmt-ignore
  })

  it('has no index', async () => {
    const made = await indexStore(memoryStore())()
    expect(made).toMatchObject({ left: { _tag: 'NoFullText' } })
    if (made._tag === 'Left') expect(faultMessage(made.left)).toMatch(/no search index/)
    orThrow(await dropIndex(memoryStore())())
  })
})
