/** Which checkpoints the saver lists, keeps and refuses. */
import { HumanMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  emptyCheckpoint,
  JsonPlusSerializer,
  MemorySaver,
  TASKS,
  uuid6,
  type SerializerProtocol,
} from '@langchain/langgraph-checkpoint'
import { expect, it } from 'vitest'
import { memoryStore, textOf } from 'indelible'
import { copyCheckpoints, IndelibleSaver } from '@indelible/langgraph'
import { put, tuples } from './langgraph-cases.ts'

const at = (thread_id: string, checkpoint_ns = '', checkpoint_id?: string): RunnableConfig => ({
  configurable: { thread_id, checkpoint_ns, ...(checkpoint_id !== undefined && { checkpoint_id }) },
})
const hello = (text: string): HumanMessage => new HumanMessage({ content: text, id: text })

/** Three checkpoints of thread `a`, one in its child, and one of thread `b`. */
const filled = async () => {
  const saver = new IndelibleSaver(memoryStore())
  const first = await put(saver, at('a'), [hello('1')], 1)
  const second = await put(saver, first, [hello('1'), hello('2')], 2)
  const third = await put(saver, second, [hello('3')], 3)
  const child = await put(saver, at('a', 'child:1'), [hello('4')], 4)
  const other = await put(saver, at('b'), [hello('5')], 5)
  const idOf = (config: RunnableConfig): string => String(config.configurable?.['checkpoint_id'])
  const [ids, names] = [[first, second, third, child, other].map(idOf), ['1', '2', '3', 'child', 'other']]
  const list = async (...asked: Parameters<typeof tuples> extends readonly [unknown, ...infer Rest] ? Rest : never) =>
    (await tuples(saver, ...asked)).map(({ checkpoint }) => names[ids.indexOf(checkpoint.id)])
  return { saver, first, second, third, child, other, idOf, list }
}

it('list returns the checkpoints of a thread, a namespace or all, latest first', async () => {
  const { list, first, second, third, idOf } = await filled()
  expect(await list({})).toEqual(['other', 'child', '3', '2', '1'])
  expect(await list({ configurable: { thread_id: 'a' } })).toEqual(['child', '3', '2', '1'])
  expect(await list(at('a'))).toEqual(['3', '2', '1'])
  expect(await list(at('a', 'child:1'))).toEqual(['child'])
  expect(await list(at('a', '', idOf(second)))).toEqual(['2'])
  expect(await list({ configurable: { checkpoint_id: idOf(first) } })).toEqual(['1'])
  for (const none of [at('none'), at('a', 'none'), at('a', '', 'none')]) expect(await list(none)).toEqual([])
  expect(await list(at('a'), { before: third })).toEqual(['2', '1'])
  expect(await list(at('a'), { before: first })).toEqual([])
  for (const before of [{}, { configurable: {} }, at('a')])
    expect(await list(at('a'), { before })).toEqual(['3', '2', '1'])
  for (const [limit, found] of [
    [0, []],
    [1, ['3']],
    [2, ['3', '2']],
    [3, ['3', '2', '1']],
    [9, ['3', '2', '1']],
    [undefined, ['3', '2', '1']],
  ] as const)
    expect(await list(at('a'), { limit: limit as number })).toEqual(found)
  expect(await list(at('a'), { filter: { step: 2 } })).toEqual(['2'])
  expect(await list(at('a'), { filter: { step: 2, source: 'loop' } })).toEqual(['2'])
  expect(await list(at('a'), { filter: { step: 2, source: 'input' } })).toEqual([])
  expect(await list(at('a'), { filter: { parents: {} }, limit: 2 })).toEqual(['3', '2'])
  expect(await list(at('a'), { filter: { step: undefined as never } })).toEqual(['3', '2', '1'])
  expect(await list(at('a'), { filter: { other: 1 } })).toEqual([])
})

