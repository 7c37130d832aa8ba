/** Encodes OpenAI Chat Completions messages: one tool message per result, all text of a turn before its calls. */
import { jsonOrText, ownField } from '../../json/index.ts'
import { CallIds } from '../call-ids.ts'
import type { Encode } from '../codec.ts'
import { encoderFor, listWriter, type Place, type Writing } from '../encoder.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../../message/index.ts'
import type { UnerasedMessage, UnerasedPart } from '../../message/internal.ts'
import { answersOf, asContent } from '../content.ts'
import { residualOf, restoreResidual, mutableCopy, type MutableObject } from '../residual.ts'
import { urlOf } from '../source.ts'
import { audioFormatOf, format, longestCallId } from './decode.ts'
import type { ChatMessage } from './wire.ts'

export const encode: Encode<ChatMessage[]> = encoderFor(format, () => {
  const calls: Calls = { ids: new CallIds(longestCallId), legacy: new Map() }
  return listWriter((message, wire, writing) => writeMessage(message, wire, writing, calls))
})

interface Calls {
  readonly ids: CallIds
  /** The names of calls written as `function_call`, by id, because their results use the same form. */
  readonly legacy: Map<string, string>
}

/** The contents of one wire message. */
interface Turn {
  readonly content: MutableObject[]
  readonly calls: MutableObject[]
  readonly fields: MutableObject
}

/**
 * Writes a message as one wire message, except that results become separate messages after all
 * calls of the same step, and that only the assistant makes calls.
 */
const writeMessage = (message: UnerasedMessage, wire: MutableObject[], writing: Writing, calls: Calls): void => {
  if (message.id !== undefined) writing.lose(['id'], 'chat messages have no id')
  let turn: Turn | undefined
  let results: MutableObject[] = []
  let first = true
  const open = new Set<string>()
  const speaks = message.role === 'tool' ? 'user' : message.role
  const flush = (): void => {
    if (turn !== undefined) {
      const role = turn.calls.length > 0 || ownField(turn.fields, 'function_call') !== undefined ? 'assistant' : speaks
      if (role !== message.role)
        writing.lose(['role'], `a ${message.role} message with content other than results: written as ${role}`)
      wire.push(writeTurn(role, turn, message, first))
      first = false
      turn = undefined
    }
    for (const result of results) wire.push(result)
    results = []
  }
  for (let index = 0; index < message.content.length; index++) {
    const part = message.content[index] as UnerasedPart
    const place = writing.at('content', index)
    if (part.type === 'tool_result') {
      results.push(writeResult(part, place, calls))
      open.delete(part.callId)
    } else {
      if (results.length > 0 && open.size === 0) flush()
      if (part.type === 'tool_call') open.add(part.id)
      turn ??= { content: [], calls: [], fields: {} }
      writePart(part, turn, speaks, place, calls)
    }
  }
  if (message.content.length === 0) turn = { content: [], calls: [], fields: {} }
  flush()
}

const writeTurn = (role: string, { content, calls, fields }: Turn, message: Message, first: boolean): MutableObject => {
  const kept = first ? residualOf(format, message) : undefined
  const silent =
    calls.length > 0 || ownField(fields, 'function_call') !== undefined || ownField(fields, 'refusal') !== undefined
      ? null
      : ''
  const result: MutableObject = { role, content: contentOf(content, kept?.as === 'parts', silent) }
  if (message.name !== undefined) result['name'] = message.name
  Object.assign(result, fields)
  if (calls.length > 0) result['tool_calls'] = calls
  return restoreResidual(result, kept)
}

/** The content, or `silent` if there is none. */
const contentOf = (parts: MutableObject[], asParts: boolean, silent: string | null): unknown =>
  parts.length === 0 ? silent : asContent(parts, asParts)

