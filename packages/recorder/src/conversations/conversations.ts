/**
 * Finds the recorded conversation that a request continues: a call belongs to the first session that one of these finds.
 *
 * 1. `#byResponse`        The request names an answer, or a conversation that its provider keeps: the session that has it. If
 *                         messages follow there, the same question may wait in a session for its answer: that one. Else they
 *                         are retracted, if the provider's name and the credentials are the same; otherwise it is a fork.
 * 2. `#byName`            The host names the session: that one, whatever the request shares with others.
 * 3. `#byMovedBeginning`  No session begins as the request does up to an answer, but exactly one of the client's has one of its
 *                         last answers with all that comes before, except for changed system messages or oldest messages left
 *                         out: that one, or a fork for another agent.
 * 4. `#byCompaction`      The request has all of no session, but the last answer of one with the client's name for the
 *                         conversation: that one, with the client's own compaction (`compaction.ts`).
 * 5. `#byLongest`         The session that shares most of the first messages. If the request has all of it: that one, unless
 *                         the client names another conversation. If they share an answer: that one, rewound, if it has the
 *                         client's name and credentials, else a fork. It is also rewound if it begins with the whole request.
 * 6. `#fresh`             A new session.
 *
 * The order matters. What a request names comes before what it contains. 3 and 4 come before 5, because what the longest
 * beginning has may be no more than a system message, or a question that other conversations begin with, too. A call must
 * never go to the session of another conversation: where two fit, 3 takes neither, and 5 takes none for a question alone.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right, present } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { sessionFaultText } from 'indelible/internal/session'
import { createSession, forkSession } from 'indelible/session'
import { keepSums } from 'indelible/internal/usage'
import type { Store } from 'indelible/store'
import { beginningEdit, editOf, type Edit } from './cache-break.ts'
import { compactionOf, setupLength, type Compaction } from './compaction.ts'
import {
  bestOf,
  hasAnswer,
  hasSameSetup,
  maxCandidates,
  sharedFrom,
  startOf,
  type Asker,
  type Match,
} from './conversation-match.ts'
import { Conversation, openConversation, problem, type RecordFault, type SentBefore } from './conversation.ts'
import { chainOf, identityOf } from '../messages/identity.ts'
import { exchangeKey, marksUpTo, Places, providerKeyOf, type PlaceKey } from './places.ts'
import { blockIdOf, lastDetails } from './receipt.ts'
import { forkId, newId, titleOf } from './session-name.ts'
import type { ParsedRequest } from '../requests/wire.ts'

/** The number of sessions to keep open. */
const maxOpen = 500

/** The conversation that a request continues. */
interface FoundConversation {
  readonly conversation: Conversation
  /** The index in the conversation at which to append. */
  readonly from: number
  /** The number of the request's messages that the conversation already has. */
  readonly taken: number
  /** The client's own compaction of the conversation, or its other beginning, from which the request continues. */
  readonly compaction?: Compaction
  /** Set if the client changed earlier messages rather than only going back. */
  readonly edit?: Edit
  /** Of a new fork: the last call of its original. */
  readonly original?: SentBefore
}

/** A request with another beginning than its conversation. */
interface Moved {
  readonly ids: readonly string[]
  /** The index in the conversation of its first message that is no instruction. */
  readonly start: number
  /** The index of its last recorded answer. */
  readonly answer: number
  /** Whether later messages of the conversation may be retracted. */
  readonly mayRetract: boolean
}

/** A log that can't be read, and the reason. */
export interface Unread {
  readonly session: string
  readonly reason: string
}

/** A request to find the conversation of. What several strategies compare is computed once, and only if one needs it. */
interface Search {
  readonly request: ParsedRequest
  readonly messages: readonly Message[]
  /** The session id that the host names. */
  readonly named: string | undefined
  /** The digests of all its beginnings. */
  readonly chain: () => readonly string[]
  /** The recorded conversation with the most of its first messages, and whether these have an answer or a whole compaction. */
  readonly longest: () => Promise<{ readonly match: Match | undefined; readonly isAnswered: boolean }>
}

