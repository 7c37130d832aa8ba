/** Finds the notes that repeat a message's text and must be erased with it. */
import type { View } from '../../history/index.ts'
import { base64Of, isArray, isLeft, isObject, joinBytes, ownFields, parseJson, utf8Of } from '../../json/index.ts'
import { countWhile } from '../../sequence/index.ts'
import { atOnce, contentsOf, isProgramName, makeFinder } from '../../store/internal.ts'
import type { Message } from '../../message/index.ts'
import { isMark, type Note } from '../../notes/internal.ts'
import { callIdsIn, stepIdOf, type EndedStep } from './journal.ts'

type Messages = Pick<View<Message>, 'at' | typeof Symbol.iterator>

/** The messages to erase, and everything by which notes can refer to them. */
export interface Subject {
  readonly positions: ReadonlySet<number>
  /** The ids of their calls, and of the calls whose results they are. */
  readonly callIds: ReadonlySet<string>
  /** The run steps that produced them, and the discarded steps erased with them. */
  readonly steps: ReadonlySet<string>
  /** The call ids of these discarded steps. */
  readonly discardedCalls: ReadonlySet<string>
  /** The ids of inputs erased with them. */
  readonly inputs: ReadonlySet<string>
  /** Whether the kept files are erased even if no message is. */
  readonly files: boolean
  /** Their texts. */
  readonly texts: readonly string[]
  /**
   * Strings inside texts that are JSON, such as a call's arguments, and the texts of their names and `meta`. Used only for
   * searching: a note with one of them may be about something else.
   */
  readonly inner: readonly string[]
  /** The ids of all calls in the session's messages, whether from a call or a result. */
  readonly recorded: ReadonlySet<string>
}

/** The minimum length for a substring match in a note. A shorter text must equal a whole text of the note. */
export const longEnough = 12
/** Shorter texts are ignored: they could come from anywhere. */
const shortestDistinctive = 4

/** Steps and inputs to erase, with or without messages. */
interface CopiesInNotes {
  /** Ended steps: those of erased answers, and discarded ones. */
  readonly ended: readonly EndedStep[]
  /** The inputs, with their contents. */
  readonly inputs: ReadonlyMap<string, readonly unknown[]>
  /** Whether to erase the kept files. */
  readonly files: boolean
}

/** Collects the ids by which notes refer to the messages, and their texts. */
export function* subjectOf(
  messages: Messages,
  positions: readonly number[],
  { ended, inputs, files }: CopiesInNotes,
): Generator<number, Subject> {
  const callIds = new Set<string>()
  const steps = new Set<string>()
  const texts = new Set<string>()
  const inner = new Set<string>()
  const addTexts = (values: readonly unknown[]): void => {
    for (const text of values.flatMap(saidIn)) {
      if (text.length >= shortestDistinctive) texts.add(text)
      for (const inside of nestedTextsIn(text)) inner.add(inside)
    }
  }
  for (const position of positions) {
    const message = messages.at(position) as Message // positions were checked against the length
    for (const part of message.content) {
      if (part.type === 'tool_call') callIds.add(part.id)
      if (part.type === 'tool_result') callIds.add(part.callId)
    }
    addTexts(message.content)
    const step = stepOf(messages, position)
    if (step !== undefined) steps.add(step)
    yield textsOfLength(message)
  }
  for (const text of yield* ownTextsBeside(messages, positions)) inner.add(text)
  const discardedCalls = new Set<string>()
  for (const { step: over, answers } of ended) {
    const { step, answer, said: text, started, results } = over
    steps.add(step)
    if (answers.length > 0) continue // its texts are in a message
    const content = answer?.content ?? text
    addTexts([...content, ...results.values()])
    for (const part of content) if (typeof part !== 'string' && part.type === 'tool_call') discardedCalls.add(part.id)
    for (const id of [...started, ...results.keys()]) discardedCalls.add(id)
  }
  for (const content of inputs.values()) addTexts(content)
  return {
    positions: new Set(positions),
    callIds,
    steps,
    discardedCalls,
    inputs: new Set(inputs.keys()),
    files,
    texts: [...texts],
    inner: [...inner],
    recorded: callIdsIn(messages),
  }
}

/**
 * The texts beside the contents of messages: in their names and `meta`. Without those that several messages of the
 * session have, such as the name of a model or a folder, which stand in many rows.
 */
function* ownTextsBeside(messages: Messages, positions: readonly number[]): Generator<number, readonly string[]> {
  const beside = (message: Partial<Message>): ReadonlySet<string> => {
    const { name, meta } = ownFields(message)
    if (name === undefined && meta === undefined) return none
    const { indelible: _, ...rest } = ownFields(meta ?? {})
    return new Set([...textsOf(name ?? '', false), ...textsOf(rest, true, true)].filter(({ length }) => length >= longEnough)) // oxfmt-ignore
  }
  const found = new Map<string, number>()
  for (const at of positions) {
    for (const text of beside(messages.at(at) as Message)) found.set(text, 0)
    yield 0
  }
  if (found.size === 0) return []
  for (const message of messages)
    for (const text of beside(message)) {
      const count = found.get(text)
      if (count !== undefined) found.set(text, count + 1)
      yield text.length
    }
  return [...found].flatMap(([text, count]) => (count === 1 ? [text] : []))
}

