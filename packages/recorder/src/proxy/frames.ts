/**
 * The traffic between clients and providers as frames of bytes: written to a spool, and read by a worker.
 *
 * A record is its length in 4 bytes and its content: a frame, or in an encrypted spool 12 random bytes,
 * the frame encrypted with AES-256-GCM, and a tag of 16 bytes. A frame is its kind in 1 byte, the number
 * of its call in 4, its time in 8 (milliseconds since 1970), and its data. Numbers are big endian.
 */
import { jsonIn } from 'indelible/internal/json'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

export const kinds = {
  /** The header of a spool's file: JSON, never encrypted. */
  spool: 0,
  /** A request began: JSON. */
  asked: 1,
  /** A chunk of the request's body. */
  body: 2,
  /** The body is complete. If it has data: why the request can't be recorded. */
  sent: 3,
  /** The status and headers of the answer: JSON. */
  answered: 4,
  /** A chunk of the answer's body. */
  chunk: 5,
  end: 6,
  /** The call broke off; the data is the reason. */
  fail: 7,
  /** The session in which the call's receipt is about to be appended. */
  place: 8,
  /** The call is recorded, or never will be. */
  over: 9,
} as const

export interface Frame {
  readonly kind: number
  readonly call: number
  readonly at: number
  readonly bytes: Uint8Array
}

/** The size of a frame's header: the record's length, the kind, the call, the time. */
const ahead = 17

/** A record in two parts, header and data, so that the data is not copied. */
export type FrameRecord = readonly [start: Buffer, bytes: Uint8Array]

export const recordOf = ({ kind, call, at, bytes }: Frame): FrameRecord => {
  const start = Buffer.allocUnsafe(ahead)
  start.writeUInt32BE(ahead - 4 + bytes.length, 0)
  start.writeUInt8(kind, 4)
  start.writeUInt32BE(call, 5)
  start.writeDoubleBE(at, 9)
  return [start, bytes]
}

/** The size of a record in bytes. */
export const lengthOf = ([, { length }]: FrameRecord): number => ahead + length

/** An encrypted record, in pieces. */
export const sealedRecord = ([start, bytes]: FrameRecord, key: Uint8Array): readonly Uint8Array[] => {
  const content = sealBytes([start.subarray(4), bytes], key)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(content.reduce((sum, piece) => sum + piece.length, 0))
  return [length, ...content]
}

const purpose = Buffer.from('indelible.recorder.spool 1')

/** Encrypted bytes, in pieces. */
export const sealBytes = (pieces: readonly Uint8Array[], key: Uint8Array): readonly Uint8Array[] => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(purpose)
  const content = pieces.map((piece) => cipher.update(piece))
  return [nonce, ...content, cipher.final(), cipher.getAuthTag()]
}

/** The decrypted frame. Throws Error if it was changed or has another key. */
export const unsealBytes = (content: Uint8Array, key: Uint8Array): Buffer => {
  const decipher = createDecipheriv('aes-256-gcm', key, content.subarray(0, 12), { authTagLength: 16 }).setAAD(purpose)
  decipher.setAuthTag(content.subarray(-16))
  return Buffer.concat([decipher.update(content.subarray(12, -16)), decipher.final()])
}

/** The length of the record at the start of these bytes; undefined if there are too few. */
export const recordLength = (bytes: Buffer): number | undefined =>
  bytes.length < 4 ? undefined : 4 + bytes.readUInt32BE(0)

/** The frame in the content of a record; undefined if it is not a frame. */
export const frameOf = (content: Buffer): Frame | undefined => {
  if (content.length < ahead - 4 || (content[0] ?? 255) > kinds.over) return undefined
  return {
    kind: content.readUInt8(0),
    call: content.readUInt32BE(1),
    at: content.readDoubleBE(5),
    bytes: content.subarray(ahead - 4),
  }
}

export function* framesIn(records: Uint8Array): Generator<Frame> {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength)
  for (let from = 0; from < bytes.length;) {
    const length = recordLength(bytes.subarray(from)) ?? bytes.length
    const frame = frameOf(bytes.subarray(from + 4, from + length))
    if (frame !== undefined) yield frame
    from += length
  }
}

/** A JSON value as the data of a frame. */
export const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** The JSON value of a frame; undefined if it is not JSON. */
export const valueIn = (frame: Frame): unknown => jsonIn(textIn(frame))

export const textIn = ({ bytes }: Pick<Frame, 'bytes'>): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
