/** In the place of `src/history/chunk-size.ts`: two messages fill a chunk, and two chunks a group. */

export const chunkBits = 1
export const groupBits = 1
