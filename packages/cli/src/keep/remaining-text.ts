/** Looks for erased text where no erasure reaches: in kept files of other sessions, and in the files of programs. */
import { createReadStream, existsSync } from 'node:fs'
import { isLeft } from 'indelible/internal/json'
import { contentsOf, finderOf } from 'indelible/internal/store'
import { spellings } from 'indelible/internal/session'
import type { Note } from 'indelible/internal/notes'
import type { Message } from 'indelible/message'
import { describeSession, eraseMessages, readSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { sourcesOf, titleOf } from '../sources/agent-sessions.ts'
import { valueOrUnreadable } from '../sources/place.ts'
import { allSessions } from '../sources/sessions.ts'
import type { Terminal } from '../terminal/command.ts'
import { ownSecret } from './digest-secrets.ts'
import { copyDigests } from './erased-messages.ts'
import { pieceOf, sourceOf, type KeptSource } from './kept-files.ts'

/** What is to be erased of a session, read before it is. */
interface TextToErase extends KeptSource {
  readonly id: string
  /** Whether files of it are kept. */
  readonly hasFiles: boolean
  readonly texts: readonly string[]
  /** By position: digests by which `keep` recognizes copies of the messages. Undefined if no program wrote them. */
  readonly digests: ReadonlyMap<number, readonly string[]> | undefined
}

/** Shorter texts could come from anywhere. */
const shortest = 12

/** The texts of messages, of all if no positions are given. */
export const textToErase = async (
  store: Store,
  id: string,
  positions: readonly number[] | undefined,
): Promise<TextToErase> => {
  const opened = await readSession(store, id)()
  // The erasure says why it can't be read.
  if (isLeft(opened)) return { id, path: undefined, program: undefined, hasFiles: false, texts: [], digests: undefined }
  const session = opened.right
  const view = session.view()
  const texts = new Set<string>()
  for (const position of positions ?? Array.from({ length: view.length }, (_, index) => index)) {
    const message = view.at(position) as Message | undefined
    for (const { what, text } of contentsOf(message?.content ?? []))
      if (what === 'text' && text.length >= shortest) texts.add(text)
  }
  const notes = [...session.notes()] as readonly Note[]
  const source = sourceOf(session.metadata())
  const times = Array.from(session.at().rows()).flatMap((row) => (row.kind === 'entry' ? [row.at] : []))
  const found = await describeSession(store, id)()
  const isSecret = isLeft(found) || found.right.encrypted || found.right.erasable === true
  return {
    id,
    ...source,
    digests:
      source.program === undefined
        ? undefined
        : copyDigests([...view] as Message[], (position) => times[position], isSecret, await ownSecret(store)),
    hasFiles: notes.some(({ type }) => type === 'kept_file'),
    texts: [...texts],
  }
}

/**
 * Where the text of a session remains after its erasure, in words. Kept files of sessions from the same file are dropped.
 *
 * Cost    the kept files of all sessions of the program, and the program's own files
 */
export const remainingText = async (
  store: Store,
  { id, path, program, texts }: TextToErase,
  env: Terminal['env'],
): Promise<readonly string[]> => {
  if (program === undefined) return []
  if (texts.length === 0)
    return path !== undefined && existsSync(path)
      ? [
          `remains: ${path}, which ${titleOf(program)} wrote, still has the session; its text is too short to look for elsewhere`,
        ]
      : []
  const lines: string[] = []
  const finds = finderIn(texts)
  for await (const other of allSessions(store)) {
    const source = sourceOf(other.metadata)
    if (source.program !== program) continue
    const file = await keptFileWith(store, other.id, finds)
    if (file === undefined) continue
    if (source.path === path) {
      await valueOrUnreadable(eraseMessages(store, other.id, { files: true }))
      lines.push(`the kept files of ${other.id}, which come from the same file, were dropped, too`)
    } else if (other.id !== id) lines.push(`remains: the same text in a kept file of ${other.id}: ${file}`)
  }
  const { sources, others } = await sourcesOf(program, env)
  for (const found of [...sources, ...others])
    if (found.rows === undefined ? await isInFile(found.path, finds) : finds.of()(found.rows()))
      lines.push(`remains: the same text in ${found.path}, which ${titleOf(program)} wrote`)
  return lines
}

/** Looks through bytes that come in pieces: a text may be in two of them. */
interface Finder {
  readonly of: () => (piece: Uint8Array) => boolean
}

const finderIn = (texts: readonly string[]): Finder => {
  const all = [...new Set(texts.flatMap(spellings))].map((text) => Buffer.from(text).toString('latin1'))
  const isIn = finderOf(all)
  const longest = all.reduce((most, { length }) => Math.max(most, length), 0)
  return {
    of: () => {
      let tail = ''
      return (piece) => {
        const text = tail + Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1')
        tail = text.slice(-longest)
        return isIn(text)
      }
    },
  }
}

/** A kept file of a session in which one of the texts is. */
const keptFileWith = async (store: Store, id: string, finds: Finder): Promise<string | undefined> => {
  const session = await readSession(store, id)()
  if (isLeft(session)) return undefined // the erasure lists what can't be read
  let [last, isIn] = ['', finds.of()]
  for (const note of session.right.notes() as Iterable<Note>) {
    if (note.type !== 'kept_file') continue
    if (note.file !== last || note.from === 0) isIn = finds.of()
    last = note.file
    for (const block of note.blocks) if (isIn(await pieceOf(store, note.file, block))) return note.file
  }
  return undefined
}

const isInFile = async (path: string, finds: Finder): Promise<boolean> => {
  if (!existsSync(path)) return false
  const isIn = finds.of()
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 }))
      if (isIn(piece as Uint8Array)) return true
  } catch {
    return false // it is not readable for this user
  }
  return false
}
