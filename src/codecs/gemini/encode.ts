/** Encodes Gemini contents: a model turn is one content, and all results of its calls the next. */
import { hasField } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { UnerasedMessage, UnerasedPart as Part } from '../../message/internal.ts'
import type { Encode, EncodeOptions } from '../codec.ts'
import { encoderFor, type Writing } from '../encoder.ts'
import { residualOf, restoreResidual, type Kept, type MutableObject as Fields } from '../residual.ts'
import { format, isMarked, responseMeta } from './marks.ts'
import { writePart, type WirePart } from './parts.ts'
import { opening } from './rules.ts'
import type { GeminiConversation } from './wire.ts'

/** Options for encoding for Gemini. */
export interface GeminiEncodeOptions extends EncodeOptions {
  /**
   * Gemini 3 rejects calls of the current turn without its own signature, such as those of another model. If true,
   * such calls get `skip_thought_signature_validator`, which the API accepts. Default: false.
   *
   * Source  ai.google.dev, Thought signatures (2026-11)
   */
  readonly skipSignatures?: boolean
}

type Speaker = 'system' | 'user' | 'model'

/** A content being written. */
interface Turn {
  readonly role: Speaker
  readonly parts: WirePart[]
  readonly kept: Kept | undefined
  readonly position: number
  /** Whether it has only results so far, so that more may follow. */
  onlyResults: boolean
}

class Request {
  readonly wire: Fields = {}
  readonly #sign: boolean
  readonly #names = new Map<string, string>()
  readonly #system: Turn[] = []
  readonly #turns: Turn[] = []

  constructor(sign: boolean) {
    this.#sign = sign
  }

  write(message: UnerasedMessage, writing: Writing): void {
    if (message.id !== undefined && message.meta?.[responseMeta] === undefined)
      writing.lose(['id'], 'Gemini contents have no id')
    if (message.name !== undefined) writing.lose(['name'], 'Gemini contents have no name')
    const kept = residualOf(format, message)
    // A later one stays in its place: as an instruction, it would come before what it is about.
    const own = message.role === 'developer' && this.#isUnderWay() ? 'user' : speakerOf(message)
    if (message.role === 'developer')
      writing.lose(['role'], `Gemini has no developer role: written as ${own === 'system' ? own : "the user's"}`)
    if (isMarked(kept, 'exact')) return this.#repeat(message, own, kept, writing)
    if (message.content.length === 0) return writing.lose(['content'], 'Gemini does not accept empty contents')
    if (own === 'model') return this.#answer(message, kept, writing)
    this.#say(message, own, kept, writing)
  }