/** The texts of notes of people and programs, which all notes of a session are: without those that several of them have. */
export const ownTextsOfNotes = (notes: readonly Note[]): readonly string[] => {
  const found = new Map<string, number>()
  for (const note of notes) {
    const { text, reason, content } = ownFields(note as { text?: string; reason?: string; content?: unknown })
    const own = new Set(textsOf([text, reason, content], true, true))
    if (noted.has(note.type)) for (const entry of own) found.set(entry, (found.get(entry) ?? 0) + 1)
  }
  return [...found].flatMap(([text, count]) => (count === 1 && text.length >= longEnough ? [text] : []))
}

const noted: ReadonlySet<Note['type']> = new Set(['application', 'summary', 'input'])

const textsOfLength = ({ content }: Message): number =>
  content.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0)

const none: ReadonlySet<string> = new Set()

/** The texts of a part, without a tool's name, which every call of the tool has. */
const saidIn = (part: unknown): readonly string[] =>
  textsOf(isObject(part) && toolParts.has(part['type']) ? { ...part, name: undefined } : part, false)

const toolParts: ReadonlySet<unknown> = new Set(['tool_call', 'tool_result'])

/** The step of a message. The answer of a step names it, and its results follow. */
const stepOf = (messages: Messages, position: number): string | undefined => {
  for (let at = position; at >= 0; at--) {
    const message = messages.at(at) as Message
    const step = stepIdOf(message)
    if (step !== undefined || message.role !== 'tool') return step
  }
  return undefined
}

/**
 * The content of a value, as texts: without ids, and without member names that look like those of a program, which
 * every call of a tool has. With `inside`, also the content of texts that are JSON. `isForeign`: see `contentsOf`.
 */
export const textsOf = (value: unknown, inside = true, isForeign = false): readonly string[] =>
  contentsOf(value, isForeign).flatMap(({ what, text }) => {
    if (what === 'id' || (what === 'name' && isProgramName(text))) return []
    return inside && what === 'text' ? [text].concat(nestedTextsIn(text)) : [text]
  })

