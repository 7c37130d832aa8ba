/** The laws of a history, against a model that is a plain array: whatever is done, in whatever order. */
import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  applyDelta,
  classify,
  createHistory,
  decodeMessage,
  restoreHistory,
  type History,
  type Message,
  type PageKind,
  type Part,
  type View,
} from 'indelible'
import { omitRanges } from 'indelible/history'
import { pageKinds } from 'indelible/pages'
import { rounds } from '../rounds.ts'

// Through JSON text, which has no -0.
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const meta = fc.dictionary(text, json, { maxKeys: 2, noNullPrototype: true })
const resultPart = fc.record({ type: fc.constant('text' as const), text })
const part: fc.Arbitrary<Part> = fc.oneof(
  resultPart,
  fc.record({ type: fc.constant('tool_call' as const), id: text, name: text, arguments: text }),
  fc.record({
    type: fc.constant('tool_result' as const),
    callId: text,
    content: fc.array(resultPart, { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('provider' as const), provider: text, raw: json as fc.Arbitrary<null> }),
)
const message: fc.Arbitrary<Message> = fc.record(
  {
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool'),
    content: fc.array(part, { maxLength: 3 }),
    meta: meta as fc.Arbitrary<Record<string, null>>,
  },
  { requiredKeys: ['role', 'content'] },
)
const kind = fc.constantFrom(...pageKinds)

/** What the history should hold, kept in the most naive way. */
interface Model {
  messages: Message[]
  pages: PageKind[]
}

/** A view and what it must say for ever. */
interface Promise_ {
  view: View<Message>
  messages: readonly Message[]
  pages: readonly PageKind[]
}

interface World {
  history: History<Message>
  model: Model
  promises: Promise_[]
}

type Step = (world: World) => void

const promise = (world: World, view: View<Message>, from = 0, to = world.model.messages.length): void => {
  world.promises.push({
    view,
    messages: structuredClone(world.model.messages.slice(from, to)),
    pages: world.model.pages.slice(from, to),
  })
}

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ message, page: fc.option(kind, { nil: undefined }) }).map(({ message, page }): Step => (world) => {
    const mine = structuredClone(message)
    const at = page === undefined ? world.history.append(mine) : world.history.append(mine, page)
    expect(at).toBe(world.model.messages.length)
    world.model.messages.push(structuredClone(message))
    world.model.pages.push(page ?? classify(message))
    ;(mine.content as Part[]).push({ type: 'text', text: 'changed after the append' })
  }),
  fc
    .constantFrom<unknown>({ a: [undefined] }, [() => 1], NaN, new Date(0), { content: [{ b: 1n }] })
    .map((bad): Step => (world) => {
      expect(() => world.history.append(bad as Message)).toThrow(TypeError)
    }),
  fc.constant<Step>((world) => promise(world, world.history.view())),
  fc
    .tuple(fc.integer({ min: -12, max: 12 }), fc.option(fc.integer({ min: -12, max: 12 }), { nil: undefined }))
    .map(([from, to]): Step => (world) => {
      const { messages, pages } = world.model
      world.promises.push({
        view: world.history.view().slice(from, to),
        messages: structuredClone(messages.slice(from, to)),
        pages: pages.slice(from, to),
      })
    }),
  fc
    .tuple(fc.array(message, { maxLength: 3 }), fc.integer({ min: -2, max: 1 }))
    .map(([append, offset]): Step => (world) => {
      const { messages, pages } = world.model
      const expectedLen = Math.max(0, messages.length + offset)
      const answer = applyDelta(world.history, { id: 'd', expectedLen, append: structuredClone(append) })
      const there = messages.slice(expectedLen, expectedLen + append.length)
      if (expectedLen === messages.length) {
        expect(answer).toEqual({ _tag: 'Right', right: 'applied' })
        messages.push(...structuredClone(append))
        pages.push(...append.map((each) => classify(each)))
        expect(applyDelta(world.history, { id: 'd', expectedLen, append })).toEqual({
          _tag: 'Right',
          right: append.length === 0 ? 'applied' : 'duplicate',
        })
      } else if (expectedLen < messages.length && equal(there, append))
        expect(answer).toEqual({ _tag: 'Right', right: 'duplicate' })
      else expect(answer._tag).toBe('Left')
    }),
  fc.nat({ max: 3 }).map((missing): Step => (world) => {
    const view = world.history.view()
    const saved = JSON.parse(JSON.stringify({ messages: view, pages: view.pages })) as {
      messages: unknown[]
      pages: unknown[]
    }
    const kept = Math.max(0, saved.pages.length - missing)
    const answer = restoreHistory<Message>({ ...saved, pages: saved.pages.slice(0, kept) }, decodeMessage)
    if (!isRight(answer)) throw new Error(JSON.stringify(answer.left))
    expect(answer.right.classifiedFrom).toBe(kept)
    world.history = answer.right.history
    world.model = {
      messages: structuredClone(world.model.messages),
      pages: world.model.pages.map((page, index) => (index < kept ? page : classify(world.model.messages[index]))),
    }
  }),
  fc.constant<Step>((world) => {
    world.history = createHistory({ from: world.history.view() })
    world.model = { messages: [...world.model.messages], pages: [...world.model.pages] }
  }),
)

