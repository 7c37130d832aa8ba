/** Encodes OpenAI Agents SDK items: one item per call, per result and per assistant text. */
import { jsonIn, ownField } from 'indelible/internal/json'
import {
  encoderFor,
  listWriter,
  type Place,
  type Writing,
  answersOf,
  itemContent,
  withKept,
  pictureOf,
  resultText,
  residualOf,
  restoreResidual,
  mutableCopy,
  type MutableObject,
  type Kept,
  type Encode,
} from 'indelible/internal/codecs'
import type { Message, Part, ToolCallPart, ToolResultPart } from 'indelible/message'
import * as items from './items.ts'
import { format, functionCall, kindOfCall, kindOfOutput, type CallKind } from './items.ts'
import type { AgentsItem } from './wire.ts'

export const encode: Encode<AgentsItem[]> = encoderFor(format, () => {
  const calls: Calls = new Map()
  return listWriter((message, wire, writing) => {
    if (message.id !== undefined) writing.lose(['id'], 'Agents SDK items have their own ids')
    if (message.name !== undefined) writing.lose(['name'], 'Agents SDK items have no speaker name')
    if (message.role === 'assistant') writeSaid(message, wire, writing, calls)
    else writeSpoken(message, wire, writing, calls)
  })
})

/** The calls so far: their results are written in the same kind. */
type Calls = Map<string, WrittenCall>

interface WrittenCall {
  readonly kind: CallKind
  readonly name: string
  /** Whether the kind had to change, so that the fields kept with the result no longer fit. */
  readonly changed: boolean
}

/** Writes an assistant message: each text as its own item, except for parts that came from one item. */
const writeSaid = (message: Message, wire: MutableObject[], writing: Writing, calls: Calls): void => {
  let open: unknown[] | undefined
  if (message.content.length === 0) wire.push(items.messageItem('assistant', []))
  for (const [index, part] of message.content.entries()) {
    const place = writing.at('content', index)
    const kept = residualOf(format, part)
    if (kept?.as !== 'more') open = undefined
    const alone = writeAlone(part, kept, calls, place)
    if (alone !== undefined) {
      wire.push(...alone)
      continue
    }
    if (part.type !== 'text' && part.type !== 'refusal' && part.type !== 'provider') {
      place.lose(`Agents SDK assistant messages cannot have ${part.type} parts`)
      continue
    }
    if (part.type === 'text' && kept?.as === 'string') {
      wire.push(withKept({ item: items.messageItem('assistant', part.text) }, kept).item)
      continue
    }
    const item =
      part.type === 'provider'
        ? (mutableCopy(part.raw) as MutableObject)
        : part.type === 'text'
          ? items.outputText(part.text)
          : items.refusalText(part.text)
    const opens = open === undefined
    const written = withKept(
      { item: items.messageItem('assistant', []), ...(part.type !== 'provider' && { part: item }) },
      opens && kept?.as === 'more' ? undefined : kept,
    )
    const fresh = part.type === 'provider' ? item : (withKept({ part: item }, kept).part ?? item)
    if (opens) {
      open = []
      wire.push({ ...written.item, content: open })
    }
    open?.push(fresh)
  }
}

/** The separate items of a part; undefined if it is message content. */
const writeAlone = (
  part: Part,
  kept: Kept | undefined,
  calls: Calls,
  place: Place,
): readonly MutableObject[] | undefined => {
  if (part.type === 'tool_call') return [writeCall(part, calls, place)]
  if (part.type === 'tool_result') return [writeResult(part, calls, place)]
  if (part.type === 'reasoning') {
    if (kept?.as === 'reasoning') return [restoreResidual(items.reasoningItem(part), kept)]
    place.lose('the Agents SDK only accepts its own reasoning')
    return []
  }
  if (part.type !== 'provider') return undefined
  if (part.provider === format && kept?.as !== undefined) return undefined
  const raw = place.rawOf(part)
  return raw === undefined ? [] : [raw]
}

