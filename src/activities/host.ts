/** What activities share: the store with its scopes, what is known of actions, and how a fault leaves them. */
import { isLeft, right, type Either } from 'fp-ts/lib/Either.js'
import type { DeriveOptions } from '../context/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'
import { createPendingHistory, hydrate, parseHistoryJson, persist, type MessageRef, type RefHistory, type StoredHistory } from '../refs/index.ts'
import type { ModelRegistry } from '../run/index.ts'
import { blockCache, cachedBlocks, type BlockStore, type Store } from '../store/index.ts'
import { actionsInMemory, actionsOf, type Actions, type Known } from './actions.ts'
import type { EventSink, Heartbeat } from './event.ts'
import type { ActivityFault } from './failure.ts'
import type { HistoryInput } from './input.ts'

export interface ActivityOptions {
  /** The scope of what an activity is given is opened in it. A store of blocks alone has one scope, and forgets actions when the process ends. */
  readonly store: Store | BlockStore
  /** The models there are. */
  readonly registry: ModelRegistry
  /** Who is told what models say. Default: nobody. */
  readonly events?: EventSink
  /** Told while an answer streams, every `heartbeatEvery` and at every event of the model. Default: nobody. */
  readonly heartbeat?: (beat: Heartbeat) => void
  /** Milliseconds. Default: 5,000. */
  readonly heartbeatEvery?: number
  /** What the engine says of the call that is going on; asked at its start. Default: a first and last attempt, never cancelled. */
  readonly invocation?: () => Invocation
  /** Told of each failure with its cause, which what is thrown leaves out: for your log. Default: nobody. */
  readonly onFailure?: (fault: ActivityFault) => void
  /** How a budget is spent: policy and estimate. Default: those of `deriveContext`. */
  readonly derive?: Pick<DeriveOptions, 'policy' | 'estimate'>
  /** The most bytes of blocks that are kept in memory. Default: 64 MiB. */
  readonly cacheBytes?: number
}

export interface Invocation {
  /** Counts from 1. */
  readonly attempt?: number
  /** Whether the engine will not try again, whatever comes of it. If it may, a failure that is worth it ends no stream. Default: true. */
  readonly last?: boolean
  readonly signal?: AbortSignal
}

/** A scope, opened for an activity. */
export interface Opened {
  readonly blocks: BlockStore
  readonly actions: Actions
}

/** What activities share. */
export interface Host extends ActivityOptions {
  /** Throws ActivityFailure, as do all of these. */
  readonly open: (scope: string | undefined) => Opened
  readonly hydrated: (input: HistoryInput) => Promise<StoredHistory>
  readonly read: (history: HistoryInput['history']) => RefHistory
}

/** A fault on its way out of an activity. Not an Error: it never leaves one. */
export class Failed {
  readonly fault: ActivityFault

  constructor(fault: ActivityFault) {
    this.fault = fault
  }
}

/** What is there, or throws Failed. */
export const given = <T>(answer: Either<ActivityFault, T>): T => {
  if (isLeft(answer)) throw new Failed(answer.left)
  return answer.right
}

export const hostOf = (options: ActivityOptions): Host => {
  const { store } = options
  const cache = blockCache(options.cacheBytes === undefined ? {} : { maxBytes: options.cacheBytes })
  const remembered = actionsInMemory()
  const open: Host['open'] = (scope = store.scope) => {
    if (!('scoped' in store)) {
      if (scope !== store.scope) throw new Failed({ _tag: 'OtherScope', expected: store.scope, found: scope })
      return { blocks: cachedBlocks(store, cache), actions: remembered(scope) }
    }
    const scoped = given(scope === store.scope ? right(store) : store.scoped(scope))
    return { blocks: cachedBlocks(scoped, cache), actions: actionsOf(scoped) }
  }
  const read: Host['read'] = (history) => {
    const parsed = given(parseHistoryJson('toJSON' in history ? history.toJSON() : history))
    if (parsed.kind !== 'refs') throw new Failed({ _tag: 'InvalidInput', reason: 'the history should be one of refs, as a RefHistory is written' })
    return parsed.history
  }
  const hydrated: Host['hydrated'] = async (input) => {
    const refs = read(input.history)
    return given(await hydrate(open(refs.scope).blocks, refs)())
  }
  return { ...options, open, read, hydrated }
}

/** What is known of an action; throws Failed, if it was one with something else. */
export const knownOf = async (actions: Actions, action: string, input: string): Promise<Known | undefined> => {
  if (typeof action !== 'string' || action === '') throw new Failed({ _tag: 'InvalidInput', reason: 'the action should have an id' })
  const known = given(await actions.find(action))
  if (known !== undefined && known.input !== input && known.input !== '') throw new Failed({ _tag: 'OtherAction', action })
  return known
}

/** Store one message. */
export const stored = async (blocks: BlockStore, message: Message, page?: PageKind): Promise<MessageRef> => {
  const pending = createPendingHistory({ scope: blocks.scope })
  pending.append(message, page)
  const [ref] = given(await persist(blocks, pending)()).refHistory().refs()
  return ref as MessageRef // one message has one
}

/** As it is written. */
export const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject
