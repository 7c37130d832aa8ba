/** Checks options that are numbers. */

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
