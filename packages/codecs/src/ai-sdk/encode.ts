/** Encodes AI SDK model messages: results in tool messages, instructions as one text, pictures as files. */
import { ownField } from 'indelible/internal/json'
import {
  encoderFor,
  type Place,
  type Writing,
  asContent,
  residualOf,
  restoreResidual,
  type Kept,
  type MutableObject,
  type Encode,
} from 'indelible/internal/codecs'
import type { FilePart, ImagePart, Message, Part, ToolCallPart, ToolResultPart } from 'indelible/message'
import type { UnerasedMessage, UnerasedPart } from 'indelible/internal/message'
import { Aside } from './approval-parts.ts'
import { format, translate, uiFormat, type Names } from './format.ts'
import { inputOf } from './input.ts'
import { mediaTypeOf, writeData } from './media.ts'
import { asModelPart, isShared } from './shared.ts'
import { writeOutput } from './output.ts'
import { writeReasoning } from './reasoning.ts'
import type { AiModelMessage } from './wire.ts'

/** Fields that UI messages keep under other names. */
const contentNames: Names = { providerMetadata: 'providerOptions', filename: 'filename' }
const callNames: Names = { callProviderMetadata: 'providerOptions', providerExecuted: 'providerExecuted' }
const resultNames: Names = { resultProviderMetadata: 'providerOptions' }
const understoodFields = { [uiFormat]: Object.keys({ ...contentNames, ...callNames, ...resultNames }) }

class ModelWriter {
  readonly wire: MutableObject[] = []
  /** Tool names by call id: `ai` requires them on results too. */
  readonly #called = new Map<string, string>()
  /** The ids of calls without a result so far. */
  readonly #open = new Set<string>()
  /** The ids of calls whose provider puts the results directly after them. */
  readonly #byProvider = new Set<string>()
  #aside = new Aside()
  /** The number of tool messages since the last other message. */
  #tools = 0

  write(message: UnerasedMessage, writing: Writing): void {
    if (message.id !== undefined) writing.lose(['id'], 'ai model messages have no id')
    if (message.name !== undefined) writing.lose(['name'], 'ai messages have no speaker name')
    if (message.role !== 'tool') this.finish()
    const kept = residualOf(format, message)
    if (kept?.as === 'parts' || kept?.as === 'text') this.#writeAsRead(message, kept, writing)
    else if (message.content.some(({ type }) => type === 'tool_call'))
      this.#writeTurns(message, 'assistant', kept, writing)
    else if (message.role === 'system' || message.role === 'developer') this.#writeInstructions(message, kept, writing)
    else this.#writeTurns(message, message.role === 'assistant' ? 'assistant' : 'user', kept, writing)
  }

  /** Writes the set-aside parts that have no place among results. */
  finish(): void {
    for (const tool of this.#aside.rest()) this.wire.push(tool)
    this.#aside = new Aside()
    this.#tools = 0
  }

  /** Writes a whole message as one, in its original form. */
  #writeAsRead({ role, content }: UnerasedMessage, kept: Kept, writing: Writing): void {
    const parts: MutableObject[] = []
    for (const [index, part] of content.entries()) {
      const written = this.#aside.take(part) ? undefined : this.#writePart(part, 'any', writing.at('content', index))
      if (written !== undefined) parts.push(written)
    }
    const [only] = parts
    this.#put({ role, content: kept.as === 'text' && only !== undefined ? only['text'] : parts }, kept)
  }

  #put(written: MutableObject, kept: Kept | undefined): void {
    if (written['role'] === 'tool') {
      for (const tool of this.#aside.before(this.#tools)) this.wire.push(tool)
      if (Array.isArray(written['content'])) written['content'] = this.#aside.among(this.#tools, written['content'])
      this.#tools += 1
    }
    this.wire.push(restoreResidual(written, kept))
  }

  #writeInstructions(message: UnerasedMessage, kept: Kept | undefined, writing: Writing): void {
    const written: MutableObject = { role: 'system', content: '' }
    const texts: string[] = []
    const results: MutableObject[] = []
    for (const [index, part] of message.content.entries()) {
      if (part.type === 'text') {
        texts.push(part.text)
        translate(written, part, uiFormat, contentNames)
      } else if (part.type === 'tool_result')
        results.push(this.#writeResult(part, undefined, writing.at('content', index)))
      else writing.lose(['content', index], 'ai instructions can only be text')
    }
    if (results.length > 0) this.#put({ role: 'tool', content: results }, undefined)
    if (texts.length === 0 && message.content.length > 0) return
    if (message.role === 'developer') writing.lose(['role'], 'ai has no developer role: written as system')
    if (texts.length > 1) writing.lose(['content'], 'ai instructions are a single text: these are joined')
    written['content'] = texts.join('\n')
    this.#put(written, kept)
  }

