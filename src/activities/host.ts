/** What activities share: the store with its scopes, what is known of actions, and whoever is told of them. */
import { right } from '../json/index.ts'
import type { DeriveOptions } from '../context/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'
import {
  createPendingHistory,
  hydrate,
  parseHistoryJson,
  persist,
  type MessageRef,
  type RefHistory,
  type StoredHistory,
} from '../refs/index.ts'
import type { ModelRegistry } from '../run/index.ts'
import { blockCache, cachedBlocks, type BlockStore, type Store } from '../store/index.ts'
import { actionsInMemory, actionsOf, type Actions } from './actions.ts'
import type { EventSink, Heartbeat } from './event.ts'
import { Failed, given } from './failed.ts'
import type { ActivityFault } from './fault.ts'
import type { HistoryInput } from './input.ts'

/** What the activities work on. */
export interface ActivityOptions {
  /** A store of blocks alone forgets actions when the process ends. */
  readonly store: Store | BlockStore
  /**
   * Which scopes activities may be given: that of the store, or any of a store that has several. What an activity is given
   * says its scope, so with `any` whoever can call one reads and writes them all. Default: `own`.
   */
  readonly scopes?: 'own' | 'any'
  /** The models there are. */
  readonly registry: ModelRegistry
  /** Who is told what models say. Default: nobody. */
  readonly events?: EventSink
  /** Told while an answer streams, every `heartbeatEvery` and at every event of the model. It is not waited for. Default: nobody. */
  readonly heartbeat?: (beat: Heartbeat) => unknown
  /** Milliseconds. Default: 5,000. */
  readonly heartbeatEvery?: number
  /** Milliseconds that the sink may take for an event: then it counts as not taken. Default: 30,000. */
  readonly publishWithin?: number
  /** What the engine says of the call that is going on; asked at its start. Default: a first and last attempt, never cancelled. */
  readonly invocation?: () => Invocation
  /** Told of each failure with its cause, which what is thrown leaves out: for your log. It is not waited for. Default: nobody. */
  readonly onFailure?: (fault: ActivityFault) => unknown
  /** How a budget is spent: policy and estimate. Default: those of `deriveContext`. */
  readonly derive?: Pick<DeriveOptions, 'policy' | 'estimate'>
  /** The most bytes of blocks that are kept in memory. Default: 64 MiB. */
  readonly cacheBytes?: number
}

/** What the engine says of one call of an activity. */
export interface Invocation {
  /** Counts from 1. */
  readonly attempt?: number
  /**
   * Whether the engine will not try again, whatever comes of it. If it may, neither an abort nor a failure that is worth
   * it ends the stream. A function is asked once the attempt has failed: an engine may know only then. Default: true.
   */
  readonly last?: boolean | (() => boolean)
  /** Aborted when the engine cancels the activity. */
  readonly signal?: AbortSignal
}

/** A scope, opened for an activity. */
export interface Opened {
  readonly blocks: BlockStore
  readonly actions: Actions
}

/** What activities share. */
export interface Host extends Omit<ActivityOptions, 'heartbeat' | 'onFailure'> {
  /** Whatever whoever is told does, it ends no activity and no process. */
  readonly beat: (beat: Heartbeat) => void
  readonly failed: (fault: ActivityFault) => void
  /** Throws Failed, as do all of these. */
  readonly open: (scope: string | undefined) => Opened
  readonly hydrated: (input: HistoryInput) => Promise<StoredHistory>
  readonly read: (history: HistoryInput['history']) => RefHistory
}

export const hostOf = (options: ActivityOptions): Host => {
  const { store } = options
  const cache = blockCache(options.cacheBytes === undefined ? {} : { maxBytes: options.cacheBytes })
  const remembered = actionsInMemory()
  const open: Host['open'] = (scope = store.scope) => {
    if (scope !== store.scope && (options.scopes !== 'any' || !('scoped' in store)))
      throw new Failed({ _tag: 'OtherScope', expected: store.scope, found: scope })
    if (!('scoped' in store)) return { blocks: cachedBlocks(store, cache), actions: remembered }
    const scoped = given(scope === store.scope ? right(store) : store.scoped(scope))
    return { blocks: cachedBlocks(scoped, cache), actions: actionsOf(scoped) }
  }
  const read: Host['read'] = (history) => {
    if (typeof history !== 'object' || history === null)
      throw new Failed({
        _tag: 'InvalidInput',
        reason: 'the history should be a RefHistory, or what one is written as',
      })
    const parsed = given(parseHistoryJson('toJSON' in history ? history.toJSON() : history))
    if (parsed.kind !== 'refs')
      throw new Failed({
        _tag: 'InvalidInput',
        reason: 'the history should be one of refs, as a RefHistory is written',
      })
    return parsed.history
  }
  const hydrated: Host['hydrated'] = async (input) => {
    const refs = read(input.history)
    return given(await hydrate(open(refs.scope).blocks, refs)())
  }
  const failed = quietly(options.onFailure, () => undefined)
  const { heartbeat } = options
  const beat = (told: Heartbeat): void =>
    quietly(heartbeat, (cause) => failed({ _tag: 'Unpublished', action: told.action, event: 'heartbeat', cause }))(told)
  return { ...options, open, read, hydrated, beat, failed }
}

/** The same, of which neither a throw nor a rejection goes anywhere but there. */
const quietly =
  <T>(tell: ((value: T) => unknown) | undefined, otherwise: (cause: unknown) => void) =>
  (value: T): void => {
    try {
      const answer = tell?.(value)
      if (answer !== undefined) Promise.resolve(answer).catch(otherwise)
    } catch (cause) {
      otherwise(cause)
    }
  }

/** Store one message. */
export const stored = async (blocks: BlockStore, message: Message, page?: PageKind): Promise<MessageRef> => {
  const pending = createPendingHistory({ scope: blocks.scope })
  pending.append(message, page)
  const [ref] = given(await persist(blocks, pending)())
    .refHistory()
    .refs()
  return ref as MessageRef // one message has one
}

/** As it is written. */
export const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject
