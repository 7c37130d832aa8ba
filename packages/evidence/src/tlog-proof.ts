/**
 * Proofs as text: an index, the hashes from a leaf to the root, and the checkpoint of that root.
 *
 * Source  https://c2sp.org/tlog-proof
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, bytesOfBase64, isLeft, left, right } from 'indelible/internal/json'
import type { EvidenceFault } from './fault.ts'
import { parseNote } from './signed-note.ts'

/** A parsed, unverified proof. */
interface TlogProof {
  /** Opaque bytes of the application, which are not authenticated. */
  readonly extra?: Uint8Array
  /** The position of the leaf in the log. */
  readonly index: number
  /** The hashes from the leaf's sibling up to the root's child, 32 bytes each. */
  readonly path: readonly Uint8Array[]
  /** The signed checkpoint, unchanged. */
  readonly checkpoint: string
}

const firstLine = 'c2sp.org/tlog-proof@v1'

export const tlogProofText = ({ extra, index, path, checkpoint }: TlogProof): string =>
  [
    firstLine,
    ...(extra === undefined ? [] : [`extra ${base64Of(extra)}`]),
    `index ${index}`,
    ...path.map(base64Of),
    '',
    checkpoint,
  ].join('\n')

/**
 * Read a proof.
 *
 * @returns the proof; or `BadBundle`, or `BadNote` for its checkpoint
 */
export const parseTlogProof = (text: string): Either<EvidenceFault, TlogProof> => {
  const badProof = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadBundle', reason })
  const end = text.indexOf('\n\n')
  if (end < 0) return badProof('no empty line precedes its checkpoint')
  const [first, ...lines] = text.slice(0, end).split('\n')
  if (first !== firstLine) return badProof(`it does not begin with ${firstLine}`)
  const extraLine = lines[0]?.startsWith('extra ') === true ? lines.shift() : undefined
  const extra = extraLine === undefined ? undefined : bytesOfBase64(extraLine.slice('extra '.length))
  if (extraLine !== undefined && extra === undefined) return badProof('its extra line is not base64')
  const [, digits] = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '') ?? []
  if (digits === undefined || !Number.isSafeInteger(Number(digits))) return badProof('it has no index line')
  const path: Uint8Array[] = []
  for (const line of lines) {
    const hash = bytesOfBase64(line)
    if (hash?.length !== 32) return badProof(`${JSON.stringify(line.slice(0, 60))} is not a hash of 32 bytes in base64`)
    path.push(hash)
  }
  if (path.length > 63) return badProof(`it has ${path.length} hashes; a log has at most 63 levels`)
  const checkpoint = text.slice(end + 2)
  const note = parseNote(checkpoint)
  return isLeft(note)
    ? note
    : right(
        Object.freeze({
          ...(extra !== undefined && { extra }),
          index: Number(digits),
          path: Object.freeze(path),
          checkpoint,
        }),
      )
}
