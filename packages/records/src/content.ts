/**
 * The content store: whole values of calls, kept outside of their records for a limited time and
 * within a size limit. A record holds the reference; the value may be gone when it is read.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, utf8Of, type Json, optionsOf } from 'indelible/internal/json'
import type { ContentFaultOf } from './fault.ts'
import { encodeValue, type EncodeOptions } from './encode.ts'
import { randomId } from './random-id.ts'

/** The limits of a content store. */
interface ContentStoreOptions {
  /** The most values it keeps. Default: 128. */
  readonly entries?: number
  /** The most bytes it keeps, as JSON text in UTF-8. Default: 2 MiB. */
  readonly bytes?: number
  /** The time to live of a value, in milliseconds. Default: until the store needs room. */
  readonly ttlMs?: number
  /**
   * The clock. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
  /** A unique name for this store. Default: a random one. */
  readonly id?: string
}

/** Stores whole values of calls by reference. */
export interface ContentStore {
  /**
   * Store a value as JSON data. To make room, the least recently used values are removed. Cost:
   * that of `encodeValue`.
   *
   * @param options a redactor, and the path of the value
   * @returns the reference; or `ContentTooLarge`
   */
  readonly put: (
    value: unknown,
    options?: Pick<EncodeOptions, 'redact' | 'path'>,
  ) => Either<ContentFaultOf<'ContentTooLarge'>, string>
  /**
   * Read a value.
   *
   * @returns a copy of the value; or `ContentMiss` with the reason
   */
  readonly get: (ref: string) => Either<ContentFaultOf<'ContentMiss'>, Json>
  /** The number of stored values. */
  readonly entries: number
  /** The size of the stored values in bytes, as JSON text in UTF-8. */
  readonly bytes: number
}

/**
 * Create a content store in memory.
 *
 * @example
 * const content = createContentStore({ entries: 100 })
 * const log = createCallLog({ content })
 */
export const createContentStore = (options: ContentStoreOptions = {}): ContentStore => {
  const {
    entries: mostEntries = 128,
    bytes: mostBytes = 2 * 1024 * 1024,
    ttlMs = Infinity,
    now = Date.now,
    id = randomId(),
  } = optionsOf('createContentStore', options, { entries: true, bytes: true, ttlMs: true, now: true, id: true })
  const prefix = `content:${id}:`
  // In order of last use: a Map keeps insertion order.
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
    put: (
      value: unknown,
      { redact, path }: Pick<EncodeOptions, 'redact' | 'path'> = {},
    ): Either<ContentFaultOf<'ContentTooLarge'>, string> => {
      const limits = { depth: 500, string: Infinity, size: mostBytes }
      const encoded = encodeValue(value, { limits, redact, path })
      const text = JSON.stringify(encoded.value)
      const size = utf8Of(text).length
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
    get: (ref: string): Either<ContentFaultOf<'ContentMiss'>, Json> => {
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
