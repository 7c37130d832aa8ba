/**
 * Lexical search over a record: an index that grows with it, so that asking again costs the new messages only.
 *
 * minisearch does the work: BM25+ ranking, prefixes and near misses, no dependencies of its own, in any runtime.
 */
import MiniSearch from 'minisearch'
import type { View } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import { plain } from './represent.ts'

/** What finds positions for a query. `lexicalSearch` is one; a caller may bring another. */
export interface RecallSearch {
  /** The best positions first, at most `limit`. None found is an empty list; what fails throws. */
  readonly search: (view: View<Message>, query: string, limit: number) => readonly Found[]
}

export interface Found {
  readonly position: number
  readonly score: number
  /** The words of the message that were met. */
  readonly words: readonly string[]
}

/** An index of its own, empty until it is first asked. Keep it beside the record that it is asked about. */
export const lexicalSearch = (): RecallSearch => {
  let index = emptyIndex()
  let known: Message[] = []
  return Object.freeze<RecallSearch>({
    search: (view, query, limit) => {
      const shared = Math.min(known.length, view.length)
      if (shared > 0 && view.at(shared - 1) !== known[shared - 1]) {
        index = emptyIndex() // another record, or a fork of this one
        known = []
      }
      for (let position = known.length; position < view.length; position++) {
        const message = view.at(position) as Message
        index.add({ id: position, said: message.content.map(plain).join('\n') })
        known.push(message)
      }
      return index
        .search(query, { filter: ({ id }) => (id as number) < view.length })
        .slice(0, limit)
        .map(({ id, score, match }) => Object.freeze({ position: id as number, score, words: Object.freeze(Object.keys(match)) }))
    },
  })
}

const emptyIndex = (): MiniSearch<{ readonly id: number; readonly said: string }> =>
  new MiniSearch({ fields: ['said'], searchOptions: { prefix: (word) => word.length > 2, fuzzy: (word) => (word.length > 5 ? 0.15 : false) } })
