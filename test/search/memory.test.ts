/** Searching a store that keeps no index: its messages are read. */
import { describe, expect, it } from 'vitest'
import { faultMessage, memoryStore, orThrow } from 'indelible'
import { dropIndex, indexStore } from 'indelible/search'
import { searchCases } from './cases.ts'

describe('a search of a store in memory', () => {
  searchCases(() => ({ open: async () => memoryStore(), indexed: false }))

  it('has no index', async () => {
    const made = await indexStore(memoryStore())()
    expect(made).toMatchObject({ left: { _tag: 'NoFullText' } })
    if (made._tag === 'Left') expect(faultMessage(made.left)).toMatch(/no search index/)
    orThrow(await dropIndex(memoryStore())())
  })
})
