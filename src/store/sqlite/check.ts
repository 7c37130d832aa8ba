/**
 * Every table of a store file held against every other, its own check sums, and the tree: what `check` finds, and with it
 * how `repair` rebuilds what the rest of the file proves.
 *
 * A piece of work at a time: an `undefined` is a place where somebody else may have a turn.
 */
import { DatabaseSync } from 'node:sqlite'
import {
  appendLeaf,
  emptyRange,
  equalBytes,
  peakEnds,
  rootOf,
  type CompactRange,
  type Hash,
} from '../../proof/index.ts'
import type { StoreFinding } from '../check.ts'
import { isMoment } from '../checked-row.ts'
import { Damaged } from '../damaged.ts'
import { entriesBefore, placeOf, type Placed } from '../rules.ts'
import type { RowKind } from '../row.ts'
import { rowLeaf } from '../tree.ts'
import { isDamage } from './fault.ts'
import { headIsSound, headSum, infoIn, logIn, metaIsSound, selectLog, type LogRow, type RawLog } from './log.ts'
import { Rows } from './rows.ts'
import { applicationId, steps } from './schema.ts'
import { sumOf } from './sum.ts'

/** Something found, and how it is rebuilt where it can be: gives what was done. */
export interface Found extends Omit<StoreFinding, 'repairable'> {
  readonly rebuild?: (() => string) | undefined
}

/** How many rows are looked at in one go. */
const piece = 500
/** What SQLite says of the file is cut off behind so many lines. */
const mostLines = 100

export const checkDatabase = (db: DatabaseSync, hash: Hash): Generator<Found | undefined> => new Check(db, hash).run()

type Raw = Readonly<Record<string, unknown>>

interface Base {
  readonly parent: number | null
  readonly base: number
}

interface Segment extends Base {
  readonly key: number
  readonly scope: number
  readonly orphan: number
  readonly forks: number
  readonly isSound: boolean
  readonly sum: number | null
  /** How many segments have it as their parent. */
  children: number
  /** The logs that it is the segment of. */
  logs: number
  rows: SegmentRows | undefined
}

/** What the rows of a segment come to. */
interface SegmentRows {
  readonly range: CompactRange
  readonly entries: number
  readonly first: number | undefined
  /** The time of the last row, if there is one and it has one. */
  readonly appended: number | null
  /** What is wrong with the first row that can't be explained. */
  readonly damage: Found | undefined
  /** Nodes and places that are not those of the rows. */
  readonly beside: readonly Beside[]
}

interface Beside extends Placed {
  readonly position: number
  readonly node: Uint8Array
}

class Check {
  readonly #db: DatabaseSync
  readonly #hash: Hash
  readonly #rows: Rows
  readonly #scopes = new Map<number, string>()
  readonly #segments = new Map<number, Segment>()
  readonly #logs = new Map<number, LogRow>()

  constructor(db: DatabaseSync, hash: Hash) {
    this.#db = db
    this.#hash = hash
    this.#rows = new Rows(db, steps.length, () => false)
  }

