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
  for (const by of ['created', 'appended', 'entries', 'tokens', 'id'] as const) {
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

/** All sessions of a store of 10,000 by their tokens: by the sums in the list, and by reading the receipts of each. */
const benchedTokens = async (name: string, store: Store): Promise<void> => {
  const count = sessions / 10
  const ids = Array.from({ length: count }, (_, index) => `s${index}`)
  for (const [index, id] of ids.entries()) {
    const session = await createSession(store, { id, metadata: { title: id }, messages: [user('What is 6 times 7?')] })
    const usage = { input: 1000 + ((index * 7919) % count), output: 100 }
    await session.note({ type: 'receipt', len: 1, contextDigest: '0'.repeat(64), model: 'claude-opus-4-5', usage })
    await session.close()
  }
  const [page, all, read]: [number[], number[], number[]] = [[], [], []]
  const spent = async (times: number[], work: () => PromiseLike<unknown>): Promise<void> => {
    const from = process.cpuUsage()
    await work()
    times.push(process.cpuUsage(from).user / 1000)
  }
  for (let round = 0; round < 5; round++) {
    await spent(page, () => listSessions(store, { by: 'tokens', limit: 20 }))
    await spent(all, async () => {
      let after: string | undefined
      do after = (await listSessions(store, { limit: 1000, ...(after !== undefined && { after }) })).next
      while (after !== undefined)
    })
  }
  await spent(read, async () => {
    for (const id of ids) await store.read(id, { only: 'note' })
  })
  console.log(
    `\n${name}, ${count} sessions by tokens, processor time: a page of 20 ${median(page)} ms, all in pages of 1,000 ${median(all)} ms; the receipts of each ${median(read)} ms`,
  )
}

console.log(`${machine()}; ${sessions.toLocaleString('en')} sessions\n`)
console.log(
  '| store | order | first page of 20 | page of 20 in the middle | all, in pages of 500 |\n|---|---|---:|---:|---:|',
)
await benched('SQLite', await sqliteStore({ path: join(folder, 'list.db'), durability: 'os' }))
await benched('memory', memoryStore())
await benchedTokens('SQLite', await sqliteStore({ path: join(folder, 'tokens.db'), durability: 'os' }))
rmSync(folder, { recursive: true, force: true })
