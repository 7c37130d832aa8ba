/** Checks options that are numbers, or one of a few words. */
import { describe } from '../json/index.ts'

/** The valid values of a numeric option. */
export interface Amount {
  /** The unit, such as `milliseconds`. */
  readonly unit: string
  /** The minimum. Default: 0. */
  readonly least?: number
  /** The maximum, `Infinity` for none. Default: `Infinity`. */
  readonly most?: number
  /** Whether it must be a whole number or `Infinity`. Default: `false`. */
  readonly whole?: boolean
}

/**
 * Returns the value of a numeric option.
 *
 * Throws  TypeError for anything else: `NaN`, a text, a number that is too small or too large
 */
export const amount = (
  name: string,
  value: unknown,
  { unit, least = 0, most = Infinity, whole = false }: Amount,
): number => {
  if (
    typeof value === 'number' &&
    value >= least &&
    value <= most &&
    (!whole || value === Infinity || Number.isInteger(value))
  )
    return value
  const found =
    typeof value === 'string'
      ? JSON.stringify(value.slice(0, 40))
      : typeof value === 'object' && value !== null
        ? 'an object'
        : String(value)
  throw new TypeError(
    `${name} is ${found}; expected a ${whole ? 'whole ' : ''}number of ${unit}, at least ${least}${most === Infinity ? ', or Infinity for no limit' : ` and at most ${most}`}`,
  )
}

/**
 * Returns the value of an option that is one of a few words.
 *
 * Throws  TypeError that lists them, for anything else
 */
export const choice = <Word extends string>(name: string, value: Word, words: readonly Word[]): Word => {
  if (words.includes(value)) return value
  throw new TypeError(`${name} is ${describe(value)}; expected one of ${words.join(', ')}`)
}
