/** The same turns, a question and an answer each, kept by one way or another: what the benches of peers measure. */
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { assistant, createSession, openSession, user, type Message, type Store } from 'indelible'
import { createPendingHistory, hydrate, persist } from '@indelible/workflows/refs'

export const turns: number = process.argv.includes('--quick') ? 40 : 400

export interface MessageStore {
  readonly add: (messages: readonly Message[], number: number) => unknown
  /** How many messages it finds when it is opened anew. */
  readonly load: () => number | Promise<number>
  /** Let go of its files or connections; SQLite then moves its log into the database. */
  readonly close: () => unknown
}

export const ok = <T>(answer: Either<unknown, T>): T => {
  if (isLeft(answer)) throw new Error(JSON.stringify(answer.left))
  return answer.right
}

export const keptBySession = async (store: Store): Promise<MessageStore> => {
  const session = ok(await createSession(store, { id: 's' })())
  return {
    add: async (messages) => ok(await session.append(messages)()),
    load: async () =>
      ok(await openSession(store, 's')())
        .view()
        .toArray().length,
    close: () => store.close(),
  }
}

export const keptByRefs = async (store: Store): Promise<MessageStore> => {
  let history = ok(await persist(store, createPendingHistory({ scope: store.scope }))())
  return {
    add: async (messages) => {
      const pending = history.extend()
      for (const message of messages) pending.append(message)
      history = ok(await persist(store, pending)())
    },
    load: async () => ok(await hydrate(store, history.refHistory())()).len,
    close: () => store.close(),
  }
}

export interface Conversation {
  readonly title: string
  readonly turn: (number: number) => readonly Message[]
  /** Bytes of JSON of all turns. */
  readonly json: number
}

export const conversationOf = (title: string, at: (position: number) => Message): Conversation => {
  const turn = (number: number): readonly Message[] => [at(2 * number), at(2 * number + 1)]
  let json = 0
  for (let number = 0; number < turns; number++)
    for (const message of turn(number)) json += Buffer.byteLength(JSON.stringify(message))
  return { title, turn, json }
}

/** Messages of 1 kB that no store can make smaller. */
export const incompressible = (noise: () => string): ((position: number) => Message) => {
  const messages: readonly Message[] = Array.from({ length: 2 * turns }, (_, position) =>
    (position % 2 === 0 ? user : assistant)(noise()),
  )
  return (position) => messages[position] as Message
}

/** Keep every turn, then load all and close: the times of turns 10 and the last ones, and of the load. */
export const measured = async (
  name: string,
  kept: MessageStore,
  { turn }: Conversation,
): Promise<readonly string[]> => {
  const times: number[] = []
  for (let number = 0; number < turns; number++) {
    const messages = turn(number)
    const from = performance.now()
    await kept.add(messages, number)
    times.push(performance.now() - from)
  }
  const from = performance.now()
  const found = await kept.load()
  const load = performance.now() - from
  if (found !== 2 * turns) throw new Error(`${name} has ${found} messages, not ${2 * turns}`)
  await kept.close()
  return [medianAround(times, 10), medianAround(times, turns - 5), `${load.toFixed(1)} ms`]
}

/** The median of ten times around one, of milliseconds each. */
const medianAround = (times: readonly number[], index: number): string => {
  const near = times.slice(Math.max(0, index - 5), index + 5).toSorted((a, b) => a - b)
  return `${((near[near.length >> 1] as number) * 1000).toFixed(0)} µs`
}
