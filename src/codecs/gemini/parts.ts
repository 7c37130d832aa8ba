/** Writes parts. Each writer returns the part, or records a loss and returns nothing. */
import { inspectJson, isLeft, isObject, type JsonObject } from '../../json/index.ts'
import type { FilePart, ImagePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../../message/index.ts'
import type { UnerasedPart } from '../../message/internal.ts'
import { inputOf } from '../input.ts'
import type { Place } from '../encoder.ts'
import { residualOf, restoreResidual, mutableCopy, type Kept, type MutableObject as Fields } from '../residual.ts'
import { format, isMarked } from './marks.ts'
import { idOf, writtenCall, writtenMedia } from './parts-decode.ts'
import { fitsName, fittingName, noSignature } from './rules.ts'
import { inSnake } from './spelling.ts'

/** A part in wire format, or a string in its place. */
export type WirePart = Fields | string

/** Who speaks, and where losses go. */
interface Saying {
  readonly role: 'system' | 'user' | 'model'
  /** Whether to write content in its original form. */
  readonly exact: boolean
  /** Function names by call id, for results. */
  readonly names: Map<string, string>
  /** Whether to give an unsigned call the placeholder that the API accepts as a signature. */
  readonly sign: boolean
  readonly place: Place
}

export const writePart = (part: UnerasedPart, saying: Saying): WirePart | undefined => {
  const kept = residualOf(format, part)
  if (
    saying.role === 'system' &&
    part.type !== 'text' &&
    part.type !== 'refusal' &&
    part.type !== 'provider' &&
    !saying.exact
  )
    return saying.place.lose('Gemini instructions can only be text')
  if (part.type === 'text' && isMarked(kept, 'string')) return part.text
  const written = writeData(part, saying, kept)
  if (written === undefined || !isMarked(kept, 'snake')) return written
  return inSnake(written as JsonObject) as Fields
}

const writeData = (part: UnerasedPart, saying: Saying, kept: Kept | undefined): Fields | undefined => {
  switch (part.type) {
    case 'text':
      return writeText(part, saying, kept)
    case 'refusal':
      saying.place.lose('Gemini has no refusal type: written as text')
      return writeText({ type: 'text', text: part.text }, saying, undefined)
    case 'image':
    case 'file':
      return writeMedia(part, saying.place, kept)
    case 'reasoning':
      return writeThought(part, saying, kept)
    case 'tool_call':
      return writeCall(part, saying, kept)
    case 'tool_result':
      return writeResult(part, saying, kept)
    case 'provider':
      return saying.place.rawOf(part)
  }
}

const writeText = ({ text }: TextPart, saying: Saying, kept: Kept | undefined): Fields | undefined =>
  text === '' && kept?.fields?.['thoughtSignature'] === undefined && !isMarked(kept, 'exact')
    ? saying.place.lose('Gemini does not accept empty text')
    : restoreResidual({ text }, kept)

const writeMedia = (part: ImagePart | FilePart, place: Place, kept: Kept | undefined): Fields | undefined => {
  const source = place.sourceOf(part)
  return restoreResidual(
    mutableCopy(writtenMedia(source, part.type === 'file' ? part.name : undefined)) as Fields,
    kept,
  )
}

const writeThought = (
  { text, summary, signature, encrypted }: ReasoningPart,
  saying: Saying,
  kept: Kept | undefined,
): Fields | undefined => {
  if (!isMarked(kept, 'thought')) return saying.place.lose('Gemini only accepts its own reasoning')
  if (encrypted !== undefined) saying.place.lose('is for another provider', 'encrypted')
  if (summary !== undefined && summary.length > 0) saying.place.lose('Gemini has no reasoning summaries', 'summary')
  return restoreResidual({ text, thought: true, ...(signature !== undefined && { thoughtSignature: signature }) }, kept)
}

const nameOf = (name: string, exact: boolean, { place }: Saying): string => {
  if (exact || fitsName(name)) return name
  const written = fittingName(name)
  place.lose(`must consist of 1 to 128 letters, digits, _, ., : and -: written as ${written}`, 'name')
  return written
}

const writeCall = (part: ToolCallPart, saying: Saying, kept: Kept | undefined): Fields => {
  const name = nameOf(part.name, isMarked(kept, 'exact'), saying)
  const { input, losses } = inputOf(part.arguments)
  for (const loss of losses) saying.place.lose(loss, 'arguments')
  saying.names.set(part.id, name)
  const written: Fields = { functionCall: writtenCall(part.id, name, input as JsonObject) }
  if (saying.sign) written['thoughtSignature'] = noSignature
  return restoreResidual(written, kept)
}

const writeResult = (part: ToolResultPart, saying: Saying, kept: Kept | undefined): Fields => {
  const known = part.name ?? saying.names.get(part.callId)
  if (known === undefined) saying.place.lose('is missing, also in the call: written as unknown', 'name')
  const name = part.name === undefined ? (known ?? 'unknown') : nameOf(part.name, isMarked(kept, 'exact'), saying)
  const texts: string[] = []
  const media: Fields[] = []
  part.content.forEach((answer, index) => {
    const at = saying.place.in('content', index)
    if (answer.type === 'text') texts.push(answer.text)
    else if (answer.type === 'provider') {
      if (answer.provider === format && isObject(answer.raw)) media.push(mutableCopy(answer.raw) as Fields)
      else at.lose(`is known only to ${answer.provider}`)
    } else {
      const written = writeMedia(answer, at, residualOf(format, answer))
      if (written !== undefined) media.push(written)
    }
  })
  if (texts.length > 1)
    saying.place.lose('a Gemini result is a single text: its texts are joined by line feeds', 'content')
  const restored = restoreResidual(
    { functionResponse: { ...idOf(part.callId), name, response: {} as Fields } as Fields },
    kept,
  ) as { functionResponse: Fields }
  const written = restored.functionResponse
  if (isObject(written['response'])) written['response'] = outputOf(part, texts.join('\n'), kept)
  if (media.length > 0) written['parts'] = media
  return restored
}

const outputOf = ({ isError }: ToolResultPart, text: string, kept: Kept | undefined): Fields => {
  if (isMarked(kept, 'json')) {
    const read = inspectJson(text)
    if (!isLeft(read) && isObject(read.right.value)) return mutableCopy(read.right.value) as Fields
  }
  return { [isError === true ? 'error' : isMarked(kept, 'result') ? 'result' : 'output']: text }
}
