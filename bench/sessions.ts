/** Sessions on SQLite: durable appends at any length, many at once, opening, forking, bytes on disk. `--quick` for small sizes. */
import { fdatasyncSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { createSession, faultMessage, openSession, type Fault, type Message, type Session, type Store } from 'indelible'
import { createFork, readRange } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine, measure, report, type Contender } from './measure.ts'
import { messageAt, source } from './messages.ts'
import { importTranscript, readTranscript } from '@indelible/transcripts'

const quick = process.argv.includes('--quick')
const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
let files = 0
const newPath = (): string => join(folder, `${files++}.db`)

const ok = <T>(answer: Either<Fault, T>): T => {
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

type Durability = 'disk' | 'os'

/** A session of so many messages, in a file of its own. */
const sessionOf = async (
  size: number,
  durability: Durability,
): Promise<{ store: Store; session: Session; path: string }> => {
  const path = newPath()
  const store = ok(await sqliteStore({ path, durability })())
  const session = ok(await createSession(store, { id: 's' })())
  for (let from = 0; from < size; from += 1000)
    ok(
      await session.append(
        Array.from({ length: Math.min(1000, size - from) }, (_, index) => messageAt(from + index)),
      )(),
    )
  return { store, session, path }
}

const appends = quick ? 20 : 300

/** One message after the other, each durable before the next, on a session of a length. */
const appendAt = async (size: number, durability: Durability): Promise<readonly Contender[]> => {
  const { session } = await sessionOf(size, durability)
  const bodies = Array.from({ length: appends }, (_, index) => JSON.stringify(messageAt(index)))
  const db = new DatabaseSync(newPath())
  db.exec(
    `pragma journal_mode = wal; pragma synchronous = ${durability === 'disk' ? 'full' : 'normal'}; create table row (id integer primary key, body text not null) strict`,
  )
  const insert = db.prepare('insert into row (body) values (?)')
  const file = openSync(newPath(), 'a')
  const each = (work: (index: number) => unknown) => () => async () => {
    for (let index = 0; index < appends; index++) await work(index)
  }
  return [
    {
      name: 'session.append',
      operations: appends,
      prepare: each(async (index) => ok(await session.append(messageAt(index))())),
    },
    {
      name: 'bare prepared INSERT + COMMIT',
      operations: appends,
      prepare: each((index) => {
        db.exec('begin immediate')
        insert.run(bodies[index] as string)
        db.exec('commit')
      }),
    },
    {
      name: durability === 'disk' ? 'write + fdatasync' : 'write',
      operations: appends,
      prepare: each((index) => {
        writeSync(file, bodies[index] as string)
        if (durability === 'disk') fdatasyncSync(file)
      }),
    },
  ]
}

/** So many sessions of one store, each appending one message after the other. */
const atOnce = async (sessions: number, durability: Durability): Promise<readonly Contender[]> => {
  const store = ok(await sqliteStore({ path: newPath(), durability })())
  const all = await Promise.all(
    Array.from({ length: sessions }, async (_, index) => ok(await createSession(store, { id: `s${index}` })())),
  )
  const each = Math.max(1, Math.floor((quick ? 64 : 3200) / sessions))
  return [
    {
      name: 'session.append',
      operations: sessions * each,
      prepare: () => () =>
        Promise.all(
          all.map(async (session) => {
            for (let index = 0; index < each; index++) ok(await session.append(messageAt(index))())
          }),
        ),
    },
  ]
}

const opening = async (size: number): Promise<readonly Contender[]> => {
  const { store, session } = await sessionOf(size, 'os')
  const texts = session
    .view()
    .toArray()
    .map((message) => JSON.stringify(message))
  const parsed: Message[] = []
  return [
    {
      name: 'openSession, and all of its view',
      operations: size,
      prepare: () => async () =>
        ok(await openSession(store, 's')())
          .view()
          .toArray(),
    },
    {
      name: 'JSON.parse of the same messages',
      operations: size,
      prepare: () => () => {
        parsed.length = 0
        for (const text of texts) parsed.push(JSON.parse(text) as Message)
      },
    },
    {
      name: 'readRange of the last 50',
      operations: size,
      prepare: () => async () => ok(await readRange(store, 's', -50)()).view.toArray(),
    },
  ]
}

const forking = async (size: number): Promise<readonly Contender[]> => {
  const { store } = await sessionOf(size, 'os')
  const forks = quick ? 5 : 50
  return [
    {
      name: 'createFork in the middle',
      operations: forks,
      prepare: () => async () => {
        for (let index = 0; index < forks; index++) ok(await createFork(store, 's', { at: size / 2 })())
      },
    },
  ]
}

console.log(`${machine()}; ${source}`)
const lengths = quick ? [10, 1000] : [10, 1000, 100_000]
for (const durability of ['disk', 'os'] as const) {
  const rows = []
  for (const size of lengths)
    rows.push([size.toLocaleString('en'), await measure(await appendAt(size, durability), quick ? 1 : 7)] as const)
  report(`One durable append, durability '${durability}', at a length of`, rows)
}
const busy = []
for (const sessions of [1, 8, 64])
  busy.push([`${sessions} sessions`, await measure(await atOnce(sessions, 'disk'), quick ? 1 : 5)] as const)
report(`One durable append of sessions that append at once, durability 'disk'`, busy)
const large = quick ? 2000 : 100_000
report('Opening a session, per message', [
  [large.toLocaleString('en'), await measure(await opening(large), quick ? 1 : 5)],
])
const forks = []
for (const size of quick ? [10, 10_000] : [10, 1_000_000])
  forks.push([size.toLocaleString('en'), await measure(await forking(size), quick ? 1 : 5)] as const)
report('One fork, at a length of', forks)

/** Bytes on disk for each byte of message JSON, one store a transcript. */
const transcripts = new URL('../../shared/data/transcripts/', import.meta.url)
const empty = newPath()
ok(await ok(await sqliteStore({ path: empty })()).close()())
console.log(`\nAn empty store has ${statSync(empty).size} bytes.`)
console.log(
  '\n### Bytes on disk per byte of message JSON\n\n| conversation | messages | JSON | on disk | ratio |\n|---|---:|---:|---:|---:|',
)
for (const name of readdirSync(transcripts).filter((file) => !file.startsWith('README'))) {
  const text = readFileSync(new URL(name, transcripts), 'utf8')
  const path = newPath()
  const store = ok(await sqliteStore({ path, durability: 'os' })())
  const { count } = ok(readTranscript(text))
  let json = 0
  let messages = 0
  for (let pick = 0; pick < count; pick++) {
    const transcript = ok(readTranscript(text, { pick }))
    for (const message of transcript.messages) json += Buffer.byteLength(JSON.stringify(message))
    messages += transcript.messages.length
    ok(await importTranscript(store, transcript, { id: `${name} ${pick}` })())
  }
  ok(await store.close()())
  const { size } = statSync(path)
  console.log(`| ${name} | ${messages} | ${json} | ${size} | ${(size / json).toFixed(2)} |`)
}
rmSync(folder, { recursive: true, force: true })
