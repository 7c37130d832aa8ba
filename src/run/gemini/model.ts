/**
 * Gemini's `generateContent` as a `Model`, on Google's own client with its retries, headers and timeouts.
 *
 * Source  Gemini API reference, streamGenerateContent; Thought signatures (2026-11)
 */
import type { GenerateContentParameters, GoogleGenAI } from '@google/genai'
import { decodeResponse, gemini } from '../../codecs/gemini/index.ts'
import { JoinedResponse } from '../../codecs/internal.ts'
import { isObject, present } from '../../json/index.ts'
import type { Message, Part } from '../../message/index.ts'
import type { Usage } from '../../notes/internal.ts'
import {
  checkAnswerable,
  messagesOf,
  toolsBeside,
  wireOf,
  type AdapterOptions,
  adapterNames,
  adapterOptionsOf,
} from '../model/adapter.ts'
import type { BlockType, Model, ModelEvent, ModelRequest } from '../model/model.ts'
import type { FinishReason } from '../model/response.ts'
import { Blocks } from '../model/blocks.ts'

/** How to call Gemini's models. */
export interface GeminiOptions extends AdapterOptions {
  /**
   * Whether to send `skip_thought_signature_validator` with other models' calls, which Gemini 3
   * rejects without it. Default: true, except for models of Gemini 1 and 2.
   */
  readonly skipSignatures?: boolean
}

/**
 * A Gemini model, on the Gemini API or Vertex AI, depending on the client.
 *
 * @param client Google's own: `new GoogleGenAI({ apiKey })`
 * @param input the model, its name in receipts, and `onLosses`
 * @returns the model. The parameters of a request become `config` fields
 */
export const geminiModel = (client: GoogleGenAI, input: GeminiOptions): Model => {
  const options = adapterOptionsOf('geminiModel', input, { ...adapterNames, skipSignatures: true })
  return Object.freeze<Model>({
    name: options.name ?? options.model,
    async *stream(request, signal) {
      const { model, skipSignatures = !/gemini-[12]\b/.test(model) } = options
      const { systemInstruction, contents } = wireOf(
        request,
        (messages) => gemini.encode(messages, { skipSignatures }),
        options,
      )
      checkAnswerable(contents)
      const functionDeclarations = request.tools.map(({ name, description, parameters }) => ({
        name,
        parametersJsonSchema: parameters,
        ...present({ description }),
      }))
      const wanted = {
        model,
        contents,
        config: {
          ...request.parameters,
          ...present({ systemInstruction }),
          ...toolsBeside(request, functionDeclarations.length > 0 ? [{ functionDeclarations }] : []),
          automaticFunctionCalling: { disable: true },
          abortSignal: signal,
        },
      } as GenerateContentParameters // the provider checks the caller's `parameters`
      const answer = new GeminiAnswer(request)
      for await (const chunk of await client.models.generateContentStream(wanted))
        yield* answer.take(JSON.parse(JSON.stringify({ ...chunk, sdkHttpResponse: undefined })) as Fresh)
      yield* answer.finish()
    },
  })
}

type Fresh = { [field: string]: unknown }

/** The growing answer, with a block for each part. */
class GeminiAnswer {
  readonly #request: ModelRequest
  readonly #joined = new JoinedResponse()
  /** The message so far; undefined after a new chunk. */
  #known: Message | undefined
  readonly #blocks = new Blocks<number>()
  /** The number of complete blocks. */
  #ended = 0
  /** The length of the open block's emitted text. */
  #reported = 0

  constructor(request: ModelRequest) {
    this.#request = request
  }

