/**
 * Runs on a session that are killed at any event, or at any step of the store, before or after it is done: what was told is
 * in the record, nothing is there twice, and the next request is one that no provider refuses. At full size
 * 20,000 of them.
 */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  anthropic,
  assistant,
  openaiChat,
  openaiResponses,
  orThrow,
  reasoning,
  settle,
  text,
  toolCall,
  user,
  type Message,
  type Part,
  type Settled,
} from 'indelible'
import { resume, tool, turn, type Model, type ModelEvent, type RunEvent, type Tool } from 'indelible/run'
import { createSession, openSession, verifySession, type Session, pending } from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { refusal } from '../codecs/judges/anthropic.ts'
import { judgeChat, judgeResponses } from '../codecs/judges/openai.ts'
import { rounds } from '../rounds.ts'
import type { InterruptBehavior } from '../../src/run/event.ts'

const runs = rounds(60, 20_000)

const never = (): Promise<never> => new Promise(() => undefined)

/** A store as a process sees it, that stops for good: before or after its so many-th append, or when it is told to. */
const mortal = (store: Store, at: number, done: boolean) => {
  let alive = true
  let appends = 0
  let die = (): void => undefined
  const died = new Promise<void>((resolve) => (die = resolve))
  const kill = (): void => {
    alive = false
    die()
  }
  const guarded = Object.fromEntries(
    Object.entries(store).map(([name, method]: [string, unknown]) => [
      name,
      typeof method !== 'function' || name === 'hash' || name === 'now'
        ? method
        : (...given: readonly unknown[]) => {
            if (!alive) return never
            if (name !== 'append') return (method as (...given: readonly unknown[]) => unknown)(...given)
            const task = (): Promise<unknown> =>
              (method as (...given: readonly unknown[]) => () => Promise<unknown>)(...given)()
            return async () => {
              if (!alive) return never()
              const last = appends++ === at
              if (last && !done) return (kill(), never())
              const answer = await task()
              if (last) return (kill(), never())
              return answer
            }
          },
    ]),
  ) as unknown as Store
  return { store: guarded, died, kill }
}

/** Of an answer: `cut` is how many events of it come before the provider breaks off; undefined: all. */
interface Scripted {
  readonly parts: readonly Part[]
  readonly cut: number | undefined
}

function* eventsOf({ parts, cut = Infinity }: Scripted): Generator<ModelEvent> {
  const events: ModelEvent[] = []
  for (const [index, part] of parts.entries()) {
    const block = part.type as 'text' | 'reasoning' | 'tool_call'
    events.push({
      type: 'block_start',
      index,
      block,
      ...(part.type === 'tool_call' && { callId: part.id, name: part.name }),
    })
    if (part.type === 'text')
      for (const piece of part.text.match(/\S+\s?/g) ?? [])
        events.push({ type: 'text_delta', index, block: 'text', text: piece })
    events.push({ type: 'block_end', index, block, part })
  }
  const calls = parts.some(({ type }) => type === 'tool_call')
  events.push({
    type: 'finish',
    message: assistant(...parts),
    reason: calls ? 'tool_calls' : 'end_turn',
    usage: { input: 1, output: 1 },
  })
  yield* events.slice(0, cut)
}

const modelOf = (
  answers: readonly Scripted[],
  results: 'together' | 'perCall',
  pause: (event: number) => boolean,
): Model => {
  const script = answers.values()
  let count = 0
  return {
    name: 'm',
    results,
    async *stream() {
      const { value = { parts: [text(`enough${unique++}`)], cut: undefined } } = script.next()
      for (const event of eventsOf(value)) {
        if (pause(count++)) await new Promise((resolve) => setTimeout(resolve, 0))
        yield event
      }
      if (value.cut !== undefined && value.cut % 2 === 0) throw new Error('connection reset')
    },
  }
}

let unique = 0
const part = fc.oneof(
  {
    weight: 2,
    arbitrary: fc
      .integer({ min: 1, max: 4 })
      .map((words): Part => text(Array.from({ length: words }, () => `word${unique++}`).join(' '))),
  },
  {
    weight: 1,
    arbitrary: fc.constant(0).map((): Part => reasoning(`thought${unique++}`, { signature: `c2ln${unique}` })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('good', 'good', 'late', 'fails', 'hang', 'pay'), fc.boolean())
      .map(([name, same]): Part => toolCall(same ? 'same' : `c${unique++}`, name, `{"n":${unique++}}`)),
  },
)
const answer = fc.record({
  parts: fc.uniqueArray(part, {
    minLength: 1,
    maxLength: 5,
    selector: (made) => (made.type === 'tool_call' ? made.id : made),
  }),
  cut: fc.option(fc.nat({ max: 12 }), { nil: undefined, freq: 5 }),
})

