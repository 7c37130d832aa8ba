/** Ids of calls as the API takes them: the same for a call and its result, another for every other call. */
import type { Sequence } from '../../sequence/index.ts'
import type { Message } from '../message.ts'
import { fitsId, fitted } from './rules.ts'

export class Ids {
  readonly #messages: Sequence<Message>
  /** What stands for each id that does not fit. */
  readonly #written = new Map<string, string>()
  #taken: Set<string> | undefined

  constructor(messages: Sequence<Message>) {
    this.#messages = messages
  }

  /** @param exact as it is, whether it fits or not */
  ofCall(id: string, exact: boolean): string {
    if (fitsId(id)) return id
    if (exact) this.#written.set(id, id)
    return this.ofResult(id, exact)
  }

  /** The result goes with its call. */
  ofResult(id: string, exact: boolean): string {
    return fitsId(id) ? id : (this.#written.get(id) ?? (exact ? id : this.#fit(id)))
  }

  #fit(id: string): string {
    // Gathered when it is first needed: mostly never.
    this.#taken ??= idsIn(this.#messages)
    const near = fitted(id) || 'call'
    let free = near
    for (let count = 2; this.#taken.has(free); count++) free = `${near}_${count}`
    this.#taken.add(free)
    this.#written.set(id, free)
    return free
  }
}

const idsIn = (messages: Sequence<Message>): Set<string> => {
  const ids = new Set<string>()
  for (const { content } of messages) for (const part of content) if (part.type === 'tool_call') ids.add(part.id)
  return ids
}
