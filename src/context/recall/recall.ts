/**
 * Recall: fetches messages that a context does not show, by the position in a marker or by a
 * search; for the application, or as a tool for the model.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  describe,
  hasField,
  isLeft,
  left,
  optionsOf,
  ownFields,
  right,
  type JsonObject,
  type OptionNames,
  isCount,
} from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import type { PageKind } from '../../pages/index.ts'
import { amount } from '../../task/index.ts'
import { recallFaultText, type RecallFault, type RecallRequest } from '../fault.ts'
import { checkView } from '../check.ts'
import { endOf, indexIn } from '../positions.ts'
import { plain } from '../showing/represent.ts'
import { lexicalSearch, type RecallMatch, type RecallSearch } from './search.ts'
import { groupThousands } from '../showing/group-thousands.ts'
import { cutEnd, elidedCharacters, foldText, headAndTail, sliceWhole } from '../showing/shorten.ts'

/** How to search, and which entries may be recalled. */
interface RecallOptions {
  /** Whether an entry may be recalled. Default: every entry. */
  readonly allow?: (position: number, page: PageKind, message: Message) => boolean
  /** The maximum results of a query. Default: 5. */
  readonly limit?: number
  /** The number of messages before and after each result to include. Default: 1. */
  readonly around?: number
  /**
   * The search. Default: a new `lexicalSearch()`, which reads the whole record. Reuse one to read
   * only new messages.
   */
  readonly search?: RecallSearch
}

/** A complete entry of the record. */
interface RecalledEntry {
  /** Its position in the record. */
  readonly position: number
  /** Its page kind. */
  readonly page: PageKind
  /** The recorded message. */
  readonly message: Message
}

/** A result. */
export interface Recalled extends RecalledEntry {
  /** For a query: the words that matched. */
  readonly words?: readonly string[]
  /** For a query: the relevance. Higher is better. */
  readonly score?: number
  /** For a query: the surrounding messages, each only once per answer. */
  readonly around?: readonly RecalledEntry[]
}

/**
 * Recalls entries of a record by position or by a search. A conversation only contains its own
 * messages; a view of the whole record also contains retracted ones.
 *
 * Cost    by position O(1); by query, the messages since the `search` was last used
 *
 * @returns the entries, best first, never empty; or `NoMatch`, `Denied`, `SearchFailed`
 * @throws TypeError if an argument or option has the wrong type
 * @example
 * recall(view, { position: 12 })
 * recall(view, { query: 'billing period' }, { search })
 */
export const recall = (
  view: View<Message>,
  recallRequest: RecallRequest,
  input: RecallOptions = {},
): Either<RecallFault, readonly Recalled[]> => {
  const [request, options] = [optionsOf('recall', recallRequest), optionsOf('recall', input, optionNames)]
  const { limit = 5, around = 1, search = lexicalSearch() } = options
  amount('limit', limit, { unit: 'results', whole: true })
  amount('around', around, { unit: 'messages', whole: true })
  checkView('recall', view)
  if (hasField(request, 'position') ? typeof request.position !== 'number' : typeof request.query !== 'string')
    throw new TypeError(`recall expects { position: number } or { query: string }, found ${describe(recallRequest)}`)
  if (typeof search?.search !== 'function')
    throw new TypeError(`recall: \`search\` is ${describe(search)}; expected a search, such as lexicalSearch()`)
  try {
    const matches: unknown = hasField(request, 'position') ? [] : search.search(view, request.query, limit)
    if (Array.isArray(matches)) return allowedMatches(view, request, matches, options)
    throw new TypeError(
      matches instanceof Promise
        ? 'the search returned a promise; await the search first, and pass `{ search: () => matches }`'
        : `the search returned ${describe(matches)}; expected an array`,
    )
  } catch (cause) {
    return left({ _tag: 'SearchFailed', request, cause })
  }
}

