/** What a state of a context saves, and which one is left aside. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, toolCall, toolResult, user, type Message, type View } from 'indelible'
import {
  deriveContext,
  estimateTokens,
  paged,
  window,
  type DerivedContext,
  type DeriveOptions,
  type Estimator,
} from 'indelible/context'
import type { Note } from '../../src/notes/kit.ts'

/** A record of work, or without tools one of talk. */
const recordOf = (length: number, isTalk = false): View<Message> => {
  const history = createHistory<Message>({ from: [user('Fix the build.')] })
  for (let index = 0; history.len < length; index++)
    if (isTalk)
      history.append(
        (index % 2 === 0 ? assistant : user)(`At ${index} Anna paid ${index * 7} euros for item ${index}.`),
      )
    else {
      history.append(
        assistant(`Looking at ${index}.`, toolCall(`call_${index}`, 'read', { path: `src/file${index}.ts` })),
      )
      history.append(toolResult(`call_${index}`, `export const value${index} = ${index}\n`.repeat(8)))
    }
  return history.view()
}

const derive = (view: View<Message>, options: DeriveOptions): DerivedContext => {
  const derived = deriveContext(view, options)
  if (isLeft(derived)) throw new Error(derived.left._tag)
  return derived.right
}

let counted = 0
/** An estimator that has counted no message before. */
const fresh = (): Estimator => (message) => ((counted += 1), estimateTokens(message))
const estimate = fresh()

const messagesOf = ({ messages }: DerivedContext): string => JSON.stringify(messages)

