/** State that grows as a map, such as `files`: stored as what changed, and erased by a prune when no checkpoint reaches it. */
import { HumanMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import { emptyCheckpoint, MemorySaver, uuid6, type BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import * as fc from 'fast-check'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { forkSession, memoryStore, textOf, verifySession, type Store } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { IndelibleSaver } from '@indelible/langgraph'
import { rounds } from '../../../test/rounds.ts'
import { mapChanges, withChanges } from '../src/maps.ts'

type Files = { readonly [path: string]: unknown }

/** A graph's step as LangGraph stores it: the write of a node, then the checkpoint with the whole state. */
const step = async (
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  at: number,
  files: Files,
  write: unknown,
  messages: readonly HumanMessage[] = [],
): Promise<RunnableConfig> => {
  if (config.configurable?.['checkpoint_id'] !== undefined)
    await saver.putWrites(config, [['files', write]], `task-${at}`)
  const channels = { files, ...(messages.length > 0 && { messages }) }
  const versions = Object.fromEntries(Object.keys(channels).map((name) => [name, at]))
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(at),
    channel_values: channels,
    channel_versions: versions,
  }
  return saver.put(config, checkpoint, { source: 'loop', step: at, parents: {} }, versions)
}

const thread = (id = 't'): RunnableConfig => ({ configurable: { thread_id: id, checkpoint_ns: '' } })

/** Source code: lines, quotes, backslashes. */
const source = (name: string, lines: number): string =>
  Array.from(
    { length: lines },
    (_, line) => `export const ${name}_${line} = "value ${line} of ${name}\\n" // ${line * 7919}`,
  ).join('\n')

const storedBytes = async (store: Store, id: string): Promise<number> =>
  (await store.read(id)).reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)

it.each([
  ['its new file', (files: Files, name: string) => ({ [name]: files[name] })],
  ['the whole map', (files: Files) => files],
] as const)('stores at most 3 bytes for each byte of a new file, if a node writes %s', async (_, writeOf) => {
  const store = memoryStore()
  const saver = new IndelibleSaver(store)
  const files: { [path: string]: string } = {}
  let [config, bytes]: [RunnableConfig, number] = [thread(), 0]
  for (let at = 1; at <= 40; at++) {
    const name = `src/file${at}.ts`
    const content = source(`file${at}`, 80)
    bytes += Buffer.byteLength(content)
    files[name] = content
    config = await step(saver, config, at, structuredClone(files), writeOf(files, name))
  }
  expect((await storedBytes(store, saver.idOf('t'))) / bytes).toBeLessThanOrEqual(3)
  const fresh = await new IndelibleSaver(store).getTuple(thread())
  expect(fresh?.checkpoint.channel_values['files']).toEqual(files)
  expect(Object.keys(fresh?.checkpoint.channel_values['files'] as Files)).toEqual(Object.keys(files))
})

it('stores a changed file of a nested map, and not its neighbours', async () => {
  const store = memoryStore()
  const saver = new IndelibleSaver(store)
  const data = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [`f${at}`, { content: source(`f${at}`, 20), at }]),
  )
  const first = await step(saver, thread(), 1, { tree: data }, undefined)
  const before = await storedBytes(store, saver.idOf('t'))
  await step(saver, first, 2, { tree: { ...data, f3: { content: 'short', at: 3 } } }, { tree: { f3: 'short' } })
  expect((await storedBytes(store, saver.idOf('t'))) - before).toBeLessThan(2000)
})

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string(),
    fc.integer(),
    fc.constant(null),
    fc.array(fc.integer(), { maxLength: 2 }),
    tie('map'),
  ),
  map: fc.dictionary(
    fc.oneof(fc.constantFrom('a', 'b', '__proto__', '1', '0', 'lc'), fc.string({ maxLength: 3 })),
    tie('value'),
    {
      maxKeys: 5,
      noNullPrototype: true,
    },
  ),
})).map as fc.Arbitrary<Files>

it('makes one map of another, with keys in the same order, or says that it can not', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const [a, b] = [JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after))] as [never, never]
      const changes = mapChanges(a, b)
      if (changes !== undefined) expect(JSON.stringify(withChanges(a, changes))).toBe(JSON.stringify(b))
      expect(JSON.stringify(a)).toBe(JSON.stringify(before))
    }),
    { numRuns: rounds(200, 5000) },
  )
})

