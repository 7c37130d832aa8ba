/** The time of an imported message in its source file. Readers keep it in the message's `meta`. */
import type { Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { timeOf } from '../format/format-facts.ts'
import { formats } from '../programs/formats.ts'

/**
 * The time of an imported message in its source file. The rows of an imported session
 * have these times, in ascending order (`timeOf`).
 *
 * Cost    O(1)
 *
 * @param message the message, from a transcript or a session
 * @returns milliseconds since 1970; undefined if the file has no time for it
 */
export const sourceTimeOf = (message: Pick<Message | Immutable<Message>, 'meta'>): number | undefined => {
  for (const format of formats) {
    const time = timeOf(format, message)
    if (time !== undefined) return time
  }
  return undefined
}
