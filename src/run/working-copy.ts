/** A run's own copy of what it goes on with: each message stands where it does in the record, and so will the next. */
import { createHistory, without, type History, type Range, type View, leftOut } from '../history/index.ts'
import type { Message, Sequence } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'

export interface WorkingCopy {
  readonly append: (message: Message) => void
  /** The conversation. */
  readonly view: () => View<Message>
  /** How many messages the record has. */
  readonly len: number
}

/** The copy of a conversation: of a view as of any other messages, which then are all of a record. */
export const workingCopy = (from: Sequence<Message>): WorkingCopy => {
  const view = isView(from) ? from : undefined
  const end = view?.positionAt(view.length) as number | undefined
  if (view === undefined || end === view.length) return copyOf(createHistory<Message>({ from }), [])
  const history = createHistory<Message>()
  for (let index = 0; index <= view.length; index++) {
    while (history.len < (view.positionAt(index) as number)) history.append(nothing)
    if (index < view.length) history.append(view.at(index) as Message, view.pages.at(index) as PageKind)
  }
  return copyOf(history, leftOut(view))
}

const copyOf = (history: History<Message>, left: readonly Range[]): WorkingCopy => ({
  append: (message) => void history.append(message),
  view: () => (left.length === 0 ? history.view() : without(history.view(), left)),
  get len() {
    return history.len
  },
})

const isView = (messages: Sequence<Message>): messages is View<Message> => 'positionAt' in messages

/** Stands where a message was retracted. No view has it. */
const nothing: Message = Object.freeze({ role: 'user', content: Object.freeze([]) })
