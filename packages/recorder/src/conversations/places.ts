/**
 * The index of recorded conversations: which session continues a chain of messages, and at which length. It
 * is stored in logs of the store, so that later processes find it: in one log as long as it is small, then in 256.
 *
 * A log's metadata has its latest places, and each of its rows has the places of an earlier state of the metadata. A
 * row of its own would cost a place five times its bytes.
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, parseJson, right, type Json } from 'indelible/internal/json'
import { digestOf, emptyRange } from 'indelible/internal/proof'
import type { Head, Store, StoreFault } from 'indelible/store'
import { headOf, ownStore } from 'indelible/internal/store'
import { linkDigest } from '../messages/identity.ts'

/** A session, and the number of its messages that a key covers. */
interface Place {
  readonly session: string
  readonly len: number
}

/** The key of a look-up: a chain of messages, an answer, a response's id, or a client's name for its conversation. */
export type PlaceKey = `m:${string}` | `a:${string}` | `r:${string}` | `c:${string}`

/** The index key of a conversation that its provider stores, among those of responses. */
export const providerKeyOf = (conversation: string): string => `conversation:${conversation}`

/** The index key of an answer and the message before it. */
export const exchangeKey = (before: string, answer: string): PlaceKey => `a:${linkDigest(before, answer)}`

/** The lengths at which conversations are indexed: a few short ones, then every sixteenth. */
export const marksUpTo = (len: number): readonly number[] => {
  const marks = [1, 2, 4, 8].filter((mark) => mark <= len)
  for (let mark = 16; mark <= len; mark += 16) marks.push(mark)
  return marks
}

interface Bucket {
  head: Head
  /** The version of the metadata; 0: the log does not exist. */
  version: number
  recent: readonly Entry[]
  readonly places: Map<string, Place[]>
  count: number
}

type Entry = Place & { readonly digest: string }

/**
 * The index of a store. Entries may be outdated, so callers verify them against the session. Digests are keyed
 * with a secret of the scope, encrypted if the store has keys: without it nobody can confirm a guessed text.
 * A recorder adds places one after the other; other processes may add at the same time.
 */
export class Places {
  readonly #base: Store
  #own: Store | undefined
  /** The buckets read last, up to a number of places. Others are read again. */
  readonly #buckets = new Map<string, Bucket>()
  #secret: string | undefined

  constructor(store: Store) {
    this.#base = store
  }

  get #store(): Store {
    return (this.#own ??= ownStore(this.#base))
  }

  /** The places of a key, latest first. Cost: one read of a log's description, and of the places added since. */
  async find(key: PlaceKey): Promise<Either<StoreFault, readonly Place[]>> {
    const secret = await this.#secretOf()
    if (isLeft(secret)) return secret
    const digest = digestIn(secret.right, key)
    const first = await this.#read(firstLog)
    if (isLeft(first)) return first
    const early = first.right.places.get(digest) ?? []
    if (!isFull(firstLog, first.right)) return right(early.toReversed())
    return pipe(
      await this.#read(logOf(digest)),
      E.map(({ places }) => [...early, ...(places.get(digest) ?? [])].toReversed()),
    )
  }

  /** Add places. Cost: one update for each log, in parallel. */
  async add(keys: readonly (readonly [PlaceKey, Place])[]): Promise<Either<StoreFault, void>> {
    if (keys.length === 0) return right(undefined)
    const secret = await this.#secretOf()
    if (isLeft(secret)) return secret
    const entries = keys.map(([key, place]) => ({ ...place, digest: digestIn(secret.right, key) }))
    const first = this.#buckets.get(firstLog)
    return first !== undefined && isFull(firstLog, first) ? this.#spread(entries) : this.#write(firstLog, entries)
  }

  async #spread(entries: readonly Entry[]): Promise<Either<StoreFault, void>> {
    const byLog = Map.groupBy(entries, ({ digest }) => logOf(digest))
    const added = await Promise.all([...byLog].map(([name, some]) => this.#write(name, some)))
    return added.find(isLeft) ?? right(undefined)
  }

  /** The scope's secret, created by the first recorder. */
  async #secretOf(): Promise<Either<StoreFault, string>> {
    if (this.#secret !== undefined) return right(this.#secret)
    const found = await this.#store.read(secretLog)()
    if (isLeft(found) && found.left._tag !== 'NoSuchLog') return found
    if (!isLeft(found)) return right((this.#secret = found.right[0]?.body ?? ''))
    const secret = crypto.randomUUID() + crypto.randomUUID()
    const rows = [{ kind: 'note' as const, body: JSON.stringify(secret) }]
    const made = await this.#store.create({ id: secretLog, rows, encrypt: true })()
    return isLeft(made) && made.left._tag !== 'LogExists' ? made : this.#secretOf()
  }

  async #write(name: string, entries: readonly Entry[]): Promise<Either<StoreFault, void>> {
    for (let attempt = 1; ; attempt++) {
      const read = await this.#read(name)
      if (isLeft(read)) return read
      const bucket = read.right
      if (isFull(name, bucket)) return this.#spread(entries)
      const recent = [...bucket.recent, ...entries]
      const isLong = bucket.version > 0 && recent.length >= mostRecent
      // A kill between the row and the metadata leaves places in both, which does no harm.
      const appended = isLong
        ? await this.#store.append(name, {
            expected: bucket.head,
            rows: [{ kind: 'note', body: JSON.stringify(listOf(recent)) }],
          })()
        : right(undefined)
      const meta = { [mark]: 1, places: listOf(isLong ? [] : recent) }
      const written = isLeft(appended)
        ? appended
        : bucket.version === 0
          ? await this.#store.create({ id: name, meta, encrypt: false })()
          : await this.#store.update(name, { expected: bucket.version, meta })()
      if (!isLeft(written)) {
        // Whatever other processes have written in between is read with the next look-up.
        bucket.version = written.right.version
        bucket.recent = isLong ? [] : recent
        for (const entry of entries) put(bucket, entry)
        this.#keep(name, bucket)
        return right(undefined)
      }
      const { _tag } = written.left
      if (_tag === 'MetaConflict' && isLong) return right(undefined) // the row has them
      if (attempt >= mostAttempts) return written
      if (_tag === 'NoSuchLog' || _tag === 'Diverged') this.#buckets.delete(name)
      else if (_tag !== 'Conflict' && _tag !== 'MetaConflict' && _tag !== 'LogExists') return written
    }
  }

