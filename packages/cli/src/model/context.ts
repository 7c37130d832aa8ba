/** `indelible context`: the context that a model call would get, and the reason for each page's level. */
import { faultMessage } from 'indelible'
import { isLeft } from 'indelible/internal/json'
import { estimateTokens, type ContextSource, type DerivedContext } from 'indelible/context'
import { memoizeEstimator } from 'indelible/internal/context'
import type { View } from 'indelible/history'
import { openCalls, pairCalls, type Message } from 'indelible/message'
import { foldPages, type Note } from 'indelible/internal/notes'
import { minFidelity, type PageKind, type ResidencyLevel } from 'indelible/pages'
import { policyOf, tokensOf, Unreadable, wholeNumber, type Command } from '../terminal/command.ts'
import { namedConversation } from '../sources/conversation.ts'
import { conversationOfCall, pathOf } from '../sources/input.ts'
import { levelReasons, policies } from '@indelible/view/internal'
import { storeOption } from '../sources/place.ts'
import {
  countText,
  fitColumns,
  groupedNumber,
  padEnd,
  padStart,
  widestOf,
  widthOf,
  wrapText,
} from '../terminal/screen.ts'
import { alignRows } from '../terminal/table.ts'
import { damagedNear, noDamage, type DamagedMessages } from '../terminal/damaged.ts'
import { gistOf } from '../terminal/timeline.ts'

export const context: Command = {
  name: 'context',
  synopsis: 'context FILE|SESSION',
  purpose: 'print the context that a model would be sent, or compare policies',
  usage: ['context [FILE|SESSION] [options]', 'context [FILE|SESSION] --compare [options]'],
  about: `Derives the context of the next model call from a conversation and
prints its messages. It is derived when you ask: a recorded call may have been sent something else, which
"indelible show SESSION --call N" describes. Each message is shown with its source: the positions in the
record, and how much of them it contains. --explain adds a line for every page
(one message of the record): its kind, its level in the context, and the reason.
The first line says how the context was derived. "epoch:N": older messages were
shortened or left out, and stay the same until N grows. N is 1,000 for each
rewrite, and 1 for each epoch since.
"shortened": some messages are shortened or left out; without, it says "whole".

With --compare it derives a context before each answer of the conversation, with
each policy and budget, as if it called the model. For each it prints the tokens
sent, the share of them that is a cached prefix, the cost in uncached input
tokens (cached 0.1, others 1.25; if the recording has times, the cache expires
five minutes after the last call), the time to derive one context, the epochs
(how often the sent part changed), the faults, and the rereads: repeated tool
calls whose earlier result was no longer readable.

Policies: paged (compacts in epochs) and window (the latest messages). FILE or
SESSION means the same as for "indelible show". The page tags of a session are
used, and its pins and summaries without --compare.`,
  options: {
    budget: {
      value: 'N',
      help: 'tokens for the messages; 32k is 32,000 (default 32k); with --compare several: N,N (default 16k,32k,64k)',
    },
    policy: { value: 'P', help: 'paged or window (default paged); with --compare several: P,P (default all)' },
    compare: { help: 'measure policies and budgets on the whole conversation' },
    model: {
      value: 'M',
      help: 'with --compare: also print US dollars at the list prices of a model, and use them for the cost (claude-opus-5, gpt-5.5, gemini-3.1-pro …)',
    },
    at: { value: 'N', help: 'use only the messages before position N' },
    explain: { help: 'give the reason for the level of every page' },
    pick: { value: 'N', help: 'which conversation, if the file has several (default 0)' },
    json: {
      help: 'one JSON object, for programs; "sent" is false: the context was derived, not recorded; with --compare: one per line',
    },
    ...storeOption,
  },
  forms: {
    '': ['budget', 'policy', 'at', 'explain', 'pick', 'json', ...Object.keys(storeOption)],
    compare: ['budget', 'policy', 'pick', 'model', 'json', ...Object.keys(storeOption)],
  },
  examples: [
    'indelible context session.jsonl --budget 16k --explain',
    'indelible context session.jsonl --compare --budget 32k --policy paged,window',
  ],
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (values['compare'] === true) return (await import('../compare/compare.ts')).comparePolicies(call)
    const name = conversationOfCall('context', positionals)
    const budget = tokensOf(typeof values['budget'] === 'string' ? values['budget'] : '32k')
    const policy = policyOf(typeof values['policy'] === 'string' ? values['policy'] : 'paged', policies)
    const at = wholeNumber('--at', values['at'], undefined)
    const { view: whole, title, notes = [], damaged = noDamage } = await namedConversation(name, call)
    const view = whole.slice(0, at === undefined || at < 0 ? at : whole.before(at))
    const written = [...notes].filter((note) => neededLength(note) <= (view.positionAt(view.length) as number))
    const derived = policy.derive(view, { budget, notes: written })
    if (isLeft(derived))
      throw new Unreadable(`${name === undefined ? title : pathOf(name)}: ${faultMessage(derived.left)}`)
    const explained = values['explain'] === true ? explainPages(derived.right, view, damaged, written) : undefined
    if (values['json'] === true)
      return terminal.printJson([
        {
          sent: false,
          ...summaryOf(derived.right),
          messages: derived.right.messages,
          sources: derived.right.sources,
          ...(explained && { pages: explained }),
          ...(damaged.size > 0 && {
            damaged: Array.from(damaged, ([position, reason]) => ({ position, reason })),
          }),
        },
      ])
    await terminal.print([title, ...listing(derived.right, view, damaged, terminal.columns)])
    return terminal.print(
      explained === undefined ? [] : ['', ...explained.flatMap((page) => explanationLines(page, terminal.columns))],
    )
  },
}