  /** Writes content under a role that may have it, with results in tool messages in between. */
  #writeTurns(message: UnerasedMessage, speaker: 'user' | 'assistant', kept: Kept | undefined, writing: Writing): void {
    let rest = kept
    const put = (role: string, content: unknown): void => {
      this.#put({ role, content }, role === message.role ? rest : undefined)
      if (role === message.role) rest = undefined
    }
    const turn: MutableObject[] = []
    const results: MutableObject[] = []
    const flush = (): void => {
      if (turn.length > 0) put(speaker, asContent(turn.splice(0), false))
      if (results.length > 0) put('tool', results.splice(0))
    }
    let isSpoken = message.role === speaker
    let empty = true
    for (const [index, part] of message.content.entries()) {
      if (message.role === 'assistant' && this.#aside.take(part)) continue
      empty = false
      const written = this.#writePart(part, speaker, writing.at('content', index))
      if (written === undefined) continue
      const apart = part.type === 'tool_result' && !(speaker === 'assistant' && this.#byProvider.has(part.callId))
      if (!apart && !isSpoken)
        writing.lose(
          ['role'],
          `a ${message.role} message with ${speaker === 'user' ? 'content other than results' : 'calls'}: written as ${speaker}`,
        )
      isSpoken ||= !apart
      // Content after results is written after them, but not while another result is due, which
      // would then be apart from its call.
      if (!apart && results.length > 0 && this.#open.size === (part.type === 'tool_call' ? 1 : 0)) flush()
      ;(apart ? results : turn).push(written)
    }
    flush()
    if (empty) put(message.role, [])
  }

  #writePart(part: UnerasedPart, role: Message['role'] | 'any', place: Place): MutableObject | undefined {
    const kept = residualOf(format, part)
    switch (part.type) {
      case 'text':
        return content({ type: 'text', text: part.text }, part, kept)
      case 'refusal':
        if (role !== 'assistant') return void place.lose('only the assistant can refuse')
        place.lose('ai has no refusal type: written as text')
        return { type: 'text', text: part.text }
      case 'reasoning':
        if (role !== 'assistant' && role !== 'any') return void place.lose('only the assistant can have reasoning')
        return content(writeReasoning(format, part, 'providerOptions', place), part, kept)
      case 'image':
      case 'file':
        return writeFile(part, kept, place)
      case 'tool_call':
        return this.#writeCall(part, kept, place)
      case 'tool_result':
        return this.#writeResult(part, kept, place)
      case 'provider':
        if (part.provider === uiFormat && role === 'assistant' && isShared(part.raw)) return asModelPart(part.raw)
        return place.rawOf(part)
    }
  }

  #writeCall(part: ToolCallPart, kept: Kept | undefined, place: Place): MutableObject {
    this.#called.set(part.id, part.name)
    this.#open.add(part.id)
    const { input, losses } = inputOf(part.arguments)
    for (const loss of losses) place.lose(loss, 'arguments')
    const written = restoreResidual(
      translate({ type: 'tool-call', toolCallId: part.id, toolName: part.name, input }, part, uiFormat, callNames),
      kept,
    )
    if (ownField(written, 'providerExecuted') === true) this.#byProvider.add(part.id)
    return written
  }

  #writeResult(part: ToolResultPart, kept: Kept | undefined, place: Place): MutableObject {
    this.#open.delete(part.callId)
    const toolName = part.name ?? this.#called.get(part.callId) ?? ''
    const written = { type: 'tool-result', toolCallId: part.callId, toolName, output: writeOutput(part, place) }
    return restoreResidual(translate(written, part, uiFormat, resultNames), kept)
  }
}

export const encode: Encode<AiModelMessage[]> = encoderFor(format, () => new ModelWriter(), undefined, understoodFields)

const content = (written: MutableObject, part: Part, kept: Kept | undefined): MutableObject =>
  restoreResidual(translate(written, part, uiFormat, contentNames), kept)

const writeFile = (part: ImagePart | FilePart, kept: Kept | undefined, place: Place): MutableObject | undefined => {
  const source = place.sourceOf(part)
  const [first, second] = kept?.as?.split(' ') ?? []
  const asImage = first === 'image'
  const data = writeData(source, asImage ? second : first)
  if (data === undefined) return void place.lose('ai only accepts absolute URLs', 'source')
  const name = part.type === 'file' && part.name !== undefined && { filename: part.name }
  return content(
    {
      type: asImage ? 'image' : 'file',
      [asImage ? 'image' : 'data']: data,
      mediaType: mediaTypeOf(part, source),
      ...name,
    },
    part,
    kept,
  )
}
