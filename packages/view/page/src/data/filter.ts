/** Which messages a timeline shows. */
import type { Message } from 'indelible/message'
import { isPageKind, pageKinds, type PageKind } from 'indelible/pages'
import { breaksOf, hasFailedCall } from './call-figures.ts'
import { isGap, type NoteAtRow } from '../../../src/calls/model-calls.ts'
import type { Entry } from './entry.ts'
import type { SessionRecord } from './record.ts'

export type Filter = 'all' | 'user' | 'prose' | 'errors' | 'erased' | 'breaks' | PageKind

/** The choices, with the words of each. */
export const choices: readonly (readonly [only: Filter, words: string])[] = [
  ['all', 'All messages'],
  ['prose', 'Without tools'],
  ['user', 'Only user'],
  ['errors', 'Only errors'],
  ['erased', 'Erased or damaged'],
  ['breaks', 'Cache breaks'],
  ...pageKinds.map((kind) => [kind, `Kind: ${kind}`] as const),
]

/** The positions of the messages that stand in the timeline of their own, in order. Cost: O(messages · their texts, if searched). */
export const positionsOf = (record: SessionRecord, only: Filter, words: string): readonly number[] => {
  const wanted = words.trim().toLowerCase()
  if (only === 'all' && wanted === '') return allPositions(record)
  const found = new Set<number>()
  for (const entry of record.entries) {
    const shownIn = record.join.shownIn(entry.position)
    if (found.has(shownIn) || isGap(entry.state)) continue
    if (!matches(record, entry, only)) continue
    if (wanted === '' || plainText(entry.message).toLowerCase().includes(wanted)) found.add(shownIn)
  }
  return [...found].toSorted((a, b) => a - b)
}

const filteredPositions = new WeakMap<SessionRecord['join'], { readonly positions: number[]; read: number }>()

/** Without a filter: what came since is added to what was found before. */
const allPositions = (record: SessionRecord): readonly number[] => {
  const known = filteredPositions.get(record.join) ?? { positions: [], read: 0 }
  filteredPositions.set(record.join, known)
  for (; known.read < record.entries.length; known.read++) {
    const { position, state } = record.entries[known.read] as Entry
    // Of messages that can't be shown, the first of a run stands for all.
    const passed = isGap(state) && record.entries[position - 1]?.state === state
    if (!passed && record.join.shownIn(position) === position) known.positions.push(position)
  }
  return known.positions
}

const matches = (record: SessionRecord, entry: Entry, only: Filter): boolean => {
  const { message } = entry
  if (only === 'all') return true
  if (only === 'user') return message.role === 'user' && message.content.some(({ type }) => type !== 'tool_result')
  if (only === 'prose')
    return message.content.some(({ type }) => type === 'text' || type === 'refusal' || type === 'image')
  if (only === 'errors')
    return (
      entry.state === 'damaged' ||
      message.content.some((part) => part.type === 'tool_result' && part.isError === true) ||
      hasFailedCall(record, record.notesAfter(entry.position))
    )
  if (only === 'erased')
    return entry.state !== undefined || entry.damage !== undefined || damagedNotesAt(record, entry).length > 0
  if (only === 'breaks') return breaksOf(record, entry.position, record.notesAfter(entry.position)).length > 0
  return isPageKind(only) && record.pageOf(entry) === only
}

/** The damaged notes that are shown with a message: those after it, and with the first those before it. */
export const damagedNotesAt = (record: SessionRecord, { position }: Entry): readonly NoteAtRow[] =>
  [...(position === 0 ? record.notesAfter(-1) : []), ...record.notesAfter(position)].filter(
    ({ damage }) => damage !== undefined,
  )

/** All words of a message. */
export const plainText = ({ content }: Message): string => {
  let text = ''
  for (const part of content) {
    if (part.type === 'text' || part.type === 'refusal' || part.type === 'reasoning') text += `${part.text}\n`
    else if (part.type === 'tool_call') text += `${part.name} ${part.arguments}\n`
    else if (part.type === 'tool_result')
      for (const piece of part.content) if (piece.type === 'text') text += `${piece.text}\n`
  }
  return text
}
