/** Stores chats of the AI SDK as records, with the functions of its persistence guide. */
import type { UIMessage } from 'ai'
import { aiUiMessages } from '@indelible/codecs/ai-sdk'
import {
  isLeft,
  jsonEqual,
  optionsOf,
  type Json,
  type JsonObject,
  revivePlain,
  plainOf,
  type Tag,
} from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { indelibleMetaOf } from 'indelible/internal/message'
import { countWhile, RecentMap, type Sequence } from 'indelible/internal/sequence'
import { createSession, listSessions, openSession, type Session, type SessionReader } from 'indelible/session'
import type { Head, Store } from 'indelible/store'
import { waitingStep } from 'indelible/internal/run'
import { pagesOf, FaultError } from 'indelible/internal/task'
import { adapterSessions, requireMark, type SessionMark, type MessagesAndNotes } from 'indelible/internal/session'
import {
  faultOf,
  identityOf,
  isOwnRequest,
  isToolPart,
  uiMessagesOf,
  waitingMessages,
  withRequests,
  type AnyToolPart,
  type UIPart,
} from './ui.ts'
import type { Where } from 'indelible/internal/store'

/** The options of a new chat. */
export interface NewChat {
  /** The id of the chat. Default: a random UUID. */
  readonly id?: string
  /** Metadata of the chat: any JSON object. Default: `{}`. */
  readonly metadata?: JsonObject
}

/** A whole chat, to import or export. */
export interface Chat {
  /** The id of the chat. */
  readonly id: string
  /** Its messages. */
  readonly messages: readonly UIMessage[]
}

/** Chats on a store. Its functions throw a `FaultError` if the store fails, or if a message can't be read. */
export interface ChatStore {
  /**
   * Create a chat, and return its id.
   *
   * @param options the id and the metadata. Default: a random id
   */
  readonly createChat: (options?: NewChat) => Promise<string>
  /** The messages of a chat, for `useChat`. Rejects with `NoSuchLog` if there is no such chat. */
  readonly loadChat: <M extends UIMessage = UIMessage>(id: string) => Promise<M[]>
  /**
   * Make these the messages of the chat, in one append: new messages are appended, and old ones are
   * retracted from the first difference on. The record keeps all of them. Saving unchanged messages
   * appends nothing. A missing chat is created.
   *
   * If two requests of a chat overlap, the later save retracts what the other one added. To prevent that, pass `loaded`:
   * then both exchanges stay, in the order of the saves. A save that replaces messages of a chat that another request
   * changed since rejects with `ChatChanged`, and nothing is stored.
   *
   * Cost    one append, of the messages that changed; O(chat) to compare the given messages. The last saves are remembered,
   *         up to 10,000 messages in all: a save that only adds messages decodes only those
   *
   * @param chat the id, the messages, and `loaded`: what `loadChat` returned when the request began. Default: not compared
   */
  readonly saveChat: (chat: {
    readonly chatId: string
    readonly messages: readonly UIMessage[]
    readonly loaded?: readonly UIMessage[]
  }) => Promise<void>
  /** The session of a chat: for `run`, `verify`, forks, and the whole record. */
  readonly openChat: (id: string) => Promise<Session>
  /** Import chats. Existing chats are not changed. */
  readonly importChats: (chats: Iterable<Chat> | AsyncIterable<Chat>) => Promise<number>
  /**
   * Every chat of the store, last created first.
   *
   * @returns the chats, newest first
   */
  readonly exportChats: () => AsyncIterable<Chat>
}

/**
 * Chats of the AI SDK on a store, with the functions of its persistence guide: `createChat`, `loadChat`, `saveChat`.
 *
 * Messages come back equal as JSON, including pending approvals and unfinished inputs; bytes and
 * unpaired surrogates are restored too.
 *
 * Source  `ai` 7.0.173, AI SDK UI: chatbot message persistence
 *
 * @example
 * export const { createChat, loadChat, saveChat } = chatStore(store)
 */
