/**
 * Events for people: a sink that numbers and stores events, so that a reader can join late or
 * reconnect, and continue after the last number it has.
 */
import { FaultError, type SignalLike } from 'indelible/internal/task'
import { isLeft, optionsOf, parseJson, type OptionNames } from 'indelible/internal/json'
import { RecentMap } from 'indelible/internal/sequence'
import { digestOfName } from 'indelible/internal/proof'
import { followLog, memoryStore, type Head, type Store, type StoredRow, type StoreFault } from 'indelible/store'
import { ownStore, storeFaultText } from 'indelible/internal/store'
import type { EventSink, StreamEvent } from './event.ts'

/** An event with its number. */
export interface SequencedEvent {
  /** The event's number in its topic, from 0. Numbers of superseded attempts' events can be missing. */
  readonly sequence: number
  /** The event. */
  readonly event: StreamEvent
}

/** The range of a topic to read. */
interface ReadOptions {
  /** The number of the last event that the reader has. Default: -1, from the start. */
  readonly after?: number
  /** Ends the iteration without an error when aborted. Default: iterate until `break`. */
  readonly signal?: SignalLike
}

/** A sink that stores events and serves any number of readers. */
export interface EventLog extends EventSink {
  /**
   * The events of a topic after a number: first the stored ones, then each new one as it arrives. For each
   * action a reader gets one end and nothing after it, and nothing of an attempt once a later one has begun.
   *
   * Throws  while iterating, a FaultError with the store's fault
   *
   * @param options the last number known, and a signal that ends the iteration
   */
  readonly read: (topic: string, options?: ReadOptions) => AsyncIterable<SequencedEvent>
  /** Delete a topic. Its numbers start at 0 again, also for those who read it. */
  readonly remove: (topic: string) => Promise<void>
}

/** The options of an event log. */
interface EventLogOptions {
  /**
   * The topic of an event, which readers ask for. Default: its action. For a chat, use one topic:
   * `({ action }) => action.split('/')[0]`.
   */
  readonly topicOf?: (event: StreamEvent) => string
}

/**
 * Events in memory, for readers in the same process as the activities.
 *
 * Cost    that of `eventsInStore` on a store in memory; memory for every event until its topic is removed
 */
export const eventsInMemory = (options: EventLogOptions = {}): EventLog => {
  optionsOf('eventsInMemory', options, optionNames)
  return eventsInStore(memoryStore(), options)
}

/**
 * Events in a store, one log for each topic; readers can be in any process.
 *
 * Cost    an append for each event; for each new reader a read of the topic from its start, because
 *         earlier events decide which later ones count. Remove a topic once nobody reads it
 */
export const eventsInStore = (base: Store, options: EventLogOptions = {}): EventLog => {
  const { topicOf = actionOf } = optionsOf('eventsInStore', options, optionNames)
  const store = ownStore(base)
  const heads = new RecentMap<string, Head>(mostHeads)
  const append = async (topic: string, event: StreamEvent): Promise<void> => {
    const id = idOf(topic)
    const rows = [{ kind: 'note' as const, body: JSON.stringify(event) }]
    // An action has one end. Publishing it again, from another worker or a later attempt, changes nothing.
    const operation = event.type === 'stream_end' ? digestOfName(`end ${event.action}`) : undefined
    for (let expected = heads.get(topic) ?? (await headOf(store, topic)); ;) {
      const appended = await store.append(id, { expected, rows, ...(operation !== undefined && { operation }) })()
      if (!isLeft(appended)) return void heads.set(topic, appended.right.head)
      const fault = appended.left
      if (fault._tag === 'OperationMismatch') return
      if (fault._tag === 'Conflict') expected = fault.actual
      else if (fault._tag === 'NoSuchLog' || fault._tag === 'Diverged') expected = await headOf(store, topic)
      else throw faultError(fault)
    }
  }
  return Object.freeze<EventLog>({
    publish: (event) => append(topicOf(event), event),
    read: (topic, range) => {
      const { after = -1, signal } = optionsOf('read', range, { after: true, signal: true })
      return {
        [Symbol.asyncIterator]: async function* () {
          for (let known = after; ; known = -1) {
            const counts = createCounter()
            try {
              for await (const row of followTopic(store, topic, signal)) {
                const stored = parseJson(row.body)
                if (isLeft(stored)) continue // not written by this library
                const event = stored.right as StreamEvent
                if (counts(event) && row.position > known) yield Object.freeze({ sequence: row.position, event })
              }
              return
            } catch (error) {
              const fault = error instanceof FaultError ? (error.fault as StoreFault) : undefined
              if (fault?._tag !== 'NoSuchLog') throw error // the topic was removed: if it begins again, from its start
            }
          }
        },
      }
    },
    remove: async (topic) => {
      heads.delete(topic)
      const removed = await store.remove(idOf(topic))()
      if (isLeft(removed) && removed.left._tag !== 'NoSuchLog') throw faultError(removed.left)
    },
  })
}

const optionNames: OptionNames<EventLogOptions> = { topicOf: true }

/** The most heads to cache, of the topics last appended to. Others are looked up. */
const mostHeads = 1000

const actionOf = ({ action }: StreamEvent): string => action

const idOf = (topic: string): string => `indelible.events:${digestOfName(topic)}`

const faultError = (fault: StoreFault): FaultError => new FaultError(fault, storeFaultText(fault))

/** The head of the topic's log, which is created if missing. */
const headOf = async (store: Store, topic: string): Promise<Head> => {
  for (;;) {
    const found = await store.info(idOf(topic))()
    if (!isLeft(found)) return found.right.head
    if (found.left._tag !== 'NoSuchLog') throw faultError(found.left)
    const made = await store.create({ id: idOf(topic), meta: { 'indelible.events': topic }, encrypt: true })()
    if (!isLeft(made)) return made.right.head
    if (made.left._tag !== 'LogExists') throw faultError(made.left)
  }
}

/** The rows of a topic. Waits for the first row if the log does not exist yet. */
async function* followTopic(store: Store, topic: string, signal: SignalLike | undefined): AsyncGenerator<StoredRow> {
  const wakes = new Set<() => void>()
  const unwatch = await store.watch(idOf(topic), () => {
    for (const wake of wakes) wake()
  })
  try {
    for (;;) {
      if (signal?.aborted === true) return
      const news = nextWake(wakes, signal) // created before the lookup, so that no change is missed
      const found = await store.info(idOf(topic))()
      if (!isLeft(found)) break
      if (found.left._tag !== 'NoSuchLog') throw faultError(found.left)
      await news
    }
  } finally {
    unwatch()
  }
  yield* followLog(store, idOf(topic), signal === undefined ? {} : { signal })
}

/** Resolves at the next wake, or when the signal is aborted. */
const nextWake = (wakes: Set<() => void>, signal: SignalLike | undefined): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      wakes.delete(wake)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    wakes.add(wake)
    signal?.addEventListener('abort', wake)
    if (signal?.aborted === true) wake()
  })

/** A filter for events: whether one counts, given the earlier ones. Call it once for each event, in order. */
const createCounter = (): ((event: StreamEvent) => boolean) => {
  const actions = new Map<string, { attempt: number; ended: boolean }>()
  return ({ action, attempt, type }) => {
    const known = actions.get(action)
    if (known !== undefined && (known.ended || attempt < known.attempt)) return false
    actions.set(action, { attempt, ended: type === 'stream_end' })
    return true
  }
}
