/** The recorded calls of sessions: from the receipts of a recorder, else from the messages. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, jsonIn, left, ownField, present, right, type Immutable, type Json } from 'indelible/internal/json'
import { isErased, type Message } from 'indelible/message'
import { indelibleMetaOf, messageIn } from 'indelible/internal/message'
import type { ReceiptNote } from 'indelible/internal/notes'
import type { BlockId } from 'indelible/internal/proof'
import { sessionFaultText } from 'indelible/internal/session'
import { readSession, type SessionReader } from 'indelible/session'
import type { Store } from 'indelible/store'
import { bodyFrom, type AnswerFacts, type BodyChanges } from '../answers/answer-body.ts'
import type { RecordFault } from '../conversations/conversation.ts'
import { detailsOf, sentEntries, textOfBlock, type CallDetails } from '../conversations/receipt.ts'
import { streamLinesIn, wireEventsOf } from '../answers/stream-lines.ts'
import {
  redactedArguments,
  redactionMark,
  unknownSettings,
  type RecordedCall,
  type RecordedReply,
  type WholeReply,
} from './recorded-calls.ts'

/** The calls of sessions, in the order in which they were sent; or the reason why they can't be read. */
export const callsOfSessions = async (
  store: Store,
  ids: readonly string[],
): Promise<Either<string, readonly RecordedCall[]>> => {
  const all: TimedCall[] = []
  const shared = new Set<string>() // a fork has the rows of its original, too
  for (const id of new Set(ids)) {
    const session = await readSession(store, id)()
    if (isLeft(session))
      return left(`session ${JSON.stringify(id)} can't be read: ${sessionFaultText(session.left as RecordFault)}`)
    const calls = await callsOfSession(store, session.right, shared)
    if (isLeft(calls)) return calls
    for (const call of calls.right) all.push(call)
  }
  return right(all.toSorted((a, b) => a.at - b.at).map(({ call }) => call))
}

interface TimedCall {
  readonly at: number
  readonly call: RecordedCall
}

const callsOfSession = async (
  store: Store,
  session: SessionReader,
  shared: Set<string>,
): Promise<Either<string, readonly TimedCall[]>> => {
  const receipts = receiptsOf(session)
  if (receipts.length === 0) return right(callsOfMessages(session, 'call'))
  const named = receipts.flatMap(({ details, entries }) => [details.system, details.tools, ...entries])
  const ids = [...new Set(named.filter((entry): entry is BlockId => typeof entry === 'string'))]
  const found = await store.getBlocks(ids)()
  if (isLeft(found))
    return left(`the blocks of session ${JSON.stringify(session.id)} can't be read: ${found.left._tag}`)
  const texts = new Map(ids.map((id, index) => [id, jsonIn(textOfBlock(found.right[index]))]))
  const messages = new Map<BlockId, Message>()
  const messageAt = (entry: number | BlockId): Immutable<Message> => {
    if (typeof entry === 'number') return session.view().at(entry) ?? missing
    const known = messages.get(entry)
    if (known !== undefined) return known
    const message = messageIn(texts.get(entry)) ?? missing
    messages.set(entry, message)
    return message
  }
  const calls: TimedCall[] = []
  for (const [index, receipt] of receipts.entries()) {
    const { note, row, details, entries, answer } = receipt
    const key = `${row} ${JSON.stringify(note)}`
    if (shared.has(key)) continue
    shared.add(key)
    const jsonAt = (id: BlockId | undefined): Json | undefined =>
      id === undefined ? null : (texts.get(id) as Json | undefined)
    const request = {
      api: details.api,
      model: details.requested ?? note.model,
      system: jsonAt(details.system),
      tools: jsonAt(details.tools),
      parameters: details.parameters ?? {},
      messages: entries.map(messageAt),
    }
    const answers = answer.map(messageAt)
    const { response } = details
    const call: RecordedCall = {
      name: `call ${index + 1} of session ${JSON.stringify(session.id)}`,
      request,
      ...(response !== undefined && { response: { id: response, messages: answers } }),
      answer: async () => replyOf(note, details, answers, request),
    }
    calls.push({ at: details.at, call })
  }
  return right(calls)
}

interface Receipt {
  readonly note: ReceiptNote
  readonly row: number
  readonly details: CallDetails
  readonly entries: readonly (number | BlockId)[]
  /** The positions of the answer. */
  readonly answer: readonly number[]
}

/** The receipts of a recorder, each with the messages directly before it that were appended with it. */
const receiptsOf = (session: SessionReader): readonly Receipt[] => {
  const receipts: Receipt[] = []
  for (const row of session.at().rows()) {
    if (row.kind !== 'note' || row.note.type !== 'receipt') continue
    const note = row.note as ReceiptNote
    const details = detailsOf(note, session)
    const entries = details && sentEntries(session, note)
    if (details === undefined || entries === undefined) continue
    const answer = Array.from({ length: Math.max(0, row.after + 1 - note.len) }, (_, index) => note.len + index)
    receipts.push({ note, row: row.row, details, entries, answer })
  }
  return receipts
}

