/** What the soak runs: one turn of an agent on a durable session, against a provider on loopback. */
import { Anthropic } from '@anthropic-ai/sdk'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { OpenAI } from 'openai'
import { openCalls, settle, user, type Settled, type Message } from '../../src/index.ts'
import type { View } from '../../src/history/index.ts'
import {
  run,
  sessionHandler,
  tool,
  type Model,
  type Tool,
  type RunHandler,
  type RunStream,
} from '../../src/run/index.ts'
import { anthropicModel } from '../../src/run/anthropic/index.ts'
import { openaiChatModel, openaiResponsesModel } from '../../src/run/openai/index.ts'
import { createSession, openSession, type Session, pending } from '../../src/session/index.ts'
import type { Store } from '../../src/store/index.ts'

export const done = async <T>(task: () => Promise<Either<unknown, T>>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(JSON.stringify(answer.left))
  return answer.right
}

const quiet = { apiKey: 'k', maxRetries: 0, logLevel: 'off' } as const

export const providers = ['anthropic', 'chat', 'responses'] as const
export type Provider = (typeof providers)[number]

export const modelOf = (provider: Provider, url: string): Model => {
  if (provider === 'anthropic') return anthropicModel(new Anthropic({ ...quiet, baseURL: url }), { model: 'm' })
  const client = new OpenAI({ ...quiet, baseURL: `${url}/v1` })
  return provider === 'chat' ? openaiChatModel(client, { model: 'm' }) : openaiResponsesModel(client, { model: 'm' })
}

const later = <T>(milliseconds: number, value: T): Promise<T> =>
  new Promise((resolve) => setTimeout(() => resolve(value), milliseconds))

export const tools: readonly Tool[] = [
  tool({ name: 'quick', parameters: { type: 'object' }, run: () => 'done' }),
  tool({ name: 'slow', parameters: { type: 'object' }, run: () => later(3, { slow: true }) }),
  tool({ name: 'fails', parameters: { type: 'object' }, run: () => { throw new Error('no') } }),
  tool({ name: 'hangs', parameters: { type: 'object' }, timeout: 5, run: () => new Promise(() => undefined) }),
] // oxfmt-ignore

export const settledView = (session: Session): Settled<View<Message>> => {
  const found = settle(session.view())
  if (isLeft(found)) throw new Error(`not settled: ${JSON.stringify(found.left)}`)
  return found.right
}

/** A session that can be gone on with: opened or started, what a crash left open answered. */
export const ready = async (store: Store, id: string): Promise<Session> => {
  const opened = await openSession(store, id)()
  const session = isLeft(opened) ? await done(createSession(store, { id })) : opened.right
  if (openCalls(session.view()).length > 0)
    await done(session.append(pending(session, { reason: 'The process died.' }).messages))
  return session
}

export const turn = async (
  session: Session,
  model: Model,
  output: string,
  handlers: readonly RunHandler[] = [],
): Promise<RunStream> => {
  await done(session.append(user(output)))
  return run({
    model,
    view: settledView(session),
    tools,
    // A process that dies is followed by the next at once.
    handlers: [sessionHandler(session, { lease: { ttl: 500, whenBusy: 'wait' } }), ...handlers],
    limits: { maxSteps: 6 },
  })
}