/** Writes a message of another role as one item, with its results and calls as separate items. */
const writeSpoken = (message: Message, wire: MutableObject[], writing: Writing, calls: Calls): void => {
  const content: MutableObject[] = []
  let spoke = message.content.length === 0
  for (const [index, part] of message.content.entries()) {
    const place = writing.at('content', index)
    if (part.type === 'tool_result') wire.push(writeResult(part, calls, place))
    else if (part.type === 'tool_call') {
      place.lose(`a call in a ${message.role} message: written as assistant`)
      wire.push(writeCall(part, calls, place))
    } else {
      spoke = true
      const written = writeContent(part, place)
      if (written !== undefined) content.push(written)
    }
  }
  if (!spoke || (content.length === 0 && message.content.length > 0)) return
  const kept = residualOf(format, message)
  if (message.role === 'tool') writing.lose(['role'], 'a tool message with content other than results: written as user')
  if (message.role === 'developer' && kept?.fields?.['role'] === undefined)
    writing.lose(['role'], 'the Agents SDK has no developer role: written as system')
  const role = items.speakerOf(message.role)
  const isJoined =
    role === 'system' && kept === undefined && content.length > 1 && content.every(({ type }) => type === 'input_text')
  if (isJoined) writing.lose(['content'], 'Agents SDK instructions are a single text: the texts are joined')
  const result = isJoined ? content.map(({ text }) => text).join('\n') : itemContent(content, kept?.as === 'parts')
  wire.push(restoreResidual(items.messageItem(role, result), kept))
}

const writeContent = (part: Part, place: Place): MutableObject | undefined => {
  const kept = residualOf(format, part)
  switch (part.type) {
    case 'text':
      return restoreResidual(items.inputText(part.text), kept)
    case 'image': {
      const write = kept?.as === 'screenshot' ? items.screenshot : items.inputImage
      return restoreResidual(write(place.sourceOf(part)), kept)
    }
    case 'file':
      return restoreResidual(items.inputFile(place.sourceOf(part), part.name), kept)
    case 'provider':
      return place.rawOf(part)
    default:
      return place.lose(`only the assistant can have ${part.type} parts`)
  }
}

const writeCall = (part: ToolCallPart, calls: Calls, place: Place): MutableObject => {
  const kept = residualOf(format, part)
  const kind = kindOfCall.get(kept?.as) ?? functionCall
  const input = ownField(kind, 'name') === undefined ? part.arguments : jsonIn(part.arguments)
  const changed = ownField(kind, 'name') !== undefined && (typeof input !== 'object' || input === null)
  if (changed) place.lose(`is not valid input for a ${kind.call}: written as a function call`, 'arguments')
  calls.set(part.id, { kind: changed ? functionCall : kind, name: part.name, changed })
  return changed
    ? items.callItem(functionCall, part.id, part.name, part.arguments)
    : restoreResidual(items.callItem(kind, part.id, part.name, input), kept)
}

const writeResult = (part: ToolResultPart, calls: Calls, place: Place): MutableObject => {
  const call = calls.get(part.callId)
  const kept = call?.changed === true ? undefined : residualOf(format, part)
  const [type, as] = kept?.as?.split(' ') ?? []
  const ownKind = kindOfOutput.get(type)
  const kind = ownKind ?? call?.kind ?? functionCall
  const isError = part.isError === true
  if (isError && kind.call !== 'apply_patch_call' && kind.call !== 'shell_call')
    place.lose(`a ${kind.output} cannot be marked as an error; only the text shows it`, 'isError')
  const answer = writeAnswer(part, kind, ownKind !== undefined, as, place)
  return restoreResidual(items.outputItem(kind, part.callId, part.name ?? call?.name ?? '', answer, isError), kept)
}

const writeAnswer = (
  part: ToolResultPart,
  kind: CallKind,
  isOwn: boolean,
  as: string | undefined,
  place: Place,
): unknown => {
  if (as === 'none' && part.content.length === 0) return undefined
  if (kind.call === 'computer_call' && !isOwn) {
    const picture = pictureOf(part, place)
    return picture === undefined ? { type: 'computer_screenshot', data: '' } : items.screenshot(picture)
  }
  if (kind.call === 'shell_call' && !isOwn) {
    const text = resultText(part, place)
    const failed = part.isError === true
    return [
      {
        stdout: failed ? '' : text,
        stderr: failed ? text : '',
        outcome: { type: 'exit', exitCode: failed ? 1 : 0 },
      },
    ]
  }
  if (kind.call === 'apply_patch_call' && !isOwn) return resultText(part, place)
  const content = answersOf(part, place, (answer, at) => writeContent(answer, at))
  const [only] = content
  if (as === 'one' && content.length === 1 && only !== undefined) return only
  return itemContent(content, as === 'parts' || as === 'one')
}