/** What came back, from the record. */
const replyOf = (
  note: ReceiptNote,
  details: CallDetails,
  messages: readonly Immutable<Message>[],
  request: AnswerFacts['request'],
): RecordedReply => {
  const { status, error, reply, firstByte, duration, retryAfter } = details
  const pace = { firstByte: firstByte ?? 0, duration }
  const isCut = details.cut === true && reply?.event === undefined
  const cut = isCut ? error : undefined
  const isOpen = isCut && error === undefined ? (true as const) : undefined
  if (status === undefined) return { _tag: 'NoReply', error: error ?? 'no answer came' }
  if (messages.length === 0) {
    const { body, event } = reply ?? {}
    if (body === undefined && event === undefined && status < 400 && error === undefined)
      return { _tag: 'NotReplayable', reason: 'its answer has no message, and its body was not recorded' }
    return {
      ...{ _tag: 'Reply', status, ...pace },
      body:
        body ?? (event !== undefined ? null : status < 400 || error === undefined ? '' : errorBody(details.api, error)),
      ...present({ retryAfter, event, cut, events: wireEventsIn(reply?.events) }),
    }
  }
  const problem = messages.map(whyNotReplayable).find((reason) => reason !== undefined)
  if (problem !== undefined) return { _tag: 'NotReplayable', reason: problem }
  const { api, response: id, stop } = details
  const facts = { api, messages: messages.map(withoutBody), model: note.model, id, stop, usage: note.usage, request }
  const body = bodyFrom(facts, changesIn(messages[0] as Message))
  return {
    ...{ _tag: 'Reply', status, body: body as Json, ...pace },
    ...present({
      retryAfter,
      event: reply?.event,
      cut,
      isOpen,
      events: wireEventsIn(indelibleMetaOf(messages[0] as Message)['events']),
    }),
  }
}

/** The recorded events of an answer; undefined if they were not wanted. */
const wireEventsIn = (value: unknown): WholeReply['events'] => {
  const lines = streamLinesIn(value)
  return lines && wireEventsOf(lines)
}

const changesIn = (message: Immutable<Message>): BodyChanges => {
  const changes = ownField(indelibleMetaOf(message as Message), 'body')
  return Array.isArray(changes) ? (changes as unknown as BodyChanges) : []
}

/** A message as it was when its body was compared with it. */
const withoutBody = (message: Immutable<Message>): Immutable<Message> => {
  const { body, events, ...ours } = indelibleMetaOf(message as Message)
  if (body === undefined && events === undefined) return message
  const { indelible: _, ...meta } = message.meta ?? {}
  return { ...message, meta: Object.keys(ours).length === 0 ? meta : { ...meta, indelible: ours } }
}

/** Why an answer can't be given again; undefined if it can. A redacted text is given with its mark. */
const whyNotReplayable = (message: Immutable<Message>): string | undefined => {
  if (message === missing) return 'its answer is missing or damaged'
  if (isErased(message as Message)) return 'its answer was erased'
  if (indelibleMetaOf(message as Message)['digest'] === undefined) return undefined
  for (const part of message.content) {
    if (part.type === 'tool_call' && (part.arguments === '' || redactionMark.test(part.arguments)))
      return part.arguments === '' ? 'it was recorded without content' : redactedArguments(part)
    if (part.type === 'text' && /^\[\w+: \d+ bytes(?:, |\])/.test(part.text)) return 'it was recorded without content'
  }
  return undefined
}

/** The body of an error of which only the sentence is recorded. */
const errorBody = (api: CallDetails['api'], message: string): Json =>
  api === 'anthropic' ? { type: 'error', error: { type: 'api_error', message } } : { error: { message } }

/** A message of the record that can't be read. */
const missing: Message = Object.freeze({ role: 'assistant', content: [] })

/**
 * The calls of a session without a recorder's receipts, such as an imported one: each run of the assistant's messages
 * answers what comes before it. The model, the tools, the system prompt and the parameters are unknown.
 *
 * @param kind what names them: the number of the `call`, or of the `answer` among the messages
 */
export const callsOfMessages = (session: SessionReader, kind: 'call' | 'answer'): readonly TimedCall[] => {
  const receipts = new Map<number, ReceiptNote>() // by the position of the answer
  for (const row of session.at().rows())
    if (row.kind === 'note' && row.note.type === 'receipt') receipts.set(row.after, row.note as ReceiptNote)
  const conversation = session.conversation()
  const messages = [...conversation]
  const calls: TimedCall[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    const reason = whyNotReplayable(message)
    const receipt = receipts.get(conversation.positionAt(index) ?? index)
    const number = kind === 'call' ? calls.length + 1 : index
    calls.push({
      at: 0,
      call: {
        name: `${kind} ${number} of session ${JSON.stringify(session.id)}`,
        request: { ...unknownSettings, messages: messages.slice(0, index) },
        answer: async () =>
          reason === undefined
            ? { _tag: 'Reply', status: 200, body: null, message, ...present({ receipt }), firstByte: 0, duration: 0 }
            : { _tag: 'NotReplayable', reason },
      },
    })
  }
  return calls
}
