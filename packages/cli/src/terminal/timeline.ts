/** The timeline: a conversation as lines for people, or as one JSON object a line for programs. */
import { present } from 'indelible/internal/json'
import { estimateTokens } from 'indelible/context'
import type { View } from 'indelible/history'
import { openCalls, pairCalls, type Message, type PairedCall, type Part, type ResultPart } from 'indelible/message'
import { erasedMark, isCut } from 'indelible/internal/message'
import { pageKinds, type PageKind } from 'indelible/pages'
import { sourceTimeOf } from '@indelible/transcripts'
import type { Style, Terminal } from './command.ts'
import { damagedNear, noDamage, type DamagedMessages } from './damaged.ts'
import { fitColumns, groupedNumber, oneLine, padEnd, padStart, widthOf } from './screen.ts'

export interface TimelineOptions {
  /** Show only these page kinds. */
  readonly kinds: readonly PageKind[]
  /** Show only positions of the record from `from` up to but not including `to`; negative ones count from the end. */
  readonly from: number
  readonly to: number
  /** When the message at a position was stored, in milliseconds since 1970. Default: unknown. */
  readonly timeOf?: (position: number) => number | undefined
  /** The damaged messages. Default: none. */
  readonly damaged?: DamagedMessages
  readonly columns: number
  readonly paint: Paint
}

/** The timeline's lines: one or more for every message shown, then totals of the whole conversation. */
export function* timeline(view: View<Message>, options: TimelineOptions): Generator<string> {
  const { paint, damaged = noDamage } = options
  const { answers, calls } = pairing(view)
  const positionWidth = Math.max(3, String(Math.max(0, (view.positionAt(view.length) ?? 0) - 1)).length)
  const tokensWidth = 7
  const messages = [...rowsToShow(view, options)]
  const isTimed = messages.some(({ time }) => time !== undefined)
  // position, role, kind, tokens, each followed by two spaces
  const untimed = positionWidth + 2 + roleWidth + 2 + kindWidth + 2 + tokensWidth + 2
  const half = Math.max(30, options.columns >> 1) // the columns for the text
  const narrow = options.columns < untimed + 30
  const timed = isTimed && options.columns >= untimed + timeWidth + 2 + half
  const gutter = untimed + (timed ? timeWidth + 2 : 0)
  const indent = narrow ? positionWidth + 2 : gutter
  const space = Math.max(10, options.columns - indent)
  const header = [
    padStart('#', positionWidth),
    ...(timed ? [padEnd('time', timeWidth)] : []),
    padEnd('role', roleWidth),
    padEnd('page', kindWidth),
  ]
  let day = ''
  yield paint('dim', (narrow ? header : [...header, padStart('tokens', tokensWidth), 'content']).join('  ').trimEnd())

  for (const { position, index, message, page, time } of messages) {
    const damage = damaged.get(position)
    const moment = timed && time !== undefined ? new Date(time).toISOString() : undefined
    if (moment !== undefined && moment.slice(0, 10) !== day) {
      day = moment.slice(0, 10)
      yield paint('dim', `${' '.repeat(positionWidth + 2)}${day}`)
    }
    const first = [
      paint('dim', padStart(String(position), positionWidth)),
      ...(timed ? [paint('dim', padEnd(moment?.slice(11, 19) ?? '', timeWidth))] : []),
      ...(damage === undefined
        ? [
            paint(message.role === 'user' ? 'bold' : 'none', padEnd(message.role, roleWidth)),
            paint(colours[page], padEnd(page, kindWidth)),
            ...(narrow ? [] : [padStart(groupedNumber(estimateTokens(message)), tokensWidth)]),
          ]
        : [paint('red', padEnd('damaged', roleWidth)), padEnd('', kindWidth + (narrow ? 0 : tokensWidth + 2))]),
    ].join('  ')
    const lacks = (look: 'before' | 'after', otherwise: string): string => {
      const near = damagedNear(view, damaged, index, look)
      return near === undefined ? otherwise : `${look === 'before' ? 'call' : 'result'} may be in damaged ${near}`
    }
    const lines =
      damage === undefined
        ? contentLines(message, position, space, { answers, calls, lacks, paint })
        : [fitColumns(oneLine(damage), space)]
    if (narrow) yield first.trimEnd()
    for (const [index, line] of lines.entries())
      yield index === 0 && !narrow ? `${first}  ${line}` : ' '.repeat(indent) + line
    if (lines.length === 0)
      yield narrow ? `${' '.repeat(indent)}${paint('dim', '(empty)')}` : `${first}  ${paint('dim', '(empty)')}`
  }

  yield ''
  yield* totals(view, damaged, paint, options.columns)
}