/** Finds, creates and forks conversations, and keeps the most recently used ones open. */
export class Conversations {
  readonly #store: Store
  readonly #places: Places
  readonly #tell: (unread: Unread) => void
  /** By session id, the most recently used last. */
  readonly #open = new Map<string, Conversation>()
  /** The logs that can't be read, each with its reason until that is reported. */
  readonly #unread = new Map<string, string | undefined>()

  /** @param tell called once for each log that can't be read */
  constructor(store: Store, tell: (unread: Unread) => void) {
    this.#store = store
    this.#places = new Places(store)
    this.#tell = tell
  }

  /** The session for a request. Sessions that can't be read are skipped and reported. */
  async find(
    request: ParsedRequest,
    messages: readonly Message[],
    named: string | undefined,
  ): Promise<FoundConversation> {
    const chain = memoize(() => chainOf(messages))
    const longest = memoize(async () => {
      const match = await this.#longest(chain(), request)
      const isAnswered =
        match !== undefined && (match.conversation.isCompactedIn(match.len) || hasAnswer(messages, match.len))
      return { match, isAnswered }
    })
    const found = await this.#find({ request, messages, named, chain, longest })
    const { session, len } = found.conversation
    if (found.from === len) found.conversation.caller = request.caller
    for (const [id, reason] of this.#unread) {
      if (reason === undefined) continue
      this.#unread.set(id, undefined)
      const goesTo = `${len === 0 ? 'the new session' : 'session'} ${JSON.stringify(session.id)}`
      this.#tell({ session: id, reason: `${reason}; it is skipped, and the call is recorded in ${goesTo}` })
    }
    return found
  }

  async #find(search: Search): Promise<FoundConversation> {
    const strategies = [this.#byResponse, this.#byName, this.#byMovedBeginning, this.#byCompaction, this.#byLongest]
    for (const strategy of strategies) {
      const found = await strategy.call(this, search)
      if (found !== undefined) return found
    }
    const conversation = await this.#fresh(search.request, search.messages)
    return { conversation, from: 0, taken: 0 }
  }

