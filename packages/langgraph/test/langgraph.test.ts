import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { JsonPlusSerializer, type SerializerProtocol } from '@langchain/langgraph-checkpoint'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Json, Session } from 'indelible'
import { IndelibleSaver } from '@indelible/langgraph'
import { Reviver } from '../src/revive.ts'
import { itemsOf, noteOf, Thread } from '../src/thread.ts'
import { langgraphCases, put, tuples } from './langgraph-cases.ts'
import { eachStepFails, inFiles, inMemory } from '../../../test/session/adapter-stores.ts'
import { rounds } from '../../../test/rounds.ts'

const files = inFiles()
afterAll(files.leave)

describe('langgraph, in memory', () => langgraphCases(inMemory, rounds(10, 1000)))
describe('langgraph, in SQLite', () => langgraphCases(files, rounds(4, 200)))

it('the saver returns the fault of a store that fails at any step', () =>
  eachStepFails(async (store) => {
    const saver = new IndelibleSaver(store)
    const [hello, there] = [new HumanMessage({ content: 'hi', id: 'h' }), new AIMessage({ content: 'there', id: 'a' })]
    const thread = { configurable: { thread_id: 't' } }
    const first = await put(saver, thread, [hello], 1)
    await saver.putWrites(first, [['messages', [there]]], 'task')
    await put(saver, first, [hello, there], 2)
    await saver.getTuple(thread)
    await tuples(saver, thread)
    await tuples(new IndelibleSaver(store), {})
    await saver.prune('t', { keep: 1 })
    await saver.deleteThread('t')
  }))

it('a thread keeps the items of a few lists, not of each checkpoint that was read', async () => {
  const dumped = ['json', '{}'] as const
  const notes = Array.from({ length: 30 }, (_, at) =>
    noteOf({
      type: 'checkpoint',
      ns: '',
      id: `${at}`,
      parent: null,
      base: at === 0 ? null : `${at - 1}`,
      rest: dumped,
      metadata: dumped,
      values: { list: { keep: at, add: [`${at}`] } },
      versions: { list: at },
    }),
  )
  const thread = new Thread({ notes: () => notes } as unknown as Session).update()
  const read = (at: number): WeakRef<object> => {
    const items = itemsOf(thread.checkpoint('', `${at}`)?.values.get('list') as Parameters<typeof itemsOf>[0])
    expect(items.map(({ ref }) => ref)).toEqual(Array.from({ length: at + 1 }, (_, index) => `${index}`))
    return new WeakRef(items)
  }
  const lists = [...notes.keys(), ...notes.keys()].map(read)
  setFlagsFromString('--expose-gc')
  await new Promise((resolve) => setImmediate(resolve)) // until then a WeakRef keeps what it was made of
  ;(runInNewContext('gc') as () => void)()
  expect(lists.filter((each) => each.deref() !== undefined).length).toBeLessThan(10)
})

it("the saver keeps another serializer's format byte for byte", async () => {
  const given: Uint8Array[] = []
  const values = new Map<string, unknown>()
  const serde: SerializerProtocol = {
    dumpsTyped: async (value) => {
      const bytes = Uint8Array.of(255, 0, 192, values.size)
      values.set(String(bytes), value)
      return [
        values.size % 2 === 0 ? 'json' : 'mine',
        values.size % 2 === 0 ? new TextEncoder().encode('{"a":1}') : bytes,
      ]
    },
    loadsTyped: async (type, bytes) => {
      if (type === 'json') return JSON.parse(bytes as string) as unknown
      given.push(bytes as Uint8Array)
      return values.get(String(bytes))
    },
  }
  const saver = new IndelibleSaver(await inMemory.fresh(), { serde })
  const at = await put(saver, { configurable: { thread_id: 't' } }, [new HumanMessage({ content: 'hi', id: 'h' })], 1)
  await saver.getTuple(at)
  expect(given.length).toBeGreaterThan(0)
  expect(given.every((bytes) => bytes instanceof Uint8Array && values.has(String(bytes)))).toBe(true)
})