it('getTuple reads one checkpoint by its id, by its older name, or the last one', async () => {
  const { saver, first, third, child, idOf } = await filled()
  const found = async (config: RunnableConfig): Promise<unknown> => (await saver.getTuple(config))?.checkpoint.id
  expect(await found(first)).toBe(idOf(first))
  expect(await found({ configurable: { thread_id: 'a', thread_ts: idOf(first) } })).toBe(idOf(first))
  expect(await found({ configurable: { thread_id: 'a', thread_ts: idOf(first), checkpoint_id: idOf(third) } })).toBe(
    idOf(third),
  )
  for (const last of [at('a'), at('a', '', ''), { configurable: { thread_id: 'a' } }])
    expect(await found(last)).toBe(idOf(third))
  expect(await found(at('a', 'child:1'))).toBe(idOf(child))
  for (const none of [{}, { configurable: { thread_id: 5 } }, at('none'), at('a', '', idOf(child))])
    expect(await found(none)).toBeUndefined()
  const tuple = await saver.getTuple(at('a'))
  expect([tuple?.config, tuple?.parentConfig]).toEqual([
    third,
    {
      configurable: {
        thread_id: 'a',
        checkpoint_ns: '',
        checkpoint_id: (await saver.getTuple(third))?.parentConfig?.configurable?.['checkpoint_id'] as unknown,
      },
    },
  ])
  expect(await saver.getTuple(first)).not.toHaveProperty('parentConfig')
})

it('prune keeps the last checkpoints of each namespace, and refuses to keep none', async () => {
  for (const keep of [0, -1, 1.5, NaN, Infinity, '1'])
    await expect((await filled()).saver.prune('a', { keep: keep as number })).rejects.toThrow(
      new TypeError(`keep is ${keep}; expected a whole number of at least 1`),
    )
  for (const [keep, pruned, left] of [
    [undefined, 2, ['child', '3']],
    [1, 2, ['child', '3']],
    [2, 1, ['child', '3', '2']],
    [3, 0, ['child', '3', '2', '1']],
    [4, 0, ['child', '3', '2', '1']],
  ] as const) {
    const { saver, list } = await filled()
    const { size } = (await saver.record('a')).head()
    expect(await (keep === undefined ? saver.prune('a') : saver.prune('a', { keep }))).toBe(pruned)
    expect(await list({ configurable: { thread_id: 'a' } })).toEqual(left)
    expect((await saver.record('a')).head().size).toBe(size + (pruned > 0 ? 1 + left.length - 1 : 0)) // the child's is as it was
    expect(await saver.prune('a', { keep: keep ?? 1 })).toBe(0)
    expect(await list(at('b'))).toEqual(['other'])
  }
})

it('a checkpoint or write without a thread, and a write without a checkpoint, are refused', async () => {
  const store = memoryStore()
  const saver = new IndelibleSaver(store)
  const noThread = new Error(
    'The passed RunnableConfig is missing a required "thread_id" field in its "configurable" property: graph.invoke(input, { configurable: { thread_id: "my-thread" } }). Nothing was stored.',
  )
  const checkpoint = emptyCheckpoint()
  for (const config of [{}, { configurable: {} }, { configurable: { thread_id: 5 } }]) {
    await expect(saver.put(config, checkpoint, { source: 'loop', step: 1, parents: {} })).rejects.toThrow(noThread)
    await expect(saver.putWrites(config, [['a', 1]], 't')).rejects.toThrow(noThread)
  }
  await expect(saver.putWrites(at('a'), [['a', 1]], 't')).rejects.toThrow(
    new Error(
      'Failed to put writes. The passed RunnableConfig is missing a required "checkpoint_id" field in its "configurable" property.',
    ),
  )
  expect((await store.list()).logs).toEqual([])
})

it('a write is stored once, except errors and interrupts, which replace the one before', async () => {
  const saver = new IndelibleSaver(memoryStore())
  const theirs = new MemorySaver()
  const first = await put(saver, at('a'), [hello('1')], 1)
  await put(theirs, at('a'), [hello('1')], 1)
  const config = at('a', '', uuid6(2))
  for (const each of [saver, theirs]) {
    await each.put(at('a'), { ...emptyCheckpoint(), id: String(config.configurable?.['checkpoint_id']) }, { source: 'loop', step: 2, parents: {} }, {}) // oxfmt-ignore
    await each.putWrites(config, [['x', 1], ['y', [2]], ['__error__', 'e']], 't', 'p') // oxfmt-ignore
    await each.putWrites(config, [['x', 3], ['y', [4]], ['z', 5], ['__error__', 'f']], 't', 'p') // oxfmt-ignore
    await each.putWrites(config, [], 'u')
    await each.putWrites(config, [['x', 6]], 'u')
  }
  const pending = async (each: IndelibleSaver | MemorySaver): Promise<unknown> =>
    (await each.getTuple(config))?.pendingWrites
  expect(await pending(saver)).toEqual(await pending(theirs))
  expect((await saver.getTuple(first))?.pendingWrites).toEqual([])
  const { size } = (await saver.record('a')).head()
  await saver.putWrites(config, [['x', 7]], 'u')
  expect((await saver.record('a')).head().size).toBe(size)
})

