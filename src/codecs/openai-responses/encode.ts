/** Encodes OpenAI Responses items: one item per call, per result and per assistant text. */
import { jsonIn, ownField, type Json } from '../../json/index.ts'
import { CallIds } from '../call-ids.ts'
import type { Encode } from '../codec.ts'
import { encoderFor, listWriter, type Place, type Writing } from '../encoder.ts'
import type { Message, ProviderPart, ReasoningPart, ToolCallPart, ToolResultPart } from '../../message/index.ts'
import type { UnerasedMessage, UnerasedPart } from '../../message/internal.ts'
import { answersOf } from '../content.ts'
import { itemContent, withKept, pictureOf, resultText } from '../items-writing.ts'
import { residualOf, restoreResidual, mutableCopy, type MutableObject } from '../residual.ts'
import { format } from './decode.ts'
import * as items from './items.ts'
import { functionCall, kindOfCall, kindOfOutput, longestCallId, type CallKind } from './kinds.ts'
import type { ResponsesItem } from './wire.ts'

export const encode: Encode<ResponsesItem[]> = encoderFor(format, () => {
  const calls: Calls = { ids: new CallIds(longestCallId), made: new Map() }
  return listWriter((message, wire, writing) => writeMessage(message, wire, writing, calls))
})

/** The calls so far: their results are written in the same kind. */
interface Calls {
  readonly ids: CallIds
  readonly made: Map<string, WrittenCall>
}

interface WrittenCall {
  readonly kind: CallKind
  /** Whether the kind had to change, so that the fields kept with the result no longer fit. */
  readonly changed: boolean
  readonly caller: Json | undefined
}

type Content = Exclude<UnerasedPart, ToolCallPart | ToolResultPart | ReasoningPart>

const writeMessage = (message: UnerasedMessage, wire: MutableObject[], writing: Writing, calls: Calls): void => {
  if (message.id !== undefined) writing.lose(['id'], 'Responses items have their own ids')
  if (message.name !== undefined) writing.lose(['name'], 'Responses messages have no name')
  const turn = message.role === 'assistant' ? new AssistantItems(wire, writing) : new OtherItems(wire, writing, message)
  for (let index = 0; index < message.content.length; index++) {
    const part = message.content[index] as UnerasedPart
    const place = writing.at('content', index)
    const item = part.type === 'tool_result' ? writeResult(part, calls, place) : ownItem(part, message, calls, place)
    if (item === undefined) turn.write(part as Content, place)
    else if (item !== 'lost') {
      turn.close()
      wire.push(item)
    }
  }
  if (message.content.length === 0)
    wire.push(restoreResidual(items.messageItem(speakerOf(message), ''), residualOf(format, message)))
  turn.close()
}

const speakerOf = ({ role }: Message): string => (role === 'tool' ? 'user' : role)

/** The separate item of a part; undefined if it is message content. */
const ownItem = (
  part: Exclude<UnerasedPart, ToolResultPart>,
  message: Message,
  calls: Calls,
  place: Place,
): MutableObject | 'lost' | undefined => {
  const { role } = message
  const mayBeItem = role === 'assistant' || residualOf(format, message)?.as === 'item'
  if (part.type !== 'tool_call' && part.type !== 'reasoning' && !(mayBeItem && isItem(part))) return undefined
  if (part.type === 'reasoning') {
    const kept = residualOf(format, part)
    if (kept?.as === 'reasoning') return restoreResidual(items.reasoningItem(part), kept)
    place.lose('Responses only accepts its own reasoning')
    return 'lost'
  }
  if (part.type !== 'tool_call') return mutableCopy(part.raw) as MutableObject
  if (role !== 'assistant') place.lose(`a call in a ${role} message: written as assistant`)
  return writeCall(part, calls, place)
}

const isItem = (part: UnerasedPart): part is ProviderPart =>
  part.type === 'provider' && part.provider === format && residualOf(format, part)?.as === undefined

/** Writes an assistant message: each text as its own item, except for parts that came from one item. */
class AssistantItems {
  readonly #wire: MutableObject[]
  readonly #writing: Writing
  #open: unknown[] | undefined

  constructor(wire: MutableObject[], writing: Writing) {
    this.#wire = wire
    this.#writing = writing
  }

  write(part: Content, place: Place): void {
    const kept = residualOf(format, part)
    const isText = part.type === 'text'
    if (!isText && part.type !== 'refusal' && !(part.type === 'provider' && part.provider === format))
      return place.lose(
        part.type === 'provider' ? `is known only to ${part.provider}` : `Responses has no assistant ${part.type}`,
      )
    if (isText && kept?.as === undefined) {
      this.close()
      return void this.#wire.push(withKept({ item: items.messageItem('assistant', part.text) }, kept).item)
    }
    const answer =
      part.type === 'provider'
        ? mutableCopy(part.raw)
        : isText
          ? items.outputText(part.text)
          : items.refusalText(part.text)
    const opens = kept?.as === 'message'
    const written = withKept(
      {
        ...(opens && { item: { type: 'message', role: 'assistant' } }),
        ...(part.type !== 'provider' && { part: answer as MutableObject }),
      },
      kept,
    )
    if (opens || this.#open === undefined || kept === undefined) {
      // An item that was not read from the wire needs an id that no OpenAI item has.
      const item = opens
        ? written.item
        : {
            type: 'message',
            id: `msg_indelible_${this.#writing.position}_${place.path.at(-1)}`,
            role: 'assistant',
            status: 'completed',
          }
      this.#open = []
      this.#wire.push({ ...item, content: this.#open })
    }
    this.#open.push(part.type === 'provider' ? answer : written.part)
  }

  close(): void {
    this.#open = undefined
  }
}

