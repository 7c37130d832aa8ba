/** Checks the tables of a schema beyond their foreign keys, each with one statement over all scopes. */
import { isLeft, type JsonObject } from 'indelible/internal/json'
import {
  cancelled,
  countIn,
  sliceRows,
  withSignal,
  type StoreDriver,
  storeFaultText,
  type StoreFinding,
  storeOf,
  type StoreRepair,
  tokensIn,
  verifyLog,
} from 'indelible/internal/store'
import type { SignalLike } from 'indelible/internal/task'
import type { Database, Query, Rows } from './database.ts'
import { Refused } from './fault.ts'
import { sizedAt, usedAt } from './log.ts'
import { addLost, findLost } from './mentions.ts'
import { inPieces, sliceOf } from './rows.ts'
import { createdSum, metaSum } from './sum.ts'
import { termsOf } from './terms.ts'

interface Rule {
  readonly table: string
  readonly what: string
  /** Returns a query for `scope` and `name` of each violation. */
  readonly find: (schema: string) => string
  readonly repair?: { readonly text: (schema: string) => string; readonly done: string }
}

const lastUsed = usedAt('coalesce(appended, created)')
const sizeKey = sizedAt('entries')

const countOfMentions = (s: string): string =>
  `(select count(*) from ${s}.mention m where m.scope = r.scope and m.segment = r.segment and m.position = r.position)`
const miscounted = (s: string): string => `r.erased is null and coalesce(r.blocks, 0) < ${countOfMentions(s)}`
const isWithoutLog = (s: string): string =>
  `not exists (select 1 from ${s}.log l where l.scope = o.scope and l.key = o.log)`

const rules: readonly Rule[] = [
  {
    table: 'segment',
    what: 'it is marked as that of a removed log, but its log exists',
    find: (s) =>
      `select s.scope, s.key::text as name from ${s}.segment s join ${s}.log l on l.scope = s.scope and l.key = s.key where s.state <> 0`,
    repair: {
      text: (s) =>
        `update ${s}.segment g set state = 0 where g.state <> 0 and exists (select 1 from ${s}.log l where l.scope = g.scope and l.key = g.key)`,
      done: 'the mark was removed',
    },
  },
  {
    table: 'segment',
    what: 'its log is missing',
    find: (s) =>
      `select s.scope, s.key::text as name from ${s}.segment s where s.state = 0 and not exists (select 1 from ${s}.log l where l.scope = s.scope and l.key = s.key)`,
  },
  {
    table: 'segment',
    what: 'its parent is missing, or begins after it',
    find: (s) =>
      `select s.scope, s.key::text as name from ${s}.segment s left join ${s}.segment p on p.scope = s.scope and p.key = s.parent where s.parent is not null and (p.key is null or p.base >= s.base)`,
  },
  {
    table: 'log',
    what: 'its segment is missing, or is not where the log says',
    find: (s) =>
      `select l.scope, l.id as name from ${s}.log l left join ${s}.segment g on g.scope = l.scope and g.key = l.key
       where g.key is null or l.segments[array_length(l.segments, 1)] is distinct from l.key or l.bases[array_length(l.bases, 1)] is distinct from g.base
         or l.segments[array_length(l.segments, 1) - 1] is distinct from g.parent`,
  },
  {
    table: 'log',
    what: 'its size is not that of its rows',
    find: (s) =>
      `select l.scope, l.id as name from ${s}.log l join ${s}.segment g on g.scope = l.scope and g.key = l.key
       where l.size <> g.base + (select count(*) from ${s}.row r where r.scope = l.scope and r.segment = l.key)`,
  },
  {
    table: 'log',
    what: 'it is not listed at the time of its last use',
    find: (s) => `select scope, id as name from ${s}.log where used <> ${lastUsed}`,
    repair: {
      text: (s) => `update ${s}.log set used = ${lastUsed} where used <> ${lastUsed}`,
      done: 'it was listed at the time of its last row',
    },
  },
  {
    table: 'log',
    what: 'it is not listed by the number of its entries',
    find: (s) => `select scope, id as name from ${s}.log where sized <> ${sizeKey}`,
    repair: {
      text: (s) => `update ${s}.log set sized = ${sizeKey} where sized <> ${sizeKey}`,
      done: 'it was listed by the number of its entries',
    },
  },
  {
    table: 'row',
    what: 'the segment of rows is missing',
    find: (s) =>
      `select distinct r.scope, r.segment::text as name from ${s}.row r where not exists (select 1 from ${s}.segment g where g.scope = r.scope and g.key = r.segment)`,
  },
  {
    table: 'operation',
    what: 'its log is missing',
    find: (s) => `select o.scope, o.id as name from ${s}.operation o where ${isWithoutLog(s)}`,
    repair: {
      text: (s) => `delete from ${s}.operation o where ${isWithoutLog(s)}`,
      done: 'it was deleted',
    },
  },
  {
    table: 'operation',
    what: 'its rows are missing',
    find: (s) =>
      `select o.scope, o.id as name from ${s}.operation o join ${s}.log l on l.scope = o.scope and l.key = o.log where o.base > o.size or o.size > l.size`,
  },
  {
    table: 'operation',
    what: 'its root is not that of its log',
    find: (s) =>
      `select o.scope, o.id as name from ${s}.operation o join ${s}.log l on l.scope = o.scope and l.key = o.log where o.size = l.size and o.root <> l.root`,
  },
  {
    table: 'block',
    what: 'its bytes are not those of its id',
    find: (s) => `select b.scope, encode(b.id, 'hex') as name from ${s}.block b where sha256(b.bytes) <> b.id`,
  },
  {
    table: 'block',
    what: 'no row references it, and it was not stored on its own',
    find: (s) =>
      `select b.scope, encode(b.id, 'hex') as name from ${s}.block b where not b.kept and not exists (select 1 from ${s}.mention m where m.scope = b.scope and m.block = b.id)`,
  },
  {
    table: 'mention',
    what: 'the row names more blocks than are mentioned',
    find: findLost,
    repair: { text: addLost, done: 'they were read from the row again' },
  },
  {
    table: 'row',
    what: 'it counts fewer blocks than it names',
    find: (s) => `select r.scope, r.segment || ' at ' || r.position as name from ${s}.row r where ${miscounted(s)}`,
    repair: {
      text: (s) => `update ${s}.row r set blocks = ${countOfMentions(s)} where ${miscounted(s)}`,
      done: 'they were counted again',
    },
  },
  {
    table: 'mention',
    what: 'its row is missing',
    find: (s) =>
      `select m.scope, m.segment || ' at ' || m.position as name from ${s}.mention m where not exists (select 1 from ${s}.row r where r.scope = m.scope and r.segment = m.segment and r.position = m.position)`,
  },
]

