/** A `Session` of the OpenAI Agents SDK, stored as a record. */
import {
  MemorySession,
  type AgentInputItem,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession,
} from '@openai/agents-core'
import { optionsOf, isObject, jsonEqual, type Json, type JsonObject, plainOf } from 'indelible/internal/json'
import type { ApplicationNote, Note, RetractionNote } from 'indelible/internal/notes'
import type { Message } from 'indelible/message'
import type { Session, SessionReader } from 'indelible/session'
import type { Store } from 'indelible/store'
import { adapterSession, type SessionMark, type MessagesAndNotes } from 'indelible/internal/session'
import { itemsOf, messagesOf } from './items.ts'

/** The id of a session, and its initial state. */
export interface AgentsSessionOptions {
  /** The id of the session in the store. Default: a random UUID. */
  readonly sessionId?: string
  /** The first items of a new session. Default: none. */
  readonly initialItems?: readonly AgentInputItem[]
  /** The metadata of a new session. Default: none. */
  readonly metadata?: JsonObject
}

/**
 * A `Session` of `@openai/agents-core` on a store: `run(agent, input, { session })` keeps the conversation there.
 *
 * Items come back deeply equal. Pops, clears and rewrites retract messages, and the record keeps
 * them. Two handles, even in two processes, may use one session: each change is one append to the
 * latest conversation. Reading creates nothing.
 *
 * Throws  a `FaultError` if the store fails; a TypeError naming the path for an item that can't be stored (a function,
 *         a map)
 * Cost    `addItems` one append, independent of the length; `getItems` O(conversation)
 * Source  `@openai/agents-core` 0.20.0, memory/session
 *
 * @example
 * const session = new AgentsSession(store, { sessionId: 'chat-1' })
 * await run(agent, 'Where were we?', { session })
 */
export class AgentsSession implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession {
  readonly #sessionId: string
  readonly #initial: readonly Message[] | undefined
  readonly #kept: ReturnType<typeof adapterSession>
  #begun: Promise<unknown> | undefined

  /**
   * @param options the id, the first items and the metadata
   */
  constructor(store: Store, options: AgentsSessionOptions = {}) {
    const {
      sessionId = crypto.randomUUID(),
      initialItems = [],
      metadata = {},
    } = optionsOf('agentsSession', options, { sessionId: true, initialItems: true, metadata: true })
    this.#sessionId = sessionId
    this.#initial = initialItems.length === 0 ? undefined : messagesOf(initialItems)
    this.#kept = adapterSession(store, sessionId, mark, metadata)
  }

  /** @returns the id of the session in the store */
  async getSessionId(): Promise<string> {
    return this.#sessionId
  }

  /**
   * Read the items of the conversation.
   *
   * @param limit the number of last items to read. Default: all
   * @returns the items of the conversation, oldest first
   */
  async getItems(limit: number = Infinity): Promise<AgentInputItem[]> {
    return limit <= 0 ? [] : (await this.#items()).slice(-limit)
  }

  /** Append items in one append. */
  async addItems(added: AgentInputItem[]): Promise<void> {
    if (added.length === 0) return
    const messages = messagesOf(added)
    await this.#change(() => ({ messages }))
  }

  /**
   * Retract the last item.
   *
   * @returns the item; undefined if there is none
   */
  async popItem(): Promise<AgentInputItem | undefined> {
    let popped: AgentInputItem | undefined
    await this.#change((session) => {
      const there = itemsOf(session.conversation())
      popped = there.at(-1)
      return replaceItems(session, there.slice(0, -1), there)
    })
    return popped
  }

  /** Retract the whole conversation. */
  async clearSession(): Promise<void> {
    await this.#change((session) =>
      session.conversation().length === 0 && !hasOperations(session)
        ? undefined
        : { notes: [...retraction(session, 0), note({ type: 'cleared' })] },
    )
  }

  /**
   * Replace the conversation with a compaction and what it retains, in one append.
   *
   * @param replacement the compaction, and the items that it keeps
   */
  async replaceHistoryWithCompaction(replacement: AgentInputItem[]): Promise<void> {
    const messages = messagesOf(replacement)
    await this.#change((session) => ({ messages, notes: retraction(session, 0) }))
  }

  /**
   * Replace function calls in the conversation. The old items are retracted, and stay in the record.
   *
   * @param args the function calls and what replaces them
   */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    const { mutations } = structuredClone(args)
    await this.#change((session) => {
      const there = itemsOf(session.conversation())
      return replaceItems(session, applyMutations(there, mutations), there)
    })
  }

  /**
   * @param args the operation and its change; repeating it changes nothing
   * @throws Error if the operation was applied with another change, or its precondition does not hold
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = await checkItems(args)
    const digest = jsonOf(transaction)
    let refusal: string | undefined
    await this.#change((session) => {
      refusal = undefined
      const before = operationOf(session, operationId)
      if (before !== undefined) {
        if (!jsonEqual(before, digest)) refusal = 'already applied with a different transaction'
        return undefined
      }
      const notes = [note({ type: 'operation', id: operationId, transaction: digest })]
      if (transaction.type === 'append_items') return { messages: messagesOf(transaction.items), notes }
      const there = itemsOf(session.conversation())
      const { expectedSuffix, replacement } = transaction
      const start = there.length - expectedSuffix.length
      if (start < 0 || !sameValue(there.slice(start), expectedSuffix)) {
        refusal = 'suffix no longer matches the transaction precondition'
        return undefined
      }
      const together = replaceItems(session, [...there.slice(0, start), ...replacement], there)
      return { ...together, notes: [...(together?.notes ?? []), ...notes] }
    })
    if (refusal !== undefined)
      throw new Error(`session ${this.#sessionId}, operation ${operationId}: ${refusal}. Nothing was changed.`)
  }

  /**
   * The record itself, created if missing. `view()` includes everything that was popped, cleared
   * and rewritten; `conversation()` is what the SDK sees.
   */
  async record(): Promise<Session> {
    await this.#begin()
    return this.#kept.change(() => undefined)
  }

  /** Appends the first items, if the session is new. After a failure the next call tries again. */
  async #begin(): Promise<void> {
    const initial = this.#initial
    if (initial === undefined) return
    const begun = (this.#begun ??= this.#kept.change((session) =>
      session.head().size === 0 ? { messages: initial } : undefined,
    ))
    try {
      await begun
    } catch (error) {
      if (this.#begun === begun) this.#begun = undefined
      throw error
    }
  }

  async #change(make: (session: Session) => MessagesAndNotes | undefined): Promise<void> {
    await this.#begin()
    await this.#kept.change(make)
  }

  async #items(): Promise<AgentInputItem[]> {
    await this.#begin()
    const session = await this.#kept.read()
    return session === undefined ? [] : itemsOf(session.conversation())
  }
}

