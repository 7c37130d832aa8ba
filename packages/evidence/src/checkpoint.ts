/**
 * Checkpoints: the head of a log as a signed note.
 *
 * Source  https://c2sp.org/tlog-checkpoint@v1.0.0
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, bytesOfBase64, left, right } from 'indelible/internal/json'
import type { Head } from 'indelible/store'
import type { EvidenceFault } from './fault.ts'
import { isNoteText } from './signed-note.ts'

/** A parsed checkpoint. */
export interface Checkpoint {
  /** The name of the log, without a scheme, such as `example.com/agents/default`. */
  readonly origin: string
  /** The size and root of the log. */
  readonly head: Head
  /** Further lines, which no monitor audits. Usually none. */
  readonly extensions: readonly string[]
}

/**
 * Write the text of a checkpoint, which is what gets signed.
 *
 * @param checkpoint the origin, the head and further lines
 * @throws TypeError if the origin or an extension is not one line of text, or the head is invalid
 */
export const checkpointText = ({
  origin,
  head,
  extensions = [],
}: Omit<Checkpoint, 'extensions'> & Partial<Pick<Checkpoint, 'extensions'>>): string => {
  for (const line of [origin, ...extensions])
    if (line === '' || line.includes('\n') || !isNoteText(line))
      throw new TypeError(
        'the origin and each extension of a checkpoint must be one line that is not empty, without control characters',
      )
  const root = /^(?:[0-9a-f]{2})+$/.test(head.root) ? head.root : undefined
  if (root === undefined || !Number.isSafeInteger(head.size) || head.size < 0)
    throw new TypeError('the head of a checkpoint needs a size, and a root in hexadecimal digits')
  return [origin, `${head.size}`, base64Of(hexToBytes(root)), ...extensions, ''].join('\n')
}

/**
 * Read the text of a checkpoint.
 *
 * @returns the checkpoint; or `BadCheckpoint`
 */
export const parseCheckpoint = (text: string): Either<EvidenceFault, Checkpoint> => {
  const badCheckpoint = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadCheckpoint', reason })
  if (!text.endsWith('\n')) return badCheckpoint('its last line has no line feed')
  const [origin = '', size = '', base64 = '', ...extensions] = text.slice(0, -1).split('\n')
  if (origin === '') return badCheckpoint('its first line, the origin, is empty')
  if (!/^(?:0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size)))
    return badCheckpoint(
      `its second line is ${JSON.stringify(size.slice(0, 40))}; expected a size in digits, at most 2^53 - 1`,
    )
  const root = bytesOfBase64(base64)
  if (root === undefined || root.length === 0) return badCheckpoint('its third line is not a root in base64')
  if (extensions.includes('')) return badCheckpoint('one of its lines is empty')
  return right(
    Object.freeze({
      origin,
      head: Object.freeze({ size: Number(size), root: bytesToHex(root) }),
      extensions: Object.freeze(extensions),
    }),
  )
}
