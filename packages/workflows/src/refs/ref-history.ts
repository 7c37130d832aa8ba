/**
 * The reference history: a conversation as a durable workflow carries it in its state. It is
 * append-only, and holds no content, so it has no `view`: `hydrate` reads the content from the store.
 *
 * Nothing here uses a clock, randomness or I/O, so it can run in a deterministic sandbox.
 */
import type { BlockStore } from 'indelible/store'
import {
  checkArgument,
  describe,
  formatPath,
  Unexpected,
  present,
  optionsOf,
  type OptionNames,
} from 'indelible/internal/json'
import type { Position } from 'indelible/history'
import { defaultScope, invalidId } from 'indelible/internal/store'
import { isRefTree, refOf, type MessageRef, type RefTree } from './ref.ts'

declare class RefHistoryBrand {
  readonly #refHistory: never
}

/** An append-only history of refs. Branded: only `createRefHistory` and `parseHistoryJson` create one. */
export interface RefHistory extends RefHistoryBrand {
  /** The scope of the blocks. */
  readonly scope: string
  /** The session of the messages, if there is one. */
  readonly session?: string
  /** The number of refs, without the inbox. */
  readonly len: number
  /**
   * Append a ref. Its blocks need not exist yet; `hydrate` reads them.
   *
   * @throws TypeError if it is not a ref; the history is unchanged
   */
  readonly append: (ref: MessageRef) => Position
  /**
   * Receive a message from outside, such as a signal, at any time. It is appended at once, or after
   * the current step: a message that the model has not seen comes after the model's answer.
   *
   * @returns its position; undefined while it waits
   * @throws TypeError if it is not a ref; the history is unchanged
   */
  readonly receive: (ref: MessageRef) => Position | undefined
  /** Begin a step: from now on `receive` puts messages into the inbox. `chatStep` calls it. */
  readonly hold: () => void
  /** End the step: append the messages of the inbox in order of arrival. Does nothing without a step. */
  readonly release: () => void
  /** The messages that wait for the end of the step. */
  readonly inbox: readonly MessageRef[]
  /**
   * The refs so far, frozen. Cost: O(len) after an append, else O(1).
   *
   * @returns the refs, in order
   * @throws TypeError if the history was read from a reference to a tree: use `hydrate` or `refsOf`
   *   to read the tree's refs
   */
  readonly refs: () => readonly MessageRef[]
  /** The tree with the first refs, if one is known: see `keep`. */
  readonly tree?: RefTree
  /**
   * Note that the first `tree.len` refs are stored as this tree. `toReference` then names the tree
   * instead of those refs. An activity stores the tree; see `StreamInput.tree`.
   *
   * @throws TypeError if it is not a tree, has more refs than the history, or fewer than the known tree
   */
  readonly keep: (tree: RefTree) => void
  /**
   * The refs after the known tree; all refs if there is none.
   *
   * @returns the refs, in order
   */
  readonly since: () => readonly MessageRef[]
  /** The history as JSON of a bounded size: the known tree, and the refs after it. `parseHistoryJson` reads it. */
  readonly toReference: () => RefHistoryJson
  /** Called by `JSON.stringify`: every ref in memory, and the inbox. `parseHistoryJson` reads it. */
  readonly toJSON: () => RefHistoryJson
}

/** A reference history as JSON: about 100 bytes a message, however long the message is. */
export interface RefHistoryJson {
  readonly type: 'indelible.refs'
  /** 3 if a ref names its workflow; else 2 if it has a tree or an inbox, which may be empty during a step; else 1. */
  readonly version: 1 | 2 | 3
  /** The scope of the blocks. */
  readonly scope: string
  /** The session that the messages belong to, if there is one. */
  readonly session?: string
  /** The tree with the first refs, if there is one. */
  readonly tree?: RefTree
  /** The refs, in order; only those after the tree, if there is one. */
  readonly refs: readonly MessageRef[]
  /** Messages received during the running step. Present during a step even if it is empty. */
  readonly inbox?: readonly MessageRef[]
}

/** How a reference history starts. */
export interface RefHistoryOptions {
  /** The scope of the store. Default: `default`. */
  readonly scope?: string
  /** The session that the messages belong to. Default: none. */
  readonly session?: string | undefined
  /** The tree with the first refs. Default: none. */
  readonly tree?: RefTree | undefined
  /** The first refs, after those of the tree. Default: none. */
  readonly from?: Iterable<MessageRef>
  /** Messages received during a step, which is then still running. Default: no step is running. */
  readonly inbox?: Iterable<MessageRef> | undefined
}

/** Throws TypeError if the value has no blocks, such as a task that was not awaited. */
export const checkBlockStore = (call: string, store: BlockStore): void =>
  checkArgument(call, typeof (Object(store) as Partial<BlockStore>).getBlocks === 'function', 'a store', store)

