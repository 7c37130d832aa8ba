/**
 * What a store file takes of real conversations, as it was written, rewritten without free pages, and after `compactSqlite`; and
 * the processor time of opening all of its sessions in each. `node cold.ts [FOLDER-OF-TRANSCRIPTS]`
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, openSession } from 'indelible'
import { compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { readTranscript } from '@indelible/transcripts'
import { machine } from './measure.ts'

const [, , given = '../../shared/data/transcripts'] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
const [written, vacuumed, compacted] = ['written', 'vacuumed', 'compacted'].map((name) =>
  join(folder, `${name}.db`),
) as [string, string, string]
const spent = async (work: () => Promise<unknown>): Promise<number> => {
  globalThis.gc?.()
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1000
}

let [characters, sessions, messages] = [0, 0, 0]
const store = await sqliteStore({ path: written, durability: 'os' })
for (const name of readdirSync(given)) {
  const text = readFileSync(join(given, name), 'utf8')
  characters += text.length
  for (let pick = 0; pick < 50; pick++) {
    const transcript = readTranscript(text, { pick })
    if (transcript._tag === 'Left') break
    messages += transcript.right.messages.length
    await createSession(store, { id: `s${sessions++}`, messages: transcript.right.messages })
  }
}
await store.close()
for (const path of [vacuumed, compacted]) copyFileSync(written, path)
const db = new DatabaseSync(vacuumed)
db.exec('vacuum; pragma wal_checkpoint(truncate)')
db.close()
const time = await spent(() => compactSqlite({ path: compacted })())

const files = [written, vacuumed, compacted]
const times = files.map((): number[] => [])
for (let round = -1; round < 9; round++)
  for (const [which, path] of files.entries()) {
    const opened = await sqliteStore({ path, durability: 'os' })
    const took = await spent(async () => {
      for (let session = 0; session < sessions; session++) await openSession(opened, `s${session}`)
    })
    await opened.close()
    if (round >= 0) times[which]?.push(took)
  }
console.log(`${machine()}; ${sessions} sessions, ${messages} messages; compacting took ${time.toFixed(0)} ms\n`)
console.log('| file | bytes | of the programs’ files | open all |\n|---|--:|--:|--:|')
for (const [which, name] of ['as written', 'without free pages', 'compacted'].entries()) {
  const { size } = statSync(files[which] as string)
  const took = times[which]?.toSorted((a, b) => a - b) ?? []
  console.log(
    `| ${name} | ${size} | ${(size / characters).toFixed(2)} | ${took[4]?.toFixed(1)} ms [${took[0]?.toFixed(1)} to ${took.at(-1)?.toFixed(1)}] |`,
  )
}
rmSync(folder, { recursive: true, force: true })
