/**
 * Events for people: a sink that numbers and keeps what it is told, so that a reader can come late, or again, and continue
 * behind the last number that it has.
 */
import { FaultError, type SignalLike } from 'indelible/task/kit'
import { isLeft, parseJson } from 'indelible/json/kit'
import { RecentMap } from 'indelible/sequence/kit'
import { digestOfName } from 'indelible/proof/kit'
import { followLog, type Head, type Store, type StoredRow, type StoreFault } from 'indelible/store'
import { ownStore, storeFaultText } from 'indelible/store/kit'
import type { EventSink, StreamEvent } from './event.ts'

/** An event with its number. */
export interface SequencedEvent {
  /** Counts what the topic was told, from 0. Numbers may be left out: what an attempt told that counts no more. */
  readonly sequence: number
  /** The event. */
  readonly event: StreamEvent
}

/** From where to read a topic, and until when. */
export interface ReadOptions {
  /** The number of the last event that the reader has. Default: -1, from the start. */
  readonly after?: number
  /** Ends the iteration, without an error, when it is aborted. Default: it ends with `break`, or never. */
  readonly signal?: SignalLike
}

/** A sink that keeps what it is told, and gives it to any number of readers. */
export interface EventLog extends EventSink {
  /**
   * The events of a topic behind a number: first those that are there, then each as it comes. Of an action each reader
   * gets one end and nothing behind it, and nothing of an attempt after a later one has begun.
   *
   * Throws  while iterating, a FaultError with the store's fault
   *
   * @param options the first event, and a signal that ends the iteration
   */
  readonly read: (topic: string, options?: ReadOptions) => AsyncIterable<SequencedEvent>
  /**
   * Forget a topic. Numbers begin at 0 again.
   */
  readonly remove: (topic: string) => Promise<void>
}

/** How events are kept. */
export interface EventLogOptions {
  /**
   * The topic of an event: what readers ask for. Default: its action. A chat reads best as one: `({ action }) =>
   * action.split('/')[0]`.
   */
  readonly topicOf?: (event: StreamEvent) => string
}

/**
 * Events in memory: for readers in the process of the activities, until it ends.
 *
 * Cost    O(1) for an event and reader; memory for every event until its topic is removed
 */
export const eventsInMemory = ({ topicOf = byAction }: EventLogOptions = {}): EventLog => {
  const topics = new Map<string, { readonly events: SequencedEvent[]; readonly wakes: Set<() => void> }>()
  const at = (topic: string) => {
    const found = topics.get(topic) ?? { events: [], wakes: new Set<() => void>() }
    topics.set(topic, found)
    return found
  }
  return Object.freeze<EventLog>({
    publish: (event) => {
      const { events, wakes } = at(topicOf(event))
      events.push(Object.freeze({ sequence: events.length, event }))
      for (const wake of wakes) wake()
    },
    read: (topic, { after = -1, signal } = {}) => ({
      [Symbol.asyncIterator]: async function* () {
        const counts = counting()
        const { events, wakes } = at(topic)
        let next = 0
        for (;;) {
          if (signal?.aborted === true) return
          const found = events[next]
          if (found === undefined) await nextWake(wakes, signal)
          else {
            next += 1
            if (counts(found.event) && found.sequence > after) yield found
          }
        }
      },
    }),
    remove: async (topic) => {
      const found = topics.get(topic)
      topics.delete(topic)
      if (found?.wakes.size === 0) found.events.length = 0
    },
  })
}

/**
 * Events in a store, a log for each topic: readers are in any process.
 *
 * Cost    an append for an event, and a read of the topic from its start for each reader that comes: a number is its
 *         row's
 *         position, and what counts depends on what was told before. Remove a topic once nobody reads it any more
 */
export const eventsInStore = (given: Store, { topicOf = byAction }: EventLogOptions = {}): EventLog => {
  const store = ownStore(given)
  const heads = new RecentMap<string, Head>(mostHeads)
  const append = async (topic: string, event: StreamEvent): Promise<void> => {
    const id = idOf(topic)
    const rows = [{ kind: 'note' as const, body: JSON.stringify(event) }]
    // An action has one end: who tells it again, another worker or a later attempt, changes nothing.
    const operation = event.type === 'stream_end' ? digestOfName(`end ${event.action}`) : undefined
    for (let expected = heads.get(topic) ?? (await headOf(store, topic)); ;) {
      const appended = await store.append(id, { expected, rows, ...(operation !== undefined && { operation }) })()
      if (!isLeft(appended)) return void heads.set(topic, appended.right.head)
      const fault = appended.left
      if (fault._tag === 'OperationMismatch') return
      if (fault._tag === 'Conflict') expected = fault.actual
      else if (fault._tag === 'NoSuchLog' || fault._tag === 'Diverged') expected = await headOf(store, topic)
      else throw thrown(fault)
    }
  }
  return Object.freeze<EventLog>({
    publish: (event) => append(topicOf(event), event),
    read: (topic, { after = -1, signal } = {}) => ({
      [Symbol.asyncIterator]: async function* () {
        const counts = counting()
        for await (const row of followed(store, topic, signal)) {
          const event = parseJson(row.body)
          if (isLeft(event)) continue // nothing that this library has written
          const told = event.right as StreamEvent
          if (counts(told) && row.position > after) yield Object.freeze({ sequence: row.position, event: told })
        }
      },
    }),
    remove: async (topic) => {
      heads.delete(topic)
      const removed = await store.remove(idOf(topic))()
      if (isLeft(removed) && removed.left._tag !== 'NoSuchLog') throw thrown(removed.left)
    },
  })
}

/** Heads that are kept, of the topics that were told of last: the others are looked up. */
const mostHeads = 1000

const byAction = ({ action }: StreamEvent): string => action

const idOf = (topic: string): string => `indelible.events:${digestOfName(topic)}`

const thrown = (fault: StoreFault): FaultError => new FaultError(fault, storeFaultText(fault))

/** The head of the topic's log, which is begun if it is not there. */
const headOf = async (store: Store, topic: string): Promise<Head> => {
  for (;;) {
    const found = await store.info(idOf(topic))()
    if (!isLeft(found)) return found.right.head
    if (found.left._tag !== 'NoSuchLog') throw thrown(found.left)
    const made = await store.create({ id: idOf(topic), meta: { 'indelible.events': topic }, encrypt: true })()
    if (!isLeft(made)) return made.right.head
    if (made.left._tag !== 'LogExists') throw thrown(made.left)
  }
}

/** The rows of a topic, also of one that was told nothing yet. */
async function* followed(store: Store, topic: string, signal: SignalLike | undefined): AsyncGenerator<StoredRow> {
  const wakes = new Set<() => void>()
  const unwatch = await store.watch(idOf(topic), () => {
    for (const wake of wakes) wake()
  })
  try {
    for (;;) {
      if (signal?.aborted === true) return
      const news = nextWake(wakes, signal) // before the question, so that no change goes by
      const found = await store.info(idOf(topic))()
      if (!isLeft(found)) break
      if (found.left._tag !== 'NoSuchLog') throw thrown(found.left)
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

/** Whether an event counts, given those before: asked of each once, in order. */
const counting = (): ((event: StreamEvent) => boolean) => {
  const actions = new Map<string, { attempt: number; ended: boolean }>()
  return ({ action, attempt, type }) => {
    const known = actions.get(action)
    if (known !== undefined && (known.ended || attempt < known.attempt)) return false
    actions.set(action, { attempt, ended: type === 'stream_end' })
    return true
  }
}
