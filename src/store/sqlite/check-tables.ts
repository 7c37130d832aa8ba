/** Checks each table against earlier ones, the rows, and the check sums of what neither a leaf nor another column gives. */
import { equalBytes, rootOf, type Hash } from '../../proof/internal.ts'
import { orDamage, Damaged } from '../port/damage-error.ts'
import { placeOf } from '../rules/rules.ts'
import {
  findingOf,
  quoteValue,
  type Facts,
  type Finding,
  type Findings,
  type Raw,
  type SegmentRows,
} from './check-facts.ts'
import { infoIn, logIn, metaIsSound, nameIsSound, nameSum, selectLogs, sizeKey, useTimeKey } from './log.ts'
import type { LogRow, RawLog } from './log.ts'
import { namedBlocks, namingPiece, namingRowsAfter, prepareMentions, restoreMention } from './mentions.ts'
import { isPacked, packedColumns, sizeAgain, unpack } from './packed.ts'
import { fits, sumOf } from './sum.ts'

export function* checkScopes(facts: Facts): Findings {
  for (const { key, name, sum } of facts.each('select key, name, sum from scope', 'key')) {
    yield 0
    facts.scopes.set(Number(key), String(name))
    if (typeof name !== 'string' || !fits(sum, name))
      yield findingOf('scope', `${String(key)} ${quoteValue(name)}`, 'its name is not what was stored')
  }
}

/** Reads the segments. Of one that was altered, the check sum proves the parent and the first position. */
export function* readSegments(facts: Facts): Findings {
  facts.db.function('sum_of', { varargs: true, useBigIntArguments: true }, (...columns) => sumOf(...columns))
  const proven = `select parents.parent, bases.base from
    (select null as parent union all select parent from segment where key = ?1 union all select key from segment) parents,
    (select base from segment where key = ?1 union select size from log where segment = ?1
      union select min(id) & 4294967295 from row where id between (?1 << 32) and (?1 << 32) + 4294967295) bases
    where base is not null and (parents.parent is null or parents.parent < ?1)
      and sum_of((select scope from segment where key = ?1), parents.parent, base) = ?2 limit 1`
  for (const stored of facts.each('select key, scope, parent, base, orphan, forks, sum from segment', 'key')) {
    yield 0
    const [key, scope, orphan, forks] = ['key', 'scope', 'orphan', 'forks'].map((name) => Number(stored[name])) as [number, number, number, number] // oxfmt-ignore
    const startOf = (raw: Raw) => ({ parent: raw['parent'] === null ? null : Number(raw['parent']), base: Number(raw['base']) }) // oxfmt-ignore
    let start = startOf(stored)
    if (!fits(stored['sum'], scope, start.parent, start.base)) {
      const [found] = facts.all(proven, key, stored['sum'] as bigint).map(startOf)
      const done =
        found && `it begins at ${found.base}${found.parent === null ? '' : ` of segment ${found.parent}`} again`
      const rebuild = found && facts.set('segment', key, found, done as string)
      yield findingOf('segment', String(key), 'its start or its parent is not what was stored', rebuild)
      start = found ?? start
    }
    const counts = { children: 0, logs: 0 }
    facts.segments.set(key, { key, scope, orphan, forks, ...start, ...counts, start: undefined, rows: undefined })
  }
  for (const { parent } of facts.segments.values()) {
    const above = facts.segments.get(parent ?? -1)
    if (above !== undefined) above.children += 1
  }
}

/** Reads the logs. Of one whose segment was altered, the check sum proves which it was. */
export function* readLogs(facts: Facts): Findings {
  const ofSegment = new Map<number, LogRow>()
  for (const raw of facts.each(selectLogs(), 'key')) {
    yield 0
    const read = orDamage(() => ({ stored: logIn(raw), isMetaSound: metaIsSound(raw, infoIn(raw)) }))
    if (read instanceof Damaged) {
      yield findingOf('log', quoteValue(raw['id']), read.reason)
      continue
    }
    const { stored, isMetaSound } = read
    const named = (segment: number): LogRow => ({ ...stored, segment })
    const proven = nameIsSound(raw, stored)
      ? undefined
      : [...facts.segments.values()].find((each) => each.scope === stored.scope && nameIsSound(raw, named(each.key)))
    const log = named(proven?.key ?? stored.segment)
    if (proven !== undefined) yield segmentFinding(facts, log)
    facts.logs.set(log.key, { log, raw })
    const where = facts.logName(log)
    const twin = ofSegment.get(log.segment)
    ofSegment.set(log.segment, log)
    const segment = facts.segments.get(log.segment)
    if (segment !== undefined) segment.logs += 1
    if (twin !== undefined) yield findingOf('log', where, `it names the segment of ${facts.logName(twin)}`)
    if (!facts.scopes.has(log.scope)) yield findingOf('log', where, 'its scope is missing')
    if (!isMetaSound) yield findingOf('log', where, 'its metadata or creation time is not what was stored')
  }
}