  *run(): Generator<Found | undefined> {
    const parts: readonly (readonly [string, () => Iterable<Found | undefined>])[] = [
      ['file', () => this.#file()],
      ['schema', () => this.#schema()],
      ['sequence', () => this.#sequences()],
      ['scope', () => this.#scope()],
      ['segment', () => this.#segment()],
      ['log', () => this.#log()],
      ['row', () => this.#row()],
      ['log', () => this.#heads()],
      ['segment', () => this.#trees()],
      ['operation', () => this.#operation()],
      ['lease', () => this.#lease()],
      ['block', () => this.#block()],
      ['content', () => this.#content()],
      ['mention', () => this.#mention()],
    ]
    for (const [table, part] of parts)
      try {
        yield* part()
      } catch (error) {
        if (!(error instanceof Damaged) && !isUnreadable(error)) throw error
        yield found(table, undefined, `it can't be read: ${error instanceof Damaged ? error.reason : error.message}`)
      }
  }

  *#file(): Generator<Found | undefined> {
    for (const row of this.#each(`pragma integrity_check(${mostLines})`)) {
      const [line] = Object.values(row)
      if (line === 'ok') continue
      const isIndex = /^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index)/.test(
        String(line),
      )
      yield found('file', undefined, String(line).trim(), isIndex ? () => this.#reindex() : undefined)
    }
  }

  #reindexed = false
  #reindex(): string {
    if (!this.#reindexed) this.#db.exec('reindex')
    this.#reindexed = true
    return 'the indexes were built anew from their tables'
  }

  *#schema(): Generator<Found | undefined> {
    const text =
      "select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_stat%' order by type, name"
    const own = new DatabaseSync(':memory:')
    try {
      for (const step of steps)
        if (typeof step === 'string') own.exec(step)
        else step(own)
      const [expected, actual] = [own, this.#db].map(
        (db) =>
          new Map(
            db
              .prepare(text)
              .all()
              .map((row) => [`${String(row['type'])} ${String(row['name'])}`, JSON.stringify(row)]),
          ),
      ) as [Map<string, string>, Map<string, string>]
      for (const [name, made] of expected)
        if (actual.get(name) !== made)
          yield found('schema', name, actual.has(name) ? 'it is not as it was made' : 'it is missing')
      for (const name of actual.keys())
        if (!expected.has(name)) yield found('schema', name, 'it is not of this library')
    } finally {
      own.close()
    }
    const { application_id: application } = this.#db.prepare('pragma application_id').get() as Raw
    if (application !== applicationId) yield found('file', undefined, 'it is not marked as a store')
  }

  *#sequences(): Generator<Found | undefined> {
    const names = ['scope', 'segment', 'log', 'block'] as const
    const given = new Map([...this.#each('select name, seq from sqlite_sequence')].map(({ name, seq }) => [name, seq]))
    for (const name of names) {
      const last = this.#one(`select max(key) as last from ${name}`)['last']
      const seq = given.get(name)
      if (last === null && seq === undefined) continue
      const most = name === 'segment' ? 2n ** 31n - 1n : BigInt(Number.MAX_SAFE_INTEGER)
      const is = typeof seq === 'bigint' && seq >= 0n && (last === null || seq >= (last as bigint)) && seq <= most
      if (is) continue
      yield found('sequence', name, `the last key is ${String(last)}, and ${String(seq)} stands there`, () => {
        this.#db.prepare('delete from sqlite_sequence where name = ?').run(name)
        this.#db
          .prepare('insert into sqlite_sequence (name, seq) values (?, ?)')
          .run(name, (last as bigint | null) ?? 0n)
        return `set to ${String(last ?? 0)}`
      })
    }
    for (const name of given.keys())
      if (!names.includes(name as (typeof names)[number]))
        yield found('sequence', String(name), 'there is no such table')
  }

  *#scope(): Generator<Found | undefined> {
    for (const { key, name, sum } of this.#each('select key, name, sum from scope')) {
      this.#scopes.set(Number(key), String(name))
      if (typeof name !== 'string' || sum !== BigInt(sumOf(name)))
        yield found('scope', `${String(key)} ${shown(name)}`, 'its name is not what was stored')
    }
  }

  /** All of them, before anything is said of one. */
  #segment(): readonly Found[] {
    for (const raw of this.#each('select key, scope, parent, base, orphan, forks, sum from segment order by key')) {
      const [key, scope, base, orphan, forks] = ['key', 'scope', 'base', 'orphan', 'forks'].map((name) =>
        numberIn(raw[name]),
      ) as [number, number, number, number, number]
      const parent = raw['parent'] === null ? null : numberIn(raw['parent'])
      const sum = raw['sum'] === null ? null : numberIn(raw['sum'])
      const isSound = sum === sumOf(scope, parent, base)
      this.#segments.set(key, {
        key,
        scope,
        parent,
        base,
        orphan,
        forks,
        isSound,
        sum,
        children: 0,
        logs: 0,
        rows: undefined,
      })
    }
    return []
  }

  *#log(): Generator<Found | undefined> {
    const ofSegment = new Map<number, LogRow>()
    for (const raw of selectLog(this.#db, steps.length, 'order by key')().iterate() as Iterable<RawLog>) {
      yield undefined
      try {
        const log = logIn(raw)
        this.#logs.set(log.key, log)
        const segment = this.#segments.get(log.segment)
        const twin = ofSegment.get(log.segment)
        ofSegment.set(log.segment, log)
        if (segment !== undefined) segment.logs += 1
        if (twin !== undefined) yield found('log', this.#logName(log), `it names the segment of ${this.#logName(twin)}`)
        if (!this.#scopes.has(log.scope)) yield found('log', this.#logName(log), 'its scope is missing')
        const info = infoIn(raw)
        if (raw['meta_sum'] === null || !metaIsSound(raw, info))
          yield found('log', this.#logName(log), 'its metadata, or when it was created, is not what was stored')
        if (raw['sum'] === null) yield found('log', this.#logName(log), 'it has no check sum')
      } catch (error) {
        if (!(error instanceof Damaged)) throw error
        yield found('log', shown(raw['id']), error.reason)
      }
    }
  }

  /** All rows, segment by segment: a parent has a smaller key than its forks, so it comes first. */
  *#row(): Generator<Found | undefined> {
    const byteText = this.#one("select 'a' || char(0) || 'b' as text")['text'] !== 'a\0b'
    const body = byteText ? 'cast(body as blob) as body' : 'body'
    const read = this.#db.prepare(
      `select id, place, node, ${body}, at, salt from row where id > ? order by id limit ${piece}`,
    )
    read.setReadBigInts(true)
    let walk: Walk | undefined
    for (let last = -(2n ** 63n); ;) {
      const rows = read.all(last) as unknown as readonly Raw[]
      for (const raw of rows) {
        const id = raw['id'] as bigint
        const key = Number(id >> 32n)
        if (walk?.key !== key) {
          yield* this.#endOf(walk)
          walk = this.#walk(key)
        }
        walk.take(Number(id & 0xffffffffn), raw)
        last = id
      }
      if (rows.length < piece) break
      yield undefined
    }
    yield* this.#endOf(walk)
  }

  #walk(key: number): Walk {
    const segment = this.#segments.get(key)
    if (segment === undefined) return new Walk(key, 0, undefined, 0, this.#hash)
    try {
      const last =
        segment.base === 0 || segment.parent === null ? undefined : this.#rows.placeAt(segment.parent, segment.base - 1)
      const before = entriesBefore(segment.base, last)
      return new Walk(key, segment.base, this.#rangeAt(key, segment.base), before, this.#hash)
    } catch (error) {
      if (!(error instanceof Damaged) && !isUnreadable(error)) throw error
      return new Walk(key, segment.base, undefined, 0, this.#hash)
    }
  }

  *#endOf(walk: Walk | undefined): Generator<Found | undefined> {
    if (walk === undefined) return
    const segment = this.#segments.get(walk.key)
    if (segment === undefined)
      yield found('row', `segment ${walk.key}`, `${walk.count} rows of a segment that is missing`)
    else segment.rows = walk.end()
  }

  #rangeAt(segment: number, size: number): CompactRange {
    const ends = peakEnds(size).map((end) => end - 1)
    return size === 0 ? emptyRange : { size, peaks: this.#rows.nodes(segment, ends) }
  }

  /** Logs against the rows of their segments. */
  *#heads(): Generator<Found | undefined> {
    const raws = new Map<number, RawLog>()
    for (const raw of selectLog(this.#db, steps.length, 'order by key')().iterate() as Iterable<RawLog>)
      raws.set(Number(raw['key']), raw)
    for (const log of this.#logs.values()) {
      yield undefined
      const where = this.#logName(log)
      const raw = raws.get(log.key) as RawLog // it was read before
      const isSound = headIsSound(raw, log)
      const segment = this.#segments.get(log.segment)
      if (segment === undefined || !isSound) {
        const proven = this.#provenHead(log, raw)
        yield found(
          'log',
          where,
          segment === undefined ? `its segment ${log.segment} is missing` : 'its head is not what was stored',
          proven && (() => this.#rebuildHead(log, proven)),
        )
        continue
      }
      if (segment.scope !== log.scope) yield found('log', where, 'its segment is of another scope')
      const rows = this.#rowsOf(segment)
      if (rows === undefined) continue // said of the segment
      if (rows.damage !== undefined) {
        yield found('row', where, rows.damage.what)
        continue
      }
      const derived = derivedHead(log, rows, this.#hash)
      if (!sameHead(log, derived)) {
        yield found(
          'log',
          where,
          rows.range.size < log.size
            ? `damaged at position ${rows.range.size}: its row is missing`
            : `its head is not that of its ${rows.range.size} rows`,
        )
        continue
      }
      for (const beside of rows.beside)
        yield found('row', `${where} at ${beside.position}`, 'what is kept beside the row is not that of the row', () =>
          this.#rebuildBeside(log.segment, beside),
        )
    }
  }

  /** The rows of a segment, also where it has none yet. Undefined: what comes before them can't be read. */
  #rowsOf(segment: Segment): SegmentRows | undefined {
    try {
      return segment.rows ?? this.#walk(segment.key).end()
    } catch (error) {
      if (error instanceof Damaged || isUnreadable(error)) return undefined
      throw error
    }
  }

  /** The head of a log by its rows, if the check sum says that this is what was stored. */
  #provenHead(log: LogRow, raw: RawLog): (LogRow & { readonly sum: number }) | undefined {
    const free = [...this.#segments.values()].filter(
      ({ key, logs, scope }) => scope === log.scope && (logs === 0 || key === log.segment),
    )
    for (const segment of free) {
      const rows = this.#rowsOf(segment)
      if (rows === undefined || rows.damage !== undefined) continue
      const derived = { ...derivedHead(log, rows, this.#hash), segment: segment.key }
      const sum = headSum(derived)
      // Either the columns are wrong and the sum is right, or the other way round: both can't be by one accident.
      if (raw['sum'] === BigInt(sum) || (segment.key === log.segment && sameHead(log, derived)))
        return { ...derived, sum }
    }
    return undefined
  }

  #rebuildHead(
    log: LogRow,
    { segment, size, entries, peaks, root, appended, sum }: LogRow & { readonly sum: number },
  ): string {
    this.#db
      .prepare(
        'update log set segment = ?, size = ?, entries = ?, peaks = ?, root = ?, appended = ?, sum = ? where key = ?',
      )
      .run(segment, size, entries, peaks, root, appended, sum, log.key)
    return `its head was rebuilt from its ${size} rows`
  }

  #rebuildBeside(segment: number, { position, kind, index, node }: Beside): string {
    this.#db
      .prepare('update row set place = ?, node = ? where id = (? << 32) + ?')
      .run(placeOf({ kind, index }), node, segment, position)
    return 'it was computed again from the rows, whose root is that of the log'
  }

  /** Segments against each other and against the logs. */
  *#trees(): Generator<Found | undefined> {
    const bases = new Map<number, Base | undefined>()
    for (const segment of this.#segments.values()) {
      const base = segment.isSound ? segment : this.#provenBase(segment)
      bases.set(segment.key, base)
      const parent = (base ?? segment).parent
      const above = parent === null ? undefined : this.#segments.get(parent)
      if (above !== undefined) above.children += 1
    }
    for (const segment of this.#segments.values()) {
      const { key, scope, parent, base, orphan, forks, isSound, children, logs } = segment
      const where = String(key)
      yield undefined
      if (!isSound) {
        const proven = bases.get(key)
        yield found(
          'segment',
          where,
          'where it begins, or what it was forked from, is not what was stored',
          proven &&
            (() => {
              this.#db
                .prepare('update segment set parent = ?, base = ? where key = ?')
                .run(proven.parent, proven.base, key)
              this.#rows.forget(key)
              return `it begins at ${proven.base}${proven.parent === null ? '' : ` of segment ${proven.parent}`} again`
            }),
        )
        continue
      }
      const above = parent === null ? undefined : this.#segments.get(parent)
      if (!this.#scopes.has(scope)) yield found('segment', where, 'its scope is missing')
      if (parent !== null && above === undefined) yield found('segment', where, `its parent ${parent} is missing`)
      if (above !== undefined && (above.base >= base || above.scope !== scope))
        yield found('segment', where, `its parent ${parent} begins after it, or is of another scope`)
      if (forks !== children)
        yield found('segment', where, `it counts ${forks} forks, and has ${children}`, () => {
          this.#db.prepare('update segment set forks = ? where key = ?').run(children, key)
          return `set to ${children}`
        })
      if (orphan !== 0 && logs > 0)
        yield found('segment', where, 'it is marked as that of a removed log, and its log is there', () => {
          this.#db.prepare('update segment set orphan = 0 where key = ?').run(key)
          return 'the mark was taken away'
        })
      if (orphan === 0 && logs === 0) yield found('segment', where, 'its log is missing')
      if (orphan !== 0 && orphan !== 1) yield found('segment', where, 'its mark of a removed log can not be read')
      if (orphan === 1 && logs === 0) {
        if (segment.rows?.damage !== undefined) yield found('row', `segment ${key}`, segment.rows.damage.what)
        for (const beside of segment.rows?.beside ?? [])
          yield found(
            'row',
            `segment ${key} at ${beside.position}`,
            'what is kept beside the row is not that of the row',
          )
      }
    }
  }

  /** Where a segment begins and what it was forked from, by its rows, if the check sum says that this is what was stored. */
  #provenBase(segment: Segment): Base | undefined {
    const { key, scope, sum } = segment
    const first = this.#one(
      'select min(id) & 4294967295 as first from row where id between (? << 32) and (? << 32) + 4294967295',
      key,
      key,
    )['first']
    const sizes = [...this.#logs.values()].filter((log) => log.segment === key).map(({ size }) => size)
    const bases = new Set([segment.base, ...(typeof first === 'bigint' ? [Number(first)] : []), ...sizes])
    for (const base of bases)
      for (const parent of [null, segment.parent, ...this.#segments.keys()])
        if (
          sum === sumOf(scope, parent, base) &&
          (parent === null || (this.#segments.get(parent)?.base ?? base) < base)
        )
          return { parent, base }
    return undefined
  }

  *#operation(): Generator<Found | undefined> {
    for (const raw of this.#each('select log, id, base, size, root, sum from operation')) {
      yield undefined
      const log = this.#logs.get(Number(raw['log']))
      const where = `${shown(raw['id'])} of ${log === undefined ? `log ${String(raw['log'])}` : this.#logName(log)}`
      const {
        log: key,
        id,
        base,
        size,
        root,
        sum,
      } = raw as Readonly<Record<'log' | 'base' | 'size' | 'sum', bigint>> & {
        readonly id: string
        readonly root: Uint8Array
      }
      if (log === undefined) yield found('operation', where, 'its log is missing')
      else if (
        typeof id !== 'string' ||
        !(root instanceof Uint8Array) ||
        sum !== BigInt(sumOf(key, id, base, size, root))
      )
        yield found('operation', where, 'it is not what was stored')
      else if (base > size || size > BigInt(log.size)) yield found('operation', where, 'its rows are missing')
      else if (!this.#isRootAt(log, Number(size), root))
        yield found('operation', where, 'its root is not that of its rows')
    }
  }

  *#lease(): Generator<Found | undefined> {
    for (const { log } of this.#each('select log from lease'))
      if (!this.#logs.has(Number(log))) yield found('lease', String(log), 'its log is missing')
  }

  #isRootAt(log: LogRow, size: number, root: Uint8Array): boolean {
    try {
      return equalBytes(rootOf(this.#rangeAt(log.segment, size), this.#hash), root)
    } catch (error) {
      if (error instanceof Damaged || isUnreadable(error)) return true // said of the rows
      throw error
    }
  }

  *#block(): Generator<Found | undefined> {
    const sql = `select key, scope, id, uses, kept, sum, bytes, (select count(*) from mention where mention.block = block.key) as mentions
      from block left join content on content.block = block.key`
    for (const raw of this.#each(sql)) {
      yield undefined
      const { key, scope, id, uses, kept, sum, bytes, mentions } = raw
      const where = id instanceof Uint8Array ? Buffer.from(id).toString('hex') : String(key)
      const digest = bytes instanceof Uint8Array ? this.#hash(bytes) : undefined
      const sumWith = (own: unknown, stays: unknown): boolean =>
        own instanceof Uint8Array && typeof stays === 'bigint' && sum === BigInt(sumOf(scope as bigint, own, stays))
      if (!this.#scopes.has(Number(scope))) yield found('block', where, 'its scope is missing')
      if (digest === undefined) yield found('block', where, 'its bytes are missing')
      else if (!(id instanceof Uint8Array) || !equalBytes(id, digest)) {
        const rebuild = sumWith(digest, kept)
          ? () => this.#setBlock(key, 'id', digest, 'its id was computed again from its bytes')
          : undefined
        yield found('block', where, 'its bytes are not those of its id', rebuild)
        if (rebuild !== undefined) continue
      }
      if (!sumWith(id, kept)) {
        const other = kept === 1n ? 0n : 1n
        yield found(
          'block',
          where,
          'its id, or whether it is kept, is not what was stored',
          sumWith(id, other)
            ? () => this.#setBlock(key, 'kept', other, `it is ${other === 1n ? 'kept' : 'not kept'} again`)
            : undefined,
        )
      }
      if (uses !== mentions)
        yield found('block', where, `it counts ${String(uses)} uses, and has ${String(mentions)}`, () =>
          this.#setBlock(key, 'uses', mentions as bigint, `set to ${String(mentions)}`),
        )
      if (mentions === 0n && kept === 0n) yield found('block', where, 'no row speaks of it, and it is not kept')
    }
  }

  #setBlock(key: unknown, column: 'id' | 'kept' | 'uses', value: bigint | Uint8Array, done: string): string {
    this.#db.prepare(`update block set ${column} = ? where key = ?`).run(value, key as bigint)
    return done
  }

  *#content(): Generator<Found | undefined> {
    const sql = 'select block from content where not exists (select 1 from block where block.key = content.block)'
    for (const { block } of this.#each(sql)) yield found('content', String(block), 'bytes of a block that is missing')
  }

  *#mention(): Generator<Found | undefined> {
    const sql = `select mention.row >> 32 as segment, mention.row & 4294967295 as position, mention.block, mention.sum,
        row.id is not null as there, block.scope as scope
      from mention left join row on row.id = mention.row left join block on block.key = mention.block`
    for (const { segment, position, block, sum, there, scope } of this.#each(sql)) {
      yield undefined
      const where = `of block ${String(block)} by segment ${String(segment)} at ${String(position)}`
      if (sum !== BigInt(sumOf(segment as bigint, position as bigint, block as bigint)))
        yield found('mention', where, 'it is not what was stored')
      else if (there !== 1n) yield found('mention', where, 'the row is missing')
      else if (scope === null) yield found('mention', where, 'the block is missing')
      else if (Number(scope) !== this.#segments.get(Number(segment))?.scope)
        yield found('mention', where, 'the block is of another scope')
    }
  }

  #logName({ scope, id }: Pick<LogRow, 'scope' | 'id'>): string {
    const name = this.#scopes.get(scope)
    return `${shown(id)} of scope ${name === undefined ? String(scope) : shown(name)}`
  }

  *#each(sql: string): Generator<Raw> {
    const statement = this.#db.prepare(sql)
    statement.setReadBigInts(true)
    yield* statement.iterate() as Iterable<Raw>
  }

  #one(sql: string, ...parameters: readonly number[]): Raw {
    const statement = this.#db.prepare(sql)
    statement.setReadBigInts(true)
    return statement.get(...parameters) as Raw // an aggregate has one row
  }
}

/** The rows of one segment, one after the other. */
class Walk {
  readonly key: number
  readonly #hash: Hash
  readonly #beside: Beside[] = []
  #range: CompactRange | undefined
  #next: number
  #entries: number
  #first: number | undefined
  #damage: Found | undefined
  #appended: number | null = null
  count = 0

  constructor(key: number, base: number, range: CompactRange | undefined, entries: number, hash: Hash) {
    this.key = key
    this.#next = base
    this.#range = range
    this.#entries = entries
    this.#hash = hash
  }

  take(position: number, { place, node, body, at, salt }: Raw): void {
    this.count += 1
    this.#first ??= position
    if (this.#range === undefined || this.#damage !== undefined) return
    const text = body instanceof Uint8Array ? Buffer.from(body).toString() : body
    if (position !== this.#next) return this.#damaged(this.#next, 'its row is missing')
    if (typeof text !== 'string' || typeof place !== 'bigint') return this.#damaged(position, 'its row can not be read')
    const moment = at === null ? null : numberIn(at)
    if (moment !== null && !isMoment(moment)) return this.#damaged(position, 'its row can not be read')
    if (salt !== null && !(salt instanceof Uint8Array && salt.length === 16))
      return this.#damaged(position, 'its row can not be read')
    const range = this.#range
    const said = {
      ...(moment !== null && { at: moment }),
      ...(salt !== null && { salt: Buffer.from(salt as Uint8Array).toString('hex') }),
    }
    const as = (kind: RowKind): CompactRange =>
      appendLeaf(range, rowLeaf({ kind, body: text, ...said }, this.#hash), this.#hash)
    const marked: RowKind = place % 2n === 0n ? 'entry' : 'note'
    const other: RowKind = marked === 'entry' ? 'note' : 'entry'
    const fits = (grown: CompactRange): boolean =>
      node instanceof Uint8Array && equalBytes(grown.peaks.at(-1) as Uint8Array, node)
    const kind = !fits(as(marked)) && fits(as(other)) ? other : marked
    const grown = as(kind)
    const index = kind === 'entry' ? this.#entries : position - this.#entries
    if (!fits(grown) || place !== BigInt(placeOf({ kind, index })))
      this.#beside.push({ position, kind, index, node: grown.peaks.at(-1) as Uint8Array }) // a leaf was just appended
    this.#range = grown
    this.#next += 1
    if (kind === 'entry') this.#entries += 1
    this.#appended = moment
  }

  /** Throws Damaged, where what comes before the rows can't be read. */
  end(): SegmentRows {
    if (this.#range === undefined) throw new Damaged(this.#next, 'the rows before it can not be read')
    return {
      range: this.#range,
      entries: this.#entries,
      first: this.#first,
      appended: this.#appended,
      damage: this.#damage,
      beside: this.#beside,
    }
  }

  #damaged(position: number, what: string): void {
    this.#damage = found('row', undefined, `damaged at position ${position}: ${what}`)
  }
}

const derivedHead = (log: LogRow, { range, entries, appended }: SegmentRows, hash: Hash): LogRow => ({
  ...log,
  appended,
  size: range.size,
  entries,
  peaks: Buffer.concat(range.peaks),
  root: rootOf(range, hash),
})

const sameHead = (one: LogRow, other: LogRow): boolean =>
  one.appended === other.appended &&
  one.size === other.size &&
  one.entries === other.entries &&
  equalBytes(one.peaks, other.peaks) &&
  equalBytes(one.root, other.root)

const found = (
  table: string,
  where: string | undefined,
  what: string,
  rebuild?: (() => string) | undefined,
): Found => ({
  table,
  where,
  what,
  rebuild,
})

const shown = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value))

const numberIn = (value: unknown): number => (typeof value === 'bigint' ? Number(value) : Number.NaN)

const isUnreadable = (error: unknown): error is Error =>
  error instanceof Error && (isDamage(error) || (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR')
