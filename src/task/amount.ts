/** The numbers that options give, checked. */

/** What an option that is a number may be. */
export interface Amount {
  /** What it counts. */
  readonly unit: string
  /** The least that it may be. Default: 0. */
  readonly least?: number
  /** The most that it may be, `Infinity` for no limit. Default: `Infinity`. */
  readonly most?: number
  /** Whether it must be a whole number, or `Infinity`. Default: `false`. */
  readonly whole?: boolean
}

/**
 * The number that an option gives.
 *
 * Throws  TypeError, on anything but such a number: `NaN`, a text, one that is too small or too great
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