/**
 * Checks the tables of a schema, and every log against its tree. Cost: O(everything). Throws Refused.
 *
 * @param driver that of the schema, which reads the logs
 */
export const checkSchema = async (
  db: Database,
  driver: StoreDriver,
  signal: SignalLike | undefined,
): Promise<readonly StoreFinding[]> => {
  const { schema } = db
  const query: Query = (text, values) => {
    endIf(signal)
    return db.read(text, values)
  }
  const findings: StoreFinding[] = [...(await sumMismatches(query, schema))]
  for (const { scope, id } of await wrongTokens(query, schema))
    findings.push(findingOf('log', scope, id, wrongTokensText, true))
  for (const { table, what, find, repair } of rules)
    for (const { scope, name } of await query(find(schema)))
      findings.push(findingOf(table, scope, name, what, repair !== undefined))
  for await (const { scope, id } of logsIn(query, schema, '')) {
    const store = storeOf(driver, String(scope))
    const verified = isLeft(store) ? store : await verifyLog(withSignal(store.right, signal), String(id))()
    endIf(signal)
    if (isLeft(verified) && verified.left._tag !== 'NoSuchLog')
      findings.push(findingOf('log', scope, id, storeFaultText(verified.left)))
  }
  return Object.freeze(findings)
}

/** Checks a schema, and repairs what can be repaired. Throws Refused. */
export const repairSchema = async (
  db: Database,
  driver: StoreDriver,
  signal: SignalLike | undefined,
): Promise<readonly StoreRepair[]> => {
  const repairs: StoreRepair[] = []
  for (const finding of await checkSchema(db, driver, signal)) {
    endIf(signal)
    const { repairable: _repairable, ...found } = finding
    repairs.push(Object.freeze({ ...found, done: await rebuild(db.write, db.schema, finding) }))
  }
  return Object.freeze(repairs)
}

