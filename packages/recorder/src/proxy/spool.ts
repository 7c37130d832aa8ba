/**
 * The spool of a recorder: files next to the store that hold each request before it is forwarded, and each chunk
 * of its answer. Nothing waits for the disk, so written data survives the end of the process but not a power loss.
 *
 * Each process has its own spool, with a lock that the system releases when the process dies; a process that
 * gets the lock may record what is left. A file is truncated once its calls are recorded. If calls overlap, a
 * file accepts no new calls after ten seconds or 16 MiB, so that it can be removed, and another one begins.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writevSync,
  type Stats,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { isObject } from 'indelible/internal/json'
import { reasonOf } from 'indelible/internal/task'
import {
  frameOf,
  jsonBytes,
  valueIn,
  kinds,
  lengthOf,
  recordLength,
  recordOf,
  sealBytes,
  sealedRecord,
  unsealBytes,
  type Frame,
  type FrameRecord,
} from './frames.ts'

/** Not an import: an older Node refuses it before the library can say which Node it needs. */
const sqlite = process.getBuiltinModule('node:sqlite')

/** The keys of a host. A spool is encrypted with a key of its own, wrapped by the current one. */
export interface SpoolKeys {
  /** The key that wraps the key of a new spool. */
  readonly current: { readonly id: string; readonly key: Uint8Array }
  /** A key by id; undefined if there is none. */
  readonly byId: (id: string) => Uint8Array | undefined | Promise<Uint8Array | undefined>
}

export interface SpoolOptions {
  /** The path that its files' names begin with: that of the store. */
  readonly near: string
  /** Encrypts the spool. Default: not encrypted. */
  readonly keys?: SpoolKeys | undefined
  /** Receives, once for each reason, a sentence that explains why calls are not in the spool. */
  readonly onNotice: (reason: string) => void
  /** The most bytes of all its files. Default: 268,435,456 */
  readonly most?: number
  /** The clock, in milliseconds. Default: the system's. */
  readonly now?: () => number
}

export interface Segment {
  readonly path: string
  /** Its descriptor in this process. */
  readonly fd: number
  readonly key: Uint8Array | undefined
  /** The time of its first frame. */
  since: number
  /** Its size in bytes. */
  size: number
  /** The number of its calls that are not recorded yet. */
  open: number
}

/** The longest time in milliseconds, and the most bytes, for which a file accepts new calls. */
const longestOpen = 10_000
const largestOpen = 2 ** 24

export class Spool {
  readonly #options: SpoolOptions
  readonly #most: number
  #base = ''
  readonly #lock: DatabaseSync
  readonly #key: Uint8Array | undefined
  readonly #segments = new Set<Segment>()
  readonly #reported = new Set<string>()
  #current: Segment | undefined
  #count = 0
  #size = 0
  #notBefore = 0

