/** Checks segments against each other, against the logs and against the rows. */
import { placeOf } from '../rules/rules.ts'
import { findingsOf, numberIn, type Beside, type Facts, type Finding, type Segment } from './check-facts.ts'
import type { Base } from './rows.ts'
import { fits } from './sum.ts'

/** Reads all segments before any of them is checked. */
export function readSegments(facts: Facts): readonly Finding[] {
  for (const raw of facts.all('select key, scope, parent, base, orphan, forks, sum from segment order by key')) {
    const [key, scope, base, orphan, forks] = ['key', 'scope', 'base', 'orphan', 'forks'].map((name) =>
      numberIn(raw[name]),
    ) as [number, number, number, number, number]
    const parent = raw['parent'] === null ? null : numberIn(raw['parent'])
    const sum = raw['sum'] === null ? null : numberIn(raw['sum'])
    const isSound = fits(sum, scope, parent, base)
    const own = { children: 0, logs: 0, rows: undefined, start: undefined }
    facts.segments.set(key, { key, scope, parent, base, orphan, forks, isSound, sum, ...own })
  }
  return []
}

/** Proves the start and the parent of each segment by its checksum, before its rows are read. */
export function* proveSegments(facts: Facts): Generator<Finding | undefined> {
  for (const segment of facts.segments.values()) {
    yield undefined
    const { key, isSound } = segment
    const proven = isSound ? segment : provenBase(facts, segment)
    if (!isSound)
      yield findingsOf(
        'segment',
        String(key),
        'its start or its parent is not what was stored',
        proven &&
          (() => {
            facts.db
              .prepare('update segment set parent = ?, base = ? where key = ?')
              .run(proven.parent, proven.base, key)
            facts.rows.forget(key)
            return `it begins at ${proven.base}${proven.parent === null ? '' : ` of segment ${proven.parent}`} again`
          }),
      )
    if (proven !== undefined) Object.assign(segment, { parent: proven.parent, base: proven.base })
  }
  for (const { parent } of facts.segments.values()) {
    const above = parent === null ? undefined : facts.segments.get(parent)
    if (above !== undefined) above.children += 1
  }
}

/** Checks segments against each other and against the logs. */
export function* checkSegments(facts: Facts): Generator<Finding | undefined> {
  for (const segment of facts.segments.values()) {
    const { key, scope, parent, base, orphan, forks, children, logs } = segment
    const where = String(key)
    yield undefined
    const above = parent === null ? undefined : facts.segments.get(parent)
    if (!facts.scopes.has(scope)) yield findingsOf('segment', where, 'its scope is missing')
    if (parent !== null && above === undefined) yield findingsOf('segment', where, `its parent ${parent} is missing`)
    if (above !== undefined && (above.base >= base || above.scope !== scope))
      yield findingsOf('segment', where, `its parent ${parent} begins after it, or is of another scope`)
    if (forks !== children)
      yield findingsOf('segment', where, `it counts ${forks} forks, and has ${children}`, () => {
        facts.db.prepare('update segment set forks = ? where key = ?').run(children, key)
        return `set to ${children}`
      })
    if (orphan !== 0 && logs > 0)
      yield findingsOf('segment', where, 'it is marked as that of a removed log, but its log exists', () => {
        facts.db.prepare('update segment set orphan = 0 where key = ?').run(key)
        return 'the mark was removed'
      })
    if (orphan === 0 && logs === 0) yield findingsOf('segment', where, 'its log is missing')
    if (orphan !== 0 && orphan !== 1) yield findingsOf('segment', where, 'its mark of a removed log can not be read')
    if (orphan === 1 && logs === 0) {
      if (segment.rows?.damage !== undefined) yield findingsOf('row', `segment ${key}`, segment.rows.damage.what)
      for (const beside of segment.rows?.beside ?? []) yield besideFinding(facts, `segment ${key}`, key, beside)
    }
  }
}

/** A row whose node or place is not what its rows give. */
export const besideFinding = (facts: Facts, where: string, segment: number, beside: Beside): Finding =>
  findingsOf('row', `${where} at ${beside.position}`, 'the data stored beside the row does not match it', () => {
    const { position, node } = beside
    facts.db
      .prepare('update row set place = ?, node = ? where id = (? << 32) + ?')
      .run(placeOf(beside), node, segment, position)
    return 'it was computed again from the rows'
  })

/** The base and parent of a segment, derived from its rows, if the checksum confirms them. */
function provenBase(facts: Facts, segment: Segment): Base | undefined {
  const { key, scope, sum } = segment
  const first = facts.one(
    'select min(id) & 4294967295 as first from row where id between (? << 32) and (? << 32) + 4294967295',
    key,
    key,
  )['first']
  const sizes = [...facts.logs.values()].filter((log) => log.segment === key).map(({ size }) => size)
  const bases = new Set([segment.base, ...(typeof first === 'bigint' ? [Number(first)] : []), ...sizes])
  for (const base of bases)
    for (const parent of [null, segment.parent, ...facts.segments.keys()])
      if (fits(sum, scope, parent, base) && (parent === null || parent < key)) return { parent, base }
  return undefined
}
