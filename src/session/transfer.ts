/** Moving records: a transcript becomes a session, and a session an export. */
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Message } from '../message/index.ts'
import type { Note } from '../notes/index.ts'
import { classify } from '../pages/index.ts'
import { exportOf, type Exported, type ExportedRow, type Transcript } from '../transcript/index.ts'
import { type EncodedRow, encodeRow } from '../refs/index.ts'
import type { Head, Store, StoreFault } from '../store/index.ts'
import type { SessionTask } from './fault.ts'
import { sessionInfo, storedMeta, type SessionInfo } from './metadata.ts'
import { randomId, readMirror } from './open.ts'

export interface ImportOptions {
  /** Default: the id that the transcript names, or a random UUID. */
  readonly id?: string
  /** Told how many rows are stored so far. */
  readonly progress?: (rows: number) => void
}

/**
 * Store a transcript as a session: its messages, page kinds and notes, row by row. An export of ours gives the record
 * that it was made from, with the same head; if it doesn't, that is `OtherHead`, and nothing is kept.
 *
 * After any other failure too nothing is kept, unless the store can't even remove what it began to take.
 *
 * Cost    O(transcript), in pieces
 */
export const importTranscript =
  (store: Store, transcript: Transcript, { id, progress }: ImportOptions = {}): SessionTask<SessionInfo> =>
  async () => {
    const exported = exportOf(transcript)
    const name = id ?? transcript.origin.id ?? randomId()
    const meta = storedMeta(exported.metadata)
    if (isLeft(meta)) return meta
    const created = await store.create({ id: name, meta: meta.right })()
    if (isLeft(created)) return created
    const head = await storeRows(store, name, created.right.head, exported.rows, progress)
    const expected = exported.head.root
    if ('_tag' in head || (expected !== undefined && head.root !== expected)) {
      await store.remove(name)()
      return left('_tag' in head ? head : { _tag: 'OtherHead', id: name, expected: expected as string, found: head.root })
    }
    const log = await store.info(name)()
    return isLeft(log) ? log : sessionInfo(log.right)
  }

/** A whole session as it is exported: `exportLines` writes it. Cost: that of opening it. */
export const exportSession =
  (store: Store, id: string): SessionTask<Exported> =>
  async () => {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror, info } = opened.right
    const [view, notes] = [mirror.history.view(), mirror.notes.view()]
    const rows = function* (): Generator<ExportedRow> {
      let note = 0
      for (let row = 0; row < mirror.head.size; row++) {
        if (mirror.noteRows[note] === row) yield { note: notes.at(note++) as Note }
        else yield { message: view.at(row - note) as Message, page: view.pages.at(row - note) ?? 'conversation' }
      }
    }
    return right({ id, metadata: info.metadata, rows: { [Symbol.iterator]: rows }, head: mirror.head })
  }

/** How many rows, and how many characters of them, are appended at once. */
const mostRows = 1000
const mostText = 4_000_000

const storeRows = async (store: Store, id: string, start: Head, rows: Iterable<ExportedRow>, progress: ImportOptions['progress']): Promise<Head | StoreFault> => {
  let head = start
  let waiting: EncodedRow[] = []
  let text = 0
  const flush = async (): Promise<StoreFault | undefined> => {
    const appended = await store.append(id, { expected: head, rows: waiting.map(({ row }) => row), blocks: waiting.flatMap(({ blocks }) => blocks) })()
    if (isLeft(appended)) return appended.left
    head = appended.right.head
    waiting = []
    text = 0
    progress?.(head.size)
    return undefined
  }
  for (const row of rows) {
    const encoded = encodedOf(row, store)
    waiting.push(encoded)
    text += encoded.row.body.length + encoded.blocks.reduce((sum, block) => sum + block.length, 0)
    const fault = waiting.length >= mostRows || text >= mostText ? await flush() : undefined
    if (fault !== undefined) return fault
  }
  return (waiting.length === 0 ? undefined : await flush()) ?? head
}

const encodedOf = (row: ExportedRow, { hash }: Store): EncodedRow =>
  'note' in row ? { row: { kind: 'note', body: JSON.stringify(row.note) }, blocks: [] } : encodeRow(row.message, row.page, row.page !== classify(row.message), hash)
