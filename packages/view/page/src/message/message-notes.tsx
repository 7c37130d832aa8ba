/** What is written about a message, in its margin: its page kind, what became of it, and notes. */
import { pricesOf } from 'indelible/context'
import { callDollars } from 'indelible/internal/prices'
import { isObject, type Json } from 'indelible/internal/json'
import type { Note, ReceiptNote, Usage } from 'indelible/internal/notes'
import { callUsageOf } from '@indelible/transcripts/internal'
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { breaksOf } from '../data/call-figures.ts'
import { damagedNotesAt } from '../data/filter.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { erasedText, erasuresOf } from '../data/overviews.ts'
import type { NoteAtRow } from '../../../src/calls/model-calls.ts'
import type { Entry } from '../data/entry.ts'
import type { SessionRecord } from '../data/record.ts'
import { hrefOf } from '../route.ts'
import { atLeast, compactNumber, countText, dollarsText, oneLine, share, spanText, timeText } from '../format-text.ts'

export const Marks = ({ record, entry }: { readonly record: SessionRecord; readonly entry: Entry }): VNode => {
  const { position } = entry
  const kind = record.pageOf(entry)
  const retracted = record.retractedAt(position)
  const version = record.version.value
  const [notes, damaged] = useMemo(
    () => [notesOf(record, entry), damagedNotesAt(record, entry)] as const,
    [record, entry, version],
  )
  const marks = notes.filter((note) => !quiet.has(note.note.type) && !isReplaced(note))
  const journal = notes.filter(({ note }) => quiet.has(note.type)).length
  const broken = record.whole.value ? breaksOf(record, position, notes) : []
  // A receipt says more than the file that the message was imported from.
  const used = notes.some(({ note }) => note.type === 'receipt') ? undefined : callUsageOf(entry.message)
  return (
    <div class="marks" role="group" aria-label={`notes on message ${position}`}>
      {kind === 'conversation' && !entry.tagged ? null : (
        <span class={`kind ${kind}`} title={entry.tagged ? 'tagged by the application' : undefined}>
          {kind}
        </span>
      )}
      {entry.state === 'redacted' ? <span class="badge">redacted</span> : null}
      {entry.state === 'erased' ? <ErasedBadge record={record} row={entry.row} /> : null}
      {entry.damage === undefined && damaged.length === 0 ? null : <span class="badge bad">damaged</span>}
      {entry.damage === undefined || entry.state === 'damaged' ? null : (
        <span class="note bad">{oneLine(entry.damage, 300)}</span>
      )}
      {damaged.map(({ row, damage }) => (
        <span class="note bad">
          row {row}: {oneLine(damage ?? '', 300)}
        </span>
      ))}
      {retracted === undefined ? null : <span class="badge">retracted</span>}
      {used === undefined ? null : (
        <span class="note" title="What the model saw. The imported file counted these tokens.">
          <a class="receipt" href={hrefOf({ view: 'saw', id: record.id, message: position })}>
            <UsageFacts {...used} />
          </a>
        </span>
      )}
      {marks.map(({ note, at, index }) => (
        <span class="note" title={titleOf(note, at)}>
          {note.type === 'receipt' ? <Receipt id={record.id} index={index} note={note} /> : wordsOf(note)}
        </span>
      ))}
      {broken.map(({ number, broke }) => (
        <span class="note">
          <a class="receipt" href={hrefOf({ view: 'saw', id: record.id, call: number })} title="What the model saw">
            <b class="broke" /> cache break: {broke}
          </a>
        </span>
      ))}
      {journal === 0 ? null : <span class="note quiet">{countText(journal, 'note')} of the run</span>}
    </div>
  )
}

/** When it was written; of an application's note, all that it says. */
const titleOf = (note: Note, at: number | undefined): string | undefined =>
  [at === undefined ? [] : timeText(at), note.type === 'application' ? oneLine(JSON.stringify(note.content), 500) : []]
    .flat()
    .join('\n') || undefined

/** Written for programs: they are counted, not shown. */
const quiet: ReadonlySet<Note['type']> = new Set(['journal', 'tool_started', 'input'])

