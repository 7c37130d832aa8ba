/** A LangGraph checkpointer: each thread is a record with its messages, and its checkpoints are notes. */
import {
  BaseCheckpointSaver,
  compareWritesSortKeys,
  copyCheckpoint,
  DeltaSnapshot,
  isDeltaSnapshot,
  maxChannelVersion,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
} from '@langchain/langgraph-checkpoint'
import type { RunnableConfig } from '@langchain/core/runnables'
import { hasField, ownFields, base64Of, bytesOfBase64, textOfUtf8, utf8Of } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { listSessions, type Session } from 'indelible/session'
import type { Store } from 'indelible/store'
import {
  idOfParts,
  adapterSessions,
  removeMarked,
  type AdapterSession,
  type SessionMark,
} from 'indelible/internal/session'
import type { ApplicationNote } from 'indelible/internal/notes'
import { storeFaultText } from 'indelible/internal/store'
import { FaultError, pagesOf } from 'indelible/internal/task'
import { jsonOf, messageOf, MessageValues, refTo, textOf, type Item } from './items.ts'
import { mapFromText } from './maps.ts'
import { Reviver } from './revive.ts'
import {
  checkpointNotes,
  dumpedOf,
  itemsOf,
  namespace,
  notedList,
  notedMap,
  noteOf,
  noteAgain,
  Thread,
  writeKey,
  type DumpedValue,
  type NotedValue,
  type StoredCheckpoint,
  type Value,
  type Write,
} from './thread.ts'

/** The options of a saver. */
export interface SaverOptions {
  /** The serializer of values. Default: LangGraph's own. */
  readonly serde?: SerializerProtocol
  /** The channel that holds the conversation of the record. Default: `messages`. */
  readonly channel?: string
}

/** The checkpoints to keep. */
interface PruneOptions {
  /** The number of latest checkpoints to keep in each namespace, with those they depend on. Default: 1. */
  readonly keep?: number
}

/** The metadata that marks a thread's session. */
const markOf = (threadId: string): SessionMark => ({ [namespace]: 'thread', thread_id: threadId })

/**
 * A checkpointer on a store: `graph.compile({ checkpointer: new IndelibleSaver(store) })`.
 *
 * Each message of a thread is stored once, and a checkpoint notes only the changes since the previous one,
 * so a thread grows with its messages. `record(threadId)` returns the thread as a session: its conversation,
 * forks, `verify`. Several processes may use one thread. It throws a `FaultError` if the store fails.
 *
 * Cost    `put` and `putWrites` one append each; the first `getTuple` of a thread in each process reads its record
 * Source  `@langchain/langgraph-checkpoint` 1.2.2
 */
export class IndelibleSaver extends BaseCheckpointSaver {
  readonly #store: Store
  readonly #channel: string
  readonly #open: (threadId: string) => AdapterSession
  readonly #threads = new WeakMap<Session, Thread>()
  readonly #reviver = new Reviver()
  readonly #values = new MessageValues()
  /** LangGraph's own serializer, whose results for equal shapes can be reused; undefined if another one was passed. */
  readonly #ownSerde: SerializerProtocol | undefined
  /** The lists last stored, by namespace and channel. */
  readonly #known = new WeakMap<AdapterSession, Map<string, Texts>>()
  readonly #pending = new WeakMap<AdapterSession, PendingThread>()

  /**
   * @param options the serializer, and the channel of the conversation
   */
  constructor(store: Store, { serde, channel = 'messages' }: SaverOptions = {}) {
    super(serde)
    this.#ownSerde = serde === undefined ? this.serde : undefined
    this.#store = store
    this.#channel = channel
    const open = adapterSessions(store)
    this.#open = (threadId) => open(this.idOf(threadId), markOf(threadId))
  }

