/** Checks scopes, logs, their operations and leases against the rows of their segments. */
import { equalBytes, rootOf, type Hash } from '../../proof/kit.ts'
import { Damaged } from '../port/damage-error.ts'
import { placeOf } from '../rules/rules.ts'
import {
  findingsOf,
  isUnreadable,
  quoteValue,
  type Beside,
  type Facts,
  type Finding,
  type SegmentRows,
} from './check-facts.ts'
import { rowsOf } from './check-rows.ts'
import {
  headIsSound,
  headSum,
  infoIn,
  logIn,
  metaIsSound,
  selectLog,
  sizeKey,
  useTimeKey,
  type LogRow,
  type RawLog,
} from './log.ts'
import { fits } from './sum.ts'

export function* checkScopes(facts: Facts): Generator<Finding | undefined> {
  for (const { key, name, sum } of facts.all('select key, name, sum from scope')) {
    facts.scopes.set(Number(key), String(name))
    if (typeof name !== 'string' || !fits(sum, name))
      yield findingsOf('scope', `${String(key)} ${quoteValue(name)}`, 'its name is not what was stored')
  }
}

export function* checkLogs(facts: Facts): Generator<Finding | undefined> {
  const ofSegment = new Map<number, LogRow>()
  for (const raw of selectLog(facts.db, 'order by key')().all() as unknown as readonly RawLog[]) {
    yield undefined
    try {
      const log = logIn(raw)
      facts.logs.set(log.key, log)
      const segment = facts.segments.get(log.segment)
      const twin = ofSegment.get(log.segment)
      ofSegment.set(log.segment, log)
      if (segment !== undefined) segment.logs += 1
      if (twin !== undefined)
        yield findingsOf('log', facts.logName(log), `it names the segment of ${facts.logName(twin)}`)
      if (!facts.scopes.has(log.scope)) yield findingsOf('log', facts.logName(log), 'its scope is missing')
      const info = infoIn(raw)
      if (!metaIsSound(raw, info))
        yield findingsOf('log', facts.logName(log), 'its metadata or creation time is not what was stored')
      else if (headIsSound(raw, log) && raw['used'] !== BigInt(useTimeKey(info.appended)))
        yield findingsOf('log', facts.logName(log), 'it is not listed at the time of its last use', () => {
          facts.db.prepare('update log set used = ? where key = ?').run(useTimeKey(info.appended), log.key)
          return 'it was listed at the time of its last row'
        })
      else if (headIsSound(raw, log) && raw['sized'] !== BigInt(sizeKey(log.entries)))
        yield findingsOf('log', facts.logName(log), 'it is not listed by the number of its entries', () => {
          facts.db.prepare('update log set sized = ? where key = ?').run(sizeKey(log.entries), log.key)
          return 'it was listed by the number of its entries'
        })
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      yield findingsOf('log', quoteValue(raw['id']), error.reason)
    }
  }
}

/** Checks logs against the rows of their segments. */
export function* checkHeads(facts: Facts): Generator<Finding | undefined> {
  const raws = new Map<number, RawLog>()
  for (const raw of selectLog(facts.db, 'order by key')().all() as unknown as readonly RawLog[])
    raws.set(Number(raw['key']), raw)
  for (const log of facts.logs.values()) {
    yield undefined
    const where = facts.logName(log)
    const raw = raws.get(log.key)
    if (raw === undefined) continue // removed meanwhile
    const isSound = headIsSound(raw, log)
    const segment = facts.segments.get(log.segment)
    if (segment === undefined || !isSound) {
      const proven = provenHead(facts, log, raw)
      yield findingsOf(
        'log',
        where,
        segment === undefined ? `its segment ${log.segment} is missing` : 'its head is not what was stored',
        proven && (() => rebuildHead(facts, log, proven)),
      )
      continue
    }
    if (segment.scope !== log.scope) yield findingsOf('log', where, 'its segment is of another scope')
    const rows = rowsOf(facts, segment)
    if (rows === undefined) continue // reported with the segment
    if (rows.damage !== undefined) {
      yield findingsOf('row', where, rows.damage.what)
      continue
    }
    const derived = derivedHead(log, rows, facts.hash)
    if (!sameHead(log, derived)) {
      yield findingsOf(
        'log',
        where,
        rows.range.size < log.size
          ? `damaged at row ${rows.range.size}: its row is missing`
          : `its head is not that of its ${rows.range.size} rows`,
      )
      continue
    }
    const { tokens } = rows
    if (log.tokens !== tokens)
      yield findingsOf('log', where, 'its tokens are not those of its receipts', () => {
        facts.db.prepare('update log set tokens = ? where key = ?').run(tokens, log.key)
        return 'they were added up again'
      })
    for (const beside of rows.beside)
      yield findingsOf(
        'row',
        `${where} at ${beside.position}`,
        'the data stored beside the row does not match it',
        () => rebuildBeside(facts, log.segment, beside),
      )
  }
}

