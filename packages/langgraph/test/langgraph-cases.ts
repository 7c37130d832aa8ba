/** What a checkpointer of LangGraph over a store must do, on any store. */
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from '@langchain/core/messages'
import {
  DeltaSnapshot,
  emptyCheckpoint,
  isDeltaSnapshot,
  JsonPlusSerializer,
  MemorySaver,
  uuid6,
  type BaseCheckpointSaver,
  type CheckpointMetadata,
  type CheckpointTuple,
} from '@langchain/langgraph-checkpoint'
import type { RunnableConfig } from '@langchain/core/runnables'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { textOf } from 'indelible'
import { copyCheckpoints, IndelibleSaver } from '@indelible/langgraph'
import { verified, type Place } from '../../../test/session/adapter-stores.ts'
import { rounds } from '../../../test/rounds.ts'

const meta = (step: number): CheckpointMetadata => ({ source: 'loop', step, parents: {} })

const message = fc.oneof(
  fc
    .tuple(fc.string(), fc.boolean())
    .map(([content, named]) => new HumanMessage({ content, ...(named && { id: content }) })),
  fc
    .string()
    .map(
      (content) =>
        new AIMessage({ content, id: `ai ${content}`, tool_calls: [{ id: 'c', name: 'f', args: { a: 1 } }] }),
    ),
  fc.string().map((content) => new ToolMessage({ content, tool_call_id: 'c', name: 'f', artifact: { deep: [1] } })),
  fc.constantFrom(
    new HumanMessage({ content: 'half \ud800', id: 'h' }),
    new AIMessage({ content: [{ type: 'text', text: 'a' }] }),
  ),
)

/** A step of a thread: what it continues, what it adds to the messages or replaces, and the writes beside it. */
const step = fc.record({
  ns: fc.constantFrom('', '', 'child:1'),
  from: fc.option(fc.nat(5), { nil: undefined }),
  drop: fc.nat(2),
  add: fc.array(message, { maxLength: 3 }),
  other: fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(
      new Map([[1, new Set(['a'])]]),
      { list: [undefined, new Uint8Array([1, 255])] },
      [],
      [1, 2, 'x'],
    ),
  ),
  writes: fc.array(
    fc.record({
      task: fc.constantFrom('t1', 't2'),
      path: fc.constantFrom('', 'a', 'b'),
      values: fc.array(message, { maxLength: 2 }),
    }),
    {
      maxLength: 2,
    },
  ),
})

export const tuples = async (
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  options = {},
): Promise<CheckpointTuple[]> => {
  const found: CheckpointTuple[] = []
  for await (const tuple of saver.list(config, options)) found.push(tuple)
  return found
}

/** Messages as JSON: two of LangChain's are equal in what they say. */
const asJson = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each: unknown) =>
      each instanceof Map ? [...each] : each instanceof Set ? [...each] : each,
    ),
  )

/** Puts messages as a graph does, and gives the config of the checkpoint. */
export const put = async (
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  messages: readonly BaseMessage[],
  version: number,
): Promise<RunnableConfig> => {
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(version),
    channel_values: { messages: [...messages] },
    channel_versions: { messages: version },
  }
  return saver.put(config, checkpoint, meta(version), { messages: version })
}

