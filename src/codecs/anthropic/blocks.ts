/** Parts as blocks of the wire. Each writer gives the block, or nothing and says what is lost. */
import { textOfBase64, type Path } from '../../json/index.ts'
import type { Writing } from '../losses.ts'
import type {
  FilePart,
  ImagePart,
  Part,
  ReasoningPart,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from '../../message/index.ts'
import { erasedMark } from '../../message/kit.ts'
import type { CallIds } from '../call-ids.ts'
import { keptBy, restore, thaw, type Kept } from '../residual.ts'
import { writtenSource } from './decode.ts'
import { inputOf, valueOf } from '../input.ts'
import { format, marked } from './marks.ts'
import { fitsName, fittingName, isBlank, isFetched, isImageType, isSignature } from './rules.ts'

export type Block = { [field: string]: unknown }

/** Who says it, and what is lost on the way. */
export interface Saying {
  readonly role: 'system' | 'user' | 'assistant'
  /** Write what is marked as found, as found. */
  readonly exact: boolean
  readonly ids: CallIds
  readonly writing: Writing
}

export const writePart = (part: Part, saying: Saying, path: Path): Block | undefined => {
  const kept = keptBy(format, part)
  const exact = saying.exact && marked(kept, 'exact')
  if (saying.role === 'system' && part.type !== 'text' && part.type !== 'provider' && !exact)
    return lost(saying, path, 'instructions are text: Anthropic has no other blocks for them')
  switch (part.type) {
    case 'text':
      return writeText(part, saying, path, kept, exact)
    case 'refusal':
      saying.writing.lose(path, 'Anthropic has no refusal: written as text')
      return writeText({ type: 'text', text: part.text }, saying, path, kept, false)
    case 'image':
      return writeImage(part, saying, path, kept, exact)
    case 'file':
      return writeDocument(part, saying, path, kept, exact)
    case 'reasoning':
      return writeReasoning(part, saying, path, kept, exact)
    case 'tool_call':
      return writeCall(part, saying, path, kept, exact)
    case 'tool_result':
      return writeResult(part, saying, path, kept, exact)
    case 'provider':
      return part.provider === format
        ? (thaw(part.raw) as Block)
        : lost(saying, path, `is known only to ${part.provider}`)
    case 'erased':
      return { type: 'text', text: erasedMark } // `standIn` leaves none
  }
}

const lost = ({ writing }: Saying, path: Path, reason: string): undefined => writing.lose(path, reason) as undefined

const writeText = (
  { text }: TextPart,
  saying: Saying,
  path: Path,
  kept: Kept | undefined,
  exact: boolean,
): Block | undefined =>
  isBlank(text) && !exact ? lost(saying, path, 'Anthropic takes no empty text') : restore({ type: 'text', text }, kept)

const writeImage = (
  { source: from }: ImagePart,
  saying: Saying,
  path: Path,
  kept: Kept | undefined,
  exact: boolean,
): Block | undefined => {
  const source = saying.writing.resolve(from, [...path, 'source'])
  const refused =
    saying.role === 'assistant'
      ? onlyTheUser
      : source.type === 'url'
        ? urlRefused(source)
        : isImageType(source.mediaType)
          ? emptyRefused(source)
          : `Anthropic takes no ${source.mediaType}`
  return refused !== undefined && !exact
    ? lost(saying, path, refused)
    : restore({ type: 'image', source: writtenSource(source) }, kept)
}

const writeDocument = (
  { source: from, name }: FilePart,
  saying: Saying,
  path: Path,
  kept: Kept | undefined,
  exact: boolean,
): Block | undefined => {
  const source = saying.writing.resolve(from, [...path, 'source'])
  if (saying.role === 'assistant' && !exact) return lost(saying, path, onlyTheUser)
  const said =
    source.type === 'url' ? writtenUrl(source, saying, path, exact) : writtenBytes(source, saying, path, exact)
  return said && restore({ type: 'document', source: said, ...(name !== undefined && { title: name }) }, kept)
}

const onlyTheUser = 'only the user shows images and files to Anthropic'

type Url = Source & { readonly type: 'url' }
type Bytes = Source & { readonly type: 'base64' }

const urlRefused = ({ url }: Url): string | undefined =>
  isFetched(url) ? undefined : 'Anthropic fetches http and https URLs only'
const emptyRefused = ({ data }: Bytes): string | undefined =>
  data === '' ? 'is empty, which Anthropic does not take' : undefined

const writtenUrl = (source: Url, saying: Saying, path: Path, exact: boolean): Block | undefined => {
  const refused =
    source.mediaType === undefined || source.mediaType === 'application/pdf'
      ? urlRefused(source)
      : `Anthropic fetches no ${source.mediaType}`
  return refused !== undefined && !exact ? lost(saying, path, refused) : writtenSource(source)
}

const writtenBytes = (source: Bytes, saying: Saying, path: Path, exact: boolean): Block | undefined => {
  const { mediaType, data } = source
  if (exact && mediaType !== 'text/plain') return writtenSource(source)
  if (data === '' && !exact) return lost(saying, path, 'is empty, which Anthropic does not take')
  if (mediaType === 'application/pdf') return writtenSource(source)
  const text = isTextual.test(mediaType) ? textOfBase64(data) : undefined
  if (text === undefined) return exact ? writtenSource(source) : lost(saying, path, `Anthropic takes no ${mediaType}`)
  if (mediaType !== 'text/plain')
    saying.writing.lose([...path, 'source', 'mediaType'], `is ${mediaType}: written as text/plain`)
  return { type: 'text', media_type: 'text/plain', data: text }
}

const isTextual = /^(?:text\/|application\/(?:json|xml|x?yaml|javascript|typescript)\b)/

const writeReasoning = (
  part: ReasoningPart,
  saying: Saying,
  path: Path,
  kept: Kept | undefined,
  exact: boolean,
): Block | undefined => {
  if (saying.role !== 'assistant' && !exact) return lost(saying, path, 'only the assistant thinks')
  // What is sealed whole is Anthropic's, but for what OpenAI's own codec read: the codec of the AI SDK takes it so too.
  const isRedacted = part.text === '' && part.summary === undefined && keptBy('openai-responses', part) === undefined
  if (isRedacted && part.encrypted !== undefined)
    return restore({ type: 'redacted_thinking', data: part.encrypted }, kept)
  if (part.encrypted !== undefined) saying.writing.lose([...path, 'encrypted'], 'is for another provider')
  if ((!isSignature(part.signature) || keptBy('gemini', part) !== undefined) && !exact)
    return lost(saying, path, "Anthropic takes no reasoning without a signature of Anthropic's")
  if (part.summary !== undefined && part.summary.length > 0)
    saying.writing.lose([...path, 'summary'], 'Anthropic has no summaries of reasoning')
  return restore(
    { type: 'thinking', thinking: part.text, ...(part.signature !== undefined && { signature: part.signature }) },
    kept,
  )
}

const writeCall = (part: ToolCallPart, saying: Saying, path: Path, kept: Kept | undefined, exact: boolean): Block => {
  const id = saying.ids.of(part.id, exact)
  if (id !== part.id)
    saying.writing.lose([...path, 'id'], `is not of letters, digits, _ and -, or taken: written as ${id}`)
  const name = exact || fitsName(part.name) ? part.name : fittingName(part.name)
  if (name !== part.name)
    saying.writing.lose([...path, 'name'], `is not of 1 to 128 letters, digits, _ and -: written as ${name}`)
  return restore({ type: 'tool_use', id, name, input: writtenInput(part.arguments, saying, path, exact) }, kept)
}

const writtenInput = (args: string, saying: Saying, path: Path, exact: boolean): unknown => {
  if (exact) return valueOf(args)
  const { input, losses } = inputOf(args)
  for (const loss of losses) saying.writing.lose([...path, 'arguments'], loss)
  return input
}

const writeResult = (
  part: ToolResultPart,
  saying: Saying,
  path: Path,
  kept: Kept | undefined,
  exact: boolean,
): Block => {
  const inside: Saying = { ...saying, role: 'user' }
  const content: Block[] = []
  part.content.forEach((answer, index) => {
    const at = [...path, 'content', index]
    const isOnlyText = part.isError === true && !exact
    // A result without content is a result: an empty text in it is not lost.
    if (answer.type === 'text' && answer.text === '' && !(saying.exact && marked(keptBy(format, answer), 'exact')))
      return
    const block =
      isOnlyText && answer.type !== 'text'
        ? lost(saying, at, 'an error result of Anthropic holds only text')
        : writePart(answer, inside, at)
    if (block !== undefined) content.push(block)
  })
  if (content.length === 0 && part.isError === true && !exact) {
    content.push({ type: 'text', text: 'error' })
    saying.writing.lose([...path, 'content'], 'an error result of Anthropic\'s is never empty: written as "error"')
  }
  const id = saying.ids.of(part.callId, exact)
  const asParts = marked(kept, 'parts')
  return restore(
    {
      type: 'tool_result',
      tool_use_id: id,
      ...((content.length > 0 || asParts) && { content: asContent(content, asParts) }),
      ...(part.isError !== undefined && { is_error: part.isError }),
    },
    kept,
  )
}

/** One plain text as a string, unless it stood as a block. */
export const asContent = (blocks: Block[], asParts: boolean): string | Block[] => {
  const [only] = blocks
  return blocks.length === 1 &&
    only?.['type'] === 'text' &&
    typeof only['text'] === 'string' &&
    !asParts &&
    Object.keys(only).length === 2
    ? only['text']
    : blocks
}