/** Writes a message of another role as one item, with results as separate items. */
class OtherItems {
  readonly #wire: MutableObject[]
  readonly #writing: Writing
  readonly #message: Message
  #content: MutableObject[] = []
  #first = true

  constructor(wire: MutableObject[], writing: Writing, message: Message) {
    this.#wire = wire
    this.#writing = writing
    this.#message = message
  }

  write(part: Content, place: Place): void {
    const content = writeContent(part, place)
    if (content !== undefined) this.#content.push(content)
  }

  close(): void {
    if (this.#content.length === 0) return
    if (this.#message.role === 'tool')
      this.#writing.lose(['role'], 'a tool message with content other than results: written as user')
    const kept = this.#first ? residualOf(format, this.#message) : undefined
    this.#wire.push(
      restoreResidual(
        items.messageItem(speakerOf(this.#message), itemContent(this.#content, kept?.as === 'parts')),
        kept,
      ),
    )
    this.#content = []
    this.#first = false
  }
}

const writeContent = (part: Content, place: Place): MutableObject | undefined => {
  const kept = residualOf(format, part)
  switch (part.type) {
    case 'text':
      return restoreResidual(items.inputText(part.text), kept)
    case 'refusal':
      return place.lose('only the assistant can refuse')
    case 'provider':
      return place.rawOf(part)
    case 'image':
      return restoreResidual(items.inputImage(place.sourceOf(part)), kept)
    case 'file': {
      const source = place.sourceOf(part)
      if (source.type === 'base64' && kept?.as === 'audio')
        return restoreResidual(items.inputAudio(source.data, source.mediaType), kept)
      if (source.mediaType?.startsWith('audio/') === true) return place.lose('Responses does not accept audio')
      return restoreResidual(items.inputFile(source, part.name), kept)
    }
  }
}

const writeCall = (part: ToolCallPart, { ids, made }: Calls, place: Place): MutableObject => {
  const kept = residualOf(format, part)
  const kind = kindOfCall.get(kept?.as) ?? functionCall
  const asItIs = kept?.as === kind.call
  const input = ownField(kind, 'asText') === true ? part.arguments : jsonIn(part.arguments)
  const changed =
    ownField(kind, 'asText') !== true &&
    (ownField(kind, 'name') === 'tool_search' ? input === undefined : typeof input !== 'object' || input === null)
  if (changed) place.lose(`is not valid input for a ${kind.call}: written as a function call`, 'arguments')
  const { id, name } = ids.ofCall(part, asItIs && !changed, place)
  const item = changed
    ? items.callItem(functionCall, id, name, part.arguments)
    : restoreResidual(items.callItem(kind, id, name, input), kept)
  made.set(part.id, { kind: changed ? functionCall : kind, changed, caller: kept?.fields?.['caller'] })
  return item
}

const writeResult = (part: ToolResultPart, { ids, made }: Calls, place: Place): MutableObject => {
  const call = made.get(part.callId)
  const kept = call?.changed === true ? undefined : residualOf(format, part)
  const [type, as] = kept?.as?.split(' ') ?? []
  const ownKind = kindOfOutput.get(type)
  const kind = ownKind ?? call?.kind ?? functionCall
  const callId = ids.of(part.callId, ownKind !== undefined)
  const answer = as === 'none' ? undefined : writeAnswer(part, kind, ownKind !== undefined, as, place)
  return restoreResidual(
    items.outputItem(
      kind,
      callId,
      answer,
      part.isError === true,
      call?.caller === undefined ? undefined : mutableCopy(call.caller),
    ),
    kept,
  )
}

/** A result in the form of its kind. `isOwn`: its text is the JSON of that form. */
const writeAnswer = (
  part: ToolResultPart,
  kind: CallKind,
  isOwn: boolean,
  as: string | undefined,
  place: Place,
): unknown => {
  const [first] = part.content
  if (as === 'raw' && first?.type === 'provider' && first.provider === format) return mutableCopy(first.raw)
  const loseErrorMark = (): void => {
    if (part.isError === true)
      place.lose(`a ${kind.output} cannot be marked as an error; only the text shows it`, 'isError')
  }
  switch (kind.output) {
    case 'computer_call_output': {
      const picture = pictureOf(part, place)
      if (picture === undefined) return items.screenshot({ type: 'base64', mediaType: 'image/png', data: blank })
      loseErrorMark()
      return items.screenshot(picture)
    }
    case 'tool_search_output': {
      const tools = isOwn && part.isError !== true ? jsonIn(resultText(part, place)) : undefined
      if (Array.isArray(tools)) return tools
      place.lose('a tool search result must be tools: written as an empty list', 'content')
      return []
    }
    case 'shell_call_output': {
      const text = resultText(part, place)
      const chunks = isOwn && part.isError !== true ? jsonIn(text) : undefined
      if (Array.isArray(chunks)) return chunks
      const failed = part.isError === true
      return [
        {
          stdout: failed ? '' : text,
          stderr: failed ? text : '',
          outcome: { type: 'exit', exit_code: failed ? 1 : 0 },
        },
      ]
    }
    case 'apply_patch_call_output':
    case 'mcp_approval_response':
      return part.content.length === 0 ? undefined : resultText(part, place)
    case 'local_shell_call_output':
      loseErrorMark()
      return resultText(part, place)
    default: {
      loseErrorMark()
      return itemContent(
        answersOf(part, place, (answer, at) => writeContent(answer, at)),
        as === 'parts',
      )
    }
  }
}

/** A black 64 × 64 picture, for a computer call without a screenshot. */
const blank = 'iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAD0lEQVR42mNgGAWjgHwAAAJAAAHgTR1EAAAAAElFTkSuQmCC'
