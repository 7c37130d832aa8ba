/**
 * Histories with content, by the operations that they allow:
 *
 *     RefHistory ── hydrate ──▶ StoredHistory ── extend ──▶ PendingHistory ── persist ──▶ StoredHistory
 *
 * The content of a `PendingHistory` is not in a store yet, so it has no refs. A `PartialHistory`
 * has placeholders for content that was not found, so it can't be continued or persisted.
 */
import { describe, isLeft, type Immutable, optionsOf } from 'indelible/internal/json'
import { createHistory, type History, type Position, type View } from 'indelible/history'
import { decodeMessage, type Message } from 'indelible/message'
import { messageFaultText } from 'indelible/internal/message'
import type { BlockId } from 'indelible/internal/proof'
import type { PageKind } from 'indelible/pages'
import type { BlockStore } from 'indelible/store'
import { defaultScope } from 'indelible/internal/store'
import { isPlaceholder } from 'indelible/internal/entry'
import { pagedOf, type Paged } from 'indelible/internal/history'
import { isFlowId, type MessageRef } from './ref.ts'
import { checkNames, createRefHistory, jsonOf, type RefHistory, type RefHistoryJson } from './ref-history.ts'

declare class ContentBrand<State extends string> {
  readonly #state: State
}

/** The common part of histories with content. */
interface ContentHistory<State extends string> extends ContentBrand<State> {
  /** Whether the content is in the store (`stored`), not yet (`pending`), or only in part (`partial`). */
  readonly state: State
  /** The scope of the store. */
  readonly scope: string
  /** The session that the messages belong to, if there is one. */
  readonly session?: string
  /** The number of messages. */
  readonly len: number
  /** The messages as an immutable view. Cost: O(1). */
  readonly view: () => View<Message>
}

/** A history whose content is in the store. Branded: only `hydrate` and `persist` create one. */
export interface StoredHistory extends ContentHistory<'stored'> {
  /** The refs of this history. Appending to the result does not change this history. Cost: O(len). */
  readonly refHistory: () => RefHistory
  /**
   * Continue the conversation. Cost: O(len); the messages are shared, not copied.
   *
   * @param options `flowId`: the workflow that the new messages come from. Default: unknown
   */
  readonly extend: (options?: { readonly flowId?: string }) => PendingHistory
  /** Called by `JSON.stringify`: refs, no content. */
  readonly toJSON: () => RefHistoryJson
}

/** A history whose content is not in the store yet, created by `createPendingHistory` or `extend`. */
export interface PendingHistory extends ContentHistory<'pending'> {
  /**
   * Append a message and return its position.
   *
   * @param page its page kind. Default: classified
   * @throws TypeError naming the path, if it is not a message, is a placeholder, or has an unknown
   *   page kind; the history is unchanged
   */
  readonly append: (message: Message | Immutable<Message>, page?: PageKind) => Position
}

/** A read-only history with placeholders for content that was not found, created by `hydratePartial`. */
export interface PartialHistory extends ContentHistory<'partial'> {
  /** The placeholder messages, and why each is missing. */
  readonly missing: readonly MissingMessage[]
}

/** A message that could not be read completely. */
export interface MissingMessage {
  /** Its position in the history. */
  readonly position: number
  /** The ids of its missing or damaged blocks. */
  readonly ids: readonly BlockId[]
  /** What is missing, in words. */
  readonly reason: string
}

/** How a pending history starts. */
interface PendingOptions {
  /** The scope of the store. Default: `default`. */
  readonly scope?: string
  /** The session that the messages belong to. Default: none. */
  readonly session?: string | undefined
  /** The first messages. A view, and `{ ...view }`, keep the page kinds. Default: none. */
  readonly from?: View<Message> | Paged<Message> | Iterable<Message>
  /** The workflow that the messages come from, for their refs. Default: unknown. */
  readonly flowId?: string | undefined
}

/**
 * Create a history with content, to persist later.
 *
 * @param options scope, session and first messages
 * @throws TypeError naming position and path, if a value of `from` is not a message, or is a placeholder
 */
