/**
 * A process that works on a store with an index, started by the tests.
 *
 *     append PATH SESSION N    append N messages, each with the word `SESSIONxNUMBER`
 *     rebuild PATH             make the index anew, again and again, until killed: `began` before each time
 */
import { writeSync } from 'node:fs'
import { createSession, user } from '../../src/index.ts'
import { indexStore } from '../../src/search/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const [mode, path = '', id = '', count = '0'] = process.argv.slice(2)
const store = await sqliteStore({ path, durability: 'os', wait: 60_000 })
if (mode === 'append') {
  const session = await createSession(store, { id })
  for (let n = 0; n < Number(count); n++) await session.append(user(`the word ${id}x${n}`))
  await store.close()
} else
  for (;;) {
    writeSync(1, 'began\n')
    await indexStore(store, { rebuild: true })
  }