const toolsOf = (hang: () => unknown): readonly Tool[] => [
  tool({ name: 'good', parameters: {}, run: () => 'ok' }),
  tool({ name: 'late', parameters: {}, idempotent: true, run: () => new Promise((resolve) => setTimeout(() => resolve('late'), 0)) }),
  tool({ name: 'fails', parameters: {}, alone: true, run: () => { throw new Error('no') } }),
  tool({ name: 'hang', parameters: {}, run: hang }),
  tool({ name: 'pay', parameters: {}, needsApproval: true, run: () => 'paid' }),
] // oxfmt-ignore

/** A part as it is looked for: an id may have been changed, and a mark added to the last text. */
const shapeOf = (found: Part): string | undefined => {
  if (found.type === 'text') return found.text
  if (found.type === 'reasoning') return `${found.text} ${found.signature}`
  return found.type === 'tool_call' ? `${found.name} ${found.arguments}` : undefined
}
const shapesIn = (messages: Iterable<Message>): readonly string[] =>
  [...messages]
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }) => content.flatMap((found) => shapeOf(found) ?? []))

const refusals: readonly ((messages: Settled<readonly Message[]>) => unknown)[] = [
  (messages) => judgeChat({ model: 'm', messages: orThrow(openaiChat.encode(messages)).wire }),
  (messages) => judgeResponses({ model: 'm', input: orThrow(openaiResponses.encode(messages)).wire }),
  (messages) => refusal({ model: 'm', max_tokens: 1000, ...(orThrow(anthropic.encode(messages)).wire as object) }),
]

/** What was told before the end, and has to be there. */
interface ToldBeforeEnd {
  readonly blocks: string[]
  readonly results: Map<string, string>
  readonly started: Set<string>
  /** Blocks of an answer that is not whole: of these, reasoning alone is kept in the notes only. */
  streaming: string[]
  /** The number of blocks of the last complete answer, until one of its calls starts: an interrupt can discard it. */
  unstarted: number
}

const listen =
  (told: ToldBeforeEnd) =>
  (event: RunEvent): void => {
    if (event.type === 'step_start') told.streaming = []
    if (event.type === 'model_event' && event.event.type === 'block_end') {
      const shape = shapeOf(event.event.part)
      if (shape !== undefined) told.streaming.push(shape)
    }
    if (event.type === 'model_event' && event.event.type === 'finish') {
      told.unstarted = told.streaming.length
      told.blocks.push(...told.streaming.splice(0))
    }
    if (event.type === 'step_complete' || event.type === 'tool_call_start') told.unstarted = 0
    if (event.type === 'interrupted') {
      if (event.behavior === 'discard' && told.unstarted > 0) told.blocks.splice(-told.unstarted)
      if (event.behavior !== 'discard' && told.streaming.some((shape) => !shape.startsWith('thought')))
        told.blocks.push(...told.streaming)
      told.streaming = []
    }
    if (event.type === 'tool_call_start') told.started.add(event.call.id)
    if (event.type === 'tool_result') told.results.set(event.result.callId, JSON.stringify(event.result))
  }

const checked = (session: Session, told: ToldBeforeEnd, all: readonly Message[]): void => {
  const shapes = shapesIn(all)
  for (const shape of told.blocks) expect([shape, shapes.filter((found) => found === shape).length]).toEqual([shape, 1])
  const streaming = told.streaming.some((shape) => !shape.startsWith('thought')) ? told.streaming : []
  for (const shape of streaming) expect([shape, shapes.filter((found) => found === shape).length]).toEqual([shape, 1])
  const results = all.flatMap(({ content }) =>
    content.flatMap((found) => (found.type === 'tool_result' ? [found] : [])),
  )
  const ids = results.map(({ callId }) => callId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [id, result] of told.results)
    expect(JSON.stringify(results.find(({ callId }) => callId === id))).toBe(result)
  for (const id of told.started) if (!told.results.has(id)) expect([id, ids.includes(id)]).toEqual([id, true])
  expect(isRight(settle(all))).toBe(true)
  expect(isRight(settle(session.conversation()))).toBe(true)
}

