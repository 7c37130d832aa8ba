/** Records a call: first its request, then its answer with the receipt. */
import {
  ownField,
  ownFields,
  isLeft,
  isObject,
  jsonEqual,
  present,
  right,
  utf8Of,
  type Immutable,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { ReceiptNote } from 'indelible/internal/notes'
import { digestOf, type BlockId } from 'indelible/internal/proof'
import { hasFailed } from 'indelible/internal/usage'
import type { Store } from 'indelible/store'
import type { RecordedAnswer } from './answers/answer.ts'
import type { RecordedApi } from './apis/index.ts'
import { changesTo } from './answers/answer-body.ts'
import { cacheBreak, type CallBefore } from './conversations/cache-break.ts'
import type { Compaction } from './conversations/compaction.ts'
import { formsOf, type Forms, type ContentOptions } from './requests/content.ts'
import { problem, type Conversation, type SentBefore } from './conversations/conversation.ts'
import { sharedFrom } from './conversations/conversation-match.ts'
import { Conversations, isOver, type Unread } from './conversations/conversations.ts'
import { providerKeyOf } from './conversations/places.ts'
import {
  toSentMessage,
  blockIdOf,
  lastDetails,
  receiptFields,
  runsOf,
  sentDigestOf,
  sentOf,
  textOfBlock,
  type CacheBreak,
  type CallDetails,
  type SentRuns,
  type SentEntries,
} from './conversations/receipt.ts'
import type { StreamEvent } from './answers/stream-lines.ts'
import type { Tally } from './summary.ts'
import { RequestReader } from './requests/request-reader.ts'
import type { ParsedRequest } from './requests/wire.ts'

/** A recorded request, with the state to record its answer. */
export interface RecordedRequest {
  readonly parsed: ParsedRequest
  readonly conversation: Conversation
  /** The length of the conversation that was sent. */
  readonly len: number
  /** Its chain, and the request's messages, which end the conversation. */
  readonly chain: readonly string[]
  readonly messages: readonly Message[]
  readonly sent: SentRuns
  readonly now: SentBefore
  readonly blocks: Pick<CallDetails, 'system' | 'tools'>
  /** The bytes of the blocks that its receipt names. */
  readonly stored: Stored
  readonly broke: CacheBreak | undefined
  readonly digest: string
  readonly head: { readonly size: number; readonly root: string }
}

/** Receives the session to which a call's receipt is about to be appended. It must not throw. */
export type OnPlace = (session: string) => void

/** The outcome of a call as observed from outside. */
export type CallOutcome = Pick<CallDetails, 'at' | 'duration' | 'firstByte' | 'status' | 'error' | 'retryAfter'>

/** Other recorders may append in between; the limit keeps a store that always refuses from blocking forever. */
const mostAttempts = 100

/** The most characters of the body of an answer without a message, and of the event that reports an error. */
const mostReply = 2 ** 16

/** Records calls into the conversations that they continue. */
export class Calls {
  readonly #store: Store
  readonly #forms: Forms
  readonly #tally: Tally
  /** Reads the bodies of requests. */
  readonly reader: RequestReader
  readonly conversations: Conversations

  constructor(store: Store, kept: ContentOptions, tally: Tally, tell: (unread: Unread) => void) {
    this.#store = store
    this.#forms = formsOf(kept)
    this.reader = new RequestReader(this.#forms)
    this.#tally = tally
    this.conversations = new Conversations(store, tell)
  }

  /** Record a request, and find the session for its answer. */
  async begin(request: ParsedRequest, named: string | undefined): Promise<RecordedRequest> {
    const forms = this.#forms
    const parsed = this.reader.recorded(request)
    const messages = parsed.messages
    const stored: Stored = new Map()
    for (let attempt = 1; ; attempt++) {
      const found = await this.conversations.find(parsed, messages, named)
      const { conversation, from, taken, compaction, edit, original } = found
      const news = messages.slice(taken)
      // With another beginning it is found by its answers: all its chains are new, and to index them would cost as much.
      if (compaction === undefined || edit === undefined)
        await this.conversations.index(conversation, from, compaction === undefined ? news : messages)
      const appended =
        compaction !== undefined
          ? await this.#compact(conversation, compaction, messages)
          : news.length === 0 && from === conversation.len
            ? right(undefined)
            : await conversation.replaceFrom(from, news)
      if (isLeft(appended)) {
        const isLost = isOver(appended.left) || this.conversations.isUnread(appended.left)
        if (isLost) this.conversations.forget(conversation.session.id)
        if (attempt < mostAttempts && (appended.left._tag === 'SessionConflict' || isLost)) continue
        throw problem('append to', conversation.session.id, appended.left)
      }
      request.messages.slice(taken).forEach(forms.count)
      const blocks = {
        ...(parsed.system !== undefined && { system: addBlock(stored, parsed.system) }),
        ...(parsed.tools !== undefined && { tools: addBlock(stored, parsed.tools) }),
      }
      // A compaction needs an entry for every message.
      const entries = entriesOf(conversation, messages, from, compaction === undefined ? taken : 0, stored)
      const { last } = conversation
      const before =
        last?.note === undefined || last.isErasable ? undefined : { note: last.note, entries: last.entries }
      const sent = sentOf(entries, before)
      const now: SentBefore = {
        entries,
        model: parsed.model,
        ...textsOf(request),
        messages: messages.map(sentDigestOf),
      }
      const whole = parsed.previous === undefined && parsed.conversation === undefined // otherwise the provider has the earlier messages
      const isKnown = !whole || last !== undefined || original !== undefined
      const recorded = isKnown ? undefined : await this.#lastRecorded(conversation)
      const compared = recorded === undefined ? now : { ...now, ...textsOf(parsed) }
      const changes = { compacted: compaction !== undefined, edit, taken }
      const broke = whole ? cacheBreak(last, compared, changes, original ?? recorded) : undefined
      conversation.last = whole ? now : undefined
      const head = conversation.session.head()
      const digest = digestOf(JSON.stringify([request.system ?? null, request.tools ?? null, now.messages]))
      const { chain, len } = conversation
      return { parsed, conversation, len, chain: [...chain], messages, sent, now, blocks, stored, broke, digest, head }
    }
  }

  /** The last call of a session that another recorder wrote; undefined if its tools or system text can't be read. */
  async #lastRecorded({ session }: Conversation): Promise<CallBefore | undefined> {
    const details = lastDetails(session)
    if (details === undefined) return undefined
    const { tools, system } = details
    const blocks = await this.#store.getBlocks([tools, system].filter((id) => id !== undefined))()
    if (isLeft(blocks)) return undefined
    const texts = blocks.right.map(textOfBlock)
    return { tools: tools && texts[0], system: system && texts.at(-1), messages: [] }
  }

  #compact(
    conversation: Conversation,
    compaction: Compaction,
    messages: readonly Message[],
  ): ReturnType<Conversation['compact']> {
    const stored: Stored = new Map()
    const blocks = new Map<number, BlockId>() // of messages that exist only in the compaction
    for (const [index, place] of compaction.places.entries())
      if (place === 'made' || (typeof place === 'number' && typeof conversation.entryAt(place) === 'string'))
        blocks.set(index, addBlock(stored, toSentMessage(messages[index] as Message) as unknown as Json))
    return conversation.compact(compaction, messages, blocks, [...stored.values()])
  }

  /**
   * Record an answer and the receipt of its call: after the sent messages, or in a fork if other messages follow them or
   * the session was sealed.
   */
  async finish(
    begun: RecordedRequest,
    answered: RecordedAnswer | undefined,
    outcome: CallOutcome,
    onPlace?: OnPlace,
  ): Promise<void> {
    const { parsed, len, chain, messages: input, blocks, stored, broke, digest, head } = begun
    const forms = this.#forms
    const { error: broken, ...timed } = ownFields(outcome)
    const content = broken ?? answered?.error
    const error = content === undefined ? undefined : forms.beside(content).slice(0, 500).toWellFormed()
    const model = answered?.model === undefined ? parsed.model : forms.name(answered.model)
    const { messages, reply } = this.#kept(parsed, model, answered, outcome.status)
    const cut =
      answered !== undefined && !answered.whole && (error === undefined || messages.length > 0 || broken !== undefined)
    const details: CallDetails = {
      api: parsed.api,
      sent: begun.sent,
      ...blocks,
      ...(Object.keys(parsed.parameters).length > 0 && { parameters: parsed.parameters }),
      ...(parsed.model !== model && { requested: parsed.model }),
      ...(parsed.stream && { stream: true as const }),
      ...(parsed.client !== undefined && { client: parsed.client }),
      ...(answered?.id !== undefined && { response: answered.id }),
      ...timed,
      ...(answered?.stop !== undefined && { stop: forms.name(answered.stop) }),
      ...(answered?.tier !== undefined && { tier: answered.tier }),
      ...(answered?.choices !== undefined && { choices: answered.choices }),
      ...(error !== undefined && { error }),
      ...(reply !== undefined && { reply }),
      ...(cut && { cut: true as const }),
      ...(broke !== undefined && { broke }),
    }
    const responses = [
      ...(answered?.id !== undefined && parsed.api === 'openai-responses' ? [answered.id] : []),
      ...(parsed.conversation === undefined ? [] : [providerKeyOf(parsed.conversation)]),
    ]
    let { conversation, sent } = begun
    let isSealed = false
    for (let attempt = 1; ; attempt++) {
      if (isSealed || (messages.length > 0 && conversation.chainAt(conversation.len) !== chain[len])) {
        const shared = sharedFrom(0, conversation, chain)
        conversation = await this.conversations.forked(conversation, shared, parsed)
        // A request that names an earlier response has only the messages after it.
        const earlier = begun.now.entries.slice(0, len - input.length)
        const view = begun.conversation.session.view()
        const known = earlier.flatMap((entry) => (typeof entry === 'number' ? [view.at(entry) as Message] : []))
        const again =
          shared === len
            ? right(undefined)
            : await conversation.replaceFrom(shared, [...known, ...input].slice(shared - len))
        if (isLeft(again)) throw problem('append to', conversation.session.id, again.left)
        sent = runsOf(entriesOf(conversation, input, len - input.length, 0, stored))
      }
      const { alike, fields } = receiptFields({ ...details, sent }, conversation.receipts)
      // A receipt directly after its answer needs no `head`: its place tells.
      const follows = conversation !== begun.conversation || conversation.session.head().size === head.size
      const receipt: ReceiptNote = {
        type: 'receipt',
        len: conversation.session.len,
        ...(!(follows && messages.length > 0) && { head }),
        contextDigest: digest,
        model,
        ...(answered?.usage !== undefined && { usage: answered.usage }),
        ...fields,
      }
      // Indexed before the append, so that a kill leaves no messages that can't be found.
      await this.conversations.indexAnswer(conversation, messages, responses)
      const note = conversation.session.notes().length
      onPlace?.(conversation.session.id)
      const finished = await conversation.finish(messages, receipt, [...stored.values()])
      if (!isLeft(finished)) {
        if (conversation === begun.conversation) begun.now.note = note
        // One with an error's body may be erased with a message, so no other may need it.
        if (reply === undefined) conversation.wrote(alike, note)
        else if (conversation === begun.conversation) begun.now.isErasable = true
        break
      }
      isSealed = finished.left._tag === 'SessionSealed'
      if (isSealed) this.conversations.forget(conversation.session.id)
      if (attempt === mostAttempts || !(isSealed || finished.left._tag === 'SessionConflict'))
        throw problem('append an answer to', conversation.session.id, finished.left)
    }
    const { session } = conversation
    this.#tally.called({
      session: session.id,
      model: answered?.tier === undefined ? model : `${model} (${answered.tier})`,
      failed: hasFailed({ ...details }),
      usage: answered?.usage,
      explained: conversation.explainLastCall(),
    })
  }

  /**
   * The messages of an answer, the first with what its body has besides them; and the body, if there is no message.
   */
  #kept(
    parsed: ParsedRequest,
    model: string,
    answered: RecordedAnswer | undefined,
    status: number | undefined,
  ): { readonly messages: readonly Message[]; readonly reply: CallDetails['reply'] } {
    if (answered === undefined) return { messages: [], reply: undefined }
    const forms = this.#forms
    const messages = answered.messages.map(forms.answered)
    const plain = answered.body === undefined ? undefined : forms.body(answered.body)
    // An answer without a message that was sent whole is kept as its text, so that it is not taken for that of a stream.
    const isText = messages.length === 0 && !answered.isStream && (status ?? 0) < 400 && typeof plain === 'object'
    const body = isText ? JSON.stringify(plain) : plain
    const event = answered.event === undefined ? undefined : forms.body(answered.event)
    const events =
      answered.events && (forms.events(withoutEnvelopes(parsed.api, answered.events)) as unknown as Json | undefined)
    const [first, ...others] = messages
    if (first === undefined) {
      const reply = isLong([body, events])
        ? present({
            // Without the sentence of an error, its beginning is all that says what it was.
            body: answered.error === undefined && (status ?? 0) >= 400 ? beginningOf(body) : undefined,
            event: isLong(event) ? undefined : event,
          })
        : present({ body, event, events })
      return { messages, reply: Object.keys(reply).length === 0 ? undefined : reply }
    }
    const { id, stop, usage } = answered
    const name = stop === undefined ? undefined : forms.name(stop)
    const changes =
      body === undefined
        ? []
        : changesTo({ api: parsed.api, messages, model, id, stop: name, usage, request: parsed }, body)
    const meta = ownField(first, 'meta') ?? {}
    const ours = ownField(meta, 'indelible') as JsonObject | undefined
    const more = present({ body: changes.length === 0 ? undefined : (changes as Json), events })
    const kept =
      Object.keys(more).length === 0 ? first : { ...first, meta: { ...meta, indelible: { ...ours, ...more } } }
    return { messages: [kept, ...others], reply: event === undefined ? undefined : { event } }
  }
}

