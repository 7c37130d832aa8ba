/**
 * Call ids and function names as the providers' APIs take them. Ids of other formats may be longer, or of other letters:
 * such a one is written as another one, the same each time, with its result's.
 *
 * Source  the refusals of OpenAI's API: "Invalid 'input[2].call_id': string too long. Expected a string with maximum length
 *         64", in chat 40; "string does not match pattern … '^[a-zA-Z0-9_-]+$'" (2026-09)
 */
import type { Path } from '../json/index.ts'
import type { Writing } from './losses.ts'
import type { ToolCallPart } from '../message/index.ts'

export const fitsCallId = (id: string, longest: number): boolean => id.length > 0 && id.length <= longest

export const fitsName = (name: string): boolean => /^[a-zA-Z0-9_-]+$/.test(name)

/** The ids of one conversation, as they are written. */
export class CallIds {
  readonly #longest: number
  readonly #letters: RegExp
  readonly #written = new Map<string, string>()
  readonly #taken = new Set<string>()

  /** @param letters what ids are made of. Default: anything */
  constructor(longest: number, letters: RegExp = /^/) {
    this.#longest = longest
    this.#letters = letters
  }

  /** The id and name of a call. @param asItIs whether they stood in the format's own wire, which then is to be given back */
  ofCall(
    { id, name }: ToolCallPart,
    asItIs: boolean,
    writing: Writing,
    path: Path,
  ): { readonly id: string; readonly name: string } {
    const written = { id: this.of(id, asItIs), name: asItIs || fitsName(name) ? name : fitting(name) }
    if (written.id !== id)
      writing.lose([...path, 'id'], `is not of 1 to ${this.#longest} characters, or taken: written as ${written.id}`)
    if (written.name !== name)
      writing.lose([...path, 'name'], `is no name of letters, digits, _ and -: written as ${written.name}`)
    return written
  }

  of(id: string, asItIs: boolean): string {
    const known = this.#written.get(id)
    if (known !== undefined) return known
    const written = asItIs || this.#isFree(id) ? id : this.#near(id)
    this.#written.set(id, written)
    this.#taken.add(written)
    return written
  }

  #isFree(id: string): boolean {
    return fitsCallId(id, this.#longest) && this.#letters.test(id) && !this.#taken.has(id)
  }

  #near(id: string): string {
    const start = fitting(id.slice(0, this.#longest - 9))
    for (let attempt = 0; ; attempt++) {
      const near = `${start}_${digest(`${id}${attempt || ''}`)}`
      if (this.#isFree(near)) return near
    }
  }
}

const fitting = (text: string): string => text.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'

/** Eight hexadecimal digits that differ for ids that begin alike, most of the time: FNV-1a. */
const digest = (text: string): string => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}