  /** The id of a thread's record in the store, for `openSession`, `verifySession` and the command. */
  idOf(threadId: string): string {
    return idOfParts([namespace, threadId], this.#store)
  }

  /**
   * The record of a thread, created if missing: `conversation()` has the messages of its last
   * checkpoint, `view()` every message it ever had.
   */
  async record(threadId: string): Promise<Session> {
    return this.#open(threadId).change(() => undefined)
  }

  /**
   * Read a checkpoint with its writes.
   *
   * @param config the thread, the namespace, and the id of the checkpoint. Default: the last one
   * @returns the checkpoint; undefined if there is none
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const threadId: unknown = fieldsOf(config)['thread_id']
    const thread = typeof threadId === 'string' ? await this.#read(threadId) : undefined
    const id = checkpointIdOf(config)
    const stored = thread?.checkpoint(nsOf(config), id === '' ? undefined : id)
    if (thread === undefined || stored === undefined) return undefined
    return this.#tuple(thread, String(threadId), stored, id === '' ? undefined : config)
  }

  /**
   * List checkpoints, latest first.
   *
   * @param config the thread, the namespace and the checkpoint. Default: all
   * @param options `before` a checkpoint, a `limit`, and a `filter` on their metadata
   */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { before, limit, filter = {} } = options
    const { thread_id, checkpoint_ns, checkpoint_id } = fieldsOf(config) as {
      readonly [key: string]: string | undefined
    }
    const end: unknown = ownFields(before?.configurable ?? {})['checkpoint_id']
    const found: { readonly thread: Thread; readonly threadId: string; readonly stored: StoredCheckpoint }[] = []
    for await (const threadId of thread_id === undefined ? this.#all() : [thread_id]) {
      const thread = await this.#read(threadId)
      for (const [ns, there] of thread?.checkpoints ?? []) {
        if (thread === undefined || (checkpoint_ns !== undefined && ns !== checkpoint_ns)) continue
        for (const stored of there.values()) {
          if (checkpoint_id !== undefined && stored.id !== checkpoint_id) continue
          if (typeof end === 'string' && stored.id >= end) continue
          found.push({ thread, threadId, stored })
        }
      }
    }
    found.sort((a, b) => (a.stored.id < b.stored.id ? 1 : a.stored.id > b.stored.id ? -1 : 0))
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
    let count = 0
    for (const { thread, threadId, stored } of found) {
      if (limit !== undefined && count >= limit) return
      if (wanted.length > 0) {
        const metadata = (await this.#load(stored.metadata)) as { readonly [key: string]: unknown }
        if (!wanted.every(([key, value]) => JSON.stringify(metadata[key]) === JSON.stringify(value))) continue
      }
      count += 1
      yield await this.#tuple(thread, threadId, stored)
    }
  }

  /**
   * Store a checkpoint.
   *
   * @param config the thread, the namespace, and the parent checkpoint
   * @param newVersions the changed channels, whose values are stored. Default: all channels
   */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const kept = this.#open(threadOf(config))
    const { puts } = this.#pendingOf(kept)
    const put = this.#put(kept, config, checkpoint, metadata, newVersions)
    puts.add(put)
    return put.finally(() => puts.delete(put))
  }

