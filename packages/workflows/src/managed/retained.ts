/** Selects the messages that a managed history keeps first, by their marks. */
import type { View } from 'indelible/history'
import { pairCalls, type Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import type { MessageMark, MarkOf } from './marks.ts'
import { isSubstantive } from 'indelible/internal/context'

/** The positions to keep, in order, each with its matching calls and results. Cost: O(record). */
export const retainedPositions = (
  view: View<Message>,
  retagged: ReadonlyMap<number, PageKind | undefined>,
  markOf: MarkOf,
): readonly number[] => {
  const messages = view.toArray()
  const kinds = messages.map((_, index) => retagged.get(view.positionAt(index) as number) ?? view.pages.at(index))
  const marks = messages.map((message, position) => markOf(message) ?? ruleAs(kinds[position]))
  const retained = new Set<number>()

  for (const position of messages.keys()) {
    if (kinds[position] !== 'bootstrap') break
    retained.add(position)
  }
  retained.add(messages.findIndex(isSubstantive))
  for (const latest of ['test_result', 'self_review', 'summary'] as const) {
    let position = marks.findLastIndex((mark) => mark?.mark === latest)
    if (position === -1) continue
    do retained.add(position++)
    while (position < messages.length && marks[position] === undefined)
  }
  const proposals = new Map<string, number>()
  for (const [position, mark] of marks.entries()) {
    if (mark?.mark === 'feedback' || isRule(kinds[position])) retained.add(position)
    if (mark?.mark === 'proposal') proposals.set(mark.id, position)
    if (mark?.mark === 'report') retained.add(position).add(proposals.get(mark.of) ?? position)
  }
  retained.add(messages.length - 1).delete(-1)
  const indexes = withPairedMessages(retained, view).toSorted((a, b) => a - b)
  return Object.freeze(indexes.map((index) => view.positionAt(index) as number))
}

const isRule = (kind: PageKind | undefined): boolean => kind === 'constraint' || kind === 'preference'

const ruleAs = (kind: PageKind | undefined): MessageMark | undefined =>
  isRule(kind) ? { mark: 'feedback' } : undefined

/** Adds the positions linked by calls and answers: one call brings all calls of its message and their answers. */
const withPairedMessages = (positions: ReadonlySet<number>, view: View<Message>): readonly number[] => {
  const others = new Map<number, number[]>()
  const linkPositions = (from: number, to: number): void => void (others.get(from)?.push(to) ?? others.set(from, [to]))
  for (const { position, answer } of pairCalls(view)) {
    if (answer === undefined) continue
    linkPositions(position, answer.position)
    linkPositions(answer.position, position)
  }
  const all = new Set(positions)
  for (const position of all) for (const other of others.get(position) ?? []) all.add(other) // the loop also visits added values
  return [...all]
}