export const chatStore = (store: Store): ChatStore => {
  const open = adapterSessions(store)
  const remembered = new RecentMap<string, SavedChat>(mostRemembered, ({ messages }) => 1 + messages.length)

  /** Saves messages that follow those of the last save, if the chat is as that one left it. Returns whether it did. */
  const saveMore = async (
    known: SavedChat,
    { chatId, messages, loaded }: Parameters<ChatStore['saveChat']>[0],
  ): Promise<boolean> => {
    const { length } = known.messages
    if (loaded !== undefined && (loaded.length !== length || !isSameStart(known.messages, loaded))) return false
    if (!isSameStart(known.messages, messages) || !haveNewIds(messages, length)) return false
    const fresh = messages.slice(length)
    // A message of the assistant after another one is marked, so that one is decoded too.
    const before = messages.slice(length - 1, length)
    const follows = [before[0], fresh[0]].every((message) => message?.role === 'assistant')
    const added = follows
      ? decodeMessages([...before, ...fresh], 'saveChat').slice(decodeMessages(before, 'saveChat').length)
      : decodeMessages(fresh, 'saveChat')
    let isAsLeft = true
    const session = await open(chatId, mark).change((session) => {
      isAsLeft = sameHead(session.head(), known.head) && waitingStep(session) === undefined
      return isAsLeft && added.length > 0 ? { messages: added, notes: [] } : undefined
    })
    if (!isAsLeft) return false
    remember(chatId, session, known.messages, fresh, known.head.size + added.length)
    return true
  }
  /** @param messages the copies of messages that were remembered before those */
  const remember = (
    id: string,
    session: Session,
    messages: readonly UIMessage[],
    fresh: readonly UIMessage[],
    size: number,
  ): void => {
    const head = session.head()
    remembered.delete(id)
    if (head.size !== size || !fresh.every((message) => typeof message.id === 'string')) return // another save was faster
    remembered.set(id, { messages: [...messages, ...fresh.map((message) => structuredClone(message))], head })
  }

  const saveChat: ChatStore['saveChat'] = async (chat) => {
    const { chatId, messages, loaded } = chat
    const known = remembered.get(chatId)
    if (known !== undefined && Array.isArray(messages) && (await saveMore(known, chat))) return
    const decoded = decodeMessages(messages, 'saveChat')
    const decodedLoaded = loaded && decodeMessages(loaded, 'saveChat')
    let isAsGiven = false
    const change = (session: Session): MessagesAndNotes | undefined => {
      const saved = savedMessages(session, messages)
      const target = saved === messages ? decoded : decodeMessages(saved, 'saveChat')
      const savedLoaded = loaded && savedMessages(session, loaded)
      const before =
        savedLoaded &&
        uiMessagesOf(savedLoaded === loaded ? (decodedLoaded ?? []) : decodeMessages(savedLoaded, 'saveChat'))
      isAsGiven = saved === messages && waitingStep(session) === undefined
      if (before === undefined || jsonEqual(uiMessagesOf(session.conversation()), before))
        return replaceMessages(session, saved, target)
      isAsGiven = false // another request's messages are between
      return addToChanged(session, saved, target, before)
    }
    const chatSession = open(chatId, mark)
    const session = await chatSession.change(change).catch(async (error: unknown) => {
      if (!(error instanceof FaultError) || (error.fault as { readonly _tag: string })._tag !== 'ChatChanged')
        throw error
      await chatSession.read() // perhaps only this handle had not read what another one saved
      return chatSession.change(change)
    })
    remembered.delete(chatId)
    if (isAsGiven && session.conversation().length === decoded.length)
      remember(chatId, session, [], messages, session.head().size)
  }
  const openChat: ChatStore['openChat'] = async (id) => requireMark(await openSession(store, id), id, mark)
  return Object.freeze<ChatStore>({
    createChat: async (options) => {
      const { id, metadata = {} } = optionsOf('createChat', options, { id: true, metadata: true })
      const session = await createSession(store, {
        ...(id !== undefined && { id }),
        metadata: { ...metadata, ...mark },
      })
      return session.id
    },
    loadChat: async <M extends UIMessage>(id: string) => restoreTagged(shownMessages(await openChat(id))) as M[],
    saveChat,
    openChat,
    importChats: async (chats) => {
      let count = 0
      for await (const { id, messages } of chats) {
        const target = decodeMessages(messages, 'importChats')
        const created = await createSession(store, { id, metadata: mark, messages: target })()
        if (!isLeft(created)) count += 1
        else if (created.left._tag !== 'LogExists') await createSession(store, { id }) // throws
      }
      return count
    },
    exportChats: async function* () {
      for await (const { sessions } of pagesOf((from) => listSessions(store, { where: mark as Where, ...from })))
        for (const { id } of sessions) yield { id, messages: restoreTagged(shownMessages(await openChat(id))) }
    },
  })
}

