/** The traces of an interrupted run: calls without results, and calls that are in no message. */
import type { View } from '../history/index.ts'
import { interruptedResults, openCalls, text, toolCallsOf, type Message, type OpenCall } from '../message/index.ts'
import { retractedBy, type Note } from '../notes/index.ts'
import { conversationOf, type Mirror } from './mirror.ts'
import type { StartedCall } from './session.ts'

/** The calls that the last assistant message left open, if nothing but results stands behind it. */
export const openIn = (mirror: Mirror): readonly OpenCall[] => {
  const conversation = conversationOf(mirror)
  const turn = conversation.slice(lastTurnOf(conversation))
  return Object.freeze(
    openCalls(turn).map((call) => Object.freeze({ ...call, position: turn.positionAt(call.position) as number })),
  )
}

/** The index of the last message that is not a tool's; 0, if there is none. */
const lastTurnOf = (view: View<Message>): number => {
  let from = view.length - 1
  while (from > 0 && view.at(from)?.role === 'tool') from -= 1
  return Math.max(0, from)
}

export const interruptedIn = (mirror: Mirror, reason: string | undefined): readonly Message[] => {
  const started = new Set<string>()
  for (const note of mirror.notes.view()) if (note.type === 'tool_started') started.add(note.callId)
  const said = (call: OpenCall): string =>
    reason ??
    (started.has(call.id)
      ? 'The run was interrupted while this tool was running; it may have had effects.'
      : 'The run was interrupted before this tool gave a result.')
  const unfinished = unfinishedIn(mirror)
  return Object.freeze([
    ...openIn(mirror).flatMap((call) => interruptedResults([call], said(call))),
    ...(unfinished.length === 0 ? [] : [noteOfUnfinished(unfinished, reason)]),
  ])
}

/** The calls started since the last message, or since its last retraction, that the message does not have. */
export const unfinishedIn = (mirror: Mirror): readonly StartedCall[] => {
  const { history, notes, noteRows } = mirror
  const { len } = history
  const started: StartedCall[] = []
  for (let index = notes.len - 1; index >= 0 && (noteRows[index] as number) - index === len; index--) {
    const note = notes.view().at(index) as Note
    if (retractedBy(note, len)?.to === len) break // a retraction takes the calls of its turn back
    if (note.type !== 'tool_started') continue
    const { type: _, ...call } = note
    started.unshift(Object.freeze(call))
  }
  if (started.length === 0) return Object.freeze(started)
  const conversation = conversationOf(mirror)
  const recorded = new Set(
    [...conversation.slice(lastTurnOf(conversation))].flatMap((message) => toolCallsOf(message).map(({ id }) => id)),
  )
  return Object.freeze(started.filter(({ callId }) => !recorded.has(callId)))
}

const noteOfUnfinished = (
  calls: readonly StartedCall[],
  reason = 'The run was interrupted while tools were running. Their results are unknown, and they may have had effects',
): Message => ({
  role: 'user',
  content: [text(`[${reason}: ${calls.map(({ name, arguments: given = '' }) => `${name}(${given})`).join(', ')}]`)],
  meta: { indelible: { interrupted: true, started: calls.map((call) => ({ ...call })) } },
})