  /** Throws Error if its lock can't be created. */
  constructor(options: SpoolOptions) {
    this.#options = options
    this.#most = options.most ?? 2 ** 28
    let lock: DatabaseSync | undefined
    // Another process may take the new lock first.
    for (let attempt = 1; lock === undefined; attempt++) {
      if (attempt > 5) throw new Error(`${this.#base}.lock can't be locked`)
      this.#base = `${options.near}${infix}${this.#now().toString(36)}${randomBytes(5).toString('hex')}`
      closeSync(openSync(`${this.#base}.lock`, 'wx', 0o600))
      lock = lockOf(this.#base)
    }
    this.#lock = lock
    this.#key = options.keys === undefined ? undefined : randomBytes(32)
  }

  /** The file for a new call; undefined if the spool can't store it, so that a kill would lose it. */
  begin(): Segment | undefined {
    const now = this.#now()
    if (this.#size >= this.#most) return this.#tell(`the spool has ${this.#most} bytes`)
    const current = this.#current
    if (
      current !== undefined &&
      (current.size > largestOpen || (current.size > 0 && now - current.since > longestOpen))
    )
      this.#current = undefined
    if (this.#current === undefined && now < this.#notBefore) return undefined
    try {
      this.#current ??= this.#made()
    } catch (cause) {
      this.#notBefore = now + 1000
      return this.#tell(`the spool can't be written: ${reasonOf(cause)}`)
    }
    this.#current.open++
    return this.#current
  }

  /**
   * Write records of one of its calls, synchronously. False if they could not be written
   * completely; then no more records of this call may be written.
   */
  write(segment: Segment, records: readonly FrameRecord[]): boolean {
    const length = records.reduce((sum, record) => sum + lengthOf(record), 0)
    if (this.#size + length > this.#most && length > 100) {
      this.#tell(`the spool has ${this.#most} bytes`)
      return false
    }
    try {
      const pieces = piecesOf(records, this.#key)
      const written = append(segment.fd, segment.size === 0 ? [...this.#head(segment), ...pieces] : pieces)
      segment.size += written
      this.#size += written
      return true
    } catch (cause) {
      if (this.#current === segment) this.#current = undefined
      this.#notBefore = this.#now() + 1000
      this.#tell(`the spool can't be written: ${reasonOf(cause)}`)
      return false
    }
  }

  /** Mark a call as recorded, or as never to be. */
  over(segment: Segment, call: number): void {
    segment.open--
    if (segment.open > 0) {
      this.write(segment, [recordOf({ kind: kinds.over, call, at: this.#now(), bytes: new Uint8Array(0) })])
      return
    }
    this.#size -= segment.size
    segment.size = 0
    if (segment !== this.#current) return this.#remove(segment)
    try {
      ftruncateSync(segment.fd, 0)
    } catch {
      this.#current = undefined
      this.#remove(segment)
    }
  }

  /** Close at the end of the process. Unrecorded calls stay for the next one. */
  close(): void {
    for (const segment of this.#segments) {
      if (segment.open === 0) this.#remove(segment)
      else closeSync(segment.fd)
    }
    const isEmpty = [...this.#segments].every(({ open }) => open === 0)
    this.#lock.close()
    if (isEmpty) rmSync(`${this.#base}.lock`, { force: true })
  }

  #now(): number {
    return this.#options.now === undefined ? Date.now() : this.#options.now()
  }

  #made(): Segment {
    const path = `${this.#base}.${this.#count++}`
    const fd = openSync(path, 'ax', 0o600)
    const segment = { path, fd, key: this.#key, since: 0, size: 0, open: 0 }
    this.#segments.add(segment)
    return segment
  }

  #head(segment: Segment): readonly Uint8Array[] {
    segment.since = this.#now()
    const current = this.#options.keys?.current
    const key =
      current === undefined || this.#key === undefined
        ? undefined
        : { id: current.id, wrapped: Buffer.concat(sealBytes([this.#key], current.key)).toString('base64') }
    const bytes = jsonBytes({ version: 1, ...(key !== undefined && { key }) })
    return recordOf({ kind: kinds.spool, call: 0, at: segment.since, bytes })
  }

  #remove(segment: Segment): void {
    this.#segments.delete(segment)
    closeSync(segment.fd)
    rmSync(segment.path, { force: true })
  }

  #tell(reason: string): undefined {
    if (this.#reported.has(reason)) return
    this.#reported.add(reason)
    this.#options.onNotice(`${reason}; if the recorder is killed, calls that are not recorded yet are lost`)
  }
}

/** Append a record to a spool file from outside its writer. Throws Error if it can't be written. */
export const appendFrame = ({ fd, key }: Pick<Segment, 'fd' | 'key'>, frame: Frame): void => {
  append(fd, piecesOf([recordOf(frame)], key))
}

const piecesOf = (records: readonly FrameRecord[], key: Uint8Array | undefined): readonly Uint8Array[] =>
  key === undefined ? records.flat() : records.flatMap((record) => sealedRecord(record, key))

/** Append everything or nothing to a file, and return the bytes written. Throws Error if it can't be written. */
const append = (fd: number, pieces: readonly Uint8Array[]): number => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const written = writevSync(fd, pieces)
  if (written === length) return length
  // A partial record would swallow those after it.
  ftruncateSync(fd, fstatSync(fd).size - written)
  throw new Error('the disk is full')
}

/** A spool whose process is gone, with its lock. */
interface LeftSpool {
  /** The paths of its files, in order. */
  readonly paths: readonly string[]
  /** Release it; if `recorded` is true, remove its files. */
  readonly close: (recorded: boolean) => void
}

/**
 * The spools next to a store whose processes are gone, oldest first. Each stays locked until it is closed.
 *
 * @param onNotice receives a sentence about each spool with calls whose lock can't be checked
 */
export const leftSpools = (near: string, onNotice: (reason: string) => void): readonly LeftSpool[] =>
  [...filesNear(near)].flatMap(([base, paths]) => {
    let lock: DatabaseSync | undefined
    try {
      const found = lstatSync(`${base}.lock`, { throwIfNoEntry: false })
      if (found !== undefined) checkOwner(found, base)
      lock = lockOf(base)
    } catch (cause) {
      const hasCalls = paths.some((path) => (lstatSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0)
      if (hasCalls)
        onNotice(`${base}.lock can't be locked, so the calls in its spool can't be recorded: ${reasonOf(cause)}`)
    }
    if (lock === undefined) return []
    const close = (recorded: boolean): void => {
      if (recorded) for (const path of paths) rmSync(path, { force: true })
      lock.close()
      if (recorded) rmSync(`${base}.lock`, { force: true })
    }
    // Another process may have recorded it in the meantime.
    return [{ paths: paths.filter((path) => existsSync(path)), close }]
  })

/** Whether another process's spool next to a store has unrecorded calls from before a time. */
export const isSpooledBefore = (near: string, time: number): boolean =>
  [...filesNear(near)].some(([, paths]) =>
    paths.some((path) => {
      const first = firstFrame(path)
      return first !== undefined && first.at <= time
    }),
  )

export interface OpenedSegment extends Pick<Segment, 'fd' | 'key'> {
  /** Its complete frames from the start. Throws Error for a damaged one, or one with another key. */
  readonly frames: () => Generator<Frame>
  readonly close: () => void
}

/**
 * Open a spool file. Throws Error if its key is missing, if it is not encrypted although there are keys,
 * or if it belongs to another user, because a file planted next to the store must not be recorded.
 */
export const openSegment = async (path: string, keys: SpoolKeys | undefined): Promise<OpenedSegment> => {
  const fd = openOwnFile(path, constants.O_RDWR | constants.O_APPEND)
  try {
    const key = await keyIn(fd, keys)
    // Otherwise a partial record left by a kill would precede the new ones.
    let whole = 0
    for (const content of recordsOf(fd)) whole += 4 + content.length
    ftruncateSync(fd, whole)
    return { fd, key, frames: () => framesOf(fd, key), close: () => closeSync(fd) }
  } catch (cause) {
    closeSync(fd)
    throw cause
  }
}

const keyIn = async (fd: number, keys: SpoolKeys | undefined): Promise<Uint8Array | undefined> => {
  const first = recordsOf(fd).next()
  if (first.done === true) return undefined // it is empty
  const frame = frameOf(first.value)
  const head = frame?.kind === kinds.spool ? valueIn(frame) : undefined
  if (!isObject(head) || head['version'] !== 1) throw new Error('it is not a spool that this version can read')
  const wrapping = head['key']
  if (!isObject(wrapping)) {
    if (keys === undefined) return undefined
    throw new Error('it is not encrypted: only a recorder without a key file records it')
  }
  const id = String(wrapping['id'])
  const host = await keys?.byId(id)
  if (host === undefined) throw new Error(`its key is wrapped by the key ${id}, which was not found`)
  return unsealBytes(Buffer.from(String(wrapping['wrapped']), 'base64'), host)
}

/** The suffix of a file that crashed the process reading it. It is not read again. */
export const failedSuffix = '.failed'

const infix = '-spool-'

/** What follows it: a number of a spool, and of its file. */
const ownName = /^([\da-z]+)\.(\d+(?:\.failed)?|lock)$/

/** The spool files next to a store, by the spool's base path. */
const filesNear = (near: string): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, string[]>()
  const start = `${basename(near)}${infix}`
  for (const name of readdirSync(dirname(near)).toSorted()) {
    // Not those of a store whose name begins with the same words: `a-spool-b` beside `a`.
    const [, own, end] = name.startsWith(start) ? (ownName.exec(name.slice(start.length)) ?? []) : []
    const base = own === undefined ? undefined : start + own
    if (base === undefined) continue
    const path = join(dirname(near), base)
    const paths = found.get(path) ?? []
    if (end !== 'lock') paths.push(join(dirname(near), name))
    found.set(path, paths)
  }
  const numberOf = (path: string): number =>
    Number.parseInt(path.slice(path.lastIndexOf(infix)).split('.')[1] ?? '', 10)
  for (const paths of found.values()) paths.sort((a, b) => numberOf(a) - numberOf(b))
  return found
}

/** An SQLite lock, which dies with its process. Undefined if another has it. Throws Error if the file is not a lock. */
const lockOf = (base: string): DatabaseSync | undefined => {
  let lock: DatabaseSync | undefined
  try {
    lock = new sqlite.DatabaseSync(`${base}.lock`, { timeout: 0 })
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return lock
  } catch (cause) {
    lock?.close()
    const { errcode } = cause as { readonly errcode?: number }
    if (errcode !== undefined && (errcode & 255) === busy) return undefined
    throw cause
  }
}

/** SQLITE_BUSY */
const busy = 5

/** Open a user's file without following a link or blocking on a pipe. Throws Error if it belongs to another user. */
const openOwnFile = (path: string, flags: number): number => {
  const fd = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    checkOwner(fstatSync(fd), path)
    return fd
  } catch (cause) {
    closeSync(fd)
    throw cause
  }
}

/** Throws Error unless it is a file of this user, or of the store's owner. */
const checkOwner = (found: Stats, path: string): void => {
  const store = statSync(path.slice(0, path.lastIndexOf(infix)), { throwIfNoEntry: false })
  const isOwned = process.geteuid === undefined || found.uid === process.geteuid() || found.uid === store?.uid
  if (!found.isFile() || found.nlink > 1 || !isOwned) throw new Error('it is not a regular file of this user')
}

/** The first frame of a file; undefined if it is empty, missing or unreadable. */
const firstFrame = (path: string): Frame | undefined => {
  let fd: number | undefined
  try {
    fd = openOwnFile(path, constants.O_RDONLY)
    const [first] = recordsOf(fd)
    return first && frameOf(first)
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function* framesOf(fd: number, key: Uint8Array | undefined): Generator<Frame> {
  let isFirst = true
  for (const content of recordsOf(fd)) {
    const frame = frameOf(isFirst || key === undefined ? content : unsealBytes(content, key))
    isFirst = false
    if (frame === undefined) throw new Error('it is damaged')
    yield frame
  }
}

/** The contents of the complete records of a file. */
function* recordsOf(fd: number): Generator<Buffer> {
  const { size } = fstatSync(fd)
  let bytes = Buffer.alloc(0)
  for (let at = 0; ;) {
    const length = recordLength(bytes)
    if (length !== undefined && length <= bytes.length) {
      yield bytes.subarray(4, length)
      bytes = bytes.subarray(length)
      at += length
      continue
    }
    const end = at + Math.max(length ?? 0, bytes.length + 2 ** 20)
    if (at + bytes.length >= size || at + (length ?? 0) > size) return // the end, possibly torn by a kill
    const more = Buffer.alloc(Math.min(end, size) - at)
    readSync(fd, more, 0, more.length, at)
    bytes = more
  }
}
