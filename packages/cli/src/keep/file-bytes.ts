/** Reads what is new of a file, and stores it as compressed pieces that notes of its session name. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { zstdCompressSync } from 'node:zlib'
import { isLeft, type JsonObject } from 'indelible/internal/json'
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import type { KeptFileNote } from 'indelible/internal/notes'
import { appendRows } from 'indelible/internal/session'
import type { Head, Store } from 'indelible/store'
import { Unreadable } from '../terminal/command.ts'
import type { FoundFile } from '../sources/agent-sessions.ts'
import { faultText } from '../sources/place.ts'
import { keyOf, pieceBytes, type KeptVersion } from './kept-files.ts'

/** A session that gets the bytes of its files. */
export interface KeepingSession {
  readonly store: Store
  readonly id: string
  /** The metadata if it is new. */
  readonly metadata: JsonObject
  /** Its head; undefined as long as it does not exist. */
  head: Head | undefined
  /** The latest version of each of its files. */
  readonly versions: Map<string, KeepingVersion>
}

type KeepingVersion = Pick<KeptVersion, 'to' | 'digest'>

/** What became of a file since it was last kept. */
export type FileChange = 'new' | 'grown' | 'rewritten' | 'truncated' | 'same' | 'empty'

/** Another process appended to the session meanwhile: open it again. */
export class SessionGrew extends Error {}

/** Where bytes are read from. */
interface Content {
  readonly size: () => Promise<number>
  /** Changes with the content. */
  readonly stamp: () => Promise<string>
  readonly read: (from: number, to: number) => Promise<Uint8Array>
}

/**
 * Keep the bytes of a file that are not kept yet. A file that grows meanwhile is read on; one that is rewritten meanwhile
 * is read again.
 *
 * @throws Unreadable if it can't be read, or if it is rewritten again and again
 */
export const keepBytes = async (session: KeepingSession, program: string, found: FoundFile): Promise<FileChange> => {
  return withContent(found, (content) => keepContent(session, program, found, content))
}

/** Whether a file has exactly the bytes of a kept version. */
export const isKeptWhole = async (found: FoundFile, kept: KeepingVersion | undefined): Promise<boolean> =>
  kept !== undefined &&
  withContent(
    found,
    async (content) => (await content.size()) === kept.to && (await hashOf(content, kept.to)) === kept.digest,
  )

/** Whether a file begins with one of these contents: SIZE DIGEST. */
export const beginsWithOne = async (found: FoundFile, digests: readonly string[]): Promise<boolean> =>
  withContent(found, async (content) => {
    for (const text of digests) {
      const [size = '', digest] = text.split(' ')
      if ((await hashOf(content, Number(size))) === digest) return true
    }
    return false
  })

const withContent = async <T>(found: FoundFile, work: (content: Content) => Promise<T>): Promise<T> => {
  if (found.rows !== undefined) {
    const bytes = found.rows()
    return work({
      size: async () => bytes.length,
      stamp: async () => '',
      read: async (from: number, to: number) => bytes.subarray(from, to),
    })
  }
  // A pipe or a device with the name of a session must not stop the run.
  const handle = await open(found.path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return await work(contentOf(handle))
  } finally {
    await handle.close()
  }
}

const contentOf = (handle: FileHandle): Content => ({
  size: async () => (await handle.stat()).size,
  stamp: async () => {
    const { size, mtimeMs, ctimeMs } = await handle.stat()
    return `${size} ${mtimeMs} ${ctimeMs}`
  },
  read: async (from, to) => {
    const bytes = Buffer.allocUnsafe(to - from)
    let done = 0
    while (done < bytes.length) {
      const { bytesRead } = await handle.read(bytes, done, bytes.length - done, from + done)
      if (bytesRead === 0) break // it was truncated
      done += bytesRead
    }
    return bytes.subarray(0, done)
  },
})

const mostAttempts = 5