/** All strings in a text that is a JSON array, object or string, recursively. */
const nestedTextsIn = (text: string): readonly string[] => {
  if (!/^\s*["[{]/.test(text)) return []
  const parsed = parseJson(text)
  return isLeft(parsed) ? [] : textsOf(parsed.right, true, true)
}

/** All field names in a value. */
export const namesIn = (value: unknown): readonly string[] =>
  isArray(value)
    ? value.flatMap(namesIn)
    : isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => [name].concat(namesIn(item)))
      : []

/**
 * The spellings of a text in rows and blocks: plain, JSON-escaped once, twice and three times, with non-ASCII
 * characters escaped, and in the base64 of a file, where it has three spellings.
 */
export const spellings = (text: string): readonly string[] => {
  const once = escapeText(text)
  const ascii = once.replace(/[\u0080-\uffff]/g, (code) => `\\u${code.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const base64 = [0, 1, 2].map((before) => base64In(utf8Of(text), before))
  return [...new Set([text, once, escapeText(once), escapeText(escapeText(once)), ascii, escapeText(ascii), ...base64])]
}

/** The characters of base64 that depend on these bytes alone, after a number of other bytes. */
const base64In = (bytes: Uint8Array, before: number): string =>
  base64Of(joinBytes([new Uint8Array(before), bytes])).slice(
    Math.ceil((before * 8) / 6),
    Math.floor(((before + bytes.length) * 8) / 6),
  )

const escapeText = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * The notes that repeat the messages of a subject, by a reference or by a text.
 *
 * @param notes the notes of one log, in order
 * @param subject the messages
 * @param open the unrecorded steps. Their content belongs to other messages
 */
export function* copiesIn<Placed extends { readonly note: Note }>(
  notes: readonly Placed[],
  subject: Subject,
  open: ReadonlySet<string>,
): Generator<number, readonly Placed[]> {
  const steps = new Set(subject.steps)
  const inputs = new Set(subject.inputs)
  const quotes = yield* quotesOf(subject)
  for (const { note } of notes) {
    if (note.type === 'journal' && !open.has(note.step) && refersTo(note, subject.callIds)) steps.add(note.step)
    if (note.type === 'input' && note.state === 'taken' && note.at !== undefined && subject.positions.has(note.at))
      inputs.add(note.id)
  }
  const found: Placed[] = []
  for (const placed of notes) {
    if (isCopyInNote(placed.note, subject, quotes, steps, inputs, open)) found.push(placed)
    yield 1024 // about as long as notes are
  }
  return found
}

/** The indexes of the notes of a conversation that repeat some of its messages. */
export const notesThatRepeat = (
  messages: Messages,
  positions: readonly number[],
  notes: readonly Note[],
): ReadonlySet<number> => {
  const subject = atOnce(subjectOf(messages, positions, { ended: [], inputs: new Map(), files: false }))
  const copies = atOnce(
    copiesIn(
      notes.map((note, index) => ({ note, index })),
      subject,
      none,
    ),
  )
  return new Set(copies.map(({ index }) => index))
}

const isCopyInNote = (
  note: Note,
  subject: Subject,
  quotes: Quotes,
  steps: ReadonlySet<string>,
  inputs: ReadonlySet<string>,
  open: ReadonlySet<string>,
): boolean => {
  switch (note.type) {
    case 'page':
    case 'pin':
    case 'unpin':
    case 'retraction':
    case 'seal':
    case 'erased':
      return false // only positions and kinds
    case 'kept_file': // its bytes have the messages, too
      return subject.files || subject.positions.size + subject.inputs.size > 0
    case 'summary':
      return quotes.isIn(note.from, note.to) || quotes.inNote(note)
    case 'tool_started':
      // Many calls share short arguments. A call in no message and no discarded step may have had
      // effects: its note stays.
      return (
        subject.callIds.has(note.callId) ||
        (subject.recorded.has(note.callId) ? quotes.longInNote(note) : subject.discardedCalls.has(note.callId))
      )
    case 'journal':
      return !open.has(note.step) && (steps.has(note.step) || quotes.inNote(note) || quotes.hasPartOf(note))
    case 'input':
      return (hasContent(note) && inputs.has(note.id)) || (note.state !== 'queued' && quotes.inNote(note))
    case 'receipt': // the body of an error may repeat any message that was sent
      return (isObject(note.details?.['reply']) && quotes.isIn(0, note.len)) || quotes.inNote(note)
    case 'metadata':
      return quotes.inNote(note)
    case 'application':
      return note.calls?.some((id) => subject.callIds.has(id)) === true || quotes.inNote(note)
  }
}

/**
 * Whether a reason is none, or one that a run gives, and no text of the application. Such a note stays: without it, a run
 * would have to answer an input that was cancelled.
 */
const isOwnReason = (reason: string | undefined): boolean => reason === undefined || ownReasons.has(reason)

const ownReasons: ReadonlySet<string> = new Set([
  ...['end_turn', 'refusal', 'max_steps', 'max_tool_calls', 'max_tokens', 'max_dollars', 'timeout'],
  ...['cancelled', 'custom', 'approval', 'error', 'something else was said'],
])

/** Whether a note has more than positions, kinds and ids. */
export const hasContent = (note: Note): boolean => {
  if (note.type === 'input') return note.message !== undefined || !isOwnReason(note.reason)
  if (note.type === 'journal') return note.said !== undefined || note.answer !== undefined || note.results !== undefined
  return !isMark(note)
}

const refersTo = (
  { started = [], results = [] }: Extract<Note, { type: 'journal' }>,
  ids: ReadonlySet<string>,
): boolean =>
  started.some((id) => ids.has(id)) || results.some(({ callId }) => typeof callId === 'string' && ids.has(callId))

/** Looks for the texts of a subject in notes. Each question costs as much as the note is long, however many texts there are. */
interface Quotes {
  /** Whether one of the positions is in a range. */
  readonly isIn: (from: number, to: number) => boolean
  /** Whether a note has one of the texts: a short one as a whole, a long one anywhere. */
  readonly inNote: (note: Note) => boolean
  /** Whether a note has one of the long texts. */
  readonly longInNote: (note: Note) => boolean
  /** Whether a note has a part of a text: an abandoned step has the start of an answer. */
  readonly hasPartOf: (note: Note) => boolean
}

function* quotesOf({ positions, texts }: Subject): Generator<number, Quotes> {
  const sorted = [...positions].toSorted((a, b) => a - b)
  const whole = new Set(texts)
  const isLongIn = yield* makeFinder(texts.filter((text) => text.length >= longEnough))
  let parts: ReadonlySet<number> | undefined
  return {
    isIn: (from, to) => {
      const before = countWhile(sorted.length, (index) => (sorted[index] as number) < from)
      return (sorted[before] ?? Infinity) < to
    },
    inNote: (note) => textsOf(note).some((text) => whole.has(text) || isLongIn(text)),
    longInNote: (note) =>
      textsOf(note).some((text) => (text.length >= longEnough && whole.has(text)) || isLongIn(text)),
    hasPartOf: (note) => {
      const own = textsOf(note).filter((text) => text.length >= longEnough)
      if (own.length === 0) return false
      const known = (parts ??= new Set(texts.flatMap(piecesOf)))
      return own.some((text) => piecesOf(text).every((hash) => known.has(hash)))
    },
  }
}

/** A hash of each piece of 12 characters: two sums, in 53 bits. A text all of whose pieces are known counts as a part of the texts. */
const piecesOf = (text: string): readonly number[] => {
  const hashes: number[] = []
  for (let at = 0; at + longEnough <= text.length; at++) {
    let [low, high] = [0, 7]
    for (let index = at; index < at + longEnough; index++) {
      low = (Math.imul(low, 0x01000193) + text.charCodeAt(index)) | 0
      high = (Math.imul(high, 31) + text.charCodeAt(index)) | 0
    }
    hashes.push((high & 0x1fffff) * 2 ** 32 + (low >>> 0))
  }
  return hashes
}
