/** What each recorded call was sent, what of it was not cached and why, and what it cost. */
import { isObject, present } from 'indelible/internal/json'
import type { Usage } from 'indelible/internal/notes'
import {
  breakIn,
  hasAnswer,
  hasFailed,
  ReceiptCalls,
  summedCalls,
  unpackCalls,
  UsageExplainer,
  type UsageCause,
} from 'indelible/internal/usage'
import type { ExplainedCall, UsageCall } from 'indelible/usage'
import { detailsOf, type CallDetails } from '@indelible/recorder'
import type { CallUsage } from '@indelible/transcripts/internal'
import { callClause } from '../texts/cause-text.ts'
import { countedIn, keyOf, notesOf, type CallRecord, type ModelCall, type NoteAtRow } from './model-calls.ts'
import {
  atLeast,
  compactNumber,
  costText,
  countText,
  dollarsText,
  dotted,
  groupedNumber,
  oneLine,
  sentence,
  share,
  tokensText,
} from '../texts/format-text.ts'
import type { ViewedSession } from '../protocol.ts'

export interface CallFigures {
  /** Its number among the calls, from 1. */
  readonly number: number
  /** Whether it is a call of a fork that the fork shares with its original. */
  readonly isShared: boolean
  /** What names it in an address. */
  readonly key: number
  /** The position of its answer, of a call without a receipt: an imported one. */
  readonly imported: number | undefined
  readonly model: string
  /** When it was sent: milliseconds since 1970; undefined if that is not known. */
  readonly at: number | undefined
  /** Input tokens by the provider's count; without one, by the estimate, and 0 without either. */
  readonly input: number
  readonly output: number
  /** Whether the answer holds more tokens than were counted. */
  readonly isUndercounted: boolean
  /** Whether the provider counted the tokens. */
  readonly isCounted: boolean
  /** The input tokens by cause. Their sum is `input`. */
  readonly parts: ReadonlyMap<UsageCause, number>
  /** Of `input`: read from the provider's cache; undefined if nobody counted them. */
  readonly cached: number | undefined
  /** Of `input`: written to the provider's cache; undefined if nobody counted them. */
  readonly written: number | undefined
  /** Why the cached prefix ended; undefined where it did not. */
  readonly broke: string | undefined
  /** Why there is no whole answer; undefined where there is one. */
  readonly failed: string | undefined
  /** Whether there is an answer, at least a part of one. Other calls are not in the number of calls. */
  readonly hasAnswer: boolean
  /** The number of the failed call whose request this one repeats. */
  readonly repeats: number | undefined
  /** US dollars at list prices; undefined if they are not known. */
  readonly dollars: number | undefined
  /** Where most of the money or the tokens went, in a sentence. */
  readonly why: string
}

/** The figures of all calls with a receipt, in order; of an imported session, of those that its file counts. Cost: O(calls). */
export const figuresOf = (record: CallRecord, calls: readonly ModelCall[]): readonly CallFigures[] => {
  const session = notesOf(record)
  const figures: CallFigures[] = []
  const explainer = new UsageExplainer()
  const receipts = new ReceiptCalls()
  const filed = filedCalls(record)
  let digest: string | undefined
  let copied = copiedCalls(record)
  for (const [index, call] of calls.entries()) {
    const { receipt, answer } = call
    const counted = countedIn(record, call)
    const details = receipt && detailsOf(receipt.note, session)
    const ownTime = receipt === undefined ? record.entries[answer]?.at : receipt.at
    const explained = explainer.next(
      receipt === undefined
        ? (filed.get(answer) ?? messageCall(counted, ownTime))
        : receipts.next(receipt.index, receipt.note, receipt.at),
    )
    const { usage, model } = receipt?.note ?? counted ?? { model: '', usage: undefined }
    const before = figures.at(-1)
    const input = usage?.input ?? receipt?.note.estimated ?? 0
    const parts = new Map(explained.parts.flatMap(({ cause, tokens }) => (cause === 'answer' ? [] : [[cause, tokens]])))
    if (usage === undefined && input > 0) parts.set('uncounted', input)
    const failed = failureOf(details)
    const repeats =
      before?.failed !== undefined && digest === receipt?.note.contextDigest
        ? (before.repeats ?? before.number)
        : undefined
    const isCopy = receipt === undefined && usage !== undefined && copied-- > 0
    figures.push({
      number: index + 1,
      isShared: isCopy || !isOwn(record, receipt),
      key: keyOf(call),
      imported: receipt === undefined ? answer : undefined,
      model,
      at: details?.at ?? ownTime,
      input,
      output: usage?.output ?? 0,
      isUndercounted: counted?.undercounted === true || (usage !== undefined && details?.cut === true),
      isCounted: usage !== undefined,
      parts,
      cached: usage?.cacheRead,
      written: usage?.cacheWrite,
      broke: brokeText(explained),
      failed,
      hasAnswer: details === undefined || usage !== undefined || hasAnswer({ ...details }),
      repeats,
      dollars: usage === undefined ? undefined : explained.dollars,
      why: usage === undefined ? sentenceOr(details?.broke?.because) : whyText(explained),
    })
    digest = receipt?.note.contextDigest
  }
  return figures.some(({ model }) => model !== '') ? figures : []
}