  async #put(
    kept: AdapterSession,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions | undefined,
  ): Promise<RunnableConfig> {
    const threadId = threadOf(config)
    const ns = nsOf(config)
    const parent = fieldsOf(config)['checkpoint_id'] as string | undefined
    const { channel_values: channels, ...rest } = copyCheckpoint(checkpoint)
    const [dumpedRest, dumpedMetadata] = await Promise.all([this.#dump(rest), this.#dump(metadata)])
    const values = new Map<string, ValueToStore>()
    const isNew = (channel: string): boolean => newVersions === undefined || Object.hasOwn(newVersions, channel)
    const known = this.#known.get(kept) ?? new Map<string, Texts>()
    this.#known.set(kept, known)
    for (const [channel, value] of Object.entries(channels))
      if (isNew(channel)) values.set(channel, await this.#serialize(value, known, `${ns}\n${channel}`))
    const versions = checkpoint.channel_versions
    // Store earlier writes first, so that this checkpoint finds their messages in the record.
    await Promise.allSettled(this.#pendingOf(kept).noting)
    for (const writing of this.#pendingOf(kept).writes) await this.#noteWrites(kept, writing, false)
    await kept.change((session) => {
      const thread = this.#thread(session)
      const base = thread.checkpoint(ns, parent) ?? thread.checkpoint(ns, undefined)
      const messages: Message[] = []
      const noted: { [channel: string]: NotedValue } = {}
      let first: number | undefined
      for (const channel of Object.keys(channels)) {
        const input = values.get(channel)
        const before = base?.values.get(channel)
        const version = versions[channel]
        if (input === undefined) {
          // Another branch may use the same version number, so the base checkpoint's value comes first.
          if (before !== undefined && base?.versions[channel] === version) noted[channel] = { same: true }
          else if (version !== undefined && thread.valueAt(ns, channel, version) !== undefined)
            noted[channel] = { at: version }
          continue
        }
        const isConversation = ns === '' && channel === this.#channel
        if (hasField(input, 'dumped')) {
          if (isConversation && input.isEmpty) first = itemsInConversation(session, []).retractFrom
          noted[channel] = dumpedNote(input.dumped, before)
          continue
        }
        const placed = isConversation ? itemsInConversation(session, input.items) : undefined
        if (placed !== undefined) {
          messages.push(...placed.messages)
          first = placed.retractFrom
        }
        const items = placed?.items ?? input.items.map((text) => ({ ref: text, text }))
        noted[channel] = notedList(items, before, input.isSnapshot, (a, b) => isSameItem(a, b, session))
      }
      return {
        messages,
        notes: [
          ...(first === undefined ? [] : [{ type: 'retraction' as const, from: first, to: session.len }]),
          ...checkpointNotes({
            type: 'checkpoint',
            ns,
            id: checkpoint.id,
            parent: parent ?? null,
            base: base?.id ?? null,
            rest: dumpedRest,
            metadata: dumpedMetadata,
            values: noted,
            versions: Object.fromEntries(Object.entries(versions).filter(([channel]) => channel in noted)),
          }),
        ],
      }
    })
    return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id } }
  }

  /**
   * Store the writes of a task for a checkpoint. Existing writes are kept, except errors, interrupts and the
   * like. With the durability `async` they can arrive before their checkpoint is stored; then they wait for it.
   *
   * @param config the thread, the namespace and the checkpoint
   * @param taskPath the task's place in its step. Default: first
   */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath: string = '',
  ): Promise<void> {
    const kept = this.#open(threadOf(config))
    const ns = nsOf(config)
    const id: unknown = fieldsOf(config)['checkpoint_id']
    if (typeof id !== 'string')
      throw new Error(
        'Failed to put writes. The passed RunnableConfig is missing a required "checkpoint_id" field in its "configurable" property.',
      )
    const pending = this.#pendingOf(kept)
    const noting = (async (): Promise<PendingWrites> => {
      const values = await Promise.all(
        writes.map(async ([channel, value], at) => ({
          channel,
          idx: WRITES_IDX_MAP[channel] ?? at,
          value: await this.#serialize(value),
        })),
      )
      const writing: PendingWrites = { ns, id, taskId, taskPath, values, isNoted: false }
      await this.#noteWrites(kept, writing, false)
      return writing
    })()
    pending.noting.add(noting)
    const writing = await noting.finally(() => pending.noting.delete(noting))
    while (!writing.isNoted) {
      // LangGraph calls `put` for one checkpoint after the other: the next call comes in this turn of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 0))
      if (pending.puts.size > 0) await Promise.allSettled(pending.puts)
      else await this.#noteWrites(kept, writing, true)
    }
  }

  /**
   * Note writes. Their messages belong after those of their checkpoint in the record. If the
   * checkpoint is not stored, only `anyway` notes the writes, with the messages' text in the note.
   */
  async #noteWrites(kept: AdapterSession, writing: PendingWrites, anyway: boolean): Promise<void> {
    const { ns, id, taskId, taskPath, values } = writing
    let waits = false
    await kept.change((session) => {
      const thread = this.#thread(session)
      const isStored = thread.checkpoint(ns, id) !== undefined
      waits = !isStored && !anyway
      if (waits || writing.isNoted) return undefined
      const there = thread.writesOf(ns, id)
      const fresh = values.filter(({ idx }) => idx < 0 || !there.has(writeKey(taskId, idx)))
      if (fresh.length === 0) return undefined
      const messages: Message[] = []
      const noted = fresh.map(({ idx, channel, value }): readonly [number, string, NotedValue] => {
        if (hasField(value, 'dumped'))
          return [idx, channel, dumpedNote(value.dumped, thread.checkpoint(ns, id)?.values.get(channel))]
        const items = value.items.map((text) => {
          const message = isStored && ns === '' && channel === this.#channel ? messageOf(text) : undefined
          return message === undefined ? text : { m: session.len + messages.push(message) - 1 }
        })
        return [idx, channel, { keep: 0, add: items, ...(value.isSnapshot && { snapshot: true as const }) }]
      })
      return { messages, notes: [noteOf({ type: 'writes', ns, id, task: taskId, path: taskPath, writes: noted })] }
    })
    const pending = this.#pendingOf(kept)
    if (waits) return void pending.writes.add(writing)
    writing.isNoted = true
    pending.writes.delete(writing)
  }

  #pendingOf(kept: AdapterSession): PendingThread {
    const pending = this.#pending.get(kept) ?? { puts: new Set(), noting: new Set(), writes: new Set() }
    this.#pending.set(kept, pending)
    return pending
  }

  /** Remove a thread: its checkpoints, its writes and its record. */
  override async deleteThread(threadId: string): Promise<void> {
    await removeMarked(this.#store, this.idOf(threadId), markOf(threadId))
  }

  /**
   * Remove old checkpoints and their writes from a thread, and erase their state from the record. `getTuple` and `list`
   * no longer return them. The record keeps all messages. Rows that a fork shares are not erased.
   *
   * Cost    the remaining checkpoints are noted anew; O(notes of the record)
   *
   * @param options how many to keep
   * @returns the number of checkpoints removed
   */
  async prune(threadId: string, { keep = 1 }: PruneOptions = {}): Promise<number> {
    if (!Number.isSafeInteger(keep) || keep < 1)
      throw new TypeError(`keep is ${String(keep)}; expected a whole number of at least 1`)
    let pruned = 0
    if ((await this.#read(threadId)) === undefined) return pruned
    const changed = await this.#open(threadId).change((session) => {
      const thread = this.#thread(session)
      pruned = 0
      const notes: ApplicationNote[] = []
      for (const [ns, there] of thread.checkpoints) {
        const sorted = [...there.keys()].toSorted()
        const staying = new Set(sorted.slice(-keep))
        // The values of a delta channel are stored with earlier checkpoints.
        const needed = new Set<string>()
        for (const id of staying)
          for (const each of ancestorsFor(thread, there, { ns, id }, this.#channel)) needed.add(each)
        const ids = sorted.filter((id) => !staying.has(id) && !needed.has(id))
        pruned += ids.length
        if (ids.length === 0) continue
        const remaining = [...there.values()]
          .filter(({ id }) => !ids.includes(id))
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        notes.push(noteOf({ type: 'prune', ns, ids, again: true }))
        notes.push(...notesAgain(thread, ns, ids, remaining))
      }
      return notes.length === 0 ? undefined : { notes }
    })
    await this.#eraseDead(changed)
    return pruned
  }

  /** Erases the notes of pruned checkpoints, also those that a prune which was interrupted left. */
  async #eraseDead(session: Session): Promise<void> {
    for (;;) {
      await session.refresh()
      const dead = new Set(this.#thread(session).deadNotes())
      if (dead.size === 0) return
      const [expected, forks, stored] = await Promise.all([
        session.head(),
        this.#store.sharing(session.id),
        this.#store.read(session.id, { only: 'note' }),
      ])
      const shared = Math.max(0, ...forks.map(({ rows }) => rows))
      const rows = stored
        .filter(({ index, position, erased }) => dead.has(index) && erased === undefined && position >= shared)
        .map(({ position }) => ({ position, stub: '{"type":"erased","was":"application"}' }))
      if (rows.length === 0) return
      const done = await this.#store.erase({
        logs: [{ id: session.id, expected, rows }],
        reason: 'pruned checkpoints of LangGraph',
      })()
      if (done._tag === 'Right') return
      if (done.left._tag !== 'Conflict') throw new FaultError(done.left, storeFaultText(done.left))
    }
  }

  /**
   * The history of delta channels: the writes of earlier checkpoints, and the values they start from.
   *
   * @param options the checkpoint and the channels
   */
  override async getDeltaChannelHistory({
    config,
    channels,
  }: {
    config: RunnableConfig
    channels: string[]
  }): Promise<Record<string, DeltaChannelHistory>> {
    const result: Record<string, DeltaChannelHistory> = {}
    for (const channel of channels) result[channel] = { writes: [] }
    const threadId: unknown = fieldsOf(config)['thread_id']
    const thread = channels.length > 0 && typeof threadId === 'string' ? await this.#read(threadId) : undefined
    const id = checkpointIdOf(config)
    const ns = nsOf(config)
    const start = thread?.checkpoint(ns, id === '' ? undefined : id)
    if (thread === undefined || start === undefined) return result
    const remaining = new Set(channels)
    const steps: { readonly channel: string; readonly writes: readonly Write[] }[] = []
    for (
      let at = start.parent === undefined ? undefined : thread.checkpoint(ns, start.parent);
      at !== undefined && remaining.size > 0;
      at = at.parent === undefined ? undefined : thread.checkpoint(ns, at.parent)
    ) {
      const writes = inOrder(thread.writesOf(ns, at.id))
      for (const channel of remaining) {
        steps.push({ channel, writes: writes.filter((write) => write.channel === channel) })
        const value = at.values.get(channel)
        const seed = value === undefined ? undefined : await this.#deserialize(value, thread.session)
        if (seed === undefined) continue
        ;(result[channel] as DeltaChannelHistory).seed = seed
        remaining.delete(channel)
      }
    }
    for (const { channel, writes } of steps.toReversed())
      for (const write of writes)
        result[channel]?.writes.push([write.task, channel, await this.#deserialize(write.value, thread.session)])
    return result
  }

  /** The ids of the store's threads. */
  async *#all(): AsyncGenerator<string> {
    const threads = { where: { [namespace]: 'thread' }, limit: 1000 }
    for await (const { sessions } of pagesOf((from) => listSessions(this.#store, { ...threads, ...from })))
      for (const { metadata } of sessions) yield String(metadata['thread_id'])
  }

  async #read(threadId: string): Promise<Thread | undefined> {
    const session = await this.#open(threadId).read()
    return session === undefined ? undefined : this.#thread(session)
  }

  #thread(session: Session): Thread {
    const thread = this.#threads.get(session) ?? new Thread(session, this.#channel)
    this.#threads.set(session, thread)
    return thread.update()
  }

  async #tuple(
    thread: Thread,
    threadId: string,
    { ns, id, parent, rest, metadata, values }: StoredCheckpoint,
    config: RunnableConfig = { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } },
  ): Promise<CheckpointTuple> {
    const writes = inOrder(thread.writesOf(ns, id))
    const checkpoint = (await this.#load(rest)) as Checkpoint
    checkpoint.channel_values = {}
    for (const [channel, value] of values)
      checkpoint.channel_values[channel] = await this.#deserialize(value, thread.session)
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrate(checkpoint, thread, ns, parent)
    return {
      config,
      checkpoint,
      metadata: (await this.#load(metadata)) as CheckpointMetadata,
      ...(parent !== undefined && {
        parentConfig: { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: parent } },
      }),
      pendingWrites: await Promise.all(
        writes.map(async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
          task,
          channel,
          await this.#deserialize(value, thread.session),
        ]),
      ),
    }
  }

  /** In checkpoints before version 4 the sends are among the parent's writes. */
  async #migrate(checkpoint: Checkpoint, thread: Thread, ns: string, parent: string): Promise<void> {
    const sends = inOrder(thread.writesOf(ns, parent)).filter(({ channel }) => channel === TASKS)
    checkpoint.channel_values[TASKS] = await Promise.all(
      sends.map(({ value }) => this.#deserialize(value, thread.session)),
    )
    const versions = Object.values(checkpoint.channel_versions)
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
  }

  async #dump(value: unknown): Promise<DumpedValue> {
    const [type, bytes] = await this.serde.dumpsTyped(value)
    return type === 'json' ? [type, textOfUtf8(bytes)] : [type, base64Of(bytes)]
  }

  async #load([type, text]: DumpedValue): Promise<unknown> {
    return this.serde.loadsTyped(type, type === 'json' ? text : (bytesOfBase64(text) ?? utf8Of('')))
  }

  /** Deserializes the value of a channel. */
  async #deserialize(value: Value, session: Session): Promise<unknown> {
    if (value.kind !== 'list' || this.serde !== this.#ownSerde) return this.#load(dumpedOf(value, session))
    const items: unknown[] = []
    for (const json of jsonOf(itemsOf(value), session, this.#values)) {
      const made = this.#reviver.revive(json, this.serde)
      items.push(made instanceof Promise ? await made : made)
    }
    return value.isSnapshot ? new DeltaSnapshot(items) : items
  }

  /** Serializes a list item by item, any other value whole. */
  async #serialize(value: unknown, known = new Map<string, Texts>(), key = ''): Promise<ValueToStore> {
    const isSnapshot = isDeltaSnapshot(value)
    const input: unknown = isSnapshot ? value.value : value
    if (!Array.isArray(input) || input.length === 0)
      return { dumped: await this.#dump(value), isEmpty: Array.isArray(input) }
    const list = Array.from(input as readonly unknown[])
    const texts = (await this.#grown(list, known.get(key))) ?? (await this.#texts(list))
    if (texts === undefined) return { dumped: await this.#dump(value), isEmpty: false }
    known.set(key, texts)
    return { items: texts.items, isSnapshot }
  }

  /** The text of each item; undefined if the serializer writes any of them as bytes. */
  async #texts(list: readonly unknown[]): Promise<Texts | undefined> {
    const dumped = await Promise.all(list.map((item) => this.#dump(item)))
    const items = dumped.map(([, text]) => text)
    return dumped.every(([type]) => type === 'json') ? { items, open: `[${items.join(',')}` } : undefined
  }

  /** The same for a list that extends an earlier one: dumps the list at once, and only the new items singly. */
  async #grown(list: readonly unknown[], before: Texts | undefined): Promise<Texts | undefined> {
    if (before === undefined || list.length < before.items.length) return undefined
    const [[type, text], fresh] = await Promise.all([this.#dump(list), this.#texts(list.slice(before.items.length))])
    if (type !== 'json' || fresh === undefined) return undefined
    const rest = `${fresh.items.map((item) => `,${item}`).join('')}]`
    const { open } = before
    // `===` compares whole strings at once, `startsWith` character by character.
    if (text.slice(0, open.length) !== open || text.slice(open.length) !== rest) return undefined
    return { items: [...before.items, ...fresh.items], open: text.slice(0, -1) }
  }
}

interface PendingThread {
  readonly puts: Set<Promise<unknown>>
  /** Writes that are being serialized or noted. */
  readonly noting: Set<Promise<unknown>>
  /** Writes whose checkpoint was not stored when they arrived. */
  readonly writes: Set<PendingWrites>
}

interface PendingWrites {
  readonly ns: string
  readonly id: string
  readonly taskId: string
  readonly taskPath: string
  readonly values: readonly { readonly idx: number; readonly channel: string; readonly value: ValueToStore }[]
  isNoted: boolean
}

/** A serialized list. */
interface Texts {
  readonly items: readonly string[]
  /** The whole list as text, without its last bracket. */
  readonly open: string
}

type ValueToStore =
  /** `isEmpty`: the value is an empty list. */
  | { readonly dumped: DumpedValue; readonly isEmpty: boolean }
  | { readonly items: readonly string[]; readonly isSnapshot: boolean }

/** The caller's own fields: a prototype configures nothing. */
const fieldsOf = ({ configurable = {} }: RunnableConfig): { readonly [field: string]: unknown } =>
  ownFields(configurable)

/** The id of the requested checkpoint; '' for the last one. */
const checkpointIdOf = (config: RunnableConfig): string => {
  const { checkpoint_id, thread_ts } = fieldsOf(config) // the older name in LangGraph
  return String(checkpoint_id ?? thread_ts ?? '')
}

const nsOf = (config: RunnableConfig): string => (fieldsOf(config)['checkpoint_ns'] as string | undefined) ?? ''

const threadOf = (config: RunnableConfig): string => {
  const threadId: unknown = fieldsOf(config)['thread_id']
  if (typeof threadId !== 'string')
    throw new Error(
      'The passed RunnableConfig is missing a required "thread_id" field in its "configurable" property: graph.invoke(input, { configurable: { thread_id: "my-thread" } }). Nothing was stored.',
    )
  return threadId
}

const inOrder = (writes: ReadonlyMap<string, Write>): readonly Write[] =>
  [...writes.values()].toSorted((a, b) =>
    compareWritesSortKeys(writesSortKey(a.path, a.task, a.idx), writesSortKey(b.path, b.task, b.idx)),
  )

/** The notes of a namespace's remaining checkpoints and writes, which need no earlier note. */
const notesAgain = (
  thread: Thread,
  ns: string,
  pruned: readonly string[],
  remaining: readonly StoredCheckpoint[],
): readonly ApplicationNote[] => {
  const notes = remaining.flatMap(({ id, parent, rest, metadata, values, versions }, index) => {
    const base = remaining[index - 1]
    const noted = [...values].map(([channel, value]) => [channel, noteAgain(value, base?.values.get(channel))])
    return checkpointNotes({
      type: 'checkpoint',
      ns,
      id,
      parent: parent ?? null,
      base: base?.id ?? null,
      rest,
      metadata,
      values: Object.fromEntries(noted) as { readonly [channel: string]: NotedValue },
      versions,
    })
  })
  for (const [id, writes] of thread.writesIn(ns)) {
    if (pruned.includes(id)) continue
    const before = thread.checkpoint(ns, id)
    for (const { task, path, idx, channel, value } of writes.values()) {
      const noted = noteAgain(value, before?.values.get(channel))
      notes.push(noteOf({ type: 'writes', ns, id, task, path, writes: [[idx, channel, noted]] }))
    }
  }
  return notes
}

/**
 * The ancestors that a checkpoint's delta channel depends on, back to the first that has its value; none if no
 * checkpoint and no write of them has the channel.
 */
const ancestorsFor = (
  thread: Thread,
  there: ReadonlyMap<string, StoredCheckpoint>,
  { ns, id }: Pick<StoredCheckpoint, 'ns' | 'id'>,
  channel: string,
): readonly string[] => {
  const ancestors: string[] = []
  let isUsed = false
  let at = there.get(id)
  for (; at !== undefined && !at.values.has(channel); at = at.parent === undefined ? undefined : there.get(at.parent)) {
    if (at.parent === undefined) continue
    ancestors.push(at.parent)
    isUsed ||= [...thread.writesOf(ns, at.parent).values()].some((write) => write.channel === channel)
  }
  return isUsed || at !== undefined ? ancestors : []
}

/**
 * The items of the conversation, each with the message that represents it: existing messages up to
 * the first difference, then new ones after a retraction.
 */
const itemsInConversation = (
  session: Session,
  texts: readonly string[],
): {
  readonly items: readonly Item[]
  readonly messages: readonly Message[]
  readonly retractFrom: number | undefined
} => {
  const conversation = session.conversation()
  const items: Item[] = []
  const messages: Message[] = []
  let at = 0 // in the conversation
  let isSame = true
  for (const text of texts) {
    const message = conversation.at(at)
    const known = message === undefined ? undefined : knownText.get(message)
    const position = isSame && at < conversation.length ? conversation.positionAt(at) : undefined
    const ref =
      position === undefined || message === undefined
        ? undefined
        : known?.text === text
          ? { m: position, ...(known.id !== undefined && { id: known.id }) }
          : refTo(text, message as Message, position)
    if (ref !== undefined && typeof ref !== 'string' && message !== undefined) {
      knownText.set(message, { text, id: ref.id })
      items.push({ ref, text })
      at += 1
      continue
    }
    const fresh = messageOf(text)
    if (fresh === undefined) {
      items.push({ ref: text, text })
      continue
    }
    isSame = false
    items.push({ ref: { m: session.len + messages.push(fresh) - 1 }, text })
  }
  return { items, messages, retractFrom: at < conversation.length ? conversation.positionAt(at) : undefined }
}

/** The text and id of each message, cached so that a message is compared only once. */
const knownText = new WeakMap<object, { readonly text: string; readonly id: string | undefined }>()

/** A serialized value as noted: as changes, if it is a map, so that a map that grows is not stored again with each change. */
const dumpedNote = (dumped: DumpedValue, before: Value | undefined): NotedValue => {
  const [type, text] = dumped
  if (before?.kind === 'whole' && before.dumped[0] === type && before.dumped[1] === text) return { same: true }
  const map = type === 'json' && text.length >= shortestMap ? mapFromText(text) : undefined
  return map === undefined ? { whole: dumped } : notedMap(map, before)
}

/** The length of a serialized map from which on its changes are stored. */
const shortestMap = 200

const isSameItem = (a: Item, b: Item, session: Session): boolean => {
  if (typeof a.ref === 'object' && typeof b.ref === 'object') return a.ref.m === b.ref.m && a.ref.id === b.ref.id
  return textOf(a, session) === textOf(b, session)
}