const writeResult = (part: ToolResultPart, place: Place, { ids, legacy }: Calls): MutableObject => {
  if (part.isError === true) place.lose('chat cannot mark a result as an error; only the text shows it', 'isError')
  const content = answersOf(part, place, (answer, at) => writeContent(answer, 'tool', at))
  const kept = residualOf(format, part)
  const text = contentOf(content, kept?.as?.endsWith('parts') === true, '')
  const called = legacy.get(part.callId) ?? (kept?.as?.startsWith('function') === true ? part.name : undefined)
  return restoreResidual<MutableObject>(
    called === undefined
      ? { role: 'tool', tool_call_id: ids.of(part.callId, kept?.as?.startsWith('tool') === true), content: text }
      : { role: 'function', name: called, content: text },
    kept,
  )
}

const writePart = (
  part: Exclude<UnerasedPart, ToolResultPart>,
  turn: Turn,
  role: string,
  place: Place,
  calls: Calls,
): void => {
  const as = residualOf(format, part)?.as
  if (part.type === 'tool_call') return writeCall(part, turn, place, calls)
  if (part.type === 'provider' && part.provider === format && as === 'tool_call')
    return void turn.calls.push(mutableCopy(part.raw) as MutableObject)
  if (part.type === 'reasoning') {
    if (as === 'reasoning_content' || as === 'reasoning') turn.fields[as] = part.text
    else place.lose('chat has no field for reasoning')
    return
  }
  if (part.type === 'refusal' && as === 'field') return void (turn.fields['refusal'] = part.text)
  if (turn.calls.length > 0) place.lose('comes after a tool call; chat puts all content before the calls')
  const content = writeContent(part, role, place)
  if (content !== undefined) turn.content.push(content)
}

const writeCall = (part: ToolCallPart, turn: Turn, place: Place, { ids, legacy }: Calls): void => {
  const kept = residualOf(format, part)
  if (kept?.as === 'function_call') {
    legacy.set(part.id, part.name)
    turn.fields['function_call'] = restoreResidual({ name: part.name, arguments: part.arguments }, kept)
    return
  }
  const { id, name } = ids.ofCall(part, kept?.as !== undefined, place)
  const args = kept?.as === 'object' ? jsonOrText(part.arguments) : part.arguments
  const written =
    kept?.as === 'custom'
      ? { type: 'custom', id, custom: { name, input: args } }
      : { type: 'function', id, function: { name, ...((kept?.as !== 'bare' || args !== '') && { arguments: args }) } }
  turn.calls.push(restoreResidual<MutableObject>(written, kept))
}

type Content = Exclude<UnerasedPart, ToolResultPart | ToolCallPart>

const writeContent = (part: Content, role: string, place: Place): MutableObject | undefined => {
  const kept = residualOf(format, part)
  const mayHoldFiles = role === 'user' || kept?.as === 'carried'
  switch (part.type) {
    case 'text':
      return restoreResidual({ type: 'text', text: part.text }, kept)
    case 'refusal':
      if (role !== 'assistant' && kept === undefined) return place.lose('only the assistant can refuse')
      return restoreResidual({ type: 'refusal', refusal: part.text }, kept)
    case 'provider':
      return place.rawOf(part)
    case 'image':
      if (!mayHoldFiles) return place.lose(`a chat ${role} message cannot hold an image`)
      return restoreResidual({ type: 'image_url', image_url: { url: urlOf(place.sourceOf(part)) } }, kept)
    case 'file': {
      if (!mayHoldFiles) return place.lose(`a chat ${role} message cannot hold a file`)
      const source = place.sourceOf(part)
      if (source.type === 'url') return place.lose('chat accepts a file only as bytes, not as a URL')
      const audio = audioFormatOf(source.mediaType)
      if (audio !== undefined) {
        if (part.name !== undefined) place.lose('chat audio has no name', 'name')
        return restoreResidual({ type: 'input_audio', input_audio: { data: source.data, format: audio } }, kept)
      }
      return restoreResidual(
        { type: 'file', file: { file_data: urlOf(source), ...(part.name !== undefined && { filename: part.name }) } },
        kept,
      )
    }
    case 'reasoning':
      return place.lose('chat has no field for reasoning')
  }
}
