/** The state that all activities share: the store with its scopes, the actions, and the callbacks. */
import {
  isLeft,
  ownFields,
  present,
  right,
  type JsonObject,
  optionsOf,
  type OptionNames,
} from 'indelible/internal/json'
import type { DeriveOptions } from 'indelible/context'
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import {
  adoptHistory,
  appendMessages,
  createRefHistory,
  parseHistoryJson,
  persist,
  refsOf,
  type AdoptOptions,
  type MessageRef,
  type ParsedHistory,
  type RefHistory,
  type RefTree,
} from '../refs/index.ts'
import type { ModelRegistry, Tool } from 'indelible/run'
import { blockCache, cachedBlocks, type BlockStore, type KeyValueStore, type Store } from 'indelible/store'
import { amount, choice, longestTimer } from 'indelible/internal/task'
import type { Actions } from './actions.ts'
import { actionsInLogs } from './actions-in-logs.ts'
import { actionsInMemory } from './actions-in-memory.ts'
import { actionsOnce } from './actions-once.ts'
import { require } from './check.ts'
import type { EventSink, Heartbeat } from './event.ts'
import { ActivityFailed, faultOf, rightOrFail } from './activity-errors.ts'
import type { ActivityFailure } from './failure.ts'
import type { ActivityFault } from './fault.ts'
import type { HistoryInput } from './input.ts'

/** The dependencies of the activities. */
export interface ActivityOptions {
  /**
   * A store of logs, or of blocks alone. Exactly one answer for each action requires logs, or a
   * key-value store with `putIfAbsent`. Without either, each process remembers only its own actions
   * until it ends: if an answer is lost in transit, it is generated again and its end published twice.
   */
  readonly store: Store | BlockStore
  /**
   * The scopes that inputs may name: `own`, only the store's, or `any`. Inputs name their scope, so
   * with `any` anyone who can call an activity reads and writes all scopes. Default: `own`.
   */
  readonly scopes?: 'own' | 'any'
  /** The models. */
  readonly registry: ModelRegistry
  /** Receives the events of answers. Default: they are dropped. */
  readonly events?: EventSink
  /**
   * Called while an answer streams: every `heartbeatEvery` milliseconds, and at every model event.
   * Not awaited. Default: no heartbeats.
   */
  readonly heartbeat?: (sendHeartbeat: Heartbeat) => unknown
  /** The time between heartbeats, in milliseconds. Default: 5,000. */
  readonly heartbeatEvery?: number
  /**
   * The most milliseconds to wait for the sink to accept an event; after that the event counts as
   * lost. Default: 30,000.
   */
  readonly publishWithin?: number
  /**
   * Describes the engine's current call; called at its start. Default: the store counts attempts,
   * and nothing is cancelled.
   *
   * @returns the attempt, and how the engine ends it
   */
  readonly invocation?: () => Invocation
  /** Receives each failure with its cause, which the thrown error omits, for your log. Not awaited. Default: none. */
  readonly onFailure?: (fault: ActivityFault) => unknown
  /**
   * Converts a failure to the error to throw, such as your engine's own class. Default: the failure itself.
   *
   * @param failure a `PermanentFailure` or a `RetryableFailure`
   */
  readonly failure?: (failure: ActivityFailure) => Error
  /**
   * The clock for `forgetActions`. Default: the store's clock, or `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
  /**
   * The key-value store with the content of histories that another system saved under its own keys
   * (`llm2`). Default: such histories are refused. Histories of chat messages don't need it.
   */
  readonly adopt?: AdoptOptions & { readonly keyValue: Pick<KeyValueStore, 'mget'> }
  /** The tools that `runTool` runs. Default: none. */
  readonly tools?: readonly Tool[]
  /** What to keep and the token estimate for a budget. Default: those of `deriveContext`. */
  readonly derive?: Pick<DeriveOptions, 'keep' | 'estimate'>
  /** The most bytes of blocks to cache in memory. Default: 64 MiB. */
  readonly cacheBytes?: number
}

/** The engine's description of one activity call. */
export interface Invocation {
  /** The number of the attempt, from 1. */
  readonly attempt?: number
  /**
   * Whether the engine will not retry, whatever happens. If it may, neither an abort nor a
   * retryable failure ends the stream. A function is called after the attempt has failed, for
   * engines that know only then. Default: false for a failure, true for an abort.
   */
  readonly last?: boolean | (() => boolean)
  /** Aborted when the engine cancels the activity. */
  readonly signal?: AbortSignal
}

/** A scope opened for an activity. */
export interface OpenedScope {
  readonly blocks: BlockStore
  readonly actions: Actions
}

/** The state that activities share. */
export interface Host extends Omit<ActivityOptions, 'heartbeat' | 'onFailure'> {
  readonly now: () => number
  /** Ends being published, by action. */
  readonly telling: Map<string, Promise<void>>
  readonly failure: (failure: ActivityFailure) => Error
  /** Never throws, whatever the callback does. */
  readonly beat: (sendHeartbeat: Heartbeat) => void
  readonly failed: (fault: ActivityFault) => void
  /** This and the following throw ActivityFailed. */
  readonly open: (scope: string | undefined) => OpenedScope
  readonly read: (history: HistoryInput['history']) => Promise<ReadHistory>
}

