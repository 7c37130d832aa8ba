/** `indelible diff A B`: shows where two conversations diverge, and what follows in each. */
import { jsonEqual, type Json } from 'indelible/internal/json'
import type { Message, Part } from 'indelible/message'
import { Misuse, wholeNumber, type Command, type Terminal } from '../terminal/command.ts'
import { namedConversation, type NamedConversation } from '../sources/conversation.ts'
import { pickOf } from '../sources/input.ts'
import { storeOption } from '../sources/place.ts'
import { countText, fitColumns, groupedNumber, padEnd, padStart, widthOf } from '../terminal/screen.ts'
import { noDamage } from '../terminal/damaged.ts'
import { gistOf } from '../terminal/timeline.ts'

export const diff: Command = {
  name: 'diff',
  synopsis: 'diff A B',
  purpose: 'show where two conversations diverge',
  usage: ['diff [options] A B'],
  about: `Compares two conversations, each a session or a file, and prints how
many messages they share, where they diverge, and the messages of each from
there on. Messages are compared by role, name and content; --exact compares
everything that is recorded. Retracted messages are ignored, except with --all.
The exit code is 0 even if they differ.`,
  options: {
    exact: { help: 'compare also ids and meta, as programs wrote them' },
    limit: { value: 'N', help: 'print at most N messages of each (default 20); 0 prints none' },
    all: { help: 'compare the whole records, with retracted messages' },
    pick: { value: 'N', help: 'which conversation of a file, if it has several (default 0)' },
    json: { help: 'one JSON object, for programs' },
    ...storeOption,
  },
  examples: ['indelible diff mine mine-2', 'indelible diff session.jsonl 0f3c8a1d'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const [a, b] = positionals
    if (a === undefined || b === undefined || positionals.length > 2)
      throw new Misuse('diff needs two conversations: A and B, each a SESSION or a FILE')
    if (a === '-' && b === '-') throw new Misuse('diff can read standard input once')
    const limit = wholeNumber('--limit', values['limit'], 20, 0)
    pickOf(values)
    const [left, right] = [await namedConversation(a, call), await namedConversation(b, call)]
    const parted = compareConversations(left, right, values['exact'] === true)
    if (values['json'] === true)
      return terminal.printJson([
        {
          ...parted,
          a: { name: a, messages: left.view.length, differs: differingMessages(left, parted) },
          b: { name: b, messages: right.view.length, differs: differingMessages(right, parted) },
        },
      ])
    await terminal.print(report(left, right, parted, limit, terminal))
  },
}

interface Comparison {
  /** The number of equal messages at the start. */
  readonly same: number
  /** The number of equal messages at the end, after those that differ. */
  readonly sameAtEnd: number
}

const compareConversations = (left: NamedConversation, right: NamedConversation, exact: boolean): Comparison => {
  const [a, b] = [left.view, right.view]
  const most = Math.min(a.length, b.length)
  // The text of a damaged message is not known, so it equals no other message.
  const isSame = (x: number, y: number): boolean =>
    !isDamaged(left, x) &&
    !isDamaged(right, y) &&
    jsonEqual(comparable(a.at(x) as Message, exact), comparable(b.at(y) as Message, exact))
  let same = 0
  while (same < most && isSame(same, same)) same++
  let sameAtEnd = 0
  while (sameAtEnd < most - same && isSame(a.length - 1 - sameAtEnd, b.length - 1 - sameAtEnd)) sameAtEnd++
  return { same, sameAtEnd }
}

const isDamaged = ({ view, damaged = noDamage }: NamedConversation, index: number): boolean =>
  damaged.size > 0 && damaged.has(view.positionAt(index) as number)

/** The compared part of a message. Call ids are left out, because programs choose different ones. */
const comparable = (message: Message, exact: boolean): Json => {
  if (exact) return message as unknown as Json
  const { role, name, content } = message
  return { role, name: name ?? null, said: content.map(comparedPart) } as unknown as Json
}

const comparedPart = (part: Part): object => {
  const { meta: _, ...rest } = part as Part & { readonly meta?: unknown }
  if (rest.type === 'tool_call') return { ...rest, id: '' }
  return rest.type === 'tool_result' ? { ...rest, callId: '', name: '' } : rest
}

const differingMessages = (
  { view, damaged = noDamage }: NamedConversation,
  { same, sameAtEnd }: Comparison,
): readonly object[] =>
  [...view.slice(same, view.length - sameAtEnd)].map((message, index) => {
    const position = view.positionAt(same + index) as number
    const damage = damaged.get(position)
    return damage === undefined ? { position, message } : { position, damaged: damage }
  })

function* report(
  a: NamedConversation,
  b: NamedConversation,
  parted: Comparison,
  limit: number,
  terminal: Terminal,
): Generator<string> {
  const { paint } = terminal
  const { same, sameAtEnd } = parted
  yield `${paint('red', '<')} ${a.title}`
  yield `${paint('green', '>')} ${b.title}`
  yield ''
  const [ofA, ofB] = [a.view.length - same - sameAtEnd, b.view.length - same - sameAtEnd]
  if (ofA === 0 && ofB === 0) return yield `the same: ${countText(same, 'message')}`
  yield same === 0 ? 'they diverge at the first message' : `the same: the first ${countText(same, 'message')}`
  if (same > 0) yield* lines(a, same - 1, same, ' ', 'dim', terminal)
  if (ofA === 0) yield paint('dim', sameAtEnd === 0 ? '< ends here' : '< has no message here')
  else yield* differenceLines(a, same, a.view.length - sameAtEnd, limit, '<', 'red', terminal)
  if (ofB === 0) yield paint('dim', sameAtEnd === 0 ? '> ends here' : '> has no message here')
  else yield* differenceLines(b, same, b.view.length - sameAtEnd, limit, '>', 'green', terminal)
  if (sameAtEnd > 0) yield `the same again: the last ${countText(sameAtEnd, 'message')}`
}

function* differenceLines(
  of: NamedConversation,
  from: number,
  to: number,
  limit: number,
  mark: string,
  style: 'red' | 'green',
  terminal: Terminal,
): Generator<string> {
  yield* lines(of, from, Math.min(to, from + limit), mark, style, terminal)
  if (to - from > limit) yield terminal.paint('dim', `${mark} … and ${groupedNumber(to - from - limit)} more`)
}

function* lines(
  { view, damaged = noDamage }: NamedConversation,
  from: number,
  to: number,
  mark: string,
  style: 'red' | 'green' | 'dim',
  { columns, paint }: Terminal,
): Generator<string> {
  for (let index = from; index < to; index++) {
    const message = view.at(index) as Message
    const position = view.positionAt(index) as number
    const damage = damaged.get(position)
    const start = `${mark} ${padStart(String(position), 4)}  ${padEnd(damage === undefined ? message.role : 'damaged', 9)}  `
    yield paint(style, start + fitColumns(damage ?? gistOf(message), Math.max(10, columns - widthOf(start))))
  }
}
