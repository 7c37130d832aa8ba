/**
 * The formats of stored data, numbered from 1: the tables of an adapter, and the rows in them,
 * which all adapters write alike. A store records its format by number and fingerprint.
 *
 * To add a format, append it to the adapter's list, with the statements that upgrade the one before.
 */
import { present } from '../../json/index.ts'
import type { OpenStoreFault } from '../fault.ts'

/** A format, as an upgrade of the one before. */
export interface Format {
  /** The statements that create it from the format before, or from an empty store. */
  readonly sql: string
  /**
   * A digest of the statements of all formats up to this one, and of sample rows. A test computes
   * it, and prints the right one after a change. A released format never changes.
   */
  readonly fingerprint: string
}

/** The format that a store records. */
export interface FoundFormat {
  readonly number: number
  /** Undefined if the store records none. */
  readonly fingerprint: string | undefined
}

/** The fault for a store of this format; undefined if it can be opened, perhaps after an upgrade. */
export const formatFault = (
  path: string,
  { number, fingerprint }: FoundFormat,
  formats: readonly Format[],
): OpenStoreFault | undefined => {
  if (number > formats.length) return { _tag: 'NewerStore', path, found: number, supported: formats.length }
  return fingerprint !== undefined && formats[number - 1]?.fingerprint === fingerprint
    ? undefined
    : { _tag: 'OlderStore', path, found: number, ...present({ fingerprint }) }
}
