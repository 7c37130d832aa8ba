/** Lexical search over a record. Its index grows with the record, so a repeated search only reads new messages. */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { addText, emptyIndex, rankTexts } from '../../ranking/internal.ts'
import { plain } from '../showing/represent.ts'

/** A search over a record, such as `lexicalSearch` or your own. */
export interface RecallSearch {
  /**
   * Finds the positions that match a query.
   *
   * @returns the results, best first; empty if nothing matches. A failure throws
   */
  readonly search: (view: View<Message>, query: string, limit: number) => readonly RecallMatch[]
}

/** A result of a search. */
export interface RecallMatch {
  /** The position in the record: `view.positionAt` of the index in the view. */
  readonly position: number
  /** The relevance. Higher is better. */
  readonly score: number
  /** The words that matched; empty if only neighbouring messages contain them. */
  readonly words: readonly string[]
}

/** A search by words, empty until its first query. Use one per record. */
export const lexicalSearch = (): RecallSearch => {
  let index = emptyIndex()
  let messages: Message[] = []
  return Object.freeze<RecallSearch>({
    search: (view, query, limit) => {
      const shared = Math.min(messages.length, view.length)
      if (shared > 0 && view.at(shared - 1) !== messages[shared - 1]) [index, messages] = [emptyIndex(), []] // a different record or a fork
      for (let at = messages.length; at < view.length; at++) {
        const message = view.at(at) as Message
        messages.push(message)
        addText(index, Object.hasOwn(message, 'name') ? `${message.name}\n${textOf(message)}` : textOf(message))
      }
      const ranked = rankTexts(index, query, view.length, limit, (at) => textOf(messages[at] as Message))
      return ranked.map(({ position, score, words }) =>
        Object.freeze({ position: view.positionAt(position) as number, score, words }),
      )
    },
  })
}

const textOf = ({ content }: Message): string => content.map(plain).join('\n')