/** The history itself. Throws TypeError for another value, such as a state that was parsed from JSON. */
export const checkRefHistory = (history: RefHistory): RefHistory => {
  if (typeof (Object(history) as Partial<RefHistory>).toJSON !== 'function')
    throw new TypeError(
      `expected a history of refs, found ${describe(history)}; parseHistoryJson makes one of a parsed state`,
    )
  return history
}

/**
 * Create a reference history.
 *
 * @param options scope, session and first refs
 * @throws TypeError if `scope`, `session` or `tree` is invalid, or a value of `from` or `inbox` is not a ref
 */
export const createRefHistory = (options: RefHistoryOptions = {}): RefHistory => {
  const { scope = defaultScope, session, tree, from = [], inbox } = optionsOf('createRefHistory', options, optionNames)
  checkNames(scope, session)
  if (tree !== undefined && !isRefTree(tree))
    throw new TypeError(`the tree should be { id, len }, found ${describe(tree)}`)
  /** The number of refs in the tree, before the first one in memory. */
  const before = tree?.len ?? 0
  const refs: MessageRef[] = []
  const first = tree && copyOf(tree)
  let known = first
  let waiting: readonly MessageRef[] | undefined
  let shown: readonly MessageRef[] | undefined
  const append = (messageRef: MessageRef): Position => {
    const ref = checkRefs(messageRef)
    shown = undefined
    return (before + refs.push(ref) - 1) as Position // its position
  }
  const receiveRef = (ref: MessageRef): Position | undefined => {
    if (waiting === undefined) return append(ref)
    waiting = Object.freeze([...waiting, checkRefs(ref)])
    return undefined
  }
  const currentRefs = (): readonly MessageRef[] => (shown ??= Object.freeze([...refs]))
  const allRefs = (): readonly MessageRef[] => {
    if (before > 0)
      throw new TypeError(
        `the first ${before} refs of this history are in a tree: hydrate it, or read them with refsOf`,
      )
    return currentRefs()
  }
  const refsSince = (): readonly MessageRef[] =>
    known === undefined || known.len === before ? currentRefs() : Object.freeze(refs.slice(known.len - before))
  const names = { scope, ...(session !== undefined && { session }) }
  for (const ref of from) append(ref)
  if (inbox !== undefined) {
    waiting = Object.freeze([])
    for (const ref of inbox) receiveRef(ref)
  }
  return Object.freeze({
    ...names,
    get len() {
      return before + refs.length
    },
    get tree() {
      return known
    },
    get inbox() {
      return waiting ?? none
    },
    append,
    receive: receiveRef,
    hold: () => void (waiting ??= none),
    release: () => {
      const came = waiting ?? none
      waiting = undefined
      for (const ref of came) append(ref)
    },
    refs: allRefs,
    keep: (tree: RefTree) => {
      if (!isRefTree(tree) || tree.len > before + refs.length || tree.len < (known?.len ?? 0))
        throw new TypeError(
          `expected a tree of the first ${known?.len ?? 1} to ${before + refs.length} refs, found ${JSON.stringify(tree)}`,
        )
      known = copyOf(tree)
    },
    since: refsSince,
    toReference: () => jsonOf({ ...names, tree: known, refs: refsSince() }),
    toJSON: () => jsonOf({ ...names, tree: first, refs: currentRefs(), inbox: waiting }),
  }) as unknown as RefHistory // the only constructor
}

const none: readonly MessageRef[] = Object.freeze([])

const copyOf = ({ id, len }: RefTree): RefTree => Object.freeze({ id, len })

const checkRefs = (ref: MessageRef): MessageRef => {
  let wrong: Unexpected
  try {
    return refOf(ref)
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    wrong = error
  }
  const { path, expected, found } = wrong
  throw new TypeError(`${formatPath(path) || 'it'} should be ${expected}, found ${found}; nothing was appended`)
}

/** The JSON form of a reference history. */
export const jsonOf = ({
  scope,
  session,
  tree,
  refs,
  inbox,
}: {
  readonly scope: string
  readonly session?: string | undefined
  readonly tree?: RefTree | undefined
  readonly refs: readonly MessageRef[]
  readonly inbox?: readonly MessageRef[] | undefined
}): RefHistoryJson =>
  Object.freeze({
    type: 'indelible.refs',
    version: [...refs, ...(inbox ?? [])].some(({ flowId }) => flowId !== undefined)
      ? 3
      : tree === undefined && inbox === undefined
        ? 1
        : 2,
    scope,
    ...present({ session, tree }),
    refs,
    ...(inbox !== undefined && { inbox }),
  })

/** Throws TypeError. */
export const checkNames = (scope: string, session: string | undefined): void => {
  if (invalidId('scope', scope) !== undefined) throw new TypeError(`${JSON.stringify(scope)} is not a valid scope name`)
  if (session !== undefined && invalidId('log', session) !== undefined)
    throw new TypeError(`${JSON.stringify(session)} is not a valid session id`)
}

const optionNames: OptionNames<RefHistoryOptions> = { scope: true, session: true, tree: true, from: true, inbox: true }
