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

/** A call that has no result yet. */
interface OpenCall {
  readonly id: string
  readonly name: string
}

/** Assigns ids while a conversation is read. */
export class CallReader {
  #made: number
  /** The calls of the model's last turn that have no result yet, in order. */
  #open = new Set<OpenCall>()
  /** The same by id and by name, and by name those whose ids were generated; answered calls may still be among them. */
  #byId: CallQueues = new Map()
  #byName: CallQueues = new Map()
  #madeByName: CallQueues = new Map()

  /** @param before the number of earlier calls without an id */
  constructor(before: number) {
    this.#made = before
  }

  copy(): CallReader {
    const same = new CallReader(this.#made)
    for (const call of this.#open) same.#add(call)
    return same
  }

  /** Starts a model turn: earlier calls no longer wait for results. */
  turn(): void {
    this.#open = new Set()
    this.#byId = new Map()
    this.#byName = new Map()
    this.#madeByName = new Map()
  }

  call(id: string | undefined, name: string): string {
    const known = id ?? madeId(this.#made++)
    this.#add({ id: known, name })
    return known
  }

  /**
   * The id of a result's call: the waiting call with its id; if either has none, the first waiting call with that name.
   *
   * Cost    O(1), amortized
   */
  result(id: string | undefined, name: string | undefined): string {
    const found = this.#first(this.#byId, id) ?? this.#first(id === undefined ? this.#byName : this.#madeByName, name)
    if (found === undefined) return id ?? madeId(this.#made++)
    this.#open.delete(found)
    return found.id
  }

  #add(call: OpenCall): void {
    this.#open.add(call)
    push(this.#byId, call.id, call)
    push(this.#byName, call.name, call)
    if (isMadeId(call.id)) push(this.#madeByName, call.name, call)
  }

  /** The first waiting call of a queue. Answered calls before it leave the queue. */
  #first(queues: CallQueues, key: string | undefined): OpenCall | undefined {
    const queue = key === undefined ? undefined : queues.get(key)
    if (queue === undefined) return undefined
    for (; queue.next < queue.calls.length; queue.next++) {
      const call = queue.calls[queue.next] as OpenCall
      if (this.#open.has(call)) return call
    }
    return undefined
  }
}

/** Calls by a key, in order; those before `next` are answered. */
type CallQueues = Map<string, { readonly calls: OpenCall[]; next: number }>

const push = (queues: CallQueues, key: string, call: OpenCall): void => {
  const queue = queues.get(key)
  if (queue === undefined) queues.set(key, { calls: [call], next: 0 })
  else queue.calls.push(call)
}
