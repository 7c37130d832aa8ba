/**
 * Forked sessions of Codex: a fork's file has only the later lines, and its header names the base
 * session and the number of bytes of its file that precede them.
 *
 * Source  Codex 0.169.0 (2026-11)
 */
import { createReadStream } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { pipeline } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { isObject, jsonIn, type JsonObject } from 'indelible/internal/json'

/** The bytes of a file: decompressed (`.zst`), and with its base for a Codex session. Throws read errors. */
export const bytesOfFile = (path: string): AsyncIterable<Uint8Array> =>
  /^rollout-.*\.jsonl(?:\.zst)?$/.test(basename(path)) ? bytesWithBase(path) : plainBytes(path)

/** The first bytes of a file, decompressed: at most `most`. Throws read errors. */
export const startOf = async (path: string, most: number): Promise<Buffer> => {
  if (path.endsWith('.zst')) {
    for await (const piece of plainBytes(path)) return Buffer.from(piece).subarray(0, most)
    return Buffer.alloc(0)
  }
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(most), 0, most, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

const plainBytes = (path: string): AsyncIterable<Uint8Array> => {
  const file = createReadStream(path, { highWaterMark: 1 << 20 })
  // The last stream reports an error of either.
  return path.endsWith('.zst') ? pipeline(file, createZstdDecompress(), () => undefined) : file
}

/** The header of a fork's file. */
interface Fork {
  readonly header: JsonObject
  /** The length of the header's line in bytes. */
  readonly length: number
  readonly base: JsonObject
  /** The file that contains the base. */
  readonly parent: string
  /** The sessions on the way to the base, to detect cycles. */
  readonly seen: readonly string[]
}

async function* bytesWithBase(path: string): AsyncGenerator<Uint8Array> {
  const fork = await forkOf(path, [])
  if (fork === undefined) return yield* plainBytes(path)
  const { header, length, base } = fork
  // The mark tells the reader that the base was found.
  const payload = { ...(header['payload'] as JsonObject), history_base: { ...base, read: true } }
  yield new TextEncoder().encode(`${JSON.stringify({ ...header, payload })}\n`)
  yield* baseOf(fork)
  let left = length
  for await (const piece of plainBytes(path)) {
    if (left < piece.length) yield piece.subarray(left)
    left = Math.max(0, left - piece.length)
  }
}

async function* baseOf({ parent, base, seen }: Fork): AsyncGenerator<Uint8Array> {
  const above = await forkOf(parent, seen)
  if (above !== undefined) yield* baseOf(above)
  const { end_byte_offset: bytes, end_ordinal_exclusive: lines } = base
  let left = typeof bytes === 'number' ? bytes : Infinity
  let linesLeft = typeof bytes !== 'number' && typeof lines === 'number' ? lines : Infinity
  for await (const piece of plainBytes(parent)) {
    let end = Math.min(piece.length, left)
    for (let at = 0; linesLeft !== Infinity && at < end; at++)
      if (piece[at] === newline && --linesLeft === 0) end = at + 1
    yield piece.subarray(0, end)
    left -= end
    if (left <= 0 || linesLeft <= 0) return
  }
}

const newline = 10

/**
 * The base of a forked file; undefined if it is not a fork, or if its base is missing, which the reader then reports.
 */
const forkOf = async (path: string, seen: readonly string[]): Promise<Fork | undefined> => {
  const pieces: Uint8Array[] = []
  for await (const piece of plainBytes(path)) {
    pieces.push(piece)
    if (piece.includes(newline) || pieces.length === mostPieces) break
  }
  const line = Buffer.concat(pieces)
  const length = line.indexOf(newline) + 1
  const header = jsonIn(line.subarray(0, length).toString())
  const payload = isObject(header) ? header['payload'] : undefined
  const base = isObject(payload) ? payload['history_base'] : undefined
  const thread = isObject(base) ? base['thread_id'] : undefined
  if (!isObject(header) || !isObject(base) || typeof thread !== 'string' || seen.includes(thread)) return undefined
  const parent = await fileOf(path, thread)
  return parent === undefined ? undefined : { header, length, base, parent, seen: [...seen, thread] }
}

/** Pieces of 1 MiB. A header contains the instructions, so it can be long. */
const mostPieces = 16

/**
 * The file of a session of the same program: its name ends with the session's id. A link out of the program's folder is
 * not followed: a header must not bring another file of the machine into the record.
 */
const fileOf = async (path: string, thread: string): Promise<string | undefined> => {
  const [, root] = /^(.*[/\\])(?:archived_)?sessions[/\\]/.exec(path) ?? []
  if (root === undefined) return undefined
  const own = await realpath(root).catch(() => undefined)
  for (const folder of ['sessions', 'archived_sessions']) {
    const names = await readdir(join(root, folder), { recursive: true }).catch(() => [])
    const ends = [`-${thread}.jsonl`, `-${thread}.jsonl.zst`]
    for (const name of names.filter((name) => ends.some((end) => name.endsWith(end)))) {
      const real = await realpath(join(root, folder, name)).catch(() => undefined)
      if (own !== undefined && real?.startsWith(own.endsWith(sep) ? own : own + sep)) return real
    }
  }
  return undefined
}