/** The calls of the imported file, by the positions of their answers. */
const filedCalls = ({ info }: CallRecord): ReadonlyMap<number, UsageCall> => {
  const { forkedFrom, metadata } = info.value
  const { from } = metadata
  const calls = forkedFrom === undefined && isObject(from) ? unpackCalls(from['calls']) : []
  return new Map(calls.flatMap((call) => (call.position === undefined ? [] : [[call.position, call]])))
}

/** A call that only the answer's own fields tell of, as in a session that an earlier version imported. */
const messageCall = (counted: CallUsage | undefined, at: number | undefined): UsageCall => ({
  model: counted?.model ?? '',
  seenIn: 'lines',
  ...present({ usage: counted?.usage, at }),
})

/** Why the cached prefix ended, as a sentence; of a call that repeats a failed one, what had changed before that. */
const brokeText = (explained: ExplainedCall): string | undefined => {
  const broke = breakIn(explained) ?? explained.parts.find(({ cause }) => changeCauses.has(cause))
  return broke && sentence(broke.because ?? 'the earlier messages were no longer in the cache, and nothing says why')
}

/** Where most was paid, after a change that this does not name: most of a call can be new beside what was sent again. */
const whyText = (explained: ExplainedCall): string => {
  const [clause, because] = [callClause(explained), explained.change?.because]
  return because === undefined || clause.includes(because)
    ? sentence(clause)
    : `${sentence(because)} ${sentence(clause)}`
}

const changeCauses: ReadonlySet<UsageCause> = new Set(['tools', 'system', 'messages', 'effort', 'compaction', 'rewind'])

const sentenceOr = (text: string | undefined): string => (text === undefined ? '' : sentence(text))

/**
 * Whether a call is the first of a fork. If its prefix broke, the call before it is in the other session: a recorder forks
 * where a program edits what it sent.
 */
export const isFirstOwn = (record: CallRecord, own: NoteAtRow | undefined, before: NoteAtRow | undefined): boolean => {
  const { forkedFrom } = record.info.value
  return forkedFrom !== undefined && isOwn(record, own) && !isOwn(record, before)
}

/** How many calls of an imported session were copied with their answers, which are its first, from another session. */
const copiedCalls = ({ info }: CallRecord): number => {
  const { from } = info.value.metadata
  const copied = isObject(from) ? from['copied'] : undefined
  return typeof copied === 'number' ? copied : 0
}

/** Whether a receipt is a session's own: a fork shares those that were written before it was created. */
export const isOwn = ({ info }: CallRecord, receipt: NoteAtRow | undefined): boolean =>
  info.value.forkedFrom === undefined || (receipt?.at ?? 0) >= info.value.created

const failureOf = (details: CallDetails | undefined): string | undefined => {
  if (details === undefined || !hasFailed({ ...details })) return undefined
  const { error, status, cut } = details
  const what =
    status !== undefined && status >= 400 ? `HTTP ${status}` : cut === true ? 'the answer broke off' : 'no answer'
  return error === undefined ? what : `${what}: ${oneLine(error, 120)}`
}

export interface CallSums {
  readonly calls: number
  readonly input: number
  /** Of `input`: from the cache; undefined if nobody counted them. */
  readonly cached: number | undefined
  readonly output: number
  /** Whether answers hold more tokens than were counted: the output and the cost are more. */
  readonly isUndercounted: boolean
  /** How many answered calls have no token counts: tokens and cost are more. */
  readonly uncounted: number
  readonly breaks: number | undefined
  readonly failed: number
  /** US dollars of the calls whose price is known; undefined if none is. */
  readonly dollars: number | undefined
  /** How many calls with tokens have no known price. */
  readonly unpriced: number
  /** The one that cost most; if a price is not known, the one with most input that was not cached. */
  readonly dearest: CallFigures | undefined
}