const segmentFinding = (facts: Facts, log: LogRow, isProven = true): Finding => {
  const columns = { segment: log.segment, sum: nameSum(log) }
  const rebuild = facts.set('log', log.key, columns, `it has the rows of segment ${log.segment} again`)
  const what = 'its name or its segment is not what was stored'
  return findingOf('log', facts.logName(log), what, isProven ? rebuild : undefined)
}

/** Compares logs with the rows of their segments. */
export function* checkLogs(facts: Facts): Findings {
  for (const { log, raw } of facts.logs.values()) {
    yield 0
    const where = facts.logName(log)
    const segment = facts.segments.get(log.segment)
    if (segment === undefined) {
      yield findingOf('log', where, `its segment ${log.segment} is missing`)
      continue
    }
    const isOther = segment.scope !== log.scope
    if (isOther) yield findingOf('log', where, 'its segment is of another scope')
    const { rows } = segment
    const derived = rows && derivedHead(log, rows, facts.hash)
    // Either the check sum or the rows must confirm the segment: one accident does not damage both.
    if (!nameIsSound(raw, log)) {
      const isProven = !isOther && derived !== undefined && sameHead(log, derived)
      yield segmentFinding(facts, log, isProven)
      if (!isProven) continue
    }
    if (rows === undefined || derived === undefined)
      yield findingOf('log', where, 'the rows before its own can not be read')
    else if (rows.damage !== undefined) yield findingOf('row', where, rows.damage)
    // What is beside an altered row says which row it is.
    else if (yield* checkHead(facts, where, log, raw, derived)) yield* checkBeside(facts, where, log.segment, rows)
  }
}

/** Compares the columns of a log with what its rows give. Returns whether its head confirms them. */
function* checkHead(
  facts: Facts,
  where: string,
  log: LogRow,
  raw: RawLog,
  derived: LogRow,
): Generator<Finding, boolean> {
  const { key, size, entries, peaks, root, appended, tokens } = derived
  if (!sameHead(log, derived)) {
    // The head says what was acknowledged. It is made again only if a part of it confirms the rows.
    const isProven = equalBytes(root, log.root) || (size === log.size && equalBytes(peaks, log.peaks))
    const isShort = !isProven && size < log.size
    const what = isShort ? `damaged at row ${size}: its row is missing` : `its head is not that of its ${size} rows`
    const columns = { size, entries, peaks, root, appended }
    const rebuild = facts.set('log', key, columns, `its head was rebuilt from its ${size} rows`)
    yield findingOf('log', where, what, isProven ? rebuild : undefined)
    if (!isProven) return false
    facts.logs.set(key, { log: derived, raw })
  }
  const used = useTimeKey(appended ?? infoIn(raw).created)
  for (const [column, value, what] of [
    ['used', used, 'it is not listed at the time of its last use'],
    ['sized', sizeKey(entries), 'it is not listed by the number of its entries'],
    ['tokens', tokens, 'its tokens are not those of its receipts'],
  ] as const)
    if (raw[column] !== BigInt(value))
      yield findingOf(
        'log',
        where,
        what,
        facts.set('log', key, { [column]: value }, 'it was computed again from the rows'),
      )
  return true
}

/** The rows whose node or place is not what the rows give. */
function* checkBeside(facts: Facts, where: string, segment: number, { beside }: SegmentRows): Generator<Finding> {
  for (const each of beside) {
    const columns = { place: placeOf(each), node: each.node }
    const row = (BigInt(segment) << 32n) + BigInt(each.position)
    const rebuild = facts.set('row', row, columns, 'it was computed again from the rows', 'id')
    yield findingOf('row', `${where} at ${each.position}`, 'the data stored beside the row does not match it', rebuild)
  }
}

