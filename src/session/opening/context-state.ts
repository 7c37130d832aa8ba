/** Where the state of a session's contexts is kept between processes: beside its log, if its store keeps such a text. */
import { isLeft } from '../../json/index.ts'
import type { SessionReader } from '../session.ts'
import { openingOf } from '../record/store-of.ts'

/** Keeps the state of contexts for the next process. What is lost of it is made again. */
export interface ContextStates {
  /**
   * Read the state.
   *
   * @returns the state that was written last; undefined if there is none
   */
  readonly read: () => Promise<string | undefined>
  /**
   * Write a state in place of the one before.
   *
   * @param state the `state` of a context
   * @returns nothing, when it is stored or could not be
   */
  readonly write: (state: string) => Promise<void>
}

/**
 * Keeps the state of a session's contexts in its store. A turn does this by itself.
 *
 * @param session the session
 * @returns what reads and writes it; undefined if its store keeps no states
 */
export const contextStates = (session: SessionReader): ContextStates | undefined => {
  const opened = openingOf(session)
  const states = opened?.store.states
  if (states === undefined) return undefined
  // A process that was open before an erasure may write after it: what it knew is not what the record says now.
  const mark = `${opened?.erased()} `
  return Object.freeze<ContextStates>({
    read: async () => {
      const read = await states.read(session.id)()
      return isLeft(read) || read.right?.startsWith(mark) !== true ? undefined : read.right.slice(mark.length)
    },
    write: async (state) => void (await states.write(session.id, `${mark}${state}`)()),
  })
}
