/**
 * Histories of refs saved by another system: its key-value store holds one content block under each key, and
 * keys are not derived from content. `adoptHistory` reads the content, so that it can be persisted here.
 */
import {
  describe,
  isLeft,
  type Json,
  left,
  optionsOf,
  parseJson,
  right,
  textOfUtf8,
  Unexpected,
  present,
} from 'indelible/internal/json'
import type { Message, Part, Role } from 'indelible/message'
import type { KeyValueStore } from 'indelible/store'
import { valuesOf } from 'indelible/internal/store'
import { markOfParts, partOfContent } from './content-block.ts'
import { createPendingOfFlows, type PendingHistory } from './content.ts'
import { callCallback, type Task } from 'indelible/internal/task'
import { refsTask, type AdoptFault } from './fault.ts'
import { checkNames } from './ref-history.ts'

declare class KeyedHistoryBrand {
  readonly #keyedHistory: never
}

/** Refs by the keys of another system. Branded: only `parseHistoryJson` creates one. */
export interface KeyedHistory extends KeyedHistoryBrand {
  /** The number of refs. */
  readonly len: number
  /**
   * The refs.
   *
   * @returns the refs, in order
   */
  readonly refs: () => readonly KeyedRef[]
  /** The workflow that all keys belong to, if the history names one. */
  readonly flowId?: string
  /** The workspace that all keys belong to, if the history names one. */
  readonly workspaceId?: string
  /** The scope of the adopted history. */
  readonly scope: string
}

/** A message as keys of another system. */
export interface KeyedRef {
  /** Its keys, one for each content block. */
  readonly keys: readonly string[]
  /** The role of the message. */
  readonly role: Role
  /** The workflow of the message, if it names one. */
  readonly flowId?: string
}

export const createKeyedHistory = (
  refs: readonly KeyedRef[],
  flowId: string | undefined,
  workspaceId: string | undefined,
  scope: string,
): KeyedHistory => {
  const frozen = Object.freeze(refs.map((ref) => Object.freeze({ ...ref, keys: Object.freeze([...ref.keys]) })))
  const history = {
    len: frozen.length,
    refs: () => frozen,
    ...present({ flowId, workspaceId }),
    scope,
  }
  return Object.freeze(history) as unknown as KeyedHistory // the only constructor
}

/** How to adopt a history of keys. */
export interface AdoptOptions {
  /** The scope of the resulting history. Default: the scope given to `parseHistoryJson`. */
  readonly scope?: string
  /** The session that the messages belong to. Default: none. */
  readonly session?: string
  /**
   * Maps a ref's key to the key in the store. Default: as in Sidekick, `{flowId}:msg:{key}` if the
   * history has a flow and the key is not complete.
   */
  readonly keyOf?: (key: string) => string
  /** The most keys in one call. More keys take several calls in sequence. Default: 500. */
  readonly keysPerCall?: number
}

/**
 * Read the content of keyed refs from the store of the system that wrote them. Persist the result to get refs.
 *
 * A user message that holds tool results becomes a tool message.
 *
 * Cost    one `mget` for each `keysPerCall` keys, with each key once
 *
 * @param keyed the refs, from `parseHistoryJson`
 * @param options scope, session and keys
 * @returns the content, to persist; or `MissingKeys`, `MalformedContent`, `CallbackThrew`
 * @throws TypeError if `scope` or `session` is invalid
 */
export const adoptHistory = (
  keyValue: Pick<KeyValueStore, 'mget'>,
  keyed: KeyedHistory,
  options: AdoptOptions = {},
): Task<AdoptFault, PendingHistory> => {
  if (typeof (Object(keyed) as Partial<KeyedHistory>).refs !== 'function')
    throw new TypeError(
      `adoptHistory takes a history of keys, found ${describe(keyed)}; parseHistoryJson makes one of a parsed state`,
    )
  const {
    scope = keyed.scope,
    session,
    keyOf = sidekickKey(keyed),
    keysPerCall,
  } = optionsOf('adoptHistory', options, { scope: true, session: true, keyOf: true, keysPerCall: true })
  checkNames(scope, session)
  return refsTask(async () => {
    const keys = [...new Set(keyed.refs().flatMap(({ keys }) => keys))]
    const named = callCallback('keyOf', () => keys.map((key) => keyOf(key)))
    if (isLeft(named)) return named
    let values: readonly (Uint8Array | undefined)[]
    try {
      values = await valuesOf(keyValue, named.right, keysPerCall)
    } catch (cause) {
      return left({ _tag: 'Io', operation: 'read content', cause })
    }
    const missing = keys.filter((_, index) => values[index] === undefined)
    if (missing.length > 0) return left({ _tag: 'MissingKeys', keys: missing })
    const parts = new Map<string, Part>()
    for (const [index, key] of keys.entries()) {
      try {
        parts.set(key, partOfContent(jsonOf(values[index] as Uint8Array)))
      } catch (error) {
        if (!(error instanceof Unexpected)) throw error
        return left({ _tag: 'MalformedContent', key, path: error.path, expected: error.expected, found: error.found })
      }
    }
    const from = keyed.refs().map(({ keys, role }) =>
      messageOf(
        role,
        keys.map((key) => parts.get(key) as Part),
      ),
    ) // none is missing
    const flows = keyed
      .refs()
      .flatMap(({ flowId = keyed.flowId }, position) => (flowId === undefined ? [] : [[position, flowId] as const]))
    return right(createPendingOfFlows({ scope, session, from }, new Map(flows)))
  }, 'adoptHistory')
}

const messageOf = (role: Role, content: readonly Part[]): Message => {
  const meta = markOfParts(content)
  return {
    role: role === 'user' && content.some(({ type }) => type === 'tool_result') ? 'tool' : role,
    content,
    ...(Object.keys(meta).length > 0 && { meta }),
  }
}

const sidekickKey =
  ({ flowId }: KeyedHistory) =>
  (key: string): string =>
    flowId === undefined || key.includes(':msg:') ? key : `${flowId}:msg:${key}`

const jsonOf = (bytes: Uint8Array): Json => {
  let text: string
  try {
    text = textOfUtf8(bytes)
  } catch {
    throw new Unexpected([], 'text', null)
  }
  const json = parseJson(text)
  if (isLeft(json)) throw new Unexpected([], 'JSON', text)
  return json.right as Json // parsed from text
}