/** The sums of a session's own calls: a fork does not count those that it shares with its original. */
export const sumsOf = (all: readonly CallFigures[]): CallSums => {
  const figures = all.filter(({ isShared }) => !isShared)
  const sums = {
    calls: figures.filter((figure) => figure.hasAnswer).length,
    input: 0,
    output: 0,
    breaks: 0,
    failed: 0,
    unpriced: 0,
    uncounted: 0,
  }
  let cached: number | undefined
  let dollars: number | undefined
  for (const figure of figures) {
    if (figure.isCounted) {
      sums.input += figure.input
      if (figure.cached !== undefined) cached = (cached ?? 0) + figure.cached
      sums.output += figure.output
      if (figure.dollars === undefined) sums.unpriced++
      else dollars = (dollars ?? 0) + figure.dollars
    } else if (figure.failed === undefined) sums.uncounted++
    // The call that repeats a failed one has the same break.
    if (figure.broke !== undefined && all[(figure.repeats ?? 0) - 1]?.broke === undefined) sums.breaks++
    if (figure.failed !== undefined) sums.failed++
  }
  const costs = sums.unpriced === 0 ? costsMore : isLessCached
  const dearest = figures
    .filter(({ input }) => input > 0)
    .reduce<CallFigures | undefined>(
      (most, figure) => (most === undefined || costs(figure, most) ? figure : most),
      undefined,
    )
  const isKnown = sums.breaks > 0 || (figures.length > 0 && figures.every((figure) => figure.cached !== undefined))
  const isUndercounted = figures.some((figure) => figure.isUndercounted)
  return { ...sums, breaks: isKnown ? sums.breaks : undefined, cached, dollars, dearest, isUndercounted }
}

/** The calls that an imported file counts, but that answer no message of the session: compactions, other branches. */
export const otherCallsOf = (
  { info }: CallRecord,
  figures: readonly CallFigures[],
): { readonly calls: number; readonly usage: Usage } => {
  const { forkedFrom, metadata } = info.value
  const rest = { calls: 0, input: 0, cacheRead: 0, output: 0 }
  const add = (calls: number, { input, cacheRead = 0, output }: Usage, sign: 1 | -1): void => {
    rest.calls += sign * calls
    rest.input += sign * input
    rest.cacheRead += sign * cacheRead
    rest.output += sign * output
  }
  for (const { calls = 0, usage } of forkedFrom === undefined ? summedCalls(metadata['from']) : [])
    if (usage !== undefined) add(calls, usage, 1)
  for (const { imported, isShared, isCounted, input, cached, output } of figures)
    if (imported !== undefined && !isShared && isCounted) add(1, { input, cacheRead: cached ?? 0, output }, -1)
  const { calls, ...usage } = rest
  return { calls: Math.max(0, calls), usage }
}

/** A known price goes before none. */
export const costsMore = (a: CallFigures, b: CallFigures): boolean =>
  a.dollars !== undefined || b.dollars !== undefined ? (a.dollars ?? -1) > (b.dollars ?? -1) : isLessCached(a, b)

const isLessCached = (a: CallFigures, b: CallFigures): boolean => a.input - (a.cached ?? 0) > b.input - (b.cached ?? 0)

export const sumsText = (sums: CallSums): string => {
  const { calls, input, cached, output, breaks, failed, dollars, unpriced, isUndercounted, uncounted } = sums
  return dotted(
    countText(calls, 'call'),
    input === 0 ? [] : `${tokensText(input)} in`,
    cached === undefined ? [] : `${share(cached, input)} cached`,
    output === 0 ? [] : `${atLeast(isUndercounted)}${compactNumber(output)} out`,
    costText(dollars, unpriced, isUndercounted || uncounted > 0),
    breaks === undefined ? [] : breaks === 0 ? 'no cache breaks' : countText(breaks, 'cache break'),
    failed === 0 ? [] : `${groupedNumber(failed)} failed`,
    uncounted === 0 ? [] : `${groupedNumber(uncounted)} without token counts`,
  )
}

/** The calls of a fork that its sums do not count. */
export const sharedText = (
  { forkedFrom }: Pick<ViewedSession, 'forkedFrom'>,
  figures: readonly CallFigures[],
): string => {
  const shared = figures.filter(({ isShared }) => isShared).length
  return shared === 0
    ? ''
    : ` · without ${countText(shared, 'call')} ${forkedFrom === undefined ? 'copied from another session' : `shared with ${oneLine(forkedFrom.id, 40)}`}`
}

/** The end of the sentence about the dearest call, after its name. */
export const dearestText = ({ dearest, dollars, calls, unpriced, uncounted }: CallSums): string => {
  if (dearest === undefined) return ''
  if (dearest.dollars !== undefined && unpriced === 0 && uncounted > 0)
    return ` cost most of those with token counts: ${atLeast(dearest.isUndercounted)}${dollarsText(dearest.dollars)}.`
  if (dearest.dollars !== undefined && unpriced === 0)
    return ` cost most: ${atLeast(dearest.isUndercounted)}${dollarsText(dearest.dollars)}, ${Math.round((dearest.dollars / (dollars ?? 1)) * 100)} % of all.`
  const without =
    unpriced < calls ? ` (${countText(unpriced, 'call')} of ${groupedNumber(calls)} without a known price)` : ''
  return ` was sent most that was not cached: ${tokensText(dearest.input - (dearest.cached ?? 0))}${without}.`
}
