/** Copies of sessions in another store: whole, gone on with, and refused. */
import { encryptionOf, keyLogOf, ownStore, storeTask } from '../../src/store/internal.ts'
import { join } from 'node:path'
import { left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import {
  copySession,
  describeSession,
  exportSession,
  importRecord,
  listUnfinished,
  eraseMessages,
} from 'indelible/session'
import { createSession, listSessions, memoryStore, openSession, user, verifySession, type Store } from 'indelible'
import { root } from '../../scripts/run.ts'
import { rounds } from '../rounds.ts'
import { fault, ok } from '../task-results.ts'
import { folder, indelible } from '../../packages/cli/test/indelible.ts'

/** A session with messages, one of them long enough to be a block, and notes. */
const filled = async (store: Store, id: string): Promise<void> => {
  const session = await ok(createSession(store, { id, metadata: { title: 'to be copied' } }))
  for (let number = 0; number < 30; number++)
    await ok(session.append(user(`message ${number} ${number % 10 === 0 ? 'long '.repeat(2000) : ''}`)))
  await ok(session.note({ type: 'pin', position: 3 }))
  await ok(session.append(user('after the note')))
}

it('a copy has the same head, metadata and pages, and copying again changes nothing', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  await filled(from, 's')
  const info = await ok(copySession(from, to, 's'))
  expect(info).toMatchObject({
    len: 31,
    head: (await ok(describeSession(from, 's'))).head,
    metadata: { title: 'to be copied' },
  })
  const [original, copied] = [await ok(openSession(from, 's')), await ok(openSession(to, 's'))]
  expect(copied.view().toArray()).toEqual(original.view().toArray())
  expect([...copied.view().pages]).toEqual([...original.view().pages])
  await ok(verifySession(to, 's', { head: info.head }))
  expect(await ok(copySession(from, to, 's'))).toEqual(info)
})

it('a partial copy of any length is continued', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  const session = await ok(createSession(from, { id: 's' }))
  for (let number = 0; number < 12; number++) {
    const copied = await ok(copySession(from, to, 's'))
    expect([copied.len, copied.head]).toEqual([session.len, session.head()])
    await ok(session.append(user(`message ${number} ${number % 3 === 0 ? 'long '.repeat(2000) : ''}`)))
    if (number % 4 === 0) await ok(session.note({ type: 'pin', position: number }))
  }
  const rows: number[] = []
  await ok(copySession(from, to, 's', { progress: (stored) => rows.push(stored) }))
  expect(rows).toEqual([session.head().size]) // the one that was missing, and no other
  expect((await ok(openSession(to, 's'))).view().toArray()).toEqual(session.view().toArray())
  await ok(verifySession(to, 's', { head: session.head() }))
})

it('a copy does not touch another record with its id', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  await filled(from, 's')
  const other = await ok(createSession(to, { id: 's' }))
  await ok(other.append(user('something else')))
  await fault('Diverged', copySession(from, to, 's'))
  expect((await ok(describeSession(to, 's'))).len).toBe(1)
  await fault('NoSuchLog', copySession(from, to, 'none'))
  const short = await ok(createSession(from, { id: 't' }))
  await ok(short.append(user('something')))
  const long = await ok(createSession(to, { id: 't' }))
  await ok(long.append([user('another thing'), user('and more')]))
  await fault('Diverged', copySession(from, to, 't'))
  expect((await ok(describeSession(to, 't'))).head).toEqual(long.head())
})

it('a session with a row that is written in another way today is not copied, and nothing is left of it', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  const { head } = await ok(from.create({ id: 's', meta: { 'indelible.session': 1 }, encrypt: false }))
  const body = JSON.stringify({ page: 'conversation', message: user('long '.repeat(2000)) }) // no block
  await ok(from.append('s', { expected: head, rows: [{ kind: 'entry', body }] }))
  await ok(verifySession(from, 's'))
  for (let attempt = 0; attempt < 2; attempt++)
    expect(await fault('OtherHead', copySession(from, to, 's'))).toMatchObject({ id: 's', copied: true })
  expect(await ok(listUnfinished(to))).toEqual([])
})

it('a copy that is a session gets no row if one is written in another way today', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  await ok(createSession(from, { id: 's' }))
  await ok(copySession(from, to, 's'))
  await ok((await ok(openSession(from, 's'))).append(user('hello')))
  const body = JSON.stringify({ page: 'conversation', message: user('long '.repeat(2000)) }) // no block
  await ok(from.append('s', { expected: (await ok(from.info('s'))).head, rows: [{ kind: 'entry', body }] }))
  await ok(verifySession(from, 's'))
  const before = await ok(to.info('s'))
  for (let attempt = 0; attempt < 2; attempt++)
    expect(await fault('OtherHead', copySession(from, to, 's'))).toMatchObject({ id: 's', copied: true })
  expect(await ok(to.info('s'))).toEqual(before)
})

