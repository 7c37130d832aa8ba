/** Saved histories, in whatever form they were saved: found out by what they are, read, or named if they can't be. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { admit, describe, isObject, parseJson, type Json, type JsonObject, type Path, type Replaced } from '../json/index.ts'
import { isBlockId, roles, type Loss } from '../message/index.ts'
import { defaultScope, invalidId } from '../store/index.ts'
import { createPendingHistory, type PendingHistory } from './content.ts'
import type { RefsFault } from './fault.ts'
import { createKeyedHistory, type KeyedHistory } from './keyed.ts'
import { readLegacyChat } from './legacy-chat.ts'
import { isRefProblem, refOf, type MessageRef } from './ref.ts'
import { createRefHistory, type RefHistory } from './ref-history.ts'

/** A saved history; `kind` says what to do with it. */
export type ParsedHistory =
  /** Refs to blocks: hydrate them. */
  | { readonly kind: 'refs'; readonly format: 'indelible.refs' | 'llm2'; readonly history: RefHistory }
  /** Refs by keys of another system, whose content is there: `adoptHistory` reads it. */
  | { readonly kind: 'keyed'; readonly format: 'llm2'; readonly history: KeyedHistory }
  /** The messages themselves: persist them. `losses` is what the format says that a message can't. */
  | { readonly kind: 'messages'; readonly format: 'chat'; readonly history: PendingHistory; readonly losses: readonly Loss[] }

export interface ParseOptions {
  /** The scope of what was saved without one. Default: `default`. */
  readonly scope?: string
}

/**
 * Read a saved history: JSON, or its text.
 *
 * Known are `{ type: 'indelible.refs', … }`, `{ type: 'llm2', refs }` with `blockKeys` or `blockIds`, a bare array of refs
 * with `flowId`, an array of chat messages, and nothing at all (`[]` and `null`), which is an empty one of these.
 *
 * Total: it never throws on what it reads. `UnreadableHistory` says where and why, `NewerRefs` that the library is too old.
 *
 * Throws  TypeError, if `scope` can't be one
 */
export const parseHistoryJson = (saved: unknown, { scope = defaultScope }: ParseOptions = {}): Either<RefsFault, ParsedHistory> => {
  const value = typeof saved === 'string' ? parsed(saved) : right(saved)
  if (isLeft(value)) return value
  const admitted = admit(value.right)
  if (isLeft(admitted)) return unreadable(admitted.left.path, 'plain JSON data', `something that ${admitted.left.reason}`)
  const { value: json, replaced } = admitted.right
  if (json === null) return right({ kind: 'messages', format: 'chat', history: createPendingHistory({ scope }), losses: Object.freeze([]) })
  if (Array.isArray(json)) return isRefList(json) ? keyed({}, json, [], scope) : chat(json, replaced, scope)
  if (!isObject(json)) return unreadable([], expected, describe(json))
  if (json['type'] === 'indelible.refs') return ours(json)
  if (json['type'] === 'llm2') {
    const refs = json['refs'] ?? []
    return Array.isArray(refs) ? keyed(json, refs, ['refs'], scope) : unreadable(['refs'], 'an array of refs', describe(refs))
  }
  return unreadable([], expected, typeof json['type'] === 'string' ? `an object of the type ${describe(json['type'])}` : describe(json))
}

const expected = 'a history of refs ({ type: "indelible.refs" or "llm2", refs }), an array of refs or chat messages, or null'

const unreadable = (path: Path, what: string, found: string): Either<RefsFault, never> => left({ _tag: 'UnreadableHistory', path, expected: what, found })

const parsed = (text: string): Either<RefsFault, unknown> => {
  const json = parseJson(text)
  if (!isLeft(json)) return json
  const { line, column, expected, found } = json.left
  return unreadable([], `JSON: at line ${line}, column ${column} ${expected}`, found)
}

const ours = (json: JsonObject): Either<RefsFault, ParsedHistory> => {
  const { version, scope, session, refs } = json as { readonly [field: string]: Json | undefined }
  if (version !== 1) {
    if (typeof version === 'number' && version > 1) return left({ _tag: 'NewerRefs', found: version, supported: 1 })
    return unreadable(['version'], '1', describe(version))
  }
  if (typeof scope !== 'string' || invalidId('scope', scope) !== undefined) return unreadable(['scope'], 'the name of a scope', describe(scope))
  if (session !== undefined && (typeof session !== 'string' || invalidId('log', session) !== undefined)) return unreadable(['session'], 'the id of a session', describe(session))
  if (!Array.isArray(refs)) return unreadable(['refs'], 'an array of refs', describe(refs))
  const from: MessageRef[] = []
  for (const [position, item] of (refs as readonly Json[]).entries()) {
    const ref = refOf(item)
    if (isRefProblem(ref)) return unreadable(['refs', position, ...ref.at], ref.expected, describe(ref.value))
    from.push(ref)
  }
  return right({ kind: 'refs', format: 'indelible.refs', history: createRefHistory({ scope, ...(session !== undefined && { session }), from }) })
}

/** A message has a content of its own; a ref has none. */
const isRefList = (list: readonly Json[]): boolean => {
  const [first] = list
  return isObject(first) && ('blockIds' in first || 'blockKeys' in first)
}

const keyed = (owner: JsonObject, list: readonly Json[], at: Path, scope: string): Either<RefsFault, ParsedHistory> => {
  const refs: { readonly keys: readonly string[]; readonly role: MessageRef['role'] }[] = []
  for (const [position, item] of list.entries()) {
    const path = [...at, position]
    if (!isObject(item)) return unreadable(path, 'a ref', describe(item))
    // A list that Go has left nil is null; of two names for it the one with something in it counts.
    const field = Array.isArray(item['blockKeys']) && item['blockKeys'].length > 0 ? 'blockKeys' : 'blockIds' in item ? 'blockIds' : 'blockKeys'
    const keys = item[field] ?? []
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) return unreadable([...path, field], 'an array of keys', describe(keys))
    const role = roles.find((known) => known === item['role'])
    if (role === undefined) return unreadable([...path, 'role'], `one of ${roles.join(', ')}`, describe(item['role']))
    refs.push({ keys: keys as readonly string[], role })
  }
  const text = (name: string): string | undefined => {
    const found = owner[name]
    return typeof found === 'string' && found !== '' ? found : undefined
  }
  if (refs.every(({ keys }) => keys.length > 0 && keys.every(isBlockId))) {
    const from = refs.map(({ keys, role }) => ({ blockIds: keys.filter(isBlockId), role }))
    return right({ kind: 'refs', format: 'llm2', history: createRefHistory({ scope, from }) })
  }
  return right({ kind: 'keyed', format: 'llm2', history: createKeyedHistory(refs, text('flowId'), text('workspaceId'), scope) })
}

const chat = (list: readonly Json[], replaced: readonly Replaced[], scope: string): Either<RefsFault, ParsedHistory> => {
  const read = readLegacyChat(list)
  if (isLeft(read)) {
    const { left: fault } = read
    return fault._tag === 'UnexpectedWire' ? unreadable(fault.path, fault.expected, fault.found) : unreadable([], 'an array of chat messages', describe(list))
  }
  const { messages, losses } = read.right
  const lost = replaced.map(({ path: [position, ...path], reason }): Loss => Object.freeze({ position: typeof position === 'number' ? position : 0, path, reason }))
  return right({ kind: 'messages', format: 'chat', history: createPendingHistory({ scope, from: messages }), losses: Object.freeze([...lost, ...losses]) })
}
