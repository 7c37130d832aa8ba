/**
 * A process that watches and appends until its standard input ends: `postgres-watcher.ts URL SCHEMA`. It writes a line for
 * each append that was acknowledged, and one for each fault.
 */
import { writeSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { postgresStore } from '../src/index.ts'

const [connectionString = '', schema = ''] = process.argv.slice(2)
const store = await postgresStore({ timeout: 600_000, connectionString, schema })
for (let count = 0; count < 3; count++) await store.watch(`log ${count}`, () => undefined)
process.stdin.resume()

const appending = async (worker: number): Promise<void> => {
  for (let count = 0; !process.stdin.readableEnded; count++) {
    const id = `${worker} ${count}`
    const made = await store.create({ id, encrypt: false })()
    if (isLeft(made)) {
      writeSync(1, `fault ${made.left._tag}\n`)
      continue
    }
    const rows = [{ kind: 'entry' as const, body: id }]
    const answer = await store.append(id, { expected: made.right.head, rows })()
    writeSync(1, isLeft(answer) ? `fault ${answer.left._tag}\n` : `appended ${id}\n`)
  }
}
await Promise.all(Array.from({ length: 6 }, (_, worker) => appending(worker)))
await store.close()
