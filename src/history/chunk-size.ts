/** Chunk and group sizes, as powers of two. Tests use smaller ones, so that they fill up sooner. */

/** A chunk has 2 ** 7 = 128 messages. */
export const chunkBits = 7
/** A group has 2 ** 6 = 64 chunks. */
export const groupBits = 6
