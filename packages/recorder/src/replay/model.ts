/** A model that answers from a session, for tests of a run. */
import { isObject, optionsOf, ownFields, snapshot, type Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { ReceiptNote } from 'indelible/internal/notes'
import { FaultError } from 'indelible/internal/task'
import { streamedEvents } from 'indelible/internal/run'
import type { Model, ModelEvent, ModelRequest } from 'indelible/run'
import type { SessionReader } from 'indelible/session'
import { GrowingLists } from '../growing-lists.ts'
import { CallTree, type ReplayCall } from './call-tree.ts'
import { checkIgnored, replayFaultText } from './fetch.ts'
import { Matching, type Ignored } from './matching.ts'
import { messagesText, missText } from './miss.ts'
import { anySettings, partsOf, type ReplayFault } from './replay.ts'
import { whyNotReplayable } from './session-calls.ts'
import { folderOf, type WorkFolder } from './work-folder.ts'

/**
 * A model that answers what the assistant answered in a session, however that was recorded. A request with the same messages
 * gets the same answer, the second equal one the second. System messages, tools and parameters are not compared. A
 * request that is not in the session throws, with the nearest answer and the line that differs. `close` throws a
 * `FaultError` if a request was not in the session, or if an answer of it was never asked for.
 *
 * @param session the session; its conversation counts
 * @param options what is not compared
 * @throws TypeError for anything but a session and these options
 * @example
 * const model = replayingModel(await openSession(store, 'chat-1'))
 */
export const replayingModel = (
  session: SessionReader,
  options: { readonly ignore?: readonly Ignored[] } = {},
): Model & { readonly close: () => void } => {
  const { ignore = [] } = optionsOf('replayingModel', options, { ignore: true })
  if (typeof (Object(session) as Partial<SessionReader>).conversation !== 'function')
    throw new TypeError('replayingModel takes a session, as `openSession` or `readSession` opens it')
  checkIgnored('replayingModel', ignore)
  const matching = new Matching(ignore)
  const tree = new CallTree()
  const answers = answersOf(session)
  const folderIn = (messages: readonly Immutable<Message>[]): WorkFolder | undefined =>
    ignore.includes('folder') ? folderOf({ system: undefined, messages }) : undefined
  const identitiesOf = (messages: readonly Immutable<Message>[]): readonly string[] => {
    const folder = folderIn(messages)
    return partsOf(messages as readonly Message[]).map((part) => matching.identity(part, folder))
  }
  for (const { call } of answers) tree.add(call, identitiesOf(call.request.messages))
  const byCall = new Map(answers.map((answer) => [answer.call, answer]))
  const faults: { readonly tag: 'NotRecorded' | 'NotReplayable'; readonly text: string }[] = []
  const recordAnew = 'record it anew: run with the real model and open the new session'
  const refuse = (tag: 'NotRecorded' | 'NotReplayable', text: string): never => {
    faults.push({ tag, text })
    throw new Error(text)
  }

  const lists = new GrowingLists<{ readonly list: readonly unknown[] }>()
  const next = (request: readonly Message[]): SessionAnswer => {
    const grown = lists.find(request.map(snapshot)) // the caller may change its own
    lists.add(grown, grown)
    const messages = grown.list as readonly Message[]
    const found = tree.take(anySettings, identitiesOf(messages))
    if (found._tag !== 'Found') {
      const folder = folderIn(messages)
      const name = `A call with ${messagesText(messages.length)}`
      const call = { name, messages, settings: anySettings, folder }
      return refuse('NotRecorded', missText({ call, found, matching, ignore, recordAnew }))
    }
    const answer = byCall.get(found.call) as SessionAnswer
    const reason = whyNotReplayable(answer.message)
    return reason === undefined ? answer : refuse('NotReplayable', `${found.call.name} can't be replayed: ${reason}.`)
  }

  return Object.freeze({
    name: 'replayed',
    stream: async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      signal.throwIfAborted()
      const { message: recorded, receipt } = next([...request.messages])
      // What a recorder or a run noted of the answer is not part of it.
      const { indelible: ours, ...meta } = ownFields(recorded.meta ?? {})
      const isCut = isObject(ours) && ours['interrupted'] === true
      const { meta: _, ...plain } = recorded
      const message: Message = Object.keys(meta).length === 0 ? plain : { ...plain, meta }
      for (const event of streamedEvents(message)) {
        signal.throwIfAborted()
        yield event
      }
      if (isCut) throw new Error('as it was recorded: the answer broke off')
      const reason = message.content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'end_turn'
      const { usage = { input: 0, output: 0 }, model = 'replayed' } = receipt ?? {}
      yield { type: 'finish', message, reason, usage, model }
    },
    close: () => {
      for (const tag of ['NotRecorded', 'NotReplayable'] as const) {
        const texts = faults.flatMap((fault) => (fault.tag === tag ? [fault.text] : []))
        if (texts.length > 0) raise({ _tag: tag, count: texts.length, texts: texts.slice(0, 10) })
      }
      const calls = answers.filter(({ call }) => !call.isAsked).map(({ call }) => call.name)
      if (calls.length > 0) raise({ _tag: 'NotAsked', calls })
    },
  })
}

const raise = (fault: ReplayFault): never => {
  throw new FaultError(fault, replayFaultText(fault))
}

interface SessionAnswer {
  readonly call: ReplayCall
  readonly message: Message
  readonly receipt: ReceiptNote | undefined
}

/** The answers of a session's conversation, each with the messages before it and with its receipt. */
const answersOf = (session: SessionReader): readonly SessionAnswer[] => {
  const receipts = new Map<number, ReceiptNote>() // by the position of the answer
  for (const row of session.at().rows())
    if (row.kind === 'note' && row.note.type === 'receipt') receipts.set(row.after, row.note as ReceiptNote)
  const conversation = session.conversation()
  const messages = [...conversation]
  return messages.flatMap((message, index) => {
    if (message.role !== 'assistant') return []
    const call: ReplayCall = {
      name: `answer ${index} of session ${JSON.stringify(session.id)}`,
      request: {
        ...{ api: undefined, model: undefined, system: undefined, tools: undefined, parameters: undefined },
        messages: messages.slice(0, index),
      },
      answer: async () => ({ _tag: 'NotReplayable', reason: 'a model has no body' }),
      settings: anySettings,
      folder: undefined,
      isAsked: false,
    }
    const position = conversation.positionAt(index) ?? index
    return [{ call, message: message as Message, receipt: receipts.get(position) }]
  })
}
