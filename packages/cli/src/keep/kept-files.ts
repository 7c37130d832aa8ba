/** The files that a session's notes name: their versions, and their bytes. */
import { createHash } from 'node:crypto'
import { zstdDecompressSync } from 'node:zlib'
import { isObject, type JsonObject } from 'indelible/internal/json'
import type { KeptFileNote, Note } from 'indelible/internal/notes'
import type { Store } from 'indelible/store'
import { programs } from '../sources/agent-sessions.ts'
import { Unreadable } from '../terminal/command.ts'
import { valueOrUnreadable } from '../sources/place.ts'

/** The compressed bytes of a piece hold at most this many bytes. */
export const pieceBytes: number = 1 << 20

/** A version of a file: the notes of its pieces, in order. */
export interface KeptVersion {
  readonly program: string
  readonly file: string
  readonly pieces: readonly KeptFileNote[]
  /** The number of its bytes that are kept, and their digest. */
  readonly to: number
  readonly digest: string
  /** Whether it is the whole file as it was. */
  readonly isWhole: boolean
}

/** Where a session was kept from. */
export interface KeptSource {
  /** The program's file. */
  readonly path: string | undefined
  readonly program: string | undefined
}

/** The program and the file that a session was kept from. */
export const sourceOf = (metadata: JsonObject): KeptSource => {
  const { import: from } = metadata
  if (!isObject(from)) return { path: undefined, program: undefined }
  const { path, program } = from
  return {
    path: typeof path === 'string' ? path : undefined,
    program: typeof program === 'string' && programs.includes(program) ? program : undefined,
  }
}

/** The versions of each file of a session, the latest last. A file is named by its program and its path. */
export const versionsIn = (notes: Iterable<Note>): ReadonlyMap<string, readonly KeptVersion[]> => {
  const files = new Map<string, KeptVersion[]>()
  for (const note of notes) {
    if (note.type !== 'kept_file') continue
    const versions = files.get(keyOf(note)) ?? []
    files.set(keyOf(note), versions)
    const { program, file, from, to, size, digest } = note
    const last = versions.at(-1)
    const continues = from > 0 && last?.to === from
    if (from > 0 && !continues) continue // its beginning was erased
    const pieces = continues ? [...last.pieces, note] : [note]
    const version = { program, file, pieces, to, digest, isWhole: to === size }
    if (continues) versions[versions.length - 1] = version
    else versions.push(version)
  }
  return files
}

export const keyOf = ({ program, file }: Pick<KeptFileNote, 'program' | 'file'>): string => `${program}/${file}`

/** The latest whole version; of a version that grew, the part that was whole. */
export const latestWhole = (versions: readonly KeptVersion[]): KeptVersion | undefined => {
  for (const version of versions.toReversed()) {
    const last = version.pieces.findLastIndex(({ to, size }) => to === size)
    const note = version.pieces[last]
    if (note !== undefined)
      return { ...version, pieces: version.pieces.slice(0, last + 1), to: note.to, digest: note.digest, isWhole: true }
  }
  return undefined
}

/** The sizes and digests of a session's kept files, by which `keep` recognizes them under another name once it is removed. */
export const fileDigests = (notes: Iterable<Note>): readonly string[] =>
  [...versionsIn(notes).values()].flatMap((versions) => versions.map(({ to, digest }) => `${to} ${digest}`))

/** The bytes of a version, in pieces. Throws Unreadable if a block is missing or is not what was kept. */
export async function* bytesOf(store: Store, { file, pieces, digest }: KeptVersion): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for (const note of pieces)
    for (const block of note.blocks) {
      const bytes = await pieceOf(store, file, block)
      hash.update(bytes)
      yield bytes
    }
  if (hash.digest('hex') !== digest) throw new Unreadable(`${file}: its kept bytes are not what was kept`)
}

/** The bytes of one block. */
export const pieceOf = async (
  store: Store,
  file: string,
  { id, key }: KeptFileNote['blocks'][number],
): Promise<Uint8Array> => {
  const source = key === undefined ? store : (store.encryption?.bare ?? store)
  const [found] = await valueOrUnreadable(source.getBlocks([id]))
  if (found === undefined) throw new Unreadable(`${file}: its bytes are not in this store`)
  const bytes = key === undefined ? found : store.encryption?.block(key, found)
  if (bytes === undefined) throw new Unreadable(`${file}: block ${id} can't be decrypted`)
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: pieceBytes })
  } catch {
    throw new Unreadable(`${file}: block ${id} is not a compressed piece of at most ${pieceBytes} bytes`)
  }
}