/**
 * One JSON object a line: `{ position, role, page, at?, sourceTime?, tokens, calls?, message }`.
 * `at` is when the message was stored, `sourceTime` its time in the imported file, both in
 * milliseconds since 1970; `calls` has the position of each call's result: null without one, and
 * absent if it may be in a damaged message. A damaged message is `{ position, at?, damaged }`.
 */
export function* timelineJson(view: View<Message>, options: TimelineOptions): Generator<string> {
  const { damaged = noDamage } = options
  const { calls } = pairing(view)
  for (const { position, index, message, page } of rowsToShow(view, options)) {
    const [at, sourceTime] = [options.timeOf?.(position), sourceTimeOf(message)]
    const damage = damaged.get(position)
    if (damage !== undefined) {
      yield JSON.stringify({ position, ...present({ at }), damaged: damage })
      continue
    }
    const made = calls.get(position)?.map(({ id, name, answer }) => {
      const isUnknown = answer === undefined && damagedNear(view, damaged, index, 'after') !== undefined
      return { id, name, answeredAt: isUnknown ? undefined : (answer?.position ?? null) } // JSON leaves out undefined
    })
    yield JSON.stringify({
      position,
      role: message.role,
      page,
      ...present({ at, sourceTime }),
      tokens: estimateTokens(message),
      ...(made && { calls: made }),
      message,
    })
  }
}

const timeWidth = 8
const roleWidth = 9
const kindWidth = 12
const wideTotals = 40

const colours = {
  bootstrap: 'magenta',
  constraint: 'red',
  plan: 'blue',
  preference: 'cyan',
  evidence: 'yellow',
  conversation: 'green',
} as const satisfies { readonly [Kind in PageKind]: Style }

type Paint = Terminal['paint']

interface Pairing {
  /** The call that a result answers, by the result part. */
  readonly answers: ReadonlyMap<Part, PairedCall>
  /** The calls made at a position. */
  readonly calls: ReadonlyMap<number, readonly PairedCall[]>
}

const pairing = (view: View<Message>): Pairing => {
  const answers = new Map<Part, PairedCall>()
  const calls = new Map<number, PairedCall[]>()
  const withFileTime = <T extends { readonly position: number }>(place: T): T => ({
    ...place,
    position: view.positionAt(place.position),
  })
  for (const found of pairCalls(view)) {
    const paired = withFileTime({ ...found, answer: found.answer && withFileTime(found.answer) })
    if (paired.answer !== undefined) answers.set(paired.answer.result, paired)
    const same = calls.get(paired.position)
    if (same === undefined) calls.set(paired.position, [paired])
    else same.push(paired)
  }
  return { answers, calls }
}

/** With the time from the imported file if it has one; otherwise the session's. */
function* rowsToShow(view: View<Message>, { kinds, from, to, timeOf, damaged = noDamage }: TimelineOptions) {
  const indexOf = (position: number): number => (position < 0 ? position : view.before(position))
  const range = view.slice(indexOf(from), indexOf(to))
  const first = range.length === 0 ? 0 : view.before(range.positionAt(0) as number)
  let index = 0
  for (const message of range) {
    const page = range.pages.at(index) as PageKind
    const position = range.positionAt(index) as number
    if (kinds.length === 0 || (kinds.includes(page) && !damaged.has(position)))
      yield { position, index: first + index, message, page, time: sourceTimeOf(message) ?? timeOf?.(position) }
    index += 1
  }
}

const contentLines = (
  message: Message,
  position: number,
  space: number,
  {
    answers,
    calls,
    lacks,
    paint,
  }: Pairing & {
    /** The words for a result without its call (`before` it), or a call without its result (`after` it). */
    readonly lacks: (look: 'before' | 'after', otherwise: string) => string
    readonly paint: Paint
  },
): readonly string[] => {
  const made = new Map(calls.get(position)?.map((paired) => [paired.part, paired]))
  const lines: string[] = []
  for (const [index, part] of message.content.entries()) {
    if (part.type === 'tool_call') {
      const answer = made.get(index)?.answer
      const where = answer === undefined ? ` ${lacks('after', 'no result')}` : ` → ${answer.position}`
      const call = fitColumns(`${oneLine(part.name)} ${oneLine(part.arguments)}`, space - 2 - widthOf(where))
      lines.push(`${paint('cyan', '▸')} ${call}${paint(answer === undefined ? 'red' : 'dim', where)}`)
    } else if (part.type === 'tool_result') {
      const call = answers.get(part)
      const name = fitColumns(oneLine(call?.name ?? part.name ?? part.callId), Math.max(8, space >> 1))
      const from = call === undefined ? ` ${lacks('before', 'has no call')}` : ''
      const label = part.isError === true ? `${name} failed` : name
      const body = part.content.map(plainText).join(' ')
      const size = space < 30 ? '' : lineCount(body)
      const content = fitColumns(oneLine(body), space - 3 - widthOf(label) - widthOf(size) - widthOf(from))
      const mark = paint(part.isError === true ? 'red' : 'cyan', '◂')
      lines.push(
        `${mark} ${paint(part.isError === true ? 'red' : 'dim', label)} ${content}${paint('dim', size)}${paint('red', from)}`,
      )
    } else {
      const line = oneLine(plainText(part))
      const label = part.type === 'text' ? '' : `(${part.type}) `
      if (line !== '' || label !== '') lines.push(paint('dim', label) + fitColumns(line, space - widthOf(label)))
    }
  }
  if (isCutAnswer(message)) lines.push(paint('red', 'interrupted'))
  return lines
}

