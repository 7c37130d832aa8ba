/** Calls and their results, found for each other. Ids are optional in the wire: without them name and order tell. */

/** The id of a call that has none in the wire. It is not written. */
const madeId = (count: number): string => `call-without-id-${count}`

/**
 * Whether the id of a call stands for none: the wire had no id, and none is written.
 *
 * @param id the id of a call, or the `callId` of a result
 */
export const isMadeId = (id: string): boolean => /^call-without-id-\d+$/.test(id)

/** The ids of a conversation, as it is read. */
export class CallReader {
  #made: number
  /** Calls of the last turn of the model that wait for a result. */
  #open: { readonly id: string; readonly name: string }[] = []

  /** @param before how many calls without an id came before */
  constructor(before: number) {
    this.#made = before
  }

  /** The model speaks again: what it called before is not waited for. */
  turn(): void {
    this.#open = []
  }

  /** The id of a call. */
  call(id: string | undefined, name: string): string {
    const known = id ?? madeId(this.#made++)
    this.#open.push({ id: known, name })
    return known
  }

  /** The id of the call that a result is for: the first one of that name that waits, if the result does not say it. */
  result(id: string | undefined, name: string | undefined): string {
    const at = this.#open.findIndex((call) => (id === undefined ? call.name === name : call.id === id))
    const [found] = at === -1 ? [] : this.#open.splice(at, 1)
    return id ?? found?.id ?? madeId(this.#made++)
  }
}