it('gives what LangGraph’s own saver gives, for any maps, branches and prunes', async () => {
  const deed = fc.record({
    files: json.filter((files) => !JSON.stringify(files).includes('__proto__')), // which LangGraph's own serializer loses
    from: fc.nat({ max: 5 }),
    prunes: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 8 }), async (deeds) => {
      const store = memoryStore()
      const [own, theirs] = [new IndelibleSaver(store), new MemorySaver()]
      const configs: RunnableConfig[] = [thread()]
      const hidden = new Set<unknown>()
      const pad = 'x'.repeat(300)
      for (const [at, { files, from, prunes }] of deeds.entries()) {
        const config = configs[Math.min(from, configs.length - 1)] as RunnableConfig
        const state = JSON.parse(JSON.stringify({ pad, ...files })) as Files
        const base = hidden.has(config.configurable?.['checkpoint_id']) ? thread() : config
        const next = await step(own, base, at + 1, state, { [`w${at}`]: pad })
        const id: unknown = next.configurable?.['checkpoint_id']
        if (base.configurable?.['checkpoint_id'] !== undefined)
          await theirs.putWrites(base, [['files', { [`w${at}`]: pad }]], `task-${at + 1}`)
        const tuple = await own.getTuple(next)
        await theirs.put(base, tuple?.checkpoint as never, tuple?.metadata as never)
        expect(tuple?.checkpoint.channel_values['files']).toEqual(state)
        configs.push(next)
        expect(id).toBeTypeOf('string')
        if (prunes === undefined) continue
        const before = new Set<unknown>()
        for await (const each of own.list(thread())) before.add(each.checkpoint.id)
        await own.prune('t', { keep: prunes })
        for await (const each of own.list(thread())) before.delete(each.checkpoint.id)
        for (const gone of before) hidden.add(gone)
      }
      for (const saver of [own, new IndelibleSaver(store)])
        for await (const each of saver.list(thread())) {
          const expected = await theirs.getTuple(each.config)
          expect(each.checkpoint.channel_values).toEqual(expected?.checkpoint.channel_values)
          expect(each.pendingWrites).toEqual(expected?.pendingWrites)
        }
      await verifySession(store, own.idOf('t'))
    }),
    { numRuns: rounds(40, 1000) },
  )
})

it('prune erases the state that no remaining checkpoint reaches, and no message', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prune-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 's.db')
  const store = await sqliteStore({ path })
  const saver = new IndelibleSaver(store)
  let config = thread()
  const messages: HumanMessage[] = []
  for (let at = 1; at <= 6; at++) {
    messages.push(new HumanMessage({ content: `message ${at}`, id: `m${at}` }))
    const files = { [`gone${at}.ts`]: `planted ${at} ${source('f', 9)}`, stays: `remains ${source('s', 9)}` }
    config = await step(saver, config, at, files, { [`gone${at}.ts`]: `written ${at}` }, messages)
  }
  expect(await saver.prune('t', { keep: 2 })).toBe(4)
  const fresh = new IndelibleSaver(store)
  const ids: string[] = []
  for await (const { checkpoint } of fresh.list(thread())) {
    ids.push(checkpoint.id)
    expect(Object.keys(checkpoint.channel_values['files'] as Files)).toContain('stays')
  }
  expect(ids).toHaveLength(2)
  const record = await fresh.record('t')
  expect(record.view().toArray().map(textOf)).toEqual(messages.map(({ content }) => content))
  await verifySession(store, saver.idOf('t'))
  // The thread goes on, in this process and in another, with the state of the last checkpoint.
  await step(fresh, config, 7, { 'new.ts': source('n', 9), stays: 'now' }, { 'new.ts': 'n' }, messages)
  const last = await new IndelibleSaver(store).getTuple(thread())
  expect(last?.checkpoint.channel_values['files']).toEqual({ 'new.ts': source('n', 9), stays: 'now' })
  await store.close()
  const file = readFileSync(path, 'latin1')
  expect([1, 2, 3, 4].filter((at) => file.includes(`planted ${at} `) || file.includes(`written ${at}`))).toEqual([])
  expect(file).toContain('planted 6 ')
})

it('prune erases nothing that a fork of the record shares', async () => {
  const store = memoryStore()
  const saver = new IndelibleSaver(store)
  let config = thread()
  for (let at = 1; at <= 3; at++) config = await step(saver, config, at, { a: `state ${at} ${'x'.repeat(300)}` }, 'w')
  const record = await saver.record('t')
  const before = (await store.read(record.id)).length
  await forkSession(store, record.id, { id: 'fork', at: record.len })
  await saver.prune('t')
  const shared = (await store.sharing(record.id)).reduce((most, { rows }) => Math.max(most, rows), 0)
  const rows = await store.read(record.id)
  expect(rows.slice(0, shared).every(({ erased }) => erased === undefined)).toBe(true)
  expect(rows.length).toBeGreaterThan(before)
  const last = await new IndelibleSaver(store).getTuple(thread())
  expect(last?.checkpoint.channel_values['a']).toBeUndefined()
  expect(last?.checkpoint.channel_values['files']).toMatchObject({ a: expect.stringContaining('state 3') as string })
})
