/** Metadata is the fold of notes: told at any head, covered by the tree, erased with the text that it repeats. */
import { readFileSync } from 'node:fs'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import {
  createSession,
  exportSession,
  forkSession,
  importRecord,
  listSessions,
  memoryStore,
  openSession,
  readSession,
  user,
  verifySession,
  type JsonObject,
  type Session,
  type Store,
} from 'indelible'
import { copySession, createFork, describeSession, eraseMessages } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { ownStore } from '../../src/store/internal.ts'
import { storeTask } from '../../src/store/internal.ts'
import { fault, ok } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-metadata-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const rename = (session: Pick<Session, 'update'>, title: string) =>
  session.update((metadata) => void (metadata['title'] = title))

const titles = (session: { readonly at: Session['at']; readonly head: Session['head'] }): readonly unknown[] =>
  Array.from({ length: session.head().size + 1 }, (_, size) => session.at({ size })?.metadata['title'])

it('is told at every earlier head, also by a process that opens the session later', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', metadata: { title: 'first' }, messages: [user('a')] })
  await rename(session, 'second')
  await session.append(user('b'))
  await rename(session, 'third')
  const expected = ['first', 'first', 'second', 'second', 'third']
  expect([titles(session), titles(await openSession(store, 's')), titles(await readSession(store, 's'))]).toEqual([
    expected,
    expected,
    expected,
  ])
  expect(session.at().metadata).toEqual({ title: 'third' })
  expect((await describeSession(store, 's')).metadata).toEqual({ title: 'third' })
})

it('an update has its place among the appends, in the order of the calls', async () => {
  const session = await createSession(memoryStore(), { metadata: { n: 0 } })
  const add = (n: number) => session.update((metadata) => void (metadata['n'] = (metadata['n'] as number) * 10 + n))()
  const updates = [add(1), add(2)]
  const appended = session.append(user('after both'))()
  updates.push(add(3))
  expect(await Promise.all(updates)).toMatchObject([{ right: { n: 1 } }, { right: { n: 12 } }, { right: { n: 123 } }])
  expect((await appended)._tag).toBe('Right')
  const kinds = [...session.at().rows()].map(({ kind }) => kind)
  expect([kinds, session.at({ size: 3 })?.metadata]).toEqual([['note', 'note', 'entry', 'note'], { n: 12 }])
})

it('what a recipe calls comes after its update', async () => {
  const session = await createSession(memoryStore(), { metadata: {} })
  let inner: Promise<unknown> | undefined
  await session.update((metadata) => {
    inner ??= Promise.all([session.append(user('inside'))(), rename(session, 'inner')()])
    metadata['title'] = 'outer'
    metadata['more'] = true
  })
  expect(await inner).toMatchObject([{ _tag: 'Right' }, { _tag: 'Right' }])
  expect([session.metadata(), session.len]).toEqual([{ title: 'inner', more: true }, 1])
  expect([...session.at().rows()].map(({ kind }) => kind)).toEqual(['note', 'entry', 'note'])
})

it('close waits for updates, also for one whose description conflicts with that of another writer', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const other = await openSession(store, 's')
  await other.update((metadata) => void (metadata['theirs'] = true))
  const updates = [1, 2].map((n) => session.update((metadata) => void (metadata['n'] = n))())
  const closed = session.close()()
  expect((await Promise.all(updates)).map(({ _tag }) => _tag)).toEqual(['Right', 'Right'])
  await closed
  expect((await describeSession(store, 's')).metadata).toEqual({ theirs: true, n: 2 })
  await fault('SessionClosed', rename(session, 'late'))
})

it('notes have patches, and each 32nd the whole value', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', metadata: { text: 'x'.repeat(200), list: [] } })
  for (let n = 0; n < 70; n++) await session.update((metadata) => void (metadata['list'] as number[]).push(n))
  const notes = [...session.notes()].filter((note) => note.type === 'metadata')
  expect(notes.length).toBe(70)
  expect(notes.flatMap(({ value }, index) => (value === undefined ? [] : [index]))).toEqual([0, 32, 64])
  const again = await openSession(store, 's')
  expect(again.metadata()).toEqual(session.metadata())
  expect(again.at({ size: 50 })?.metadata['list']).toHaveLength(50)
})

it('fields with the names of prototypes are values like others', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', metadata: { n: 0, text: 'x'.repeat(200) } })
  for (const name of ['constructor', 'prototype', 'toString', 'constructor'])
    await session.update((metadata) => void (metadata[name] = { at: name }))
  const again = await openSession(store, 's')
  expect(again.metadata()).toEqual(session.metadata())
  expect(Object.hasOwn(again.metadata(), 'constructor')).toBe(true)
  expect(({} as { at?: unknown }).at).toBeUndefined()
})

