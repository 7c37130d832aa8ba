/** Transcripts to import at once: one for each name, of several pieces each. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { readTranscript, type Transcript } from '@indelible/transcripts'

/** More rows than are stored at once. */
export const rows = 1100

/** What everybody begins with, so that equal heads don't tell one from another; then what NAME says. */
export const transcriptOf = (name: string): Transcript => {
  const messages = Array.from({ length: rows }, (_, index) => ({
    role: 'user',
    content: index < rows - 10 ? `message ${index}` : `${name} ${index}`,
  }))
  const read = readTranscript(JSON.stringify(messages))
  if (isLeft(read)) throw new Error(read.left._tag)
  // Its file named a head that its rows don't have.
  return name === 'liar'
    ? { ...read.right, origin: { ...read.right.origin, head: { size: rows, root: '00'.repeat(32) } } }
    : read.right
}
