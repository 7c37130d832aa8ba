/** Turns messages and notes into rows, with the memory update to apply once they are stored. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Range, View } from '../../history/index.ts'
import { describe, isArray, isLeft, left, ownField, right } from '../../json/index.ts'
import { decodeMessage, isErased, type Message, type MessageFault } from '../../message/index.ts'
import { decodeNote, rangeDigest, type Note, type RetractionNote } from '../../notes/kit.ts'
import { noteFaultText } from '../../notes/fault.ts'
import { classify, isPageKind } from '../../pages/index.ts'
import { Recording } from '../../entry/kit.ts'
import type { Row, Store } from '../../store/index.ts'
import type { SessionFaultOf } from '../fault.ts'
import { journalFault } from './journal.ts'
import { addNote, conversationOf, type Mirror } from './mirror.ts'
import type { Appendable, AppendOptions } from '../session.ts'
import type { StepRows } from './step.ts'

/** A message alone is a list of one. */
export const listOf = (messages: Appendable | readonly Appendable[]): readonly Appendable[] =>
  isArray(messages) ? (messages as readonly Appendable[]) : [messages as Appendable]

/** Copies and checks messages, and returns their rows. Later changes to the caller's objects have no effect. */
export const messageRows = (
  mirror: Mirror,
  messages: Appendable | readonly Appendable[],
  page: AppendOptions['page'],
  { hash }: Pick<Store, 'hash'>,
): Either<SessionFaultOf<'InvalidMessage' | 'InvalidPage'>, StepRows> => {
  const { redactor } = mirror
  const given = listOf(messages)
  const recording = new Recording()
  for (let index = 0; index < given.length; index++) {
    const whole = decodeMessage(given[index])
    const decoded = redactor === undefined || isLeft(whole) ? whole : decodeMessage(redactor.message(whole.right))
    if (isLeft(decoded)) return left({ _tag: 'InvalidMessage', index, cause: decoded.left })
    if (isErased(decoded.right)) return left({ _tag: 'InvalidMessage', index, cause: erasedPartFault(decoded.right) })
    const tag = typeof page === 'object' ? ownField(page, index) : page
    if (tag !== undefined && !isPageKind(tag)) return left({ _tag: 'InvalidPage', index, found: describe(tag) })
    const classified = classify(decoded.right)
    const kind = tag ?? classified
    const added = recording.add(decoded.right, kind, kind !== classified, hash)
    if (isLeft(added)) return left({ _tag: 'InvalidMessage', index, cause: added.left })
  }
  const { rows, blocks } = recording
  return right({ rows, blocks, apply: () => recording.addTo(mirror.history) })
}

/** The fault for appending a message with an erased part. */
export const erasedPartFault = ({ content }: Message): MessageFault => ({
  _tag: 'UnexpectedShape',
  path: ['content', content.findIndex(({ type }) => type === 'erased'), 'type'],
  expected: 'another type: only erase() makes this one',
  found: '"erased"',
})

/** The rows of messages from position `base`, followed by notes. */
export const withNotes = (
  mirror: Mirror,
  messages: StepRows,
  given: readonly Note[],
  base: number,
): Either<SessionFaultOf<'InvalidNote'>, StepRows> => {
  const count = messages.rows.length
  const notes: Note[] = []
  for (const one of given) {
    const decoded = checkNoteInput(one, mirror)
    if (isLeft(decoded)) return decoded
    const note = decoded.right
    const reason = note.type === 'summary' ? noteRefusal(note, mirror) : reachFault(note, base + count)
    if (reason !== undefined) return left({ _tag: 'InvalidNote', reason })
    notes.push(note)
  }
  return right({
    rows: [...messages.rows, ...notes.map(noteRow)],
    blocks: messages.blocks,
    apply: (position) => {
      messages.apply(position)
      for (const [index, note] of notes.entries()) addNote(mirror, position + count + index, note)
    },
  })
}

export const rowsOfNote = (mirror: Mirror, note: Note): StepRows => ({
  rows: [noteRow(note)],
  blocks: [],
  apply: (position) => addNote(mirror, position, note),
})

