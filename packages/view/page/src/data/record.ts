/** A session as the page has it: its rows as they come, read by the library's own functions. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { decryptBlock } from '@indelible/encryption/internal'
import { isLeft, isObject, jsonIn } from 'indelible/internal/json'
import { decodeRow, takeMessage, type DecodedRow } from 'indelible/internal/entry'
import { createHistory, type History, type View } from 'indelible/history'
import { decodeMessage, type Message, type ToolCallPart } from 'indelible/message'
import { foldPages, retractedBy, type Note } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import type { BlockId } from 'indelible/internal/proof'
import { sourceTimeOf } from '@indelible/transcripts'
import { noteIn, type NoteAtRow } from '../../../src/calls/model-calls.ts'
import type { ViewedRow, ViewedSession } from '../../../src/protocol.ts'
import type { Entry } from './entry.ts'
import { Join } from './join.ts'
import { withBlockChecks, reasonOf, ReadFailure, retryUntilAnswered, type LiveState, type Source } from './source.ts'

/** What is wrong with a row. The text of one that is `altered` is not shown: nobody appended it. */
export interface DamagedRow {
  readonly reason: string
  readonly altered: boolean
}

/** A block that a row names, and the first row that does. */
export interface NamedBlock {
  readonly row: number
  readonly state: 'good' | 'altered' | 'missing'
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
  /** The blocks that were compared with their ids. */
  readonly blocks: Map<BlockId, NamedBlock> = new Map()
  #join = new Join()
  readonly #marked = new Set<number>()
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

  /** Calls and their results. Another one once a row is found to be damaged. */
  get join(): Join {
    return this.#join
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

  /**
   * The milliseconds from a tool call to its result, where both times are known and differ. Not of what `indelible record`
   * recorded: a result comes with the next call, and is appended when that one has its answer.
   */
  timeOf(call: ToolCallPart): number | undefined {
    const from = this.entries[this.join.callerOf(call) ?? -1]
    const to = this.join.resultOf(call)?.entry
    if (from?.at === undefined || to?.at === undefined || from.isUntold || to.isUntold) return undefined
    return to.at > from.at && this.info.value.metadata['recorder'] === undefined ? to.at - from.at : undefined
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
    const blocks = await this.readBlocks(wanted)
    for (const [index, row] of rows.entries()) {
      const found = decoded[index]
      this.rows.push(row)
      if (row.kind === 'note') this.#addNote(row)
      else if (found === undefined) this.#add(row, undefined)
      else if (isLeft(found)) this.#add(row, undefined, `the row ${found.left}`)
      else {
        const lost = found.right.blocks.find(({ id }) => !blocks.has(id))
        const damage = lost && blockDamage(lost.id, this.blocks.get(lost.id)?.state)
        this.#add(row, found.right, damage, decryptBlocks(found.right, blocks))
      }
    }
    this.#version.value += 1
  }

  /** Blocks with the digest that their id is, of those that rows name. */
  async readBlocks(wanted: ReadonlyMap<BlockId, number>): Promise<ReadonlyMap<BlockId, Uint8Array>> {
    const good = new Map<BlockId, Uint8Array>()
    const ids = [...wanted.keys()]
    const found = ids.length === 0 ? [] : await this.source.blocks(ids)
    for (const [index, id] of ids.entries()) {
      const bytes = found[index]
      if (bytes instanceof Uint8Array) good.set(id, bytes)
      const state = bytes === undefined ? 'missing' : bytes === 'altered' ? bytes : 'good'
      this.blocks.set(id, { row: this.blocks.get(id)?.row ?? (wanted.get(id) as number), state })
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
    const sourceTime = sourceTimeOf(message)
    const entry: Entry = {
      position,
      row: row.position,
      at: sourceTime ?? row.at,
      isUntold: sourceTime === undefined && isObject(this.info.value.metadata['from']),
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

  /** Mark rows as damaged, which was found after they came. Cost: O(messages and notes). */
  mark(damaged: ReadonlyMap<number, DamagedRow>): void {
    const found = new Map([...damaged].filter(([row]) => !this.#marked.has(row)))
    if (found.size === 0) return
    for (const row of found.keys()) this.#marked.add(row)
    this.#join = new Join()
    for (const [position, entry] of this.entries.entries()) {
      const damaged = found.get(entry.row)
      if (damaged !== undefined) this.entries[position] = damagedEntry(entry, damaged)
      this.join.add(this.entries[position] as Entry)
    }
    this.#notesAfter.clear()
    this.#retracted.clear()
    for (const placed of this.notes.splice(0)) {
      const damaged = found.get(placed.row)
      this.#placeNote(damaged === undefined ? placed : damagedNote(placed, damaged))
    }
    this.#version.value += 1
  }

  #addNote(row: ViewedRow): void {
    if (row.body === undefined) return
    const note = noteIn(row.body)
    const placed = { row: row.position, index: row.index, after: this.entries.length - 1, at: row.at }
    this.#placeNote(
      note === undefined
        ? damagedNote(placed, { reason: 'the row is not a note', altered: true })
        : { ...placed, note },
    )
  }

  #placeNote(placed: NoteAtRow): void {
    const { after, note } = placed
    this.notes.push(placed)
    this.#notesAfter.set(after, [...this.notesAfter(after), placed])
    const range = retractedBy(note, after + 1)
    if (range !== undefined)
      for (let position = range.from; position < range.to; position++)
        if (!this.#retracted.has(position)) this.#retracted.set(position, placed.row)
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

/** What is wrong with a block, as the command says it. */
export const blockDamage = (id: BlockId, state: NamedBlock['state'] | undefined): string =>
  `block ${id} ${state === 'altered' ? 'is not what was appended' : 'is missing'}`

const damagedEntry = (entry: Entry, { reason, altered }: DamagedRow): Entry =>
  altered
    ? { ...entry, state: 'damaged', damage: reason, message: withoutText(entry.message) }
    : { ...entry, damage: reason }

/** Which calls it answers stays, so that they do not seem to be without a result. */
const withoutText = ({ role, content }: Message): Message => ({
  role,
  content: content.flatMap((part) => (part.type === 'tool_result' ? [{ ...part, content: [] }] : [])),
})

const damagedNote = (
  placed: Omit<NoteAtRow, 'note'> & { readonly note?: Note },
  { reason, altered }: DamagedRow,
): NoteAtRow => ({
  ...placed,
  damage: reason,
  note:
    placed.note === undefined || altered
      ? { type: 'application', namespace: 'indelible.damaged', content: { reason } }
      : placed.note,
})

const unknownMessage: Message = { role: 'developer', content: [] }

const messageWithoutBlocks = ({ text }: DecodedRow): Message => {
  const message = decodeMessage(jsonIn(text))
  return isLeft(message) ? unknownMessage : message.right
}

/** Why the text of a message is no longer what it was: of one that a call was sent, say. Undefined if it is. */
export const lossOf = (entry: Entry | undefined): 'erased' | 'damaged' | undefined =>
  entry?.state === 'erased' || entry?.state === 'damaged' ? entry.state : undefined

/** The role of a message; of one that can't be read at all, that it is damaged. */
export const roleOf = ({ message, state }: Entry): string =>
  state === 'damaged' && message.content.length === 0 ? 'damaged' : message.role

/** What does not change any more. */
const finalStates: ReadonlySet<LiveState> = new Set<LiveState>(['removed', 'replaced', 'fault'])