/** The requested or found entries that `allow` accepts. */
const allowedMatches = (
  view: View<Message>,
  request: RecallRequest,
  matches: readonly RecallMatch[],
  { allow = () => true, around = 1 }: RecallOptions,
): Either<RecallFault, readonly Recalled[]> => {
  const entryAt = (position: number): RecalledEntry | undefined => {
    const index = Number.isInteger(position) ? indexIn(view, position) : -1
    const message = index === -1 ? undefined : view.at(index)
    return message === undefined ? undefined : { position, page: view.pages.at(index) as PageKind, message }
  }
  const isAllowed = ({ position, page, message }: RecalledEntry): boolean => {
    const answer: unknown = allow(position, page, message)
    if (typeof answer === 'boolean') return answer
    throw new TypeError(
      `\`allow\` returned ${answer instanceof Promise ? 'a promise' : describe(answer)}; expected true or false`,
    )
  }
  if (hasField(request, 'position')) {
    const entry = entryAt(request.position)
    if (entry === undefined) return left({ _tag: 'NoMatch', request, length: endOf(view) })
    return isAllowed(entry)
      ? right(Object.freeze([Object.freeze(entry)]))
      : left({ _tag: 'Denied', request, positions: [entry.position] })
  }
  const found = matches.flatMap(({ position, score, words }) => {
    const entry = entryAt(position)
    return entry === undefined ? [] : [{ ...entry, words, score }]
  })
  if (found.length === 0) return left({ _tag: 'NoMatch', request, length: endOf(view) })
  const answers = found.filter(isAllowed)
  if (answers.length === 0) return left({ _tag: 'Denied', request, positions: found.map(({ position }) => position) })
  const offered = new Set(answers.map(({ position }) => position))
  const entriesAround = (position: number): readonly RecalledEntry[] => {
    const entries: RecalledEntry[] = []
    const index = view.before(position)
    const last = Math.min(view.length - 1, index + around)
    for (let at = Math.max(0, index - around); at <= last; at++) {
      const other = view.positionAt(at) as number
      const entry = offered.has(other) ? undefined : entryAt(other)
      if (entry === undefined || !isAllowed(entry)) continue
      offered.add(other)
      entries.push(Object.freeze(entry))
    }
    return Object.freeze(entries)
  }
  return right(
    Object.freeze(answers.map((answer) => Object.freeze({ ...answer, around: entriesAround(answer.position) }))),
  )
}

/** Options of a recall tool. It keeps its search between calls. */
interface RecallToolOptions extends RecallOptions {
  /** The name of the tool. Default: `recall`, the name in the markers of contexts. */
  readonly name?: string
  /** The maximum UTF-16 units of one answer. Longer entries are returned in parts. Default: 12,000. */
  readonly maxCharacters?: number
}

/** A tool for a run: `run({ tools: [recallTool(() => session.conversation())] })`. */
export interface RecallTool {
  /** The name of the tool. */
  readonly name: string
  /** The description for the model. */
  readonly description: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject
  /** Undefined: the tool checks its arguments itself. */
  readonly schema: undefined
  /** Undefined: the tool has no time limit. */
  readonly timeout: undefined
  /** False: the tool only reads. */
  readonly alone: boolean
  /**
   * Answers a call.
   *
   * @param input the arguments: `{ position }`, with an `offset` for long entries, or `{ query }`
   * @throws Error with the fault's sentence; a run turns it into an error result
   */
  readonly run: (input: unknown) => string
}

/**
 * A tool with which a model reads parts of the record that its context does not show. It reads the
 * current record at each call and keeps its search index between calls.
 *
 * @param view returns the current conversation
 */