it('a delta channel has the writes since the last checkpoint with its value, oldest first', async () => {
  const saver = new IndelibleSaver(memoryStore())
  let config = at('a')
  const configs: RunnableConfig[] = []
  for (const step of [1, 2, 3, 4]) {
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: step === 2 ? { d: ['two'], e: 'e' } : step === 1 ? { d: ['one'] } : {},
      channel_versions: { d: step, e: step },
    }
    config = await saver.put(config, checkpoint, { source: 'loop', step, parents: {} }, checkpoint.channel_versions)
    await saver.putWrites(config, [['d', `d${step}`], ['f', `f${step}`], ['d', `again${step}`]], 't') // oxfmt-ignore
    configs.push(config)
  }
  const history = (at: RunnableConfig, ...channels: string[]) => saver.getDeltaChannelHistory({ config: at, channels })
  const of = (...steps: readonly number[]): unknown =>
    steps.flatMap((step) => [
      ['t', 'd', `d${step}`],
      ['t', 'd', `again${step}`],
    ])
  expect(await history(config, 'd')).toEqual({ d: { seed: ['two'], writes: of(2, 3) } })
  expect(await history(at('a'), 'd', 'f')).toEqual({
    d: { seed: ['two'], writes: of(2, 3) },
    f: { writes: [1, 2, 3].map((step) => ['t', 'f', `f${step}`]) },
  })
  expect(await history(configs[1] as RunnableConfig, 'd', 'e')).toEqual({
    d: { seed: ['one'], writes: of(1) },
    e: { writes: [] },
  })
  expect(await history(configs[0] as RunnableConfig, 'd')).toEqual({ d: { writes: [] } })
  expect(await history(config)).toEqual({})
  for (const none of [{}, at('none'), at('a', 'child'), at('a', '', 'none')])
    expect(await history(none, 'd')).toEqual({ d: { writes: [] } })
})

it('copyCheckpoints copies one thread or all, oldest first, and returns their number', async () => {
  const { saver } = await filled()
  const there = new IndelibleSaver(memoryStore())
  expect([await copyCheckpoints(saver, there, 'none'), await copyCheckpoints(saver, there, 'b')]).toEqual([0, 1])
  expect((await tuples(there, {})).map(({ config }) => config.configurable?.['thread_id'] as unknown)).toEqual(['b'])
  expect(await copyCheckpoints(saver, there)).toBe(5)
  expect(await tuples(there, {})).toEqual(await tuples(saver, {}))
})

it('copyCheckpoints that is ended copies the rest when called again, and lets other work run', async () => {
  const { saver } = await filled()
  const there = new IndelibleSaver(memoryStore())
  for (let looks = 0; ; looks++) {
    let left = looks
    const signal = { throwIfAborted: () => { if (left-- === 0) throw new Error('gone') } } // oxfmt-ignore
    const outcome = await copyCheckpoints(saver, there, undefined, { signal }).catch(String)
    if (outcome === 'Error: gone') continue
    expect([outcome, looks]).toEqual([5, 10])
    break
  }
  expect(await tuples(there, {})).toEqual(await tuples(saver, {}))
  const [{ config, ...tuple }] = (await tuples(saver, {})) as [Awaited<ReturnType<typeof tuples>>[number]]
  let [turns, isOver] = [0, false]
  const count = (): void => void (isOver || (setImmediate(count), turns++))
  const many = { list: async function* () { for (let index = 0; index < 1024; index++) yield { ...tuple, config } } } // oxfmt-ignore
  const target = { put: async () => config, putWrites: async () => {} }
  count()
  expect(await copyCheckpoints(many as never, target as never)).toBe(1024)
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(8)
})

