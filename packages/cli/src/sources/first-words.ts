/** The first words of a stored session. */
import { isLeft } from 'indelible/internal/json'
import { readRange, type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import { oneLine } from '../terminal/screen.ts'
import { firstWordsOf, hasOwnWords } from '@indelible/view/internal'

/** The first words of its first messages, on one line. Empty if they can't be read. */
export const firstWords = async (store: Store, { id, len }: Pick<SessionInfo, 'id' | 'len'>): Promise<string> => {
  for (const to of [3, 12]) {
    const read = len === 0 ? undefined : await readRange(store, id, 0, to)()
    if (read === undefined || isLeft(read)) return ''
    const { view } = read.right
    if (to === 12 || to >= len || hasOwnWords(view)) return oneLine(firstWordsOf(view))
  }
  return ''
}