/** The head computed from rows, if the log's checksum confirms it. */
function provenHead(facts: Facts, log: LogRow, raw: RawLog): (LogRow & { readonly sum: number }) | undefined {
  const free = [...facts.segments.values()].filter(
    ({ key, logs, scope }) => scope === log.scope && (logs === 0 || key === log.segment),
  )
  for (const segment of free) {
    const rows = rowsOf(facts, segment)
    if (rows === undefined || rows.damage !== undefined) continue
    const derived = { ...derivedHead(log, rows, facts.hash), segment: segment.key }
    const sum = headSum(derived)
    // Either the columns or the checksum must match: one accident does not damage both.
    if (raw['sum'] === BigInt(sum) || (segment.key === log.segment && sameHead(log, derived)))
      return { ...derived, sum }
  }
  return undefined
}

function rebuildHead(
  facts: Facts,
  log: LogRow,
  { segment, size, entries, peaks, root, appended, sum }: LogRow & { readonly sum: number },
): string {
  facts.db
    .prepare(
      'update log set segment = ?, size = ?, entries = ?, peaks = ?, root = ?, appended = ?, sum = ? where key = ?',
    )
    .run(segment, size, entries, peaks, root, appended, sum, log.key)
  return `its head was rebuilt from its ${size} rows`
}

function rebuildBeside(facts: Facts, segment: number, { position, kind, index, node }: Beside): string {
  facts.db
    .prepare('update row set place = ?, node = ? where id = (? << 32) + ?')
    .run(placeOf({ kind, index }), node, segment, position)
  return 'it was computed again from the rows, whose root is that of the log'
}

export function* checkOperations(facts: Facts): Generator<Finding | undefined> {
  for (const raw of facts.each('select log, id, base, size, root, sum from operation', { log: 'log', id: 'id' })) {
    yield undefined
    const log = facts.logs.get(Number(raw['log']))
    const where = `${quoteValue(raw['id'])} of ${log === undefined ? `log ${String(raw['log'])}` : facts.logName(log)}`
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
    if (log === undefined) yield findingsOf('operation', where, 'its log is missing')
    else if (typeof id !== 'string' || !(root instanceof Uint8Array) || !fits(sum, key, id, base, size, root))
      yield findingsOf('operation', where, 'it is not what was stored')
    else if (base > size || size > BigInt(log.size)) yield findingsOf('operation', where, 'its rows are missing')
    else if (!isRootAt(facts, log, Number(size), root))
      yield findingsOf('operation', where, 'its root is not that of its rows')
  }
}

function isRootAt(facts: Facts, log: LogRow, size: number, root: Uint8Array): boolean {
  try {
    return equalBytes(rootOf(facts.rows.rangeAt(log.segment, size), facts.hash), root)
  } catch (error) {
    if (error instanceof Damaged || isUnreadable(error)) return true // reported with the rows
    throw error
  }
}

export function* checkLeases(facts: Facts): Generator<Finding | undefined> {
  for (const { log } of facts.all('select log from lease'))
    if (!facts.logs.has(Number(log))) yield findingsOf('lease', String(log), 'its log is missing')
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