/** A chat as the last save left it: copies of the messages, and the head. */
interface SavedChat {
  readonly messages: readonly UIMessage[]
  readonly head: Head
}

/** The number of chats and their messages that are remembered: the most recently saved. */
const mostRemembered = 10_000

const sameHead = (left: Head, right: Head): boolean => left.size === right.size && left.root === right.root

/** Whether each of the messages from a position on has an id that no other message has. */
const haveNewIds = (messages: readonly UIMessage[], from: number): boolean => {
  const ids = new Set(messages.slice(from).map((message) => (message as Partial<UIMessage> | null)?.id))
  if (ids.size < messages.length - from || [...ids].some((id) => typeof id !== 'string')) return false
  for (let at = 0; at < from; at++) if (ids.has(messages[at]?.id)) return false
  return true
}

const isSameStart = (known: readonly UIMessage[], messages: readonly UIMessage[]): boolean =>
  messages.length >= known.length && known.every((message, index) => isSame(message, messages[index]))

interface Fields {
  readonly [name: string]: unknown
}

/** Whether two values are the same data. As in JSON, an `undefined` field is absent. Other objects differ: dates, bytes. */
const isSame = (left: unknown, right: unknown): boolean => {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  const prototype: unknown = Object.getPrototypeOf(left)
  if (prototype !== Object.getPrototypeOf(right)) return false
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((value, index) => isSame(value, right[index]))
  if (prototype !== Object.prototype) return false
  const [before, after] = [left, right] as [Fields, Fields]
  let fields = 0
  for (const name of Object.keys(before)) {
    if (before[name] === undefined) continue
    if (!Object.hasOwn(after, name) || !isSame(before[name], after[name])) return false
    fields += 1
  }
  for (const name of Object.keys(after)) if (after[name] !== undefined) fields -= 1
  return fields === 0
}

/** The metadata that identifies chats. */
const mark: SessionMark = { 'ai-sdk': 'chat' }

/** @param call the caller, for the error if two have one id: clients and `loadChat` identify messages by id */
const decodeMessages = (messages: readonly UIMessage[], call: string): readonly Message[] => {
  const known = new Map<string, number>()
  for (const [index, message] of messages.entries()) {
    const { id } = (message ?? {}) as Partial<UIMessage>
    if (id === undefined) continue
    const first = known.get(id)
    if (first !== undefined)
      throw new TypeError(
        `${call}: messages[${index}] has the id ${JSON.stringify(id)} of messages[${first}]; give each message its own id (\`generateMessageId\` of the AI SDK). Nothing was stored.`,
      )
    known.set(id, index)
  }
  const read = aiUiMessages.decode(messages.map(tagMessage))
  if (isLeft(read)) throw faultOf(read.left)
  return read.right.messages
}