export const createPendingHistory = (options: PendingOptions = {}): PendingHistory => {
  const {
    scope = defaultScope,
    session,
    from,
    flowId,
  } = optionsOf('createPendingHistory', options, { scope: true, session: true, from: true, flowId: true })
  if (flowId !== undefined && !isFlowId(flowId))
    throw new TypeError(`createPendingHistory: \`flowId\` is ${describe(flowId)}; expected the id of a workflow`)
  checkNames(scope, session)
  const history = createHistory<Message>()
  const { messages, pages } = pagedOf<Message>(from ?? [])
  for (const message of messages) {
    const position = history.len
    try {
      appendFrom(history, message, pages.at(position))
    } catch (error) {
      throw error instanceof TypeError ? new TypeError(`[${position}]: ${error.message}`) : error
    }
  }
  return createPending({ scope, session, store: undefined, refs: [], flowOf: () => flowId }, history)
}

/** The internals of a history with content. */
export interface ContentState {
  readonly scope: string
  readonly session: string | undefined
  readonly view: () => View<Message>
  /** The store that holds the first messages, and their refs. */
  readonly store: BlockStore | undefined
  readonly refs: readonly MessageRef[]
  /** The workflow of the message at a position, if it has no ref. */
  readonly flowOf: (position: number) => string | undefined
}

/** A pending history whose first messages come from different workflows. */
export const createPendingOfFlows = (options: PendingOptions, flows: ReadonlyMap<number, string>): PendingHistory => {
  const pending = createPendingHistory(options)
  contentStates.set(pending, { ...stateOf(pending), flowOf: (position) => flows.get(position) })
  return pending
}

/** Throws TypeError if the history was not created by this module. */
export const stateOf = (content: StoredHistory | PendingHistory): ContentState => {
  const inside = contentStates.get(content)
  if (inside === undefined)
    throw new TypeError('this is not a history of @indelible/workflows/refs that can be persisted')
  return inside
}

/** `refs` must cover all messages of the history. */
export const storedOf = (inside: ContentState & { readonly store: BlockStore }): StoredHistory => {
  const { scope, session, view, refs } = inside
  const stored = handle<StoredHistory>('stored', inside, {
    refHistory: () => createRefHistory({ scope, session, from: refs }),
    extend: (options = {}) => {
      const { flowId } = optionsOf('extend', options, { flowId: true })
      return createPending({ ...inside, flowOf: () => flowId }, createHistory<Message>({ from: view() }))
    },
    toJSON: () => jsonOf({ scope, session, refs }),
  })
  contentStates.set(stored, inside)
  return stored
}

export const partialOf = (inside: ContentState, missing: readonly MissingMessage[]): PartialHistory =>
  handle<PartialHistory>('partial', inside, {
    missing: Object.freeze([...missing]),
    ...refuseToJson('has placeholders for content that was not found'),
  })

const createPending = (from: Omit<ContentState, 'view'>, history: History<Message>): PendingHistory => {
  const inside = { ...from, view: history.view }
  const pending = handle<PendingHistory>('pending', inside, {
    append: (message, page) => appendFrom(history, message, page),
    ...refuseToJson('has content that is not stored: persist it, and write the result'),
  })
  contentStates.set(pending, inside)
  return pending
}

const contentStates = new WeakMap<object, ContentState>()

type Rest<C extends ContentHistory<string>> = {
  readonly [Key in Exclude<keyof C, keyof ContentHistory<string>>]: C[Key]
}

/** The only constructor of histories with content. It brands them. */
const handle = <C extends ContentHistory<string>>(
  state: C['state'],
  { scope, session, view }: ContentState,
  rest: Rest<C>,
): C =>
  Object.freeze({
    state,
    scope,
    ...(session !== undefined && { session }),
    get len() {
      return view().length
    },
    view,
    ...rest,
  }) as unknown as C

/** Keeps content out of a workflow's state by accident. */
const refuseToJson = (reason: string): object => ({
  toJSON: () => {
    throw new TypeError(`this history can't be written as JSON: it ${reason}`)
  },
})

const appendFrom = (
  history: History<Message>,
  message: Message | Immutable<Message>,
  page: PageKind | undefined,
): Position => {
  const decoded = decodeMessage(message)
  if (isLeft(decoded)) throw new TypeError(`${messageFaultText(decoded.left)}; nothing was appended`)
  if (isPlaceholder(decoded.right))
    throw new TypeError('this message is a placeholder for content that was not found; nothing was appended')
  return history.append(decoded.right, page)
}