  /** The conversation with the answer, or under the provider's name, that the request continues. */
  async #byResponse({ request, messages }: Search): Promise<FoundConversation | undefined> {
    for (const key of [request.previous, request.conversation && providerKeyOf(request.conversation)]) {
      if (key === undefined) continue
      for (const { session, len } of await this.#placesOf(`r:${key}`)) {
        const conversation = await this.#opened(session, len)
        if (conversation === undefined || conversation.len < len) continue
        // Indexed before it was recorded, so that another answer may be there.
        if (key === request.previous && !conversation.isAnswer(len - 1, key)) continue
        // The messages after it were sent but not answered, so the provider does not have them.
        if (conversation.len === len) return { conversation, from: len, taken: 0 }
        const before = await this.#askedBefore(conversation, len, messages)
        if (before !== undefined) return before
        const isOwn = key !== request.previous && conversation.caller === request.caller
        const found = isOwn ? conversation : await this.forked(conversation, len, request)
        return { conversation: found, from: len, taken: 0 }
      }
    }
    return undefined
  }

  /** The session that the host names, created if missing. One that has ended or can't be read is skipped. */
  async #byName({ request, messages, named, chain }: Search): Promise<FoundConversation | undefined> {
    const conversation = named === undefined ? undefined : await this.#named(named, request, messages)
    if (conversation === undefined) return undefined
    const shared = sharedFrom(0, conversation, chain())
    const moved = hasAnswer(messages, shared) ? undefined : await this.#moved(request, messages, conversation)
    return moved ?? { conversation, from: shared, taken: shared }
  }

  /** The conversation with one of the request's last answers, if none begins as the request does up to an answer. */
  async #byMovedBeginning({ request, messages, longest }: Search): Promise<FoundConversation | undefined> {
    const { isAnswered } = await longest()
    return isAnswered ? undefined : this.#moved(request, messages, undefined)
  }

  /** The client's own conversation that the request is a compaction of, if it does not continue a whole one. */
  async #byCompaction({ request, messages, chain, longest }: Search): Promise<FoundConversation | undefined> {
    const { match } = await longest()
    if (request.client === undefined || (match !== undefined && match.len === match.conversation.len)) return undefined
    return this.#compacted(request.client, request, messages, chain())
  }

  /** The conversation with the most of the request's first messages, or a fork of it. */
  async #byLongest({ request, messages, chain, longest }: Search): Promise<FoundConversation | undefined> {
    const { match, isAnswered } = await longest()
    if (match === undefined) return undefined
    const { conversation, len } = match
    const found = { conversation, from: len, taken: len }
    // A different conversation that begins with all of it, such as a sub-agent with its parent's history, is a fork.
    const isOthers =
      request.client !== undefined && conversation.client !== undefined && request.client !== conversation.client
    if (len === conversation.len && !isOthers) return found
    // They share no answer and then differ: two conversations that begin alike, even under the same name.
    const isOwn =
      request.client !== undefined && conversation.client === request.client && conversation.caller === request.caller
    if (!isAnswered && !(isOwn && len === messages.length)) return undefined
    const edit = editOf(conversation, messages, len)
    // The client has rewound its own conversation. A client that only knows the name gets a separate session,
    // and so does one that continues retracted messages: those are two conversations under one name.
    if (isOwn && !conversation.hasLeft(chain())) return { ...found, ...present({ edit }) }
    const forked = await this.forked(conversation, len, request)
    return { ...found, conversation: forked, ...present({ edit, original: conversation.last }) }
  }

  /**
   * Finds the conversation whose recorded answer a request contains, if the request changed only what comes before:
   * its system messages, or the oldest messages, which it left out. Everything else up to the answer must be equal, and
   * no other conversation may fit: a call must never go to the session of another.
   *
   * Cost    O(request), and O(conversation) for each that has one of its last 8 answers
   * @param named the session that the host names; the request continues no other
   */
  async #moved(
    request: ParsedRequest,
    messages: readonly Message[],
    named: Conversation | undefined,
  ): Promise<FoundConversation | undefined> {
    const ids = messages.map(identityOf)
    const setup = setupLength(messages)
    const answers = [...messages.keys()].filter((index) => index > setup && messages[index]?.role === 'assistant')
    const hasLeft = new Set<Conversation>() // those that retracted an answer of the request
    for (const answer of answers.toReversed().slice(0, 8)) {
      const fitting: { readonly conversation: Conversation; readonly start: number }[] = []
      const key = exchangeKey(ids[answer - 1] as string, ids[answer] as string)
      const known = named === undefined ? await this.#known(key, request) : [named]
      for (const conversation of known) {
        const start = startOf(conversation, ids.slice(setup, answer + 1))
        if (start === undefined) hasLeft.add(conversation)
        else fitting.push({ conversation, start })
      }
      const [found, ...others] = fitting
      if (others.length > 0) return undefined
      if (found === undefined) continue
      const { conversation, start } = found
      const isOwn = request.client !== undefined && conversation.caller === request.caller && !hasLeft.has(conversation)
      return this.#movedTo(conversation, request, messages, {
        ids,
        start,
        answer,
        mayRetract: isOwn || named !== undefined,
      })
    }
    return undefined
  }

  /** The client's own conversations that were indexed by an answer. */
  async #known(key: PlaceKey, { client, caller }: ParsedRequest): Promise<readonly Conversation[]> {
    const known: Conversation[] = []
    for (const { session, len } of (await this.#placesOf(key)).slice(0, maxCandidates)) {
      const conversation = await this.#opened(session, len)
      if (conversation !== undefined && conversation.client === client && (conversation.caller ?? caller) === caller)
        known.push(conversation)
    }
    return known
  }

  /** Where a request continues that has another beginning: in the conversation itself, or in a fork. */
  async #movedTo(
    conversation: Conversation,
    request: ParsedRequest,
    messages: readonly Message[],
    { ids, start, answer, mayRetract }: Moved,
  ): Promise<FoundConversation> {
    const setup = setupLength(messages)
    const before = conversation.setup
    const { last } = conversation
    const isOpen = last !== undefined && last.note === undefined // another request waits for its answer
    let taken = answer + 1
    const endOf = (): number => start + taken - setup
    const isRecorded = (): boolean =>
      taken < ids.length && endOf() < conversation.len && conversation.identityAt(endOf()) === ids[taken]
    if (!isOpen) while (isRecorded()) taken++
    const end = endOf()
    const isSameSetup =
      setup === before && ids.slice(0, setup).every((id, index) => conversation.identityAt(index) === id)
    // Other instructions with other tools, or for another model, are another agent with the same history.
    const tools = lastDetails(conversation.session)?.tools
    const isSameAgent =
      isSameSetup ||
      (tools === (request.tools && blockIdOf(request.tools)) && (last?.model ?? request.model) === request.model)
    const isHere = isSameAgent && (end === conversation.len || (mayRetract && !isOpen))
    const edit = beginningEdit(conversation, messages, setup, start)
    const target = isHere ? conversation : await this.forked(conversation, end, request)
    if (start === before) target.caller = request.caller
    if (edit === undefined) return { conversation: target, from: end, taken }
    const places = ids.map((id, index) =>
      index >= taken
        ? 'new'
        : index >= setup
          ? start + index - setup
          : index < before && target.identityAt(index) === id
            ? index
            : 'made',
    )
    return {
      conversation: target,
      from: 0,
      taken,
      compaction: { upTo: end, summary: undefined, places },
      edit,
      ...(isHere ? {} : present({ original: last })),
    }
  }

  /** Finds the same question after the first `len` messages, unanswered: it is being asked again. */
  async #askedBefore(
    conversation: Conversation,
    len: number,
    messages: readonly Message[],
  ): Promise<FoundConversation | undefined> {
    const before = Array.from({ length: len + 1 }, (_, index) => conversation.chainAt(index) as string)
    const chain = [...before, ...chainOf(messages, before.at(-1)).slice(1)]
    const match = await this.#longest(chain, {})
    if (match?.len !== chain.length - 1 || match.conversation.len !== match.len) return undefined
    return { conversation: match.conversation, from: match.len, taken: messages.length }
  }

  /** The client's conversation that the request is a compaction of. */
  async #compacted(
    client: string,
    request: ParsedRequest,
    messages: readonly Message[],
    chain: readonly string[],
  ): Promise<FoundConversation | undefined> {
    const conversations: Conversation[] = []
    for (const { session } of (await this.#placesOf(`c:${client}`)).slice(0, maxCandidates)) {
      const conversation = await this.#opened(session)
      // A compaction contains the last answer, so its sender knows the conversation.
      const isOwn = conversation?.caller === undefined || conversation.caller === request.caller
      if (conversation?.client === client && isOwn) conversations.push(conversation)
    }
    for (const conversation of conversations) {
      if (!hasSameSetup(conversation, request, messages)) continue
      const others = conversations.filter((other) => other !== conversation)
      const compaction = compactionOf(conversation, messages, sharedFrom(0, conversation, chain), others)
      if (compaction !== undefined) return { conversation, from: 0, taken: messages.length, compaction }
    }
    return undefined
  }

  /** The longest recorded run of messages that a chain continues. Cost: O(log messages) look-ups. */
  async #longest(chain: readonly string[], asker: Asker): Promise<Match | undefined> {
    const messages = chain.length - 1
    // Almost every call continues an open conversation by a few messages.
    for (let len = messages; len > Math.max(0, messages - 8); len--) {
      const whole = [...this.#open.values()].filter(
        (conversation) => conversation.len === len && conversation.chainAt(len) === chain[len],
      )
      if (whole.length === 0) continue
      const match = bestOf(
        whole.toReversed().map((conversation) => ({ conversation, len })),
        asker,
      )
      if (match?.conversation.client === asker.client) return match
      break // its own conversation may be closed
    }
    const marks = marksUpTo(messages)
    let best: readonly Conversation[] = []
    let low = -1
    let high = marks.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const found = await this.#at(chain, marks[middle] as number)
      if (found.length === 0) high = middle - 1
      else {
        low = middle
        best = found
      }
    }
    const shared = best.map((conversation) => ({
      conversation,
      len: sharedFrom(marks[low] as number, conversation, chain),
    }))
    const most = Math.max(0, ...shared.map(({ len }) => len))
    return bestOf(
      shared.filter(({ len }) => len === most),
      asker,
    )
  }

  /** The conversations with these first messages, most recently recorded first. */
  async #at(chain: readonly string[], len: number): Promise<readonly Conversation[]> {
    const fitting: Conversation[] = []
    const places = await this.#placesOf(`m:${chain[len] as string}`)
    for (const place of places.slice(0, maxCandidates)) {
      const conversation = await this.#opened(place.session, place.len)
      if (conversation?.chainAt(len) === chain[len]) fitting.push(conversation as Conversation)
    }
    return fitting
  }

  async #placesOf(key: PlaceKey): Promise<readonly { readonly session: string; readonly len: number }[]> {
    const found = await this.#places.find(key)
    if (!isLeft(found)) return found.right
    if (!this.isUnread(found.left)) throw problem('look up', key, found.left)
    return []
  }

  /**
   * Index messages that are about to be appended. Indexed first, because matches are verified
   * anyway, and messages that a kill left unindexed would be recorded again.
   */
  async index(conversation: Conversation, from: number, messages: readonly Message[]): Promise<void> {
    await this.#add(conversation.session.id, keysOfMessages(conversation, from, messages))
  }

  /**
   * Index an answer that is about to be appended: by its messages, by the message before it, and by the names under which
   * its provider continues it.
   */
  async indexAnswer(
    conversation: Conversation,
    answer: readonly Message[],
    responses: readonly string[],
  ): Promise<void> {
    const { session, len } = conversation
    const [first] = answer
    if (first === undefined) return
    await this.#add(session.id, [
      ...keysOfMessages(conversation, len, answer),
      ...(len === 0
        ? []
        : [placeOf(exchangeKey(conversation.identityAt(len - 1), identityOf(first)), session.id, len + 1)]),
      ...responses.map((id) => placeOf(`r:${id}`, session.id, len + answer.length)),
    ])
  }

  /** Index a session. An unreadable index is skipped. */
  async #add(session: string, keys: readonly KeyedPlace[]): Promise<void> {
    const added = await this.#places.add(keys)
    if (isLeft(added) && !this.isUnread(added.left)) throw problem('index', session, added.left)
  }

  #keep(conversation: Conversation): Conversation {
    const { id } = conversation.session
    this.#open.delete(id)
    this.#open.set(id, conversation)
    for (const [oldest, { session }] of this.#open) {
      if (this.#open.size <= maxOpen) break
      this.#open.delete(oldest)
      void session.close()()
    }
    return conversation
  }

  /**
   * The open session; undefined if it is gone, sealed or unreadable.
   *
   * @param len its length by the index. If it has fewer messages, those of other processes are read
   */
  async #opened(id: string, len = 0): Promise<Conversation | undefined> {
    const open = this.#open.get(id)
    if (open !== undefined) {
      if (open.len < len) await open.refresh()
      return this.#keep(open)
    }
    const found = await openConversation(this.#store, id)
    if (!isLeft(found)) return this.#keep(found.right)
    if (isOver(found.left) || this.isUnread(found.left)) return undefined
    throw problem('open', id, found.left)
  }

  async #fresh(
    request: ParsedRequest,
    messages: readonly Message[],
    id: string = newId(request),
  ): Promise<Conversation> {
    const made = await this.#made(request, messages, id)
    if (isLeft(made)) throw problem('create', id, made.left)
    return made.right
  }

  async #made(
    request: ParsedRequest,
    messages: readonly Message[],
    id: string,
  ): Promise<Either<RecordFault, Conversation>> {
    const title = titleOf(messages)
    const metadata = {
      recorder: request.api,
      model: request.model,
      ...present({ title, client: request.client, cwd: request.folder }),
    }
    const session = await createSession(this.#store, { id, metadata })()
    if (isLeft(session)) return session
    if (request.client !== undefined) await this.#add(id, [placeOf(`c:${request.client}`, id, 0)])
    return right(this.#keep(new Conversation(session.right, request.client)))
  }

  /** The session with this id, created if missing; undefined if it has ended or can't be read. */
  async #named(id: string, request: ParsedRequest, messages: readonly Message[]): Promise<Conversation | undefined> {
    const known = await this.#opened(id)
    if (known !== undefined) return known
    const made = await this.#made(request, messages, id)
    if (!isLeft(made)) return made.right
    if (made.left._tag !== 'LogExists') throw problem('create', id, made.left)
    return this.#opened(id) // another process created it first
  }

  /** A fork of a conversation after its first `len` messages. */
  async forked(from: Conversation, len: number, { client, folder }: ParsedRequest): Promise<Conversation> {
    const { id } = from.session
    const at = from.recordAt(len)
    const to = forkId(id)
    const { client: _of, ...metadata } = from.session.metadata()
    const forked = await forkSession(this.#store, id, {
      id: to,
      at,
      metadata: { ...metadata, ...present({ client, cwd: folder }) },
    })()
    if (isLeft(forked)) {
      this.forget(id) // the next call skips it if it can't be read any more
      throw problem('fork', id, forked.left)
    }
    const found = await openConversation(this.#store, to)
    if (isLeft(found)) throw problem('open', to, found.left)
    const conversation = found.right
    if (conversation.chainAt(len) !== from.chainAt(len)) {
      const adopted = await conversation.adopt(this.#store, from)
      if (isLeft(adopted)) throw problem('append to', to, adopted.left)
    }
    this.#keep(conversation)
    const mark = marksUpTo(len).at(-1) // searches start there
    await this.#add(to, [
      ...(client === undefined ? [] : [placeOf(`c:${client}`, to, 0)]),
      ...(mark === undefined ? [] : [placeOf(`m:${conversation.chainAt(mark) as string}`, to, mark)]),
    ])
    return conversation
  }

  /** Whether a conversation is indexed under a response. */
  async hasResponse(id: string): Promise<boolean> {
    return (await this.#placesOf(`r:${id}`)).length > 0
  }

  /** Whether a log is permanently unreadable: its key is missing, it is damaged, or another program wrote it. */
  isUnread(fault: RecordFault): boolean {
    if (!unread.has(fault._tag) || !('id' in fault)) return false
    if (this.#unread.size > 10_000) this.#unread.clear()
    if (!this.#unread.has(fault.id)) this.#unread.set(fault.id, sessionFaultText(fault))
    return true
  }

  /** Keep the sums of the calls of the open sessions. What fails here is computed when it is needed. */
  async keepSums(): Promise<void> {
    for (const id of this.#open.keys()) await keepSums(this.#store, id)()
  }

  /** Close the cached handle, so the session is opened again. */
  forget(id: string): void {
    this.#open.delete(id)
  }
}

type KeyedPlace = Parameters<Places['add']>[0][number]

const placeOf = (key: PlaceKey, session: string, len: number): KeyedPlace => [key, { session, len }]

/** The marks of a conversation that messages from an index on bring it to. */
const keysOfMessages = (
  conversation: Conversation,
  from: number,
  messages: readonly Message[],
): readonly KeyedPlace[] => {
  const marks = marksUpTo(from + messages.length).filter((len) => len > from)
  const chain = marks.length === 0 ? [] : chainOf(messages, conversation.chainAt(from))
  return marks.map((len) => placeOf(`m:${chain[len - from] as string}`, conversation.session.id, len))
}

const unread: ReadonlySet<string> = new Set<RecordFault['_tag']>([
  'NoKey',
  'DamagedLog',
  'NotASession',
  'UnfinishedSession',
  'NewerSession',
])

/** Whether a session accepts no more appends. */
export const isOver = ({ _tag }: RecordFault): boolean => _tag === 'NoSuchLog' || _tag === 'SessionSealed'

const memoize = <Value>(compute: () => Value): (() => Value) => {
  let known: { readonly value: Value } | undefined
  return () => (known ??= { value: compute() }).value
}