/** The history of an input: all its refs, from any saved form. */
export interface ReadHistory {
  readonly refs: RefHistory
  /** The tree that already holds the first refs. */
  readonly tree: RefTree | undefined
  /** The refs after the tree. */
  readonly added: readonly MessageRef[]
  /** Whether it was saved in another form; its content has been stored. */
  readonly adopted: boolean
  /** The number of values of the saved form that were left out. */
  readonly losses: number
}

const optionNames: OptionNames<ActivityOptions> = {
  store: true,
  scopes: true,
  registry: true,
  events: true,
  heartbeat: true,
  heartbeatEvery: true,
  publishWithin: true,
  invocation: true,
  onFailure: true,
  failure: true,
  now: true,
  adopt: true,
  tools: true,
  derive: true,
  cacheBytes: true,
}

export const hostOf = (init: ActivityOptions): Host => {
  const options = optionsOf('historyActivities', init, optionNames)
  const { store, heartbeatEvery, publishWithin } = options
  if (heartbeatEvery !== undefined)
    amount('heartbeatEvery', heartbeatEvery, { unit: 'milliseconds', least: 1, most: longestTimer })
  if (publishWithin !== undefined) amount('publishWithin', publishWithin, { unit: 'milliseconds' })
  choice('scopes', options.scopes ?? 'own', ['own', 'any'])
  const cache = blockCache(options.cacheBytes === undefined ? {} : { maxBytes: options.cacheBytes })
  const now = options.now ?? ('now' in store ? store.now : Date.now)
  const remembered = actionsInMemory(now)
  const noted = store.once && actionsOnce(store.once, now)
  const open: Host['open'] = (scope = store.scope) => {
    if (scope !== store.scope && (options.scopes !== 'any' || !('scoped' in store)))
      throw new ActivityFailed({ _tag: 'OtherScope', expected: store.scope, found: scope })
    if (!('scoped' in store)) return { blocks: cachedBlocks(store, cache), actions: noted ?? remembered }
    const scoped = rightOrFail(scope === store.scope ? right(store) : store.scoped(scope))
    return { blocks: cachedBlocks(scoped, cache), actions: actionsInLogs(scoped) }
  }
  const read: Host['read'] = async (history) => {
    const parsed = parseHistory(history, store.scope)
    const { scope } = parsed.history
    const losses = parsed.losses.length
    const { blocks } = open(scope)
    switch (parsed.kind) {
      case 'refs': {
        const { tree, session } = parsed.history
        const added = parsed.history.since()
        if (tree === undefined) return { refs: parsed.history, tree, added, adopted: false, losses }
        const from = rightOrFail(await refsOf(blocks, parsed.history)())
        const refs = createRefHistory({ scope, session, from })
        return { refs, tree, added, adopted: false, losses }
      }
      case 'messages':
        return readHistoryOf(rightOrFail(await persist(blocks, parsed.history)()).refHistory(), losses)
      case 'keyed': {
        require(options.adopt !==
          undefined, 'the history has keys of another system: pass `adopt` to the activities, with the key-value store that holds them')
        const { keyValue, ...how } = options.adopt
        const read = await adoptHistory(keyValue, parsed.history, ownFields(how))()
        if (isLeft(read))
          throw new ActivityFailed(
            read.left._tag === 'CallbackThrew' ? { _tag: 'Unexpected', cause: read.left.cause } : read.left,
          )
        return readHistoryOf(rightOrFail(await persist(blocks, read.right)()).refHistory(), losses)
      }
    }
  }
  const failed = guardCallback(options.onFailure, () => undefined)
  const { heartbeat } = options
  const sendHeartbeat = (beat: Heartbeat): void =>
    guardCallback(heartbeat, (cause) =>
      failed({ _tag: 'Unpublished', action: beat.action, event: 'heartbeat', cause }),
    )(beat)
  const failure: Host['failure'] = (thrown) => {
    try {
      return options.failure?.(thrown) ?? thrown
    } catch (error) {
      failed(faultOf(error)) // a throwing callback must not hide the failure
      return thrown
    }
  }
  return { ...options, now, telling: new Map(), open, read, beat: sendHeartbeat, failed, failure }
}

const readHistoryOf = (refs: RefHistory, losses: number): ReadHistory => ({
  refs,
  tree: undefined,
  added: refs.refs(),
  adopted: true,
  losses,
})

/** Throws ActivityFailed. */
const parseHistory = (history: HistoryInput['history'], scope: string): ParsedHistory => {
  const isSaved = typeof history === 'object' && (history as unknown) !== null
  require(isSaved, 'the history should be a RefHistory, or a saved history that parseHistoryJson reads')
  return rightOrFail(parseHistoryJson(isRefHistory(history) ? history.toJSON() : history, { scope }))
}

const isRefHistory = (history: HistoryInput['history']): history is RefHistory =>
  'toJSON' in history && typeof history.toJSON === 'function'

/** Wraps a callback so that errors and rejections go only to `otherwise`. */
const guardCallback =
  <T>(tell: ((value: T) => unknown) | undefined, otherwise: (cause: unknown) => void) =>
  (value: T): void => {
    try {
      const answer = tell?.(value)
      if (answer !== undefined) Promise.resolve(answer).catch(otherwise)
    } catch (cause) {
      otherwise(cause)
    }
  }

export const storeMessage = async (blocks: BlockStore, message: Message, page?: PageKind): Promise<MessageRef> => {
  const stored = createRefHistory({ scope: blocks.scope })
  rightOrFail(await appendMessages(blocks, stored, [message], present({ page }))())
  return stored.refs()[0] as MessageRef // one message has one
}

/** The value after a JSON round trip. */
export const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject
