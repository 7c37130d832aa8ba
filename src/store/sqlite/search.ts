/**
 * The search index of a file: a full-text table (FTS5) with the terms of each row, and the indexed length
 * of each segment. Both are created on first use, and are derived from the rest of the file. A document has
 * the id of its row. It has each term once, without order (`detail=none`), and the table has no copy of the terms
 * beside the index (`content=''`), so that it stays small.
 *
 * A deleted document is only marked as deleted: a search does not find it, but its terms leave the file when the
 * parts of the index are merged. So an erasure merges all of them (`optimize`).
 *
 * Source  https://www.sqlite.org/fts5.html, 4.4.2 (contentless-delete), 4.5 (detail), 6.8 (optimize)
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { BlockId } from '../../proof/internal.ts'
import { Damaged, orDamage } from '../port/damage-error.ts'
import type { Answer, CheckedAppend, IndexDriver } from '../port/driver.ts'
import { encryptionMark, isEncrypted, isEncryptedMeta } from '../port/encrypted.ts'
import type { StoreFault, StoreFaultOf } from '../fault.ts'
import { rowCursor, rowCursorIn, type RowCursor } from '../port/row-cursor.ts'
import type { GrownRow } from '../rules/rules.ts'
import type {
  FoundRow,
  PlaceQuery,
  PlacesFound,
  RowQuery,
  RowsFound,
  RowsIndexed,
  TermsOf,
  WantedTerm,
} from '../port/row-terms.ts'
import type { StoredRow } from '../port/row.ts'
import type { Blocks } from './blocks.ts'
import { codeOf, corrupt } from './fault.ts'
import { logIn } from './log.ts'
import { damageIn, type Logs } from './logs.ts'
import { prepareAllOnce, prepareInBigints } from './prepared.ts'
import { lastPosition, type Rows, type Stretch } from './rows.ts'
import type { Scopes } from './scopes.ts'
import type { Writer } from './writer.ts'

const tables = `
  create virtual table search using fts5 (terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
  create table search_until (segment integer primary key, until integer not null) strict; -- the first position not indexed
`

const dropTables = 'drop table if exists search; drop table if exists search_until;'

/** Whether a table is one of these, or one that FTS5 creates for them. */
export const isOfSearch = (table: string): boolean =>
  /^search(?:_(?:data|idx|content|docsize|config|until))?$/.test(table)

/** A transaction indexes rows until it reaches this number of rows, or of characters. */
const pieceRows = 500
const pieceText = 1_000_000
/** The number of rows in one read. */
const readRows = 50

/** The maximum number of rows that `findIn` finds. */
const mostInLogs = 10_000

/** The maximum number of terms in an FTS5 query. The caller checks the others in the rows found. */
const mostTerms = 64

interface Parts {
  readonly scopes: Scopes
  readonly logs: Logs
  readonly rows: Rows
  readonly blocks: Blocks
  readonly writer: Writer
}

/** The unindexed rows of a segment. */
interface Lag extends Stretch {
  readonly scope: number
}

export class Search implements IndexDriver {
  readonly #db: DatabaseSync
  readonly #parts: Parts
  readonly #statements: ReturnType<typeof statements>
  readonly #hasFullText: boolean
  /** Whether an index exists, with the schema version at which this was read. */
  #known: { in: number; readonly version: unknown; readonly tables: 'none' | 'older' | 'current' } | undefined
  /** What `#unlessChanged` has read, by name. */
  readonly #read = new Map<string, { readonly state: string; readonly value: unknown }>()
  /** The data version at which all rows were indexed. */
  #upToDate: unknown

  constructor(db: DatabaseSync, parts: Parts) {
    this.#db = db
    this.#parts = parts
    this.#statements = statements(db)
    this.#hasFullText = hasFullText(db)
  }