export const recallTool = (view: () => View<Message>, options: RecallToolOptions = {}): RecallTool => {
  const {
    name = 'recall',
    maxCharacters = 12_000,
    search = lexicalSearch(),
    ...rest
  } = optionsOf('recallTool', options, toolOptionNames)
  if (typeof view !== 'function')
    throw new TypeError(`recallTool expects a function that returns the conversation, found ${describe(view)}`)
  amount('maxCharacters', maxCharacters, { unit: 'characters', least: 1 })
  return Object.freeze<RecallTool>({
    name,
    description,
    parameters: recallParameters,
    schema: undefined,
    timeout: undefined,
    alone: false,
    run: (input) => {
      const request = requestOf(input)
      const recalled = recall(view(), request, ownFields({ ...rest, search }))
      if (isLeft(recalled)) throw new Error(recallFaultText(recalled.left))
      const [first] = recalled.right
      return hasField(request, 'position') && first !== undefined
        ? pageOfEntry(first, request.offset ?? 0, maxCharacters)
        : list(recalled.right, maxCharacters)
    },
  })
}

const description =
  'Returns earlier parts of this conversation that are shortened or not shown. Pass a position that a marker names, or words to search for.'

/** The schema of every recall tool. Recall tools are identified by this object, whatever their names. */
export const recallParameters: JsonObject = Object.freeze({
  type: 'object',
  properties: Object.freeze({
    position: Object.freeze({ type: 'integer', minimum: 0, description: 'the position of one entry' }),
    offset: Object.freeze({
      type: 'integer',
      minimum: 0,
      description: 'the character of a long entry to continue from; only with a position',
    }),
    query: Object.freeze({ type: 'string', description: 'words to search the whole conversation for' }),
  }),
})

type ToolRequest = { readonly position: number; readonly offset: number | undefined } | { readonly query: string }

const requestOf = (input: unknown): ToolRequest => {
  const { position, offset, query } = ownFields(typeof input === 'object' && input !== null ? input : {}) as {
    readonly [field: string]: unknown
  }
  if (isCount(position) && (offset === undefined || isCount(offset))) return { position, offset }
  if (typeof query === 'string' && query.trim() !== '') return { query }
  throw new Error('Pass a position (0, 1, 2 …) or a query (words to search for).')
}

const titleOf = ({ position, page, message }: Recalled): string => `[${position}] ${message.role}, ${page}`

const pageOfEntry = (entry: Recalled, offset: number, most: number): string => {
  const whole = entry.message.content.map(plain).join('\n')
  const part = sliceWhole(whole, offset, most)
  const end = offset + part.length
  return `${titleOf(entry)}\n${part}${end < whole.length ? `\n[Characters ${groupThousands(offset)}–${groupThousands(end - 1)} of ${groupThousands(whole.length)}. To read on, use {"position": ${entry.position}, "offset": ${end}}.]` : ''}`
}

const list = (entries: readonly Recalled[], most: number): string => {
  const share = Math.floor(most / entries.length)
  const longest = Math.min(longestLine, Math.floor(share / 8))
  return entries
    .map((entry) => {
      const lines = (entry.around ?? []).map((other) => lineOf(other, entry.position, longest))
      const left = share - lines.reduce((sum, line) => sum + line.length + 1, 0)
      return [titleOf(entry), excerptAround(entry, left), ...lines].join('\n')
    })
    .join('\n\n')
}

/** A neighbour of a result, in one line. */
const lineOf = ({ position, message }: RecalledEntry, of: number, most: number): string =>
  `${position < of ? 'before it' : 'after it'} [${position}] ${message.role}: ${cutEnd(foldText(sliceWhole(message.content.map(plain).join(' '), 0, 4 * most)).replaceAll('\n', ' '), most)}`

const longestLine = 240

/** An entry; for a long one, the text around the first matched word. */
const excerptAround = ({ message, words = [] }: Recalled, most: number): string => {
  const whole = message.content.map(plain).join('\n')
  if (whole.length <= most) return whole
  const lower = whole.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0)
  const from = Math.max(0, Math.min(...places, whole.length) - Math.floor(most / 3))
  return from === 0 || places.length === 0
    ? headAndTail(whole, most, elidedCharacters)
    : `…${sliceWhole(whole, from, most)}…`
}

const optionNames: OptionNames<RecallOptions> = { allow: true, limit: true, around: true, search: true }
const toolOptionNames: OptionNames<RecallToolOptions> = { ...optionNames, name: true, maxCharacters: true }
