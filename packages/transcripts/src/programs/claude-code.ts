/**
 * The session file of Claude Code: one JSON entry a line, most of them in a tree by `uuid` and `parentUuid`.
 *
 * The conversation is the path to the last entry. The reader joins what streaming split: lines of one answer (the
 * same `message.id`) become one message, and results of parallel calls, which hang off the path on the line of
 * their own call, belong to it. Side chains (sub-agents) are separate conversations, selected by `pick`. A
 * compaction starts a new path for the model; here the conversation continues across it, and its summary is a note.
 *
 * Source  observed files of versions 1.0 to 2.1; the format is undocumented and changes. code.claude.com/docs/en/sessions
 */
import {
  ownField,
  difference,
  fieldsBeside,
  isLeft,
  isObject,
  type JsonObject,
  objectAt,
  Unexpected,
} from 'indelible/internal/json'
import { decodeRecorded } from 'indelible/internal/codecs'
import { textOf, type Message } from 'indelible/message'
import { EntryTree } from '../format/entry-tree.ts'
import { answer, callOf, checkPiece, unexpectedLine, type Piece } from './claude-answer.ts'
import { begins, bookkeeping, contentOf, holdsResults, isTreeLine, messageTypes, parentIn } from './claude-lines.ts'
import { isTyped, promptIn, PromptQueue, promptText } from './claude-queue.ts'
import type { Ending, LineFormat, LineReader, Range, Sink } from '../format/line-format.ts'
import { anthropicCounts, countAnswer } from '../format/call-counts.ts'
import { textIn } from '../format/origin.ts'
import { withOtherFields, withOtherLines, pickFields } from '../format/other-fields.ts'
import type { TreeReader } from '../format/parent-first.ts'
import { holdsMessage, unreadLine } from '../format/unknown-line.ts'

const format = 'claude-code'

export const claudeCode: LineFormat = {
  format,
  signatures: [['type', 'uuid', 'parentUuid', 'sessionId', 'message']],
  countsOf: anthropicCounts,
  matches: (entry) =>
    isTreeLine(entry) ||
    (bookkeeping.has(entry['type']) &&
      ['sessionId', 'leafUuid', 'snapshot', 'messageId'].some((field) => field in entry)),
  reader: (sink) => new Reader(sink),
}

class Reader implements LineReader {
  readonly #sink: Sink
  readonly #tree = new EntryTree()
  readonly #queue = new PromptQueue()
  /** The fields that every line repeats, with the values of the first line. */
  #usual: JsonObject | undefined
  /** Whether the first conversation is itself a side chain, as in a sub-agent's file. */
  #startsAside = false
  /** Whether lines lost their parents. */
  #lostParents = false
  /** The last entry of each conversation. */
  readonly #tips: number[] = []
  /** Lines of unknown kinds that hold a message, by id. Each is damage once another line follows it. */
  readonly #unread = new Map<string, number>()
  /** The lines of the answer being read, the items that it replaces, and the writes that wait for it. */
  #pieces: Piece[] = []
  #replaced: Range | undefined
  #held: (() => void)[] = []
  /** The first item of each answer of several lines. */
  readonly #joined = new Set<number>()
  /** The lines of the last answer. */
  #answer: readonly Piece[] = []

