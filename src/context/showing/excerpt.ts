/**
 * Excerpts: a message, or a call with its result, in a line. Built without a model, and deterministic. Prose keeps its significant
 * words: names, numbers, dates, paths, but no articles. A call keeps its arguments, its result the error or the names in it.
 */
import { isToolCall, type Message, type ToolCallPart, type ToolResultPart } from '../../message/index.ts'
import { isStopWord, memoizeText } from '../../words/internal.ts'
import { errorLine, plain, proseOf } from './represent.ts'
import { groupThousands } from './group-thousands.ts'
import { cutEnd, sliceWhole } from './shorten.ts'

/** The author of extractive summaries, as recorded in notes. */
export const extractName = 'extract'

/** The excerpt of some messages, each with its position: a line for each, and one for each call with its result. */
export const excerptOf = (messages: readonly { readonly message: Message; readonly position: number }[]): string => {
  const lines: string[] = []
  const results = new Map<string, ToolResultPart>()
  for (const { message } of messages)
    for (const part of message.content) if (part.type === 'tool_result') results.set(part.callId, part)
  for (const { message, position } of messages) {
    const calls = message.content.filter(isToolCall)
    const words = significantWords(
      proseOf(message),
      message.role === 'user' ? longest.user : calls.length > 0 ? longest.beside : longest.other,
    )
    // Text next to calls is often just "Looking."; the calls are more informative.
    if (words !== '' && (calls.length === 0 || words.length > shortRemark))
      lines.push(`${position} ${message.role}: ${words}`)
    for (const call of calls) lines.push(`${position} ${callLine(call, results.get(call.id))}`)
  }
  if (lines.length === 0 && messages[0] !== undefined)
    lines.push(`${messages[0].position} ${messages[0].message.role}: …`)
  return lines.join('\n')
}

/** The significant words of a text, in one line of at most `most` UTF-16 units. */
const significantWords = (text: string, most: number): string => {
  const words: string[] = []
  let length = 0
  for (const found of sliceWhole(text, 0, scannedLength).match(wordsOfProse) ?? []) {
    const word = significantWord(found)
    if (word === '') continue
    length += word.length + 1
    if (length > most) {
      words.push('…')
      break
    }
    words.push(word)
  }
  return words.join(' ')
}

/** A word without the punctuation around it; empty if it says little. */
const significantWord = memoizeText((found) => {
  const word = found.replace(/^[.!?:'’–—-]+|[.!?:'’–—…-]+$/gu, '')
  const plain = word.toLowerCase().replaceAll('’', "'")
  return fillerWords.has(plain) || (isStopWord(plain.replace(/'.*$/, '')) && !negation.test(plain)) ? '' : word
})

const longest = { user: 240, other: 200, beside: 80, arguments: 60, result: 140 } as const
const scannedLength = 4000
const wordsOfProse = /[^\s,;"“”()<>|*_`]+/g
const shortRemark = 24
const negation = /^(?:no|not|nor|never)$|n't$/
/** Filler words, in addition to the search's stop words. English only. */
const fillerWords: ReadonlySet<string> = new Set(
  (
    "i'm i've i'll i'd it's that's let's hey hi hello thanks thank wow yeah yes yep ok okay well sure oh really also " +
    'definitely totally actually always like gonna got get going would could please great awesome'
  ).split(' '),
)

const callLine = ({ name, arguments: json }: ToolCallPart, result: ToolResultPart | undefined): string => {
  const values = cutEnd(argumentsIn(json), longest.arguments)
  const call = values === '' ? name : `${name} ${values}`
  return result === undefined ? call : `${call}: ${resultIn(result, json)}`
}

/** The values of arguments, without their names. */
const argumentsIn = (json: string): string => {
  const values: string[] = []
  const add = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(add)
    else if (values.length < mostValues) values.push(oneLine(sliceWhole(String(value), 0, longest.arguments)))
  }
  try {
    add(JSON.parse(json))
  } catch {
    return oneLine(sliceWhole(json, 0, longest.arguments)) // a model's arguments may be invalid JSON
  }
  return values.join(' ')
}

const mostValues = 6

const resultIn = (result: ToolResultPart, json: string): string => {
  const whole = result.content.map(plain).join('\n').trim()
  if (whole.length <= shortResult) return oneLine(whole)
  const error = result.isError === true ? errorLine(whole, true) : undefined
  if (error !== undefined) return `failed, ${cutEnd(oneLine(error), longest.result)}`
  const names = namesIn(whole, json)
  return `${groupThousands(whole.length)} characters${names === '' ? '' : `, ${names}`}`
}

const shortResult = 80

/** The paths and names in a text that are not in the arguments, without duplicates, in order. */
const namesIn = (whole: string, json: string): string => {
  const found = new Set<string>()
  let left = Math.min(mostNames, Math.max(leastNames, whole.length / charactersForName))
  for (const [name] of sliceWhole(whole, 0, scannedForNames).matchAll(nameLike)) {
    if (name.length < 6 || name.length > 80 || found.has(name) || json.includes(name)) continue
    left -= name.length + 1
    if (left < 0) break
    found.add(name)
  }
  return [...found].join(' ')
}

/** A longer result gets more names: one character of names per `charactersForName`, within limits. */
const leastNames = 320
const mostNames = 3000
const charactersForName = 10
const scannedForNames = 16_000

/** A path or identifier: `src/a.ts`, `read_file`, `parseRow`. */
const nameLike = /(?<![\w@.~/-])(?:[\w@.~-]*\/)+[\w@.~-]+|\b\w+(?:[_.]\w+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b/g

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()