/** Whether the note that was appended can't be shown, but only what is wrong with its row. */
const isReplaced = ({ damage, note }: NoteAtRow): boolean =>
  damage !== undefined && note.type === 'application' && note.namespace === 'indelible.damaged'

/** Notes after the message, and after the results that are shown with it. */
const notesOf = (record: SessionRecord, { position, message }: Entry): readonly NoteAtRow[] => {
  const own = record.notesAfter(position)
  const joined = message.content.flatMap((part) =>
    part.type === 'tool_call' ? record.notesAfter(record.join.resultOf(part)?.entry.position ?? -2) : [],
  )
  return joined.length === 0 ? own : [...new Set([...own, ...joined])]
}

/** How long a call took, if that is known. */
const Took = ({ milliseconds }: { readonly milliseconds: Json | undefined }): VNode | null =>
  typeof milliseconds !== 'number' || milliseconds < 1 ? null : <span> · {spanText(milliseconds)}</span>

interface ReceiptProps {
  readonly id: string
  readonly index: number
  readonly note: ReceiptNote
}

const Receipt = ({ id, index, note: { model, usage, details } }: ReceiptProps): VNode => (
  <a class="receipt" href={hrefOf({ view: 'saw', id, note: index })} title="What the model saw">
    <UsageFacts model={model} usage={usage} />
    <Took milliseconds={details?.['duration']} />
  </a>
)

/** By whom and why, as the ledger has it. */
const ErasedBadge = ({ record, row }: { readonly record: SessionRecord; readonly row: number }): VNode => {
  const { value: erasures } = useLoaded(async () => erasuresOf(record), [record, record.notes.length])
  const found = erasures?.find(({ rows }) => rows.includes(row))
  return (
    <>
      <span class="badge">erased</span>
      {found === undefined ? null : <span class="note">{erasedText(found)}</span>}
    </>
  )
}

interface UsageFactsProps {
  readonly model: string
  readonly usage?: Usage | undefined
  readonly undercounted?: boolean
}

const UsageFacts = ({ model, usage, undercounted = false }: UsageFactsProps): VNode => {
  const prices = usage === undefined ? undefined : pricesOf(model)
  return (
    <>
      {oneLine(model, 40)}
      {usage === undefined ? null : (
        <span class="receipt-figures">
          {usedFacts(usage, prices, atLeast(undercounted)).map((fact, index) => (
            <span class="fact">
              {index === 0 ? '' : '· '}
              {fact}{' '}
            </span>
          ))}
        </span>
      )}
    </>
  )
}

const usedFacts = (usage: Usage, prices: ReturnType<typeof pricesOf>, least: string): readonly string[] => [
  ...(prices === undefined ? [] : [`${least}${dollarsText(callDollars(prices, usage))}`]),
  `${compactNumber(usage.input)} in`,
  ...(usage.cacheRead === undefined || usage.input === 0 ? [] : [`${share(usage.cacheRead, usage.input)} cached`]),
  `${least}${compactNumber(usage.output)} out`,
]

/** What an application wrote, in a few words: its type, where it has one. */
const contentWords = (content: Json): string =>
  isObject(content) && typeof content['type'] === 'string'
    ? oneLine(content['type'], 40)
    : oneLine(JSON.stringify(content), 80)

const wordsOf = (note: Note): string => {
  switch (note.type) {
    case 'page':
      return `message ${note.position} retagged as ${note.kind}`
    case 'pin':
      return `pins message ${note.position}`
    case 'unpin':
      return `unpins message ${note.position}`
    case 'summary':
      return `summary of ${note.from}–${note.to - 1}: ${oneLine(note.text, 120)}`
    case 'retraction':
      return `retracts ${note.to - note.from === 1 ? `message ${note.from}` : `messages ${note.from}–${note.to - 1}`}`
    case 'kept_file':
      return `kept: ${oneLine(note.file, 80)}, bytes ${note.from}–${note.to}`
    case 'seal':
      return 'sealed: the record ends here'
    case 'application':
      return `${oneLine(note.namespace, 40)}: ${contentWords(note.content)}`
    default:
      return note.type
  }
}
