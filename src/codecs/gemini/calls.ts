/** Pairs calls with results. Ids are optional in the wire; without them, names and order decide. */

import type { Message } from '../../message/index.ts'
import type { Sequence } from '../../sequence/index.ts'

/** The id for a call without one. It is not written back. */
export const madeId = (count: number): string => `call-without-id-${count}`

/**
 * Whether a call id was generated because the wire had none. It is not written back.
 *
 * @param id the id of a call, or the `callId` of a result
 */
export const isMadeId = (id: string): boolean => /^call-without-id-\d+$/.test(id)

/** The next number for a generated call id. */
export const nextMadeId = (messages: Sequence<Message>): number => {
  let made = 0
  for (const { content } of messages)
    for (const part of content)
      if (part.type === 'tool_call' && isMadeId(part.id))
        made = Math.max(made, Number(part.id.slice(part.id.lastIndexOf('-') + 1)) + 1)
  return made
}

/** Assigns ids while a conversation is read. */
export class CallReader {
  #made: number
  /** The calls of the model's last turn that have no result yet. */
  #open: { readonly id: string; readonly name: string }[] = []

  /** @param before the number of earlier calls without an id */
  constructor(before: number) {
    this.#made = before
  }

  copy(): CallReader {
    const same = new CallReader(this.#made)
    same.#open = [...this.#open]
    return same
  }

  /** Starts a model turn: earlier calls no longer wait for results. */
  turn(): void {
    this.#open = []
  }

  call(id: string | undefined, name: string): string {
    const known = id ?? madeId(this.#made++)
    this.#open.push({ id: known, name })
    return known
  }

  /** The id of a result's call: the waiting call with its id; if either has none, the first waiting call with that name. */
  result(id: string | undefined, name: string | undefined): string {
    const own = this.#open.findIndex((call) => call.id === id)
    const at =
      own !== -1 ? own : this.#open.findIndex((call) => call.name === name && (id === undefined || isMadeId(call.id)))
    const [found] = at === -1 ? [] : this.#open.splice(at, 1)
    return found?.id ?? id ?? madeId(this.#made++)
  }
}
