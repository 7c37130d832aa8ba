/**
 * The state of a record: messages and their page kinds in frozen chunks, the chunks in frozen groups,
 * and a short tail that grows. A state is immutable. The next state shares all chunks with it, as with
 * Immer. So an old view keeps no later messages alive, and a fork shares its chunks with its origin.
 *
 * This does not call Immer's `produce`: it uses built-ins that other code can replace, and such
 * code could swap a chunk for an accessor or a Proxy.
 */
import { codeAt, emptyList, freeze, fromCodes, type Immutable, sliceText } from '../json/index.ts'
import type { Piece } from '../sequence/index.ts'
import { chunkBits, groupBits } from './chunk-size.ts'

/** Messages and their page kinds: always `chunkLength` of them. */
export interface Chunk<M> {
  /** The messages: a frozen list without a prototype. */
  readonly messages: readonly Immutable<M>[]
  /** The code of each page kind, as a character. */
  readonly kinds: string
}

/** The frozen part of a record. */
export interface State<M> {
  /** How many messages it has: a multiple of `chunkLength`. */
  readonly len: number
  /** The chunks, in groups. All groups but the last are full. */
  readonly groups: readonly (readonly Chunk<M>[])[]
}

/** The messages after a state: at most `chunkLength`. Both lists only grow, in step, and have no prototype. */
export interface Tail<M> {
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

const emptyState: State<never> = freeze({ len: 0, groups: freeze([]) })

const emptyTail = <M>(): Tail<M> => ({ messages: emptyList(), codes: emptyList() })

export const emptyContent = <M>(): Content<M> => freeze({ state: emptyState, tail: emptyTail() })

export const lenOf = ({ state, tail }: Content<unknown>): number => state.len + tail.messages.length

/** Turns a full tail into a chunk. The tail's list is frozen and becomes the chunk's list without a copy. */
export const sealTail = <M>({ state, tail: { messages, codes } }: Content<M>): Content<M> =>
  withChunk(state, freeze({ messages: freeze(messages), kinds: fromCodes(codes) }))

export const withChunk = <M>({ len, groups }: State<M>, chunk: Chunk<M>): Content<M> => {
  const last = groups[groups.length - 1]
  const open = last !== undefined && last.length < groupLength
  const group = open ? listOf(last, last.length, chunk) : listOf([], 0, chunk)
  const state = freeze({
    len: len + chunkLength,
    groups: listOf(groups, open ? groups.length - 1 : groups.length, group),
  })
  return freeze({ state, tail: emptyTail<M>() })
}

/** The messages before `end`. It shares all full chunks, and copies at most `chunkLength - 1` messages. */
export const firstOf = <M>(content: Content<M>, end: number): Content<M> => {
  const { state } = content
  if (end === state.len + chunkLength) return sealTail(content)
  const shared = end < state.len ? firstChunks(state, end >>> chunkBits) : state
  const rest = emptyTail<M>()
  for (let position = shared.len; position < end; position++) {
    rest.messages[position - shared.len] = messageAt(content, position)
    rest.codes[position - shared.len] = codeOfKindAt(content, position)
  }
  return freeze({ state: shared, tail: rest })
}

const firstChunks = <M>({ groups }: State<M>, chunks: number): State<M> => {
  const full = chunks >>> groupBits
  const more = chunks & groupMask
  const group = groups[full] as readonly Chunk<M>[]
  const kept = more === 0 ? listOf(groups, full) : listOf(groups, full, listOf(group, more))
  return freeze({ len: chunks << chunkBits, groups: kept })
}

/** A frozen list of the first `count` items and, if given, one more. */
const listOf = <T>(items: readonly T[], count: number, more?: T): readonly T[] => {
  const list = emptyList<T>()
  for (let index = 0; index < count; index++) list[index] = items[index] as T
  if (more !== undefined) list[count] = more
  return freeze(list)
}

/** The message at a position: a whole number below the length. */
export const messageAt = <M>({ state, tail }: Content<M>, position: number): Immutable<M> =>
  (position < state.len
    ? chunkAt(state, position).messages[position & chunkMask]
    : tail.messages[position - state.len]) as Immutable<M>

/** The code of the page kind at a position: a whole number below the length. */
export const codeOfKindAt = ({ state, tail }: Content<unknown>, position: number): number =>
  position < state.len
    ? codeAt(chunkAt(state, position).kinds, position & chunkMask)
    : (tail.codes[position - state.len] as number)

const chunkAt = <M>({ groups }: State<M>, position: number): Chunk<M> =>
  (groups[position >>> groupShift] as readonly Chunk<M>[])[(position >>> chunkBits) & groupMask] as Chunk<M>

/** The longest run of messages from a position that is in one list: at most `most`. */
export const messagesFrom = <M>({ state, tail }: Content<M>, position: number, most: number): Piece<Immutable<M>> => {
  const inTail = position >= state.len
  const values = inTail ? tail.messages : chunkAt(state, position).messages
  const index = position & chunkMask // the state ends with a whole chunk
  return { values, index, count: minOf(most, values.length - index) }
}

/** The page kind codes from a position that are in one list, as characters: at most `most`. */
export const codesFrom = ({ state, tail }: Content<unknown>, position: number, most: number): string => {
  const inTail = position >= state.len
  const kinds = inTail ? fromCodes(tail.codes) : chunkAt(state, position).kinds
  const index = position & chunkMask
  const count = minOf(most, kinds.length - index)
  return count === kinds.length ? kinds : sliceText(kinds, index, index + count)
}

const minOf = (one: number, other: number): number => (one < other ? one : other)