describe('a context derived from a saved state', () => {
  it.each([false, true])('reads only new messages, however long the record is (talk: %s)', (isTalk) => {
    /** How many messages were counted, and how many were read. */
    const cost = (length: number): readonly [counted: number, read: number] => {
      const view = recordOf(length, isTalk)
      const { state } = derive(view.slice(0, length - 20), { budget: 3000 })
      let read = 0
      counted = 0
      const reading = new Proxy(view, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name, target)
          if (typeof member !== 'function') return member
          return (...given: unknown[]): unknown => {
            if (name === 'at') read += 1
            return (member as (...given: unknown[]) => unknown).apply(target, given)
          }
        },
      })
      const context = derive(reading, { budget: 3000, estimate: fresh(), state })
      const cost = [counted, read] as const
      expect(messagesOf(context)).toBe(messagesOf(derive(view, { budget: 3000 })))
      return cost
    }
    const [short, long] = [cost(300), cost(900)]
    expect(long[0]).toBeLessThan(short[0] * 2)
    // What was said lately is read again, to know what is new.
    expect(long[1]).toBeLessThan(short[1] * 2 + (isTalk ? 1000 : 0))
  })
  it('reads only new messages, also where a call never got its result', () => {
    const lost = [user('Look.'), assistant('Looking.', toolCall('lost', 'read', {})), ...recordOf(80).toArray()]
    const view = createHistory<Message>({ from: lost }).view()
    const { state = '' } = derive(view, { budget: 1500 })
    expect(state).toMatch(/"unanswered":\[\[/)
    const count = (options: Partial<DeriveOptions>): number => {
      counted = 0
      derive(view, { budget: 1500, estimate: fresh(), ...options })
      return counted
    }
    expect(count({ state })).toBeLessThan(count({}) / 2)
  })
  it('contains no text of messages in the state', () => {
    const { state } = derive(recordOf(400), { budget: 3000 })
    expect(state).toMatch(/^[0-9a-f]{16}\n\{"key":/)
    for (const text of ['Fix', 'build', 'Looking', 'call_', 'read', 'src', 'value', 'export'])
      expect(state).not.toContain(text)
    expect((state ?? '').length).toBeLessThan(20_000)
  })
  it('is derived from the record if the state is damaged anywhere', () => {
    const view = recordOf(80)
    const { state = '' } = derive(view, { budget: 1500 })
    const context = derive(view, { budget: 1500, estimate, state })
    expect(context.state).toBe(state)
    counted = 0
    derive(view, { budget: 1500, estimate: fresh(), state })
    const little = counted
    for (let at = 0; at < state.length; at += Math.ceil(state.length / 12))
      for (const damaged of [
        state.slice(0, at),
        `${state.slice(0, at)}${state[at] === '1' ? '2' : '1'}${state.slice(at + 1)}`,
      ]) {
        counted = 0
        derive(view, { budget: 1500, estimate: fresh(), state: damaged })
        expect(counted).toBeGreaterThan(little)
      }
  })
  it('is derived from the record if the state has another record, policy, budget, model, estimator or tool', () => {
    const records = [recordOf(90), recordOf(100, true)]
    const notes: Note[] = [{ type: 'pin', position: 0 }]
    const others: readonly DeriveOptions[] = [
      { budget: 2100 },
      { budget: 2000, policy: window },
      { budget: 2000, policy: { ...paged(), version: 'mine' } },
      ...[{ keeps: new Set([9]) }, { highWater: 0.9 }, { fills: 0.9 }, { talks: false }].map((other) => ({
        budget: 2000,
        policy: { ...paged(), ...other },
      })),
      { budget: 2000, model: 'acme-1' },
      { budget: 2000, estimate: (message) => JSON.stringify(message).length / 3 },
      { budget: 2000, tools: [] },
      { budget: 2000, systemTokens: 100 },
      { budget: 2000, notes },
    ]
    for (const of of records) {
      const { state } = derive(of, { budget: 2000 })
      for (const options of others)
        for (const record of records)
          expect(messagesOf(derive(record, { ...options, state }))).toBe(messagesOf(derive(record, options)))
    }
  })
  it('has no state before the first compaction or for a custom policy', () => {
    const { version: _, ...unknown } = paged()
    expect(derive(recordOf(20), { budget: 9000 }).state).toBeUndefined()
    expect(derive(recordOf(300), { budget: 2000, policy: unknown }).state).toBeUndefined()
    expect(derive(recordOf(300), { budget: 2000, policy: window }).state).toBeUndefined()
  })
})

describe('a call id that was used before', () => {
  it('keeps its number in a context derived from a saved state', () => {
    const said: Message[] = [user('Fix the build.')]
    for (let index = 0; index < 60; index++)
      said.push(
        assistant(toolCall('same', 'read', { path: `src/${index}.ts` }), toolCall(`own_${index}`, 'look', {})),
        toolResult('same', `export const value${index} = ${index}\n`.repeat(8)),
        toolResult(`own_${index}`, 'seen'),
        assistant(toolCall('same', 'write', { path: `src/${index}.ts` })),
        toolResult('same', 'Written.'),
      )
    const view = createHistory<Message>({ from: said }).view()
    const before = derive(view.slice(0, view.length - 5), { budget: 3000 })
    expect(before.state).toBeDefined()
    counted = 0
    const context = derive(view, { budget: 3000, estimate: fresh(), state: before.state })
    expect(counted).toBeLessThan(view.length / 2)
    expect(messagesOf(context)).toBe(messagesOf(derive(view, { budget: 3000, previous: before })))
    expect(context.messages.at(-2)?.content).toMatchObject([{ id: 'same_5' }])
  })
})

describe('the context before', () => {
  it.each([0, 1, 3, 7, 15, 31])('is not continued by a record with another message at %i', (at) => {
    const view = recordOf(60)
    const previous = derive(view, { budget: 20_000 })
    const said = user('Nothing of that.')
    const other = new Proxy(view, {
      get: (target, name) => {
        if (name === 'at') return (index: number) => (index === at ? said : target.at(index))
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      },
    })
    expect(derive(view, { budget: 20_000, previous }).messages.at(at)).toBe(previous.messages.at(at))
    expect(messagesOf(derive(other, { budget: 20_000, previous }))).toBe(messagesOf(derive(other, { budget: 20_000 })))
  })
})
