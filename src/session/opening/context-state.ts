/** Stores the state of a session's contexts between processes: beside its log, if the store supports it. */
import { isLeft } from '../../json/index.ts'
import type { SessionReader } from '../session.ts'
import { partsOf } from '../record/store-of.ts'

/** Stores the state of contexts for the next process. State that gets lost is rebuilt. */
export interface ContextStates {
  /**
   * Read the state.
   *
   * @returns the last state written; undefined if there is none
   */
  readonly read: () => Promise<string | undefined>
  /**
   * Replace the state.
   *
   * @param state the `state` of a context
   * @returns nothing, once the write succeeded or failed
   */
  readonly write: (state: string) => Promise<void>
}

/**
 * The state of a session's contexts in its store. A turn stores it without this function.
 *
 * @param session the session
 * @returns reads and writes the state; undefined if its store has no states
 */
export const contextStates = (session: SessionReader): ContextStates | undefined => {
  const opened = partsOf(session)
  const states = opened?.store.states
  if (states === undefined) return undefined
  // A process opened before an erasure may write after it. That state comes from the text before
  // the erasure, so it is ignored.
  const mark = `${opened?.mirror.erased.size} `
  return Object.freeze<ContextStates>({
    read: async () => {
      const read = await states.read(session.id)()
      return isLeft(read) || read.right?.startsWith(mark) !== true ? undefined : read.right.slice(mark.length)
    },
    write: async (state) => void (await states.write(session.id, `${mark}${state}`)()),
  })
}
