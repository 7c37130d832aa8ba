/** Checks scopes, logs, their operations and leases against the rows of their segments. */
import { equalBytes, rootOf, type Hash } from '../../proof/internal.ts'
import { Damaged } from '../port/damage-error.ts'
import { findingsOf, isUnreadable, quoteValue, type Facts, type Finding, type SegmentRows } from './check-facts.ts'
import { rowsOf } from './check-rows.ts'
import { besideFinding } from './check-segments.ts'
import {
  infoIn,
  logIn,
  metaIsSound,
  nameIsSound,
  nameSum,
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
      const stored = logIn(raw)
      const log = { ...stored, segment: nameIsSound(raw, stored) ? stored.segment : namedSegment(facts, stored, raw) }
      if (log.segment !== stored.segment) yield segmentFinding(facts, log)
      facts.logs.set(log.key, log)
      const segment = facts.segments.get(log.segment)
      const twin = ofSegment.get(log.segment)
      ofSegment.set(log.segment, log)
      if (segment !== undefined) segment.logs += 1
      if (twin !== undefined)
        yield findingsOf('log', facts.logName(log), `it names the segment of ${facts.logName(twin)}`)
      if (!facts.scopes.has(log.scope)) yield findingsOf('log', facts.logName(log), 'its scope is missing')
      if (!metaIsSound(raw, infoIn(raw)))
        yield findingsOf('log', facts.logName(log), 'its metadata or creation time is not what was stored')
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
    const segment = facts.segments.get(log.segment)
    if (segment === undefined) {
      yield findingsOf('log', where, `its segment ${log.segment} is missing`)
      continue
    }
    if (segment.scope !== log.scope) yield findingsOf('log', where, 'its segment is of another scope')
    const rows = rowsOf(facts, segment)
    // Either the checksum or the rows must confirm the segment: one accident does not damage both.
    if (raw['sum'] !== BigInt(nameSum(log))) {
      const isProven =
        segment.scope === log.scope && rows !== undefined && sameHead(log, derivedHead(log, rows, facts.hash))
      yield segmentFinding(facts, log, isProven)
      if (!isProven) continue
    }
    if (rows === undefined) {
      yield findingsOf('log', where, 'the rows before its own can not be read')
      continue
    }
    if (rows.damage !== undefined) {
      yield findingsOf('row', where, rows.damage.what)
      continue
    }
    const isConfirmed = yield* checkHead(facts, where, log, raw, rows)
    if (!isConfirmed) continue // what is beside an altered row says which row it is
    for (const beside of rows.beside) yield besideFinding(facts, where, log.segment, beside)
  }
}

/**
 * Compares the columns of a log with what its rows give.
 *
 * @returns whether the log's head confirms its rows
 */
function* checkHead(
  facts: Facts,
  where: string,
  log: LogRow,
  raw: RawLog,
  rows: SegmentRows,
): Generator<Finding, boolean> {
  const derived = derivedHead(log, rows, facts.hash)
  if (!sameHead(log, derived)) {
    const { size, entries, peaks, root, appended } = derived
    // The head says what was acknowledged. It is made again only if a part of it confirms the rows.
    const isProven = equalBytes(root, log.root) || (size === log.size && equalBytes(peaks, log.peaks))
    yield findingsOf(
      'log',
      where,
      !isProven && size < log.size
        ? `damaged at row ${size}: its row is missing`
        : `its head is not that of its ${size} rows`,
      !isProven
        ? undefined
        : () => {
            facts.db
              .prepare('update log set size = ?, entries = ?, peaks = ?, root = ?, appended = ? where key = ?')
              .run(size, entries, peaks, root, appended, log.key)
            return `its head was rebuilt from its ${size} rows`
          },
    )
    if (!isProven) return false
    facts.logs.set(log.key, derived)
  }
  const { created } = infoIn(raw)
  const columns = {
    used: [useTimeKey(derived.appended ?? created), 'it is not listed at the time of its last use'],
    sized: [sizeKey(derived.entries), 'it is not listed by the number of its entries'],
    tokens: [rows.tokens, 'its tokens are not those of its receipts'],
  } as const
  for (const [name, [value, what]] of Object.entries(columns))
    if (raw[name] !== BigInt(value))
      yield findingsOf('log', where, what, () => {
        facts.db.prepare(`update log set ${name} = ? where key = ?`).run(value, log.key)
        return 'it was computed again from the rows'
      })
  return true
}

/** The segment that the checksum of a log names; otherwise the stored one. */
const namedSegment = (facts: Facts, log: LogRow, raw: RawLog): number =>
  [...facts.segments.values()].find(
    ({ key, scope }) => scope === log.scope && raw['sum'] === BigInt(nameSum({ ...log, segment: key })),
  )?.key ?? log.segment

const segmentFinding = (facts: Facts, log: LogRow, isProven = true): Finding =>
  findingsOf(
    'log',
    facts.logName(log),
    'its name or its segment is not what was stored',
    isProven
      ? () => {
          facts.db.prepare('update log set segment = ?, sum = ? where key = ?').run(log.segment, nameSum(log), log.key)
          return `it has the rows of segment ${log.segment} again`
        }
      : undefined,
  )

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
    else if (!facts.hasRepairs(log.segment) && !isRootAt(facts, log, Number(size), root))
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