it('a channel that did not change has the value of the checkpoint before, or that of its version', async () => {
  const saver = new IndelibleSaver(memoryStore())
  let count = 0
  const putOf = async (
    config: RunnableConfig,
    values: { readonly [channel: string]: unknown },
    versions: { readonly [channel: string]: number },
    changed: { readonly [channel: string]: number } | undefined,
  ): Promise<RunnableConfig> => {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(++count), channel_values: { ...values }, channel_versions: { ...versions } } // oxfmt-ignore
    return saver.put(config, checkpoint, { source: 'loop', step: count, parents: {} }, changed)
  }
  const [text, list, messages] = ['text', ['x', 'y'], [hello('hi')]] as const
  const whole = { text, list, messages }
  const first = await putOf(at('a'), whole, { text: 1, list: 1, messages: 1 }, undefined)
  const second = await putOf(first, whole, { text: 1, list: 1, messages: 1 }, {})
  const third = await putOf(second, { ...whole, text: 'new' }, { text: 2, list: 1, messages: 1 }, { text: 2 })
  const branch = await putOf(first, { ...whole, text: 'new' }, { text: 2, list: 1, messages: 1 }, {})
  const unknown = await putOf(third, { ...whole, text: 'never stored' }, { text: 9, list: 1, messages: 1 }, {})
  const again = await putOf(third, { ...whole, text: 'new' }, { text: 3, list: 2, messages: 2 }, undefined)
  const noted = (await saver.record('a'))
    .notes()
    .toArray()
    .map((note) => (note.type === 'application' ? (note.content as { readonly values?: unknown }).values : note.type))
  const same = { same: true }
  const all = { text: same, list: same, messages: same }
  // Values with texts are in a note of their own, which an erasure can take alone.
  expect(noted.slice(2)).toEqual([
    all,
    { list: same, messages: same },
    { text: { whole: ['json', '"new"'] } },
    { ...all, text: { at: 2 } },
    { list: same, messages: same },
    all,
  ])
  const shown = async (config: RunnableConfig): Promise<unknown> => {
    const tuple = await saver.getTuple(config)
    const { messages: found, ...others } = tuple?.checkpoint.channel_values ?? {}
    return { ...others, messages: (found as readonly HumanMessage[]).map(({ text: said }) => said) }
  }
  const expected = { text, list, messages: ['hi'] }
  expect(await Promise.all([first, second, third, branch, unknown, again].map(shown))).toEqual([
    expected,
    expected,
    { ...expected, text: 'new' },
    { ...expected, text: 'new' },
    { list, messages: ['hi'] },
    { ...expected, text: 'new' },
  ])
})

it('sends of checkpoints before version 4 are found among the writes of the parent', async () => {
  const savers = [new IndelibleSaver(memoryStore()), new MemorySaver()] as const
  const ids = [1, 2, 3].map((step) => uuid6(step))
  const found = await Promise.all(
    savers.map(async (saver) => {
      const tuplesOf: unknown[] = []
      for (const [thread, versions] of [
        ['a', { x: 1, y: 3 }],
        ['b', {}],
      ] as const) {
        const parent = { ...emptyCheckpoint(), v: 3, id: ids[0] as string, ts: '', channel_versions: { ...versions } }
        const first = await saver.put(at(thread), parent, { source: 'loop', step: 1, parents: {} }, {})
        await saver.putWrites(first, [[TASKS, 'send 1'], ['x', 1], [TASKS, 'send 2']], 't') // oxfmt-ignore
        for (const [step, v] of [
          [2, 3],
          [3, 4],
        ] as const) {
          const next = {
            ...emptyCheckpoint(),
            v,
            id: ids[step - 1] as string,
            ts: '',
            channel_versions: { ...versions },
          }
          await saver.put(first, next, { source: 'loop', step, parents: {} }, {})
          tuplesOf.push((await saver.getTuple(at(thread, '', next.id)))?.checkpoint)
        }
        tuplesOf.push((await saver.getTuple(first))?.checkpoint)
      }
      return tuplesOf
    }),
  )
  expect(found[0]).toEqual(found[1])
  expect(found[0]?.[0]).toMatchObject({ channel_values: { [TASKS]: ['send 1', 'send 2'] } })
})

