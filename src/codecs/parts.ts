/** Decoded messages and parts: frozen, with the data that a codec keeps with them in `meta`. */
import { ownField, type Json, type JsonObject } from '../json/index.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Meta,
  Part,
  ProviderPart,
  ReasoningPart,
  RefusalPart,
  ResultPart,
  Role,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../message/index.ts'
import { joinMarks, keepResidual } from './residual.ts'

/** The `meta` kept with a message or part. */
export type KeptMeta = { readonly meta?: Meta }

/** What one format keeps. */
export interface Keeping {
  /** The difference between the wire and what encoding would write. See `keepResidual`. */
  readonly keep: (wire: JsonObject, written: object, as?: string | false, skip?: readonly string[]) => KeptMeta
  readonly mark: (as: string | undefined) => KeptMeta
  /** A value without an equivalent in the message model. */
  readonly raw: (wire: Json) => ProviderPart
}

export const keepingOf = (format: string): Keeping => ({
  keep: (wire, written, as, skip) => keepResidual(format, wire, written as JsonObject, as || undefined, skip),
  mark: (as) => keepResidual(format, nothing, nothing, as),
  raw: (wire) => Object.freeze({ type: 'provider', provider: format, raw: wire }),
})

const nothing: JsonObject = Object.freeze({})

export const textPart = (text: string, kept: KeptMeta = nothing): TextPart =>
  Object.freeze({ type: 'text', text, ...kept })

export const refusalPart = (text: string, kept: KeptMeta): RefusalPart =>
  Object.freeze({ type: 'refusal', text, ...kept })

export const imagePart = (source: Source, kept: KeptMeta = nothing): ImagePart =>
  Object.freeze({ type: 'image', source, ...kept })

export const filePart = (source: Source, name: string | undefined, kept: KeptMeta): FilePart =>
  Object.freeze({ type: 'file', source, ...(name !== undefined && { name }), ...kept })

export const reasoningPart = (text: string, signature: string | undefined, kept: KeptMeta): ReasoningPart =>
  Object.freeze({ type: 'reasoning', text, ...(signature !== undefined && { signature }), ...kept })

/** @param args the arguments as text */
export const callPart = (id: string, name: string, args: string, kept: KeptMeta): ToolCallPart =>
  Object.freeze({ type: 'tool_call', id, name, arguments: args, ...kept })

export const resultPart = (
  callId: string,
  content: readonly ResultPart[],
  kept: KeptMeta,
  name?: string,
  isError?: boolean,
): ToolResultPart =>
  Object.freeze({
    type: 'tool_result',
    callId,
    content: Object.freeze(content),
    ...(name !== undefined && { name }),
    ...(isError !== undefined && { isError }),
    ...kept,
  })

export const messageOf = (
  role: Role,
  content: readonly Part[],
  kept: KeptMeta = nothing,
  id?: string,
  name?: string,
): Message =>
  Object.freeze({
    role,
    content: Object.freeze(content),
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    ...kept,
  })

/** Adds the other fields of a response under their own key. */
export const withResponse = (kept: KeptMeta, key: string, rest: JsonObject): KeptMeta =>
  Object.keys(rest).length === 0
    ? kept
    : { meta: Object.freeze({ ...ownField(kept, 'meta'), [key]: Object.freeze(rest) }) }

/** The fields and marks of a user turn. */
interface UserTurn {
  /** The fields kept with the first message. */
  readonly keep: (as: string | undefined) => KeptMeta
  readonly mark: Keeping['mark']
  /** The marks of the first message. */
  readonly as: string | undefined
  /** Whether to mark calls, which no API accepts from a user. */
  readonly asFound: boolean
}

/** Splits a user turn into runs of results (tool messages) and other parts (user messages). */
export const pushUser = (messages: Message[], parts: readonly Part[], { keep, mark, as, asFound }: UserTurn): void => {
  let from = 0
  do {
    const role: Role = parts[from]?.type === 'tool_result' ? 'tool' : 'user'
    let to = from
    while (to < parts.length && (parts[to]?.type === 'tool_result') === (role === 'tool')) to += 1
    const content = parts.slice(from, to)
    const isApart = from === 0 && role === 'tool' && messages.at(-1)?.role === 'tool'
    const broken = asFound && content.some(({ type }) => type === 'tool_call')
    const words = joinMarks(from === 0 ? as : 'joined', isApart && 'apart', broken && 'exact')
    messages.push(messageOf(role, content, from === 0 ? keep(words) : mark(words)))
    from = to
  } while (from < parts.length)
}

/** The field of an object if it is a string. */
export const stringIn = (wire: JsonObject, field: string): string | undefined => {
  const value = wire[field]
  return typeof value === 'string' ? value : undefined
}
