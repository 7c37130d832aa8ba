/**
 * What Claude Code sent with each call. It writes a line for each request, with one hash of the system text and the tools (its shape),
 * and one hash of each message; messages that an earlier request had are counted, not repeated.
 *
 * Source  lines of Claude Code 2.1.330
 */
import { isArray, type JsonObject } from 'indelible/internal/json'
import { changedEffort, type LineChange } from 'indelible/internal/usage'
import type { Message } from 'indelible/message'
import { objectIn, textIn } from '../format/origin.ts'

/** A request by its hashes. */
export interface SentRequest {
  /** When it was sent, in milliseconds since 1970; NaN if not known. */
  readonly at: number
  readonly shape: string | undefined
  readonly parameters: JsonObject
  /** The request whose first `keep` messages are also the first of this one. */
  readonly base: SentRequest | undefined
  readonly keep: number
  /** The hashes of the other messages. */
  readonly tail: readonly string[]
}

/** How a request differs from the one before. */
export interface RequestDifference {
  /** Whether both requests are known whole. */
  readonly isWhole: boolean
  /** The first change in what both sent, in the order of the provider's cache; absent if there is none. */
  readonly cause?: Extract<LineChange, 'tools' | 'system' | 'effort' | 'messages'>
  /** The number of the first message that changed, from 1. */
  readonly message?: number
}

export class ClaudeRequests {
  readonly #agent: string | undefined
  readonly #requests = new Map<string, SentRequest>()
  readonly #shapes = new Map<string, { readonly system: string; readonly tools: string }>()
  #unanswered: SentRequest | undefined
  #prompt: { readonly system: string; readonly tools: string | undefined } | undefined

  /** @param agent the id of the sub-agent whose file it is */
  constructor(agent: string | undefined) {
    this.#agent = agent
  }

  /** Read a line other than a message. Returns the change that it tells of. */
  read(line: JsonObject): LineChange | undefined {
    const { type } = line
    if (type === 'system') return line['subtype'] === 'microcompact_boundary' ? 'compaction' : undefined
    if (type === 'attachment') return this.#readPrompt(objectIn(line, 'attachment'))
    if (textIn(line, 'agentId') !== this.#agent) return undefined
    if (type === 'api-request') this.#readRequest(line)
    const [hash, shape] = [textIn(line, 'shapeHash'), objectIn(line, 'shape')]
    if (type === 'api-request-shape' && hash !== undefined)
      this.#shapes.set(hash, { system: textOf(shape['system']), tools: textOf(shape['tools']) })
    return undefined
  }

  /** The system text and the descriptions of tools, which are written again when they change. */
  #readPrompt({ type, systemPrompt, tools }: JsonObject): LineChange | undefined {
    if (type !== 'prompt_snapshot') return undefined
    const last = this.#prompt
    const now = { system: textOf(systemPrompt), tools: tools === undefined ? last?.tools : textOf(tools) }
    this.#prompt = now
    if (last === undefined) return undefined
    if (last.tools !== undefined && last.tools !== now.tools) return 'tools'
    return last.system === now.system ? undefined : 'system'
  }

  #readRequest(line: JsonObject): void {
    const { keep, tail } = line
    const isCount = typeof keep === 'number' && Number.isSafeInteger(keep) && keep >= 0
    if (!isCount || !isArray(tail) || !tail.every((hash) => typeof hash === 'string')) return
    const request = {
      at: Date.parse(textIn(line, 'timestamp') ?? ''),
      shape: textIn(line, 'shapeHash'),
      parameters: objectIn(line, 'params'),
      base: this.#requests.get(textIn(line, 'base') ?? ''),
      keep,
      tail,
    }
    this.#unanswered = request
    const id = textIn(line, 'id')
    if (id !== undefined) this.#requests.set(id, request)
  }

  /** The request that an answer names, or else the last one before it that had no answer. */
  answered(answer: Message | undefined): SentRequest | undefined {
    const last = this.#unanswered
    this.#unanswered = undefined
    const reference = textIn(objectIn(answer?.meta ?? {}, 'claude-code'), 'requestRef')
    return reference === undefined ? last : this.#requests.get(reference)
  }

  /** Compare two requests. Cost: O(messages), O(1) if the later one counts those of the earlier one */
  compare(last: SentRequest, now: SentRequest): RequestDifference {
    const [before, after] = [last.shape, now.shape]
    const [old, own] = [this.#shapes.get(before ?? ''), this.#shapes.get(after ?? '')]
    const isOneShape = before === after && after !== undefined
    if (!isOneShape && (old === undefined || own === undefined)) return { isWhole: false }
    const kept = keptOf(last, now)
    const isWhole = kept !== undefined
    if (!isOneShape && old?.tools !== own?.tools) return { isWhole, cause: 'tools' }
    if (!isOneShape && old?.system !== own?.system) return { isWhole, cause: 'system' }
    if (changedEffort(last.parameters, now.parameters) !== undefined) return { isWhole, cause: 'effort' }
    if (kept === undefined || kept === Math.min(lengthOf(last), lengthOf(now))) return { isWhole }
    return { isWhole, cause: 'messages', message: kept + 1 }
  }
}

const textOf = (value: unknown): string => JSON.stringify(value) ?? ''

const lengthOf = ({ keep, tail }: SentRequest): number => keep + tail.length

/** How many of the first messages of two requests are the same; undefined if a line is missing that one of them refers to. */
const keptOf = (last: SentRequest, now: SentRequest): number | undefined => {
  if (now.base === last && now.keep <= lengthOf(last)) return now.keep
  const [before, after] = [hashesOf(last), hashesOf(now)]
  if (before === undefined || after === undefined) return undefined
  const different = before.findIndex((hash, index) => hash !== after[index])
  return different < 0 ? before.length : different
}

/** The hashes of the first messages of a request. */
const hashesOf = (request: SentRequest, most: number = lengthOf(request)): readonly string[] | undefined => {
  const parts: (readonly string[])[] = []
  let [left, at] = [most, request]
  while (left > 0) {
    parts.push(at.tail.slice(0, Math.max(0, left - at.keep)))
    left = Math.min(left, at.keep)
    if (left === 0) break
    if (at.base === undefined || lengthOf(at.base) < left) return undefined
    at = at.base
  }
  return parts.toReversed().flat()
}
