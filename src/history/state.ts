/**
 * The state of a record, made and frozen by Immer: messages and their page kinds in chunks, the chunks in groups. A
 * state never changes, and the next one shares all chunks with it. So an old view keeps no later messages alive, and a
 * fork shares its chunks with its origin. New messages go to a short tail, and a full tail becomes a chunk: a `produce`
 * for each message would cost more than copying the message (bench: record).
 */
import { castDraft, freeze, Immer, immerable } from 'immer'
import type { Immutable } from '../json/index.ts'
import type { Piece } from '../sequence/index.ts'
import { chunkBits, groupBits } from './chunk-size.ts'
import { lengthsIn, lengthSums, type LengthSums } from './content-length.ts'

/** Messages and their page kinds: always `chunkLength` of them. */
export interface Chunk<M> {
  /** The messages: a frozen list. */
  readonly messages: readonly Immutable<M>[]
  /** The code of each page kind, as a character. */
  readonly kinds: string
  /** The lengths of its messages' content, summed, if they were read at once: then their values are in the processor's cache. */
  readonly sums?: LengthSums
  /** The length of each message's content, if that is known without reading `messages`. */
  readonly contentLengths?: () => Uint32Array | undefined
}

/** The frozen part of a record. */
interface State<M> {
  /** How many messages it has: a multiple of `chunkLength`. */
  readonly len: number
  /** The chunks, in groups. All groups but the last are full. */
  readonly groups: readonly (readonly Chunk<M>[])[]
}

/** The messages after a state: at most `chunkLength`. Both lists only grow, in step. */
interface Tail<M> {
  readonly messages: Immutable<M>[]
  /** The codes of their page kinds. */
  readonly codes: number[]
}

/** A state and its tail: the whole record. */
export interface Content<M> {
  /** The frozen part. */
  readonly state: State<M>
  /** The rest. */
  readonly tail: Tail<M>
}

export const chunkLength: number = 1 << chunkBits
const groupLength = 1 << groupBits
const [chunkMask, groupMask, groupShift] = [chunkLength - 1, groupLength - 1, chunkBits + groupBits] as const

/** An instance of our own: an application's `setAutoFreeze(false)` does not reach it. */
const { produce } = new Immer({ autoFreeze: true })

/** The class of states. It inherits nothing, because Immer assigns through setters that a draft inherits. */
class RecordState implements State<never> {
  readonly len = 0
  readonly groups = []

  static {
    Object.setPrototypeOf(this.prototype, null)
    Object.defineProperty(this.prototype, immerable, { value: true })
  }
}

const emptyState: State<never> = freeze(new RecordState(), true)

const emptyTail = <M>(): Tail<M> => ({ messages: [], codes: [] })

export const emptyContent = <M>(): Content<M> => ({ state: emptyState, tail: emptyTail() })

export const lenOf = ({ state, tail }: Content<unknown>): number => state.len + tail.messages.length

/** Turns a full tail into a chunk. The tail's list is frozen and becomes the chunk's list without a copy. */
export const sealTail = <M>({ state, tail: { messages, codes } }: Content<M>, takesSums = false): Content<M> => {
  const chunk: Chunk<M> = { messages: freeze(messages), kinds: String.fromCharCode(...codes) }
  return withChunk(state, freeze(takesSums ? { ...chunk, sums: freeze(lengthSums(lengthsIn(messages))) } : chunk))
}

export const withChunk = <M>(state: State<M>, chunk: Chunk<M>): Content<M> => {
  const { len, groups } = state
  const last = groups.at(-1)
  const isOpen = last !== undefined && last.length < groupLength
  const next = [...groups] // the `slice` of a frozen list takes twenty times as long
  next[groups.length - (isOpen ? 1 : 0)] = freeze(isOpen ? [...last, chunk] : [chunk])
  return { state: nextState(state, len + chunkLength, next), tail: emptyTail() }
}

/**
 * The state after this one. The recipe only assigns, and the lists are frozen already: a drafted list would take twice
 * the time, and Immer would visit each element of one that is not frozen.
 */
const nextState = <M>(state: State<M>, len: number, groups: State<M>['groups']): State<M> =>
  produce<State<unknown>>(state, (draft) => {
    draft.len = len
    draft.groups = castDraft(freeze(groups))
  }) as State<M>

/** The messages before `end`. It shares all full chunks, and copies at most `chunkLength - 1` messages. */
export const firstOf = <M>(content: Content<M>, end: number): Content<M> => {
  const { state } = content
  if (end === state.len + chunkLength) return sealTail(content)
  const shared = end < state.len ? firstChunks(state, end >>> chunkBits) : state
  const tail = emptyTail<M>()
  for (let position = shared.len; position < end; position++) {
    tail.messages.push(messageAt(content, position))
    tail.codes.push(codeOfKindAt(content, position))
  }
  return { state: shared, tail }
}

/** The first elements of a frozen list, copied. */
const startOf = <T>(list: readonly T[], length: number): T[] => {
  const copy = [...list]
  copy.length = length
  return copy
}

const firstChunks = <M>(state: State<M>, chunks: number): State<M> => {
  const full = chunks >>> groupBits
  const more = chunks & groupMask
  const groups = startOf(state.groups, full)
  if (more > 0) groups.push(freeze(startOf(state.groups[full] as readonly Chunk<M>[], more)))
  return nextState(state, chunks << chunkBits, groups)
}

/** The message at a position: a whole number below the length. */
export const messageAt = <M>({ state, tail }: Content<M>, position: number): Immutable<M> =>
  (position < state.len
    ? chunkAt(state, position).messages[position & chunkMask]
    : tail.messages[position - state.len]) as Immutable<M>

/** The code of the page kind at a position: a whole number below the length. */
export const codeOfKindAt = ({ state, tail }: Content<unknown>, position: number): number =>
  position < state.len
    ? chunkAt(state, position).kinds.charCodeAt(position & chunkMask)
    : (tail.codes[position - state.len] as number)

/** The chunk with a position and the index in it; undefined for a position in the tail. */
export const chunkWith = <M>(
  { state }: Content<M>,
  position: number,
): { readonly chunk: Chunk<M>; readonly index: number } | undefined =>
  position < state.len ? { chunk: chunkAt(state, position), index: position & chunkMask } : undefined

const chunkAt = <M>({ groups }: State<M>, position: number): Chunk<M> =>
  (groups[position >>> groupShift] as readonly Chunk<M>[])[(position >>> chunkBits) & groupMask] as Chunk<M>

/** The longest run of messages from a position that is in one list: at most `most`. */
export const messagesFrom = <M>({ state, tail }: Content<M>, position: number, most: number): Piece<Immutable<M>> => {
  const values = position >= state.len ? tail.messages : chunkAt(state, position).messages
  const index = position & chunkMask // the state ends with a whole chunk
  return { values, index, count: Math.min(most, values.length - index) }
}

/** The page kind codes from a position that are in one list, as characters: at most `most`. */
export const codesFrom = ({ state, tail }: Content<unknown>, position: number, most: number): string => {
  const kinds = position >= state.len ? String.fromCharCode(...tail.codes) : chunkAt(state, position).kinds
  const index = position & chunkMask
  return kinds.slice(index, index + Math.min(most, kinds.length - index))
}
