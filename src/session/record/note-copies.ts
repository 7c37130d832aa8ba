/** Notes that repeat a message's text, and so are erased with it. */
import type { View } from '../../history/index.ts'
import { hasField, isArray, isLeft, isObject, parseJson } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import { isMark, type Note } from '../../notes/kit.ts'
import { callIdsIn, stepNamed, type EndedStep } from './journal.ts'

/** Messages that are to be erased, and all that notes know them by. */
export interface Subject {
  readonly positions: ReadonlySet<number>
  /** The ids of their calls, and of the calls that they answer. */
  readonly callIds: ReadonlySet<string>
  /** The run steps that produced them, and the discarded steps after those. */
  readonly steps: ReadonlySet<string>
  /** The ids of the calls of these discarded steps. */
  readonly discardedCalls: ReadonlySet<string>
  /** The ids of inputs that are erased with them. */
  readonly inputs: ReadonlySet<string>
  /** Their texts. */
  readonly texts: readonly string[]
  /** The texts inside of them, where one is JSON itself, such as the arguments of a call. They are only looked for. */
  readonly inner: readonly string[]
  /** The ids of all calls that a message of the session has or answers. */
  readonly recorded: ReadonlySet<string>
}

/** A text that is found in a note if it has so many characters; shorter ones only if they are all of a text there. */
export const longEnough = 12
/** Texts that are shorter say nothing of where they come from. */
const tooShort = 4

/** Notes and inputs to erase with messages, or alone. */
export interface CopiesInNotes {
  /** Steps: of their answers, and discarded ones. */
  readonly ended: readonly EndedStep[]
  /** Inputs, and what they say. */
  readonly inputs: ReadonlyMap<string, readonly unknown[]>
}

/** The ids that notes know messages by, and texts that no message has. */
export const subjectOf = (
  messages: View<Message>,
  positions: readonly number[],
  { ended, inputs }: CopiesInNotes,
): Subject => {
  const callIds = new Set<string>()
  const steps = new Set<string>()
  const texts = new Set<string>()
  const inner = new Set<string>()
  const addTexts = (values: readonly unknown[]): void => {
    for (const text of values.flatMap(saidIn)) {
      if (text.length >= tooShort) texts.add(text)
      for (const inside of insideOf(text)) inner.add(inside)
    }
  }
  for (const position of positions) {
    const message = messages.at(position) as Message // there are as many
    for (const part of message.content) {
      if (part.type === 'tool_call') callIds.add(part.id)
      if (part.type === 'tool_result') callIds.add(part.callId)
    }
    addTexts(message.content)
    const step = stepOf(messages, position)
    if (step !== undefined) steps.add(step)
  }
  const discardedCalls = new Set<string>()
  for (const { step: over, answers } of ended) {
    const { step, answer, said, started, results } = over
    steps.add(step)
    if (answers.length > 0) continue // its texts are those of a message
    const content = answer?.content ?? said
    addTexts([...content, ...results.values()])
    for (const part of content) if (typeof part !== 'string' && part.type === 'tool_call') discardedCalls.add(part.id)
    for (const id of [...started, ...results.keys()]) discardedCalls.add(id)
  }
  for (const said of inputs.values()) addTexts(said)
  return {
    positions: new Set(positions),
    callIds,
    steps,
    discardedCalls,
    inputs: new Set(inputs.keys()),
    texts: [...texts],
    inner: [...inner],
    recorded: callIdsIn(messages),
  }
}

/** The texts of a part. A tool's name does not count: every call of the tool has it. */
const saidIn = (part: unknown): readonly string[] =>
  textsOf(isObject(part) && hasField(part, 'name') ? { ...part, name: undefined } : part, false)

/** The step of a message: the answer of a step names it, and its results follow. */
const stepOf = (messages: View<Message>, position: number): string | undefined => {
  for (let at = position; at >= 0; at--) {
    const message = messages.at(at) as Message
    const step = stepNamed(message)
    if (step !== undefined || message.role !== 'tool') return step
  }
  return undefined
}

/** Members whose texts are no content of anybody. */
const names: ReadonlySet<string> = new Set(['type', 'role', 'id', 'callId', 'mediaType'])

