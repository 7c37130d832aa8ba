/** Shows one whole message as lines for people. */
import type { Range, View } from 'indelible/history'
import { isLeft, isTooDeep, parseJson } from 'indelible/internal/json'
import { estimateTokens } from 'indelible/context'
import type { pairCalls, Message, Part, ResultPart } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import { sourceTimeOf } from '@indelible/transcripts'
import type { Style, Terminal } from '../terminal/command.ts'
import { damagedNear, noDamage, type DamagedMessages } from '../terminal/damaged.ts'
import { countText, groupedNumber, oneLine, widthOf } from '../terminal/screen.ts'
import { isCutAnswer, plainText } from '../terminal/timeline.ts'

interface MessagePage {
  /** The record, including retracted messages. */
  readonly view: View<Message>
  /** Its calls, each with its result. */
  readonly calls: ReturnType<typeof pairCalls>
  readonly position: number
  readonly left: readonly Range[]
  readonly notes: Iterable<Note>
  readonly timeOf?: (position: number) => number | undefined
  /** The damaged messages. Default: none. */
  readonly damaged?: DamagedMessages
  /** Whether to show data for programs too: `meta`, raw parts, base64. */
  readonly full: boolean
  /** The width of the terminal; Infinity without a terminal. */
  readonly columns: number
  readonly paint: Terminal['paint']
}

/** The message at a position: its metadata, then each of its parts in full. */
export function* messagePage(page: MessagePage): Generator<string> {
  const { view, calls, position, left, notes, timeOf, damaged = noDamage, full, columns, paint } = page
  const message = view.at(position) as Message
  const time = sourceTimeOf(message) ?? timeOf?.(position)
  const damage = damaged.get(position)
  const lacks = (look: 'before' | 'after', otherwise: string): string => {
    const near = damagedNear(view, damaged, position, look)
    return near === undefined
      ? otherwise
      : `its ${look === 'before' ? 'call' : 'result'} may be in message ${near}, which is damaged`
  }
  const isRetracted = left.some(({ from, to }) => from <= position && position < to)
  const facts: readonly (readonly [style: Style, text: string])[] = [
    ['bold', `${position}`],
    ...(damage === undefined
      ? ([
          ['bold', message.role],
          ['none', view.pages.at(position) as PageKind],
          ['none', countText(estimateTokens(message), 'token')],
        ] as const)
      : [['red', 'damaged'] as const]),
    ...(time === undefined
      ? []
      : [['none', `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`] as const]),
    ...(message.name === undefined ? [] : [['none', `name ${oneLine(message.name)}`] as const]),
    ...(damage === undefined && isCutAnswer(message) ? [['red', 'interrupted'] as const] : []),
    ...(isRetracted ? [['red', 'retracted'] as const] : []),
  ]
  const rows: (readonly [style: Style, text: string])[][] = [[]]
  for (const fact of facts) {
    const row = rows.at(-1) ?? []
    const isFull = row.length > 0 && [...row, fact].reduce((sum, [, text]) => sum + widthOf(text) + 2, -2) > columns
    if (isFull) rows.push([fact])
    else row.push(fact)
  }
  for (const row of rows) yield row.map(([style, text]) => paint(style, text)).join('  ')
  for (const note of notesOn(notes, position)) yield paint('dim', `note: ${note}`)
  if (damage !== undefined) return yield* ['', oneLine(damage)]
  for (const [index, part] of message.content.entries()) {
    yield ''
    if (part.type === 'tool_call') {
      const answer = calls.find((call) => call.position === position && call.part === index)?.answer
      yield `${paint('cyan', '▸')} ${paint('bold', oneLine(part.name))}  ${paint(answer === undefined ? 'red' : 'dim', answer === undefined ? lacks('after', 'no result') : `→ ${answer.position}`)}${full ? paint('dim', `  ${oneLine(part.id)}`) : ''}`
      yield* jsonOrText(part.arguments)
    } else if (part.type === 'tool_result') {
      const call = calls.find(({ answer }) => answer?.result === part)
      const name = call?.name ?? part.name ?? part.callId
      yield `${paint('cyan', '◂')} ${paint('bold', oneLine(name))}${part.isError === true ? paint('red', ' failed') : ''}  ${call === undefined ? paint('red', lacks('before', 'has no call')) : paint('dim', `← ${call.position}`)}`
      for (const inner of part.content) yield* partLines(inner, full)
    } else {
      if (part.type !== 'text') yield paint('dim', `(${part.type})`)
      yield* partLines(part, full)
    }
  }
  if (message.content.length === 0) yield paint('dim', '(empty)')
  if (full && message.meta !== undefined) {
    yield ''
    yield paint('dim', '(meta)')
    yield* JSON.stringify(message.meta, null, 2).split('\n')
  }
}

function* partLines(part: Part | ResultPart, full: boolean): Generator<string> {
  if (full && (part.type === 'image' || part.type === 'file' || part.type === 'provider' || part.type === 'reasoning'))
    yield* JSON.stringify(part, null, 2).split('\n')
  else yield* plainText(part).replaceAll('\r\n', '\n').replaceAll('\t', '    ').split('\n')
}

/** JSON text indented; other text as lines. */
const jsonOrText = (text: string): readonly string[] => {
  const parsed = parseJson(text)
  if (isLeft(parsed) || isTooDeep(parsed.right)) return text.split('\n')
  const value = parsed.right
  // A multi-line text in an argument is shown as text, without escapes.
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value).flatMap(([name, each]) =>
      typeof each === 'string'
        ? each.includes('\n')
          ? [`${name}:`, `    ${each}`.replaceAll('\t', '    ').replaceAll('\n', '\n    ')].join('\n').split('\n')
          : [`${name}: ${each}`]
        : JSON.stringify({ [name]: each }, null, 2)
            .split('\n')
            .slice(1, -1)
            .map((line) => line.slice(2).replace(/^"([\w-]+)":/, '$1:')),
    )
  return JSON.stringify(value, null, 2).split('\n')
}

/** The notes about the message, as text. */
const notesOn = (notes: Iterable<Note>, position: number): readonly string[] =>
  [...notes].flatMap((note): readonly string[] => {
    switch (note.type) {
      case 'page':
        return note.position === position ? [`page kind ${note.kind}`] : []
      case 'pin':
      case 'unpin':
        return note.position === position ? [note.type === 'pin' ? 'pinned' : 'no longer pinned'] : []
      case 'summary':
        return note.from <= position && position < note.to
          ? [
              `summarised with ${note.from} to ${note.to - 1}${note.model === undefined ? '' : ` by ${oneLine(note.model)}`}: ${oneLine(note.text)}`,
            ]
          : []
      case 'receipt':
        return note.len === position ? [receiptText(note)] : []
      case 'application':
        return isOn(note.content, position) ? [`${oneLine(note.namespace)}: ${oneLine(textOf(note.content))}`] : []
      default:
        return []
    }
  })

const receiptText = ({ model, usage }: Extract<Note, { readonly type: 'receipt' }>): string =>
  `answer of ${oneLine(model)}${usage === undefined ? '' : `: ${groupedNumber(usage.input)} tokens in (${groupedNumber(usage.cacheRead ?? 0)} from a cache), ${groupedNumber(usage.output)} out`}`

/** Whether an application's note refers to a message by a field `position`, as `indelible note --at` writes it. */
const isOn = (content: unknown, position: number): boolean =>
  typeof content === 'object' && content !== null && (content as { readonly position?: unknown }).position === position

const textOf = (content: unknown): string => {
  const text = (content as { readonly text?: unknown }).text
  return typeof text === 'string' ? text : JSON.stringify(content)
}