it('a copy that has grown past its source is left alone and reported', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  await filled(from, 's')
  const { head } = await ok(copySession(from, to, 's'))
  const copied = await ok(openSession(to, 's'))
  await ok(copied.append([user('one more'), user('and one')]))
  const conflict = await fault('Conflict', copySession(from, to, 's'))
  expect(conflict).toMatchObject({
    expected: head,
    actual: copied.head(),
    missed: [{ position: head.size }, { position: head.size + 1 }],
  })
  expect((await ok(describeSession(to, 's'))).head).toEqual(copied.head())
})

it('an unfinished copy is not listed or opened, and continues when copied again', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  const session = await ok(createSession(from, { id: 's', metadata: { title: 'long' } }))
  await ok(session.append(Array.from({ length: 2010 }, (_, number) => user(`message ${number}`))))
  let pieces = 0
  const breaking: Store = {
    ...to,
    append: (id, append) =>
      pieces++ === 0
        ? to.append(id, append)
        : storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('pulled') }), 'store.append'),
  }
  await fault('Io', copySession(from, breaking, 's'))
  expect((await ok(to.info('s'))).head.size).toBe(256)
  expect((await ok(listSessions(to))).sessions).toEqual([])
  await fault('UnfinishedSession', openSession(to, 's'))
  await fault('UnfinishedSession', describeSession(to, 's'))
  await fault('UnfinishedSession', verifySession(to, 's'))
  await fault('UnfinishedSession', copySession(to, memoryStore(), 's'))
  const rows: number[] = []
  const info = await ok(copySession(from, to, 's', { progress: (stored) => rows.push(stored) }))
  expect(rows).toEqual([512, 768, 1024, 1280, 1536, 1792, 2010])
  expect(info).toMatchObject({ len: 2010, head: session.head(), metadata: { title: 'long' } })
  expect((await ok(listSessions(to))).sessions).toEqual([info])
})

it('two concurrent copies of one session both complete it', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  const length = rounds(2100, 5000) // of several pieces
  const long = await ok(createSession(from, { id: 's' }))
  await ok(long.append(Array.from({ length }, (_, number) => user(`message ${number}`))))
  const heads = await Promise.all([1, 2].map(() => ok(copySession(from, to, 's'))))
  for (const { head, len } of heads) expect([head, len]).toEqual([long.head(), length])
  await ok(verifySession(to, 's', { head: long.head() }))
})

it('the command copies every session of a store, the oldest first', () => {
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')]
  for (const id of ['one', 'two'])
    indelible(['import', join(root, 'examples/coding-agent.json'), '--id', id, '--store', from])
  const copied = indelible(['copy', '--from', from, '--to', to])
  expect(copied.status).toBe(0)
  expect(copied.lines.map((line) => line.split(':')[0])).toEqual(['one', 'two', ''])
  expect(indelible(['copy', '--from', from, '--to', to])).toMatchObject({ status: 0, stdout: '' })
  expect(indelible(['prove', 'two', '--store', to]).stdout).toBe(indelible(['prove', 'two', '--store', from]).stdout)
  indelible(['append', 'one', 'hello', '--store', to])
  indelible(['append', 'two', 'hello', '--store', from])
  const both = indelible(['copy', 'none', 'one', 'two', '--from', from, '--to', to])
  expect(both.lines[0]).toMatch(/^two: 20 messages, head 20:/)
  expect([both.status, both.stderr]).toEqual([
    1,
    '--from: this store has no session "none"; did you mean "one"?\none: the session in the other store is longer (20 rows, here 19); it was not changed\nindelible: 2 sessions of 3 were not copied\n',
  ])
  indelible(['append', 'one', 'other', '--store', from])
  expect(indelible(['copy', 'one', '--from', from, '--to', to]).stderr).toMatch(
    /^one: the other store has a different record with this id \(20 rows\); it was not changed/,
  )
  expect(indelible(['copy', '--from', from]).status).toBe(2)
  expect(indelible(['copy', '--from', from, '--to', from]).status).toBe(2)
  expect(indelible(['copy', '--from', `${from}x`, '--to', to]).status).toBe(1)
})

it.each([
  ['no scope, as keys had none once', undefined, true],
  ['the scope that it is copied to', 'there', true],
  ['the scope that it is copied from', 'here', false],
])('a wrapped key is copied into another scope without its ring if it has %s', async (_, scope, isCopied) => {
  const ring = keyRing([newHostKey()])
  const [from, to] = [memoryStore({ scope: 'here' }), memoryStore({ scope: 'there' })]
  await createSession(withKeys(from, ring), { id: 's', messages: [user('hello')] })
  const [key = ''] = encryptionOf(await from.info('s'))?.keys ?? []
  const log = await from.info(keyLogOf(key))
  const { scope: _was, ...meta } = log.meta
  await ownStore(from).update(log.id, { expected: log.version, meta: { ...meta, ...(scope && { scope }) } })
  const copied = await copySession(from, to, 's')()
  expect(copied).toMatchObject(
    isCopied
      ? { _tag: 'Right' }
      : {
          left: {
            _tag: 'NoKey',
            id: 's',
            reason:
              'its key is wrapped for the scope "here": to copy it into "there", open the source store with its key ring (withKeys)',
          },
        },
  )
})

