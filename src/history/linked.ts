/** A history whose messages another record gets too, such as a stored session. */
import type { Immutable } from '../json/index.ts'
import { classify, type PageKind } from '../pages/index.ts'
import type { History } from './history.ts'
import { continueFrom, emptyLog, handleOf, record, type Link, type Log } from './log.ts'
import { partOf, type Part } from './read.ts'
import { emptyContent } from './state.ts'
import type { View } from './view.ts'

/** A linked history, and what only its maker can do with it. */
export interface LinkedHistory<M> {
  readonly history: History<M>
  /** Records a message that the other record has already. */
  readonly add: (message: Immutable<M>, page: PageKind) => void
  /** Continues from a view of the other record, if that did not go on as expected. Earlier views of the history stay. */
  readonly restart: (from: View<M>) => void
}

export const linkedHistory = <M>(from: View<M>, link: Link<M>): LinkedHistory<M> => {
  const log: Log<M> = { ...emptyLog<M>(classify), link }
  const restart = (view: View<M>): void => {
    log.content = emptyContent()
    log.whole = undefined
    continueFrom(log, partOf<M>(view) as Part<M>) // a view of this library has a part
  }
  restart(from)
  return { history: handleOf(log), add: (message, page) => void record(log, message, page), restart }
}
