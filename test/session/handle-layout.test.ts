/** What the handles of sessions share, so that an idle one takes little memory. */
import { expect, it } from 'vitest'
import { createSession, memoryStore, openSession, user } from 'indelible'
import { eraseMessages } from 'indelible/session'

it('handles share the getter of `len`, which also answers for objects made of a handle, and for nothing else', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('hello')] })
  const other = await openSession(store, 's')
  const getterOf = (of: object): unknown => Object.getOwnPropertyDescriptor(of, 'len')?.get
  expect(getterOf(session)).toBe(getterOf(other))
  const decorated = Object.create(session, { name: { value: 'mine' } }) as typeof session
  expect([session.len, decorated.len, { ...session }.len]).toEqual([1, 1, 1])
  await decorated.append(user('there'))
  expect([session.len, decorated.len]).toEqual([2, 2])
  for (const stranger of [undefined, {}, store])
    expect(() => Reflect.apply(getterOf(session) as () => unknown, stranger, [])).toThrow(TypeError)
})

it('salts and erased rows of one session are not those of another', async () => {
  const store = memoryStore()
  const [one, two] = await Promise.all(
    ['1', '2'].map((id) => createSession(store, { id, erasable: true, messages: [user(`secret ${id}`), user('b')] })),
  )
  await eraseMessages(one as never, { messages: [0] })
  const again = await openSession(store, '1')
  const other = await openSession(store, '2')
  expect(JSON.stringify(again.view())).not.toContain('secret')
  expect(other.view().at(0)).toEqual(user('secret 2'))
  expect(two?.view().at(0)).toEqual(user('secret 2'))
})
