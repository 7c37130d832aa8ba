/** How large the frozen parts of a record are, as powers of two. Tests run with smaller ones, which fill up sooner. */

/** A chunk has 2 ** 7 = 128 messages. */
export const chunkBits = 7
/** A group has 2 ** 6 = 64 chunks. */
export const groupBits = 6
