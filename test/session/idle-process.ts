/** Prints how many bytes an idle session keeps: one that was created, and one that was opened with one message. */
import { createSession, memoryStore, openSession, user, type Session } from 'indelible'

const count = 1000
const collect = (globalThis as { readonly gc?: () => void }).gc as () => void
const used = (): number => {
  for (let times = 0; times < 4; times++) collect()
  return process.memoryUsage().heapUsed
}
const store = memoryStore()
const idOf = (index: number): string => `s${index}`
for (let index = 0; index < count; index++) {
  const session = await createSession(store, { id: idOf(index) })
  await session.append(user('hello'))
  await session.close()
}
const other = memoryStore()
const kept: Session[] = []
/** Bytes that a session takes by itself: `make` makes it in the store, `empty` as much without the session. */
const bytesOf = async (make: (index: number) => PromiseLike<Session>): Promise<number> => {
  for (let index = 0; index < count; index++) kept.push(await make(index))
  const before = used()
  kept.length -= count
  return (before - used()) / count
}
await bytesOf((index) => openSession(store, idOf(index))) // what is made once
const created = await bytesOf((index) => createSession(other, { id: idOf(index) }))
const opened = await bytesOf((index) => openSession(store, idOf(index)))
process.stdout.write(JSON.stringify({ created, opened, left: kept.length }))
