/**
 * A readonly run of values with a fixed length: what the pairing rules, the codecs and the classification take, so
 * that an array, a view and a derived context can all be read by the same code.
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