const noteRow = (note: Note): Row => ({ kind: 'note', body: JSON.stringify(note) })

/** A checked and redacted copy of a note that callers may write. */
export const checkNoteInput = (
  given: Note,
  { redactor }: Pick<Mirror, 'redactor'>,
): Either<SessionFaultOf<'InvalidNote'>, Note> => {
  const whole = decodeNote(given)
  // Journal content is recorded again as a message, and its redactions are counted then.
  const decoded =
    redactor === undefined || isLeft(whole)
      ? whole
      : decodeNote((whole.right.type === 'journal' ? redactor.quiet : redactor).note(whole.right))
  if (isLeft(decoded)) return left({ _tag: 'InvalidNote', reason: noteFaultText(decoded.left) })
  const problem = decoded.right.type === 'journal' ? journalFault(decoded.right) : undefined
  if (problem !== undefined) return left({ _tag: 'InvalidNote', reason: problem })
  if (decoded.right.type === 'seal') return left({ _tag: 'InvalidNote', reason: 'use seal() to seal a session' })
  return decoded.right.type === 'erased'
    ? left({ _tag: 'InvalidNote', reason: 'only erase() writes an erased note' })
    : decoded
}

/** The minimum number of messages for a note to be valid. */
export const reachOf = (note: Note): number => {
  if (note.type === 'page' || note.type === 'pin' || note.type === 'unpin') return note.position + 1
  if (note.type === 'summary') return note.to
  return note.type === 'receipt' ? note.len : note.type === 'retraction' ? note.to : 0
}

const reachFault = (note: Note, len: number): string | undefined =>
  reachOf(note) > len ? `the note needs ${reachOf(note)} messages, and the session has ${len}` : undefined

/** The reason why a note can't be written; undefined if it can. */
export const noteRefusal = (note: Note, mirror: Mirror): string | undefined => {
  const beyond = reachFault(note, mirror.history.len)
  if (beyond !== undefined) return beyond
  if (note.type !== 'summary') return undefined
  const said = conversationIn(mirror, note)
  if (said.length === 0) return `the messages from ${note.from} to ${note.to} were all retracted`
  if (rangeDigest(said) !== note.sourceDigest)
    return `the sourceDigest of the summary is not that of the messages from ${note.from} to ${note.to}`
  return undefined
}

/** The part of the conversation between two positions of the record. */
export const conversationIn = (mirror: Mirror, { from, to }: Range): View<Message> => {
  const conversation = conversationOf(mirror)
  return conversation.slice(conversation.before(from), conversation.before(to))
}

/** Selects the range to retract, from the conversation and the number of messages in the record. */
export type Retract = (conversation: View<Message>, len: number) => Range

export const retractLast: Retract = (conversation, len) => {
  const from = conversation.positionAt(-1) ?? len
  return { from, to: from === len ? len : from + 1 }
}

/** All messages from a position of the record. */
export const retractFrom =
  (from: number): Retract =>
  (_, len) => ({ from, to: len })

/**
 * The rows of a retraction and of the messages that replace it. Without the retraction note if the
 * range has no message of the conversation.
 */
export const retractionRows = (
  mirror: Mirror,
  conversation: View<Message>,
  retract: Retract,
  instead?: StepRows,
): Either<SessionFaultOf<'InvalidNote'>, StepRows> => {
  const len = conversation.positionAt(conversation.length) as number
  const { from, to } = retract(conversation, len)
  if (!Number.isSafeInteger(from) || from < 0 || from > len)
    return left({
      _tag: 'InvalidNote',
      reason: `a conversation can be rewound to a position from 0 to ${len}, found ${typeof from === 'number' ? from : typeof from}`,
    })
  const note: RetractionNote | undefined =
    conversation.before(to) > conversation.before(from) ? { type: 'retraction', from, to } : undefined
  return right({
    rows: [...(note === undefined ? [] : [noteRow(note)]), ...(instead?.rows ?? [])],
    blocks: instead?.blocks ?? [],
    apply: (position) => {
      if (note !== undefined) addNote(mirror, position, Object.freeze(note))
      instead?.apply(note === undefined ? position : position + 1)
    },
  })
}
