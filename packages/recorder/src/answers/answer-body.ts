/**
 * The body of an answer, rebuilt from its recorded messages. The record has the messages; what a body has besides them
 * is kept as changes to the rebuilt body, in the `meta` of the first message. So it is erased with the message.
 */
import {
  isLeft,
  isObject,
  jsonEqual,
  listOrEmpty,
  ownField,
  ownFields,
  type Immutable,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { codecs, type Codec } from 'indelible/codecs'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import type { RecordedApi, Wire } from '../apis/index.ts'

/** Values of a body that the body rebuilt from messages lacks, or has differently, by their paths. */
export type BodyChanges = readonly (readonly [path: readonly (string | number)[], value: Json])[]

/** What is recorded of an answer and of its request. */
export interface AnswerFacts {
  readonly api: RecordedApi
  /** The messages of the answer. */
  readonly messages: readonly (Message | Immutable<Message>)[]
  readonly model: string | undefined
  readonly id: string | undefined
  readonly stop: string | undefined
  readonly usage: Usage | undefined
  /** OpenAI's Responses repeat these in each answer. */
  readonly request: {
    readonly system?: Json | undefined
    readonly tools?: Json | undefined
    readonly parameters?: JsonObject | undefined
  }
}

/** What a body has besides the facts. Cost: O(body). */
export const changesTo = (facts: AnswerFacts, body: Json): BodyChanges => {
  const found: (readonly [readonly (string | number)[], Json])[] = []
  collect(body, rebuilt(facts), [], found)
  return found
}

/** The body of an answer from the facts and from what it had besides them. A new value. Cost: O(body). */
export const bodyFrom = (facts: AnswerFacts, changes: BodyChanges): Wire => {
  const body = rebuilt(facts) as { [field: string]: unknown }
  for (const [path, value] of changes) {
    let at: { [field: string | number]: unknown } = body
    for (const step of path.slice(0, -1)) {
      const next = ownField(at as Wire, String(step))
      if (typeof next !== 'object' || next === null) break
      at = next as typeof at
    }
    const last = path.at(-1)
    if (last !== undefined && last !== '__proto__') at[last] = structuredClone(value)
  }
  return body
}

const collect = (
  wire: Json,
  base: unknown,
  path: readonly (string | number)[],
  found: (readonly [readonly (string | number)[], Json])[],
): void => {
  if (
    isObject(wire) &&
    isObject(base) &&
    (isOpen(path) || Object.keys(base).every((name) => Object.hasOwn(wire, name)))
  )
    for (const [name, value] of Object.entries(wire as JsonObject)) {
      if (name === '__proto__') continue
      if (Object.hasOwn(base, name)) collect(value, base[name], [...path, name], found)
      else found.push([[...path, name], value])
    }
  else if (Array.isArray(wire) && Array.isArray(base) && wire.length === base.length)
    for (const [index, value] of (wire as readonly Json[]).entries())
      collect(value, base[index], [...path, index], found)
  else if (path.length > 0 && !jsonEqual(wire, base as Json)) found.push([path, wire])
}

/** Whether an object may have more fields when it is rebuilt: the body itself, a choice or a candidate. */
const isOpen = (path: readonly (string | number)[]): boolean =>
  path.length === 0 || (path.length === 2 && (path[0] === 'choices' || path[0] === 'candidates'))

/** The body as far as the record has it. */
const rebuilt = (facts: AnswerFacts): Wire => JSON.parse(JSON.stringify(writers[facts.api](facts))) as Wire

const writers: { readonly [Api in RecordedApi]: (facts: AnswerFacts) => object } = {
  anthropic: ({ messages, model, id, stop, usage }) => ({
    ...responseFields(messages[0], 'anthropic-response'),
    id: id ?? 'msg_replayed',
    type: 'message',
    role: 'assistant',
    ...(model !== undefined && { model }),
    content: blocksOf(messages),
    ...(stop !== undefined && { stop_reason: stop }),
    ...(!Object.hasOwn(responseFields(messages[0], 'anthropic-response'), 'usage') && {
      usage: {
        input_tokens: (usage?.input ?? 0) - (usage?.cacheRead ?? 0) - (usage?.cacheWrite ?? 0),
        cache_creation_input_tokens: usage?.cacheWrite ?? 0,
        cache_read_input_tokens: usage?.cacheRead ?? 0,
        output_tokens: usage?.output ?? 0,
      },
    }),
  }),
  'openai-chat': ({ messages, model, id, stop, usage }) => ({
    id: id ?? 'chatcmpl-replayed',
    object: 'chat.completion',
    created: 0,
    model: model ?? 'unknown',
    choices: [
      {
        index: 0,
        message: wiresIn(encoded('openai-chat', messages))[0] ?? {},
        finish_reason: stop ?? stopOf(messages, 'tool_calls', 'stop'),
      },
    ],
    ...(usage !== undefined && {
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        ...(ownField(usage, 'cacheRead') !== undefined && {
          prompt_tokens_details: { cached_tokens: ownField(usage, 'cacheRead') },
        }),
      },
    }),
  }),
  'openai-responses': ({ messages, model, id, stop, usage, request }) => ({
    ...request.parameters,
    ...(typeof request.system === 'string' && { instructions: request.system }),
    ...(Array.isArray(request.tools) && { tools: request.tools }),
    id: id ?? 'resp_replayed',
    object: 'response',
    created_at: 0,
    status: stop === undefined || stop === 'completed' ? 'completed' : statuses.has(stop) ? stop : 'incomplete',
    ...(stop !== undefined && !statuses.has(stop) && { incomplete_details: { reason: stop } }),
    model: model ?? 'unknown',
    output: wiresIn(encoded('openai-responses', messages)),
    ...(usage !== undefined && {
      usage: {
        input_tokens: usage.input,
        ...(usage.cacheRead !== undefined && { input_tokens_details: { cached_tokens: usage.cacheRead } }),
        output_tokens: usage.output,
        total_tokens: usage.input + usage.output,
      },
    }),
  }),
  gemini: ({ messages, model, id, stop, usage }) => {
    const fields = responseFields(messages[0], 'gemini-response')
    const { candidates: others, ...rest } = fields
    const ofCandidate = Object.entries(rest).filter(([name]) => candidateFields.has(name))
    const ofBody = Object.entries(rest).filter(([name]) => !candidateFields.has(name))
    const content = wiresIn(encoded('gemini', messages), 'contents').find(({ role }) => role !== 'user')
    return {
      candidates: [
        {
          ...(content !== undefined && { content }),
          ...(stop !== undefined && { finishReason: stop }),
          ...Object.fromEntries(ofCandidate),
          index: 0,
        },
        ...(Array.isArray(others) ? (others as readonly Json[]) : []),
      ],
      ...(usage !== undefined && {
        usageMetadata: {
          promptTokenCount: usage.input,
          candidatesTokenCount: usage.output,
          totalTokenCount: usage.input + usage.output,
          ...(usage.cacheRead !== undefined && { cachedContentTokenCount: usage.cacheRead }),
        },
      }),
      ...(model !== undefined && { modelVersion: model }),
      ...(id !== undefined && { responseId: id }),
      ...Object.fromEntries(ofBody),
    }
  },
}

