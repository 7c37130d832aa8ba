/** Writes parts as blocks. Each writer returns the block, or records a loss and returns nothing. */
import { textOfBase64, type Path } from '../../json/index.ts'
import type { Writing } from '../losses.ts'
import type {
  FilePart,
  ImagePart,
  ReasoningPart,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../message/index.ts'
import type { UnerasedPart } from '../../message/kit.ts'
import type { CallIds } from '../call-ids.ts'
import { answersOf, asContent } from '../content.ts'
import { residualOf, restoreResidual, type MutableObject as Block, type Kept } from '../residual.ts'
import { writtenSource } from './decode.ts'
import { inputOf, valueOf } from '../input.ts'
import { format, keepsMark } from './marks.ts'
import { fitsName, fittingName, isBlank, isFetched, isImageType, isSignature } from './rules.ts'

/** Who speaks, and where losses go. */
export interface Saying {
  readonly role: 'system' | 'user' | 'assistant'
  /** Whether to write content marked `exact` in its original form. */
  readonly exact: boolean
  readonly ids: CallIds
  readonly writing: Writing
}

/** The place of a part that is being written. */
interface Place extends Saying {
  readonly path: Path
  readonly kept: Kept | undefined
  /** Whether this part is written in its original form. */
  readonly asFound: boolean
}

export const writePart = (part: UnerasedPart, saying: Saying, path: Path): Block | undefined => {
  const kept = residualOf(format, part)
  const place: Place = { ...saying, path, kept, asFound: saying.exact && keepsMark(kept, 'exact') }
  if (saying.role === 'system' && part.type !== 'text' && part.type !== 'provider' && !place.asFound)
    return losePart(place, 'Anthropic instructions can only be text')
  switch (part.type) {
    case 'text':
      return writeText(part, place)
    case 'refusal':
      losePart(place, 'Anthropic has no refusal type: written as text')
      return writeText({ type: 'text', text: part.text }, { ...place, asFound: false })
    case 'image':
      return writeImage(part, place)
    case 'file':
      return writeDocument(part, place)
    case 'reasoning':
      return writeReasoning(part, place)
    case 'tool_call':
      return writeCall(part, place)
    case 'tool_result':
      return writeResult(part, saying, place)
    case 'provider':
      return saying.writing.rawOf(part, path)
  }
}

/** @param inside the path within the part */
const losePart = ({ writing, path }: Place, reason: string, ...inside: Path): undefined =>
  void writing.lose([...path, ...inside], reason)

const writeText = ({ text }: TextPart, place: Place): Block | undefined =>
  isBlank(text) && !place.asFound
    ? losePart(place, 'Anthropic does not accept empty text')
    : restoreResidual({ type: 'text', text }, place.kept)

const writeImage = (part: ImagePart, place: Place): Block | undefined => {
  const source = place.writing.sourceOf(part, place.path)
  const refused =
    place.role === 'assistant'
      ? userOnlyReason
      : source.type === 'url'
        ? urlRefused(source)
        : isImageType(source.mediaType)
          ? emptyRefused(source)
          : `Anthropic does not accept ${source.mediaType}`
  return refused !== undefined && !place.asFound
    ? losePart(place, refused)
    : restoreResidual({ type: 'image', source: writtenSource(source) }, place.kept)
}

const writeDocument = (part: FilePart, place: Place): Block | undefined => {
  const source = place.writing.sourceOf(part, place.path)
  const { name } = part
  if (place.role === 'assistant' && !place.asFound) return losePart(place, userOnlyReason)
  const said = source.type === 'url' ? writeUrl(source, place) : writeBytes(source, place)
  return (
    said && restoreResidual({ type: 'document', source: said, ...(name !== undefined && { title: name }) }, place.kept)
  )
}

const userOnlyReason = 'Anthropic accepts images and files only from the user'

type Url = Source & { readonly type: 'url' }
type Bytes = Source & { readonly type: 'base64' }

const urlRefused = ({ url }: Url): string | undefined =>
  isFetched(url) ? undefined : 'Anthropic only fetches http and https URLs'
const emptyRefused = ({ data }: Bytes): string | undefined =>
  data === '' ? 'is empty, which Anthropic does not accept' : undefined

const writeUrl = (source: Url, place: Place): Block | undefined => {
  const refused =
    source.mediaType === undefined || source.mediaType === 'application/pdf'
      ? urlRefused(source)
      : `Anthropic does not fetch ${source.mediaType}`
  return refused !== undefined && !place.asFound ? losePart(place, refused) : writtenSource(source)
}

const writeBytes = (source: Bytes, place: Place): Block | undefined => {
  const { mediaType, data } = source
  const { asFound } = place
  if (asFound && mediaType !== 'text/plain') return writtenSource(source)
  const empty = emptyRefused(source)
  if (empty !== undefined && !asFound) return losePart(place, empty)
  if (mediaType === 'application/pdf') return writtenSource(source)
  const text = isTextual.test(mediaType) ? textOfBase64(data) : undefined
  if (text === undefined)
    return asFound ? writtenSource(source) : losePart(place, `Anthropic does not accept ${mediaType}`)
  if (mediaType !== 'text/plain') losePart(place, `is ${mediaType}: written as text/plain`, 'source', 'mediaType')
  return { type: 'text', media_type: 'text/plain', data: text }
}
const isTextual = /^(?:text\/|application\/(?:json|xml|x?yaml|javascript|typescript)\b)/

const writeReasoning = (part: ReasoningPart, place: Place): Block | undefined => {
  const { kept, asFound } = place
  if (place.role !== 'assistant' && !asFound) return losePart(place, 'only the assistant can have thinking')
  // Fully encrypted reasoning belongs to Anthropic, unless OpenAI's codec read it. The AI SDK's codec does the same.
  const isRedacted =
    part.text === '' && part.summary === undefined && residualOf('openai-responses', part) === undefined
  if (isRedacted && part.encrypted !== undefined)
    return restoreResidual({ type: 'redacted_thinking', data: part.encrypted }, kept)
  if (part.encrypted !== undefined) losePart(place, 'is for another provider', 'encrypted')
  if ((!isSignature(part.signature) || residualOf('gemini', part) !== undefined) && !asFound)
    return losePart(place, 'Anthropic only accepts reasoning with its own signature')
  if (part.summary !== undefined && part.summary.length > 0)
    losePart(place, 'Anthropic has no reasoning summaries', 'summary')
  return restoreResidual(
    { type: 'thinking', thinking: part.text, ...(part.signature !== undefined && { signature: part.signature }) },
    kept,
  )
}

const writeCall = (part: ToolCallPart, place: Place): Block => {
  const { asFound } = place
  const id = place.ids.of(part.id, asFound)
  if (id !== part.id) losePart(place, `must consist of letters, digits, _ and - and be unique: written as ${id}`, 'id')
  const name = asFound || fitsName(part.name) ? part.name : fittingName(part.name)
  if (name !== part.name)
    losePart(place, `must consist of 1 to 128 letters, digits, _ and -: written as ${name}`, 'name')
  const { input, losses } = asFound ? { input: valueOf(part.arguments), losses: [] } : inputOf(part.arguments)
  for (const loss of losses) losePart(place, loss, 'arguments')
  return restoreResidual({ type: 'tool_use', id, name, input }, place.kept)
}

const writeResult = (part: ToolResultPart, saying: Saying, place: Place): Block => {
  const { path, kept, asFound } = place
  const content = answersOf(part, path, (answer, at) => {
    // A result may be empty, so dropping its empty text is not a loss.
    if (
      answer.type === 'text' &&
      answer.text === '' &&
      !(saying.exact && keepsMark(residualOf(format, answer), 'exact'))
    )
      return undefined
    if (part.isError === true && !asFound && answer.type !== 'text')
      return void saying.writing.lose(at, 'an Anthropic error result can only hold text')
    return writePart(answer, { ...saying, role: 'user' }, at)
  })
  if (content.length === 0 && part.isError === true && !asFound) {
    content.push({ type: 'text', text: 'error' })
    losePart(place, 'an Anthropic error result must not be empty: written as "error"', 'content')
  }
  const asParts = keepsMark(kept, 'parts')
  return restoreResidual(
    {
      type: 'tool_result',
      tool_use_id: saying.ids.of(part.callId, asFound),
      ...((content.length > 0 || asParts) && { content: asContent(content, asParts) }),
      ...(part.isError !== undefined && { is_error: part.isError }),
    },
    kept,
  )
}