it('hostile patches of another program are damage, and reach no prototype', async () => {
  for (const path of [
    ['__proto__', 'hacked'],
    ['constructor', 'prototype', 'hacked'],
    ['missing', 'deep'],
    'text',
    [{}],
  ]) {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', metadata: { a: { b: 1 } } })
    await rename(session, 'x')
    const body = JSON.stringify({ type: 'metadata', patches: [{ op: 'replace', path, value: true }] })
    await ok(store.append('s', { expected: session.head(), rows: [{ kind: 'note', body }] }))
    await fault('DamagedLog', openSession(store, 's'))
    await fault('DamagedLog', verifySession(store, 's'))
    expect(({} as { hacked?: unknown }).hacked).toBeUndefined()
  }
})

it('many writers at once lose no change: a conflict runs the recipe again', async () => {
  const path = join(folder, 'writers.db')
  for (const store of [memoryStore(), await sqliteStore({ path })]) {
    await createSession(store, { id: 's' })
    const handles = await Promise.all([0, 1, 2, 3].map(() => openSession(store, 's')))
    await Promise.all(
      handles.flatMap((session, of) => [
        session.update((metadata) => void (metadata['n'] = Number(metadata['n'] ?? 0) + 1)),
        session.rebase(() => user(`${of}`)),
        session.update((metadata) => void (metadata['n'] = Number(metadata['n'] ?? 0) + 1)),
      ]),
    )
    const [again, listed] = [await openSession(store, 's'), await listSessions(store)]
    expect([again.metadata(), again.len, listed.sessions[0]?.metadata]).toEqual([{ n: 8 }, 4, { n: 8 }])
    await verifySession(store, 's')
    await store.close()
  }
})

it('a recipe that changes nothing appends nothing', async () => {
  const session = await createSession(memoryStore(), { metadata: { a: 1 } })
  expect(await session.update(() => undefined)).toEqual({ a: 1 })
  expect(await session.update((metadata) => void (metadata['a'] = 1))).toEqual({ a: 1 })
  expect(session.head().size).toBe(0)
  await fault('InvalidNote', session.note({ type: 'metadata', value: {} }))
})

it('a sealed session gets a title by a note, and its forks are not sealed', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a')] })
  const sealed = await session.seal()
  await rename(sealed, 'sealed')
  const reading = await readSession(store, 's')
  expect([reading.state, reading.metadata(), reading.notes().at(-1)?.type]).toEqual([
    'sealed',
    { title: 'sealed' },
    'metadata',
  ])
  if (reading.state === 'sealed') await rename(reading, 'again')
  await fault('SessionSealed', session.append(user('more')))
  await fault('SessionSealed', session.note({ type: 'pin', position: 0 }))
  await verifySession(store, 's')
  const fork = await forkSession(store, 's', { id: 'f' })
  await fork.append(user('b'))
  expect([fork.len, fork.metadata()]).toEqual([2, { title: 'again' }])
})

it('survives forks with other metadata, copies, exports and imports', async () => {
  const store = memoryStore()
  const session = await createSession(store, {
    id: 's',
    metadata: { title: 'first' },
    messages: [user('a'), user('b')],
  })
  await rename(session, 'second')
  const other = memoryStore()
  await copySession(store, other, 's')
  await importRecord(other, await exportSession(store, 's'), { id: 'imported' })
  await importRecord(other, { ...(await exportSession(store, 's')), metadata: { title: 'told' } }, { id: 'told' })
  await createFork(store, 's', { id: 'plain' })
  await createFork(store, 's', { id: 'named', metadata: { title: 'a fork' } })
  for (const [place, id, title] of [
    [other, 's', 'second'],
    [other, 'imported', 'second'],
    [other, 'told', 'told'],
    [store, 'plain', 'second'],
    [store, 'named', 'a fork'],
  ] as const) {
    const opened = await openSession(place, id)
    expect([id, opened.metadata()['title'], titles(opened)[2]]).toEqual([id, title, 'first'])
    await verifySession(place, id)
    await rename(opened, 'renamed')
    await rename(opened, 'renamed again')
    const again = await openSession(place, id)
    expect([id, again.metadata()['title'], titles(again).slice(-2)]).toEqual([
      id,
      'renamed again',
      ['renamed', 'renamed again'],
    ])
    await verifySession(place, id)
  }
})

