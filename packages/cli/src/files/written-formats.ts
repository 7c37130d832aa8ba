/** A conversation as the lines of another format. */
import { faultMessage } from 'indelible'
import { isLeft } from 'indelible/internal/json'
import { allCodecs } from '@indelible/codecs'
import type { Codec, Loss } from 'indelible/codecs'
import { mend, type Message, type Repair, type Sequence, type Settled } from 'indelible/message'
import { Unreadable } from '../terminal/command.ts'
import { markdownOf } from './markdown.ts'

/** The formats that a conversation of a file or a session can be written in. */
export const formats: readonly string[] = [...Object.keys(allCodecs), 'indelible', 'markdown']

export interface WrittenLines {
  readonly lines: Iterable<string>
  readonly written: number
  readonly repairs: readonly Repair[]
  readonly losses: readonly Loss[]
}

export function* withoutFeeds(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield line.slice(0, -1)
}

/** A conversation as Markdown, or as a request that a provider accepts. Throws Unreadable. */
export const writeMessages = (messages: Sequence<Message>, to: string, title?: string): WrittenLines => {
  if (to === 'markdown')
    return { lines: markdownOf(messages, title), written: messages.length, repairs: [], losses: [] }
  const mended = mend(messages)
  const codec = (allCodecs as unknown as { readonly [format: string]: Codec<unknown> })[to] // its name is one of theirs
  const result = codec?.encode(mended.messages as Settled<Sequence<Message>>)
  if (result === undefined || isLeft(result))
    throw new Unreadable(result === undefined ? `${to} can't be written` : faultMessage(result.left))
  const { wire, losses } = result.right
  return { lines: jsonLines(wire), written: sizeOf(wire), repairs: mended.repairs, losses }
}

/** A value as JSON with one line for each entry of its lists, easy to read, compare and write in pieces. */
function* jsonLines(wire: unknown): Generator<string> {
  if (Array.isArray(wire)) yield* listLines('', wire as readonly unknown[], '')
  else if (typeof wire !== 'object' || wire === null) yield JSON.stringify(wire)
  else {
    yield '{'
    const fields = Object.entries(wire as { readonly [field: string]: unknown })
    for (const [index, [name, value]] of fields.entries()) {
      const comma = index < fields.length - 1 ? ',' : ''
      if (Array.isArray(value)) yield* listLines(`${JSON.stringify(name)}: `, value as readonly unknown[], comma)
      else yield `${JSON.stringify(name)}: ${JSON.stringify(value)}${comma}`
    }
    yield '}'
  }
}

function* listLines(before: string, list: readonly unknown[], after: string): Generator<string> {
  if (list.length === 0) return yield `${before}[]${after}`
  yield `${before}[`
  for (let index = 0; index < list.length; index++)
    yield `${JSON.stringify(list[index])}${index < list.length - 1 ? ',' : ''}`
  yield `]${after}`
}

const sizeOf = (wire: unknown): number => {
  if (Array.isArray(wire)) return wire.length
  const messages =
    typeof wire === 'object' && wire !== null ? (wire as { readonly messages?: unknown }).messages : undefined
  return Array.isArray(messages) ? messages.length : 1
}
