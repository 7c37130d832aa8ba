/**
 * The reference history: what a durable workflow carries of a conversation in its state. It is append-only like every
 * history, and it holds no content, so it has no `view`: `hydrate` reads the content from the store.
 *
 * Nothing here asks for the time, for randomness or for anything outside: it may run in a deterministic sandbox.
 */
import { describe, formatPath } from '../json/index.ts'
import type { Position } from '../history/index.ts'
import { defaultScope, invalidId } from '../store/index.ts'
import { isRefProblem, refOf, type MessageRef } from './ref.ts'

declare class RefHistoryBrand {
  readonly #refHistory: never
}

/** An append-only history of refs. Branded: `createRefHistory` and `parseHistoryJson` make one. */
export interface RefHistory extends RefHistoryBrand {
  /** The scope of the store that the blocks are in. */
  readonly scope: string
  /** The session that the messages are of, where there is one. */
  readonly session?: string
  /** How many refs there are. */
  readonly len: number
  /**
   * Append a ref and return its position. Its blocks need not be there yet; `hydrate` asks for them.
   *
   * Throws  TypeError, if it is no ref; the history is unchanged
   */
  readonly append: (ref: MessageRef) => Position
  /** Everything appended so far, frozen. Cost: O(len) after an append, else O(1). */
  readonly refs: () => readonly MessageRef[]
  /** What `JSON.stringify` writes. `parseHistoryJson` reads it. */
  readonly toJSON: () => RefHistoryJson
}

/** A reference history as JSON: about 100 bytes a message, whatever the messages say. */
export interface RefHistoryJson {
  readonly type: 'indelible.refs'
  readonly version: 1
  /** The scope of the blocks. */
  readonly scope: string
  /** The session that the messages belong to, if there is one. */
  readonly session?: string
  /** The refs, in order. */
  readonly refs: readonly MessageRef[]
}

/** How a reference history begins. */
export interface RefHistoryOptions {
  /** Default: `default`, as of stores. */
  readonly scope?: string
  /** The session that the messages belong to. Default: none. */
  readonly session?: string
  /** What the history starts with. Default: nothing. */
  readonly from?: Iterable<MessageRef>
}

/**
 * A new reference history.
 *
 * Throws  TypeError, if `scope` or `session` can't be one, or something in `from` is no ref
 */
export const createRefHistory = ({ scope = defaultScope, session, from = [] }: RefHistoryOptions = {}): RefHistory => {
  checkNames(scope, session)
  const refs: MessageRef[] = []
  let shown: readonly MessageRef[] | undefined
  const append = (given: MessageRef): Position => {
    const ref = refOf(given)
    if (isRefProblem(ref))
      throw new TypeError(
        `${formatPath([...ref.at]) || 'it'} should be ${ref.expected}, found ${describe(ref.value)}; nothing was appended`,
      )
    shown = undefined
    return (refs.push(ref) - 1) as Position // where it stands now
  }
  const all = (): readonly MessageRef[] => (shown ??= Object.freeze([...refs]))
  for (const ref of from) append(ref)
  return Object.freeze({
    scope,
    ...(session !== undefined && { session }),
    get len() {
      return refs.length
    },
    append,
    refs: all,
    toJSON: () => jsonOf(scope, session, all()),
  }) as unknown as RefHistory // the one place where one is made
}

export const jsonOf = (scope: string, session: string | undefined, refs: readonly MessageRef[]): RefHistoryJson =>
  Object.freeze({ type: 'indelible.refs', version: 1, scope, ...(session !== undefined && { session }), refs })

/** Throws TypeError. */
export const checkNames = (scope: string, session: string | undefined): void => {
  if (invalidId('scope', scope) !== undefined) throw new TypeError(`${JSON.stringify(scope)} can't be a scope`)
  if (session !== undefined && invalidId('log', session) !== undefined)
    throw new TypeError(`${JSON.stringify(session)} can't be the id of a session`)
}