  /** Index appended rows. Runs inside the write that appends them. */
  append(scope: number, segment: number, grown: readonly GrownRow[], { terms, blocks }: CheckedAppend): void {
    const [first] = grown
    if (first === undefined || !this.#isThere()) return
    if (terms === undefined || !this.#hasFullText) return void (this.#upToDate = undefined)
    if (this.#untilOf(segment) !== first.position) return // rows before them are not indexed either
    const bytesById = new Map<BlockId, Uint8Array>(blocks.map(({ id, bytes }) => [id, bytes]))
    const blockOf = (id: BlockId): Uint8Array | undefined => bytesById.get(id) ?? this.#block(scope, id)
    try {
      for (const { row, position } of grown) this.#add(scope, segment, position, terms(row, blockOf))
      this.#setUntil(segment, first.position + grown.length)
    } catch (error) {
      if (codeOf(error) !== corrupt) throw error
      this.#upToDate = undefined // a damaged index must not prevent an append
    }
  }

  /** Remove rows of a segment from the index, from one position up to and including another. Runs inside a write. */
  forget(segment: number, from: number, to: number): void {
    if (!this.#has() || !this.#hasFullText) return
    this.#statements.forget().run(idOf(segment, from), idOf(segment, to))
    this.#db.exec(resetLastId)
  }

  /** Remove an erased row from the index. Runs inside the write that erases it. Throws if this SQLite can't write the index. */
  erase(segment: number, position: number): void {
    if (this.#has() && !this.#hasFullText)
      throw new Error(`the row is in a search index, and ${noFullText.reason}; nothing was erased`)
    this.forget(segment, position, position)
  }

  /** Merge the index, so that the terms of forgotten rows leave it. Cost: O(index). */
  purge(): void {
    if (this.#isThere() && this.#hasFullText) this.#db.exec("insert into search (search) values ('optimize')")
  }

  /** Forget a removed segment. Runs inside a write. Without FTS5, this is left to another process. */
  forgetSegment(segment: number): void {
    if (this.#has() && this.#hasFullText) this.#statements.dropUntil().run(segment)
  }

  async make(): Answer<void> {
    if (!this.#hasFullText) return left(noFullText)
    const made = await this.#parts.writer.write(() => {
      if (!this.#isThere()) this.#db.exec(`${dropTables} ${tables}`)
      this.#known = undefined
      return right(undefined)
    })
    this.#upToDate = undefined
    return made
  }

  async drop(): Answer<void> {
    if (this.#statements.there().get() === undefined) return right(undefined)
    if (!this.#hasFullText) return left(noFullText)
    return this.#parts.writer.write(() => {
      this.#db.exec(dropTables)
      this.#known = undefined
      return right(undefined)
    })
  }

  async find(scope: string, query: RowQuery & { readonly limit: number }): Answer<RowsFound | undefined> {
    return this.#search(scope, query.log, (key, ranges) => {
      const before = rowCursorIn(query.after)
      return isLeft(before) ? before : right(this.#found(key, query, before.right, ranges))
    })
  }

  async findIn(
    scope: string,
    logs: readonly string[],
    term: string,
  ): Answer<ReadonlyMap<string, readonly StoredRow[]>> {
    const found = new Map<string, readonly StoredRow[]>()
    if (!this.#isThere() || !this.#hasFullText) return right(found)
    const key = this.#parts.scopes.keyOf(scope)
    const query = { all: [{ term }], limit: mostInLogs, count: false }
    try {
      // Few rows have such a term: one look at all of them leaves out most logs.
      const places = key === -1 ? [] : this.#placesOf(key, query.all, { most: mostInLogs }, [wholeRange])
      const segments = new Set(places.filter((_, index) => index % 2 === 0))
      const isAll = places.length < 2 * mostInLogs
      for (const log of isAll && places.length === 0 ? [] : logs) {
        const ranges = this.#stretchesOf(scope, log)
        if (isLeft(ranges) && ranges.left._tag === 'NoSuchLog') continue
        if (isLeft(ranges)) return ranges
        if (isAll && !ranges.right.some(({ segment }) => segments.has(segment))) continue
        found.set(
          log,
          this.#found(key, { ...query, log }, undefined, ranges.right).rows.map(({ row }) => row),
        )
      }
    } catch (error) {
      return left(damagedIndex(error))
    }
    return right(found)
  }

  async places(scope: string, query: PlaceQuery): Answer<PlacesFound | undefined> {
    return this.#search(scope, query.log, (key, all) => {
      const ranges = query.log === undefined ? (query.segments?.map(wholeSegment) ?? all) : all
      const places = query.words.map((terms) => (key === -1 ? [] : this.#placesOf(key, terms, query, ranges)))
      return right({ places, messages: this.#messages(key), behind: this.#behind() })
    })
  }

  /** Searches the index, of one log or all. Undefined if there is none. */
  #search<T>(
    scope: string,
    log: string | undefined,
    work: (scope: number, ranges: readonly Stretch[]) => Either<StoreFault, T>,
  ): Either<StoreFault, T | undefined> {
    if (!this.#isThere() || !this.#hasFullText) return right(undefined)
    const ranges = log === undefined ? right([wholeRange]) : this.#stretchesOf(scope, log)
    if (isLeft(ranges)) return ranges
    try {
      return work(this.#parts.scopes.keyOf(scope), ranges.right)
    } catch (error) {
      return left(damagedIndex(error))
    }
  }

  async logsAt(_scope: string, places: readonly number[]): Answer<readonly (readonly string[])[]> {
    const found: (readonly string[])[] = []
    for (let at = 0; at < places.length; at += 2)
      found.push(this.#logsWith({ segment: places[at] as number, position: places[at + 1] as number }))
    return right(found)
  }

  async segmentsOf(scope: string, logs: readonly string[]): Answer<readonly number[]> {
    const [key, ids] = [this.#parts.scopes.keyOf(scope), JSON.stringify(logs)]
    return right(
      this.#unlessChanged('segments', `${key} ${ids}`, () => {
        const { segments } = this.#statements.segmentsOf().get(key, ids) as { readonly segments: string }
        return JSON.parse(segments) as readonly number[]
      }),
    )
  }

  async encrypted(scope: string): Answer<readonly string[]> {
    const key = this.#parts.scopes.keyOf(scope)
    return right(
      this.#unlessChanged('encrypted', `${key}`, () => {
        const found = this.#statements.encrypted().all(key, encryptionMark) as unknown as readonly { readonly id: string; readonly meta: string }[] // oxfmt-ignore
        return found.filter(({ meta }) => isEncryptedMeta(meta)).map(({ id }) => id)
      }),
    )
  }

  async add(terms: TermsOf, most: number): Answer<RowsIndexed> {
    if (!this.#hasFullText) return left(noFullText)
    if (!this.#isThere()) return right({ rows: 0, behind: 0 })
    const gone = this.#statements.gone().all() as unknown as readonly { readonly segment: number }[]
    if (gone.length > 0) {
      const forgotten = await this.#parts.writer.write(() => right(this.#forgetGone(gone)))
      if (isLeft(forgotten)) return forgotten
    }
    const lags = this.#statements.lags().all() as unknown as readonly Lag[]
    let [rows, encrypted, next] = [0, 0, 0]
    while (next < lags.length && rows < most) {
      const [at, rest] = [next, most - rows]
      const done = await this.#parts.writer.write(() => this.#piece(lags, at, terms, rest))
      if (isLeft(done)) return done
      rows += done.right.rows
      encrypted += done.right.encrypted
      next = done.right.next
      await new Promise(setImmediate) // let other work run
    }
    return right({ rows, ...(encrypted > 0 && { encrypted }), behind: next < lags.length ? this.#count() : 0 })
  }

  /** Index a batch of unindexed rows, starting at a segment, in one transaction. */
  #piece(
    lags: readonly Lag[],
    first: number,
    terms: TermsOf,
    most: number,
  ): Either<StoreFault, { readonly rows: number; readonly encrypted: number; readonly next: number }> {
    if (!this.#isThere()) return right({ rows: 0, encrypted: 0, next: lags.length }) // dropped meanwhile
    let [rows, encrypted, text, next] = [0, 0, 0, first]
    while (next < lags.length && rows < Math.min(most, pieceRows) && text < pieceText) {
      const { segment, scope, to } = lags[next] as Lag
      const from = this.#untilOf(segment) ?? to // it may have been removed, or indexed by another process
      const end = Math.min(to, from + Math.min(readRows, most - rows))
      for (const row of from < end ? this.#readable(segment, from, end) : []) {
        text += row.body.length
        if (isEncrypted(row.body)) encrypted += 1
        const blockOf = (id: BlockId): Uint8Array | undefined => {
          const bytes = this.#block(scope, id)
          text += bytes?.length ?? 0
          return bytes
        }
        this.#add(scope, segment, row.position, terms(row, blockOf))
      }
      if (from < end) this.#setUntil(segment, end)
      rows += Math.max(0, end - from)
      if (end >= to) next += 1
    }
    return right({ rows, encrypted, next })
  }

  #found(
    scope: number,
    { all, none = [], log, since, until, limit, count = true }: RowQuery & { readonly limit: number },
    before: RowCursor | undefined,
    ranges: readonly Stretch[],
  ): RowsFound {
    const behind = count ? this.#behind() : 0
    if (scope === -1) return { rows: [], behind } // the scope does not exist
    const match = matchText(this.#hasOneScope() ? all : [...all, { term: scopeTerm(scope) }], none)
    const time = timeOf(since, until)
    const statement = time === undefined ? this.#statements.find() : this.#statements.findInTime()
    const places: RowCursor[] = []
    for (const { segment, from, to } of ranges) {
      const last = idOf(segment, to) - 1n
      const limited = before === undefined ? last : minOf(last, idOf(before.segment, before.position) - 1n)
      const parameters = { match, low: idOf(segment, from), high: limited, most: limit + 1 - places.length }
      places.push(...(statement.all({ ...parameters, ...time }) as unknown as readonly RowCursor[]))
      if (places.length > limit) break
    }
    const shown = places.slice(0, limit)
    const end = places.length > limit ? shown.at(-1) : undefined
    const rows = shown.flatMap((place): readonly FoundRow[] => {
      const [row] = this.#readable(place.segment, place.position, place.position + 1) // it may have been removed
      return row === undefined
        ? []
        : [{ logs: log === undefined ? this.#logsWith(place) : [log], row, cursor: rowCursor(place) }]
    })
    return { rows, behind, ...(end !== undefined && { next: rowCursor(end) }) }
  }

  /** The places of a word, as two lists in JSON: ten times as fast as a row for each. */
  #placesOf(
    scope: number,
    terms: readonly WantedTerm[],
    { all = [], since, until, most }: Pick<PlaceQuery, 'all' | 'since' | 'until' | 'most'>,
    ranges: readonly Stretch[],
  ): readonly number[] {
    const wanted = this.#hasOneScope() ? all : [...all, { term: scopeTerm(scope) }]
    const match = [`(${terms.map(termText).join(' OR ')})`, ...wanted.map(termText)].join(' AND ')
    const time = timeOf(since, until)
    const statement = time === undefined ? this.#statements.places() : this.#statements.placesInTime()
    const found: number[] = []
    for (const { segment, from, to } of ranges) {
      const limit = Math.min(Number.MAX_SAFE_INTEGER, most - found.length / 2)
      if (limit <= 0) break
      const range = { match, low: idOf(segment, from), high: idOf(segment, to) - 1n, most: limit }
      const { segments, positions } = statement.get({ ...range, ...time }) as {
        readonly segments: string
        readonly positions: string
      }
      const owners = JSON.parse(segments) as readonly number[]
      const at = JSON.parse(positions) as readonly number[]
      for (let index = 0; index < owners.length; index++) found.push(owners[index] as number, at[index] as number)
    }
    return found
  }

  /** The number of messages of a scope. */
  #messages(scope: number): number {
    return this.#unlessChanged(
      'messages',
      `${scope}`,
      () => (this.#statements.messages().get(scope) as { readonly messages: number }).messages,
    )
  }

  /** A value that is read again only after a change of the file, or `of` something else. */
  #unlessChanged<T>(name: string, of: string, read: () => T): T {
    const { version, changes } = this.#statements.state().get() as {
      readonly version: number
      readonly changes: number
    }
    const state = `${version} ${changes} ${of}`
    const known = this.#read.get(name)
    if (known?.state === state) return known.value as T
    const value = read()
    this.#read.set(name, { state, value })
    return value
  }

  #stretchesOf(scope: string, id: string): Either<StoreFault, readonly Stretch[]> {
    return damageIn(id, () => {
      const raw = this.#parts.logs.find(scope, id)
      if (raw === undefined) return left({ _tag: 'NoSuchLog', id })
      const { segment, size } = logIn(raw)
      return right(this.#parts.rows.stretches(segment, 0, size).toReversed())
    })
  }

  /** The rows that can be read. */
  #readable(segment: number, from: number, to: number): readonly StoredRow[] {
    const rows = orDamage(() => this.#parts.rows.read(segment, from, to))
    if (!(rows instanceof Damaged)) return rows
    if (to - from === 1) return []
    return Array.from({ length: to - from }, (_, index) => from + index).flatMap((at) =>
      this.#readable(segment, at, at + 1),
    )
  }

  #logsWith({ segment, position }: RowCursor): readonly string[] {
    const found = this.#statements.logs().all({ segment, position }) as unknown as readonly { readonly id: string }[]
    return found.map(({ id }) => id)
  }

  #add(scope: number, segment: number, position: number, terms: readonly string[]): void {
    if (terms.length > 0) this.#statements.add().run(idOf(segment, position), `${terms.join(' ')} ${scopeTerm(scope)}`)
  }

  #block(scope: number, id: BlockId): Uint8Array | undefined {
    return this.#parts.blocks.get(scope, id)
  }

  /** The first unindexed position of a segment; undefined if there is no such segment. */
  #untilOf(segment: number): number | undefined {
    return (this.#statements.until().get({ segment }) as { readonly until: number | null }).until ?? undefined
  }

  #setUntil(segment: number, until: number): void {
    this.#statements.setUntil().run(segment, until)
  }

  #forgetGone(gone: readonly { readonly segment: number }[]): void {
    for (const { segment } of gone) {
      this.forget(segment, 0, lastPosition)
      this.forgetSegment(segment)
    }
  }

  /** The number of unindexed rows. They are counted again only if another process may have added some. */
  #behind(): number {
    const version = this.#statements.version().get()?.['data_version']
    if (version === this.#upToDate) return 0
    const count = this.#count()
    this.#upToDate = count === 0 ? version : undefined
    return count
  }

  #count(): number {
    return (this.#statements.behind().get() as { readonly rows: number }).rows
  }

  #hasOneScope(): boolean {
    return (this.#statements.scopes().get() as { readonly count: number }).count < 2
  }

  /** Whether an index exists. */
  #isThere(): boolean {
    return this.#tables() === 'current'
  }

  /** Whether an index exists, of this version or an earlier one. */
  #has(): boolean {
    return this.#tables() !== 'none'
  }

  /** The tables of the file. Another process may have created or dropped them, but not during a transaction here. */
  #tables(): 'none' | 'older' | 'current' {
    const { writing, transaction } = this.#parts.writer
    if (writing && this.#known?.in === transaction) return this.#known.tables
    const version = this.#statements.schema().get()?.['schema_version']
    if (this.#known === undefined || this.#known.version !== version) {
      const found = this.#statements.there().get()
      const tables = found === undefined ? 'none' : found['current'] === 1 ? 'current' : 'older'
      this.#known = { in: transaction, version, tables }
    } else if (writing) this.#known.in = transaction
    return this.#known.tables
  }
}

/** The parameters of a time range; undefined if there is none. */
const timeOf = (since = Number.MIN_SAFE_INTEGER, until = Number.MAX_SAFE_INTEGER) =>
  since === Number.MIN_SAFE_INTEGER && until === Number.MAX_SAFE_INTEGER ? undefined : { since, until }

const wholeRange: Stretch = { segment: 0, from: 0, to: Number.MAX_SAFE_INTEGER }

const wholeSegment = (segment: number): Stretch => ({ segment, from: 0, to: lastPosition + 1 })

/** The fault of an error while the index was read; any other error is thrown. */
const damagedIndex = (error: unknown): StoreFaultOf<'DamagedIndex'> => {
  if (codeOf(error) !== corrupt) throw error
  return { _tag: 'DamagedIndex', reason: error instanceof Error ? error.message : String(error) }
}

const idOf = (segment: number, position: number): bigint => BigInt(segment) * 4294967296n + BigInt(position)

const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** A term that all rows of a scope have. It starts with a private-use character. */
const scopeTerm = (scope: number): string => `\ue0ff${scope}`

const matchText = (all: readonly WantedTerm[], none: readonly WantedTerm[]): string => {
  const wanted = [...new Set(all.map(termText))].slice(0, mostTerms).join(' AND ')
  const unwanted = [...new Set(none.map(termText))].slice(0, mostTerms).join(' OR ')
  return unwanted === '' ? wanted : `(${wanted}) NOT (${unwanted})`
}

const termText = ({ term, prefix = false }: WantedTerm): string =>
  `"${term.replaceAll('"', '""')}"${prefix ? ' *' : ''}`

const noFullText: StoreFaultOf<'NoFullText'> = Object.freeze({
  _tag: 'NoFullText',
  reason: `the SQLite of this Node (${process.version}) has no FTS5: use Node 22.16 or later`,
})

const hasFullText = (db: DatabaseSync): boolean =>
  db.prepare("select sqlite_compileoption_used('ENABLE_FTS5') as used").get()?.['used'] === 1

/**
 * After a delete in the index the connection's last inserted id is one of FTS5's own, which a number can't hold, and
 * `run` of any other statement would fail until something is inserted.
 */
const resetLastId =
  'insert into search_until (segment, until) values (-1, 0); delete from search_until where segment = -1'

/** Whether the index is one of these tables. An earlier version's has no stems: `make` replaces it. */
const isTable = "select instr(sql, 'contentless_delete') > 0 as current from sqlite_schema where name = 'search'"

/** Each segment, the end of its rows, and how far they are indexed. An orphan's rows end where its last fork starts. */
const reach = `
  select s.key as segment, s.scope, coalesce(u.until, s.base) as "from",
    coalesce(l.size, (select max(f.base) from segment f where f.parent = s.key), s.base) as "to"
  from segment s left join log l on l.segment = s.key left join search_until u on u.segment = s.key
`

const statements = (db: DatabaseSync) => {
  const place = 'select search.rowid >> 32 as segment, search.rowid & 4294967295 as position from search'
  const range = 'search match :match and search.rowid between :low and :high'
  const lists = 'select json_group_array(id >> 32) as segments, json_group_array(id & 4294967295) as positions from'
  const prepared = prepareAllOnce(db, {
    schema: 'pragma schema_version',
    version: 'pragma data_version',
    there: isTable,
    scopes: 'select count(*) as count from (select 1 from scope limit 2)',
    until:
      'select coalesce((select until from search_until where segment = :segment), (select base from segment where key = :segment)) as until',
    setUntil:
      'insert into search_until (segment, until) values (?, ?) on conflict do update set until = excluded.until',
    dropUntil: 'delete from search_until where segment = ?',
    gone: 'select segment from search_until where not exists (select 1 from segment where segment.key = search_until.segment)',
    lags: `select * from (${reach}) where "to" > "from" order by segment desc`,
    behind: `select coalesce(sum("to" - "from"), 0) as rows from (${reach}) where "to" > "from"`,
    find: `${place} where ${range} order by search.rowid desc limit :most`,
    findInTime: `${place} cross join row on row.id = search.rowid where ${range} and row.at >= :since and row.at < :until order by search.rowid desc limit :most`,
    places: `${lists} (select rowid as id from search where ${range} order by rowid desc limit :most)`,
    placesInTime: `${lists} (select search.rowid as id from search cross join row on row.id = search.rowid where ${range} and row.at >= :since and row.at < :until order by search.rowid desc limit :most)`,
    messages: 'select coalesce(sum(entries), 0) as messages from log where scope = ?',
    state: 'select data_version as version, total_changes() as changes from pragma_data_version',
    encrypted: 'select id, meta from log where scope = ? and instr(meta, ?) > 0 order by key desc',
    // The log of the segment, then those of forks that have the row.
    logs: `with recursive kin (segment) as (
         select :segment union all select s.key from kin join segment s on s.parent = kin.segment and s.base > :position limit 64
       ) select log.id from kin join log on log.segment = kin.segment limit 16`,
    segmentsOf: `with recursive own (segment) as (
         select segment from log where scope = ? and id in (select value from json_each(?))
         union select p.key from own join segment s on s.key = own.segment join segment p on p.key = s.parent where p.orphan = 1
       ) select json_group_array(segment) as segments from own`,
  })
  return {
    ...prepared,
    // FTS5 has rows of its own with ids that no number can hold.
    add: prepareInBigints(db, 'insert into search (rowid, terms) values (?, ?)'),
    forget: prepareInBigints(db, 'delete from search where rowid between ? and ?'),
  }
}
