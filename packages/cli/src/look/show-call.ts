/** `indelible show SESSION --calls` and `--call N`: what model calls cost, why the cache broke, and how one differs from the call before. */
import { present } from 'indelible/internal/json'
import { isErased, type Message } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import type { Store } from 'indelible/store'
import { sourceTimeOf } from '@indelible/transcripts'
import { isThere, sessionIn, storedConversation, type NamedConversation } from '../sources/conversation.ts'
import { valueOrUnreadable, withStore } from '../sources/place.ts'
import { Misuse, Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import { noDamage } from '../terminal/damaged.ts'
import {
  dollarsText,
  causeTexts,
  isLoss,
  dearestText,
  figuresOf,
  isFirstOwn,
  otherCallsOf,
  sharedText,
  sumsOf,
  sumsText,
  type CallFigures,
  changedParts,
  type ChangedPart,
  type UnchangedTools,
  atLeast,
  share,
  linesOf,
  type Line,
  callsOf,
  type CallRecord,
  type ModelCall,
  type NoteAtRow,
  blocksOf,
  noteIn,
  sessionOf,
  comparedTexts,
  pairsWithCall,
  type Pair,
  sentCall,
  sentRequest,
  type SentRequest,
} from '@indelible/view/internal'
import {
  countText,
  fitColumns,
  fitMiddle,
  groupedNumber,
  oneLine,
  shellWord,
  widthOf,
  wrapHanging,
  wrapText,
} from '../terminal/screen.ts'
import { alignRows, columnWidths, sumOfWidths, withRoom } from '../terminal/table.ts'
import { gistOf } from '../terminal/timeline.ts'

/** The calls of a session, with their record and figures. Throws Unreadable if it has none. */
const readCalls = async (store: Store, name: string | undefined, call: Call) => {
  const id = await sessionIn(store, name, call)
  const found = await storedConversation(store, id, { ...call, values: { ...call.values, all: true } })
  const record = await callRecord(store, id, found)
  const calls = callsOf(record)
  const figures = figuresOf(record, calls)
  const others = otherCallsOf(record, figures)
  if (figures.length === 0)
    throw new Unreadable(
      others.calls === 0
        ? `${id}: has no call records, and no token counts of an imported file`
        : `${id}: its file counts ${countText(others.calls, 'call')}, but does not say which message answers which; "indelible spend ${shellWord(id)}" prints their sum`,
    )
  const kindOf = (position: number) => found.session?.view().pages.at(position)
  return { id, title: found.title, record, calls, figures, others, kindOf }
}

/** Opens the store of a session whose calls are printed. Throws Misuse for a file. */
const withCalls = (name: string | undefined, call: Call, work: (store: Store) => Promise<void>): Promise<void> => {
  if (name !== undefined && call.values['store'] === undefined && isThere(name, call.terminal))
    throw new Misuse(`show --call and --calls take a SESSION: "indelible import ${name}" stores this file as one`)
  return withStore(call, {}, work)
}

/** Prints a line for each call: its tokens, its cost, and why the cache broke. */
export const showCalls = (name: string | undefined, call: Call): Promise<void> =>
  withCalls(name, call, async (store) => {
    const { title, record, calls, figures, others } = await readCalls(store, name, call)
    const sums = sumsOf(figures)
    const { terminal, values } = call
    if (values['json'] === true)
      return terminal.printJson([
        ...figures.map((figure, index) => ({
          ...callJson(figure, calls[index] as ModelCall, calls.length, undefined, undefined),
          ...(figure.isShared && { shared: true }),
          dearest: figure === sums.dearest,
        })),
        ...(others.calls > 0 ? [{ call: null, calls: others.calls, ...others.usage }] : []),
      ])
    const dearest = sums.calls > 1 ? sums.dearest : undefined
    await terminal.print([title, ''])
    await terminal.print(callTable(figures, calls, dearest, terminal))
    await terminal.print(
      [
        '',
        `${sumsText(sums)}${sharedText(record.info.value, figures)}`,
        ...(others.calls === 0
          ? []
          : [
              `The file counts ${countText(others.calls, 'other call')} whose answers are no messages here: ${groupedNumber(others.usage.input)} tokens in, ${groupedNumber(others.usage.output)} out.`,
            ]),
        ...(dearest === undefined
          ? []
          : [`* Call ${groupedNumber(dearest.number)}${dearestText(sums)} ${dearest.why}`]),
      ].flatMap((line) => wrapText(line, terminal.columns)),
    )
  })

const callTable = (
  figures: readonly CallFigures[],
  calls: readonly ModelCall[],
  dearest: CallFigures | undefined,
  { columns, paint }: Terminal,
): readonly string[] => {
  const cells = [
    ['call', 'message', 'model', 'input', 'cached', 'output', 'cost'],
    ...figures.map((figure, index) => {
      const { number, model, input, cached, output, dollars, isCounted, isUndercounted } = figure
      const { answer, isAnswered } = calls[index] as ModelCall
      const more = isUndercounted ? ' + ?' : ''
      return [
        `${figure === dearest ? '* ' : ''}${groupedNumber(number)}`,
        isAnswered ? String(answer) : '-',
        fitMiddle(oneLine(model), columns < 100 ? 14 : 30),
        isCounted ? groupedNumber(input) : input === 0 ? '?' : `~${groupedNumber(input)}`,
        cached === undefined ? '?' : groupedNumber(cached),
        isCounted ? `${groupedNumber(output)}${more}` : '?',
        dollars === undefined ? '?' : `${dollarsText(dollars)}${more}`,
      ]
    }),
  ]
  // On a narrow terminal, cost and cause come first.
  const hasRoom = (widths: readonly number[]): boolean => columns - sumOfWidths(widths) >= leastForCause
  const rows = withRoom(cells, ['message', 'model', 'output', 'cached', 'input'], hasRoom)
  const space = columns - sumOfWidths(columnWidths(rows))
  return alignRows(rows, (column) => rows[0]?.[column] !== 'model').map((start, index) => {
    const previous = figures[index - 1]
    const line = fitColumns(
      `${start}  ${previous === undefined ? 'cache break' : eventText(previous, space)}`.trimEnd(),
      columns,
    )
    return previous === undefined || previous.isShared
      ? paint('dim', line)
      : previous === dearest
        ? paint('bold', line)
        : line
  })
}

/** The fewest columns for the cause of a break. */
const leastForCause = 20

/** What a line says of a failure and a cache break: in a sentence, or where that does not fit, in a word for its cause. */
const eventText = ({ failed, repeats, broke, parts }: CallFigures, width: number): string => {
  const beside = [
    failed === undefined ? [] : `failed: ${failed}`,
    repeats === undefined ? [] : `repeats ${groupedNumber(repeats)}`,
  ].flat()
  const whole = [...beside, ...(broke === undefined ? [] : [broke])].join('; ')
  const cause = broke === undefined ? undefined : [...parts.keys()].find(isLoss)
  return cause === undefined || widthOf(whole) <= width ? whole : [...beside, causeTexts[cause]].join('; ')
}

/**
 * Prints the call with a number, from 1; a negative one counts from the end. `dearest` is the call that cost most; of a
 * fork, the dearest of its own. Throws Unreadable if there is no such call.
 */
export const showCall = (name: string | undefined, number: number | 'dearest', call: Call): Promise<void> =>
  withCalls(name, call, async (store) => {
    const { values, terminal } = call
    const { id, title, record, calls, figures, kindOf } = await readCalls(store, name, call)
    const { dearest, unpriced, calls: own } = sumsOf(figures)
    const wanted = number === 'dearest' ? dearest?.number : number
    const index = wanted === undefined ? -1 : wanted < 0 ? calls.length + wanted : wanted - 1
    const [shown, entry] = [calls[index], figures[index]]
    if (shown === undefined || entry === undefined)
      throw new Unreadable(
        `${id}: there is no ${number === 'dearest' ? 'call with tokens' : `call ${number}`}: it has ${countText(calls.length, 'call')}`,
      )
    const before = calls[index - 1]
    const blocks = {
      blocks: (ids: Parameters<typeof blocksOf>[1]) => blocksOf(store, ids),
      missing: 'missing from the store',
    }
    const request = await sentRequest(record, blocks, shown, before)
    if (values['sent'] === true) {
      const named = shown.receipt?.note.instructions
      const [bytes] = named === undefined ? [] : await blocksOf(store, [named])
      const instructions = bytes instanceof Uint8Array ? new TextDecoder().decode(bytes) : undefined
      const sent = sentCall(record, shown, before, request, kindOf, instructions)
      if (typeof sent === 'string')
        throw new Unreadable(`${id}: what was sent with call ${entry.number} is not known exactly: ${sent}`)
      return terminal.printJson([{ call: entry.number, model: entry.model, ...sent }])
    }
    const earlier = before && (await sentRequest(record, blocks, before, undefined))
    const compared = request && earlier && compare(earlier, request)
    const forkedFrom = isFirstOwn(record, shown.receipt, before?.receipt) ? record.info.value.forkedFrom?.id : undefined
    if (values['json'] === true) return terminal.printJson([callJson(entry, shown, calls.length, compared, forkedFrom)])
    await terminal.print([title])
    if (number === 'dearest' && unpriced > 0)
      await terminal.print([
        `No list price is known for ${groupedNumber(unpriced)} of ${countText(own, 'call')}: this is the one with most input that was not cached.`,
      ])
    await terminal.print(figureLines(entry, shown, calls.length, terminal))
    return terminal.print(
      differenceLines(entry, compared, forkedFrom, {
        columns: terminal.columns,
        paint: terminal.paint,
        most: values['full'] === true ? Infinity : mostLines,
      }),
    )
  })

/** The record as the page has it, read from a store. Cost: O(messages and notes). */
const callRecord = async (store: Store, id: string, found: NamedConversation): Promise<CallRecord> => {
  const { view, timeOf, session, damaged = noDamage } = found
  const info = await sessionOf(store, id)
  const altered = new Map(
    (session === undefined || session.state === 'open' ? [] : session.damaged).map(({ row, reason }) => [row, reason]),
  )
  const rows = await valueOrUnreadable(store.read(id, { only: 'note' }))
  const notes = rows.map(({ position: row, index, at, body }): NoteAtRow => {
    const note = altered.has(row) ? undefined : noteIn(body)
    return { row, index, after: row - index - 1, at, note: note ?? damagedNote(altered.get(row)) }
  })
  const ofNotes = new Set(rows.map(({ position }) => position))
  let row = 0
  const entries = Array.from(view, (message: Message, position) => {
    while (ofNotes.has(row)) row++
    const state = damaged.has(position) ? ('damaged' as const) : isErased(message) ? ('erased' as const) : undefined
    return { position, row: row++, at: sourceTimeOf(message) ?? timeOf?.(position), message, state }
  })
  return { info: { value: info }, entries, notes }
}

const damagedNote = (reason = 'the row is not a note'): Note => ({
  type: 'application',
  namespace: 'indelible.damaged',
  content: { reason },
})

interface Compared {
  readonly parts: readonly (ChangedPart | UnchangedTools)[]
  readonly pairs: readonly Pair[]
  readonly messages: SentRequest['messages']
}

const compare = (before: SentRequest, { messages, request }: SentRequest): Compared => ({
  parts: changedParts(before.request, request),
  pairs: pairsWithCall(before.messages, messages),
  messages,
})

const callJson = (
  figures: CallFigures,
  { answer, isAnswered }: ModelCall,
  calls: number,
  compared: Compared | undefined,
  forkedFrom: string | undefined,
): object => ({
  call: figures.number,
  calls,
  model: figures.model,
  at: figures.at ?? null,
  answer: isAnswered ? answer : null,
  counted: figures.isCounted,
  undercounted: figures.isUndercounted,
  input: figures.isCounted || figures.input > 0 ? figures.input : null,
  cached: figures.cached ?? null,
  uncached: figures.cached === undefined ? null : figures.input - figures.cached,
  output: figures.isCounted ? figures.output : null,
  dollars: figures.dollars ?? null,
  inputBy: Object.fromEntries(figures.parts),
  cacheBreak: figures.broke ?? null,
  why: figures.why,
  ...present({ failed: figures.failed, repeats: figures.repeats }),
  ...(compared && {
    comparedWith: { call: figures.number - 1, ...(forkedFrom !== undefined && { lastSharedWith: forkedFrom }) },
    changed: compared.parts.flatMap((part) =>
      part.type === 'part' ? [{ name: part.name, before: part.before, after: part.after }] : [],
    ),
    messages: compared.pairs.flatMap((pair): object[] =>
      pair.type === 'pair'
        ? [present({ before: messageOf(pair.left), after: messageAt(compared, pair.right) })]
        : [{ same: pair.to - pair.from }],
    ),
  }),
})

const messageOf = (left: Extract<Pair, { readonly type: 'pair' }>['left']): Message | undefined =>
  left !== undefined && 'message' in left ? left.message : undefined

const messageAt = ({ messages }: Compared, index: number | undefined): Message | undefined =>
  index === undefined ? undefined : messages[index]?.message

function* figureLines(
  figures: CallFigures,
  { answer, isAnswered }: ModelCall,
  calls: number,
  { columns }: Terminal,
): Generator<string> {
  const {
    number,
    model,
    at,
    input,
    output,
    cached,
    written,
    dollars,
    isCounted,
    isUndercounted,
    failed,
    repeats,
    broke,
    why,
  } = figures
  const facts = [
    `call ${groupedNumber(number)} of ${groupedNumber(calls)}`,
    model === '' ? [] : oneLine(model),
    at === undefined ? [] : `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
    isAnswered ? `answered by message ${answer}` : 'no answer was recorded',
  ]
  const lines = [
    [
      'cost',
      dollars === undefined
        ? isCounted
          ? `not known: this version has no list price of ${oneLine(model)}`
          : 'not known'
        : `${atLeast(isUndercounted)}${dollarsText(dollars)} at list prices`,
    ],
    ['why', why],
    [
      'input',
      input === 0 && !isCounted
        ? 'not counted'
        : `${countText(input, 'token')}${isCounted ? '' : ' by estimate'}${cached === undefined ? '; the provider did not count cached ones' : `: ${groupedNumber(cached)} cached (${share(cached, input)}), ${groupedNumber(input - cached)} not cached${written === undefined || written === 0 ? '' : `, of which ${groupedNumber(written)} were written to the cache`}`}`,
    ],
    ['output', isCounted ? `${atLeast(isUndercounted)}${countText(output, 'token')}` : 'not counted'],
    ['cache', broke !== undefined ? 'broke' : cached === undefined ? 'not known' : 'did not break'],
    ['failed', failed ?? ''],
    ['repeats', repeats === undefined ? '' : `the failed call ${groupedNumber(repeats)}`],
  ] as const
  yield* wrapHanging(facts.flat().join(', '), columns)
  for (const [name, text] of lines) if (text !== '') yield* wrapHanging(`  ${name.padEnd(7)}  ${text}`, columns, 11)
}

/** The most lines of one difference. */
const mostLines = 40

function* differenceLines(
  { number }: CallFigures,
  compared: Compared | undefined,
  forkedFrom: string | undefined,
  { columns, paint, most }: Pick<Terminal, 'columns' | 'paint'> & { readonly most: number },
): Generator<string> {
  if (number === 1) return
  yield ''
  if (compared === undefined) {
    yield* wrapHanging(
      'It is not compared with the call before: the messages of these calls were not recorded. "indelible view" shows what a policy would send.',
      columns,
    )
    return
  }
  yield* wrapHanging(
    forkedFrom === undefined
      ? `compared with call ${groupedNumber(number - 1)}:`
      : `compared with call ${groupedNumber(number - 1)}, the last that this fork shares with ${oneLine(forkedFrom)}; the call before may be another one of that session:`,
    columns,
  )
  const change = function* (name: string, before: string, after: string): Generator<string> {
    yield fitColumns(`  ${oneLine(name)}${before === '' ? ' (new)' : after === '' ? ' (removed)' : ''}`, columns)
    const lines = linesOf(before, after).filter(({ sign, text }) => text !== '' || sign === ' ')
    const starts = most === Infinity ? [] : startsOf(lines, columns - 6)
    for (const [index, { sign, text }] of lines.slice(0, most).entries()) {
      const start = starts[index] ?? 0
      const line = `    ${sign === '@' ? ' ' : sign} ${start > 0 ? '…' : ''}${text.slice(start).replaceAll('\t', '    ')}`
      const style = sign === '+' ? 'green' : sign === '-' ? 'red' : 'dim'
      yield paint(style, most === Infinity ? line : fitColumns(line, columns))
    }
    if (lines.length > most) yield paint('dim', `    … and ${countText(lines.length - most, 'more line')} (--full)`)
  }
  for (const part of compared.parts)
    if (part.type === 'part') yield* change(part.name, part.before, part.after)
    else yield `  ${countText(part.count, 'unchanged tool')}`
  for (const pair of compared.pairs) {
    if (pair.type === 'same') yield `  ${countText(pair.to - pair.from, 'unchanged message')}`
    if (pair.type !== 'pair') continue
    const [before, after] = [messageOf(pair.left), messageAt(compared, pair.right)]
    if (before !== undefined && after !== undefined) {
      const texts = comparedTexts(before, after)
      const name = `message ${pair.right} of the request`
      yield* change(texts.isForm ? `${name}, the same content in another form` : name, texts.before, texts.after)
    } else if (after !== undefined) yield paint('green', fitColumns(`  + ${after.role}  ${gistOf(after)}`, columns))
    else if (before !== undefined) yield paint('red', fitColumns(`  - ${before.role}  ${gistOf(before)}`, columns))
  }
}

/** Where the text of each line starts to be shown: before the difference, where that would not fit otherwise. */
const startsOf = (lines: readonly Line[], width: number): readonly number[] => {
  const starts = lines.map(() => 0)
  for (let removed = 0; removed < lines.length; removed++) {
    if (lines[removed]?.sign !== '-') continue
    let added = removed
    while (lines[added]?.sign === '-') added++
    for (let pair = 0; lines[removed + pair]?.sign === '-' && lines[added + pair]?.sign === '+'; pair++) {
      const [old, current] = [lines[removed + pair]?.text ?? '', lines[added + pair]?.text ?? '']
      if (Math.max(old.length, current.length) <= width) continue
      let same = 0
      while (same < old.length && old[same] === current[same]) same++
      if (same < width / 2) continue
      const from = same - Math.min(same, Math.floor(width / 3))
      const space = old.slice(from, same).search(/(?<= )/) // not inside a word or a character
      starts[removed + pair] = starts[added + pair] = space === -1 ? from : from + space
    }
    removed = added - 1
  }
  return starts
}