const statuses: ReadonlySet<string> = new Set([
  'completed',
  'failed',
  'in_progress',
  'cancelled',
  'queued',
  'incomplete',
])

/** Fields of a Gemini candidate; all others of a response are its own. Source: Gemini API reference, Candidate (2026-11) */
const candidateFields: ReadonlySet<string> = new Set([
  ...[
    'finishReason',
    'finishMessage',
    'safetyRatings',
    'citationMetadata',
    'groundingMetadata',
    'groundingAttributions',
  ],
  ...['avgLogprobs', 'logprobsResult', 'tokenCount', 'urlContextMetadata', 'index'],
])

/** The wire form of messages; undefined if the format can't write them. */
const encoded = (api: RecordedApi, messages: AnswerFacts['messages']): unknown => {
  const { encode }: Codec<unknown> = codecs[api]
  const done = encode(messages as readonly Message[], { allow: 'unsettled' })
  return isLeft(done) ? undefined : done.right.wire
}

/** A list of the wire form of messages: the form itself, or its field with this name. */
const wiresIn = (wire: unknown, field?: string): readonly Wire[] =>
  listOrEmpty(field === undefined ? wire : isObject(wire) && wire[field]) as Wire[]

/** The content blocks of Anthropic's answer. */
const blocksOf = (messages: AnswerFacts['messages']): readonly unknown[] =>
  wiresIn(encoded('anthropic', messages), 'messages')
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }) => (typeof content === 'string' ? [{ type: 'text', text: content }] : listOrEmpty(content)))

/** The other fields of a response, which its codec keeps in the `meta` of the message. */
const responseFields = (message: AnswerFacts['messages'][number] | undefined, key: string): JsonObject => {
  const meta = message === undefined ? undefined : ownField(message as Message, 'meta')
  const fields = meta === undefined ? undefined : ownField(meta as JsonObject, key)
  return isObject(fields) ? (ownFields(fields) as JsonObject) : {}
}

const stopOf = (messages: AnswerFacts['messages'], calls: string, other: string): string =>
  messages.some(({ content }) => content.some(({ type }) => type === 'tool_call')) ? calls : other
