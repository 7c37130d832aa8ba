/**
 * A readonly run of values with a fixed length. The pairing rules, the codecs and the
 * classification accept it, so that the same code reads an array, a view and a derived context.
 */
export interface Sequence<T> extends Iterable<T> {
  /** The number of values. */
  readonly length: number
  /**
   * The value at a position.
   *
   * @param position the position, from 0; a negative one counts from the end
   * @returns the value; undefined outside
   */
  readonly at: (position: number) => T | undefined
  /** The values in order, for `for … of` and spreads. */
  readonly [Symbol.iterator]: () => Iterator<T>
}
