/** A model that answers from a session, for tests of a run. */
import { isObject, optionsOf, ownFields, snapshot } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { FaultError } from 'indelible/internal/task'
import { streamedEvents } from 'indelible/internal/run'
import type { Model, ModelEvent, ModelRequest } from 'indelible/run'
import type { SessionReader } from 'indelible/session'
import { GrowingLists } from '../requests/growing-lists.ts'
import { checkIgnored, replayFaultText } from './fetch.ts'
import type { Ignored } from './matching.ts'
import { messagesText } from './miss.ts'
import { unknownSettings, type WholeReply } from './recorded-calls.ts'
import { ReplayCalls } from './replay-calls.ts'
import { callsOfMessages } from './session-calls.ts'

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
  const calls = new ReplayCalls(ignore, 'record it anew: run with the real model and open the new session')
  for (const { call } of callsOfMessages(session, 'answer')) calls.add(call)
  const refuse = (tag: 'NotRecorded' | 'NotReplayable', text: string): never => {
    calls.miss(tag, text)
    throw new Error(text)
  }

  const lists = new GrowingLists<{ readonly list: readonly unknown[] }>()
  const next = async (request: readonly Message[]): Promise<WholeReply> => {
    const grown = lists.find(request.map(snapshot)) // the caller may change its own
    lists.add(grown, grown)
    const messages = grown.list as readonly Message[]
    const call = calls.take({ ...unknownSettings, messages }, `A call with ${messagesText(messages.length)}`)
    if (typeof call === 'string') return refuse('NotRecorded', call)
    const reply = await call.answer()
    if (reply._tag === 'Reply') return reply
    return refuse(
      'NotReplayable',
      `${call.name} can't be replayed: ${reply._tag === 'NoReply' ? reply.error : reply.reason}.`,
    )
  }

  return Object.freeze({
    name: 'replayed',
    stream: async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      signal.throwIfAborted()
      const { message, receipt } = await next([...request.messages])
      const recorded = message as Message
      // What a recorder or a run noted of the answer is not part of it.
      const { indelible: ours, ...meta } = ownFields(recorded.meta ?? {})
      const isCut = isObject(ours) && ours['interrupted'] === true
      const { meta: _, ...plain } = recorded
      const answer: Message = Object.keys(meta).length === 0 ? plain : { ...plain, meta }
      for (const event of streamedEvents(answer)) {
        signal.throwIfAborted()
        yield event
      }
      if (isCut) throw new Error('as it was recorded: the answer broke off')
      const reason = answer.content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'end_turn'
      const { usage = { input: 0, output: 0 }, model = 'replayed' } = receipt ?? {}
      yield { type: 'finish', message: answer, reason, usage, model }
    },
    close: () => {
      const fault = calls.fault()
      if (fault !== undefined) throw new FaultError(fault, replayFaultText(fault))
    },
  })
}
