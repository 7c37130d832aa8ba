/**
 * Updates of the ledger of a store of 100,000 sessions, by processor time: the first, with nothing new, with one grown session,
 * in the process that made the ledger and in one that has read nothing of it. `--quick` for a small size.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, memoryStore, openSession, user, type Store } from 'indelible'
import { updateLedger } from '@indelible/evidence'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'

const sessions = process.argv.includes('--quick') ? 2000 : 100_000
const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))

const spent = async (work: () => PromiseLike<unknown>): Promise<number> => {
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1000
}

const benched = async (name: string, open: () => PromiseLike<Store>): Promise<void> => {
  let store = await open()
  for (let from = 0; from < sessions; from += 1000)
    await Promise.all(
      Array.from({ length: Math.min(1000, sessions - from) }, (_, index) =>
        createSession(store, { id: `s${from + index}`, messages: [user('What is 6 times 7?')] }),
      ),
    )
  const row = async (what: string, rounds: number, before: () => PromiseLike<unknown>, fresh = false) => {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      await before()
      if (fresh) store = await open()
      times.push(await spent(() => updateLedger(store)))
    }
    const sorted = times.toSorted((a, b) => a - b)
    const [least, middle, most] = [sorted[0], sorted[rounds >> 1], sorted.at(-1)].map((time) =>
      (time ?? NaN).toFixed(1),
    )
    console.log(`| ${name} | ${what} | ${middle} ms | ${least}–${most} |`)
  }
  const nothing = async (): Promise<void> => {}
  const grow = async (): Promise<void> => void (await (await openSession(store, 's77')).append(user('And 7 times 8?')))
  await row('first', 1, nothing)
  await row('nothing new', 5, nothing)
  await row('one session grown', 5, grow)
  await row('nothing new, opened anew', 5, nothing, true)
  await row('one session grown, opened anew', 5, grow, true)
}

console.log(
  `${machine()}; ${sessions.toLocaleString('en')} sessions\n\n| store | update | median | range |\n|---|---|--:|--:|`,
)
const path = join(folder, 'ledger.db')
await benched('SQLite', () => sqliteStore({ path, durability: 'os' }))
const memory = memoryStore()
await benched('memory', async () => memory)
rmSync(folder, { recursive: true, force: true })