it('verify finds a changed description, and tells an older one from it', async () => {
  const path = join(folder, 'changed.db')
  const store = await sqliteStore({ path })
  const session = await createSession(store, { id: 's', metadata: { title: 'first' } })
  await rename(session, 'second')
  const log = await ok(store.info('s'))
  const set = (title: string) =>
    ok(ownStore(store).update('s', { expected: log.version, meta: { ...log.meta, title }, ownKey: null }))
  await set('forged')
  expect(await fault('DamagedLog', verifySession(store, 's'))).toMatchObject({
    reason: 'its metadata is not what its notes say',
  })
  expect((await openSession(store, 's')).metadata()).toEqual({ title: 'second' })
  await store.close()
})

it('a process that dies between the note and the description leaves both readable', async () => {
  const inner = memoryStore()
  let dies = false
  const update: Store['update'] = (id, change) =>
    dies
      ? storeTask(async () => ({ _tag: 'Left', left: { _tag: 'Io', operation: 'update', cause: 0 } }) as never, 'x')
      : inner.update(id, change)
  const session = await createSession({ ...inner, update }, { id: 's', metadata: { title: 'first' } })
  await rename(session, 'second')
  dies = true
  await fault('Io', rename(session, 'third'))
  expect((await describeSession(inner, 's')).metadata).toEqual({ title: 'second' })
  expect((await verifySession(inner, 's')).staleMetadata).toBe(true)
  const next = await openSession(inner, 's')
  expect(next.metadata()).toEqual({ title: 'third' })
  await next.update((metadata) => void (metadata['more'] = 1))
  expect((await describeSession(inner, 's')).metadata).toEqual({ title: 'third', more: 1 })
  expect((await verifySession(inner, 's')).staleMetadata).toBeUndefined()
})

it.each([false, true])('an erasure takes earlier values out of the file (erasable: %s)', async (erasable) => {
  const path = join(folder, `erased-${erasable}.db`)
  const store = await sqliteStore({ path })
  const secret = 'Grace Hopper of Arlington'
  const session = await createSession(store, { id: 's', erasable, messages: [user(secret), user('b')] })
  await rename(session, `About ${secret}`)
  await session.update((metadata) => void (metadata['more'] = 'x'))
  await rename(session, 'A compiler')
  await session.update((metadata) => void (metadata['last'] = 'y'))
  const receipt = await eraseMessages(session, [0], { reason: 'asked to' })
  expect(receipt.remains.filter(({ what }) => what !== 'leaf')).toEqual([])
  const again = await openSession(store, 's')
  const metadata: JsonObject = { title: 'A compiler', more: 'x', last: 'y' }
  expect([again.metadata(), again.at({ size: 3 })?.metadata]).toEqual([metadata, {}])
  await rename(again, 'After')
  expect((await openSession(store, 's')).metadata()).toEqual({ ...metadata, title: 'After' })
  await verifySession(store, 's')
  await store.close()
  new DatabaseSync(path).close()
  expect(readFileSync(path).includes('Hopper')).toBe(false)
})

it('erasing everything keeps the metadata of now', async () => {
  const store = memoryStore()
  const session = await createSession(store, {
    id: 's',
    erasable: true,
    metadata: { title: 'secret start' },
    messages: [user('a')],
  })
  await rename(session, 'secret title')
  await rename(session, 'public')
  await eraseMessages(session, { all: true })
  expect(JSON.stringify(await store.read('s'))).not.toContain('secret')
  expect((await openSession(store, 's')).metadata()).toEqual({ title: 'public' })
  await verifySession(store, 's')
})

it('encrypted: notes are encrypted, and the latest is read with the key', async () => {
  const bare = memoryStore()
  const store = withKeys(bare, keyRing([newHostKey('host')]))
  const session = await createSession(store, { id: 's', metadata: { title: 'first', clear: { tenant: 7 } } })
  await rename(session, 'second')
  expect(JSON.stringify(await bare.read('s'))).not.toContain('second')
  expect(titles(await openSession(store, 's'))).toEqual(['first', 'second'])
  expect((await describeSession(bare, 's')).metadata).toEqual({ clear: { tenant: 7 } })
  await verifySession(store, 's')
  await verifySession(bare, 's')
})

it('redacts before it appends', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', redact: { rules: [{ name: 'key', pattern: /sk-\w+/ }] } })
  await rename(session, 'uses sk-12345')
  await rename(session, 'now sk-67890')
  expect(JSON.stringify([await store.read('s'), await store.info('s')])).not.toMatch(/sk-\d/)
})
