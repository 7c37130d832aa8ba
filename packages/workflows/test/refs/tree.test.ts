/** Trees of ref chunks: equal to the list, small to grow, and named by a reference of bounded size. */
import { array, assert, asyncProperty, integer, oneof } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, memoryStore, user } from 'indelible'
import { digestOf, type BlockId } from '../../../../src/proof/internal.ts'
import {
  blocksOfTree,
  createPendingHistory,
  createRefHistory,
  growRefTree,
  hydrate,
  parseHistoryJson,
  persist,
  refsOf,
  type MessageRef,
  type RefTree,
} from '@indelible/workflows/refs'
import { keyValueBlocks, type BlockStore } from 'indelible/store'
import { rounds } from '../../../../test/rounds.ts'
import { ok } from '../../../../test/task-results.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'

const ref = (index: number): MessageRef => ({
  blockIds: [digestOf(`block ${index}`) as BlockId],
  role: index % 2 === 0 ? 'user' : 'assistant',
})
const refsOfTree = (store: BlockStore, tree: RefTree) => refsOf(store, createRefHistory({ tree }))
const some = Array.from({ length: 2200 }, (_, index) => ref(index))

it('a ref tree node needs refs; a single one is valid', async () => {
  const store = keyValueBlocks(keyValueMap())
  const tree = (await ok(growRefTree(store, undefined, some.slice(0, 1)))) as RefTree
  expect(await ok(refsOfTree(store, tree))).toEqual(some.slice(0, 1))
  for (const none of [{ refs: [] }, { refs: {} }, { nodes: [] }, [], 'x']) {
    const [id] = await ok(store.putBlocks([Buffer.from(JSON.stringify(none))]))
    const read = await refsOfTree(store, { ...tree, id: id as BlockId })()
    expect(JSON.stringify(read)).toContain('should have 1 to 32 refs, found')
  }
})

describe('a tree of refs', () => {
  it("has the list's refs, and is the same in whatever steps they were added", async () => {
    await assert(
      asyncProperty(
        array(oneof(integer({ min: 1, max: 5 }), integer({ min: 1, max: 1100 })), {
          minLength: 1,
          maxLength: 6,
        }),
        async (sizes) => {
          const store = keyValueBlocks(keyValueMap())
          let tree: RefTree | undefined
          let len = 0
          for (const size of sizes) {
            const to = Math.min(some.length, len + size)
            tree = await ok(growRefTree(store, tree, some.slice(len, to)))
            len = to
          }
          if (tree === undefined) throw new Error('no tree')
          expect(tree).toEqual(await ok(growRefTree(store, undefined, some.slice(0, len))))
          expect(await ok(refsOfTree(store, tree))).toEqual(some.slice(0, len))
        },
      ),
      { numRuns: rounds(6, 15) },
    )
  })
  it('grows ref by ref across each level boundary', async () => {
    const store = keyValueBlocks(keyValueMap())
    let tree: RefTree | undefined
    const grow = async (refs: readonly MessageRef[]): Promise<void> => {
      const len = tree?.len ?? 0
      tree = await ok(growRefTree(store, tree, refs))
      expect(tree?.len).toBe(len + refs.length)
    }
    // Nodes have 32 refs each.
    for (const added of some.slice(0, 70)) await grow([added])
    await grow(some.slice(70, 990))
    for (const added of some.slice(990, 1060)) await grow([added])
    expect(await ok(refsOfTree(store, tree as unknown as RefTree))).toEqual(some.slice(0, 1060))
  })
  it('stores O(log n) new bytes per ref and lists its blocks', async () => {
    const map = new Map<string, Uint8Array>()
    const store = keyValueBlocks(keyValueMap(map))
    const count = rounds(3000, 20_000)
    const all = Array.from({ length: count }, (_, index) => ref(index))
    let tree = (await ok(growRefTree(store, undefined, all))) as RefTree
    const bytes = (): number => [...map.values()].reduce((sum, { length }) => sum + length, 0)
    const old = await ok(blocksOfTree(store, tree))
    expect(old.length).toBe(Math.ceil(count / 32) + Math.ceil(count / 32 ** 2) + 1)
    let most = 0
    for (let index = 0; index < 40; index++) {
      const before = bytes()
      tree = (await ok(growRefTree(store, tree, [ref(count + index)]))) as RefTree
      most = Math.max(most, bytes() - before)
    }
    expect(most).toBeLessThan(8500)
    const now = new Set(await ok(blocksOfTree(store, tree)))
    const gone = old.filter((id) => !now.has(id))
    expect(gone.length).toBeLessThan(5)
    // What only older trees have can be deleted.
    for (const key of map.keys()) if (!now.has(key.slice(-64) as BlockId)) map.delete(key)
    expect((await ok(refsOfTree(store, tree))).length).toBe(count + 40)
  })
  it('is a fault if damaged, missing or of another length', async () => {
    const map = new Map<string, Uint8Array>()
    const store = keyValueBlocks(keyValueMap(map))
    const tree = (await ok(growRefTree(store, undefined, some.slice(0, 100)))) as RefTree
    expect(await refsOfTree(store, { ...tree, len: 99 })()).toMatchObject({ left: { _tag: 'MalformedTree' } })
    expect(await refsOfTree(store, { ...tree, len: 20 })()).toMatchObject({ left: { _tag: 'MalformedTree' } })
    const [other] = await ok(store.putBlocks([new TextEncoder().encode('{"nodes":["x"]}')]))
    expect(await refsOfTree(store, { id: other as BlockId, len: 100 })()).toMatchObject({
      left: { _tag: 'MalformedTree', id: other },
    })
    map.clear()
    expect(await growRefTree(store, tree, [ref(1)])()).toMatchObject({ left: { _tag: 'MissingBlock' } })
  })
})

