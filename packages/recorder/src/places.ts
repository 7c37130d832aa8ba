/**
 * The index of recorded conversations: which session continues a chain of messages, and at which length. It
 * is stored in logs of the store, so that later processes find it; each look-up reads one of 256 short logs.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { mapRight, isLeft, parseJson, right } from 'indelible/json/kit'
import { digestOf, emptyRange } from 'indelible/proof/kit'
import type { Head, Store, StoreFault } from 'indelible/store'
import { headOf, ownStore } from 'indelible/store/kit'

/** A session, and the number of its messages that a key covers. */
export interface Place {
  readonly session: string
  readonly len: number
}

/** The key of a look-up: a chain of messages, an answer, a response's id, or a client's name for its conversation. */
export type PlaceKey = `m:${string}` | `a:${string}` | `r:${string}` | `c:${string}`

interface Bucket {
  head: Head
  readonly places: Map<string, Place[]>
  /** The number of its places. */
  count: number
}

/**
 * The index of a store. Entries may be outdated, so callers verify them against the session. Digests are keyed
 * with a secret of the scope, encrypted if the store has keys: without it nobody can confirm a guessed text.
 */
export class Places {
  readonly #given: Store
  #own: Store | undefined
  /** The buckets read last, up to a number of places. Others are read again. */
  readonly #buckets = new Map<string, Bucket>()
  #secret: string | undefined

  constructor(store: Store) {
    this.#given = store
  }

  get #store(): Store {
    return (this.#own ??= ownStore(this.#given))
  }

  /** The places of a key, latest first. */
  async find(key: PlaceKey): Promise<Either<StoreFault, readonly Place[]>> {
    const secret = await this.#secretOf()
    if (isLeft(secret)) return secret
    const { name, digest } = bucketOf(secret.right, key)
    return mapRight(await this.#read(name), ({ places }) => (places.get(digest) ?? []).toReversed())
  }

  /** Add places. Cost: one append for each log, in parallel. */
  async add(keys: readonly (readonly [PlaceKey, Place])[]): Promise<Either<StoreFault, void>> {
    const secret = keys.length === 0 ? right('') : await this.#secretOf()
    if (isLeft(secret)) return secret
    const found = keys.map(([key, place]) => ({ ...bucketOf(secret.right, key), place }))
    const byBucket = Map.groupBy(found, ({ name }) => name)
    const added = await Promise.all([...byBucket].map(([name, entries]) => this.#append(name, entries)))
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

  async #append(
    name: string,
    entries: readonly { readonly digest: string; readonly place: Place }[],
  ): Promise<Either<StoreFault, void>> {
    const rows = entries.map(({ digest, place: { session, len } }) => ({
      kind: 'note' as const,
      body: JSON.stringify([digest, session, len]),
    }))
    for (let attempt = 1; ; attempt++) {
      const bucket = this.#buckets.get(name)
      if (bucket === undefined) {
        const created = await this.#store.create({ id: name, meta: { [mark]: 1 }, rows, encrypt: false })()
        if (isLeft(created) && created.left._tag !== 'LogExists') return created
        const read = await this.#read(name)
        if (isLeft(read)) return read
        if (!isLeft(created)) return right(undefined)
        continue
      }
      const appended = await this.#store.append(name, { expected: bucket.head, rows })()
      if (isLeft(appended)) {
        if (attempt >= mostAttempts) return appended
        if (appended.left._tag === 'NoSuchLog' || appended.left._tag === 'Diverged') this.#buckets.delete(name)
        else if (appended.left._tag !== 'Conflict') return appended
        const read = await this.#read(name)
        if (isLeft(read)) return read
        continue
      }
      if (appended.right.from === bucket.head.size) {
        bucket.head = appended.right.head
        for (const { digest, place } of entries) put(bucket, digest, place)
        this.#keep(name, bucket)
      }
      return right(undefined)
    }
  }

  /** A bucket with all stored entries. Cost: the entries added since the last read. */
  async #read(name: string): Promise<Either<StoreFault, Bucket>> {
    const bucket = this.#buckets.get(name) ?? {
      head: headOf(emptyRange, this.#store.hash),
      places: new Map(),
      count: 0,
    }
    const info = await this.#store.info(name)()
    if (isLeft(info)) return info.left._tag === 'NoSuchLog' ? right({ ...bucket, places: new Map(), count: 0 }) : info
    const { head } = info.right
    if (head.size > bucket.head.size) {
      const rows = await this.#store.read(name, { from: bucket.head.size, to: head.size })()
      if (isLeft(rows)) return rows
      if (bucket.head.size + rows.right.length !== head.size) return right(bucket) // a concurrent call has read them
      for (const { body } of rows.right) {
        const said = parseJson(body)
        if (isLeft(said) || !Array.isArray(said.right)) continue // written by a newer version
        const [digest, session, len] = said.right as readonly unknown[]
        if (typeof digest === 'string' && typeof session === 'string' && typeof len === 'number')
          put(bucket, digest, { session, len })
      }
      bucket.head = head
    }
    this.#keep(name, bucket)
    return right(bucket)
  }

  #keep(name: string, bucket: Bucket): void {
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    let count = 0
    for (const one of this.#buckets.values()) count += one.count
    for (const [oldest, one] of this.#buckets) {
      if (count <= mostPlaces || oldest === name) break
      this.#buckets.delete(oldest)
      count -= one.count
    }
  }
}

const mark = 'indelible.recorder'
const secretLog = `${mark}.secret`

/** Other processes may append in between; the limit keeps a store that always refuses from blocking forever. */
const mostAttempts = 100

/** The most places in memory, of up to 500 bytes each. */
const mostPlaces = 20_000

const put = (bucket: Bucket, digest: string, place: Place): void => {
  const known = bucket.places.get(digest)
  if (known?.some(({ session, len }) => session === place.session && len === place.len) === true) return
  bucket.count++
  if (known === undefined) bucket.places.set(digest, [place])
  else known.push(place)
}

const bucketOf = (secret: string, key: PlaceKey): { readonly name: string; readonly digest: string } => {
  const digest = digestOf(`${secret} ${key}`)
  return { name: `${mark}.${digest.slice(0, 2)}`, digest: digest.slice(0, 32) }
}