const keepContent = async (
  session: KeepingSession,
  program: string,
  found: FoundFile,
  content: Content,
): Promise<FileChange> => {
  const key = keyOf({ program, file: found.file })
  const before = session.versions.get(key)
  let change: FileChange = before === undefined ? 'new' : 'same'
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const [size, stamp] = [await content.size(), await content.stamp()]
    if (size === 0) return before === undefined ? 'empty' : 'truncated'
    const kept = session.versions.get(key)
    const start =
      kept !== undefined && size >= kept.to && (await hashOf(content, kept.to)) === kept.digest ? kept.to : 0
    if (start < size) {
      if (kept !== undefined && change === 'same')
        change = start > 0 ? 'grown' : size < kept.to ? 'truncated' : 'rewritten'
      if (!(await keepPieces(session, program, found, content, { start, size, stamp }))) continue
    }
    if ((await content.size()) <= size) return change
    if (change === 'same') change = 'grown'
  }
  const last = session.versions.get(key)
  if (last !== undefined && (await hashOf(content, last.to)) === last.digest) return change // it grows all the time
  throw new Unreadable('it changes all the time while it is read')
}

/** Pieces of one note: they are in memory together. */
const piecesAtOnce = 16

/** Keep the bytes from `start` to `size`; false if the file was rewritten meanwhile, and its end is not kept. */
const keepPieces = async (
  session: KeepingSession,
  program: string,
  { file, changed }: FoundFile,
  content: Content,
  { start, size, stamp }: { readonly start: number; readonly size: number; readonly stamp: string },
): Promise<boolean> => {
  const hash = createHash('sha256')
  for (let at = 0; at < start; at += pieceBytes) hash.update(await content.read(at, Math.min(at + pieceBytes, start)))
  let from = start
  while (from < size) {
    const blocks = new Map<BlockId, Uint8Array>()
    const names: KeptFileNote['blocks'][number][] = []
    let to = from
    while (to < size && names.length < piecesAtOnce) {
      const bytes = await content.read(to, Math.min(to + pieceBytes, size))
      if (bytes.length < Math.min(pieceBytes, size - to)) return false
      hash.update(bytes)
      const block = zstdCompressSync(bytes)
      const id = blockIdOf(block, session.store.hash)
      blocks.set(id, block)
      names.push({ id })
      to += bytes.length
    }
    const digest = hash.copy().digest('hex')
    // The version becomes whole only if the file is still what was read.
    if (to === size && (await content.stamp()) !== stamp && (await hashOf(content, size)) !== digest) return false
    const note: KeptFileNote = { type: 'kept_file', program, file, from, to, size, digest, blocks: names }
    await append(session, note, blocks, Math.max(0, Math.floor(changed)))
    session.versions.set(keyOf({ program, file }), { to, digest })
    from = to
  }
  return true
}

const append = async (
  session: KeepingSession,
  note: KeptFileNote,
  blocks: ReadonlyMap<BlockId, Uint8Array>,
  at: number,
): Promise<void> => {
  const { store, id, head } = session
  const metadata = head === undefined ? session.metadata : undefined
  const appended = await appendRows(store, id, { head, metadata, rows: [{ note, at }], blocks })()
  if (!isLeft(appended)) session.head = appended.right
  else if (appended.left._tag === 'Conflict' || appended.left._tag === 'LogExists') throw new SessionGrew()
  else throw new Unreadable(faultText(appended.left))
}

/** The digest of the first bytes; undefined if there are fewer. */
const hashOf = async (content: Content, to: number): Promise<string | undefined> => {
  const hash = createHash('sha256')
  for (let at = 0; at < to; at += pieceBytes) {
    const wanted = Math.min(pieceBytes, to - at)
    const bytes = await content.read(at, at + wanted)
    if (bytes.length < wanted) return undefined
    hash.update(bytes)
  }
  return hash.digest('hex')
}
