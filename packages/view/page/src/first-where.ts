/** Binary search. */

/** The first index from which on a condition holds; `count` if it holds for none. Cost: O(log count) */
export const firstWhere = (count: number, holds: (index: number) => boolean): number => {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
