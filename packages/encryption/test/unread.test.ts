/** Long encrypted sessions: most of their messages are parsed when they are read. */
import { expect, it } from 'vitest'
import {
  assistant,
  createSession,
  file,
  forkSession,
  memoryStore,
  openSession,
  text,
  user,
  type Message,
} from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { fault, ok } from '../../../test/task-results.ts'
import { eraseMessages } from 'indelible/session'

const messageAt = (at: number): Message =>
  [
    user(`long ${at} `.repeat(900)),
    user(`ünï 🙂 ${at}`),
    assistant(
      text('as it is'),
      file({ type: 'base64', mediaType: 'a/b', data: Buffer.from(`${at}`.repeat(900)).toString('base64') }),
    ),
  ][at % 3] as Message
const messages = Array.from({ length: 300 }, (_, at) => messageAt(at))

/** Long lists are compared as text, and value by value only where they differ. */
const expectSame = (found: readonly Message[], expected: readonly unknown[]): void => {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected)
}

it('a long encrypted session opens with its messages, and after an erasure with all but the erased ones', async () => {
  const bare = memoryStore()
  const store = withKeys(bare, keyRing([newHostKey()]))
  await ok(createSession(store, { id: 's', messages }))
  await fault('NoKey', openSession(bare, 's'))
  const [session, other] = [await ok(openSession(store, 's')), await ok(openSession(store, 's'))]
  expectSame(session.view().toArray(), messages)
  const fork = await ok(forkSession(store, 's', { id: 'f' }))
  await ok(eraseMessages(session, [0, 2, 127]))
  expectSame(other.view().toArray(), messages) // it has read them: a view never changes
  for (const id of ['s', 'f']) {
    const opened = await ok(openSession(store, id))
    const left = messages.map((message, at) =>
      [0, 2, 127].includes(at) ? { role: message.role, content: [{ type: 'erased' }] } : message,
    )
    expectSame(opened.view().toArray(), left)
    await ok(opened.append(user('more')))
    await ok(opened.rewind(100, { instead: user('other') }))
    const conversation = (await ok(openSession(store, id))).conversation().toArray()
    expectSame(conversation, [...opened.view().slice(0, 100).toArray(), user('other')])
  }
  expectSame(fork.view().toArray(), messages)
})
