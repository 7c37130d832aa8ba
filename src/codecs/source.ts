/** Sources of images and files as most formats write them: a URL, or a data URL with the bytes. */
import { isLeft, type Path, ownField } from '../json/index.ts'
import { callCallback } from '../task/index.ts'
import type { EncodeFault } from './fault.ts'
import type { EncodeOptions } from './codec.ts'
import type { Source } from '../message/index.ts'

/** A source with its bytes or URL. */
export type Resolved = Exclude<Source, { type: 'block' }>

/**
 * A URL as a source; a plain base64 data URL becomes its bytes. `urlOf` restores the same text.
 *
 * @param url a URL or a data URL
 */
export const sourceOf = (url: string): Resolved => {
  const found = dataUrl.exec(url)
  if (found === null) return Object.freeze({ type: 'url', url })
  return Object.freeze({ type: 'base64', mediaType: found[1] as string, data: url.slice(found[0].length) })
}

/** Only `base64` as a parameter, so that the URL can be restored exactly. */
const dataUrl = /^data:([^;,]+);base64,/

export const urlOf = (source: Resolved): string =>
  source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`

/** Thrown inside `encode` when a stored block has no content. The codec turns it into a fault. */
export class BlockMissing {
  readonly fault: EncodeFault

  constructor(fault: EncodeFault) {
    this.fault = fault
  }
}

/** A source with its bytes or URL. Throws BlockMissing. */
export const resolveSource = (
  source: Source,
  options: EncodeOptions,
  format: string,
  position: number,
  path: Path,
): Resolved => {
  if (source.type !== 'block') return source
  const { id } = source
  const block = ownField(options, 'block')
  const found = callCallback('block', () => block?.(id))
  if (isLeft(found)) throw new BlockMissing(found.left)
  const content = found.right
  if (content === undefined) throw new BlockMissing({ _tag: 'UnresolvedBlock', format, position, path, id })
  return { type: 'base64', data: content.data, mediaType: source.mediaType ?? content.mediaType }
}
