/** A session as the page has it: its rows as they come, read by the library's own functions. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { decryptBlock } from '@indelible/encryption/kit'
import { isLeft, isObject, parseJson } from 'indelible/json/kit'
import { decodeRow, takeMessage, type DecodedRow } from 'indelible/entry/kit'
import { createHistory, type History, type View } from 'indelible/history'
import { decodeMessage, type Message } from 'indelible/message'
import { decodeNote, foldPages, retractedBy, type Note } from 'indelible/notes/kit'
import type { PageKind } from 'indelible/pages'
import type { BlockId } from 'indelible/proof/kit'
import { sourceTimeOf } from '@indelible/transcripts'
import type { ViewedRow, ViewedSession } from '../../src/view/protocol.ts'
import { Join } from './join.ts'
import { withBlockChecks, reasonOf, ReadFailure, retryUntilAnswered, type LiveState, type Source } from './source.ts'

/** A message of the record, and what is known of its row. */
export interface Entry {
  /** Its position among the messages. */
  readonly position: number
  /** Its row. */
  readonly row: number
  /** When it was said: of an imported message, what its file says; if that is not known, when it was appended. */
  readonly at: number | undefined
  /** Whether it is imported and when it was said is not known. */
  readonly isUntold: boolean
  /** When it was appended. */
  readonly appended: number | undefined
  /** The kind that it was appended with. */
  readonly page: PageKind
  readonly tagged: boolean
  readonly message: Message
  /** Why its text is not the recorded one. */
  readonly state: ViewedRow['state'] | 'damaged'
  /** What is wrong with it, where it is damaged. */
  readonly damage?: string
}

/** A note of the record, and where it stands. */
export interface NoteAtRow {
  readonly row: number
  /** The index among the notes. */
  readonly index: number
  /** The message that it stands after; -1 before all of them. */
  readonly after: number
  readonly at: number | undefined
  readonly note: Note
}

/** How many rows one call reads. The first is small: it is looked at while the rest comes. */
const [firstRows, moreRows] = [120, 1000]

export class SessionRecord {
  readonly id: string
  readonly info: Signal<ViewedSession>
  /** Where it is read; its blocks are checked. */
  readonly source: Source
  /** Counts what came: whoever reads it is told of more. */
  readonly version: ReadonlySignal<number>
  /** Whether all rows have come. */
  readonly whole: ReadonlySignal<boolean>
  readonly live: ReadonlySignal<LiveState>
  /** Why it could not be read, or is not followed. */
  readonly fault: ReadonlySignal<string | undefined>
  /** Whether nothing more will come: what failed stays so until it is opened again. */
  readonly failed: ReadonlySignal<boolean>
  readonly entries: Entry[] = []
  readonly notes: NoteAtRow[] = []
  /** The rows as they came, for the proof. */
  readonly rows: ViewedRow[] = []
  /** Blocks that are not what their ids say, and the row that names each first. */
  readonly badBlocks = new Map<BlockId, number>()
  /** Blocks that are what their ids say. */
  readonly goodBlocks = new Set<BlockId>()
  /** Calls and their results. */
  readonly join = new Join()
  readonly #retracted = new Map<number, number>()
  readonly #notesAfter = new Map<number, NoteAtRow[]>()
  readonly #history: History<Message> = createHistory<Message>()
  readonly #version = signal(0)
  readonly #whole = signal(false)
  readonly #live = signal<LiveState>('no')
  readonly #fault = signal<string | undefined>(undefined)
  readonly #gone = new AbortController()
  #pages: { readonly notes: number; readonly kinds: ReadonlyMap<number, PageKind | undefined> } | undefined

