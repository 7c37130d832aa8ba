/** Saved histories of refs, read field by field: those of this library, and Sidekick's `llm2`, which names keys of its own. */
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
} from 'indelible/json/kit'
import { isBlockId } from 'indelible/proof/kit'
import { roles } from 'indelible/message/kit'
import { type Loss } from 'indelible/codecs'
import { invalidId } from 'indelible/store/kit'
import { createKeyedHistory, type KeyedRef } from './keyed.ts'
import type { ParsedHistory } from './parsed-history.ts'
import { refFields, refOf, type MessageRef } from './ref.ts'
import { createRefHistory } from './ref-history.ts'
import { isRefTree, type RefTree } from './ref-tree.ts'

/** Histories of this library. Version 2 may have a tree and an inbox. What it has no field for was not written by it. Throws Unexpected. */
export const readOurs = (json: JsonObject, version: 1 | 2): ParsedHistory => {
  nothingBeside(json, ['type', 'version', 'scope', 'session', 'refs', ...(version === 2 ? ['tree', 'inbox'] : [])])
  const scope = readIn(json, 'scope', (value) => checkName('scope', value, 'the name of a scope'))
  const session =
    json['session'] === undefined
      ? undefined
      : readIn(json, 'session', (value) => checkName('log', value, 'the id of a session'))
  const tree = json['tree'] === undefined ? undefined : readIn(json, 'tree', readTree)
  const from = readIn(json, 'refs', (list) => readEach(aListOfRefs(list), readRef))
  const inbox =
    json['inbox'] === undefined ? undefined : readIn(json, 'inbox', (list) => readEach(aListOfRefs(list), readRef))
  return {
    kind: 'refs',
    format: 'indelible.refs',
    history: createRefHistory({ scope, session, tree, from, inbox }),
    losses: Object.freeze([]),
  }
}

const readTree = (value: Json | undefined): RefTree => {
  if (!isRefTree(value)) throw new Unexpected([], 'a tree of refs: { id, len }', value)
  nothingBeside(value as unknown as JsonObject, ['id', 'len'])
  return value
}

/** Whether an array is one of refs: its first item names keys. A message has a content of its own; a ref has none. */
export const isRefList = ([first]: readonly Json[]): boolean => first !== undefined && namesKeys(first)

/** Whether a value is a ref by llm2, or was to be one. */
export const namesKeys = (value: Json): boolean => isObject(value) && keyFields.some((field) => field in value)

/**
 * Refs by llm2: of blocks here, if all their keys are ids of blocks. `owner` is the object around them, `at` where in it
 * they are. Throws Unexpected.
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
  const from = refs.map(({ keys, role }) => ({ blockIds: keys.filter(isBlockId), role }))
  return { kind: 'refs', format: 'llm2', history: createRefHistory({ scope, from }), losses }
}

/** The keys were called ids once. */
const keyFields = ['blockKeys', 'blockIds'] as const

const readRef = (item: Json): MessageRef => {
  const ref = refOf(item)
  nothingBeside(item as JsonObject, refFields) // a ref is an object
  return ref
}

const readKeyedRef = (item: Json): KeyedRef => {
  if (!isObject(item)) throw new Unexpected([], 'a ref', item)
  if ('content' in item) throw new Unexpected([], 'a ref, which has no content of its own', item)
  const keys = keysIn(item)
  const role = roles.find((known) => known === item['role'])
  if (role === undefined) throw new Unexpected(['role'], `one of ${roles.join(', ')}`, item['role'])
  const flowId = idIn(item, 'flowId')
  return { keys, role, ...(flowId !== undefined && { flowId }) }
}

/** A list that Go has left nil is null; of two names for it the one with something in it counts. */
const keysIn = (ref: JsonObject): readonly string[] => {
  if (!namesKeys(ref)) throw new Unexpected(['blockKeys'], 'an array of keys', undefined)
  const [keys, ids] = keyFields.map((field) =>
    readIn(ref, field, (value) =>
      value === undefined || value === null ? [] : readEach(aListOf(value, 'an array of keys'), aKey),
    ),
  ) as [string[], string[]]
  if (keys.length === 0) return ids
  if (ids.length > 0 && (ids.length !== keys.length || ids.some((id, index) => id !== keys[index])))
    throw new Unexpected(['blockIds'], 'what blockKeys is', ref['blockIds'])
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

/** Go leaves out what is empty, or writes it so. */
const idIn = (owner: JsonObject, field: string): string | undefined => {
  const found = owner[field] ?? ''
  if (typeof found !== 'string') throw new Unexpected([field], 'a string', found)
  return found === '' ? undefined : found
}

const nothingBeside = (owner: JsonObject, known: readonly string[]): void => {
  for (const [field, value] of Object.entries(fieldsBeside(owner, known) ?? {}))
    throw new Unexpected([field], 'absent, for this format has no such field', value)
}

const unknown = (owner: Json, known: readonly string[], position: number): Loss[] =>
  Object.keys((isObject(owner) && fieldsBeside(owner, known)) || {}).map((field) =>
    Object.freeze({ position, path: [field], reason: 'is no field of llm2: it was left out' }),
  )