it('pruning a thread that is not there creates nothing', async () => {
  const store = memoryStore()
  expect(await new IndelibleSaver(store).prune('never')).toBe(0)
  expect((await store.list()).logs).toEqual([])
})

it('copyCheckpoints fails where its target fails', async () => {
  const { saver, second } = await filled()
  await saver.putWrites(second, [['x', 1]], 't')
  const full = new Error('it is full')
  for (const wrong of ['put', 'putWrites'] as const) {
    const target = Object.assign(new MemorySaver(), { [wrong]: () => Promise.reject(full) })
    await expect(copyCheckpoints(saver, target, 'a')).rejects.toBe(full)
  }
})

it('a message is stored once if a write with it is still being serialized when its checkpoint comes', async () => {
  const inner = new JsonPlusSerializer()
  let isFirst = true
  const serde: SerializerProtocol = {
    dumpsTyped: async (value) => {
      if (value instanceof HumanMessage && value.text === 'slow' && isFirst) {
        isFirst = false
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      return inner.dumpsTyped(value)
    },
    loadsTyped: (type, text) => inner.loadsTyped(type, text),
  }
  const saver = new IndelibleSaver(memoryStore(), { serde })
  const first = await put(saver, at('a'), [hello('hi')], 1)
  const writing = saver.putWrites(first, [['messages', [hello('slow')]]], 't')
  const second = await put(saver, first, [hello('hi'), hello('slow')], 2)
  await writing
  expect((await saver.record('a')).view().toArray().map(textOf)).toEqual(['hi', 'slow'])
  expect((await saver.getTuple(first))?.pendingWrites?.length).toBe(1)
  expect((await saver.getTuple(second))?.pendingWrites).toEqual([])
})

it('checkpoints of one id are listed in the order of their threads, last created first', async () => {
  const saver = new IndelibleSaver(memoryStore())
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(1) }
  for (const thread of ['a', 'b', 'c', 'd'])
    await saver.put(at(thread), checkpoint, { source: 'loop', step: 1, parents: {} }, {})
  const threads = (await tuples(saver, {})).map(({ config }) => config.configurable?.['thread_id'] as unknown)
  expect(threads).toEqual(['d', 'c', 'b', 'a'])
})

it('messages that are no text leave the conversation as it was, and no messages empty it', async () => {
  const saver = new IndelibleSaver(memoryStore())
  const texts = async () => (await saver.record('a')).conversation().toArray().map(textOf)
  const first = await put(saver, at('a'), [hello('hi'), hello('there')], 1)
  const odd = [hello('hi'), new Uint8Array([1, 255])] as unknown as HumanMessage[]
  const second = await put(saver, first, odd, 2)
  expect(await texts()).toEqual(['hi', 'there'])
  expect((await saver.getTuple(second))?.checkpoint.channel_values['messages']).toEqual(odd)
  const third = await put(saver, second, [], 3)
  expect(await texts()).toEqual([])
  expect((await saver.getTuple(third))?.checkpoint.channel_values['messages']).toEqual([])
  await put(saver, third, [hello('anew')], 4)
  expect(await texts()).toEqual(['anew'])
})

it('a saver that has read a thread returns what another one has put since, and its callers cannot change what it keeps', async () => {
  const store = memoryStore()
  const [a, b] = [new IndelibleSaver(store), new IndelibleSaver(store)]
  const read = async (saver: IndelibleSaver) =>
    (await saver.getTuple(at('a')))?.checkpoint.channel_values['messages'] as HumanMessage[]
  const first = await put(a, at('a'), [hello('hi')], 1)
  const kept = await read(a)
  ;(kept[0] as HumanMessage).content = 'changed by its caller'
  expect((await read(a)).map(({ content }) => content)).toEqual(['hi'])
  const second = await put(b, first, [hello('hi'), hello('there')], 2)
  expect((await read(a)).map(({ content }) => content)).toEqual(['hi', 'there'])
  await put(a, second, [hello('anew')], 3)
  expect((await read(b)).map(({ content }) => content)).toEqual(['anew'])
  expect((await read(a)).map(({ content }) => content)).toEqual(['anew'])
})
