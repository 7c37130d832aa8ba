/**
 * Formats of what a store keeps, counted from 1: the tables of an adapter, and in them rows as all adapters write them. A
 * store says which format it has, by its number and its fingerprint.
 *
 * To add a format, append one to the list of the adapter, with the statements that bring the one before up to date.
 */
import { present } from '../../json/index.ts'
import type { OpenStoreFault } from '../fault.ts'

/** A format, as a step from the one before. */
export interface Format {
  /** The statements that make it of the format before, or of nothing. */
  readonly sql: string
  /**
   * A digest of the statements of all formats up to this one, and of samples of rows: a test computes it, and names the
   * right one where the format was changed. A format that a release has written does not change any more.
   */
  readonly fingerprint: string
}

/** What a store says of its format. */
export interface FoundFormat {
  readonly number: number
  /** Undefined: it says none. */
  readonly fingerprint: string | undefined
}

/** Why a store of this format can't be opened; undefined if it can be, or be brought up to date. */
export const againstFormat = (
  path: string,
  { number, fingerprint }: FoundFormat,
  formats: readonly Format[],
): OpenStoreFault | undefined => {
  if (number > formats.length) return { _tag: 'NewerStore', path, found: number, supported: formats.length }
  return fingerprint !== undefined && formats[number - 1]?.fingerprint === fingerprint
    ? undefined
    : { _tag: 'OlderStore', path, found: number, ...present({ fingerprint }) }
}
