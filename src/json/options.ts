/** Options of a call, as somebody without types may give them. */
import { describe } from './reading.ts'

/**
 * The options of a call; an empty object where none are given.
 *
 * Throws  TypeError, if they are no object: a mistake in the program
 */
export const optionsOf = <T extends object>(call: string, given: T | undefined): T => {
  if (given === undefined) return {} as T // each option is optional, where a call may go without
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TypeError(`${call} takes its options as an object, found ${describe(given)}`)
  return given
}