/**
 * Create an {@link AgentsSession}.
 *
 * @param options the id, the first items and the metadata
 * @returns the session, for `run(agent, input, { session })`
 * @example
 * const session = agentsSession(store, { sessionId: 'chat-1' })
 */
export const agentsSession = (store: Store, options: AgentsSessionOptions = {}): AgentsSession =>
  new AgentsSession(store, options)

const namespace = 'indelible.openai-agents'
const mark: SessionMark = { 'openai-agents': 'session' }

const note = (content: Json): ApplicationNote => ({ type: 'application', namespace, content })

/** A retraction of the conversation from a position on. */
const retraction = (session: SessionReader, from: number): readonly RetractionNote[] => {
  const conversation = session.conversation()
  const first = conversation.positionAt(from)
  return first === undefined || from >= conversation.length
    ? []
    : [{ type: 'retraction', from: first, to: session.len }]
}

/**
 * The change that makes `items` the conversation: messages from the first difference on are
 * retracted, and the new ones appended. Undefined if nothing changes.
 */
const replaceItems = (
  session: SessionReader,
  items: readonly AgentInputItem[],
  there: readonly AgentInputItem[],
): MessagesAndNotes | undefined => {
  const keeps = there.findIndex((item, index) => !sameValue(item, items[index]))
  const kept = keeps === -1 ? there.length : keeps
  if (kept === there.length && items.length === there.length) return undefined
  const conversation = session.conversation()
  let at = conversation.length
  let start = there.length // the items of the messages before `at`
  while (start > kept && at > 0) {
    at -= 1
    start -= itemsOf(conversation.slice(at, at + 1).toArray()).length
  }
  return { messages: messagesOf(items.slice(Math.max(start, 0))), notes: retraction(session, at) }
}

/** Whether two values are deeply equal, including the tags of values that JSON can't express. */
const sameValue = (a: unknown, b: unknown): boolean => jsonEqual(jsonOf(a), jsonOf(b))

/** A value as JSON data, with sorted tags. */
const jsonOf = (input: unknown): Json => {
  const { value, tags } = plainOf(input)
  const inOrder = tags.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  return { value, tags: inOrder as unknown as Json }
}

/** The transaction of an operation since the conversation was last cleared; undefined if there is none. */
const operationOf = (session: SessionReader, id: string): Json | undefined => {
  let found: Json | undefined
  for (const content of ownNotes(session)) {
    if (content['type'] === 'cleared') found = undefined
    else if (content['type'] === 'operation' && content['id'] === id) found = content['transaction']
  }
  return found
}

const hasOperations = (session: SessionReader): boolean => {
  let has = false
  for (const content of ownNotes(session)) has = content['type'] === 'operation'
  return has
}

function* ownNotes(session: SessionReader): Generator<JsonObject> {
  for (const found of session.notes() as Iterable<Note>)
    if (found.type === 'application' && found.namespace === namespace && isObject(found.content)) yield found.content
}

/** A snapshot of a transaction that the SDK's own session accepts. Throws its errors. */
const checkItems = async (args: SessionHistoryTransactionArgs): Promise<SessionHistoryTransactionArgs> => {
  const snapshot = snapshotOf(args)
  const transaction = snapshot?.transaction as { readonly expectedSuffix?: unknown } | undefined
  // With exactly the expected suffix, a transaction fails only if it is invalid.
  const suffix = transaction?.expectedSuffix
  const scratch = new MemorySession({ initialItems: Array.isArray(suffix) ? suffix : [] })
  await scratch.applyHistoryTransaction(args)
  return snapshot as SessionHistoryTransactionArgs // the SDK refuses what has none
}

const snapshotOf = (args: SessionHistoryTransactionArgs): SessionHistoryTransactionArgs | undefined => {
  try {
    return structuredClone({ operationId: args.operationId, transaction: args.transaction })
  } catch {
    return undefined
  }
}

/** The items with function calls replaced: the first one with an id is replaced, the others are removed. */
const applyMutations = (
  items: readonly AgentInputItem[],
  mutations: SessionHistoryRewriteArgs['mutations'],
): readonly AgentInputItem[] => {
  let next = items
  for (const { callId, replacement } of mutations) {
    let isKept = false
    next = next.flatMap((item) => {
      if (item.type !== 'function_call' || item.callId !== callId) return [item]
      if (isKept) return []
      isKept = true
      return [replacement]
    })
  }
  return next
}