  readonly tree: TreeReader = {
    link: (entry) => {
      const id = textIn(entry, 'uuid')
      const parent = parentIn(entry)
      return { id, parent, followsPrevious: parent === undefined && (this.#lostParents || !begins(entry)) }
    },
    has: (id) => this.#tree.find(id) !== undefined,
  }

  constructor(sink: Sink) {
    this.#sink = sink
  }

  read(entry: JsonObject, line: number, previous?: string): void {
    const { type } = entry
    const { origin } = this.#sink
    origin.time(entry['timestamp'])
    if (type === 'custom-title') origin.title = textIn(entry, 'customTitle') ?? origin.title
    if (type === 'summary') origin.title ??= textIn(entry, 'summary')
    if (type === 'queue-operation') return this.#readOperation(entry, line)
    const isSpoken = messageTypes.has(type)
    const unknown = isSpoken || bookkeeping.has(type) ? undefined : unreadLine(entry, line, this.#sink)
    const id = textIn(entry, 'uuid')
    if (id === undefined && !isSpoken)
      return unknown === undefined ? this.#sink.aside(type as string) : this.#hold(unknown)
    const { message } = entry
    const isWhole = (isObject(message) && typeof message['role'] === 'string') || promptIn(entry) !== undefined
    if (id === undefined && !isWhole) throw new Unexpected(['uuid'], 'a string', entry['uuid'])
    if (id === undefined) this.#sink.damage(line, 'has no uuid, so no line can name it as its parent')
    const known = id === undefined ? undefined : this.#tree.find(id)
    if (known !== undefined) return this.#readAgain(entry, line, known)
    const index = this.#place(entry, id, line, previous)
    if (id !== undefined && unknown !== undefined && holdsMessage(entry)) this.#unread.set(id, line)
    if (this.#isElsewhere(index)) return this.#sink.aside('line of another conversation')
    if (unknown !== undefined) return this.#hold(unknown) // on no branch: always kept
    this.#readPlaced(type as string, entry, line, index)
  }

  end(): Ending {
    this.#flush()
    this.#writeDue()
    for (const prompt of this.#queue.end()) this.#sink.entry(prompt.line, prompt.entry)
    const tree = this.#tree
    const isResultOf = (index: number, keeps: (index: number) => boolean): boolean =>
      isResult(tree.mark(index)) && keeps(tree.parent(index))
    const isSpoken = (index: number): boolean => !this.#isElsewhere(index) && !isUnspoken(tree.mark(index))
    return {
      count: this.#tips.length,
      dropped: tree.dropped(
        tree.path(tree.leaf(isSpoken)),
        (count) => this.#sink.origin.aside('item of another branch', count),
        isResultOf,
      ),
    }
  }

  #isElsewhere(index: number): boolean {
    return conversationOf(this.#tree.mark(index)) !== this.#sink.pick
  }

  /** Read a line whose uuid is that of an earlier line. A later version takes the place of the earlier one. */
  #readAgain(entry: JsonObject, line: number, index: number): void {
    if (this.#isElsewhere(index)) return this.#sink.aside('line of another conversation')
    if (this.#tree.isRepeated(index, contentOf(entry))) return this.#sink.aside('line that is written again')
    if (entry['type'] === 'assistant') {
      const piece = { entry, message: objectAt(entry['message'], ['message']), line, index }
      checkPiece(piece)
      const isLast = (piece: Piece): boolean => piece.index === index
      const pieces = this.#pieces.some(isLast) ? this.#pieces : this.#answer
      const whole = pieces.some(isLast) ? pieces.map((other) => (isLast(other) ? piece : other)) : [piece]
      this.#flush()
      const items = this.#tree.items(index)
      if (whole.length === 1 && items !== undefined && this.#joined.has(items[0])) {
        this.#sink.damage(line, 'is another version of a line of an earlier answer; both were read')
      } else this.#replaced = items
      this.#pieces = whole
      return this.#flush()
    }
    if (!messageTypes.has(entry['type'])) return this.#sink.aside(String(entry['type']))
    if (entry['type'] !== 'user') return this.#hold(() => this.#sink.entry(line, entry))
    const messages = this.#readUser(entry)
    this.#flush()
    this.#replaced = this.#tree.items(index)
    this.#put(messages, line, [index])
  }

  /** Read an operation on the queue of prompts. */
  #readOperation(entry: JsonObject, line: number): void {
    this.#sink.aside('queue-operation')
    if (this.#sink.pick !== 0) return
    for (const prompt of this.#queue.operation(entry, line))
      this.#hold(() => this.#sink.entry(prompt.line, prompt.entry))
  }

  /** Write the queued prompts that the model was given. */
  #writeDue(): void {
    if (this.#sink.pick !== 0) return
    for (const { text, entry, line } of this.#queue.beforeAnswer())
      this.#sink.message(
        line,
        withOtherFields(
          { role: 'user', content: [{ type: 'text', text }] },
          format,
          this.#envelope(fieldsBeside(entry, ['content']) ?? {}),
        ),
      )
  }

  /** Put an entry into the tree. */
  #place(entry: JsonObject, id: string | undefined, line: number, previous: string | undefined): number {
    const tree = this.#tree
    if (this.#usual === undefined) {
      this.#usual = pickFields(entry, repeatedFields)
      this.#startsAside = entry['isSidechain'] === true
      const { origin } = this.#sink
      origin.describe(this.#usual, { version: 'version', id: 'sessionId' })
    }
    const named = parentIn(entry)
    const parent = named === undefined ? undefined : tree.find(named)
    const unread = named === undefined ? undefined : this.#unread.get(named)
    if (unread !== undefined) {
      this.#unread.delete(named as string)
      this.#sink.damage(unread, `is of an unknown kind, holds a message, and line ${line} follows it`)
    }
    const isAside = entry['isSidechain'] === true && !this.#startsAside
    const ofParent = parent === undefined ? 0 : conversationOf(tree.mark(parent))
    const conversation = isAside ? ofParent || Math.max(1, this.#tips.length) : 0
    const earlier = previous === undefined ? undefined : tree.find(previous)
    const isBefore = earlier !== undefined && conversationOf(tree.mark(earlier)) === conversation
    const before = isBefore ? earlier : this.#tips[conversation]
    if (named !== undefined && parent === undefined && before !== undefined)
      this.#sink.damage(
        line,
        `has the parent ${JSON.stringify(named)}, which is not in the file; read as following the previous entry`,
      )
    // A line without a parent field follows the line before it; a null parent starts a new root. Only a user line
    // can start one: a null parent on an answer, a result or an attachment means that the file lost its parents.
    const isLost = named === undefined && before !== undefined && !isAside && !begins(entry)
    this.#lostParents ||= isLost && 'parentUuid' in entry
    const isUntold = named === undefined && (!('parentUuid' in entry) || this.#lostParents)
    if (isUntold && before !== undefined && 'parentUuid' in entry)
      this.#sink.damage(line, 'has no parent; read as following the previous entry')
    const follows = isUntold
      ? (before ?? -1)
      : named === undefined
        ? -1
        : isAside && ofParent === 0
          ? -1
          : (parent ?? before ?? -1)
    const { type } = entry
    const isMessage = type === 'user' || type === 'assistant' || (promptIn(entry) !== undefined && isTyped(entry))
    const index = tree.add({
      ...{ id, parent: follows, line, isMessage, content: contentOf(entry) },
      mark: conversation * 4 + (holdsResults(entry) ? 1 : 0) + (messageTypes.has(type) ? 0 : 2),
    })
    this.#tips[conversation] = index
    return index
  }

  #readPlaced(type: string, entry: JsonObject, line: number, index: number): void {
    switch (type) {
      case 'assistant':
        return this.#readPiece({ entry, message: objectAt(entry['message'], ['message']), line, index })
      case 'user': {
        const messages = this.#readUser(entry)
        if (!holdsResults(entry) && this.#isSame(index, this.#queue.message(spokenIn(messages), index))) return
        if (entry['isCompactSummary'] === true) return this.#readSummary(messages, entry, line, index)
        if (!holdsResults(entry)) this.#flush()
        return this.#hold(() => this.#put(messages, line, [index]))
      }
      case 'attachment': {
        const prompt = promptIn(entry)
        const same = prompt === undefined ? undefined : this.#queue.attach(promptText(prompt), index)
        if (prompt === undefined || !isTyped(entry)) return this.#holdNote(entry, line, index)
        if (this.#isSame(index, same)) return
        const attachment = fieldsBeside(objectAt(entry['attachment'], ['attachment']), ['prompt']) ?? {}
        const messages = this.#readUser({ ...entry, attachment, message: { role: 'user', content: prompt } })
        return this.#hold(() => this.#put(messages, line, [index]))
      }
      case 'system':
      case 'compact_boundary':
        return this.#holdNote(entry, line, index)
      default:
        return this.#sink.aside(type)
    }
  }

  #holdNote(entry: JsonObject, line: number, index: number): void {
    this.#hold(() => this.#tree.hold(index, this.#sink.entry(line, entry)))
  }

  /** Whether an entry repeats another one, whose items it then has. */
  #isSame(index: number, other: number | undefined): boolean {
    if (other === undefined) return false
    this.#sink.aside('prompt that is written again')
    this.#hold(() => {
      const [from = 0, to = from] = this.#tree.items(other) ?? []
      if (to > from) this.#tree.hold(index, from, to - from)
    })
    return true
  }

  #readUser(entry: JsonObject): readonly Message[] {
    const decoded = decodeRecorded([entry['message'] ?? null])
    if (isLeft(decoded)) throw unexpectedLine(decoded.left, 1)
    return decoded.right.messages.map((message, index) =>
      index === 0
        ? withOtherFields(message, format, this.#envelope(entry))
        : typeof entry['timestamp'] === 'string'
          ? withOtherFields(message, format, { timestamp: entry['timestamp'] })
          : message,
    )
  }

  #readSummary(messages: readonly Message[], entry: JsonObject, line: number, index: number): void {
    this.#flush()
    const text = spokenIn(messages)
    const { message } = entry
    const rest = isObject(message) ? difference(message, { role: 'user', content: text }) : undefined
    const beside = { ...fieldsBeside(entry, ['message']), ...(rest && { message: rest }) }
    this.#tree.hold(index, this.#sink.summary(line, { text, before: this.#sink.items, beside }))
  }

  /** Add a line to the answer being read, or start a new answer. */
  #readPiece(piece: Piece): void {
    const { message } = piece
    checkPiece(piece)
    const [first] = this.#pieces
    if (first === undefined || typeof message['id'] !== 'string' || first.message['id'] !== message['id']) {
      this.#flush()
      this.#writeDue()
    }
    this.#pieces.push(piece)
  }

  /** Write the answer being read, then the writes that waited for it. */
  #flush(): void {
    const pieces = this.#pieces
    const held = this.#held
    this.#pieces = []
    this.#held = []
    const [first] = pieces
    if (first !== undefined) {
      const { origin } = this.#sink
      this.#answer = pieces
      const decoded = answer(pieces)
      if (!isLeft(decoded)) {
        const [own, ...others] = pieces.map((piece) => this.#beside(piece, pieces))
        const beside = withOtherLines(own ?? {}, others)
        const messages = decoded.right.messages.map((message) => withOtherFields(message, format, beside))
        for (const message of messages) countAnswer(origin, claudeCode, message, callOf(pieces))
        this.#put(
          messages,
          first.line,
          pieces.map(({ index }) => index),
        )
      }
    }
    for (const write of held) write()
  }

  #put(messages: readonly Message[], line: number, entries: readonly number[]): void {
    const first = this.#sink.items
    const replaces = this.#replaced
    this.#replaced = undefined
    for (const message of messages) this.#sink.message(line, message, { replaces })
    if (entries.length > 1) this.#joined.add(first)
    this.#tree.holdLater(entries, first, messages.length)
  }

  /** Write now, or after the answer being read. */
  #hold(write: () => void): void {
    if (this.#pieces.length === 0) write()
    else this.#held.push(write)
  }

  /** The fields of a line other than its message, without those that all lines repeat. */
  #envelope(entry: JsonObject): JsonObject {
    const beside = Object.entries(entry).filter(
      ([field, value]) =>
        field !== 'message' &&
        field !== 'type' &&
        (this.#usual === undefined || ownField(this.#usual, field) !== value),
    )
    return Object.fromEntries(beside)
  }

  /**
   * The fields of an answer's line other than its content: the envelope fields that differ from the first
   * line's, and under `message` those that differ from the last line's, whose values the answer takes.
   */
  #beside({ entry, message }: Piece, pieces: readonly Piece[]): JsonObject {
    const first = pieces[0] as Piece
    const last = pieces.at(-1) as Piece
    const envelope = this.#envelope(entry)
    const own =
      entry === first.entry
        ? envelope
        : { ...pickFields(entry, lineFields), ...difference(envelope, first.entry, lineFields) }
    const rest = difference(message, last.message, ['content'])
    return { ...own, ...(rest && { message: rest }) }
  }
}

/** What the user says in messages that may also hold results. */
const spokenIn = (messages: readonly Message[]): string =>
  messages.flatMap((message) => (message.role === 'tool' ? [] : textOf(message))).join('\n')

/** The fields that every line repeats. */
const repeatedFields = [
  'sessionId',
  'version',
  'cwd',
  'gitBranch',
  'userType',
  'entrypoint',
  'isSidechain',
  'agentId',
] as const

/** The fields that each line of an answer keeps for itself. */
const lineFields = ['uuid', 'parentUuid', 'timestamp'] as const

/** An entry's mark: its conversation times four, plus one if it holds only results, plus two for bookkeeping. */
const conversationOf = (mark: number): number => mark >> 2
const isResult = (mark: number): boolean => (mark & 1) === 1
const isUnspoken = (mark: number): boolean => (mark & 2) === 2
