/**
 * A tree of ref chunks: the refs of a history as blocks, so that a workflow can pass an activity a single id.
 *
 * A leaf has up to 32 refs, an inner node the ids of up to 32 nodes. All nodes but those on the
 * right edge are full, so equal refs give equal trees, however they were added. Adding a ref
 * rewrites the right edge: one leaf, and one node a level.
 */
import { utf8ToBytes } from '@noble/hashes/utils.js'
import {
  checkArgument,
  freezeResult,
  hasField,
  describe,
  isLeft,
  isObject,
  parseJson,
  textOfUtf8,
  Unexpected,
  type Json,
} from 'indelible/internal/json'
import { isBlockId, type BlockId } from 'indelible/internal/proof'
import type { BlockStore } from 'indelible/store'
import { fail, need, type Steps, type Task } from 'indelible/internal/task'
import { refsSteps, type RefsFaultOf, type TreeFault } from './fault.ts'
import { refOf, type MessageRef, type RefTree } from './ref.ts'
import { checkBlockStore, checkRefHistory, type RefHistory } from './ref-history.ts'

/**
 * Add refs to the end of a tree, and store its new blocks. A retry returns the same tree.
 *
 * Cost    O(refs + log len) blocks: a ref at a time up to 7 kB at 20,000 of one block (bench: refs). One `getBlocks` and one
 *         `putBlocks` a level
 *
 * @param tree the tree to grow; undefined for a new one
 * @returns the new tree; undefined if there are no refs
 */
export const growRefTree = (
  store: BlockStore,
  tree: RefTree | undefined,
  added: readonly MessageRef[],
): Task<TreeFault, RefTree | undefined> => {
  checkBlockStore('growRefTree', store)
  checkArgument('growRefTree', tree === undefined || isObject(tree), 'a tree', tree)
  checkArgument('growRefTree', Array.isArray(added), 'a list of refs', added)
  const refs = added.map((ref) => ({ ...ref, blockIds: [...ref.blockIds] }))
  return refsSteps(async function* () {
    const len = tree?.len ?? 0
    if (refs.length === 0) return tree
    const { refs: leaf, levels }: Edge = tree === undefined ? { refs: [], levels: [] } : yield* edgeOf(store, tree)
    const put = (nodes: readonly Node[]) =>
      need(store.putBlocks(nodes.map((node) => utf8ToBytes(JSON.stringify(node)))))
    // Ids are known only after the blocks are stored, so nodes are stored level by level.
    let ids = yield* put(chunksOf([...leaf, ...refs]).map((chunk) => ({ refs: chunk })))
    for (let level = 0; level < levels.length || ids.length > 1; level++)
      ids = yield* put(chunksOf([...(levels[level] ?? []), ...ids]).map((chunk) => ({ nodes: chunk })))
    return Object.freeze({ id: ids[0] as BlockId, len: len + refs.length })
  }, 'growRefTree')
}

/**
 * Read every ref of a history, including those in its tree.
 *
 * Cost    O(len), and one `getBlocks` a level of the tree; no call without a tree
 *
 * @returns the refs, in order
 */
export const refsOf = (
  store: BlockStore,
  history: RefHistory,
): Task<TreeFault | RefsFaultOf<'OtherScope'>, readonly MessageRef[]> => {
  checkBlockStore('refsOf', store)
  checkRefHistory(history)
  return refsSteps(async function* () {
    const { tree, refs } = checkRefHistory(history).toJSON()
    if (tree === undefined) return refs
    if (store.scope !== history.scope)
      return yield* fail({ _tag: 'OtherScope', expected: store.scope, found: history.scope })
    return Object.freeze([...(yield* readTree(store, tree)).refs, ...refs])
  }, 'refsOf')
}

/**
 * List the blocks of a tree, without those of its messages. A block that only older trees use may
 * be deleted once no workflow carries such a tree.
 */
export const blocksOfTree = (store: BlockStore, tree: RefTree): Task<TreeFault, readonly BlockId[]> => {
  checkBlockStore('blocksOfTree', store)
  checkArgument('blocksOfTree', isObject(tree), 'a tree', tree)
  return refsSteps(async function* () {
    return (yield* readTree(store, tree)).ids
  }, 'blocksOfTree')
}

const width = 32

type Node = { readonly refs: readonly MessageRef[] } | { readonly nodes: readonly BlockId[] }

/** The last leaf, and for each level above it the nodes before the last one. */
interface Edge {
  readonly refs: readonly MessageRef[]
  readonly levels: readonly (readonly BlockId[])[]
}

const heightOf = (len: number): number => {
  let height = 0
  for (let most = width; most < len; most *= width) height += 1
  return height
}

async function* edgeOf(store: BlockStore, { id, len }: RefTree): Steps<TreeFault, Edge> {
  const levels: (readonly BlockId[])[] = []
  let at = id
  for (let height = heightOf(len); ; height--) {
    const [node] = yield* nodesOf(store, [at], height)
    if (node === undefined || hasField(node, 'refs')) return { refs: node?.refs ?? [], levels: levels.toReversed() }
    levels.push(node.nodes.slice(0, -1))
    at = node.nodes.at(-1) as BlockId // a node has at least one
  }
}

async function* readTree(
  store: BlockStore,
  { id, len }: RefTree,
): Steps<TreeFault, { readonly ids: readonly BlockId[]; readonly refs: readonly MessageRef[] }> {
  let level: readonly BlockId[] = [id]
  const ids: BlockId[] = []
  for (let height = heightOf(len); ; height--) {
    for (const id of level) ids.push(id)
    const nodes = yield* nodesOf(store, level, height)
    if (height > 0) {
      level = nodes.flatMap((node) => (hasField(node, 'nodes') ? node.nodes : []))
      continue
    }
    const refs = nodes.flatMap((node) => (hasField(node, 'refs') ? node.refs : []))
    if (refs.length !== len)
      return yield* fail({ _tag: 'MalformedTree', id, reason: `has ${refs.length} refs; expected ${len}` })
    return freezeResult({ ids, refs })
  }
}

async function* nodesOf(store: BlockStore, ids: readonly BlockId[], height: number): Steps<TreeFault, readonly Node[]> {
  const found = yield* need(store.getBlocks(ids))
  const missing = ids.filter((_, index) => found[index] === undefined)
  if (missing.length > 0) return yield* fail({ _tag: 'MissingBlock', ids: missing })
  const nodes: Node[] = []
  for (const [index, id] of ids.entries()) {
    const node = decodeNode(found[index] as Uint8Array, height)
    if (typeof node === 'string') return yield* fail({ _tag: 'MalformedTree', id, reason: node })
    nodes.push(node)
  }
  return nodes
}

/** A node, or a text that says why the bytes are not one. */
const decodeNode = (bytes: Uint8Array, height: number): Node | string => {
  let json
  try {
    json = parseJson(textOfUtf8(bytes))
  } catch {
    return 'is not text'
  }
  if (isLeft(json)) return 'is not JSON'
  const value = json.right as Json
  const list = isObject(value) ? value[height === 0 ? 'refs' : 'nodes'] : undefined
  if (!Array.isArray(list) || list.length === 0 || list.length > width)
    return `should have 1 to ${width} ${height === 0 ? 'refs' : 'nodes'}, found ${describe(list)}`
  if (height > 0) return list.every(isBlockId) ? { nodes: list } : 'should list block ids'
  try {
    return { refs: list.map(refOf) }
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    return `has an invalid ref: expected ${error.expected}`
  }
}

const chunksOf = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / width) }, (_, index) => items.slice(index * width, (index + 1) * width))
