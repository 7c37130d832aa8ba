/**
 * A page of a list beside a store of many sessions, the whole list, and what an append pays for it. `--quick` for a small size, `--sizes` for
 * sessions of many sizes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, memoryStore, user, type Store } from 'indelible'
import { listSessions } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'

const sessions = process.argv.includes('--quick') ? 2000 : 100_000
/** How many messages a session has: one; or with `--sizes` 1 to 40, and a few more in every hundredth. */
const sizeOf = (session: number): number =>
  process.argv.includes('--sizes')
    ? session % 100 === 0
      ? 41 + ((session / 100) % 200)
      : 1 + ((session * 7919) % 40)
    : 1
const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
const median = (values: readonly number[]): string =>
  (values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN).toPrecision(3)

const timed = async <T>(times: number[], work: () => PromiseLike<T>): Promise<T> => {
  const from = performance.now()
  const done = await work()
  times.push(performance.now() - from)
  return done
}

const benched = async (name: string, store: Store): Promise<void> => {
  const all = []
  for (let from = 0; from < sessions; from += 1000)
    all.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(1000, sessions - from) }, async (_, index) => {
          const session = await createSession(store, {
            id: `s${from + index}`,
            metadata: { title: `Session ${index}` },
          })
          await session.append(Array.from({ length: sizeOf(from + index) }, () => user('What is 6 times 7?')))
          return session
        }),
      )),
    )
  for (const by of ['created', 'appended', 'entries', 'id'] as const) {
    const [first, middle, whole]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < 7; round++) await timed(first, () => listSessions(store, { by, limit: 20 }))
    let after: string | undefined
    let count = 0
    await timed(whole, async () => {
      do {
        const page = await listSessions(store, { by, limit: 500, ...(after !== undefined && { after }) })
        count += page.sessions.length
        if (count === 500 * Math.floor(sessions / 1000)) {
          const middleOf = page.next as string
          for (let round = 0; round < 7; round++)
            await timed(middle, () => listSessions(store, { by, limit: 20, after: middleOf }))
        }
        after = page.next
      } while (after !== undefined)
    })
    if (count !== sessions) throw new Error(`listed ${count} of ${sessions}`)
    const total = (whole[0] as number) - middle.reduce((sum, time) => sum + time, 0)
    console.log(`| ${name} | ${by} | ${median(first)} ms | ${median(middle)} ms | ${(total / 1000).toPrecision(3)} s |`)
  }
}

console.log(`${machine()}; ${sessions.toLocaleString('en')} sessions\n`)
console.log(
  '| store | order | first page of 20 | page of 20 in the middle | all, in pages of 500 |\n|---|---|---:|---:|---:|',
)
await benched('SQLite', await sqliteStore({ path: join(folder, 'list.db'), durability: 'os' }))
await benched('memory', memoryStore())
rmSync(folder, { recursive: true, force: true })
