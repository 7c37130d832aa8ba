/**
 * Call ids and function names that the providers' APIs accept. Longer ids or ids with other characters are replaced,
 * consistently for a call and its result.
 *
 * Source  errors of OpenAI's API: "Invalid 'input[2].call_id': string too long. Expected a string with maximum length
 *         64", in chat 40; "string does not match pattern … '^[a-zA-Z0-9_-]+$'" (2026-09)
 */
import type { Place } from './encoder.ts'
import type { ToolCallPart } from '../message/index.ts'

export const fitsCallId = (id: string, longest: number): boolean => id.length > 0 && id.length <= longest

export const fitsName = (name: string): boolean => /^[a-zA-Z0-9_-]+$/.test(name)

export class CallIds {
  readonly #longest: number
  readonly #letters: RegExp
  readonly #written = new Map<string, string>()
  readonly #taken = new Set<string>()

  /** @param letters the valid ids. Default: any */
  constructor(longest: number, letters: RegExp = /^/) {
    this.#longest = longest
    this.#letters = letters
  }

  /** The written id and name of a call. @param asItIs whether they came from this format and must be kept */
  ofCall({ id, name }: ToolCallPart, asItIs: boolean, place: Place): { readonly id: string; readonly name: string } {
    const written = { id: this.of(id, asItIs), name: asItIs || fitsName(name) ? name : replaceInvalid(name) }
    if (written.id !== id)
      place.lose(`must have 1 to ${this.#longest} characters and be unique: written as ${written.id}`, 'id')
    if (written.name !== name)
      place.lose(`must consist of letters, digits, _ and -: written as ${written.name}`, 'name')
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
    const start = replaceInvalid(id.slice(0, this.#longest - 9))
    for (let attempt = 0; ; attempt++) {
      const near = `${start}_${digest(`${id}${attempt || ''}`)}`
      if (this.#isFree(near)) return near
    }
  }
}

const replaceInvalid = (text: string): string => text.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'

/** Eight hexadecimal digits that usually differ for ids with the same beginning: FNV-1a. */
const digest = (text: string): string => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}