/** Throws Refused. */
const endIf = (signal: SignalLike | undefined): void => {
  const fault = cancelled(signal)
  if (fault !== undefined) throw new Refused(fault)
}

/** All logs, in pieces, with their scope, key and id and these columns. */
const logsIn = (query: Query, schema: string, columns: string): AsyncIterable<Rows[number]> => {
  const text = `select scope, key, id${columns} from ${schema}.log
    where (scope, key) > ($1::text, $2::bigint) order by scope, key limit ${sliceRows}`
  return inPieces(query, text, [], { scope: '', key: -1 }, sliceRows)
}

/** Logs whose columns don't match their checksums. */
const sumMismatches = async (query: Query, schema: string): Promise<readonly StoreFinding[]> => {
  const findings: StoreFinding[] = []
  for await (const row of logsIn(query, schema, ', created, meta, changes, created_sum, meta_sum, terms')) {
    const { scope, id, created, meta, changes, terms, ...sums } = row as unknown as LogSums
    const say = (what: string): void => void findings.push(findingOf('log', scope, id, what))
    const isMeta = sums.meta_sum === metaSum(scope, id, meta, Number(changes))
    if (sums.created_sum !== createdSum(scope, id, Number(created))) say('its creation time is not what was stored')
    if (!isMeta) say('its metadata is not what was stored')
    else if (!sameTerms(terms, termsIn(scope, meta)))
      say('its terms are not those of its metadata, so lists may not find it: update its metadata')
  }
  return findings
}

/** The columns as `pg` returns them: a bigint is a string of digits. */
interface LogSums {
  readonly scope: string
  readonly id: string
  readonly created: string
  readonly meta: string
  readonly changes: string
  readonly created_sum: string
  readonly meta_sum: string
  readonly terms: readonly string[]
}

interface LogTokens {
  readonly scope: string
  readonly id: string
  readonly key: string
  readonly size: string
  readonly tokens: string
  /** The tokens that its own rows report. */
  readonly reported: number
}

const wrongTokensText = 'its tokens are not those of its receipts'

/** Logs whose tokens are not those that their own rows report. */
const wrongTokens = async (query: Query, schema: string, only?: string): Promise<readonly LogTokens[]> => {
  const wrong: LogTokens[] = []
  const text = sliceOf(
    `select position, body from ${schema}.row where scope = $1::text and segment = $2::bigint
     and position < $3::bigint and position > $4::bigint and place % 2 = 1 and erased is null and body like '%"receipt"%'
     order by position limit ${sliceRows}`,
    'position',
  )
  for await (const each of logsIn(query, schema, ', size, tokens')) {
    const log = each as unknown as Omit<LogTokens, 'reported'>
    const { scope, id, key, size } = log
    if (only !== undefined && nameOf(scope, id) !== only) continue
    let reported = 0
    for await (const { body } of inPieces(query, text, [scope, key, size], { position: -1 }))
      reported += tokensIn({ kind: 'note', body: String(body) })
    if (countIn(log.tokens) !== reported) wrong.push({ ...log, reported })
  }
  return wrong
}

const termsIn = (scope: string, meta: string): readonly string[] => {
  try {
    return termsOf(scope, JSON.parse(meta) as JsonObject)
  } catch {
    return [] // unreadable metadata is reported by the check of its rows
  }
}

const sameTerms = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((term) => b.includes(term))

/** Repairs a finding, if possible, and returns a description of the repair. */
const rebuild = async (
  query: Query,
  schema: string,
  { table, where, what }: StoreFinding,
): Promise<string | undefined> => {
  if (what === wrongTokensText) {
    const text = `update ${schema}.log set tokens = $5::bigint
      where scope = $1::text and key = $2::bigint and size = $3::bigint and tokens = $4::bigint`
    for (const { scope, key, size, tokens, reported } of await wrongTokens(query, schema, where))
      await query(text, [scope, key, size, tokens, reported])
    return 'they were added up again'
  }
  const repair = rules.find((rule) => rule.table === table && rule.what === what)?.repair
  if (repair !== undefined) await query(repair.text(schema))
  return repair?.done
}

const findingOf = (table: string, scope: unknown, name: unknown, what: string, repairable = false): StoreFinding =>
  Object.freeze({ table, where: nameOf(scope, name), what, repairable })

const nameOf = (scope: unknown, name: unknown): string => `${JSON.stringify(name)} of scope ${JSON.stringify(scope)}`