  /** A bucket with all stored places. Cost: the places added since the last read. */
  async #read(name: string): Promise<Either<StoreFault, Bucket>> {
    const closed = this.#buckets.get(name)
    if (closed !== undefined && isClosed(name, closed)) {
      this.#keep(name, closed)
      return right(closed)
    }
    const empty: Bucket = {
      head: headOf(emptyRange, this.#store.hash),
      version: 0,
      recent: [],
      places: new Map(),
      count: 0,
    }
    const info = await this.#store.info(name)()
    if (isLeft(info)) return info.left._tag === 'NoSuchLog' ? right(empty) : info
    const { head, meta, version } = info.right
    const known = this.#buckets.get(name) ?? empty
    const bucket = version < known.version || head.size < known.head.size ? empty : known // another log now has the name
    if (head.size > bucket.head.size) {
      const rows = await this.#store.read(name, { from: bucket.head.size, to: head.size })()
      if (isLeft(rows)) return rows
      for (const { body } of rows.right) for (const entry of entriesIn(parseJson(body))) put(bucket, entry)
      if (head.size > bucket.head.size) bucket.head = head // a concurrent call may have read more
    }
    if (version > bucket.version) {
      bucket.recent = entriesIn(right(meta['places']))
      for (const entry of bucket.recent) put(bucket, entry)
      bucket.version = version
    }
    this.#keep(name, bucket)
    return right(bucket)
  }

  #keep(name: string, bucket: Bucket): void {
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    let count = 0
    for (const bucket of this.#buckets.values()) count += bucket.count
    for (const [oldest, bucket] of this.#buckets) {
      if (count <= mostPlaces || oldest === name) break
      this.#buckets.delete(oldest)
      count -= bucket.count
    }
  }
}

const mark = 'indelible.recorder'
const secretLog = `${mark}.secret`
const firstLog = `${mark}.places`

/** Other processes may append in between; the limit keeps a store that always refuses from blocking forever. */
const mostAttempts = 100

/** The most places in memory, of up to 500 bytes each. */
const mostPlaces = 20_000

/** The number of places that a log's metadata has before they become a row. */
const mostRecent = 32

/** The number of rows of the first log. */
const mostRows = 128

/** Whether places go to the 256 logs. */
const isFull = (name: string, { head }: Bucket): boolean => name === firstLog && head.size >= mostRows

/** Whether nothing can be added to a log: a process that knew it before its last row knows older metadata. */
const isClosed = (name: string, bucket: Bucket): boolean => isFull(name, bucket) && bucket.recent.length === 0

const put = (bucket: Bucket, { digest, session, len }: Entry): void => {
  const known = bucket.places.get(digest)
  if (known?.some((place) => session === place.session && len === place.len) === true) return
  bucket.count++
  if (known === undefined) bucket.places.set(digest, [{ session, len }])
  else known.push({ session, len })
}

/** Places as stored: a session, a digest and a length each. A session that an earlier place has is that one's index. */
const listOf = (entries: readonly Entry[]): Json[] => {
  const known = new Map<string, number>()
  return entries.flatMap(({ session, digest, len }, index) => {
    const at = known.get(session)
    if (at === undefined) known.set(session, index)
    return [at ?? session, digest, len]
  })
}

/** Places that a newer version wrote are skipped. */
const entriesIn = (list: Either<unknown, unknown>): readonly Entry[] => {
  const entries: Entry[] = []
  const values: readonly unknown[] = !isLeft(list) && Array.isArray(list.right) ? list.right : []
  for (let index = 0; index < values.length; index += 3) {
    const [named, digest, len] = values.slice(index, index + 3)
    const session = typeof named === 'number' ? values[3 * named] : named
    if (typeof digest !== 'string' || typeof session !== 'string' || typeof len !== 'number') return entries
    entries.push({ session, digest, len })
  }
  return entries
}

/** The digest of a key: 64 bits, of which the first eight name its log. */
const digestIn = (secret: string, key: PlaceKey): string => digestOf(`${secret} ${key}`).slice(0, 16)

const logOf = (digest: string): string => `${mark}.${digest.slice(0, 2)}`