/** The length that a record must have for a note to apply. */
const neededLength = (note: Note): number =>
  note.type === 'summary' ? note.to : 'position' in note ? note.position + 1 : 0

/** The derivation has counted these messages already. */
const estimate = memoizeEstimator(estimateTokens)

const summaryOf = ({ tokens, budget, length, epoch, provenance, dropped, digest }: DerivedContext): object => ({
  tokens,
  budget,
  length,
  epoch,
  provenance,
  dropped,
  digest,
})

function* listing(
  context: DerivedContext,
  view: View<Message>,
  damaged: DamagedMessages,
  columns: number,
): Generator<string> {
  const all = [...view].reduce((sum, message) => sum + estimate(message), 0)
  yield `context: ${countText(context.messages.length, 'message')}, ${groupedNumber(context.tokens)} of ${groupedNumber(context.budget)} tokens (the whole record: ${groupedNumber(all)}); ${context.provenance.join(', ')}`
  yield* wrapText('derived from the record now; a recorded call may have been sent something else', columns)
  yield ''
  const rows = Array.from(context.messages, (message, index) => {
    const source = context.sources.at(index) as ContextSource
    const isDamaged = source.type === 'clone' && damaged.has(source.position)
    return [
      isDamaged ? `${source.position} damaged` : sourceText(source),
      isDamaged ? '' : message.role,
      groupedNumber(estimate(message)),
    ]
  })
  const texts = ['content', ...Array.from(context.messages, gistOf)]
  const lines = alignRows([['source', 'role', 'tokens'], ...rows], (column) => column === 2)
  const isBelow = columns < widestOf(lines) + 2 + 30 // the content gets its own line
  for (const [index, facts] of lines.entries()) {
    yield fitColumns(isBelow ? facts : `${facts}  ${texts[index]}`, columns)
    if (isBelow) yield fitColumns(`  ${texts[index]}`, columns)
  }
  if (damaged.size === 0) return
  const answered = new Set(pairCalls(view).flatMap(({ answer }) => answer?.result ?? []))
  for (const [index, { content }] of [...view].entries())
    if (content.some((part) => part.type === 'tool_result' && !answered.has(part))) {
      const near = damagedNear(view, damaged, index, 'before')
      if (near !== undefined)
        yield* wrapText(
          `the call of the result in message ${view.positionAt(index)} may be in message ${near}, which is damaged`,
          columns,
        )
    }
  for (const { position } of openCalls(view)) {
    const near = damagedNear(view, damaged, position, 'after')
    if (near !== undefined)
      yield* wrapText(
        `the result of the call in message ${view.positionAt(position)} may be in message ${near}, which is damaged`,
        columns,
      )
  }
}

const sourceText = (source: ContextSource): string => {
  const range = (from: number, to: number): string => (to - from === 1 ? `${from}` : `${from}–${to - 1}`)
  switch (source.type) {
    case 'clone':
      return `${source.position} full${source.mended === true ? ', mended' : ''}`
    case 'representation':
      return `${range(source.from, source.to)} ${source.level}`
    case 'summary':
      return `${range(source.from, source.to)} summary`
    case 'synthetic':
      return `${source.position} ${source.reason}`
  }
}

interface ExplainedPage {
  readonly position: number
  /** The role and the page kind of a message that is not damaged. */
  readonly role?: Message['role']
  readonly page?: PageKind
  readonly residency: ResidencyLevel
  readonly minimum?: ResidencyLevel
  readonly reason: string
}

/** The reason for the level of each page. */
const explainPages = (
  context: DerivedContext,
  view: View<Message>,
  damaged: DamagedMessages,
  notes: readonly Note[],
): readonly ExplainedPage[] => {
  const kinds = foldPages(notes)
  const reasonOf = levelReasons(context)
  return Array.from({ length: view.length }, (_, index) => {
    const position = view.positionAt(index) as number
    const page = kinds.get(position) ?? (view.pages.at(index) as PageKind)
    const residency = context.residency.at(position) as ResidencyLevel
    const damage = damaged.get(position)
    if (damage !== undefined) return { position, residency, reason: `damaged: ${damage}` }
    const minimum = minFidelity(page)
    const { role } = view.at(index) as Message
    return { position, role, page, residency, minimum, reason: reasonOf(position, page) }
  })
}

/** One line; a reason that does not fit follows on its own lines. */
const explanationLines = (
  { position, role, page, residency, reason }: ExplainedPage,
  columns: number,
): readonly string[] => {
  const facts = `${padStart(String(position), 5)}  ${padEnd(role ?? 'damaged', 9)}  ${padEnd(page ?? '', 12)}  ${padEnd(residency, 10)}`
  if (widthOf(facts) + 2 + widthOf(reason) <= columns) return [`${facts}  ${reason}`]
  const indent = ' '.repeat(7)
  return [
    fitColumns(facts.trimEnd(), columns),
    ...wrapText(reason, columns - indent.length).map((line) => fitColumns(`${indent}${line}`, columns)),
  ]
}