describe('a LangGraph message', () => {
  const serde = new JsonPlusSerializer()
  /** The JSON of a message, with other fields. */
  const wire = async (message: object, fields: object): Promise<Json> => {
    const value = JSON.parse(new TextDecoder().decode((await serde.dumpsTyped(message))[1])) as { kwargs: object }
    return { ...value, kwargs: { ...value.kwargs, ...fields } } as unknown as Json
  }
  const counting = (): SerializerProtocol & { readonly asked: () => number } => {
    let count = 0
    return {
      dumpsTyped: (value) => serde.dumpsTyped(value),
      loadsTyped: (type, text) => ((count += 1), serde.loadsTyped(type, text)),
      asked: () => count,
    }
  }
  const theirs = (value: Json): Promise<unknown> => serde.loadsTyped('json', JSON.stringify(value))

  it("equals the serializer's result for its JSON, whatever its fields", async () => {
    const key = fc.constantFrom('a', 'b', 'lc', '__lc_escaped__', '__proto__', 'type', '10')
    const deep = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, 1, true, 'text', ''),
        fc.array(tie('value'), { maxLength: 2 }),
        fc
          .array(fc.tuple(key, tie('value')), { maxLength: 2 })
          .map((entries) => Object.fromEntries(entries) as unknown),
      ),
    })).value
    const reviver = new Reviver()
    await fc.assert(
      fc.asyncProperty(deep, deep, async (artifact, content) => {
        const message = await wire(new ToolMessage({ content: 'x', tool_call_id: 'c' }), { artifact, content })
        const [mine, expected] = await Promise.allSettled([reviver.revive(message, serde), theirs(message)])
        expect(mine).toStrictEqual(expected)
      }),
      { numRuns: 100 },
    )
  })

  it("calls the serializer once per shape, up to LangChain's depth", async () => {
    const nested = (depth: number): unknown => (depth === 0 ? 'deep' : { in: [nested(depth - 1)] })
    for (const [fields, times] of [
      [{}, 1],
      [{ content: [{ type: 'text', text: 'a' }], additional_kwargs: { deep: [{ a: [1, null, { b: '' }] }] } }, 1],
      [{ additional_kwargs: nested(20) }, 1],
      [{ additional_kwargs: nested(21) }, 3],
      [{ additional_kwargs: { lc: 1 } }, 3],
      [{ additional_kwargs: { in: [{ __lc_escaped__: {} }] } }, 3],
    ] as const) {
      const [reviver, counted] = [new Reviver(), counting()]
      const message = await wire(new HumanMessage({ content: 'x' }), fields)
      for (let time = 0; time < 3; time++)
        expect(await reviver.revive(message, counted)).toStrictEqual(await theirs(message))
      expect([JSON.stringify(fields).slice(0, 60), counted.asked()]).toEqual([
        JSON.stringify(fields).slice(0, 60),
        times,
      ])
    }
  })

  it('of another kind is left to the serializer', async () => {
    const message = (await wire(new HumanMessage({ content: 'x' }), {})) as { readonly [key: string]: Json }
    const id = message['id'] as readonly Json[]
    const others: readonly Json[] = [
      ...[null, 1, 'text', [], {}, { ...message, more: 1 }, { ...message, lc: 2 }, { ...message, type: 'secret' }],
      ...[
        { ...message, id: 'x' },
        { ...message, id: [id[0] as Json, 'other', id[2] as Json] },
        { ...message, kwargs: [] },
        { ...message, kwargs: null },
      ],
    ]
    for (const value of others) {
      const [reviver, counted] = [new Reviver(), counting()]
      await reviver.revive(message, serde) // it knows the shape of the message
      for (let time = 0; time < 2; time++) {
        const [mine, expected] = await Promise.allSettled([
          Promise.resolve().then(() => reviver.revive(value, counted)),
          theirs(value),
        ])
        expect(mine).toStrictEqual(expected)
      }
      expect([value, counted.asked()]).toEqual([value, 2])
    }
  })
})
