/** Images and files of a record, from their own bytes. Nothing is loaded from the web. */
import type { FilePart, ImagePart } from 'indelible/message'
import type { BlockId } from 'indelible/internal/proof'
import { createContext, type VNode } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { Link } from './markdown.tsx'
import { visibleText, sizeText } from '../format-text.ts'
import type { Source } from '../data/source.ts'

export const SourceContext = createContext<Source | undefined>(undefined)

/** Types that a browser draws without running anything. */
const safeImageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'])

export const Media = ({ part }: { readonly part: ImagePart | FilePart }): VNode => {
  const { source } = part
  const name = part.type === 'file' && part.name !== undefined ? part.name : part.type
  const bytes = useBytes(source)
  const type = source.mediaType?.toLowerCase() ?? ''
  const url = useUrl(
    bytes instanceof Uint8Array ? bytes : undefined,
    safeImageTypes.has(type) ? type : 'application/octet-stream',
  )
  if (source.type === 'url' && !source.url.startsWith('data:'))
    return (
      <p class="file">
        {visibleText(name)} <Link href={source.url}>{visibleText(source.url.slice(0, 200))}</Link>
      </p>
    )
  if (bytes === 'missing' || bytes === 'altered')
    return (
      <p class="file bad">
        {visibleText(name)}: its bytes are {bytes === 'altered' ? 'not what was appended' : 'missing'}
      </p>
    )
  if (url === undefined) return <p class="file">{visibleText(name)}…</p>
  if (safeImageTypes.has(type))
    return (
      <img
        class="picture"
        src={url}
        alt={part.type === 'file' ? visibleText(name) : 'image of the record'}
        loading="lazy"
      />
    )
  return (
    <p class="file">
      <a href={url} download={name.replaceAll(/[^\w. -]/g, '_')}>
        {visibleText(name)}
      </a>{' '}
      <span class="quiet">
        {type} {bytes instanceof Uint8Array ? sizeText(bytes.length) : ''}
      </span>
    </p>
  )
}

type FoundBytes = Uint8Array | 'missing' | 'altered'

const useBytes = (input: ImagePart['source']): FoundBytes | undefined => {
  const source = useContext(SourceContext)
  const [bytes, setBytes] = useState<FoundBytes | undefined>(undefined)
  useEffect(() => {
    let gone = false
    if (input.type === 'base64') setBytes(bytesOfBase64(input.data))
    else if (input.type === 'block') void blockOf(source, input.id).then((found) => gone || setBytes(found))
    else if (input.url.startsWith('data:')) setBytes(bytesOfBase64(input.url.slice(input.url.indexOf(',') + 1)))
    return () => {
      gone = true
    }
  }, [input])
  return bytes
}

const blockOf = async (source: Source | undefined, id: BlockId): Promise<FoundBytes> => {
  const [found] = (await source?.blocks([id]).catch(() => [])) ?? []
  return found ?? 'missing'
}

const bytesOfBase64 = (base64: string): Uint8Array | 'missing' => {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  } catch {
    return 'missing'
  }
}

const useUrl = (bytes: Uint8Array | undefined, type: string): string | undefined => {
  const [url, setUrl] = useState<string | undefined>(undefined)
  useEffect(() => {
    if (bytes === undefined) return undefined
    const made = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [bytes, type])
  return url
}