  constructor(source: Source, info: ViewedSession) {
    this.source = withBlockChecks(source)
    this.id = info.id
    this.info = signal(info)
    this.version = this.#version
    this.whole = this.#whole
    this.live = this.#live
    this.fault = this.#fault
    this.failed = computed(() => finalStates.has(this.#live.value))
    void this.#load()
  }

  /** Every message that has come, as a view of the library. */
  view(): View<Message> {
    return this.#history.view()
  }

  /** The notes that have come. */
  noteList(): readonly Note[] {
    return this.notes.map(({ note }) => note)
  }

  /** The current page kind of a message: notes go before what it was appended with. */
  pageOf(entry: Entry): PageKind {
    if (this.#pages?.notes !== this.notes.length)
      this.#pages = { notes: this.notes.length, kinds: foldPages(this.noteList()) }
    return this.#pages.kinds.get(entry.position) ?? entry.page
  }

  /** The row of the note that took a message out of the conversation. */
  retractedAt(position: number): number | undefined {
    return this.#retracted.get(position)
  }

  /** The notes directly after a message. */
  notesAfter(position: number): readonly NoteAtRow[] {
    return this.#notesAfter.get(position) ?? none
  }

  /** End all that it has begun. */
  close(): void {
    this.#gone.abort()
  }

  /** Ends with this record: what is begun for it ends, too. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Told by whoever reads for it. */
  readonly state = (state: LiveState, because?: string): void => {
    if (this.gone.aborted || this.failed.value) return
    this.#live.value = state
    this.#fault.value = because
  }

  async #load(): Promise<void> {
    const { size } = this.info.value.head
    try {
      await retryUntilAnswered(
        async () => {
          for (let take = firstRows; this.rows.length < size && !this.gone.aborted; take = moreRows) {
            const before = this.rows.length
            await this.#read(before, Math.min(size, before + take))
            if (this.rows.length === before)
              throw new ReadFailure(
                `the store has only ${before} of the ${size} rows of this session: another one is in its place`,
              )
            this.state('no')
          }
        },
        this.gone,
        ({ message }) => this.state('lost', message),
      )
    } catch (cause) {
      return this.#fail(cause)
    }
    if (this.gone.aborted) return
    this.#whole.value = true
    if (this.rows.at(-1)?.state === 'encrypted') return // without its key nothing more can be shown
    const unfollow = this.source.follow(this.id, size, {
      row: (row) => this.#queue(row),
      root: (at) => (this.info.value.head.size === at ? this.info.value.head.root : undefined),
      state: this.state,
    })
    this.gone.addEventListener('abort', unfollow)
  }

  #fail(cause: unknown): void {
    this.state(cause instanceof ReadFailure && cause.missing ? 'removed' : 'fault', reasonOf(cause))
  }

  /** Rows that can't be read are passed by, one at a time, so that all others are seen. */
  async #read(from: number, to: number): Promise<void> {
    let rows: readonly ViewedRow[]
    try {
      rows = await this.source.rows(this.id, from, to)
    } catch (cause) {
      if (
        !(cause instanceof ReadFailure) ||
        cause.position === undefined ||
        cause.position < from ||
        cause.position >= to
      )
        throw cause
      if (cause.position > from) await this.#read(from, cause.position)
      this.#damaged(cause.position, cause.message)
      if (cause.position + 1 < to) await this.#read(cause.position + 1, to)
      return
    }
    await this.#take(rows)
  }

