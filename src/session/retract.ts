/** Retracting: rows that take messages out of the conversation, and put others in their place. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../json/index.ts'
import type { Range, View } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { RetractionNote } from '../notes/index.ts'
import type { SessionFaultOf } from './fault.ts'
import { addNote, type Mirror } from './mirror.ts'
import type { Exact, Step } from './writer.ts'

/** From the conversation, and how many messages the record has: what is to be taken out of it. */
export type Retract = (conversation: View<Message>, len: number) => Range

/** The last message. */
export const lastOf: Retract = (conversation, len) => {
  const from = conversation.positionAt(-1) ?? len
  return { from, to: from === len ? len : from + 1 }
}

/** Everything from a position of the record on. */
export const allFrom =
  (from: number): Retract =>
  (_, len) => ({ from, to: len })

/**
 * One retraction, and behind it the messages that come instead. Nothing, if the conversation has none of the range and
 * no message comes instead.
 */
export const retraction = (
  mirror: Mirror,
  conversation: View<Message>,
  retract: Retract,
  instead?: Step,
): Either<SessionFaultOf<'InvalidNote'>, Exact> => {
  const len = conversation.positionAt(conversation.length) as number
  const { from, to } = retract(conversation, len)
  if (!Number.isSafeInteger(from) || from < 0 || from > len)
    return left({
      _tag: 'InvalidNote',
      reason: `the conversation can go back to a position from 0 to ${len}, found ${from}`,
    })
  const note: RetractionNote | undefined =
    conversation.before(to) > conversation.before(from) ? { type: 'retraction', from, to } : undefined
  return right({
    rows: [
      ...(note === undefined ? [] : [{ kind: 'note' as const, body: JSON.stringify(note) }]),
      ...(instead?.rows ?? []),
    ],
    blocks: instead?.blocks ?? [],
    apply: (position) => {
      if (note !== undefined) addNote(mirror, position, Object.freeze(note))
      instead?.apply(note === undefined ? position : position + 1)
    },
  })
}
