/**
 * The sizes that people have: 20, 100, 400 and 1,000 messages, beside a file, LangGraph's SqliteSaver and bare statements. Processor
 * time of the medians of rounds in which the contenders take turns.
 *
 *     node --expose-gc small.ts [saves | tuples | appends | opens | idle | encrypted | postgres | start] [--quick]
 */
import { hash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createSession, openSession, textOf, type Message, type Session, type Store } from 'indelible'
import { chatStore } from '@indelible/ai-sdk'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { Client } from 'pg'
import { startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { asBetterSqlite } from './better-sqlite.ts'
import { graph, type Saver } from './langgraph.ts'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'
import type { MessageStore } from './turns.ts'

const quick = process.argv.includes('--quick')
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const folder = mkdtempSync(join(tmpdir(), 'indelible-small-'))
let files = 0
const fileOf = (ending: string): string => join(folder, `${files++}${ending}`)
const sqlite = (durability: 'os' | 'disk' = 'os'): Promise<Store> =>
  Promise.resolve(sqliteStore({ path: fileOf('.db'), durability }))

type Work = () => unknown

/** Microseconds of the processor for one operation: the median of the rounds, the contenders taking turns. */
const medians = async (works: readonly Work[], operations: number, rounds = quick ? 5 : 15): Promise<number[]> => {
  const found = works.map((): number[] => [])
  for (let round = -3; round < rounds; round++)
    for (const [which, work] of works.entries()) {
      globalThis.gc?.()
      const from = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(from)
      if (round >= 0) found[which]?.push((user + system) / operations)
    }
  return found.map((times) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? NaN)
}

/** The cells of a row: the last time is the measure of the others. */
const cells = (times: readonly number[]): string =>
  times
    .map((time, which) =>
      which === times.length - 1
        ? `${time.toFixed(1)} µs`
        : `${time.toFixed(1)} µs (${(time / (times.at(-1) as number)).toFixed(2)} ×)`,
    )
    .join(' | ')
const table = (title: string, columns: readonly string[]): void =>
  console.log(`\n### ${title}\n\n| | ${columns.join(' | ')} |\n|---|${'--:|'.repeat(columns.length)}`)

type UiMessage = Parameters<ReturnType<typeof chatStore>['saveChat']>[0]['messages'][number]
const uiMessage = (position: number): UiMessage => ({
  id: `m${position}`,
  role: position % 2 === 0 ? 'user' : 'assistant',
  parts: [{ type: 'text', text: textOf(messageAt(position)) }],
})

/** Saving a chat of the AI SDK at a turn: the whole list of messages each time, as its guide does. */
const saves = async (): Promise<void> => {
  table('AI SDK, `saveChat` of one more turn', ['chatStore', "the guide's file"])
  const store = await sqlite()
  const { saveChat } = chatStore(store)
  const path = fileOf('.json')
  const turns = 8
  for (const turn of [20, 100, 400]) {
    const start = Array.from({ length: 2 * (turn - turns / 2) }, (_, position) => uiMessage(position))
    const later = Array.from({ length: 2 * turns }, (_, at) => uiMessage(start.length + at))
    const turnsOf = (save: (messages: UiMessage[]) => unknown) => async (): Promise<void> => {
      for (let at = 1; at <= turns; at++) await save([...start, ...later.slice(0, 2 * at)])
    }
    const works: Work[] = [
      async () => {
        const chatId = `${turn} ${files++}`
        await saveChat({ chatId, messages: start })
        await turnsOf((messages) => saveChat({ chatId, messages }))()
      },
      async () => void (await saveChat({ chatId: `${turn} ${files++}`, messages: start })),
      turnsOf((messages) => writeFileSync(path, JSON.stringify(messages, null, 2))),
    ]
    const [all, first, file] = (await medians(works, turns)) as [number, number, number]
    console.log(`| turn ${turn} | ${cells([all - first, file])} |`)
  }
  await store.close()
}

/** By a name that the compiler does not follow: in this folder the types of LangGraph are not known. */
const langgraph = '@indelible/langgraph'

/** Reading the last checkpoint of a LangGraph thread. */
const tuples = async (): Promise<void> => {
  const { IndelibleSaver } = (await import(langgraph)) as { readonly IndelibleSaver: new (store: Store) => Saver }
  table('LangGraph, `getTuple`', ['a new saver', 'the same saver', 'SqliteSaver'])
  for (const size of [20, 100, 400, 800]) {
    const store = await sqlite()
    const db = new DatabaseSync(fileOf('.db'))
    const ours = new IndelibleSaver(store)
    const theirs = new SqliteSaver(asBetterSqlite(db)) as unknown as Saver
    const [fresh, same, peer] = [
      graph(
        ours,
        () => new IndelibleSaver(store),
        () => undefined,
      ),
      graph(
        ours,
        () => ours,
        () => undefined,
      ),
      graph(
        theirs,
        () => new SqliteSaver(asBetterSqlite(db)) as unknown as Saver,
        () => undefined,
      ),
    ] as [MessageStore, MessageStore, MessageStore]
    for (let turn = 0; turn < size / 2; turn++)
      for (const each of [fresh, peer]) await each.add([messageAt(2 * turn), messageAt(2 * turn + 1)], turn)
    const calls = Math.ceil(3000 / size)
    const repeated = (load: MessageStore['load']) => async (): Promise<void> => {
      for (let call = 0; call < calls; call++) if ((await load()) !== size) throw new Error('messages are missing')
    }
    console.log(
      `| ${size} messages | ${cells(
        await medians(
          [fresh, same, peer].map(({ load }) => repeated(load)),
          calls,
        ),
      )} |`,
    )
    await store.close()
    db.close()
  }
}

const bare = (durability: 'os' | 'disk', count: number): Work => {
  const db = new DatabaseSync(fileOf('.db'))
  db.exec(
    `pragma journal_mode = wal; pragma synchronous = ${durability === 'os' ? 'off' : 'full'}; create table row (id integer primary key, body text)`,
  )
  const [begin, insert, commit] = ['begin immediate', 'insert into row (body) values (?)', 'commit'].map((sql) =>
    db.prepare(sql),
  )
  return () => {
    for (let index = 0; index < count; index++) {
      begin?.run()
      insert?.run(JSON.stringify(messageAt(index)))
      commit?.run()
    }
  }
}

const appending = (session: Session, count: number) => async (): Promise<void> => {
  for (let index = 0; index < count; index++) await session.append(messageAt(index))
}

/** One append after the other, beside a bare INSERT of the message's JSON. */
const appends = async (): Promise<void> => {
  table('One append on SQLite', ['session.append', 'a bare INSERT'])
  for (const durability of ['os', 'disk'] as const) {
    const store = await sqlite(durability)
    const count = durability === 'os' ? 512 : 128
    const works = [appending(await createSession(store), count), bare(durability, count)]
    console.log(`| \`${durability}\` | ${cells(await medians(works, count))} |`)
    await store.close()
  }
}

/** Opening a session and reading all of it, beside the least that a checked open can do. */
const opens = async (): Promise<void> => {
  table('Opening and reading a session on SQLite', [
    'openSession, every message read',
    'rows, `JSON.parse`, two hashes a row',
  ])
  for (const size of [20, 100, 400, 1000]) {
    const path = fileOf('.db')
    const store = await sqliteStore({ path, durability: 'os' })
    const session = await createSession(store, { id: 's' })
    for (let from = 0; from < size; from++) await session.append(messageAt(from))
    const db = new DatabaseSync(path, { readOnly: true })
    const rows = db.prepare('select id, body, at, salt, erased from row order by id')
    rows.setReturnArrays(true)
    const node = 'n'.repeat(65)
    const calls = Math.ceil(4000 / size)
    const works: Work[] = [
      async () => {
        for (let call = 0; call < calls; call++) {
          const opened = await openSession(store, 's')
          if (opened.view().toArray().length !== size) throw new Error('messages are missing')
        }
      },
      () => {
        for (let call = 0; call < calls; call++) {
          const messages: Message[] = []
          for (const [, body] of rows.all() as unknown as readonly [number, string][]) {
            hash('sha256', body)
            hash('sha256', node)
            messages.push(JSON.parse(body) as Message)
          }
        }
      },
    ]
    console.log(`| ${size} messages | ${cells(await medians(works, calls))} |`)
    db.close()
    await store.close()
  }
}

/** Memory of an open session that nobody uses. */
const idle = async (): Promise<void> => {
  const store = await sqlite()
  const count = 2000
  for (let at = 0; at < count; at++) await (await createSession(store, { id: `s${at}` })).append(messageAt(at))
  const kept: Session[] = []
  const used = (): number => {
    for (let times = 0; times < 4; times++) globalThis.gc?.()
    const { heapUsed, external, arrayBuffers } = process.memoryUsage()
    return heapUsed + external + arrayBuffers
  }
  const empty = await createSession(store, { id: 'first' })
  await empty.close()
  const before = used()
  for (let at = 0; at < count; at++) kept.push(await createSession(store, { id: `empty ${at}` }))
  const created = used()
  for (let at = 0; at < count; at++) kept.push(await openSession(store, `s${at}`))
  const opened = used()
  table('Memory of an idle session', ['created, empty', 'opened, one message'])
  console.log(`| bytes | ${Math.round((created - before) / count)} | ${Math.round((opened - created) / count)} |`)
  if (kept.length !== 2 * count) throw new Error('sessions are missing')
  await store.close()
}

/** An encrypted append, beside a plain one. */
const encrypted = async (): Promise<void> => {
  table('One append on SQLite `os`', ['encrypted', 'plain'])
  const [withKey, plain] = [await sqlite(), await sqlite()]
  const count = 512
  const works = [
    appending(await createSession(withKeys(withKey, keyRing([newHostKey()]))), count),
    appending(await createSession(plain), count),
  ]
  console.log(`| | ${cells(await medians(works, count))} |`)
  await withKey.close()
  await plain.close()
}

/** Processor time of the client. */
const postgres = async (): Promise<void> => {
  const server = await startPostgres(false)
  if (server === undefined) return
  table('One append on PostgreSQL, processor time of the client', ['session.append', 'a bare INSERT'])
  const store = await postgresStore({ connectionString: server.url, schema: 'small' })
  const client = new Client({ connectionString: server.url })
  await client.connect()
  await client.query('create table bare (position bigint primary key, body text)')
  const count = 256
  let position = 0
  const insert: Work = async () => {
    for (let index = 0; index < count; index++)
      await client.query({
        name: 'bare',
        text: 'insert into bare (position, body) values ($1, $2)',
        values: [position++, JSON.stringify(messageAt(index))],
      })
  }
  console.log(`| | ${cells(await medians([appending(await createSession(store), count), insert], count))} |`)
  await client.end()
  await store.close()
  await server.stop()
}

/** A process that imports the library and stores one message, beside one that does nothing. */
const start = async (): Promise<void> => {
  const taken = join(folder, 'taken')
  const atEnd = fileOf('.cjs')
  writeFileSync(
    atEnd,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(taken)}, JSON.stringify(process.cpuUsage())))`,
  )
  const program = (text: string): string => {
    const path = fileOf('.mjs')
    writeFileSync(path, text)
    return path
  }
  const dist = join(import.meta.dirname, '../dist/node')
  const code = `
    const { createSession, user } = await import(${JSON.stringify(join(dist, 'index.js'))})
    const { sqliteStore } = await import(${JSON.stringify(join(dist, 'store/sqlite/index.js'))})
    const store = await sqliteStore({ path: ${JSON.stringify(join(folder, 'start'))} + process.pid + '.db', durability: 'os' })
    const session = await createSession(store)
    await session.append(user('hello'))`
  const cached = `import { enableCompileCache } from 'node:module'\nenableCompileCache(${JSON.stringify(join(folder, 'cache'))})\n`
  const starts = [program(''), program(code), program(`${cached}${code}`)]
  const spent = (path: string): number => {
    const { status, stderr } = spawnSync(process.execPath, ['--require', atEnd, path], { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    const { user, system } = JSON.parse(readFileSync(taken, 'utf8')) as NodeJS.CpuUsage
    return (user + system) / 1000
  }
  const found = starts.map((): number[] => [])
  for (let round = -2; round < (quick ? 9 : 25); round++)
    for (const [which, path] of starts.entries()) {
      const time = spent(path)
      if (round >= 0) found[which]?.push(time)
    }
  const [node, plain, kept] = found.map((times) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? NaN) as [
    number,
    number,
    number,
  ]
  table('A process up to its first append on SQLite', ['above Node', 'with the compile cache', 'Node alone'])
  console.log(
    `| processor time | ${(plain - node).toFixed(0)} ms | ${(kept - node).toFixed(0)} ms | ${node.toFixed(0)} ms |`,
  )
}

console.log(`${machine()}; ${source}`)
const all: Readonly<Record<string, () => Promise<void>>> = {
  saves,
  tuples,
  appends,
  opens,
  idle,
  encrypted,
  postgres,
  start,
}
try {
  for (const [name, run] of Object.entries(all)) if (wanted.length === 0 || wanted.includes(name)) await run()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