it.each([
  ['a plain store', () => memoryStore()],
  ['an encrypted one', () => withKeys(memoryStore(), keyRing([newHostKey()]))],
])('an import of an erased message into %s is verified there, with the erasure in its ledger', async (_, open) => {
  const from = memoryStore()
  const session = await ok(createSession(from, { id: 's', messages: [user('secret'), user('b')], erasable: true }))
  await ok(eraseMessages(session, [0], { reason: 'asked to', by: 'ada' }))
  const to = open()
  await ok(importRecord(to, await exportSession(from, 's')))
  await ok(verifySession(to, 's'))
  const imported = await ok(openSession(to, 's'))
  expect(imported.view().toArray()).toEqual((await ok(openSession(from, 's'))).view().toArray())
  expect(imported.view().at(0)?.content).toMatchObject([{ type: 'erased' }])
})

describe('blocks named by receipts', () => {
  const texts = ['tools', 'instructions'].map((output) => new TextEncoder().encode(output))
  const recorded = async (from: Store) => {
    const session = await createSession(from, { id: 's' })
    await session.append(user('hello'))
    const blocks = await from.putBlocks(texts)
    const [tools = '', system = ''] = blocks
    const [contextDigest, usage] = ['a'.repeat(64), { input: 1, output: 1 }]
    const other = 'b'.repeat(64) // a digest of something else, in a receipt of somebody else
    await session.note({ type: 'receipt', len: 1, contextDigest, model: 'x', usage, details: { other } })
    await session.note({
      type: 'receipt',
      len: 1,
      contextDigest,
      model: 'acme-1',
      usage,
      details: { tools, sent: [[0, 1], system] },
    })
    return blocks
  }
  const ring = keyRing([newHostKey()])

  it.each([
    ['of a plain session', memoryStore, memoryStore],
    ['of an encrypted one', () => withKeys(memoryStore(), ring), () => withKeys(memoryStore(), ring)],
    ['of a plain one that is encrypted there', memoryStore, () => withKeys(memoryStore(), ring)],
  ] as const)('are copied: %s', async (_, fromStore, toStore) => {
    const [from, to] = [fromStore(), toStore()]
    const blocks = await recorded(from)
    await copySession(from, to, 's')
    expect(await to.getBlocks(blocks)).toEqual(texts)
    expect((await verifySession(to, 's')).missing).toEqual([])
  })

  it.each([
    ['erased', (to: Store) => eraseMessages(to, 's', { all: true }, { reason: 'asked to' })],
    ['removed', (to: Store) => to.remove('s')],
  ] as const)('are not in a copy that was %s', async (_, end) => {
    const [from, to] = [memoryStore(), memoryStore()]
    const blocks = await recorded(from)
    await copySession(from, to, 's')
    await end(to)
    expect(await to.hasBlocks(blocks)).toEqual([false, false])
    expect(await from.hasBlocks(blocks)).toEqual([true, true])
  })

  it('stay for an imported session when the exported one is removed', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('hello')] })
    const [contextDigest, usage] = ['a'.repeat(64), { input: 1, output: 1 }]
    const instructions = { text: 'Answer in one sentence.' }
    await session.note({ type: 'receipt', len: 1, contextDigest, model: 'x', usage, instructions })
    await importRecord(store, await exportSession(store, 's'), { id: 't' })
    await store.remove('s')
    expect((await verifySession(store, 't')).missing).toEqual([])
  })

  it('of an encrypted session do not get into a store without keys', async () => {
    const [from, to] = [withKeys(memoryStore(), ring), memoryStore()]
    await recorded(from)
    await copySession(from, to, 's')
    expect(await to.hasBlocks(await memoryStore().putBlocks(texts))).toEqual([false, false])
  })

  it('are reported by verify if missing', async () => {
    const [inner, there] = [memoryStore(), memoryStore()]
    const blocks = await recorded(withKeys(inner, ring))
    await copySession(inner, there, 's') // without keys nobody knows what the receipts say
    expect((await verifySession(there, 's')).missing).toEqual([])
    const to = withKeys(there, ring)
    expect(new Set((await verifySession(to, 's')).missing)).toEqual(new Set(blocks))
    await copySession(withKeys(inner, ring), to, 's')
    expect((await verifySession(to, 's')).missing).toEqual([])
  })
})
