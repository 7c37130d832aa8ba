/**
 * Call ids and function names as the API takes them. Ids of other formats may be longer: such a one is written as a
 * shorter one, the same each time, with its result's.
 *
 * Source  the API's refusals: "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64",
 *         "Invalid 'input[1].name': string does not match pattern … '^[a-zA-Z0-9_-]+$'" (2026-09)
 */
const longest = 64

export const fitsCallId = (id: string): boolean => id.length > 0 && id.length <= longest

export const fitsName = (name: string): boolean => /^[a-zA-Z0-9_-]+$/.test(name)

export const fittingName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'

/** The ids of one conversation, as they are written. */
export class CallIds {
  readonly #written = new Map<string, string>()
  readonly #taken = new Set<string>()

  /** @param asItIs whether the id stood in the format's own wire */
  of(id: string, asItIs: boolean): string {
    const known = this.#written.get(id)
    if (known !== undefined) return known
    let written = id
    if (!asItIs) {
      let attempt = 0
      while (!fitsCallId(written) || this.#taken.has(written)) written = `${fittingName(id.slice(0, longest - 9))}_${digest(`${id}${attempt++ || ''}`)}`
    }
    this.#written.set(id, written)
    this.#taken.add(written)
    return written
  }
}

/** Eight hexadecimal digits that differ for ids that begin alike, most of the time: FNV-1a. */
const digest = (text: string): string => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}
