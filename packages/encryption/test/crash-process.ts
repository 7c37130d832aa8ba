/** Appends to an encrypted session until it is killed, and says what was acknowledged. */
import { createSession, openSession, user } from 'indelible'
import { keyRing, withKeys } from '../src/index.ts'
import { hostKeyOf } from '../src/index.ts'
import { sqliteStore } from 'indelible/store/sqlite'

const [path = '', key = '', mode] = process.argv.slice(2)
const store = withKeys(await sqliteStore({ path, durability: 'os' }), keyRing([hostKeyOf(key)]))
const session = mode === 'create' ? await createSession(store, { id: 's' }) : await openSession(store, 's')
for (let turn = session.len; ; turn++) {
  await session.append([user(`turn ${turn} ${'Zanzibar '.repeat(700)}`)], { operation: `turn-${turn}` })
  process.stdout.write(`${turn}\n`)
}