/** The chat as a page shows it: the conversation, and the step that waits for an approval. */
const shownMessages = (session: Session): UIMessage[] => {
  const open = waitingStep(session)
  if (open === undefined) return uiMessagesOf(session.conversation())
  const shown = uiMessagesOf([...session.conversation(), ...waitingMessages(open)])
  return shown.map((message, index) => (index === shown.length - 1 ? withRequests(message, open) : message))
}

/**
 * The messages to save of those that a page has. A step that waits is in the record already, as notes; and a copy of an
 * answer from before its calls were approved is replaced by the answer.
 */
const savedMessages = (session: Session, messages: readonly UIMessage[]): readonly UIMessage[] => {
  const open = waitingStep(session)
  const waiting = new Set(
    open?.response.message.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : [])),
  )
  const isWaiting = (part: UIPart): boolean => isToolPart(part) && waiting.has(part.toolCallId)
  const byPage = messages.some(({ parts }) => parts.some(isToolPart)) ? callsAnsweredByPages(session) : new Set()
  const isByPage = (part: UIPart): boolean => isToolPart(part) && byPage.has(part.toolCallId)
  const isOfRun = (part: UIPart): boolean =>
    isToolPart(part) && (isOwnRequest(part) || isWaiting(part) || isByPage(part))
  if (!messages.some(({ parts }) => parts.some(isOfRun))) return messages
  const answers = new Map(uiMessagesOf(session.conversation()).map((message) => [message.id, message]))
  return messages.flatMap((message) => {
    const first = message.parts.findIndex(isWaiting)
    if (first === -1) {
      const answer = answers.get(message.id)
      return [answer !== undefined && isEarlierCopy(message, answer, isByPage) ? answer : message]
    }
    const step = message.parts.slice(0, first).findLastIndex(({ type }) => type === 'step-start')
    const parts = message.parts.slice(0, Math.max(0, step))
    return parts.length === 0 ? [] : [{ ...message, parts }]
  })
}

/** The calls of tools without `run` whose results pages gave to runs. */
const callsAnsweredByPages = (session: Session): ReadonlySet<string> => {
  const ids = new Set<string>()
  for (const { content } of session.conversation())
    for (const part of content)
      if (part.type === 'tool_result' && Object.hasOwn(indelibleMetaOf(part), 'answered')) ids.add(part.callId)
  return ids
}

/** Whether a page's message is an answer as it was before a call of it was approved or denied, or the page ran one. */
const isEarlierCopy = (message: UIMessage, answer: UIMessage, isByPage: (part: UIPart) => boolean): boolean =>
  message.parts.length <= answer.parts.length &&
  message.parts.every((part, index) => identityOf(part) === identityOf(answer.parts[index] as UIPart)) &&
  message.parts.some((part, index) => {
    const now = answer.parts[index] as UIPart
    if (isByPage(part) && message.parts.length < answer.parts.length) return true
    return (
      isToolPart(part) &&
      (isOwnRequest(part) || isByPage(part)) &&
      isToolPart(now) &&
      !(part as AnyToolPart).state.startsWith('output-') &&
      (now as AnyToolPart).state.startsWith('output-')
    )
  })

/** The field of a stored message that locates its bytes and unpaired surrogates, which JSON can't express. */
const tagField = 'indelible.tags'

/** A message as JSON, with tags. As in JSON, an `undefined` field is absent and a date is text. */
const tagMessage = (message: UIMessage): UIMessage => {
  const { value, tags } = plainOf(message)
  const quoted = tags.filter(([, kind]) => kind === 'bytes' || kind === 'text')
  if (quoted.length === 0) return message
  const rest = tags.filter(([, kind]) => kind === 'undefined')
  const whole = revivePlain(value, rest) as UIMessage
  return { ...whole, [tagField]: quoted } as UIMessage
}