  *take(chunk: Fresh): Generator<ModelEvent> {
    this.#joined.take(chunk)
    this.#known = undefined
    const parts = partsIn(this.#joined.response)
    while (this.#ended < parts.length - 1) yield* this.#end(parts)
    const last = parts[this.#ended]
    if (last === undefined) return
    const type = typeOf(last)
    if (type === 'text' || type === 'reasoning') return yield* this.#grow(last, type)
    const isOpen = partsIn(chunk).some(({ functionCall }) => isObject(functionCall) && functionCall['willContinue'])
    if (!isOpen) yield* this.#end(parts)
  }

  *finish(): Generator<ModelEvent> {
    const { response } = this.#joined
    const feedback = response?.['promptFeedback']
    const blocked = isObject(feedback) ? feedback['blockReason'] : undefined
    const finished = candidateIn(response)?.['finishReason']
    // Without a finish reason the answer is incomplete, so there is no `finish` event.
    if (typeof finished !== 'string' && typeof blocked !== 'string') return
    const parts = partsIn(response)
    while (this.#ended < parts.length) yield* this.#end(parts)
    const message = this.#message()
    const model = response?.['modelVersion']
    yield {
      type: 'finish',
      message:
        message.content.length === 0 && typeof blocked === 'string'
          ? { role: 'assistant', content: [{ type: 'refusal', text: `The prompt was blocked: ${blocked}` }] }
          : message,
      reason: reasonOf(finished, message),
      usage: usageOf(response?.['usageMetadata']),
      ...(typeof model === 'string' && { model }),
    }
  }

  *#grow(part: Fresh, type: 'text' | 'reasoning'): Generator<ModelEvent> {
    const news = String(part['text']).slice(this.#reported)
    this.#reported += news.length
    if (news !== '') yield* this.#blocks.grow(this.#ended, type, news)
  }

  /** Completes the open block. */
  *#end(parts: readonly Fresh[]): Generator<ModelEvent> {
    const index = this.#ended
    const wire = parts[index] ?? {}
    const part = this.#message().content[index] as Part
    const type = typeOf(wire)
    if (type === 'text' || type === 'reasoning') yield* this.#grow(wire, type)
    if (part.type === 'tool_call') yield* this.#blocks.grow(index, 'tool_call', part.arguments, part)
    yield* this.#blocks.at(index, type)
    if (part.type === 'reasoning' && part.signature !== undefined)
      yield { type: 'signature_delta', index, block: 'reasoning', text: part.signature }
    yield* this.#blocks.end(index, type, part)
    this.#ended++
    this.#reported = 0
  }

  /** The answer so far, with its grounding. Cached, because many parts can end with one chunk. */
  #message(): Message {
    return (this.#known ??= this.#read())
  }

  #read(): Message {
    const { content, groundingMetadata, citationMetadata, urlContextMetadata } =
      candidateIn(this.#joined.response) ?? {}
    const candidate = { content: content ?? { parts: [] }, groundingMetadata, citationMetadata, urlContextMetadata }
    const unreadChunks = this.#joined.response?.['unreadChunks']
    const body: unknown = JSON.parse(JSON.stringify({ candidates: [candidate], unreadChunks }))
    return messagesOf(decodeResponse(body, { after: this.#request.messages }))[0] as Message
  }
}

const candidateIn = (response: Fresh | undefined): Fresh | undefined => {
  const candidates = response?.['candidates']
  const [first] = Array.isArray(candidates) ? (candidates as readonly unknown[]) : []
  return isObject(first) ? (first as Fresh) : undefined
}

const partsIn = (response: Fresh | undefined): readonly Fresh[] => {
  const content = candidateIn(response)?.['content']
  const parts = isObject(content) ? content['parts'] : undefined
  return Array.isArray(parts) ? (parts as readonly Fresh[]) : []
}

const typeOf = ({ text, thought, functionCall }: Fresh): BlockType =>
  typeof text === 'string'
    ? thought === true
      ? 'reasoning'
      : 'text'
    : isObject(functionCall)
      ? 'tool_call'
      : 'provider'

/** Gemini counts reasoning, and input from its own tools, separately. */
const usageOf = (usage: unknown): Usage => {
  const count = (field: string): number => {
    const found = isObject(usage) ? usage[field] : undefined
    return typeof found === 'number' ? found : 0
  }
  return {
    input: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    output: count('candidatesTokenCount') + count('thoughtsTokenCount'),
    cacheRead: count('cachedContentTokenCount'),
  }
}

const reasonOf = (finished: unknown, { content }: Message): FinishReason => {
  if (finished === 'STOP') return content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'end_turn'
  if (finished === 'MAX_TOKENS') return 'max_tokens'
  return finished === undefined || refusals.has(finished) ? 'refusal' : 'other'
}

/** Source: Gemini API reference, FinishReason (2026-11) */
const refusals: ReadonlySet<unknown> = new Set([
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
])
