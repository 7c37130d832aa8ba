/**
 * The state of a record: messages and their page kinds in frozen chunks, the chunks in frozen groups, and behind them a
 * short tail that grows. A state is replaced and never changed, and the next one shares every chunk with it, as the
 * states of Immer do. So an old view keeps nothing that came later alive, and a fork shares its chunks with its origin.
 *
 * Immer's `produce` is not called: code that replaces built-ins runs inside it, and could put an accessor or a Proxy in
 * the place of a chunk.
 */
import { codeAt, emptyList, freeze, fromCodes, type Immutable } from '../json/index.ts'
import type { Read } from '../sequence/index.ts'
import { chunkBits, groupBits } from './chunk-size.ts'

/** Messages and their page kinds, frozen: always `chunkLength` of them. */
export interface Chunk<M> {
  /** The messages: a list without a prototype. */
  readonly messages: readonly Immutable<M>[]
  /** The code of each page kind, as a character. */
  readonly kinds: string
}

/** The frozen part of a record. */
export interface State<M> {
  /** How many messages it has: a multiple of `chunkLength`. */
  readonly len: number
  /** The chunks, in groups that are all full but the last. */
  readonly groups: readonly (readonly Chunk<M>[])[]
}

/** The messages after a state: at most `chunkLength`. Both lists only grow, together, and have no prototype. */
export interface Tail<M> {
  /** The messages. */
  readonly messages: Immutable<M>[]
  /** The codes of their page kinds. */
  readonly codes: number[]
}

/** A state, and what follows it. */
export interface Content<M> {
  /** The frozen part. */
  readonly state: State<M>
  /** The rest. */
  readonly tail: Tail<M>
}

/** The number of messages in a chunk. */
export const chunkLength: number = 1 << chunkBits
const groupLength = 1 << groupBits
const [chunkMask, groupMask, groupShift] = [chunkLength - 1, groupLength - 1, chunkBits + groupBits] as const

/** The state without messages. */
export const emptyState: State<never> = freeze({ len: 0, groups: freeze([]) })

/** A tail without messages. */
export const emptyTail = <M>(): Tail<M> => ({ messages: emptyList(), codes: emptyList() })

/** The state with the messages of a full tail. The tail's list becomes the chunk's: it is frozen and not copied. */
export const sealed = <M>({ len, groups }: State<M>, { messages, codes }: Tail<M>): State<M> => {
  const chunk = freeze({ messages: freeze(messages), kinds: fromCodes(codes) })
  const last = groups[groups.length - 1]
  const open = last !== undefined && last.length < groupLength
  const group = open ? listOf(last, last.length, chunk) : listOf([], 0, chunk)
  return freeze({ len: len + chunkLength, groups: listOf(groups, open ? groups.length - 1 : groups.length, group) })
}

/** The first messages of a content, up to `end`. It shares all full chunks, and copies at most `chunkLength - 1` messages. */
export const firstOf = <M>({ state, tail }: Content<M>, end: number): Content<M> => {
  if (end === state.len + chunkLength) return { state: sealed(state, tail), tail: emptyTail() }
  const shared = end < state.len ? shortened(state, end >>> chunkBits) : state
  const rest = emptyTail<M>()
  for (let position = shared.len; position < end; position++) {
    rest.messages[position - shared.len] = messageAt(state, tail, position)
    rest.codes[position - shared.len] = codeOfKindAt(state, tail, position)
  }
  return { state: shared, tail: rest }
}

const shortened = <M>({ groups }: State<M>, chunks: number): State<M> => {
  const full = chunks >>> groupBits
  const more = chunks & groupMask
  const group = groups[full] as readonly Chunk<M>[]
  const kept = more === 0 ? listOf(groups, full) : listOf(groups, full, listOf(group, more))
  return freeze({ len: chunks << chunkBits, groups: kept })
}

/** A frozen list of the first items of another, and one more. */
const listOf = <T>(items: readonly T[], count: number, more?: T): readonly T[] => {
  const list = emptyList<T>()
  for (let index = 0; index < count; index++) list[index] = items[index] as T
  if (more !== undefined) list[count] = more
  return freeze(list)
}

/** The message at a position: a whole number below the length. */
export const messageAt = <M>(state: State<M>, tail: Tail<M>, position: number): Immutable<M> =>
  (position < state.len
    ? chunkAt(state, position).messages[position & chunkMask]
    : tail.messages[position - state.len]) as Immutable<M>

/** The code of the page kind at a position: a whole number below the length. */
export const codeOfKindAt = (state: State<unknown>, tail: Tail<unknown>, position: number): number =>
  position < state.len
    ? codeAt(chunkAt(state, position).kinds, position & chunkMask)
    : (tail.codes[position - state.len] as number)

const chunkAt = <M>({ groups }: State<M>, position: number): Chunk<M> =>
  (groups[position >>> groupShift] as readonly Chunk<M>[])[(position >>> chunkBits) & groupMask] as Chunk<M>

/** Reads messages at rising positions: it looks a chunk up once. */
export const messagesOf = <M>(state: State<M>, tail: Tail<M>): Read<Immutable<M>> => {
  let messages: readonly Immutable<M>[] = tail.messages
  let from = state.len
  let to = Infinity
  return (position) => {
    if (position < from || position >= to) {
      const inTail = position >= state.len
      from = inTail ? state.len : position - (position & chunkMask)
      to = inTail ? Infinity : from + chunkLength
      messages = inTail ? tail.messages : chunkAt(state, position).messages
    }
    return messages[position - from] as Immutable<M>
  }
}

/** Reads codes of page kinds at rising positions: it looks a chunk up once. */
export const codesOf = (state: State<unknown>, tail: Tail<unknown>): Read<number> => {
  let kinds = ''
  let from = 0
  let to = 0
  return (position) => {
    if (position >= state.len) return tail.codes[position - state.len] as number
    if (position < from || position >= to) {
      from = position - (position & chunkMask)
      to = from + chunkLength
      kinds = chunkAt(state, position).kinds
    }
    return codeAt(kinds, position - from)
  }
}
