/** Appends to the history of a session until it is killed, and prints the length that each flush acknowledged. */
import { openOrCreateSession, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'

const [, , path = ''] = process.argv
const store = await sqliteStore({ path, durability: 'os' })
const session = await openOrCreateSession(store, 's')
const history = session.history()
for (;;) {
  for (let count = 0; count < 7; count++) history.append(user(String(history.len)))
  const flushed = session.flush()
  history.append(user(String(history.len))) // not acknowledged by this flush
  await flushed
  process.stdout.write(`${session.len}\n`)
}
