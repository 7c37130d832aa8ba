/** Parses saved histories of any form, which is detected. A history that can't be read is a fault. */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import {
  admit,
  describe,
  inspectJson,
  isLeft,
  isObject,
  type Json,
  type JsonObject,
  left,
  type Path,
  type Replaced,
  right,
  Unexpected,
} from 'indelible/internal/json'
import type { Loss } from 'indelible/codecs'
import { defaultScope } from 'indelible/internal/store'
import { createPendingHistory } from './content.ts'
import type { ParseFault } from './fault.ts'
import { readLegacyChat } from './legacy-chat.ts'
import type { ParsedHistory } from './parsed-history.ts'
import { checkNames } from './ref-history.ts'
import { isRefList, readLlm2, readOurs } from './saved-refs.ts'

/** How to read a saved history. */
interface ParseOptions {
  /** The scope of histories that were saved without one. Default: `default`. */
  readonly scope?: string
}

/**
 * Read a saved history.
 *
 * Known forms are `{ type: 'indelible.refs', … }`, `{ type: 'llm2', refs }` with `blockKeys` or `blockIds`, an array of
 * refs with `flowId`, an array of chat messages, and an empty one (`[]` or `null`).
 *
 * Every value is in the history or listed in `losses`, or the history can't be read. Invalid input never throws.
 *
 * @param saved JSON, or its text
 * @param options the scope of histories without one
 * @returns the history; or `UnreadableHistory` with the path, `NewerRefs` if a newer version wrote it
 * @throws TypeError if `scope` is invalid
 */
export const parseHistoryJson = (
  saved: unknown,
  { scope = defaultScope }: ParseOptions = {},
): Either<ParseFault, ParsedHistory> => {
  checkNames(scope, undefined)
  const read = typeof saved === 'string' ? fromText(saved) : fromValue(saved)
  if (isLeft(read)) return read
  const { json, altered } = read.right
  if (json === null)
    return right({
      kind: 'messages',
      format: 'chat',
      history: createPendingHistory({ scope }),
      losses: Object.freeze([]),
    })
  if (Array.isArray(json))
    return isRefList(json) ? refuseReplaced(altered, () => readLlm2({}, json, [], scope)) : chat(json, altered, scope)
  if (!isObject(json)) return unreadableFault([], expectedForms, describe(json))
  if (json['type'] === 'indelible.refs') return parseOurs(json, altered)
  if (json['type'] === 'llm2') return refuseReplaced(altered, () => readLlm2(json, json['refs'], ['refs'], scope))
  return unreadableFault(
    [],
    expectedForms,
    typeof json['type'] === 'string' ? `an object of the type ${describe(json['type'])}` : describe(json),
  )
}

const expectedForms =
  'a history of refs ({ type: "indelible.refs" or "llm2", refs }), an array of refs or chat messages, or null'

const unreadableFault = (path: Path, what: string, found: string): Either<ParseFault, never> =>
  left({ _tag: 'UnreadableHistory', path, expected: what, found })

interface SavedJson {
  readonly json: Json
  /** Values that were changed: unpaired surrogates, numbers out of range, duplicate keys. */
  readonly altered: readonly Replaced[]
}

const fromValue = (value: unknown): Either<ParseFault, SavedJson> => {
  const admitted = admit(value)
  if (isLeft(admitted))
    return unreadableFault(admitted.left.path, 'plain JSON data', `a value that ${admitted.left.reason}`)
  return right({ json: admitted.right.value, altered: admitted.right.replaced })
}

const fromText = (text: string): Either<ParseFault, SavedJson> => {
  const inspected = inspectJson(text)
  if (isLeft(inspected)) {
    const { line, column, expected, found } = inspected.left
    return unreadableFault([], `JSON: at line ${line}, column ${column} ${expected}`, found)
  }
  return pipe(
    fromValue(inspected.right.value),
    E.map(({ json }) => ({ json, altered: inspected.right.findings })),
  )
}

/** Refs are names, so a changed value would name something else. */
const refuseReplaced = ([first]: readonly Replaced[], read: () => ParsedHistory): Either<ParseFault, ParsedHistory> => {
  if (first !== undefined)
    return unreadableFault(first.path, 'an unambiguous value', `a value that ${first.reason.split(': ')[0]}`)
  try {
    return right(read())
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    return unreadableFault(error.path, error.expected, error.found)
  }
}

const parseOurs = (json: JsonObject, altered: readonly Replaced[]): Either<ParseFault, ParsedHistory> => {
  const { version } = json as { readonly [field: string]: Json | undefined }
  if (version === 1 || version === 2 || version === 3) return refuseReplaced(altered, () => readOurs(json, version))
  return typeof version === 'number' && Number.isInteger(version) && version > 3
    ? left({ _tag: 'NewerRefs', found: version, supported: 3 })
    : unreadableFault(['version'], '1, 2 or 3', describe(version))
}

const chat = (
  list: readonly Json[],
  altered: readonly Replaced[],
  scope: string,
): Either<ParseFault, ParsedHistory> => {
  const read = readLegacyChat(list)
  if (isLeft(read)) return unreadableFault(read.left.path, read.left.expected, read.left.found)
  const { messages, losses } = read.right
  const lost = altered.map(({ path: [position, ...path], reason }): Loss =>
    Object.freeze({ position: typeof position === 'number' ? position : 0, path, reason }),
  )
  return right({
    kind: 'messages',
    format: 'chat',
    history: createPendingHistory({ scope, from: messages }),
    losses: Object.freeze([...lost, ...losses]),
  })
}
