/**
 * Recall: what a context only points at, fetched back from the record. By the position that a marker names, or by a
 * search; for the application, or as a tool for the model itself.
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { absurd } from 'fp-ts/lib/function.js'
import type { View } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'
import { plain } from './represent.ts'
import { lexicalSearch, type RecallSearch } from './search.ts'
import { grouped, headAndTail, elidedCharacters, slicedAt } from './shorten.ts'

export type RecallRequest = { readonly position: number } | { readonly query: string }

export interface RecallOptions {
  /** Which entries may be given out. Default: all. */
  readonly allow?: (position: number, page: PageKind, message: Message) => boolean
  /** How many a query gives at most. Default: 5. */
  readonly limit?: number
  /** Default: a new `lexicalSearch()`, which reads the whole record. Keep one to read only what is new. */
  readonly search?: RecallSearch
}

/** An entry of the record, whole. */
export interface Recalled {
  readonly position: number
  readonly page: PageKind
  readonly message: Message
  /** Of a query: the words that were met, and how well. */
  readonly words?: readonly string[]
  readonly score?: number
}

export type RecallFault =
  /** Nothing stands there, or nothing matches. */
  | { readonly _tag: 'NoMatch'; readonly request: RecallRequest; readonly length: number }
  /** What was found may not be given out. */
  | { readonly _tag: 'Denied'; readonly request: RecallRequest; readonly positions: readonly number[] }
  /** The search itself failed. */
  | { readonly _tag: 'SearchFailed'; readonly request: RecallRequest; readonly cause: unknown }

/**
 * Entries of a record, by position or by search, best first; never an empty list.
 *
 * Cost    by position O(1); by query what is new since the `search` was last asked
 * @example
 * recall(view, { position: 12 })
 * recall(view, { query: 'billing period' }, { search })
 */
export const recall = (view: View<Message>, request: RecallRequest, options: RecallOptions = {}): Either<RecallFault, readonly Recalled[]> => {
  const { allow = () => true, limit = 5, search = lexicalSearch() } = options
  const entry = (position: number): Recalled | undefined => {
    const message = Number.isInteger(position) && position >= 0 ? view.at(position) : undefined
    return message === undefined ? undefined : { position, page: view.pages.at(position) as PageKind, message }
  }
  let found: readonly Recalled[]
  try {
    found =
      'position' in request
        ? [entry(request.position) ?? []].flat()
        : search.search(view, request.query, limit).flatMap(({ position, score, words }) => {
            const one = entry(position)
            return one === undefined ? [] : [{ ...one, words, score }]
          })
  } catch (cause) {
    return left({ _tag: 'SearchFailed', request, cause })
  }
  if (found.length === 0) return left({ _tag: 'NoMatch', request, length: view.length })
  const allowed = found.filter(({ position, page, message }) => allow(position, page, message))
  if (allowed.length === 0) return left({ _tag: 'Denied', request, positions: found.map(({ position }) => position) })
  return right(Object.freeze(allowed.map((one) => Object.freeze(one))))
}

/** A recall fault as a sentence, for people and models. */
export const recallFaultText = (fault: RecallFault): string => {
  const asked = 'position' in fault.request ? `position ${fault.request.position}` : `"${fault.request.query}"`
  switch (fault._tag) {
    case 'NoMatch':
      return 'position' in fault.request
        ? `there is no ${asked}: the record has ${fault.length} ${fault.length === 1 ? 'entry' : 'entries'}, from position 0`
        : `nothing in the record matches ${asked}; try other words, or a position that a marker names`
    case 'Denied':
      return `what was found for ${asked} may not be given out`
    case 'SearchFailed':
      return `the search for ${asked} failed: ${fault.cause instanceof Error ? fault.cause.message : String(fault.cause)}; a position can still be recalled`
    default:
      return absurd(fault)
  }
}

export interface RecallToolOptions extends RecallOptions {
  /** Default: `recall`, the name that markers use. */
  readonly name?: string
  /** The most that one answer holds, in UTF-16 units; longer entries are given in parts. Default: 12,000. */
  readonly maxCharacters?: number
}

/** A tool as a run takes it: `run({ tools: [recallTool(() => history.view())] })`. */
export interface RecallTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly schema: undefined
  readonly timeout: undefined
  readonly alone: boolean
  /** Throws  Error with the sentence of the fault, which a run makes an error result */
  readonly run: (input: unknown) => string
}

/**
 * A tool with which a model fetches back what its context only points at. It reads the record as it is when it is
 * called, and keeps its search index between calls.
 */
export const recallTool = (view: () => View<Message>, options: RecallToolOptions = {}): RecallTool => {
  const { name = 'recall', maxCharacters = 12_000, search = lexicalSearch() } = options
  return Object.freeze<RecallTool>({
    name,
    description:
      'Gives back earlier parts of this conversation that are not shown, or only in short. Ask for the position that a marker names, or search for words.',
    parameters,
    schema: undefined,
    timeout: undefined,
    alone: false,
    run: (input) => {
      const request = requestOf(input)
      const recalled = recall(view(), request, { ...options, search })
      if (recalled._tag === 'Left') throw new Error(recallFaultText(recalled.left))
      const [first] = recalled.right
      return 'position' in request && first !== undefined ? whole(first, request.offset ?? 0, maxCharacters) : list(recalled.right, maxCharacters)
    },
  })
}

const parameters: JsonObject = Object.freeze({
  type: 'object',
  properties: Object.freeze({
    position: Object.freeze({ type: 'integer', minimum: 0, description: 'the position of one entry' }),
    offset: Object.freeze({ type: 'integer', minimum: 0, description: 'with a position: where to go on in a long entry' }),
    query: Object.freeze({ type: 'string', description: 'words to search the whole conversation for' }),
  }),
})

type ToolRequest = { readonly position: number; readonly offset: number | undefined } | { readonly query: string }

const requestOf = (input: unknown): ToolRequest => {
  const { position, offset, query } = (typeof input === 'object' && input !== null ? input : {}) as { readonly [field: string]: unknown }
  const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
  if (isCount(position) && (offset === undefined || isCount(offset))) return { position, offset }
  if (typeof query === 'string' && query.trim() !== '') return { query }
  throw new Error('give a position (0, 1, 2 …) or a query (words to search for)')
}

const titleOf = ({ position, page, message }: Recalled): string => `[${position}] ${message.role}, ${page}`

const whole = (entry: Recalled, offset: number, most: number): string => {
  const said = entry.message.content.map(plain).join('\n')
  const part = slicedAt(said, offset, most)
  const end = offset + part.length
  return `${titleOf(entry)}\n${part}${end < said.length ? `\n[characters ${grouped(offset)}–${grouped(end - 1)} of ${grouped(said.length)}; go on with {"position": ${entry.position}, "offset": ${end}}]` : ''}`
}

const list = (entries: readonly Recalled[], most: number): string =>
  entries.map((entry) => `${titleOf(entry)}\n${around(entry, Math.floor(most / entries.length))}`).join('\n\n')

/** An entry, or of a long one what stands around the first word that was met. */
const around = ({ message, words = [] }: Recalled, most: number): string => {
  const said = message.content.map(plain).join('\n')
  if (said.length <= most) return said
  const lower = said.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0)
  const from = Math.max(0, Math.min(...places, said.length) - Math.floor(most / 3))
  return from === 0 || places.length === 0 ? headAndTail(said, most, elidedCharacters) : `…${slicedAt(said, from, most)}…`
}