/** Checks segments against each other and against the logs. */
export function* checkSegments(facts: Facts): Findings {
  for (const { key, scope, parent, base, orphan, forks, children, logs, rows } of facts.segments.values()) {
    yield 0
    const above = facts.segments.get(parent ?? -1)
    const found = (what: string, columns?: Readonly<Record<string, number>>, done = ''): Finding =>
      findingOf('segment', String(key), what, columns && facts.set('segment', key, columns, done))
    if (!facts.scopes.has(scope)) yield found('its scope is missing')
    if (parent !== null && above === undefined) yield found(`its parent ${parent} is missing`)
    if (above !== undefined && (above.base >= base || above.scope !== scope))
      yield found(`its parent ${above.key} begins after it, or is of another scope`)
    if (forks !== children)
      yield found(`it counts ${forks} forks, and has ${children}`, { forks: children }, `set to ${children}`)
    if (orphan !== 0 && logs > 0)
      yield found('it is marked as that of a removed log, but its log exists', { orphan: 0 }, 'the mark was removed')
    if (orphan === 0 && logs === 0) yield found('its log is missing')
    if (orphan !== 0 && orphan !== 1) yield found('its mark of a removed log can not be read')
    if (orphan !== 1 || logs > 0 || rows === undefined) continue
    if (rows.damage !== undefined) yield findingOf('row', `segment ${key}`, rows.damage)
    yield* checkBeside(facts, `segment ${key}`, key, rows)
  }
}

export function* checkOperations(facts: Facts): Findings {
  for (const operation of facts.each('select log, id, base, size, root, sum from operation', 'log', 'id')) {
    yield 0
    const { log: key, id, base, size, root, sum } = operation as Readonly<Record<'log' | 'base' | 'size' | 'sum', bigint>> & { readonly id: string; readonly root: Uint8Array } // oxfmt-ignore
    const log = facts.logs.get(Number(key))?.log
    const where = `${quoteValue(id)} of ${log === undefined ? `log ${key}` : facts.logName(log)}`
    if (log === undefined) yield findingOf('operation', where, 'its log is missing')
    else if (!fits(sum, key, id, base, size, root)) yield findingOf('operation', where, 'it is not what was stored')
    else if (base > size || size > BigInt(log.size)) yield findingOf('operation', where, 'its rows are missing')
  }
}

export function* checkLeases(facts: Facts): Findings {
  for (const { log } of facts.each('select log from lease', 'log')) {
    yield 0
    if (!facts.logs.has(Number(log))) yield findingOf('lease', String(log), 'its log is missing')
  }
}

const placeOfRow = (row: bigint): string => `by segment ${row >> 32n} at ${row & 0xffffffffn}`

/** Compares the rows that name blocks with their mentions. */
export function* checkMentions(facts: Facts): Findings {
  const sql = prepareMentions(facts.db)
  for (let [last, count] = [-(2n ** 63n), namingPiece]; count === namingPiece;) {
    const rows = namingRowsAfter(sql, last)
    for (const row of rows) {
      yield 0
      const { id, blocks, mentions } = row
      if (mentions >= blocks) continue
      const named = namedBlocks(sql, id)?.blocks ?? new Set<bigint>()
      for (const block of named) facts.lostBlocks.add(block)
      const restore = (): string => {
        restoreMention(sql, row)
        return 'they were read from the row again'
      }
      const what = `the row names ${blocks} blocks, and ${mentions} are mentioned`
      yield findingOf('mention', placeOfRow(id), what, BigInt(named.size) < blocks ? undefined : restore)
    }
    ;[last, count] = [rows.at(-1)?.id ?? last, rows.length]
  }
  const mentions = `select mention.row, mention.block, row.id as there, row.blocks, block.scope as scope
    from mention left join row on row.id = mention.row left join block on block.key = mention.block`
  for (const mention of facts.each(mentions, 'mention.row', 'mention.block')) {
    yield 0
    const { row, block, there, blocks, scope } = mention as Readonly<Record<'row' | 'block', bigint>> & Raw
    const found = (what: string, rebuild?: () => string): Finding =>
      findingOf('mention', `of block ${block} ${placeOfRow(row)}`, what, rebuild)
    const drop = (): string => {
      facts.db.prepare('delete from mention where row = ? and block = ?').run(row, block)
      return 'it was removed'
    }
    if (there === null) yield found('the row is missing', drop)
    else if (scope === null) yield found('the block is missing')
    else if (Number(scope) !== facts.segments.get(Number(row >> 32n))?.scope)
      yield found('the block is of another scope')
    else if (blocks !== null) continue
    else if (namedBlocks(sql, row)?.blocks.has(block) !== true) yield found('the row does not name it', drop)
    else {
      const [count] = facts.all('select count(*) as blocks from mention where row = ?', row)
      const rebuild = facts.set('row', row, count as { readonly blocks: bigint }, 'they were counted again', 'id')
      yield findingOf('row', placeOfRow(row), 'it names blocks, and counts none', rebuild)
    }
  }
}