it(
  `${runs} runs killed anywhere: no finished work is lost or doubled, and the provider accepts the next request`,
  async () => {
    const ends = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { minLength: 1, maxLength: 3 }),
        fc.record({
          event: fc.oneof(fc.nat({ max: 40 }), fc.constant(Infinity)),
          append: fc.oneof(fc.nat({ max: 12 }), fc.constant(Infinity)),
          done: fc.boolean(),
        }),
        fc.record({
          at: fc.nat({ max: 60 }),
          deed: fc.constantFrom('none', 'none', 'interrupt', 'inject', 'cancel', 'meddle'),
          behavior: fc.constantFrom<InterruptBehavior>('discard', 'savePartial', 'saveMarked'),
        }),
        fc.constantFrom('together' as const, 'perCall' as const),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom('resume', 'retry', 'by hand', 'turn'),
        fc.nat({ max: 2 }),
        fc.constantFrom(0, 1, 7),
        async (answers, kill, { at, deed, behavior }, results, toolConcurrency, next, judge, pace) => {
          let now = 1_000_000
          const kept = memoryStore({ now: () => now })
          await createSession(kept, { id: 's' })
          const { store, died, kill: die } = mortal(kept, kill.append, kill.done)
          const told: ToldBeforeEnd = {
            blocks: [],
            results: new Map(),
            started: new Set(),
            streaming: [],
            unstarted: 0,
          }
          const session = await openSession(store, 's')
          const hear = listen(told)
          const meddler = deed === 'meddle' ? await openSession(kept, 's') : undefined
          let dead = false
          void died.then(() => (dead = true))
          const hang = (): Promise<never> => (setTimeout(die, 1), never())
          const stream = turn(session, 'go', {
            model: modelOf(answers, results, (count) => pace > 0 && count % pace === 0),
            tools: toolsOf(hang),
            toolConcurrency,
            limits: { maxSteps: 4 },
            receipts: false,
            handlers: [
              async (event) => {
                if (dead) return never()
                hear(event)
                if (event.seq === kill.event) {
                  die()
                  dead = true
                  return never()
                }
                if (event.seq !== at || deed === 'none') return
                if (deed === 'cancel') stream.cancel()
                else if (deed !== 'meddle')
                  stream.interrupt({ behavior, ...(deed === 'inject' && { message: 'instead' }) })
                else if (meddler !== undefined) {
                  await meddler.refresh()
                  await meddler.append(user('meddling'))
                }
              },
            ],
          })
          const ended = await Promise.race([stream.result()(), died.then(() => undefined)])
          dead = true
          const end = ended === undefined ? 'killed' : isLeft(ended) ? ended.left._tag : ended.right.stopReason
          ends.set(end, (ends.get(end) ?? 0) + 1)

          now += 1_000_000 // its lease has expired
          const again = await openSession(kept, 's')
          checked(again, told, [...again.view().toArray(), ...pending(again).messages])

          // The next run: what it is sent is judged, and everything is in the record once.
          const requests: Settled<readonly Message[]>[] = []
          const model: Model = {
            name: 'next',
            results,
            async *stream({ messages }) {
              requests.push([...messages] as unknown as Settled<readonly Message[]>)
              yield { type: 'finish', message: assistant('Done.'), reason: 'end_turn', usage: { input: 1, output: 1 } }
            },
          }
          const options = { model, tools: toolsOf(() => 'at last'), receipts: false } as const
          if (next === 'by hand') {
            await again.append(pending(again).messages)
            expect(pending(again).messages).toEqual([])
          }
          if (next === 'by hand' || next === 'turn') await turn(again, 'and now?', options).result()
          else {
            const first = await resume(again, { ...options, unfinished: next === 'retry' ? 'retry' : 'tell' }).result()
            if (first.stopReason === 'approval')
              await resume(again, {
                ...options,
                deny: first.open?.calls.map(({ approval }) => approval) ?? [],
              }).result()
          }
          const { len } = again
          expect((await resume(again, options).result()).stopReason).toBe('end_turn')
          expect([again.len, pending(again).steps, pending(again).messages]).toEqual([len, [], []])
          checked(again, { ...told, results: told.results }, again.view().toArray())
          for (const request of requests) expect(refusals[judge]?.(request)).toBeUndefined()
          expect(isRight(await verifySession(kept, 's')())).toBe(true)
        },
      ),
      { numRuns: runs },
    )
    if (runs >= 2000)
      for (const end of [
        'killed',
        'end_turn',
        'approval',
        'cancelled',
        'ModelFailed',
        'StreamEndedEarly',
        'HandlerFailed',
      ])
        expect([end, (ends.get(end) ?? 0) > 0]).toEqual([end, true])
  },
  24 * 3_600_000,
)
