/**
 * The search index of a file: a full-text table (FTS5) with the terms of each row, and the indexed length
 * of each segment. Both are created on first use, and are derived from the rest of the file. A document has
 * the id of its row. It has each term once, without order (`detail=none`), so that the index stays small.
 *
 * Source  https://www.sqlite.org/fts5.html, 4.5 (detail), 6.11 (secure-delete)
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
import type { FoundRow, RowQuery, RowsFound, RowsIndexed, TermsOf, WantedTerm } from '../port/row-terms.ts'
import type { StoredRow } from '../port/row.ts'
import type { Blocks } from './blocks.ts'
import { codeOf, corrupt } from './fault.ts'
import { logIn } from './log.ts'
import { damageIn, type Logs } from './logs.ts'
import { prepareAllOnce } from './prepared.ts'
import type { Rows, Stretch } from './rows.ts'
import type { Scopes } from './scopes.ts'
import type { Writer } from './writer.ts'

const tables = `
  create virtual table search using fts5 (terms, detail = none, columnsize = 0, tokenize = 'ascii');
  insert into search (search, rank) values ('secure-delete', 1); -- a deleted document leaves no term behind
  create table search_until (segment integer primary key, until integer not null) strict; -- the first position not indexed
`

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
  #known: { in: number; readonly version: unknown; readonly there: boolean } | undefined
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
    const given = new Map<BlockId, Uint8Array>(blocks.map(({ id, bytes }) => [id, bytes]))
    const blockOf = (id: BlockId): Uint8Array | undefined => given.get(id) ?? this.#block(scope, id)
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
    if (this.#isThere() && this.#hasFullText) this.#statements.forget().run(idOf(segment, from), idOf(segment, to))
  }

  /** Forget a removed segment. Runs inside a write. Without FTS5, this is left to another process. */
  forgetSegment(segment: number): void {
    if (this.#isThere() && this.#hasFullText) this.#statements.dropUntil().run(segment)
  }

  async make(): Answer<void> {
    if (!this.#hasFullText) return left(noFullText)
    const made = await this.#parts.writer.write(() => {
      if (!this.#isThere()) this.#db.exec(tables)
      this.#known = undefined
      return right(undefined)
    })
    this.#upToDate = undefined
    return made
  }

  async drop(): Answer<void> {
    if (!this.#isThere()) return right(undefined)
    if (!this.#hasFullText) return left(noFullText)
    const dropped = await this.#parts.writer.write(() => {
      if (this.#isThere()) this.#db.exec('drop table search; drop table search_until')
      this.#known = undefined
      return right(undefined)
    })
    return dropped
  }

  async find(scope: string, query: RowQuery & { readonly limit: number }): Answer<RowsFound | undefined> {
    const { after, log } = query
    if (!this.#isThere() || !this.#hasFullText) return right(undefined)
    const before = rowCursorIn(after)
    if (isLeft(before)) return before
    const ranges = log === undefined ? right([wholeRange]) : this.#stretchesOf(scope, log)
    if (isLeft(ranges)) return ranges
    try {
      return right(this.#found(this.#parts.scopes.keyOf(scope), query, before.right, ranges.right))
    } catch (error) {
      if (codeOf(error) !== corrupt) throw error
      return left({ _tag: 'DamagedIndex', reason: error instanceof Error ? error.message : String(error) })
    }
  }

  async findIn(
    scope: string,
    logs: readonly string[],
    term: string,
  ): Answer<ReadonlyMap<string, readonly StoredRow[]>> {
    const found = new Map<string, readonly StoredRow[]>()
    for (const log of logs) {
      const rows = await this.find(scope, { all: [{ term }], log, limit: mostInLogs, count: false })
      if (isLeft(rows) && rows.left._tag !== 'NoSuchLog') return rows
      if (!isLeft(rows)) found.set(log, rows.right?.rows.map(({ row }) => row) ?? [])
    }
    return right(found)
  }

  async encrypted(scope: string): Answer<readonly string[]> {
    const found = this.#statements
      .encrypted()
      .all(this.#parts.scopes.keyOf(scope), encryptionMark) as unknown as readonly { readonly id: string; readonly meta: string }[] // oxfmt-ignore
    return right(found.filter(({ meta }) => isEncryptedMeta(meta)).map(({ id }) => id))
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
    const isTimed = since !== undefined || until !== undefined
    const statement = isTimed ? this.#statements.findInTime() : this.#statements.find()
    const time = { since: since ?? Number.MIN_SAFE_INTEGER, until: until ?? Number.MAX_SAFE_INTEGER }
    const places: RowCursor[] = []
    for (const { segment, from, to } of ranges) {
      const last = idOf(segment, to) - 1n
      const limited = before === undefined ? last : minOf(last, idOf(before.segment, before.position) - 1n)
      const asked = { match, low: idOf(segment, from), high: limited, most: limit + 1 - places.length }
      places.push(...(statement.all({ ...asked, ...(isTimed && time) }) as unknown as readonly RowCursor[]))
      if (places.length > limit) break
    }
    const shown = places.slice(0, limit)
    const end = places.length > limit ? shown.at(-1) : undefined
    const rows = shown.flatMap((place): readonly FoundRow[] => {
      const row = this.#rowAt(place)
      return row === undefined
        ? []
        : [{ logs: log === undefined ? this.#logsWith(place) : [log], row, cursor: rowCursor(place) }]
    })
    return { rows, behind, ...(end !== undefined && { next: rowCursor(end) }) }
  }

  #stretchesOf(scope: string, id: string): Either<StoreFault, readonly Stretch[]> {
    return damageIn(id, () => {
      const raw = this.#parts.logs.find(scope, id)
      if (raw === undefined) return left({ _tag: 'NoSuchLog', id })
      const { segment, size } = logIn(raw)
      return right(this.#parts.rows.stretches(segment, 0, size).toReversed())
    })
  }

  /** A row; undefined if it is unreadable, or was removed by a process without the index. */
  #rowAt({ segment, position }: RowCursor): StoredRow | undefined {
    return this.#readable(segment, position, position + 1)[0]
  }

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
    return this.#parts.blocks.get(scope, [id]).get(id)
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

  /** Whether an index exists. Another process may have created or dropped it, but not during a transaction here. */
  #isThere(): boolean {
    const { writing, transaction } = this.#parts.writer
    if (writing && this.#known?.in === transaction) return this.#known.there
    const version = this.#statements.schema().get()?.['schema_version']
    if (this.#known === undefined || this.#known.version !== version)
      this.#known = { in: transaction, version, there: this.#statements.there().get() !== undefined }
    else if (writing) this.#known.in = transaction
    return this.#known.there
  }
}

const lastPosition = 4294967295

const wholeRange: Stretch = { segment: 0, from: 0, to: Number.MAX_SAFE_INTEGER }

const idOf = (segment: number, position: number): bigint => BigInt(segment) * 4294967296n + BigInt(position)

const minOf = (one: bigint, other: bigint): bigint => (one < other ? one : other)

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

const isTable = "select 1 from sqlite_schema where name = 'search_until'"

/**
 * Remove an erased row from the index, in the transaction that erases it. Returns true if the index
 * had it. Then unused parts of the file may have its words, left there when the index was written,
 * in a form that can't be searched for.
 *
 * @throws Error if the file has an index that this SQLite can't write
 */
export const forgetRow = (db: DatabaseSync, segment: number, position: number): boolean => {
  if (db.prepare(isTable).get() === undefined) return false
  if (!hasFullText(db)) throw new Error(`the row is in a search index, and ${noFullText.reason}; nothing was erased`)
  return db.prepare('delete from search where rowid = ?').run(idOf(segment, position)).changes > 0
}

/** Each segment, the end of its rows, and how far they are indexed. An orphan's rows end where its last fork starts. */
const reach = `
  select s.key as segment, s.scope, coalesce(u.until, s.base) as "from",
    coalesce(l.size, (select max(f.base) from segment f where f.parent = s.key), s.base) as "to"
  from segment s left join log l on l.segment = s.key left join search_until u on u.segment = s.key
`

const statements = (db: DatabaseSync) => {
  const place = 'select search.rowid >> 32 as segment, search.rowid & 4294967295 as position from search'
  const range = 'search match :match and search.rowid between :low and :high'
  return prepareAllOnce(db, {
    schema: 'pragma schema_version',
    version: 'pragma data_version',
    there: isTable,
    scopes: 'select count(*) as count from (select 1 from scope limit 2)',
    add: 'insert into search (rowid, terms) values (?, ?)',
    forget: 'delete from search where rowid between ? and ?',
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
    encrypted: 'select id, meta from log where scope = ? and instr(meta, ?) > 0 order by key desc',
    // The log of the segment, then those of forks that have the row.
    logs: `with recursive kin (segment) as (
         select :segment union all select s.key from kin join segment s on s.parent = kin.segment and s.base > :position limit 64
       ) select log.id from kin join log on log.segment = kin.segment limit 16`,
  })
}
