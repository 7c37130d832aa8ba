/** A run's own copy of its conversation. Every message has the same position as in the record. */
import { createHistory, omitRanges, type History, type Range, type View, omittedRanges } from '../../history/index.ts'
import type { Message, Sequence } from '../../message/index.ts'
import type { PageKind } from '../../pages/index.ts'

export class WorkingCopy {
  readonly #history: History<Message>
  /** The places of retracted messages, which the view omits. */
  readonly #omitted: readonly Range[]

  /** @param from a conversation. Messages that are not a view are taken as a whole record */
  constructor(from: Sequence<Message>) {
    const view = isView(from) && from.positionAt(from.length) !== from.length ? from : undefined
    this.#omitted = view === undefined ? [] : omittedRanges(view)
    this.#history = createHistory<Message>(view === undefined ? { from } : {})
    if (view === undefined) return
    for (let index = 0; index <= view.length; index++) {
      while (this.len < (view.positionAt(index) as number)) this.append(retractedPlace)
      if (index < view.length) this.append(view.at(index) as Message, view.pages.at(index) as PageKind)
    }
  }

  append(message: Message, page?: PageKind): void {
    this.#history.append(message, page)
  }

  view(): View<Message> {
    const view = this.#history.view()
    return this.#omitted.length === 0 ? view : omitRanges(view, this.#omitted)
  }

  /** The number of messages in the record. */
  get len(): number {
    return this.#history.len
  }
}

const isView = (messages: Sequence<Message>): messages is View<Message> => 'positionAt' in messages

/** Placeholder at the position of a retracted message. It is in no view. */
const retractedPlace: Message = Object.freeze({ role: 'user', content: Object.freeze([]) })
