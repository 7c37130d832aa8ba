/** Encodes AI SDK UI messages: consecutive messages of the assistant and its tools become one message, step by step. */
import {
  encoderFor,
  type Place,
  type Writing,
  residualOf,
  restoreResidual,
  type Kept,
  type MutableObject,
  urlOf,
  type Encode,
  mutableCopy,
} from 'indelible/internal/codecs'
import { ownFields } from 'indelible/internal/json'
import type { FilePart, ImagePart, Part, ProviderPart, ToolCallPart, ToolResultPart } from 'indelible/message'
import type { UnerasedMessage, UnerasedPart } from 'indelible/internal/message'
import { format as modelFormat, translate, uiFormat as format, type Names } from './format.ts'
import { shownPart, sourceParts } from './provider-parts.ts'
import { asUiPart, isShared } from './shared.ts'
import { mediaTypeOf } from './media.ts'
import { writeReasoning } from './reasoning.ts'
import { ToolPart, understoodFields } from './ui-tool.ts'
import type { AiUiMessage } from './ui-wire.ts'

/** Fields that model messages keep under other names. */
const names: Names = { providerOptions: 'providerMetadata', filename: 'filename' }

class UiWriter {
  readonly wire: MutableObject[] = []
  /** The parts of the assistant message being written. */
  #turn: MutableObject[] | undefined
  /** The tools that the provider ran, by id, and the addresses of its sources. */
  #executed = new Map<string, MutableObject>()
  #sources = new Set<string>()
  /** Its calls without a result so far, by id. */
  #open = new Map<string, readonly ToolPart[]>()

