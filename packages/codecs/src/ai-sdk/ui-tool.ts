/** A tool part of a UI message: a call, its state, and its result. */
import { aString, isObject, jsonIn, readIn, type JsonObject, ownField, ownFields } from 'indelible/internal/json'
import {
  type Place,
  keepResidual,
  mutableCopy,
  residualOf,
  restoreResidual,
  type MutableObject,
} from 'indelible/internal/codecs'
import { indelibleMetaOf } from 'indelible/internal/message'
import type { ResultPart, ToolCallPart, ToolResultPart } from 'indelible/message'
import { format as modelFormat, translate, uiFormat as format, type Names } from './format.ts'
import { argumentsOf, inputToWrite, inputOf } from './input.ts'
import { deniedText, isJson, texts } from './output.ts'

/** The states of a call without a result. */
const waitingStates = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']
const states: ReadonlySet<unknown> = new Set([...waitingStates, 'output-available', 'output-error', 'output-denied'])

export const isToolPart = (wire: JsonObject): boolean => {
  const { type, state, toolName } = wire
  return (
    typeof type === 'string' &&
    (type.startsWith('tool-') || (type === 'dynamic-tool' && typeof toolName === 'string')) &&
    states.has(state)
  )
}

/** Fields that belong to the result. All others belong to the call. */
const answerFields = ['output', 'errorText', 'resultProviderMetadata', 'preliminary', 'approval']

export const readTool = (wire: JsonObject): { readonly call: ToolCallPart; readonly result?: ToolResultPart } => {
  const type = wire['type'] as string
  const state = wire['state'] as string
  const id = readIn(wire, 'toolCallId', aString)
  const dynamic = type === 'dynamic-tool'
  const name = dynamic ? (wire['toolName'] as string) : type.slice('tool-'.length)
  const { input, rawInput } = wire
  const args = input === undefined && typeof rawInput === 'string' ? rawInput : argumentsOf(input)
  const result = readAnswer(wire, state, id, name)
  const written = {
    type,
    toolCallId: id,
    ...(dynamic && { toolName: name }),
    input: input === undefined ? {} : inputToWrite(input),
  }
  const as = [...(dynamic ? [type] : []), ...(result === undefined ? [state] : [])].join(' ') || undefined
  const call: ToolCallPart = freeze({
    type: 'tool_call',
    id,
    name,
    arguments: args,
    ...keepResidual(format, wire, written, as, result === undefined ? ['state'] : ['state', ...answerFields]),
  })
  return { call, ...(result && { result }) }
}

const readAnswer = (wire: JsonObject, state: string, callId: string, name: string): ToolResultPart | undefined => {
  const { output, approval } = wire
  const fields: JsonObject = Object.fromEntries(Object.entries(wire).filter(([field]) => answerFields.includes(field)))
  const resultPart = (
    content: readonly ResultPart[],
    isError: boolean,
    written: JsonObject,
    as?: string,
  ): ToolResultPart =>
    freeze({
      type: 'tool_result',
      callId,
      name,
      content,
      ...(isError && { isError }),
      ...keepResidual(format, fields, written, as),
    })
  if (state === 'output-available') {
    if (output === undefined) return resultPart(freeze([]), false, { output: '' })
    return typeof output === 'string'
      ? resultPart(texts(output), false, { output })
      : resultPart(texts(JSON.stringify(output)), false, { output }, 'json')
  }
  if (state === 'output-error') {
    const errorText = readIn(wire, 'errorText', aString)
    return resultPart(texts(errorText), true, { errorText })
  }
  const { approved, reason } = ownFields(isObject(approval) ? approval : ({} as JsonObject))
  // A call denied by a person has its answer, whether or not the model has seen it.
  if (state === 'output-denied' || (state === 'approval-responded' && approved === false))
    return resultPart(
      texts(typeof reason === 'string' ? reason : deniedText),
      true,
      {},
      state === 'output-denied' ? 'denied' : 'responded',
    )
  return undefined
}

const callNames: Names = { providerOptions: 'callProviderMetadata', providerExecuted: 'providerExecuted' }
const resultNames: Names = { providerOptions: 'resultProviderMetadata' }
export const understoodFields: readonly string[] = [...Object.keys(callNames), ...Object.keys(resultNames)]

/** A tool part being built: created with the call, completed with the result. */
export class ToolPart {
  readonly written: MutableObject
  /** The last state of a call known to have no result. */
  readonly left: string | undefined

  constructor(part: ToolCallPart, place: Place) {
    const kept = residualOf(format, part)
    const words = kept?.as?.split(' ') ?? []
    const dynamic = words.includes('dynamic-tool')
    this.left = waitingStates.find((state) => words.includes(state))
    const { input, losses } = inputOf(part.arguments)
    for (const loss of losses) place.lose(loss, 'arguments')
    const written = {
      type: dynamic ? 'dynamic-tool' : `tool-${part.name}`,
      toolCallId: part.id,
      ...(dynamic && { toolName: part.name }),
      state: this.left ?? 'input-available',
      input,
    }
    this.written = restoreResidual(translate(written, part, modelFormat, callNames), kept)
  }

  get providerExecuted(): boolean {
    return ownField(this.written, 'providerExecuted') === true
  }

  answer(part: ToolResultPart, place: Place): void {
    const kept = residualOf(format, part)
    const { written } = this
    // The call was left waiting, but now has a result, so nothing waits any more.
    if (this.left !== undefined) {
      for (const field of ['rawInput', 'inputEncoding']) delete written[field]
      const { approval } = written
      if (approval !== undefined && !(isObject(approval) && approval['approved'] === true)) {
        place.lose('answers a call that was never approved: the approval is omitted')
        delete written['approval']
      }
    }
    const text = textOf(part, place)
    const json = isJson(part) ? jsonIn(text) : undefined
    const decision = ownField(indelibleMetaOf(part), 'approval')
    const isDenied = isObject(decision) && decision['approved'] === false
    if (part.isError === true && (isDenied || kept?.as === 'denied')) written['state'] = 'output-denied'
    else if (part.isError === true && kept?.as === 'responded') written['state'] = 'approval-responded'
    else if (part.isError === true) Object.assign(written, { state: 'output-error', errorText: text })
    else Object.assign(written, { state: 'output-available', output: json === undefined ? text : json })
    if (isObject(decision)) {
      delete written['approval'] // last, as in the SDK's own messages
      written['approval'] = mutableCopy(decision)
    }
    restoreResidual(translate(written, part, modelFormat, resultNames), kept)
  }
}

const textOf = ({ content }: ToolResultPart, place: Place): string => {
  const texts: string[] = []
  for (const [index, part] of content.entries()) {
    if (part.type === 'text') texts.push(part.text)
    else
      place.lose(
        part.type === 'provider'
          ? `is known only to ${part.provider}`
          : `an ai-sdk-ui result is text or JSON: it cannot hold ${part.type} parts`,
        'content',
        index,
      )
  }
  if (texts.length > 1) place.lose('an ai-sdk-ui result is a single text: its texts are joined', 'content')
  return texts.join('\n')
}

const { freeze } = Object
