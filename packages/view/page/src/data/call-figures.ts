/** The figures of a record's calls, worked out once, and what the file of an imported session counts. */
import { present } from 'indelible/internal/json'
import { summedCalls } from 'indelible/internal/usage'
import { spendingOf } from '../../../src/texts/about.ts'
import { figuresOf, isOwn, type CallFigures, type CallSums } from '../../../src/calls/call-figures.ts'
import { callsOf, type NoteAtRow } from '../../../src/calls/model-calls.ts'
import { costText } from '../format-text.ts'
import type { SessionRecord } from './record.ts'

interface KnownFigures {
  /** What had come of the record. */
  readonly version: number
  readonly figures: readonly CallFigures[]
  readonly byReceipt: ReadonlyMap<number, CallFigures>
  readonly byAnswer: ReadonlyMap<number, CallFigures>
}

const knownFigures = new WeakMap<SessionRecord, KnownFigures>()

/** The figures of a record that has come whole, worked out once for each length of it. */
export const figuresIn = (record: SessionRecord): KnownFigures => {
  const version = record.version.peek()
  const known = knownFigures.get(record)
  if (known?.version === version) return known
  const isReady = record.whole.value || record.failed.value
  const figures = isReady ? figuresOf(record, callsOf(record)) : []
  const isImported = ({ imported }: CallFigures): boolean => imported !== undefined
  const found = {
    version,
    figures,
    byReceipt: new Map(figures.filter((figure) => !isImported(figure)).map((figure) => [figure.key, figure])),
    byAnswer: new Map(figures.filter(isImported).map((figure) => [figure.key, figure])),
  }
  if (isReady) knownFigures.set(record, found)
  return found
}

/** The calls with these notes, or the imported call that this message answers, at which the cached prefix ended. */
export const breaksOf = (
  record: SessionRecord,
  position: number,
  notes: readonly NoteAtRow[],
): readonly (CallFigures & { readonly broke: string })[] => {
  const { byAnswer, byReceipt } = figuresIn(record)
  return [
    byAnswer.get(position),
    ...notes.map(({ note, index }) => (note.type === 'receipt' ? byReceipt.get(index) : undefined)),
  ].flatMap((figures) => (figures?.broke === undefined ? [] : [{ ...figures, broke: figures.broke }]))
}

/** Whether the call of one of these notes got no whole answer. */
export const hasFailedCall = (record: SessionRecord, notes: readonly NoteAtRow[]): boolean => {
  const { byReceipt } = figuresIn(record)
  return notes.some(({ index }) => byReceipt.get(index)?.failed !== undefined)
}

/** The tokens and the cost, in words, of a session's own calls: by its receipts, and by the file that it was imported from. */
export const spentOf = (record: SessionRecord): { readonly tokens: number; readonly cost: readonly string[] } => {
  const { forkedFrom, metadata } = record.info.value
  const { byReceipt } = figuresIn(record)
  const receipts = record.notes.flatMap((placed) => {
    if (placed.note.type !== 'receipt' || !isOwn(record, placed)) return []
    const { model, usage } = placed.note
    return [present({ model, usage, isFailed: byReceipt.get(placed.index)?.failed !== undefined })]
  })
  // A file's figures are of all of it: a fork has a part.
  const { input, output, dollars, unpriced, undercounted } = spendingOf([
    ...(forkedFrom === undefined ? summedCalls(metadata['from']) : []),
    ...receipts,
  ])
  return { tokens: input + output, cost: costText(dollars, unpriced, undercounted) }
}

/** The sums of the file that a session was imported from; of a fork none, whose part is not known. */
export const sumsOfFile = (
  record: SessionRecord,
): Pick<
  CallSums,
  'calls' | 'input' | 'cached' | 'output' | 'dollars' | 'unpriced' | 'isUndercounted' | 'uncounted'
> => {
  const { forkedFrom, metadata } = record.info.value
  const uses = forkedFrom === undefined ? summedCalls(metadata['from']) : []
  return {
    ...{ dollars: undefined, unpriced: 0, ...spendingOf(uses) },
    uncounted: 0,
    isUndercounted: uses.some(({ isUndercounted }) => isUndercounted === true),
    calls: uses.reduce((sum, { calls = 0 }) => sum + calls, 0),
    cached: uses.reduce((sum, { usage }) => sum + (usage?.cacheRead ?? 0), 0),
  }
}
