/** Encodes LangChain messages in JSON form: constructors, accepted by `load` and as graph input. */
import { isObject, jsonIn } from 'indelible/internal/json'
import {
  encoderFor,
  listWriter,
  type Place,
  type Writing,
  answersOf,
  asContent as blocksOrText,
  residualOf,
  restoreResidual,
  type MutableObject,
  type Kept,
  type Encode,
} from 'indelible/internal/codecs'
import type { Message, Role, ToolCallPart, ToolResultPart } from 'indelible/message'
import type { UnerasedMessage, UnerasedPart } from 'indelible/internal/message'
import * as wires from './fields.ts'
import { format, type Spelling } from './fields.ts'
import type { LangChainMessage } from './wire.ts'

export const encode: Encode<LangChainMessage[]> = encoderFor(format, () => listWriter(writeMessage))

/** Writes each result as its own message, as LangChain requires, and the parts between results together. */
const writeMessage = (message: UnerasedMessage, wire: MutableObject[], writing: Writing): void => {
  const kept = residualOf(format, message)
  const [first] = message.content
  if (first?.type === 'tool_result' && message.content.length === 1 && message.role === 'tool')
    return void wire.push(writeResult(first, message, kept, writing.at('content', 0)))
  let items: Said[] = []
  let isFirst = true
  const flush = (): void => {
    if (items.length === 0 && message.content.length > 0) return
    const hasCalls = items.some(([, { type }]) => type === 'tool_call')
    const role = hasCalls ? 'assistant' : message.role === 'tool' ? 'user' : message.role
    if (role !== message.role)
      writing.lose(['role'], `a ${message.role} message with content it cannot have: written as ${role}`)
    wire.push(
      writeSpoken(role, items, isFirst ? message : {}, isFirst && role === message.role ? kept : undefined, writing),
    )
    isFirst = false
    items = []
  }
  for (const [index, part] of message.content.entries())
    if (part.type === 'tool_result') {
      flush()
      wire.push(writeResult(part, undefined, undefined, writing.at('content', index)))
    } else items.push([index, part])
  flush()
  if (isFirst && message.id !== undefined) writing.lose(['id'], 'each LangChain result is a message with its own id')
}

/** A part other than a result, with its index. */
type Said = readonly [index: number, part: Exclude<UnerasedPart, ToolResultPart>]

const spellingOf = (kept: Kept | undefined): Spelling => {
  const words = kept?.as?.split(' ') ?? []
  return words.includes('stored') ? 'stored' : words.includes('flat') ? 'flat' : 'constructor'
}

const writeResult = (
  part: ToolResultPart,
  message: Message | undefined,
  kept: Kept | undefined,
  place: Place,
): MutableObject => {
  const content = answersOf(part, place, (answer, at) => writeBlock(answer, at))
  const fields = wires.fieldsOf('tool', {
    id: message?.id,
    name: part.name,
    calls: [],
    callId: part.callId,
    isError: part.isError === true,
  })
  return wrapFields('tool', content, fields, kept)
}

const writeSpoken = (
  role: Role,
  items: readonly Said[],
  { id, name }: Pick<Message, 'id' | 'name'>,
  kept: Kept | undefined,
  writing: Writing,
): MutableObject => {
  const content: unknown[] = []
  const calls: MutableObject[] = []
  for (const [index, part] of items) {
    const place = writing.at('content', index)
    if (part.type === 'tool_call') {
      const args = parseArguments(part.arguments)
      if (args === undefined) place.lose('is not a JSON object: written as an empty one', 'arguments')
      const keptCall = residualOf(format, part)
      const written = restoreResidual<{ call: MutableObject; block?: MutableObject }>(
        {
          call: wires.callOf(part.id, part.name, args ?? {}),
          ...(keptCall?.as === 'block' && {
            block: wires.toolUse(part.id, part.name, parseArguments(part.arguments) ?? {}),
          }),
        },
        keptCall,
      )
      calls.push(written.call)
      if (written.block !== undefined) content.push(written.block)
    } else {
      const block = writeBlock(part, place)
      if (block !== undefined) content.push(block)
    }
  }
  return wrapFields(role, content, wires.fieldsOf(role, { id, name, calls, callId: undefined, isError: false }), kept)
}

/** Wraps a message's fields in its spelling. */
const wrapFields = (role: Role, content: unknown[], fields: MutableObject, kept: Kept | undefined): MutableObject => {
  if (kept === undefined)
    return { ...wires.envelopeOf(role, 'constructor'), kwargs: { content: asContent(content, false), ...fields } }
  const spelling = spellingOf(kept)
  const words = kept?.as?.split(' ') ?? []
  const built: { around: MutableObject; fields: MutableObject } = {
    around: spelling === 'flat' ? {} : wires.envelopeOf(role, spelling),
    fields: { ...(spelling === 'flat' && wires.envelopeOf(role, spelling)), ...fields },
  }
  const whole = restoreResidual(built, checkKept(kept))
  const { other, ...rest } = whole.fields
  const text = words.includes('none')
    ? other === undefined
      ? {}
      : { content: other }
    : { content: asContent(content, words.includes('blocks')), ...(other !== undefined && { other }) }
  const all = { ...text, ...rest }
  if (spelling === 'flat') return all
  return { ...whole.around, [spelling === 'stored' ? 'data' : 'kwargs']: all }
}

/** The kept data, as far as it has the expected shape. */
const checkKept = (kept: Kept | undefined): Kept | undefined => {
  if (kept === undefined) return undefined
  const { around: outside, fields } = kept.fields ?? {}
  return { ...kept, fields: { ...(isObject(outside) && { around: outside }), ...(isObject(fields) && { fields }) } }
}

/** A single plain text as a string, unless it was read from a block; an empty string for no text. */
const asContent = (blocks: unknown[], asBlocks: boolean): unknown => {
  if (blocks.length === 0 && !asBlocks) return ''
  const content = blocksOrText(blocks, asBlocks)
  return content === '' ? blocks : content
}

const writeBlock = (
  part: Exclude<UnerasedPart, ToolCallPart | ToolResultPart>,
  place: Place,
): MutableObject | string | undefined => {
  const kept = residualOf(format, part)
  switch (part.type) {
    case 'text':
      return kept?.as === 'string' ? part.text : restoreResidual(wires.textBlock(part.text), kept)
    case 'refusal':
      place.lose('LangChain has no refusal type: written as text')
      return wires.textBlock(part.text)
    case 'reasoning':
      if (kept?.as === 'thinking') return restoreResidual(wires.thinking(part.text, part.signature), kept)
      if (kept?.as === 'reasoning') return restoreResidual(wires.reasoningBlock(part.text), kept)
      return place.lose('LangChain only accepts reasoning of its own models')
    case 'image':
      return restoreResidual(wires.imageBlock(place.sourceOf(part), kept?.as === 'string'), kept)
    case 'file':
      return restoreResidual(wires.fileBlock(place.sourceOf(part), part.name), kept)
    case 'provider':
      return place.rawOf(part)
  }
}

/** The object in arguments text; undefined if it is not a JSON object. */
const parseArguments = (text: string): MutableObject | undefined => {
  if (text.trim() === '') return {}
  const value = jsonIn(text)
  return isObject(value) ? value : undefined
}
