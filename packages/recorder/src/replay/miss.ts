/** The text about a request without a recorded answer: at most 20 lines, for a person who reads the log of a test. */
import type { Immutable } from 'indelible/internal/json'
import type { Message, Part, ResultPart } from 'indelible/message'
import type { Found, ReplayCall } from './call-tree.ts'
import type { Ignored, Matching, Settings } from './matching.ts'
import type { WorkFolder } from './work-folder.ts'

/** A request without an answer. */
export interface Miss {
  readonly call: {
    /** The request in a sentence. */
    readonly name: string
    readonly messages: readonly Immutable<Message>[]
    readonly settings: Settings
    readonly folder: WorkFolder | undefined
  }
  readonly found: Exclude<Found, { readonly _tag: 'Found' }>
  readonly matching: Matching
  readonly ignore: readonly Ignored[]
  readonly recordAnew: string
}

export const messagesText = (count: number): string => `${count} ${count === 1 ? 'message' : 'messages'}`

/** The most characters of a line. */
const mostLine = 300

export const missText = (miss: Miss): string => {
  const { call, ignore, recordAnew } = miss
  return [
    `${call.name} is not in the record.`,
    ...reasonLines(miss),
    ...unknownLines(miss),
    ...(ignore.length > 0 ? [`Not compared: ${ignore.join(', ')}.`] : []),
    `If the change is meant, ${recordAnew}.`,
  ].join('\n')
}

const reasonLines = ({ call, found, matching }: Miss): readonly string[] => {
  if (found._tag === 'AskedAgain') {
    const [first] = found.calls
    const times = found.calls.length
    return [
      `It is equal to ${first?.name}, which was recorded ${times === 1 ? 'once' : `${times} times`}, and this is request ${found.count}.`,
    ]
  }
  const { nearest, setting } = found
  if (nearest === undefined) return ['The record has no calls.']
  if (setting !== undefined)
    return [
      `The nearest is ${nearest.name}: its messages are equal, and its ${setting === 'system' ? 'system prompt' : setting} is another.`,
      ...lineDifference(nearest.settings[setting] ?? '', call.settings[setting] ?? '', setting),
      ...(setting === 'api' ? [] : [`\`ignore: ['${setting}']\` leaves it out of the comparison.`]),
    ]
  return [`The nearest is ${nearest.name}.`, ...messageDifference(nearest, call, matching)]
}

/** What an imported session can't know. */
const unknownLines = ({ call, found }: Miss): readonly string[] => {
  const nearest = found._tag === 'AskedAgain' ? found.calls[0] : found.nearest
  if (nearest === undefined || call.settings.api === undefined || nearest.request.api !== undefined) return []
  return [
    'That session has only messages: the model, the system prompt, the tools and the parameters are not compared.',
  ]
}

const messageDifference = (nearest: ReplayCall, call: Miss['call'], matching: Matching): readonly string[] => {
  const recorded = matching.messages(nearest.request.messages)
  const now = matching.messages(call.messages)
  const identities = recorded.map((message) => matching.identity(message as Message, nearest.folder))
  let at = 0
  while (at < now.length && identities[at] === matching.identity(now[at] as Message, call.folder)) at++
  const [a, b] = [recorded[at], now[at]]
  const of = `message ${at + 1} of ${now.length}`
  if (a === undefined) return [`It ends before ${of} (${b?.role ?? 'none'}).`, ...firstLine('sent', b)]
  if (b === undefined)
    return [`It has ${messagesText(recorded.length)}, and the request only ${now.length}.`, ...firstLine('recorded', a)]
  if (a.role !== b.role) return [`They part at ${of}: it was recorded with the role ${a.role}, not ${b.role}.`]
  const [before, after] = [
    textOfMessage(matching.comparable(a as Message, nearest.folder)),
    textOfMessage(matching.comparable(b as Message, call.folder)),
  ]
  return lineDifference(before, after, `${of} (${b.role})`)
}

const firstLine = (name: string, message: Immutable<Message> | undefined): readonly string[] =>
  message === undefined ? [] : [`  ${name}: ${shortLine(textOfMessage(message as Message).split('\n')[0] ?? '')}`]

/** The first line that differs, as it was recorded and as it was sent. */
const lineDifference = (before: string, after: string, name: string): readonly string[] => {
  const [recorded, sent] = [before.split('\n'), after.split('\n')]
  let line = 0
  while (line < recorded.length && line < sent.length && recorded[line] === sent[line]) line++
  const [a, b] = [recorded[line], sent[line]]
  const from = Math.max(0, commonLength(a ?? '', b ?? '') - 60)
  return [
    `They part at ${name}, line ${line + 1}:`,
    `  recorded: ${a === undefined ? '(no such line)' : shortLine(a, from)}`,
    `  sent:     ${b === undefined ? '(no such line)' : shortLine(b, from)}`,
  ]
}

const commonLength = (a: string, b: string): number => {
  let len = 0
  while (len < a.length && len < b.length && a[len] === b[len]) len++
  return len
}

const shortLine = (line: string, from: number = 0): string => {
  const text = line.slice(from, from + mostLine).toWellFormed()
  return `${from > 0 ? '…' : ''}${text}${line.length > from + mostLine ? '…' : ''}`
}

/** A message as text: what people compare. */
const textOfMessage = ({ content }: Message): string => content.map(textOfPart).join('\n')

const textOfPart = (part: Part | ResultPart): string => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text
    case 'reasoning':
      return '(reasoning, which is not compared)'
    case 'tool_call':
      return `call of ${part.name} (${part.id}): ${part.arguments}`
    case 'tool_result':
      return [`result of ${part.callId}:`, ...part.content.map(textOfPart)].join('\n')
    default:
      return JSON.stringify(part)
  }
}
