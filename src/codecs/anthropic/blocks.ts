/** Writes parts as blocks. Each writer returns the block, or records a loss and returns nothing. */
import { jsonOrText, textOfBase64 } from '../../json/index.ts'
import type { Place } from '../encoder.ts'
import type {
  FilePart,
  ImagePart,
  ReasoningPart,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../message/index.ts'
import type { UnerasedPart } from '../../message/internal.ts'
import type { CallIds } from '../call-ids.ts'
import { answersOf, asContent } from '../content.ts'
import { residualOf, restoreResidual, type MutableObject as Block, type Kept } from '../residual.ts'
import { writtenSource } from './decode.ts'
import { inputOf } from '../input.ts'
import { format, keepsMark } from './marks.ts'
import { fitsName, fittingName, isBlank, isFetched, isImageType, isSignature } from './rules.ts'

/** Who speaks, and where losses go. */
interface Saying {
  readonly role: 'system' | 'user' | 'assistant'
  /** Whether to write content marked `exact` in its original form. */
  readonly exact: boolean
  readonly ids: CallIds
  readonly place: Place
}

/** A part that is being written. */
interface Written extends Saying {
  readonly kept: Kept | undefined
  /** Whether this part is written in its original form. */
  readonly asFound: boolean
}

export const writePart = (part: UnerasedPart, saying: Saying): Block | undefined => {
  const kept = residualOf(format, part)
  const own: Written = { ...saying, kept, asFound: saying.exact && keepsMark(kept, 'exact') }
  if (saying.role === 'system' && part.type !== 'text' && part.type !== 'provider' && !own.asFound)
    return own.place.lose('Anthropic instructions can only be text')
  switch (part.type) {
    case 'text':
      return writeText(part, own)
    case 'refusal':
      own.place.lose('Anthropic has no refusal type: written as text')
      return writeText({ type: 'text', text: part.text }, { ...own, asFound: false })
    case 'image':
      return writeImage(part, own)
    case 'file':
      return writeDocument(part, own)
    case 'reasoning':
      return writeReasoning(part, own)
    case 'tool_call':
      return writeCall(part, own)
    case 'tool_result':
      return writeResult(part, saying, own)
    case 'provider':
      return own.place.rawOf(part)
  }
}

const writeText = ({ text }: TextPart, own: Written): Block | undefined =>
  isBlank(text) && !own.asFound
    ? own.place.lose('Anthropic does not accept empty text')
    : restoreResidual({ type: 'text', text }, own.kept)

const writeImage = (part: ImagePart, own: Written): Block | undefined => {
  const source = own.place.sourceOf(part)
  const refused =
    own.role === 'assistant'
      ? userOnlyReason
      : source.type === 'url'
        ? urlRefused(source)
        : isImageType(source.mediaType)
          ? emptyRefused(source)
          : `Anthropic does not accept ${source.mediaType}`
  return refused !== undefined && !own.asFound
    ? own.place.lose(refused)
    : restoreResidual({ type: 'image', source: writtenSource(source) }, own.kept)
}

const writeDocument = (part: FilePart, own: Written): Block | undefined => {
  const source = own.place.sourceOf(part)
  const { name } = part
  if (own.role === 'assistant' && !own.asFound) return own.place.lose(userOnlyReason)
  const written = source.type === 'url' ? writeUrl(source, own) : writeBytes(source, own)
  return (
    written &&
    restoreResidual({ type: 'document', source: written, ...(name !== undefined && { title: name }) }, own.kept)
  )
}

const userOnlyReason = 'Anthropic accepts images and files only from the user'

type Url = Source & { readonly type: 'url' }
type Bytes = Source & { readonly type: 'base64' }

const urlRefused = ({ url }: Url): string | undefined =>
  isFetched(url) ? undefined : 'Anthropic only fetches http and https URLs'
const emptyRefused = ({ data }: Bytes): string | undefined =>
  data === '' ? 'is empty, which Anthropic does not accept' : undefined

const writeUrl = (source: Url, own: Written): Block | undefined => {
  const refused =
    source.mediaType === undefined || source.mediaType === 'application/pdf'
      ? urlRefused(source)
      : `Anthropic does not fetch ${source.mediaType}`
  return refused !== undefined && !own.asFound ? own.place.lose(refused) : writtenSource(source)
}

const writeBytes = (source: Bytes, own: Written): Block | undefined => {
  const { mediaType, data } = source
  const { asFound } = own
  if (asFound && mediaType !== 'text/plain') return writtenSource(source)
  const empty = emptyRefused(source)
  if (empty !== undefined && !asFound) return own.place.lose(empty)
  if (mediaType === 'application/pdf') return writtenSource(source)
  const text = isTextual.test(mediaType) ? textOfBase64(data) : undefined
  if (text === undefined)
    return asFound ? writtenSource(source) : own.place.lose(`Anthropic does not accept ${mediaType}`)
  if (mediaType !== 'text/plain') own.place.lose(`is ${mediaType}: written as text/plain`, 'source', 'mediaType')
  return { type: 'text', media_type: 'text/plain', data: text }
}
const isTextual = /^(?:text\/|application\/(?:json|xml|x?yaml|javascript|typescript)\b)/

const writeReasoning = (part: ReasoningPart, own: Written): Block | undefined => {
  const { kept, asFound } = own
  if (own.role !== 'assistant' && !asFound) return own.place.lose('only the assistant can have thinking')
  // Fully encrypted reasoning belongs to Anthropic, unless OpenAI's codec read it. The AI SDK's codec does the same.
  const isRedacted =
    part.text === '' && part.summary === undefined && residualOf('openai-responses', part) === undefined
  if (isRedacted && part.encrypted !== undefined)
    return restoreResidual({ type: 'redacted_thinking', data: part.encrypted }, kept)
  if (part.encrypted !== undefined) own.place.lose('is for another provider', 'encrypted')
  if ((!isSignature(part.signature) || residualOf('gemini', part) !== undefined) && !asFound)
    return own.place.lose('Anthropic only accepts reasoning with its own signature')
  if (part.summary !== undefined && part.summary.length > 0)
    own.place.lose('Anthropic has no reasoning summaries', 'summary')
  return restoreResidual(
    { type: 'thinking', thinking: part.text, ...(part.signature !== undefined && { signature: part.signature }) },
    kept,
  )
}

const writeCall = (part: ToolCallPart, own: Written): Block => {
  const { asFound } = own
  const id = own.ids.of(part.id, asFound)
  if (id !== part.id) own.place.lose(`must consist of letters, digits, _ and - and be unique: written as ${id}`, 'id')
  const name = asFound || fitsName(part.name) ? part.name : fittingName(part.name)
  if (name !== part.name)
    own.place.lose(`must consist of 1 to 128 letters, digits, _ and -: written as ${name}`, 'name')
  const { input, losses } = asFound ? { input: jsonOrText(part.arguments), losses: [] } : inputOf(part.arguments)
  for (const loss of losses) own.place.lose(loss, 'arguments')
  return restoreResidual({ type: 'tool_use', id, name, input }, own.kept)
}

const writeResult = (part: ToolResultPart, saying: Saying, own: Written): Block => {
  const { place, kept, asFound } = own
  const content = answersOf(part, place, (answer, at) => {
    // A result may be empty, so dropping its empty text is not a loss.
    if (
      answer.type === 'text' &&
      answer.text === '' &&
      !(saying.exact && keepsMark(residualOf(format, answer), 'exact'))
    )
      return undefined
    if (part.isError === true && !asFound && answer.type !== 'text')
      return at.lose('an Anthropic error result can only hold text')
    return writePart(answer, { ...saying, role: 'user', place: at })
  })
  if (content.length === 0 && part.isError === true && !asFound) {
    content.push({ type: 'text', text: 'error' })
    own.place.lose('an Anthropic error result must not be empty: written as "error"', 'content')
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