const isLong = (value: unknown): boolean => (JSON.stringify(value)?.length ?? 0) > mostReply

/** The beginning of a body, as a text. */
const beginningOf = (body: Json | undefined): string | undefined =>
  body === undefined
    ? undefined
    : (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, mostReply).toWellFormed()

/** Blocks to store, by id. */
type Stored = Map<BlockId, Uint8Array>

/** Adds JSON as a block. */
const addBlock = (stored: Stored, value: Json): BlockId => {
  const id = blockIdOf(value)
  if (!stored.has(id)) stored.set(id, utf8Of(JSON.stringify(value)))
  return id
}

/** The sent messages: positions if the record has the same message, else blocks. */
const entriesOf = (
  conversation: Conversation,
  messages: readonly Message[],
  from: number,
  taken: number,
  stored: Stored,
): SentEntries => {
  const entries: (number | BlockId)[] = []
  const before = from - taken // messages the provider already has, if the request names an earlier response
  for (let index = 0; index < before; index++) entries.push(conversation.entryAt(index))
  for (const [index, message] of messages.entries()) {
    const recorded = conversation.at(before + index)
    const same = recorded !== undefined && isSentAs(recorded, message)
    entries.push(
      same ? conversation.entryAt(before + index) : addBlock(stored, toSentMessage(message) as unknown as Json),
    )
  }
  return entries
}

const sentAs = new WeakMap<Message, Immutable<Message>>()

/** Whether a message was sent as it is recorded. Cost: O(message), once for two objects that are equal. */
const isSentAs = (recorded: Immutable<Message>, message: Message): boolean => {
  if (sentAs.get(message) === recorded) return true
  if (!jsonEqual(toSentMessage(recorded), toSentMessage(message))) return false
  sentAs.set(message, recorded)
  return true
}

/** Events without the envelope of Code Assist, which a replay adds where its request wants it. */
const withoutEnvelopes = (api: RecordedApi, events: readonly StreamEvent[]): readonly StreamEvent[] =>
  api !== 'gemini'
    ? events
    : events.map(({ name, data }) => ({
        name,
        data: isObject(data) && isObject(data['response']) ? (data['response'] as JsonObject) : data,
      }))

const textsOf = ({ tools, system }: ParsedRequest): Pick<SentBefore, 'tools' | 'system'> => ({
  tools: tools === undefined ? undefined : JSON.stringify(tools),
  system: system === undefined ? undefined : JSON.stringify(system),
})