/** Checks blocks, their bytes, and whether a row mentions them. */
export function* checkBlocks(facts: Facts): Findings {
  const read = `select scope, id, kept, block.sum, ${packedColumns}, exists (select 1 from mention where mention.block = block.key) as used
    from block left join content on content.block = block.key where block.key = ?`
  for (const { key } of facts.each('select key from block', 'key') as Iterable<{ readonly key: bigint }>) {
    const [raw] = facts.all(read, key)
    yield raw?.['bytes'] instanceof Uint8Array ? raw['bytes'].length : 0
    if (raw === undefined) continue // removed meanwhile
    const { id, sum, bytes, used } = raw
    const [scope, kept, size] = [raw['scope'], raw['kept'], raw['size']] as [bigint, bigint, number | null]
    const found = (what: string, rebuild?: () => string): Finding =>
      findingOf('block', id instanceof Uint8Array ? Buffer.from(id).toString('hex') : String(key), what, rebuild)
    const isOf = (own: Uint8Array): boolean => id instanceof Uint8Array && equalBytes(id, own)
    const setSize = (to: number | null): (() => string) =>
      facts.set('content', key, { size: to }, 'its size was made again from its bytes', 'block')
    const whole = bytes instanceof Uint8Array ? unpack({ bytes, size }) : undefined
    const digest = whole && facts.hash(whole)
    if (!facts.scopes.has(Number(scope))) yield found('its scope is missing')
    if (digest === undefined) yield found('its bytes are missing')
    else if (!isOf(digest)) {
      const again = sizeAgain(bytes as Uint8Array, (own) => isOf(facts.hash(own)))
      const setId = facts.set('block', key, { id: digest }, 'its id was computed again from its bytes')
      const rebuild = again !== undefined ? setSize(again) : fits(sum, scope, digest, kept) ? setId : undefined
      yield found('its bytes are not those of its id', rebuild)
      if (rebuild !== undefined) continue
    } else if (isPacked({ size }) && whole === bytes)
      yield found('its size is of compressed bytes, and they are not compressed', setSize(null))
    if (!(id instanceof Uint8Array) || !fits(sum, scope, id, kept)) {
      const other = kept === 1n ? 0n : 1n
      const isProven = id instanceof Uint8Array && fits(sum, scope, id, other)
      const rebuild = facts.set('block', key, { kept: other }, `it is ${other === 1n ? 'kept' : 'not kept'} again`)
      yield found('its id, or whether it is kept, is not what was stored', isProven ? rebuild : undefined)
    }
    if (used === 0n && kept === 0n && !facts.lostBlocks.has(key))
      yield found('no row references it, and it was not stored on its own')
  }
  const strays = 'select block from content where not exists (select 1 from block where block.key = content.block)'
  for (const { block } of facts.all(strays))
    yield findingOf('content', String(block), 'bytes of a block that is missing')
}

const derivedHead = (log: LogRow, { range, entries, appended, tokens }: SegmentRows, hash: Hash): LogRow => ({
  ...log,
  appended,
  size: range.size,
  entries,
  tokens,
  peaks: Buffer.concat(range.peaks),
  root: rootOf(range, hash),
})

const sameHead = (a: LogRow, b: LogRow): boolean =>
  a.appended === b.appended &&
  a.size === b.size &&
  a.entries === b.entries &&
  equalBytes(a.peaks, b.peaks) &&
  equalBytes(a.root, b.root)
