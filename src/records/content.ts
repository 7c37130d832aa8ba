/**
 * The content store: whole values of calls, kept outside of their records for a while, within bounds. A record holds
 * the reference; whoever needs the value asks for it here, and may come too late.
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Json } from '../json/index.ts'
import { encodeValue, type EncodeOptions } from './encode.ts'
import { randomId } from './random-id.ts'

export interface ContentStoreOptions {
  /** How many values. Default: 128. */
  readonly entries?: number
  /** Bytes of all of them together, as JSON text in UTF-8. Default: 2 MiB. */
  readonly bytes?: number
  /** Milliseconds that a value is kept after it was put. Default: for as long as there is room. */
  readonly ttlMs?: number
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  /** A name for this store that no other has. Default: a random one. */
  readonly id?: string
}

export interface ContentStore {
  /** Keep a value as JSON data; what was not asked for the longest makes room. Cost: that of `encodeValue`. */
  readonly put: (value: unknown, options?: Pick<EncodeOptions, 'redact' | 'path'>) => Either<ContentFault, string>
  /** A copy of the value, or a fault that says why there is none. */
  readonly get: (ref: string) => Either<ContentFault, Json>
  readonly entries: number
  readonly bytes: number
}

export type ContentFault =
  /** `removed`: it had expired, or made room for others. `unknown`: it was never here. */
  | { readonly _tag: 'ContentMiss'; readonly ref: string; readonly reason: 'removed' | 'unknown' }
  | { readonly _tag: 'ContentTooLarge'; readonly limit: number }

/** A content fault as a sentence for people. */
export const contentFaultText = (fault: ContentFault): string =>
  fault._tag === 'ContentTooLarge'
    ? `the value takes more than the ${fault.limit} bytes that the content store may hold; it was not kept`
    : fault.reason === 'removed'
      ? `the content ${fault.ref} is no longer here: it expired, or made room for others; make the call again if you need it`
      : `the content ${fault.ref} was never in this store; it may be of another process`

/** A content store in memory. */
export const createContentStore = (options: ContentStoreOptions = {}): ContentStore => {
  const { entries: mostEntries = 128, bytes: mostBytes = 2 * 1024 * 1024, ttlMs = Infinity, now = Date.now, id = randomId() } = options
  const prefix = `content:${id}:`
  // In the order in which they were last asked for: a Map keeps the order of insertion.
  const kept = new Map<string, { readonly text: string; readonly bytes: number; readonly until: number }>()
  let bytes = 0
  let made = 0

  const remove = (ref: string): void => {
    bytes -= kept.get(ref)?.bytes ?? 0
    kept.delete(ref)
  }
  const removeExpired = (): void => {
    const time = now()
    for (const [ref, { until }] of kept) if (until <= time) remove(ref)
  }

  return Object.freeze({
    put: (value: unknown, { redact, path }: Pick<EncodeOptions, 'redact' | 'path'> = {}): Either<ContentFault, string> => {
      const limits = { depth: 500, string: Infinity, size: mostBytes }
      const encoded = encodeValue(value, { limits, redact, path })
      const text = JSON.stringify(encoded.value)
      const size = utf8Length(text)
      if (encoded.cut || size > mostBytes || mostEntries < 1) return left({ _tag: 'ContentTooLarge', limit: mostBytes })
      removeExpired()
      for (const ref of kept.keys()) {
        if (kept.size < mostEntries && bytes + size <= mostBytes) break
        remove(ref)
      }
      const ref = `${prefix}${made}`
      made += 1
      kept.set(ref, { text, bytes: size, until: now() + ttlMs })
      bytes += size
      return right(ref)
    },
    get: (ref: string): Either<ContentFault, Json> => {
      removeExpired()
      const found = kept.get(ref)
      if (found === undefined) {
        const number = ref.startsWith(prefix) ? ref.slice(prefix.length) : ''
        const reason = /^\d+$/.test(number) && Number(number) < made ? 'removed' : 'unknown'
        return left({ _tag: 'ContentMiss', ref, reason })
      }
      kept.delete(ref)
      kept.set(ref, found)
      return right(JSON.parse(found.text) as Json)
    },
    get entries() {
      return kept.size
    },
    get bytes() {
      return bytes
    },
  })
}

/** The bytes of a well-formed text in UTF-8. */
const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // Each half of a surrogate pair stands for two of the four bytes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}