describe('a history with a tree', () => {
  it('writes a reference of bounded size that hydrates to the same content', async () => {
    const store = memoryStore()
    const messages = Array.from({ length: 200 }, (_, index) => (index % 2 ? assistant(`a${index}`) : user(`q${index}`)))
    const refs = (await ok(persist(store, createPendingHistory({ from: messages })))).refHistory()
    const whole = JSON.stringify(refs)
    const tree = (await ok(growRefTree(store, undefined, refs.refs().slice(0, 190)))) as RefTree
    refs.keep(tree)
    expect(JSON.stringify(refs)).toBe(whole)
    const reference = JSON.stringify(refs.toReference())
    expect(reference.length).toBeLessThan(1500)
    const parsed = parseHistoryJson(reference)
    if (parsed._tag === 'Left' || parsed.right.kind !== 'refs') throw new Error('no refs')
    const { history } = parsed.right
    expect([history.len, history.since().length, history.tree]).toEqual([200, 10, tree])
    const given = { ...tree, more: 1 }
    const copied = createRefHistory({ tree: given })
    given.len = 1
    expect([copied.toJSON().tree, copied.tree]).toEqual([tree, tree])
    expect(() => history.refs()).toThrow('the first 190 refs of this history are in a tree')
    expect(await ok(refsOf(store, history))).toEqual(refs.refs())
    expect((await ok(hydrate(store, history))).view().toArray()).toEqual(messages)
    expect(history.append(ref(1))).toBe(200)
    expect(JSON.stringify(history)).toBe(JSON.stringify({ ...history.toReference() }))
    expect(() => history.keep({ ...tree, len: 300 })).toThrow(TypeError)
    expect(() => history.keep({ ...tree, len: 100 })).toThrow(TypeError)
    expect(() => createRefHistory({ tree: { id: 'x' as never, len: 1 } })).toThrow(TypeError)
    for (const broken of [{ id: tree.id }, { ...tree, more: 1 }, 'x', null])
      expect(parseHistoryJson({ ...history.toReference(), tree: broken })).toMatchObject({
        left: { _tag: 'UnreadableHistory' },
      })
  })
})