/** Every text in a value, but for names of kinds and ids; and in texts that are JSON, as the arguments of calls are. */
export const textsOf = (value: unknown, inside = true): readonly string[] => {
  const found: string[] = []
  const collect = (inner: unknown): void => {
    if (typeof inner === 'string') found.push(inner, ...(inside ? insideOf(inner) : []))
    else if (isArray(inner)) for (const item of inner) collect(item)
    else if (isObject(inner))
      for (const [name, item] of Object.entries(inner))
        if (!(names.has(name) && typeof item === 'string')) collect(item)
  }
  collect(value)
  return found
}

/** The texts in a text that is a list or an object as JSON, and those in these. */
const insideOf = (text: string): readonly string[] => {
  if (!/^\s*[[{]/.test(text)) return []
  const parsed = parseJson(text)
  return isLeft(parsed) ? [] : textsOf(parsed.right)
}

/** Every name of a member in a value. */
export const namesIn = (value: unknown): readonly string[] =>
  isArray(value)
    ? value.flatMap(namesIn)
    : isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => [name].concat(namesIn(item)))
      : []

/**
 * How a text may be written in rows and blocks: as it is, as JSON, and as JSON in a text of JSON and once more; also with
 * all but ASCII escaped.
 */
export const spellings = (text: string): readonly string[] => {
  const once = escapeText(text)
  const ascii = once.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return [...new Set([text, once, escapeText(once), escapeText(escapeText(once)), ascii, escapeText(ascii)])]
}

const escapeText = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * The notes that repeat the messages of a subject: by what they refer to, or by the texts in them.
 *
 * @param notes the notes of one log, in order
 * @param subject the messages
 * @param open the steps that are not recorded: what they have is of another message
 * @returns the indexes of the notes
 */
export const copiesIn = (notes: readonly Note[], subject: Subject, open: ReadonlySet<string>): readonly number[] => {
  const steps = new Set(subject.steps)
  const inputs = new Set(subject.inputs)
  for (const note of notes) {
    if (note.type === 'journal' && !open.has(note.step) && refersTo(note, subject.callIds)) steps.add(note.step)
    if (note.type === 'input' && note.state === 'taken' && note.at !== undefined && subject.positions.has(note.at))
      inputs.add(note.id)
  }
  return notes.flatMap((note, index) => (repeats(note, subject, steps, inputs, open) ? [index] : []))
}

const repeats = (
  note: Note,
  subject: Subject,
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
      return false // they say positions and kinds only
    case 'summary':
      return [...subject.positions].some((at) => note.from <= at && at < note.to) || says(note, subject)
    case 'tool_started':
      // Short arguments are those of many calls. One of no message and no discarded step may have had effects: it stays.
      return (
        subject.callIds.has(note.callId) ||
        (subject.recorded.has(note.callId)
          ? says(note, { ...subject, texts: subject.texts.filter((text) => text.length >= longEnough) })
          : subject.discardedCalls.has(note.callId))
      )
    case 'journal':
      return !open.has(note.step) && (steps.has(note.step) || says(note, subject) || isPartOf(note, subject))
    case 'input':
      return (hasContent(note) && inputs.has(note.id)) || (note.state !== 'queued' && says(note, subject))
    case 'receipt':
    case 'application':
      return says(note, subject)
  }
}

/** Whether a note has anything but positions, kinds and ids. */
export const hasContent = (note: Note): boolean => {
  if (note.type === 'input') return note.message !== undefined || note.reason !== undefined
  if (note.type === 'journal') return note.said !== undefined || note.answer !== undefined || note.results !== undefined
  return !isMark(note)
}

const refersTo = (
  { started = [], results = [] }: Extract<Note, { type: 'journal' }>,
  ids: ReadonlySet<string>,
): boolean =>
  started.some((id) => ids.has(id)) || results.some(({ callId }) => typeof callId === 'string' && ids.has(callId))

const says = (note: Note, { texts }: Subject): boolean => {
  const said = textsOf(note)
  return texts.some((text) => said.some((one) => one === text || (text.length >= longEnough && one.includes(text))))
}

/** A step that was given up has the beginning of an answer: it is a part of the text, and not all of it. */
const isPartOf = (note: Note, { texts }: Subject): boolean =>
  textsOf(note).some((one) => one.length >= longEnough && texts.some((text) => text.includes(one)))
