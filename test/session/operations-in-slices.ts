/** Operations that read a whole session, for tests of what they do between two turns of the event loop. */
import { createSession, openSession, user, verifySession, type Message, type Store } from 'indelible'
import { copySession, eraseMessages, exportSession, findMessages, importRecord } from 'indelible/session'
import { searchStore } from 'indelible/search'
import { verifyLog } from 'indelible/store'

/**
 * Creates a session, and the operations on it. They are to be run in their order: the last ones erase and remove it.
 *
 * @param other where it is copied to
 * @param messages its messages
 */
export const operationsInSlices = async (
  store: Store,
  other: Store,
  messages: readonly Message[],
): Promise<Readonly<Record<string, () => PromiseLike<unknown>>>> => {
  const session = await createSession(store, { id: 's' })
  for (let start = 0; start < messages.length; start += 512) await session.append(messages.slice(start, start + 512))
  await session.note({ type: 'application', namespace: 'a', content: 'a note of the application' })
  await session.close()
  const record = await exportSession(store, 's')
  return {
    open: () => openSession(store, 's'),
    verify: () => verifySession(store, 's'),
    'verify a log': () => verifyLog(store, 's'),
    read: () => store.read('s'),
    find: () => findMessages(store, 's', { matching: /number 77 / }),
    search: () => searchStore(store, 'no such words'),
    copy: () => copySession(store, other, 's'),
    export: () => exportSession(store, 's'),
    import: () => importRecord(other, record, { id: 'imported' }),
    check: () => store.check(),
    repair: () => store.repair(),
    'erase one': () => eraseMessages(store, 's', [7], { reason: 'asked to' }),
    'erase all': () => eraseMessages(store, 's', { all: true }, { reason: 'asked to' }),
    'verify what was erased': () => verifySession(store, 's'),
    'check what was erased': () => store.check(),
    'copy what was erased': () => copySession(store, other, 's'),
    remove: () => store.remove('s'),
  }
}

export const numberedMessages = (count: number): readonly Message[] =>
  Array.from({ length: count }, (_, index) => user(`message number ${index} of many`))
