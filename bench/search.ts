/**
 * Searching: how long a search takes at many sessions, what an index adds to an append and to the file, and the other ways
 * to index that were tried: FTS5 over the texts themselves, by words (`unicode61`) and by three characters (`trigram`).
 *
 *     node search.ts [SESSIONS] [MESSAGES OF EACH] [postgres]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSession, openSession, user, type Message, type Store } from 'indelible'
import { addTerms, decodeRow, textsOf } from '../src/entry/internal.ts'
import { indexStore, searchStore, type SearchOptions } from 'indelible/search'
import { sqliteStore } from 'indelible/store/sqlite'
import { messages, source } from './messages.ts'

const sessions = Number(process.argv[2] ?? 10_000)
const each = Number(process.argv[3] ?? 20)
const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-search-'))

/** The same numbers in every run. */
let state = 7
const random = (below: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state % below
}
const syllables = ['ba', 'ke', 'mi', 'so', 'tu', 'ran', 'del', 'vor', 'pin', 'lax']
const word = (): string => Array.from({ length: 3 }, () => syllables[random(syllables.length)]).join('') + random(100)
const han = [...'東京都天気会議資料明日予定確認変更注文返品電話住所商品価格']
/** A real message, with a word of its own, and every fifth one with Japanese. */
const messageOf = (n: number): Message => {
  const base = messages[random(messages.length)] as Message
  const own = `${word()}${n % 5 === 0 ? ` ${Array.from({ length: 12 }, () => han[random(han.length)]).join('')}` : ''}`
  return { ...base, content: [...base.content, { type: 'text', text: own }] }
}

const bytesOf = (path: string): number => statSync(path).size
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN
const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? NaN
const ms = (value: number): string => `${value.toPrecision(3)} ms`
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

const fill = async (store: Store): Promise<void> => {
  for (let n = 0; n < sessions; n++)
    await createSession(store, {
      id: `session ${n}`,
      messages: Array.from({ length: each }, () => messageOf(random(1e6))),
    })
}

const checkpoint = (file: string): void => {
  const db = new DatabaseSync(file)
  db.exec('pragma wal_checkpoint(truncate)')
  db.close()
}

/** A store, and how many bytes it takes. */
interface Place {
  readonly store: Store
  readonly bytes: () => Promise<number>
  readonly end: () => Promise<void>
}

const inFile = async (name: string): Promise<Place> => {
  const path = join(folder, name)
  const store = await sqliteStore({ path, durability: 'os' })
  const bytes = async (): Promise<number> => {
    checkpoint(path)
    return bytesOf(path)
  }
  return { store, bytes, end: async () => void (await store.close()) }
}

const inPostgres = async (name: string, url: string): Promise<Place> => {
  const { postgresStore } = await import('@indelible/postgres')
  const { Client } = await import('pg')
  const client = new Client({ connectionString: url })
  await client.connect()
  const schema = `bench search ${name} ${process.pid}`
  const store = await postgresStore({ connectionString: url, schema })
  const bytes = async (): Promise<number> => {
    await client.query('vacuum analyze')
    const { rows } = await client.query(
      `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = '${schema}' and c.relkind = 'r'`,
    )
    return Number((rows[0] as { readonly bytes: string }).bytes)
  }
  const end = async (): Promise<void> => {
    await store.close()
    await client.query(`drop schema "${schema}" cascade`)
    await client.end()
  }
  return { store, bytes, end }
}

const server =
  process.argv[4] === 'postgres'
    ? await (await import('../packages/postgres/test/postgres-server.ts')).startPostgres(true)
    : undefined
const open = (name: string): Promise<Place> => (server === undefined ? inFile(name) : inPostgres(name, server.url))

const place = await open('store')
const { store } = place
await fill(store)
const plain = await place.bytes()
console.log(`\n${sessions} sessions of ${each} messages; ${source}; ${mb(plain)} without an index\n`)

const began = performance.now()
const rows = await indexStore(store)
const took = performance.now() - began
const withIndex = await place.bytes()
console.log(
  `index: ${rows} rows in ${(took / 1000).toFixed(1)} s (${Math.round(rows / (took / 1000))} rows/s); ${mb(withIndex - plain)} more (${((withIndex / plain - 1) * 100).toFixed(0)} %)\n`,
)

