/** A run's own copy of its conversation. Every message has the same position as in the record. */
import { createHistory, omitRanges, type History, type Range, type View, omittedRanges } from '../history/index.ts'
import type { Message, Sequence } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'

export interface WorkingCopy {
  readonly append: (message: Message) => void
  readonly view: () => View<Message>
  /** The number of messages in the record. */
  readonly len: number
}

/** A copy of a conversation. Messages that are not a view are taken as a whole record. */
export const workingCopy = (from: Sequence<Message>): WorkingCopy => {
  const view = isView(from) ? from : undefined
  const end = view?.positionAt(view.length) as number | undefined
  if (view === undefined || end === view.length) return copyOf(createHistory<Message>({ from }), [])
  const history = createHistory<Message>()
  for (let index = 0; index <= view.length; index++) {
    while (history.len < (view.positionAt(index) as number)) history.append(retractedPlace)
    if (index < view.length) history.append(view.at(index) as Message, view.pages.at(index) as PageKind)
  }
  return copyOf(history, omittedRanges(view))
}

const copyOf = (history: History<Message>, left: readonly Range[]): WorkingCopy => ({
  append: (message) => void history.append(message),
  view: () => (left.length === 0 ? history.view() : omitRanges(history.view(), left)),
  get len() {
    return history.len
  },
})

const isView = (messages: Sequence<Message>): messages is View<Message> => 'positionAt' in messages

/** Placeholder at the position of a retracted message. It is in no view. */
const retractedPlace: Message = Object.freeze({ role: 'user', content: Object.freeze([]) })
