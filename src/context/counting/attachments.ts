/**
 * Token counts of images and files by the providers' rules: pixels, pages and seconds, not base64 length.
 *
 * | | image of w × h pixels | published at (as others quoted it on 2026-11-21) |
 * |---|---|---|
 * | Anthropic | ⌈w/28⌉ × ⌈h/28⌉, scaled down to at most 1,568 (2,576 pixels a side and 4,784 from Opus 4.7 on) | docs.claude.com, build-with-claude/vision |
 * | OpenAI | scaled into 2,048 × 2,048, the shorter side to 768; 85 plus 170 per tile of 512 × 512 (gpt-4o) | platform.openai.com, guides/images-vision |
 * | Google | 258 up to 384 × 384, otherwise 258 per tile of 768 × 768 | ai.google.dev, gemini-api/docs/tokens |
 *
 * A PDF takes 1,500 to 3,000 tokens per page (Anthropic); audio takes 32 and video 263 per second (Google).
 */
import type { FilePart, ImagePart, Source } from '../../message/index.ts'

/** The provider whose rule counts an image's tokens. */
type ImageRule = 'anthropic' | 'openai' | 'google'

/**
 * The tokens of an image.
 *
 * @param rule the provider whose rule is used. Default: the rule with the highest count
 * @example
 * imageTokens(1000, 1000, 'anthropic') // => 1296
 * imageTokens(1000, 1000, 'openai') // => 765
 */
export const imageTokens = (width: number, height: number, rule?: ImageRule): number =>
  rule === undefined
    ? Math.max(...Object.values(rules).map((tokensOf) => tokensOf(width, height)))
    : rules[rule](width, height)

/**
 * The tokens of an image or file by the most expensive provider's rule. An image of unknown size counts 1,600. A PDF
 * counts 3,000 per page, and a text is counted as text. Audio and video count by size, assuming 64 kbit/s and 1
 * Mbit/s. Other files, and files that are not inline, count as an image of unknown size.
 *
 * Cost    O(1) for images; O(bytes) for texts and PDF files
 */
export const attachmentTokens = (part: ImagePart | FilePart, textTokens: (text: string) => number): number => {
  const { source } = part
  if (source.type !== 'base64') return unknownImage
  if (part.type === 'image') return tokensOfImage(source)
  const { mediaType, data } = source
  const bytes = (data.length * 3) / 4
  if (mediaType.startsWith('image/')) return tokensOfImage(source)
  if (mediaType === 'application/pdf') return perPage * pagesOf(data)
  if (mediaType.startsWith('audio/')) return Math.ceil((bytes / bytesPerSecond.audio) * perSecond.audio)
  if (mediaType.startsWith('video/')) return Math.ceil((bytes / bytesPerSecond.video) * perSecond.video)
  if (mediaType.startsWith('text/') || mediaType === 'application/json') return textTokens(binary(data, data.length))
  return unknownImage
}

type Base64 = Extract<Source, { readonly type: 'base64' }>

const unknownImage = 1600
const perPage = 3000
const bytesPerPage = 100_000
const perSecond = { audio: 32, video: 263 } as const
const bytesPerSecond = { audio: 8_000, video: 125_000 } as const

const rules: { readonly [Rule in ImageRule]: (width: number, height: number) => number } = Object.freeze({
  anthropic: (width, height) => {
    const scale = Math.min(1, 2576 / Math.max(width, height))
    return Math.min(4784, Math.ceil((width * scale) / 28) * Math.ceil((height * scale) / 28))
  },
  openai: (width, height) => {
    const inBox = Math.min(1, 2048 / Math.max(width, height))
    const scale = inBox * Math.min(1, 768 / (Math.min(width, height) * inBox))
    return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
  },
  google: (width, height) =>
    width <= 384 && height <= 384 ? 258 : 258 * Math.ceil(width / 768) * Math.ceil(height / 768),
})

const tokensOfImage = ({ data }: Base64): number => {
  const size = sizeIn(binary(data, headerCharacters))
  return size === undefined ? unknownImage : imageTokens(size.width, size.height)
}

/** A JPEG states its size after the camera's metadata, which comes in blocks of at most 64 kB. */
const headerCharacters = 200_000

interface Size {
  readonly width: number
  readonly height: number
}

/** The size in the header of a PNG, GIF, WebP or JPEG. */
const sizeIn = (bytes: string): Size | undefined => {
  const at = (index: number): number => bytes.charCodeAt(index)
  const big = (index: number): number => (at(index) << 8) | at(index + 1)
  const little = (index: number): number => at(index) | (at(index + 1) << 8)
  const size = (width: number, height: number): Size | undefined =>
    width > 0 && height > 0 ? { width, height } : undefined
  if (bytes.startsWith('\x89PNG')) return size((big(16) << 16) | big(18), (big(20) << 16) | big(22))
  if (bytes.startsWith('GIF8')) return size(little(6), little(8))
  if (bytes.startsWith('RIFF') && bytes.slice(8, 12) === 'WEBP') {
    const kind = bytes.slice(12, 16)
    if (kind === 'VP8 ') return size(little(26) & 0x3fff, little(28) & 0x3fff)
    if (kind === 'VP8L')
      return size((little(21) & 0x3fff) + 1, ((little(22) >> 6) & 0x3ff) + ((at(24) & 0xf) << 10) + 1)
    return size((little(24) | (at(26) << 16)) + 1, (little(27) | (at(29) << 16)) + 1)
  }
  if (!bytes.startsWith('\xff\xd8')) return undefined
  for (let index = 2; index + 9 < bytes.length && at(index) === 0xff;) {
    const marker = at(index + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return size(big(index + 7), big(index + 5))
    index += 2 + big(index + 2)
  }
  return undefined
}

/** The number of pages in a PDF. If its page objects are compressed, one page per 100 kB is assumed. */
const pagesOf = (data: string): number =>
  binary(data, data.length).match(/\/Type\s*\/Page(?![a-zA-Z])/g)?.length ??
  Math.max(1, Math.ceil((data.length * 3) / 4 / bytesPerPage))

/** Decodes the first characters of base64 into a binary string, skipping characters that are not base64. */
const binary = (data: string, characters: number): string => {
  const digits = data.slice(0, characters).replace(/[^A-Za-z0-9+/]/g, '')
  return atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)
}

declare const atob: (base64: string) => string
