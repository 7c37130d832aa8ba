/** Encrypted sessions beside plain ones: appends and opening, in memory and on SQLite, with real messages. `--quick` for fewer. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { createSession, faultMessage, memoryStore, openSession, type Fault, type Session, type Store } from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { createRedactor } from 'indelible/redact'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine, measure, report, type Contender } from './measure.ts'
import { messageAt } from './messages.ts'

const quick = process.argv.includes('--quick')
const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
let files = 0

const ok = <T>(answer: Either<Fault, T>): T => {
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

const ring = keyRing([newHostKey()])
const appends = quick ? 50 : 400

const sqlite = (durability: 'os' | 'disk') => async (): Promise<Store> =>
  ok(await sqliteStore({ path: join(folder, `${files++}.db`), durability })())

type Kind = 'plain' | 'encrypted' | 'redacted'
const kinds: readonly Kind[] = ['plain', 'encrypted', 'redacted']

const sessionOn = async (fresh: () => Promise<Store>, kind: Kind): Promise<Session> => {
  const store = await fresh()
  const redact = kind === 'redacted' ? { redact: createRedactor() } : {}
  return ok(await createSession(kind === 'encrypted' ? withKeys(store, ring) : store, { id: 's', ...redact })())
}

/** One message after the other, each acknowledged before the next. */
const appending = (fresh: () => Promise<Store>): Promise<readonly Contender[]> =>
  Promise.all(
    kinds.map(async (kind): Promise<Contender> => {
      const session = await sessionOn(fresh, kind)
      return {
        name: kind,
        operations: appends,
        prepare: () => async () => {
          for (let index = 0; index < appends; index++) ok(await session.append(messageAt(index))())
        },
      }
    }),
  )

/** 64 sessions of one store, each appending one message after the other. */
const together = (fresh: () => Promise<Store>): Promise<readonly Contender[]> =>
  Promise.all(
    kinds.map(async (kind): Promise<Contender> => {
      const store = await fresh()
      const place = kind === 'encrypted' ? withKeys(store, ring) : store
      const redact = kind === 'redacted' ? { redact: createRedactor() } : {}
      const sessions: Session[] = []
      for (let count = 0; count < 64; count++)
        sessions.push(ok(await createSession(place, { id: `s${count}`, ...redact })()))
      const each = quick ? 3 : 10
      return {
        name: kind,
        operations: 64 * each,
        prepare: () => async () => {
          await Promise.all(
            sessions.map(async (session, who) => {
              for (let index = 0; index < each; index++) ok(await session.append(messageAt(who * each + index))())
            }),
          )
        },
      }
    }),
  )

const opening = async (fresh: () => Promise<Store>, size: number): Promise<readonly Contender[]> =>
  Promise.all(
    (['plain', 'encrypted'] as const).map(async (kind): Promise<Contender> => {
      const store = await fresh()
      const place = kind === 'encrypted' ? withKeys(store, ring) : store
      const session = ok(await createSession(place, { id: 's' })())
      for (let from = 0; from < size; from += 500)
        ok(await session.append(Array.from({ length: Math.min(500, size - from) }, (_, at) => messageAt(from + at)))())
      return { name: kind, operations: size, prepare: () => async () => void ok(await openSession(place, 's')()) }
    }),
  )

console.log(machine())
const rounds = quick ? 3 : 9
report('One append, acknowledged before the next', [
  ['memory', await measure(await appending(async () => memoryStore()), rounds)],
  ["SQLite, 'os'", await measure(await appending(sqlite('os')), rounds)],
  ["SQLite, 'disk'", await measure(await appending(sqlite('disk')), rounds)],
])
report('One append of 64 sessions that append at once', [
  ["SQLite, 'os'", await measure(await together(sqlite('os')), rounds)],
  ["SQLite, 'disk'", await measure(await together(sqlite('disk')), rounds)],
])
report('Opening, per message', [['SQLite, 2,298 messages', await measure(await opening(sqlite('os'), 2298), rounds)]])

/** Processor time of an append, in microseconds: the same whatever else the machine does. The median of rounds that take turns. */
const processorTime = async (fresh: () => Promise<Store>): Promise<string> => {
  const sessions = await Promise.all(kinds.map((kind) => sessionOn(fresh, kind)))
  const found = kinds.map((): number[] => [])
  for (let round = -1; round < rounds; round++)
    for (const [which, session] of sessions.entries()) {
      globalThis.gc?.()
      const from = process.cpuUsage()
      for (let index = 0; index < appends; index++) ok(await session.append(messageAt(index))())
      const { user, system } = process.cpuUsage(from)
      if (round >= 0) found[which]?.push((user + system) / appends)
    }
  const medians = found.map((values) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN)
  return medians.map((value) => `${value.toFixed(1)} µs (${(value / (medians[0] ?? NaN)).toFixed(2)}×)`).join(' | ')
}
console.log(`\n### Processor time of one append\n\n| | ${kinds.join(' | ')} |\n|---|---:|---:|---:|`)
console.log(`| memory | ${await processorTime(async () => memoryStore())} |`)
console.log(`| SQLite, 'os' | ${await processorTime(sqlite('os'))} |`)
console.log(`| SQLite, 'disk' | ${await processorTime(sqlite('disk'))} |`)

const bytes = async (kind: Kind): Promise<number> => {
  const before = new Set(readdirSync(folder))
  const session = await sessionOn(sqlite('os'), kind)
  for (let index = 0; index < 914; index++) ok(await session.append(messageAt(index))())
  await session.close()
  return readdirSync(folder)
    .filter((name) => !before.has(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}
const [plain, encrypted] = [await bytes('plain'), await bytes('encrypted')]
console.log(
  `\n914 messages on SQLite: ${plain} bytes plain, ${encrypted} encrypted (${(encrypted / plain).toFixed(2)}×)`,
)
rmSync(folder, { recursive: true, force: true })