  write(message: UnerasedMessage, writing: Writing): void {
    if (message.name !== undefined) writing.lose(['name'], 'ai messages have no speaker name')
    if (message.role !== 'system' && residualOf(modelFormat, message)?.fields?.['providerOptions'] !== undefined)
      writing.lose(['meta', modelFormat], 'message-level options: ai-sdk-ui only has options per part')
    const kept = residualOf(format, message)
    const calls = message.content.some(({ type }) => type === 'tool_call')
    if (message.role === 'assistant' || calls) this.#writeStep(message, kept, writing)
    else if (kept?.as === 'steering' && this.#turn !== undefined)
      this.#turn.push(
        restoreResidual<MutableObject>(
          { type: 'steering-message', id: message.id ?? '', parts: this.#writeParts(message.content, 'user', writing) },
          kept,
        ),
      )
    else this.#writeMessage(message, kept, writing)
  }

  finish(): void {}

  #writeStep(message: UnerasedMessage, kept: Kept | undefined, writing: Writing): void {
    if (message.role !== 'assistant')
      writing.lose(['role'], `a ${message.role} message with calls: written as assistant`)
    const words = kept?.as?.split(' ') ?? []
    if (words.includes('message') || kept?.fields !== undefined || kept?.absent !== undefined) this.#turn = undefined
    if (this.#turn !== undefined && message.id !== undefined)
      writing.lose(['id'], 'is part of a turn, which in ai-sdk-ui is one message with its first id')
    let begun = words.includes('no-step')
    const begin = (): MutableObject[] => {
      this.#turn ??= this.#start('assistant', [], message, kept, writing)
      if (!begun) this.#turn.push({ type: 'step-start' })
      begun = true
      return this.#turn
    }
    if (message.content.length === 0) begin()
    if (this.#turn === undefined) {
      this.#executed = new Map()
      this.#sources = new Set()
    }
    const addSources = (owner: Pick<Part | UnerasedMessage, 'meta'>): void => {
      const sources = sourceParts(owner, this.#sources)
      if (sources.length > 0) begin().push(...sources)
    }
    for (const [index, part] of message.content.entries()) {
      const place = writing.at('content', index)
      if (part.type === 'provider') {
        const shown = this.#provided(part, place, index)
        if (shown !== undefined) {
          if (shown.length > 0) begin().push(...shown)
          continue
        }
      }
      if (part.type === 'tool_call') begin().push(this.#call(part, place))
      else if (part.type === 'tool_result') begun = this.#answer(part, 'last', place) && begun
      else {
        const written = this.#writePart(part, 'assistant', place)
        if (written !== undefined) begin().push(written)
        if (part.type === 'text') addSources(part)
      }
    }
    addSources(message)
  }

  /** The parts that show a provider's own; undefined if it has none. A result goes into the part of its call. */
  #provided({ provider, raw }: ProviderPart, place: Place, index: number): readonly MutableObject[] | undefined {
    const shown = shownPart(provider, raw, index)
    if (shown === undefined) return undefined
    if ('resultOf' in shown) {
      const call = this.#executed.get(shown.resultOf)
      if (call === undefined) return undefined
      const { output, error } = ownFields(shown)
      Object.assign(
        call,
        error === undefined
          ? { state: 'output-available', output: mutableCopy(output) }
          : { state: 'output-error', errorText: error },
      )
    }
    place.lose(`is shown as a tool that the provider ran: its own fields are known only to ${provider}`)
    if ('resultOf' in shown) return []
    const { call, name, input, output, file } = ownFields(shown)
    const part: MutableObject = {
      type: `tool-${name}`,
      toolCallId: call,
      ...(output === undefined ? { state: 'input-available' } : { state: 'output-available' }),
      input: mutableCopy(input),
      ...(output !== undefined && { output: mutableCopy(output) }),
      providerExecuted: true,
    }
    this.#executed.set(call, part)
    if (file === undefined) return [part]
    return [part, { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${file}` }]
  }

  #call(part: ToolCallPart, place: Place): MutableObject {
    const tool = new ToolPart(part, place)
    this.#open.set(part.id, [...(this.#open.get(part.id) ?? []), tool])
    return tool.written
  }

  /**
   * Adds a result to its call. If several calls have its id, one not known to be waiting is preferred. Returns
   * whether the step continues: it ends when the application has answered all of its calls.
   */
  #answer(part: ToolResultPart, which: 'first' | 'last', place: Place): boolean {
    const open = this.#open.get(part.callId) ?? []
    const done = ({ left }: ToolPart): boolean => left === undefined
    const tool = (which === 'first' ? open.find(done) : open.findLast(done)) ?? open[0]
    if (tool === undefined) {
      place.lose('does not answer a call of its turn')
      return true
    }
    if (open.length === 1) this.#open.delete(part.callId)
    else
      this.#open.set(
        part.callId,
        open.filter((other) => other !== tool),
      )
    tool.answer(part, place)
    return tool.providerExecuted || this.#open.size > 0
  }

  /** Writes a message not from the assistant. Results in it go to their calls. `ai` requires a part in the rest. */
  #writeMessage(message: UnerasedMessage, kept: Kept | undefined, writing: Writing): void {
    for (const [index, part] of message.content.entries())
      if (part.type === 'tool_result') this.#answer(part, 'first', writing.at('content', index))
    const role = message.role === 'user' || message.role === 'tool' ? 'user' : 'system'
    const parts = this.#writeParts(message.content, role, writing)
    const words = kept?.as?.split(' ') ?? []
    const isTool = message.role === 'tool' && words.includes('tool') // in its stored form
    if (parts.length === 0 && !isTool && (message.content.length > 0 || message.role === 'tool')) {
      if (message.id !== undefined) writing.lose(['id'], 'the message has no other content in ai-sdk-ui')
      return
    }
    if (message.role === 'developer') writing.lose(['role'], 'ai has no developer role: written as system')
    if (message.role === 'tool' && !isTool)
      writing.lose(['role'], 'a tool message with content other than results: written as user')
    if (parts[0] !== undefined && role === 'system') translate(parts[0], message, modelFormat, names)
    if (parts.length === 0 && !words.includes('empty')) parts.push({ type: 'text', text: '' })
    this.#turn = undefined
    this.#start(isTool ? 'tool' : role, parts, message, kept, writing)
  }

  #start(
    role: AiUiMessage['role'] | 'tool',
    parts: MutableObject[],
    message: UnerasedMessage,
    kept: Kept | undefined,
    { position }: Writing,
  ): MutableObject[] {
    this.wire.push(restoreResidual<MutableObject>({ id: message.id ?? `msg-${position}`, role, parts }, kept))
    this.#open = new Map()
    return parts
  }

  #writeParts(content: UnerasedMessage['content'], role: AiUiMessage['role'], writing: Writing): MutableObject[] {
    const parts: MutableObject[] = []
    for (const [index, part] of content.entries()) {
      const written =
        part.type === 'tool_result' ? undefined : this.#writePart(part, role, writing.at('content', index))
      if (written !== undefined) parts.push(written)
    }
    return parts
  }

  #writePart(
    part: Exclude<UnerasedPart, ToolResultPart>,
    role: AiUiMessage['role'],
    place: Place,
  ): MutableObject | undefined {
    const kept = residualOf(format, part)
    const state = role === 'assistant' ? { state: 'done' } : undefined
    switch (part.type) {
      case 'text':
        return writeRestored({ type: 'text', text: part.text, ...state }, part, kept)
      case 'refusal':
        if (role !== 'assistant') return void place.lose('only the assistant can refuse')
        place.lose('ai has no refusal type: written as text')
        return { type: 'text', text: part.text, ...state }
      case 'reasoning':
        if (role !== 'assistant') return void place.lose('only the assistant can have reasoning')
        return writeRestored({ ...writeReasoning(format, part, 'providerMetadata', place), ...state }, part, kept)
      case 'image':
      case 'file':
        if (role === 'system') return void place.lose('ai instructions can only be text')
        return writeFile(part, kept, place)
      case 'provider':
        if (part.provider === modelFormat && role === 'assistant' && isShared(part.raw)) return asUiPart(part.raw)
        return place.rawOf(part)
      case 'tool_call':
        return this.#call(part, place)
    }
  }
}

export const encodeUi: Encode<AiUiMessage[]> = encoderFor(format, () => new UiWriter(), undefined, {
  [modelFormat]: [...understoodFields, ...Object.keys(names)],
})

const writeRestored = (written: MutableObject, part: Part, kept: Kept | undefined): MutableObject =>
  restoreResidual(translate(written, part, modelFormat, names), kept)

const writeFile = (part: ImagePart | FilePart, kept: Kept | undefined, place: Place): MutableObject => {
  const source = place.sourceOf(part)
  const name = part.type === 'file' && part.name !== undefined && { filename: part.name }
  return writeRestored({ type: 'file', mediaType: mediaTypeOf(part, source), url: urlOf(source), ...name }, part, kept)
}
