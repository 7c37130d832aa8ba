/** Checks ids of logs, operations, scopes and blocks, and the hashes of rows. */
import { isBlockId } from '../../proof/internal.ts'
import type { StoreFaultOf } from '../fault.ts'

/** The longest id, in bytes of UTF-8. */
const maxIdBytes = 255

/**
 * Check an id.
 *
 * @param what the thing it names
 * @returns the fault; undefined if the id is valid
 */
export const invalidId = (what: 'log' | 'scope' | 'operation', id: unknown): StoreFaultOf<'InvalidId'> | undefined => {
  const reason = idFault(id)
  return reason === undefined ? undefined : { _tag: 'InvalidId', what, reason }
}

/** The fault for the first value that is not a block id; undefined if all are valid. */
export const invalidBlockId = (ids: readonly unknown[]): StoreFaultOf<'InvalidId'> | undefined =>
  ids.every(isBlockId)
    ? undefined
    : { _tag: 'InvalidId', what: 'block', reason: 'it is not 64 lowercase hexadecimal digits' }

/** Whether a value is a leaf: 64 lowercase hexadecimal digits. */
export const isLeaf = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** The reason why a value is not a valid id; undefined if it is valid. */
export const idFault = (id: unknown): string | undefined => {
  if (typeof id !== 'string') return `it is ${id === null ? 'null' : typeof id}, not a string`
  if (id === '') return 'it is empty'
  if (id.length > maxIdBytes || utf8Length(id) > maxIdBytes) return `it is longer than ${maxIdBytes} bytes`
  if (!id.isWellFormed()) return `${JSON.stringify(id)} has a lone surrogate`
  const control = id.search(/\p{Cc}/u)
  if (control >= 0) return `${JSON.stringify(id)} has a control character at ${control}`
  return undefined
}

/** Compare ids by their UTF-8 bytes. This is code point order, which differs from the order of UTF-16 code units. */
export const compareIds = (a: string, b: string): number => {
  let at = 0
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1)
}

/** The length of a text in UTF-8 bytes. Counted by hand, so that a sandbox without encoders can check ids. */
const utf8Length = (text: string): number => {
  let length = 0
  for (const character of text) {
    const point = character.codePointAt(0) as number // a character has a code point
    length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return length
}