/** Restores messages to their saved form. */
const restoreTagged = (messages: readonly UIMessage[]): UIMessage[] =>
  messages.map((message) => {
    const { [tagField]: tags, ...rest } = message as UIMessage & { readonly [tagField]?: readonly Tag[] }
    return Array.isArray(tags) ? (revivePlain(structuredClone(rest), tags as readonly Tag[]) as UIMessage) : message
  })

/**
 * The change that makes these the chat's messages; undefined if nothing changes. If `run` wrote the
 * conversation, its messages differ from those decoded from the equivalent UI messages. So UI
 * messages are compared first, then, within the first that differs, the messages decoded from it.
 */
const replaceMessages = (
  session: SessionReader,
  edited: readonly UIMessage[],
  messages: readonly Message[],
): MessagesAndNotes | undefined => {
  const conversation = session.conversation()
  // Usually the chat has only grown and its stored messages are equal; then nothing needs to be encoded.
  const known = equalCountFrom(conversation, 0, messages, 0)
  if (known === conversation.length)
    return known === messages.length ? undefined : { messages: messages.slice(known), notes: [] }
  const wire = uiMessagesOf(messages) as unknown as readonly Json[]
  const there = uiMessagesOf(conversation) as unknown as readonly Json[]
  let same = 0
  while (same < there.length && jsonEqual(there[same], wire[same])) same += 1
  if (same === there.length && same === wire.length) return undefined
  const from = same === wire.length ? messages.length : decodeMessages(edited.slice(0, same), 'saveChat').length
  const kept = same === 0 ? 0 : same === there.length ? conversation.length : messagesFor(conversation, same, from)
  const more = equalCountFrom(conversation, kept, messages, from)
  const first = kept + more < conversation.length ? conversation.positionAt(kept + more) : undefined
  return {
    messages: messages.slice(from + more),
    notes: first === undefined ? [] : [{ type: 'retraction', from: first, to: session.len }],
  }
}

/** The change that adds messages to a chat that another request changed since `before` was loaded. */
const addToChanged = (
  session: SessionReader,
  edited: readonly UIMessage[],
  messages: readonly Message[],
  before: readonly UIMessage[],
): MessagesAndNotes | undefined => {
  const { length } = before
  const [there, wire] = [uiMessagesOf(session.conversation()), uiMessagesOf(messages)]
  const added = wire.slice(length)
  const saved = there.findIndex((message, index) => index >= length && jsonEqual(message, added[0]))
  const isSaved = saved === -1 ? added.length === 0 : jsonEqual(there.slice(saved, saved + added.length), added)
  if (
    !jsonEqual(there.slice(0, length), before) ||
    !jsonEqual(wire.slice(0, length), before) ||
    (saved !== -1 && !isSaved)
  )
    throw new FaultError(
      { _tag: 'ChatChanged', id: session.id },
      `another request changed chat ${JSON.stringify(session.id)} after \`loaded\` was loaded; nothing was stored: load the chat again, and answer its messages`,
    )
  if (isSaved) return undefined
  return { messages: messages.slice(decodeMessages(edited.slice(0, length), 'saveChat').length), notes: [] }
}

/** The number of equal messages, from given positions in a conversation and a list. */
const equalCountFrom = (
  conversation: Sequence<Message>,
  start: number,
  messages: readonly Message[],
  from: number,
): number => {
  let same = 0
  while (start + same < conversation.length && jsonEqual(conversation.at(start + same), messages[from + same]))
    same += 1
  return same
}

/** The number of messages for a conversation's first `count` UI messages, `likely` if the guess is right. */
const messagesFor = (conversation: Sequence<Message>, count: number, likely: number): number => {
  const encodedCount = (length: number): number =>
    uiMessagesOf(Array.from({ length }, (_, at) => conversation.at(at) as Message)).length
  if (likely < conversation.length && encodedCount(likely) === count && encodedCount(likely + 1) > count) return likely
  // The longest prefix that encodes to `count` UI messages.
  return countWhile(conversation.length, (index) => encodedCount(index + 1) <= count)
}