/** Whether a message is an answer that broke off. */
export const isCutAnswer = (message: Message): boolean => message.role === 'assistant' && isCut(message)

export const plainText = (part: Part | ResultPart): string => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text
    case 'erased':
      return part.id === undefined && part.callId === undefined
        ? erasedMark
        : `${erasedMark} ${part.id === undefined ? 'result of call' : 'call'} ${part.id ?? part.callId}`
    case 'reasoning':
      return part.text === '' ? (part.summary ?? []).join(' ') : part.text
    case 'image':
    case 'file':
      return part.source.type === 'url'
        ? part.source.url
        : part.source.type === 'base64'
          ? `${part.source.mediaType}, ${groupedNumber(Math.floor((part.source.data.length * 3) / 4))} bytes`
          : `block ${part.source.id}`
    case 'provider':
      return `${part.provider} ${JSON.stringify(part.raw)}`
    case 'tool_call':
      return part.name
    case 'tool_result':
      return part.content.map(plainText).join(' ')
  }
}

/** The text of a message, in one line. */
export const gistOf = ({ content }: Message): string =>
  oneLine(
    content
      .map((part) =>
        part.type === 'tool_call'
          ? `▸ ${part.name} ${part.arguments}`
          : `${part.type === 'tool_result' ? '◂ ' : ''}${plainText(part)}`,
      )
      .join(' '),
  )

const lineCount = (text: string): string => {
  const lines = text.trimEnd().split('\n').length
  return lines > 1 ? ` (${groupedNumber(lines)} lines)` : ''
}

function* totals(view: View<Message>, damaged: DamagedMessages, paint: Paint, columns: number): Generator<string> {
  const sums = new Map<PageKind, { count: number; tokens: number }>()
  let [all, lost] = [0, 0]
  for (const [index, message] of [...view].entries()) {
    if (damaged.has(view.positionAt(index) as number)) {
      lost += 1
      continue
    }
    const page = view.pages.at(index) as PageKind
    const estimate = estimateTokens(message)
    const { count, tokens } = sums.get(page) ?? { count: 0, tokens: 0 }
    sums.set(page, { count: count + 1, tokens: tokens + estimate })
    all += estimate
  }
  const row = (name: string, count: string, sum: string, rest: string): string =>
    `${name}  ${padStart(count, 8)}${columns < wideTotals ? '' : `  ${padStart(sum, 7)}${rest}`}`.trimEnd()
  yield paint('dim', row(padEnd('page', kindWidth), 'messages', 'tokens', '  share'))
  for (const kind of pageKinds) {
    const sum = sums.get(kind)
    if (sum === undefined) continue
    const share = all === 0 ? 0 : sum.tokens / all
    const bar = paint(colours[kind], '▪'.repeat(Math.round(share * Math.max(0, Math.min(24, columns - 40)))))
    const percent = padStart(`${Math.round(share * 100)} %`, 5)
    yield row(
      paint(colours[kind], padEnd(kind, kindWidth)),
      groupedNumber(sum.count),
      groupedNumber(sum.tokens),
      `  ${percent}  ${bar}`,
    )
  }
  if (lost > 0) yield row(paint('red', padEnd('damaged', kindWidth)), groupedNumber(lost), '', '')
  yield row(padEnd('all', kindWidth), groupedNumber(view.length), groupedNumber(all), '')
  yield ''
  const open = openCalls(view).filter(({ position }) => damagedNear(view, damaged, position, 'after') === undefined)
  if (open.length === 0) yield 'open calls: none'
  else {
    yield paint('red', `open calls: ${groupedNumber(open.length)} without a result`)
    for (const { position, name, id } of open)
      yield fitColumns(`  ${padStart(String(view.positionAt(position)), 6)}  ${oneLine(name)}  ${oneLine(id)}`, columns)
  }
}