  finish(writing: Writing): void {
    const [only, ...others] = this.#system
    if (only !== undefined) {
      const named = isMarked(only.kept, 'snake') ? 'system_instruction' : 'systemInstruction'
      const parts = this.#system.flatMap((turn) => turn.parts)
      this.wire[named] =
        others.length > 0 ? { parts } : isMarked(only.kept, 'bare') ? listParts(only, parts) : writeContent(only)
    }
    const [first] = this.#turns
    if (first?.role === 'model' && !isMarked(first.kept, 'exact')) {
      this.#turns.unshift({
        role: 'user',
        parts: [{ text: opening }],
        kept: undefined,
        position: 0,
        onlyResults: false,
      })
      writing.lose(
        [],
        `a Gemini conversation must start with the user: ${JSON.stringify(opening)} is inserted before it`,
        0,
      )
    }
    const list = this.#turns.flatMap((turn): readonly unknown[] =>
      isMarked(turn.kept, 'bare') ? turn.parts : [writeContent(turn)],
    )
    const isOnly = list.length === 1 && isMarked(this.#turns[0]?.kept, 'only')
    this.wire['contents'] = isOnly ? list[0] : list
  }

  /** Writes a message in its original form, unchecked. */
  #repeat(message: UnerasedMessage, role: Speaker, kept: Kept | undefined, writing: Writing): void {
    let from = 0
    const { content } = message
    for (let to = 1; to <= content.length || from === 0; to++) {
      const part = content[to]
      if (part !== undefined && !isMarked(residualOf(format, part), 'apart')) continue
      this.#push(message, role, content.slice(from, to), from === 0 ? kept : undefined, writing)
      from = to
    }
  }

  /** Writes a model message. Results in it become user turns, and what follows them a new model turn. */
  #answer(message: UnerasedMessage, kept: Kept | undefined, writing: Writing): void {
    const open = new Set<string>()
    let parts: Part[] = []
    let results: Part[] = []
    let first = true
    const flush = (): void => {
      if (parts.length > 0) this.#push(message, 'model', parts, first ? kept : undefined, writing)
      if (results.length > 0) this.#push(message, 'user', results, undefined, writing)
      first = false
      ;[parts, results] = [[], []]
    }
    message.content.forEach((part, index) => {
      const starts = isMarked(residualOf(format, part), 'apart') && index > 0
      if (starts || (part.type !== 'tool_result' && results.length > 0 && open.size === 0)) flush()
      if (part.type === 'tool_result') {
        open.delete(part.callId)
        results.push(part)
      } else {
        if (part.type === 'tool_call') open.add(part.id)
        parts.push(part)
      }
    })
    flush()
  }

  /** Writes a user, tool or system message. Results come first, right after their calls; calls become model turns. */
  #say(message: UnerasedMessage, own: Speaker, kept: Kept | undefined, writing: Writing): void {
    const { content, role } = message
    const calls = content.filter(({ type }) => type === 'tool_call')
    const others = content.filter(({ type }) => type !== 'tool_result' && type !== 'tool_call')
    const called = new Set<string>()
    const answers: Part[] = []
    const results: Part[] = []
    for (const part of content) {
      if (part.type === 'tool_call') called.add(part.id)
      else if (part.type === 'tool_result') (called.delete(part.callId) ? answers : results).push(part)
    }
    if (calls.length > 0) writing.lose(['role'], `a ${role} message with calls: they are written as the model's`)
    if (results.length > 0 && others.length > 0 && content[0]?.type !== 'tool_result')
      writing.lose(['content', 0], 'comes before a result; Gemini requires results first')
    const runs: readonly (readonly [Speaker, readonly Part[]])[] = [
      ['user', results],
      [own, others],
      ['model', calls],
      ['user', answers],
    ]
    let first = true
    for (const [speaker, run] of runs) {
      if (run.length > 0) this.#push(message, speaker, run, first ? kept : undefined, writing)
      first &&= run.length === 0
    }
  }

  #push(message: Message, role: Speaker, content: readonly Part[], kept: Kept | undefined, writing: Writing): void {
    const places = new Map(message.content.map((part, index) => [part, index]))
    const parts: WirePart[] = []
    const exact = isMarked(kept, 'exact')
    let sign = this.#sign && role === 'model'
    for (const part of content) {
      const unsigned = part.type === 'tool_call' && residualOf(format, part)?.fields?.['thoughtSignature'] === undefined
      const place = writing.at('content', places.get(part) ?? 0)
      const written = writePart(part, { role, exact, names: this.#names, sign: sign && unsigned, place })
      if (part.type === 'tool_call') sign = false // only the first call of a turn carries the signature
      if (written !== undefined) parts.push(written)
    }
    if (parts.length === 0 && !exact) return
    const onlyResults = content.length > 0 && content.every(({ type }) => type === 'tool_result')
    const turn: Turn = { role, parts, kept, position: writing.position, onlyResults }
    if (role === 'system') {
      if (this.#turns.length > 0)
        writing.lose([], 'Gemini accepts instructions only before the conversation: moved there')
      this.#system.push(turn)
      return
    }
    const last = this.#turns.at(-1)
    if (last?.role === role && this.#joins(last, turn, content)) {
      for (const part of parts) last.parts.push(part)
      last.onlyResults &&= onlyResults
    } else this.#turns.push(turn)
  }

  /** Whether contents precede. Between calls and their results, Gemini accepts nothing. */
  #isUnderWay(): boolean {
    const last = this.#turns.at(-1)
    return last !== undefined && !last.parts.some((part) => typeof part !== 'string' && hasField(part, 'functionCall'))
  }

  /** Whether a turn continues the previous content: results stay together, and so do consecutive model turns. */
  #joins(last: Turn, { role, kept, onlyResults }: Turn, [first]: readonly Part[]): boolean {
    if (isMarked(kept, 'joined')) return true
    if (isMarked(kept, 'exact') || isMarked(kept, 'apart')) return false
    if (role === 'model') return first === undefined || !isMarked(residualOf(format, first), 'apart')
    return last.onlyResults && onlyResults
  }
}

export const encode: Encode<GeminiConversation, GeminiEncodeOptions> = encoderFor(
  format,
  ({ skipSignatures = false }) => new Request(skipSignatures),
  { skipSignatures: true },
)

const speakerOf = ({ role }: Message): Speaker =>
  role === 'assistant' ? 'model' : role === 'system' || role === 'developer' ? 'system' : 'user'

/** A content, with its list of parts in the original form. */
const writeContent = ({ parts, kept, role }: Turn): unknown => {
  const list = isMarked(kept, 'one') && parts.length === 1 ? parts[0] : parts
  return restoreResidual({ ...(role !== 'system' && { role }), parts: list }, kept)
}

const listParts = ({ kept }: Turn, parts: readonly WirePart[]): unknown =>
  isMarked(kept, 'only') && parts.length === 1 ? parts[0] : parts