const rare = word()
await (await openSession(store, 'session 0')).append(user(`a ${rare}zz 東京都庁舎 at last`))
const queries: readonly (readonly [string, string, SearchOptions?])[] = [
  ['a word of one message', `${rare}zz`],
  ['a frequent word', 'the'],
  ['two frequent words', 'flight reservation'],
  ['a phrase', '"flight reservation"'],
  ['a phrase that nowhere stands, of frequent words', '"the flight the reservation"'],
  ['a word, and one left out', 'flight -reservation'],
  ['the beginning of a word: one letter', 's', { typing: true }],
  ['two letters', 'sy', { typing: true }],
  ['four letters', 'syst', { typing: true }],
  ['two words, the second begun', 'flight res', { typing: true }],
  ['one Han character', '東'],
  ['two', '会議'],
  ['five, in one message', '東京都庁舎'],
  ['in messages of the user alone', 'flight', { role: 'user', in: 'messages' }],
  ['in tools alone', 'reservation', { in: 'tools' }],
  ['in one session', 'flight', { session: 'session 5' }],
  ['of the last hour', 'flight', { since: Date.now() - 3_600_000 }],
  ['a word that is nowhere', 'zzzzzzzz'],
]
console.log('| 20 hits of | the best | 95 % | the newest | 95 % | hits |\n|---|---:|---:|---:|---:|---:|')
for (const [name, query, options] of queries) {
  const times = { relevance: [] as number[], time: [] as number[] }
  let hits = 0
  for (let round = 0; round < 21; round++)
    for (const sort of ['relevance', 'time'] as const) {
      const from = performance.now()
      hits = (await searchStore(store, query, { ...options, sort })).hits.length
      if (round > 0) times[sort].push(performance.now() - from)
    }
  const { relevance, time } = times
  console.log(
    `| ${name} | ${ms(median(relevance))} | ${ms(p95(relevance))} | ${ms(median(time))} | ${ms(p95(time))} | ${hits} |`,
  )
}

/** Appends of one message, with and without an index, in turn. */
const appends = async (): Promise<void> => {
  const both = [await open('on'), await open('off')] as const
  const stores = both.map(({ store }) => store)
  await indexStore(stores[0] as Store)
  const opened = await Promise.all(stores.map((each) => createSession(each, { id: 'a' })))
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < 30; round++) {
    const messages = Array.from({ length: 100 }, () => messageOf(random(1e6)))
    for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const from = performance.now()
      for (const message of messages) await opened[which]?.append(message)
      times[which as 0 | 1].push((performance.now() - from) / messages.length)
    }
  }
  const [a, b] = [median(times[0]), median(times[1])]
  const [on, off] = [await both[0].bytes(), await both[1].bytes()]
  for (const each of both) await each.end()
  console.log(
    `\none append: ${(a * 1000).toFixed(0)} µs with an index, ${(b * 1000).toFixed(0)} µs without (${(a / b).toFixed(2)} ×); ${mb(on)} and ${mb(off)} stored (${(on / off).toFixed(2)} ×)`,
  )
}
await appends()

/** The same texts in other tables. */
if (server !== undefined) {
  await place.end()
  await server.stop()
  process.exit()
}
const texts: string[] = []
for (let n = 0; n < sessions; n += 10)
  for (const { body } of await store.read(`session ${n}`)) {
    const decoded = decodeRow(body)
    if (decoded._tag === 'Right')
      texts.push(
        textsOf(JSON.parse(decoded.right.text) as Message)
          .map(({ text }) => text)
          .join('\n'),
      )
  }
const size = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
console.log(
  `\n${texts.length} texts of ${mb(size)} in other tables\n\n| FTS5 | to fill | bytes of text | a frequent word | 会議 | flight res* |\n|---|---:|---:|---:|---:|---:|`,
)
const tried: readonly (readonly [string, string])[] = [
  ['the terms of each row, `detail=none` (chosen)', ''],
  ['the texts, `unicode61`', "tokenize='unicode61 remove_diacritics 2'"],
  ['the texts, `unicode61`, `detail=none`', "tokenize='unicode61 remove_diacritics 2', detail=none"],
  ['the texts, `trigram`', "tokenize='trigram'"],
  ['the texts, `trigram`, `detail=none`', "tokenize='trigram', detail=none"],
]
for (const [name, options] of tried) {
  const file = join(folder, `${tried.findIndex(([known]) => known === name)}.db`)
  const db = new DatabaseSync(file)
  db.exec(
    `pragma journal_mode = wal; pragma page_size = 8192; create virtual table t using fts5(x, columnsize=0, ${options === '' ? "detail=none, tokenize='ascii'" : options})`,
  )
  const insert = db.prepare('insert into t values (?)')
  const from = performance.now()
  for (let at = 0; at < texts.length; at += 20) {
    db.exec('begin')
    for (const text of texts.slice(at, at + 20)) {
      if (options !== '') insert.run(text)
      else {
        const terms = new Set<string>()
        addTerms(terms, text)
        insert.run([...terms].join(' '))
      }
    }
    db.exec('commit')
  }
  const filled = performance.now() - from
  db.exec('pragma wal_checkpoint(truncate)')
  const cells = ['"the"', '"会議"', '"flight" AND "res" *'].map((match) => {
    try {
      const statement = db.prepare('select rowid from t where t match ? order by rowid desc limit 20')
      const times: number[] = []
      let found = 0
      for (let round = 0; round < 11; round++) {
        const start = performance.now()
        found = statement.all(match).length
        if (round > 0) times.push(performance.now() - start)
      }
      return found === 0 ? 'nothing' : ms(median(times))
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
  })
  console.log(
    `| ${name} | ${(filled / 1000).toFixed(1)} s | ${(bytesOf(file) / size).toFixed(2)} × | ${cells.join(' | ')} |`,
  )
  db.close()
}
await place.end()
rmSync(folder, { recursive: true, force: true })