  #damaged(position: number, reason: string): void {
    this.rows.push({ position, kind: 'entry', index: this.entries.length })
    this.#add({ position, kind: 'entry', index: this.entries.length }, undefined, reason)
    this.#version.value += 1
  }

  readonly #arrived: ViewedRow[] = []
  #taking: Promise<void> | undefined

  /** Rows of a follower come one by one: those that wait are taken together. */
  #queue(row: ViewedRow): void {
    this.#arrived.push(row)
    this.#taking ??= this.#takeArrived()
  }

  async #takeArrived(): Promise<void> {
    const work = async (): Promise<void> => {
      while (this.#arrived.length > 0) {
        const count = this.#arrived.length
        await this.#take(this.#arrived.slice(0, count))
        this.#arrived.splice(0, count)
      }
      const info = await this.source.session(this.id)
      if (info.head.size >= this.rows.length) this.info.value = info // else another one is in its place, which the follower tells
    }
    try {
      do {
        await retryUntilAnswered(work, this.gone, ({ message }) => this.state('lost', message))
        if (this.#live.value === 'lost') this.state('live')
      } while (this.#arrived.length > 0)
    } catch (cause) {
      this.#fail(cause)
    }
    this.#taking = undefined
  }

  async #take(rows: readonly ViewedRow[]): Promise<void> {
    const decoded = rows.map((row) =>
      row.kind === 'entry' && row.body !== undefined ? decodeRow(row.body) : undefined,
    )
    const wanted = new Map<BlockId, number>()
    for (const [index, found] of decoded.entries())
      if (found !== undefined && !isLeft(found))
        for (const { id } of found.right.blocks)
          if (!wanted.has(id)) wanted.set(id, (rows[index] as ViewedRow).position)
    const blocks = await this.#blocks(wanted)
    for (const [index, row] of rows.entries()) {
      const found = decoded[index]
      this.rows.push(row)
      if (row.kind === 'note') this.#addNote(row)
      else if (found === undefined) this.#add(row, undefined)
      else if (isLeft(found)) this.#add(row, undefined, `the row ${found.left}`)
      else {
        const lost = found.right.blocks.find(({ id }) => !blocks.has(id))
        const damage = lost && `block ${lost.id.slice(0, 12)}… is missing or is not what was appended`
        this.#add(row, found.right, damage, decryptBlocks(found.right, blocks))
      }
    }
    this.#version.value += 1
  }

  async #blocks(wanted: ReadonlyMap<BlockId, number>): Promise<ReadonlyMap<BlockId, Uint8Array>> {
    const good = new Map<BlockId, Uint8Array>()
    const ids = [...wanted.keys()]
    const found = ids.length === 0 ? [] : await this.source.blocks(ids)
    for (const [index, id] of ids.entries()) {
      const bytes = found[index]
      if (bytes !== undefined) {
        good.set(id, bytes)
        this.goodBlocks.add(id)
      } else if (!this.badBlocks.has(id)) this.badBlocks.set(id, wanted.get(id) as number)
    }
    return good
  }

  #add(
    row: ViewedRow,
    decoded: DecodedRow | undefined,
    damage?: string,
    blocks: ReadonlyMap<BlockId, Uint8Array> = new Map(),
  ): void {
    const reason = damage ?? (decoded === undefined ? undefined : takeMessage(this.#history, decoded, blocks))
    const position = this.entries.length
    // Its place is kept: by the message without its texts, if it is known what it was.
    if (this.#history.len === position)
      this.#history.append(decoded === undefined ? unknownMessage : messageWithoutBlocks(decoded))
    const message = this.#history.view().at(position) as Message
    const said = sourceTimeOf(message)
    const entry: Entry = {
      position,
      row: row.position,
      at: said ?? row.at,
      isUntold: said === undefined && isObject(this.info.value.metadata['from']),
      appended: row.at,
      page: decoded?.page ?? 'conversation',
      tagged: decoded?.tagged ?? false,
      message,
      state: reason === undefined ? row.state : 'damaged',
      ...(reason !== undefined && { damage: reason }),
    }
    this.entries.push(entry)
    this.join.add(entry)
  }

  #addNote(row: ViewedRow): void {
    const note = row.body === undefined ? undefined : noteIn(row.body)
    if (note === undefined) return
    const after = this.entries.length - 1
    const placed: NoteAtRow = { row: row.position, index: row.index, after, at: row.at, note }
    this.notes.push(placed)
    this.#notesAfter.set(after, [...this.notesAfter(after), placed])
    const range = retractedBy(note, this.entries.length)
    if (range !== undefined)
      for (let position = range.from; position < range.to; position++)
        if (!this.#retracted.has(position)) this.#retracted.set(position, row.position)
  }
}

/** The blocks of a row of an encrypted session, by the keys that the row has. */
const decryptBlocks = (
  { blocks }: DecodedRow,
  stored: ReadonlyMap<BlockId, Uint8Array>,
): ReadonlyMap<BlockId, Uint8Array> => {
  if (blocks.every(({ key }) => key === undefined)) return stored
  const plain = new Map(stored)
  for (const { id, key } of blocks) {
    const bytes = stored.get(id)
    const opened = key === undefined || bytes === undefined ? bytes : decryptBlock(key, bytes)
    if (opened !== undefined) plain.set(id, opened)
  }
  return plain
}

const none: readonly NoteAtRow[] = []

const unknownMessage: Message = { role: 'developer', content: [] }

const messageWithoutBlocks = ({ text }: DecodedRow): Message => {
  const parsed = parseJson(text)
  const message = isLeft(parsed) ? parsed : decodeMessage(parsed.right)
  return isLeft(message) ? unknownMessage : message.right
}

/** The role of a message; of one that can't be read at all, that it is damaged. */
export const roleOf = ({ message, state }: Entry): string =>
  state === 'damaged' && message.content.length === 0 ? 'damaged' : message.role

/** What does not change any more. */
const finalStates: ReadonlySet<LiveState> = new Set<LiveState>(['removed', 'replaced', 'fault'])

const noteIn = (body: string): Note | undefined => {
  try {
    const note = decodeNote(JSON.parse(body))
    return isLeft(note) ? undefined : note.right
  } catch {
    return undefined
  }
}