const equal = (left: unknown, right: unknown): boolean => {
  try {
    expect(left).toEqual(right)
    return true
  } catch {
    return false
  }
}

it('views never change, lengths agree and tags survive any sequence of operations', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40 }), (sequence) => {
      const world: World = { history: createHistory<Message>(), model: { messages: [], pages: [] }, promises: [] }
      for (const step of sequence) {
        step(world)
        const view = world.history.view()
        expect(view.length).toBe(world.history.len)
        expect(view.pages.length).toBe(world.history.len)
        expect(world.history.len).toBe(world.model.messages.length)
      }
      promise(world, world.history.view())
      for (const { view, messages, pages } of world.promises) {
        expect(view.toArray()).toEqual(messages)
        expect([...view]).toEqual(messages)
        expect(view.pages.toArray()).toEqual(pages)
        expect([view.length, view.pages.length]).toEqual([messages.length, messages.length])
        for (const position of [-1, 0, 1, messages.length]) {
          expect(view.at(position)).toEqual(messages.at(position))
          expect(view.pages.at(position)).toEqual(pages.at(position))
        }
      }
    }),
    { numRuns: rounds(100, 300) },
  )
})

it('a recorded value equals the given one, for any JSON', () => {
  fc.assert(
    fc.property(fc.array(json, { maxLength: 10 }), (values) => {
      const view = createHistory<unknown>({ from: values }).view()
      expect(view.toArray()).toEqual(values)
      expect(JSON.stringify(view)).toBe(JSON.stringify(values))
    }),
  )
})

it('omitRanges() and slice() match arrays, with positions of the record', () => {
  const bound = fc.option(fc.integer({ min: -15, max: 15 }), { nil: undefined })
  const range = fc.tuple(fc.nat(14), fc.nat(5)).map(([from, count]) => ({ from, to: from + count }))
  const step = fc.oneof(
    fc.tuple(bound, bound).map(([from, to]) => ({ from, to })),
    fc.array(range, { maxLength: 3 }).map((ranges) => ({ ranges })),
  )
  fc.assert(
    fc.property(fc.nat({ max: 12 }), fc.array(step, { maxLength: 6 }), fc.nat(3), (length, steps, more) => {
      const history = createHistory<number>({ from: Array.from({ length }, (_, index) => index) })
      for (let position = 0; position < length; position++)
        if (position % 3 === 0) history.append(position + length, 'plan')
      const kept: View<number>[] = []
      let view = history.view()
      let array = view.toArray().map((value, position) => ({ value, position, page: view.pages.at(position) }))
      const check = (): void => {
        expect(view.toArray()).toEqual(array.map(({ value }) => value))
        expect([...view]).toEqual(array.map(({ value }) => value))
        expect(view.pages.toArray()).toEqual(array.map(({ page }) => page))
        expect(view.length).toBe(array.length)
        expect(createHistory({ from: view }).view().toArray()).toEqual(view.toArray())
        for (const index of [0.5, -0.5])
          expect([view.at(index), view.positionAt(index)]).toEqual([undefined, undefined])
        const wrong: string[] = []
        for (let index = -array.length - 2; index < array.length + 2; index++) {
          if (view.at(index) !== array.at(index)?.value) wrong.push(`at ${index}`)
          if (index !== array.length && view.positionAt(index) !== array.at(index)?.position)
            wrong.push(`positionAt ${index}`)
        }
        for (let position = -1; position < 30; position += 0.5)
          if (view.before(position) !== array.filter((one) => one.position < position).length)
            wrong.push(`before ${position}`)
        expect(wrong).toEqual([])
      }
      check()
      for (const step of steps) {
        kept.push(view)
        if ('ranges' in step) {
          view = omitRanges(view, step.ranges)
          array = array.filter(({ position }) => step.ranges.every(({ from, to }) => position < from || position >= to))
        } else {
          view = view.slice(step.from, step.to)
          array = array.slice(step.from, step.to)
        }
        check()
      }
      const before = kept.map((one) => one.toArray())
      for (let count = 0; count < more; count++) history.append(-1)
      check()
      expect(kept.map((one) => one.toArray())).toEqual(before)
    }),
    { numRuns: rounds(100, 500) },
  )
})

it('slices of slices are the slices of the array', () => {
  const bound = fc.option(fc.oneof(fc.integer({ min: -15, max: 15 }), fc.double()), { nil: undefined })
  fc.assert(
    fc.property(fc.nat({ max: 12 }), fc.array(fc.tuple(bound, bound), { maxLength: 4 }), (length, cuts) => {
      let array = Array.from({ length }, (_, index) => index)
      let view = createHistory<number>({ from: array }).view()
      for (const [from, to] of cuts) {
        array = array.slice(from, to)
        view = view.slice(from, to)
        expect(view.toArray()).toEqual(array)
        expect(view.pages.length).toBe(array.length)
      }
    }),
  )
})
