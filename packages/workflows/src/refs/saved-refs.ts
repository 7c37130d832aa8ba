/** Reads saved histories of refs, field by field: this library's own, and Sidekick's `llm2`. */
import {
  aList,
  fieldsBeside,
  isObject,
  readEach,
  readIn,
  Unexpected,
  type Json,
  type JsonObject,
  type Path,
} from 'indelible/internal/json'
import { isBlockId } from 'indelible/internal/proof'
import { roles } from 'indelible/internal/message'
import { type Loss } from 'indelible/codecs'
import { invalidId } from 'indelible/internal/store'
import { createKeyedHistory, type KeyedRef } from './keyed.ts'
import type { ParsedHistory } from './parsed-history.ts'
import { isRefTree, refOf, refuseOtherFields, type RefTree } from './ref.ts'
import { createRefHistory } from './ref-history.ts'

/** Reads this library's histories. From version 2 on they may have a tree and an inbox. Throws Unexpected for unknown fields. */
export const readOurs = (json: JsonObject, version: 1 | 2 | 3): ParsedHistory => {
  refuseOtherFields(json, ['type', 'version', 'scope', 'session', 'refs', ...(version === 1 ? [] : ['tree', 'inbox'])])
  const scope = readIn(json, 'scope', (value) => checkName('scope', value, 'the name of a scope'))
  const session =
    json['session'] === undefined
      ? undefined
      : readIn(json, 'session', (value) => checkName('log', value, 'the id of a session'))
  const tree = json['tree'] === undefined ? undefined : readIn(json, 'tree', readTree)
  const from = readIn(json, 'refs', (list) => readEach(aListOfRefs(list), refOf))
  const inbox =
    json['inbox'] === undefined ? undefined : readIn(json, 'inbox', (list) => readEach(aListOfRefs(list), refOf))
  return {
    kind: 'refs',
    format: 'indelible.refs',
    history: createRefHistory({ scope, session, tree, from, inbox }),
    losses: Object.freeze([]),
  }
}

const readTree = (value: Json | undefined): RefTree => {
  if (!isRefTree(value)) throw new Unexpected([], 'a tree of refs: { id, len }', value)
  refuseOtherFields(value as unknown as JsonObject, ['id', 'len'])
  return value
}

/** Whether an array holds refs: its first item has a field of keys. */
export const isRefList = ([first]: readonly Json[]): boolean => first !== undefined && looksLikeKeyedRef(first)

/** Whether a value has a field of keys, as a ref of llm2 does. */
export const looksLikeKeyedRef = (value: Json): boolean => isObject(value) && keyFields.some((field) => field in value)

/**
 * Reads refs of llm2; if all their keys are block ids, they are refs to blocks here. `owner` is the
 * object that holds them, `at` their path in it. Throws Unexpected.
 */
export const readLlm2 = (owner: JsonObject, list: Json | undefined, at: Path, scope: string): ParsedHistory => {
  const [flowId, workspaceId] = [idIn(owner, 'flowId'), idIn(owner, 'workspaceId')]
  const losses = unknown(owner, ['type', 'refs', 'flowId', 'workspaceId'], 0)
  let refs: readonly KeyedRef[]
  try {
    refs = readEach(list === null ? [] : aListOfRefs(list), (item, position) => {
      losses.push(...unknown(item, [...keyFields, 'role', 'flowId', 'workspaceId'], position))
      return readKeyedRef(item)
    })
  } catch (error) {
    throw error instanceof Unexpected ? error.within(...at) : error
  }
  Object.freeze(losses)
  if (!refs.every(({ keys }) => keys.length > 0 && keys.every(isBlockId)))
    return { kind: 'keyed', format: 'llm2', history: createKeyedHistory(refs, flowId, workspaceId, scope), losses }
  const from = refs.map(({ keys, role, flowId: own = flowId }) => {
    const blockIds = keys.filter(isBlockId)
    return own === undefined ? { blockIds, role } : { blockIds, role, flowId: own }
  })
  return { kind: 'refs', format: 'llm2', history: createRefHistory({ scope, from }), losses }
}

/** `blockIds` is the older name. */
const keyFields = ['blockKeys', 'blockIds'] as const

const readKeyedRef = (item: Json): KeyedRef => {
  if (!isObject(item)) throw new Unexpected([], 'a ref', item)
  if ('content' in item) throw new Unexpected([], 'a ref, which has no content of its own', item)
  const keys = keysIn(item)
  const role = roles.find((known) => known === item['role'])
  if (role === undefined) throw new Unexpected(['role'], `one of ${roles.join(', ')}`, item['role'])
  const flowId = idIn(item, 'flowId')
  return { keys, role, ...(flowId !== undefined && { flowId }) }
}

/** Go writes a nil list as null. If both names are present, the nonempty list counts. */
const keysIn = (ref: JsonObject): readonly string[] => {
  if (!looksLikeKeyedRef(ref)) throw new Unexpected(['blockKeys'], 'an array of keys', undefined)
  const [keys, ids] = keyFields.map((field) =>
    readIn(ref, field, (value) =>
      value === undefined || value === null ? [] : readEach(aListOf(value, 'an array of keys'), aKey),
    ),
  ) as [string[], string[]]
  if (keys.length === 0) return ids
  if (ids.length > 0 && (ids.length !== keys.length || ids.some((id, index) => id !== keys[index])))
    throw new Unexpected(['blockIds'], 'the same as blockKeys', ref['blockIds'])
  return keys
}

const aKey = (value: Json): string => {
  if (typeof value !== 'string') throw new Unexpected([], 'a key', value)
  return value
}

const aListOf = (value: Json | undefined, expected: string): readonly Json[] => {
  if (!Array.isArray(value)) throw new Unexpected([], expected, value)
  return aList(value)
}

const aListOfRefs = (value: Json | undefined): readonly Json[] => aListOf(value, 'an array of refs')

const checkName = (what: 'scope' | 'log', value: Json | undefined, expected: string): string => {
  if (typeof value !== 'string' || invalidId(what, value) !== undefined) throw new Unexpected([], expected, value)
  return value
}

/** Go omits an empty id, or writes it as "". */
const idIn = (owner: JsonObject, field: string): string | undefined => {
  const found = owner[field] ?? ''
  if (typeof found !== 'string') throw new Unexpected([field], 'a string', found)
  return found === '' ? undefined : found
}

const unknown = (owner: Json, known: readonly string[], position: number): Loss[] =>
  Object.keys((isObject(owner) && fieldsBeside(owner, known)) || {}).map((field) =>
    Object.freeze({ position, path: [field], reason: 'is not a field of llm2: left out' }),
  )