export const langgraphCases = ({ fresh }: Place, runs: number): void => {
  it("gives the same as LangGraph's own saver, by two handles in turn", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { minLength: 1, maxLength: 8 }), async (steps) => {
        const store = await fresh()
        const handles = [new IndelibleSaver(store), new IndelibleSaver(store)] as const
        const theirs = new MemorySaver()
        const done: {
          readonly ns: string
          readonly config: RunnableConfig
          readonly messages: readonly BaseMessage[]
        }[] = []
        let version = 0
        for (const [{ ns, from, drop, add, other, writes }, which] of steps) {
          version += 1
          const before = done.filter((each) => each.ns === ns)
          const base = from === undefined ? before.at(-1) : before[from]
          const messages = [
            ...(base?.messages ?? []).slice(0, Math.max(0, (base?.messages.length ?? 0) - drop)),
            ...add,
          ]
          const config = base?.config ?? { configurable: { thread_id: 't', checkpoint_ns: ns } }
          const checkpoint = {
            ...emptyCheckpoint(),
            id: uuid6(version),
            channel_values: { messages, other },
            channel_versions: { messages: version, other: version },
          }
          const [next] = await Promise.all([
            handles[which ? 0 : 1].put(config, checkpoint, meta(version), checkpoint.channel_versions),
            theirs.put(config, checkpoint, meta(version)),
          ])
          for (const { task, path, values } of writes)
            for (const saver of [handles[which ? 1 : 0], theirs])
              await saver.putWrites(
                next,
                values.map((value) => ['messages', [value]]),
                task,
                path,
              )
          done.push({ ns, config: next, messages })
          const more = { configurable: { ...next.configurable, mine: 1 }, tags: ['a'] }
          for (const at of [next, more, { configurable: { thread_id: 't', checkpoint_ns: ns, mine: 1 } }])
            expect(asJson(await handles[which ? 1 : 0].getTuple(at))).toEqual(asJson(await theirs.getTuple(at)))
        }
        const later = new IndelibleSaver(store)
        const byId = (list: readonly CheckpointTuple[]): unknown =>
          asJson(list.toSorted((a, b) => (a.checkpoint.id < b.checkpoint.id ? -1 : 1)))
        const config = { configurable: { thread_id: 't' } }
        expect(byId(await tuples(later, config))).toEqual(byId(await tuples(theirs, config)))
        const [some] = done
        const before = { before: some?.config as RunnableConfig }
        expect(byId(await tuples(later, config, before))).toEqual(byId(await tuples(theirs, config, before)))
        const filter = { filter: { step: 2 } }
        expect(byId(await tuples(later, config, filter))).toEqual(byId(await tuples(theirs, config, filter)))
        const child = { configurable: { thread_id: 't', checkpoint_ns: '' } }
        expect((await tuples(later, child, { limit: 2 })).map(({ checkpoint }) => checkpoint.id)).toEqual(
          (await tuples(theirs, child, { limit: 2 })).map(({ checkpoint }) => checkpoint.id),
        )
        const last = done.findLast(({ ns }) => ns === '')
        const record = await later.record('t')
        await verified(store, later.idOf('t'))
        // Half a surrogate pair is no text that a record can have: such a message stands in its checkpoint's note.
        if (last !== undefined && !steps.some(([{ writes }]) => writes.length > 0))
          expect(record.conversation().length).toBe(
            last.messages.filter(({ text }) => !/\p{Surrogate}/u.test(text)).length,
          )
      }),
      { numRuns: runs },
    )
  })

  it('empties the conversation after a checkpoint without messages and keeps them in the record', async () => {
    const store = await fresh()
    const saver = new IndelibleSaver(store)
    const first = await put(saver, { configurable: { thread_id: 't', checkpoint_ns: '' } }, [new HumanMessage('a')], 1)
    await put(saver, first, [], 2)
    const record = await saver.record('t')
    expect([record.conversation().length, record.len]).toEqual([0, 1])
    expect((await saver.getTuple(first))?.checkpoint.channel_values['messages']).toHaveLength(1)
  })

  it('stores values that are no messages among the messages', async () => {
    const saver = new IndelibleSaver(await fresh())
    const first = await put(saver, { configurable: { thread_id: 't', checkpoint_ns: '' } }, [new HumanMessage('a')], 1)
    for (const [index, other] of [null, 'text', 7, [], {}].entries()) {
      const messages = [other, new HumanMessage('a')] as BaseMessage[]
      const next = await put(saver, first, messages, index + 2)
      expect(asJson((await saver.getTuple(next))?.checkpoint.channel_values['messages'])).toEqual(asJson(messages))
    }
  })

  it("creates each message as LangGraph's serializer does", async () => {
    const nested = (depth: number): unknown => (depth === 0 ? 'deep' : { in: [nested(depth - 1)] })
    const artifacts = [
      {},
      { plain: [1] },
      { lc: 1 },
      { in: new Map([[1, new Set([undefined, new Uint8Array([1])])]]) },
      { said: new AIMessage('said'), __lc_escaped__: {} },
      JSON.parse('{"__proto__":{"polluted":true}}') as unknown,
      nested(21),
    ]
    const odd = (turn: number): BaseMessage[] => [
      new HumanMessage({ content: `${turn}`, id: `${turn}`, name: 'ada' }),
      new SystemMessage(`${turn}`),
      new AIMessage({
        content: [{ type: 'text', text: `${turn}` }],
        tool_calls: [{ id: `c${turn}`, name: 'f', args: { deep: [{ turn }] } }],
        usage_metadata: { input_tokens: turn, output_tokens: 1, total_tokens: turn + 1 },
        response_metadata: { model_name: 'm', 'some key': turn },
      } as object),
      new AIMessageChunk({ content: `${turn}`, tool_call_chunks: [{ name: 'f', args: '{', index: turn }] }),
      // The first of its shape is plain data, and the others are not.
      new ToolMessage({ content: `${turn}`, tool_call_id: 'c', artifact: artifacts[turn] }),
      new HumanMessage({ content: '', additional_kwargs: { said: artifacts[turn] } }),
      new HumanMessage({ content: `${turn}`, own_field: turn } as object), // its class is given `ownField`
      new AIMessage({ content: '', additional_kwargs: { deep: nested(turn) } }),
      new RemoveMessage({ id: `${turn}` }),
      new ChatMessage(`${turn}`, 'critic'),
    ]
    const messages = [1, 2, 3, 4, 5, 6].flatMap(odd)
    const store = await fresh()
    const at = await put(new IndelibleSaver(store), { configurable: { thread_id: 't' } }, messages, 1)
    await new IndelibleSaver(store).putWrites(at, [['messages', odd(3)]], 'task')
    const found = await new IndelibleSaver(store).getTuple(at)
    const theirs = async (value: unknown): Promise<unknown> => {
      const serde = new JsonPlusSerializer()
      return serde.loadsTyped(...(await serde.dumpsTyped(value)))
    }
    expect(found?.checkpoint.channel_values['messages']).toStrictEqual(await theirs(messages))
    expect(found?.pendingWrites?.[0]?.[2]).toStrictEqual(await theirs(odd(3)))
    const own = found?.checkpoint.channel_values['messages'] as BaseMessage[]
    ;(own[0] as BaseMessage).content = 'changed' // they are the caller's own
    const again = await new IndelibleSaver(store).getTuple(at)
    expect(again?.checkpoint.channel_values['messages']).toStrictEqual(await theirs(messages))
  })

  it('stores each message once, whatever the number of checkpoints', async () => {
    const store = await fresh()
    const saver = new IndelibleSaver(store)
    let config: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const messages: BaseMessage[] = []
    const text = (index: number): string => `${index}: ${'word '.repeat(40)}`
    for (let index = 0; index < 40; index++) {
      // A node writes its message without an id; the channel gives it one.
      const humanMessages = new AIMessage({ content: text(index) })
      if (index > 0) await saver.putWrites(config, [['messages', [humanMessages]]], `task ${index}`)
      messages.push(new AIMessage({ content: text(index), id: `id ${index}` }))
      config = await put(saver, config, messages, index + 1)
    }
    const session = await saver.record('t')
    expect([session.len, session.conversation().length]).toEqual([40, 40])
    const rows = await store.read(saver.idOf('t'))
    const bytes = rows.reduce((sum, { body }) => sum + body.length, 0)
    expect(bytes / 40).toBeLessThan(1200) // a message of 200 characters, a checkpoint, a write
    const again = await new IndelibleSaver(store).getTuple({ configurable: { thread_id: 't' } })
    expect(asJson(again?.checkpoint.channel_values)).toEqual(asJson({ messages }))
  })

  it('stores each message of a snapshot once and returns the snapshot', async () => {
    const store = await fresh()
    const saver = new IndelibleSaver(store)
    const messages = Array.from({ length: 20 }, (_, index) => new HumanMessage({ content: 'word '.repeat(40), id: `${index}` })) // oxfmt-ignore
    let config: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    for (let step = 1; step <= 10; step++) {
      const channel_values = { messages: new DeltaSnapshot(messages.slice(0, step + 10)) }
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values, channel_versions: { messages: step } }
      config = await saver.put(config, checkpoint, meta(step), { messages: step })
    }
    expect((await saver.record('t')).len).toBe(20)
    const again = await new IndelibleSaver(store).getTuple(config)
    const snapshot: unknown = again?.checkpoint.channel_values['messages']
    expect(isDeltaSnapshot(snapshot) && asJson(snapshot.value)).toEqual(asJson(messages))
  })

  it("stores each message once if a step's writes precede its checkpoint", async () => {
    const store = await fresh()
    const saver = new IndelibleSaver(store)
    let config: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const messages: BaseMessage[] = []
    const going: Promise<unknown>[] = []
    let last: Promise<unknown> = Promise.resolve()
    const turns = rounds(8, 20)
    // As LangGraph does it with the durability `async`: it waits for nothing, but puts one checkpoint behind the other.
    for (let index = 0; index < turns; index++) {
      messages.push(new HumanMessage({ content: `question ${index}`, id: `q${index}` }))
      for (const [node, content] of [undefined, `one ${index}`, `two ${index}`].entries()) {
        const [from, at, all] = [config, uuid6(index), [...messages]]
        const version = index * 3 + node + 1
        if (content !== undefined) {
          going.push(saver.putWrites(from, [['messages', [new AIMessage({ content })]]], `task ${version}`))
          const humanMessages = new AIMessage({ content, id: `${content} id` })
          messages.push(humanMessages)
          all.push(humanMessages)
        }
        const checkpoint = {
          ...emptyCheckpoint(),
          id: at,
          channel_values: { messages: all },
          channel_versions: { messages: version },
        }
        last = last.then(() => saver.put(from, checkpoint, meta(version), { messages: version }))
        going.push(last)
        config = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: at } }
      }
    }
    await Promise.all(going)
    const session = await saver.record('t')
    expect([session.len, session.conversation().length]).toEqual([3 * turns, 3 * turns])
    const rows = (await store.read(saver.idOf('t'))).map(({ body }) => body).join('\n')
    for (let index = 0; index < turns; index++)
      expect(rows.match(new RegExp(`one ${index}\\b(?! id)`, 'g'))).toHaveLength(1)
    const again = new IndelibleSaver(store)
    expect(asJson((await again.getTuple(config))?.checkpoint.channel_values)).toEqual(asJson({ messages }))
    const found = await tuples(again, { configurable: { thread_id: 't' } })
    expect(found.flatMap(({ pendingWrites }) => pendingWrites ?? [])).toHaveLength(2 * turns)
  })

  it('stores early writes beside their checkpoint', async () => {
    const store = await fresh()
    const saver = new IndelibleSaver(store)
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(1) }
    const config: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: checkpoint.id } }
    const writing = saver.putWrites(config, [['messages', [new AIMessage('early')]]], 'task')
    await saver.put({ configurable: { thread_id: 't' } }, checkpoint, meta(1), {})
    await writing
    expect((await new IndelibleSaver(store).getTuple(config))?.pendingWrites).toHaveLength(1)
  })

  it('refuses writes without a checkpoint id, and has nothing of a thread that is not there', async () => {
    const saver = new IndelibleSaver(await fresh())
    for (const configurable of [{ thread_id: '1' }, { thread_id: '1', checkpoint_id: 5 }])
      await expect(saver.putWrites({ configurable }, [['a', 1]], 't')).rejects.toThrow(
        'missing a required "checkpoint_id"',
      )
    for (const checkpoint_id of [undefined, '', 'x'])
      expect(await saver.getTuple({ configurable: { thread_id: '1', checkpoint_id } })).toBeUndefined()
  })

  it('accepts writes whose checkpoint is never stored', async () => {
    const saver = new IndelibleSaver(await fresh())
    const config: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: uuid6(1) } }
    await saver.putWrites(config, [['messages', [new AIMessage('lost')]]], 'task')
    expect((await saver.record('t')).len).toBe(0)
    expect(await saver.getTuple(config)).toBeUndefined()
  })

  it('has the conversation in the order of the last checkpoint, also if a message moved', async () => {
    const saver = new IndelibleSaver(await fresh())
    const start: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const [a, b] = ['a', 'b'].map((content) => new HumanMessage({ content, id: content })) as [BaseMessage, BaseMessage]
    const first = await put(saver, start, [a], 1)
    await put(saver, first, [b, a], 2)
    expect((await saver.record('t')).conversation().toArray().map(textOf)).toEqual(['b', 'a'])
  })

  it('keeps every message in the verified record after forks, rewinds and prunes', async () => {
    const store = await fresh()
    const saver = new IndelibleSaver(store)
    const start: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const humanMessages = (...texts: readonly string[]): readonly BaseMessage[] =>
      texts.map((content) => new HumanMessage({ content, id: content }))
    const first = await put(saver, start, humanMessages('a'), 1)
    const second = await put(saver, first, humanMessages('a', 'b', 'c'), 2)
    await put(saver, second, humanMessages('a', 'c'), 3) // one is removed
    const fork = await put(saver, first, humanMessages('a', 'other'), 4) // somebody went back
    const session = await saver.record('t')
    expect(session.conversation().toArray().map(textOf)).toEqual(['a', 'other'])
    expect(new Set(session.view().toArray().map(textOf))).toEqual(new Set(['a', 'b', 'c', 'other']))
    expect(asJson((await saver.getTuple(second))?.checkpoint.channel_values)).toEqual(
      asJson({ messages: humanMessages('a', 'b', 'c') }),
    )
    expect(await saver.prune('t', { keep: 2 })).toBe(2)
    expect(await saver.getTuple(second)).toBeUndefined()
    const after = new IndelibleSaver(store)
    expect((await tuples(after, { configurable: { thread_id: 't' } })).length).toBe(2)
    expect(asJson((await after.getTuple(fork))?.checkpoint.channel_values)).toEqual(
      asJson({ messages: humanMessages('a', 'other') }),
    )
    expect((await after.record('t')).len).toBe(session.len)
    expect(await after.prune('never')).toBe(0)
    await verified(store, saver.idOf('t'))
    await after.deleteThread('t')
    await after.deleteThread('t')
    expect([await saver.getTuple(fork), await after.getTuple(fork)]).toEqual([undefined, undefined])
  })

  it('keeps every checkpoint and write of two concurrent handles', async () => {
    const store = await fresh()
    const savers = [new IndelibleSaver(store), new IndelibleSaver(store)]
    const start: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    const configs = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        put(
          savers[index % 2] as IndelibleSaver,
          start,
          [new HumanMessage({ content: `${index}`, id: `${index}` })],
          index,
        ),
      ),
    )
    const [first = start] = configs
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => savers[index % 2]?.putWrites(first, [['x', index]], `task ${index}`)),
    )
    for (const saver of [...savers, new IndelibleSaver(store)]) {
      expect((await tuples(saver, start)).length).toBe(8)
      expect((await saver.getTuple(first))?.pendingWrites?.map(([, , value]) => value)).toEqual([
        0, 1, 2, 3, 4, 5, 6, 7,
      ])
    }
  })

  it("migrates LangGraph's own checkpoints in and out", async () => {
    const old = new MemorySaver()
    for (const thread_id of ['1', '2']) {
      let config: RunnableConfig = { configurable: { thread_id, checkpoint_ns: '' } }
      for (const version of [1, 2, 3]) {
        const messages = Array.from({ length: version }, (_, at) => new HumanMessage({ content: `${at}`, id: `${at}` }))
        config = await put(old, config, messages, version)
        await old.putWrites(
          config,
          [
            ['messages', new AIMessage('next')],
            ['__interrupt__', 'wait'],
          ],
          'task',
        )
      }
    }
    const saver = new IndelibleSaver(await fresh())
    expect(await copyCheckpoints(old, saver)).toBe(6)
    expect(await copyCheckpoints(old, saver, '1')).toBe(3)
    const back = new MemorySaver()
    await copyCheckpoints(saver, back)
    for (const saved of [saver, back])
      for (const thread_id of ['1', '2'])
        expect(asJson(await tuples(saved, { configurable: { thread_id } }))).toEqual(
          asJson(await tuples(old, { configurable: { thread_id } })),
        )
  })
}
