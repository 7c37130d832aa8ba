/** A process that holds the sessions s0, s1, … of a file: `hold-process.ts PATH COUNT`. Prints those that it holds. */
import { holdSession } from '../src/index.ts'
import { sqliteStore } from 'indelible/store/sqlite'

const [path = '', count = ''] = process.argv.slice(2)
const store = await sqliteStore({ path, durability: 'os' })
for (let index = 0; index < Number(count); index++) {
  const held = await holdSession(store, `s${index}`)()
  process.stdout.write(`${held._tag === 'Right' ? 'held' : held.left._tag}\n`)
}
await store.close()
