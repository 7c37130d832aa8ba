/** A store with keys, call by call: the exact answers, also of a store below it that fails. */
import { createSession, file, forkSession, memoryStore, openSession, orThrow, user, type Store } from 'indelible'
import { destroyKey, hostKeyOf, hostKeyText, keyRing, newHostKey, rotateKeys, withKeys } from '@indelible/encryption'
import { holdSession, readLedger } from '@indelible/evidence'
import { describeSession, eraseMessages } from 'indelible/session'
import type { Row, StoreFault } from 'indelible/store'
import { encryptionKey, ownStore, storeTask } from '../../../src/store/internal.ts'
import { left, right } from '../../../src/json/index.ts'
import { describe, expect, it } from 'vitest'
import { fault, ok } from '../../../test/task-results.ts'
import { hex, randomNonce } from '../src/aes.ts'
import { decryptBlock, encryptedRowBody } from '../src/row-cipher.ts'
import { deriveKey } from '../src/sealed.ts'
import { Vault } from '../src/vault.ts'

const host = newHostKey('one')
const ring = keyRing([host])
const io = { _tag: 'Io', operation: 'read', cause: 'it is gone' } as const
const stub = '{"page":"conversation","message":{"role":"user","content":[{"type":"erased"}]}}'
const bodyOf = (text: string): string =>
  `{"page":"conversation","message":{"role":"user","content":[{"type":"text","text":"${text}"}]}}`
const rowOf = (text: string): Row => ({ kind: 'entry', body: bodyOf(text) })

/** The same store, except that one call returns a fault for these ids while that is switched on. */
const failing = (
  store: Store,
  call: 'info' | 'read' | 'hasBlocks' | 'getBlocks' | 'list' | 'create' | 'fork' | 'remove' | 'containing' | 'erase',
  { of = () => true, why = io }: { readonly of?: (value: unknown) => boolean; readonly why?: unknown } = {},
): Store => ({
  ...store,
  [call]: (given: never, ...more: never[]) =>
    of(given)
      ? storeTask(async () => left(why as StoreFault), call)
      : (store[call] as (...all: unknown[]) => unknown)(given, ...more),
})
const idsOf = async (store: Store): Promise<readonly string[]> =>
  (await ok(store.list({ limit: 1000 }))).logs.map(({ id }) => id).toSorted()
/** The keys that a store has, but that of the scope. */
const keysOf = async (store: Store): Promise<readonly string[]> =>
  (await idsOf(store)).filter((id) => /^indelible\.key\.[0-9a-f]{24}$/.test(id))

describe('withKeys', () => {
  it('takes a store without keys, a ring with a valid current key, and one of three words for plain sessions', async () => {
    expect(() => withKeys(memoryStore(), ring, { plain: 'yes' as never })).toThrow(
      /^withKeys: plain is "yes"; expected one of refuse, read, continue/,
    )
    expect(() => withKeys(memoryStore(), ring, { plane: 'read' } as never)).toThrow(/no option "plane"/)
    expect(() => withKeys(memoryStore(), { current: { id: 'a b', key: host.key }, byId: () => undefined })).toThrow(
      new TypeError('the name of a host key is 1 to 100 letters, digits, dots, hyphens and underscores'),
    )
    expect(() => withKeys(withKeys(memoryStore(), ring), ring)).toThrow(
      new TypeError('withKeys: the store already has keys'),
    )
    const keysIn: Store = { ...memoryStore(), scoped: () => left({ _tag: 'InvalidId' } as never) }
    expect(() => withKeys(memoryStore(), keyRing([host], { keysIn }))).toThrow(
      new TypeError('withKeys: the scope of the store can not be one of keysIn'),
    )
    await expect(rotateKeys(memoryStore(), keyRing([host], { keysIn }))()).rejects.toThrow(
      new TypeError('the scope of the store can not be one of keysIn'),
    )
    expect(Object.isFrozen(withKeys(memoryStore(), ring))).toBe(true)
  })

  it('keeps the keys of each scope in that scope of the store for keys', async () => {
    const [inner, keysIn] = [memoryStore(), memoryStore()]
    const scoped = orThrow(withKeys(inner, keyRing([host], { keysIn })).scoped('other'))
    await ok(createSession(scoped, { id: 's', messages: [user('a')] }))
    expect(await idsOf(keysIn)).toEqual([])
    expect(await keysOf(orThrow(keysIn.scoped('other')))).toHaveLength(1)
    expect((await idsOf(orThrow(inner.scoped('other')))).filter((id) => id.startsWith('indelible.'))).toEqual([])
    expect((await ok(openSession(scoped, 's'))).view().at(0)).toEqual(user('a'))
  })
})

describe('host keys', () => {
  const name = 'the name of a host key is 1 to 100 letters, digits, dots, hyphens and underscores'
  it.each<[string, () => unknown, string]>([
    ['an empty name', () => keyRing([{ id: '', key: host.key }]), name],
    ['a name of 101 letters', () => newHostKey('a'.repeat(101)), name],
    ['a name that is no text', () => keyRing([{ id: 1 as never, key: host.key }]), name],
    ['no key', () => hostKeyText(undefined as never), name],
    ['no bytes', () => keyRing([{ id: 'a', key: 'x'.repeat(32) as never }]), 'the host key a is not 32 bytes'],
    ['33 bytes', () => hostKeyText({ id: 'a', key: new Uint8Array(33) }), 'the host key a is not 32 bytes'],
    ['a text without a name', () => hostKeyOf('AAAA'), name],
    ['a text that is not base64', () => hostKeyOf('a:!'), 'the host key a is not 32 bytes'],
    ['no list', () => keyRing(host as never), 'keyRing takes a list of host keys, found an object with "id", "key"'],
    ['none of them', () => keyRing([]), 'keyRing takes at least one key, and no two with the same name'],
    ['a name twice', () => keyRing([host, newHostKey('one')]), 'keyRing takes at least one key, and no two with the same name'], // oxfmt-ignore
  ])('with %s are refused', (_, make, message) => {
    expect(make).toThrow(new TypeError(message))
  })

  it('are random, with a random name if they are given none, and are read from their text', () => {
    const [a, b] = [newHostKey(), newHostKey()]
    expect(a.id).toMatch(/^[0-9a-f]{12}$/)
    expect([a.key.length, a.id === b.id, hex(a.key) === hex(b.key)]).toEqual([32, false, false])
    expect(newHostKey('a'.repeat(100)).id).toHaveLength(100)
    expect(hostKeyOf(` ${hostKeyText(a)}\n`)).toEqual(a)
    const both = keyRing([a, b])
    expect([both.current, both.byId(a.id), both.byId(b.id), both.byId('none')]).toEqual([a, a.key, b.key, undefined]) // oxfmt-ignore
    expect([a, both].every(Object.isFrozen)).toBe(true)
    expect(Object.keys(both)).toEqual(['current', 'byId'])
  })
})

it('a nonce is never drawn twice, and its text is that of its bytes', () => {
  const texts = new Set<string>()
  for (let draw = 0; draw < 600; draw++) {
    const { bytes, text } = randomNonce()
    expect([bytes.length, text]).toEqual([12, Buffer.from(bytes).toString('base64')])
    texts.add(text)
  }
  expect(texts.size).toBe(600)
  expect(hex(Uint8Array.of(0, 15, 16, 255))).toBe('000f10ff')
})

it.each(['', '!', 'AAAA', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
  'a block is not opened by %j in place of its key',
  (key) => {
    expect(decryptBlock(key, new Uint8Array(40))).toBeUndefined()
  },
)

it.each<[string, unknown]>([
  ['no key', undefined],
  ['null', null],
  ['31 bytes', new Uint8Array(31)],
  ['a text of 32 letters', 'x'.repeat(32)],
])('a key ring that answers with %s opens no session', async (_, answer) => {
  const store = memoryStore()
  await ok(createSession(withKeys(store, ring), { id: 's' }))
  const other = { current: newHostKey('two'), byId: () => answer as never }
  const { reason } = await fault('NoKey', openSession(withKeys(store, other), 's'))
  expect(reason).toMatch(
    answer === undefined
      ? /which the key ring lacks: this may be the wrong key file$/
      : /of the key ring does not open the key/,
  )
})

describe('a log of a store with keys', () => {
  it("with an id of the library's own is not made, forked, updated, appended to or erased by a caller", async () => {
    const store = withKeys(memoryStore(), ring)
    await ok(createSession(store, { id: 's', messages: [user('a')] }))
    const { head } = await ok(store.info('s'))
    const id = 'indelible.mine'
    for (const call of [
      store.create({ id, encrypt: true }),
      store.create({ id, encrypt: false }),
      store.fork(id, { id: 'f', at: 0 }),
      store.fork('s', { id, at: 0 }),
      store.update(id, { expected: 0, meta: {} }),
      store.append(id, { expected: head, rows: [rowOf('b')] }),
      store.erase({ logs: [{ id, expected: head, rows: [] }] }),
    ])
      expect(await fault('InvalidId', call as never)).toMatchObject({ what: 'log' })
    expect((await idsOf(store)).includes(id)).toBe(false)
  })

  it('is not made with metadata or rows that it can not have, and leaves no key and no mark', async () => {
    const [inner, keysIn] = [memoryStore(), memoryStore()]
    const store = withKeys(inner, keyRing([host], { keysIn }))
    await ok(createSession(store, { id: 'other' }))
    const before = await idsOf(keysIn)
    const lost = 'ab'.repeat(32) as never
    for (const [tag, log] of [
      ['InvalidMeta', { meta: { a: 1n } as never }],
      ['InvalidRow', { rows: [{ ...rowOf('a'), erased: lost }] }],
      ['InvalidRow', { rows: [{ ...rowOf('a'), blocks: [inner.hash(new Uint8Array(1))] as never }], blocks: [] }],
      ['MissingBlock', { rows: [{ ...rowOf('a'), blocks: [lost] }] }],
    ] as const) {
      const made = await store.create({ id: 's', encrypt: true, ...log })()
      expect([tag, made._tag]).toEqual([tag, 'Left'])
      expect(await idsOf(keysIn)).toEqual(before)
    }
    expect(await fault('InvalidMeta', store.create({ id: 's', encrypt: true, meta: { a: 1n } as never }))).toEqual({
      ...{ _tag: 'InvalidMeta', path: ['a'], reason: expect.any(String) },
    })
    expect(await fault('LogExists', store.create({ id: 'other', encrypt: true }))).toEqual({ _tag: 'LogExists', id: 'other' }) // oxfmt-ignore
    expect(await idsOf(keysIn)).toEqual(before)
    expect((await ok(openSession(store, 'other'))).len).toBe(0)
  })

  it('that is not made although its mark was keeps no mark, but keeps one where the log is there', async () => {
    const [inner, keysIn] = [memoryStore(), memoryStore()]
    const keys = keyRing([host], { keysIn })
    const isLog = (value: unknown): boolean => (value as { readonly id?: string }).id === 's'
    await fault('Io', withKeys(failing(inner, 'create', { of: isLog }), keys).create({ id: 's', encrypt: true }))
    await ok(inner.create({ id: 's', encrypt: false })) // a plain log has the id now
    expect((await ok(withKeys(inner, keys, { plain: 'read' }).info('s'))).id).toBe('s')
    // One whose end is unknown may have been made: it keeps its key.
    const unknown = { ...io, outcome: 'unknown' }
    const before = await keysOf(keysIn)
    const store = withKeys(failing(inner, 'create', { of: (value) => (value as { id?: string }).id === 't', why: unknown }), keys) // oxfmt-ignore
    await fault('Io', store.create({ id: 't', encrypt: true }))
    expect((await keysOf(keysIn)).length).toBe(before.length + 1)
  })

  it('that is not forked leaves no key, and the key of its parent stays if the fork was to share it', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    await ok(createSession(store, { id: 's', messages: [user('a')] }))
    await ok(createSession(store, { id: 'taken' }))
    const before = await idsOf(inner)
    for (const sameKey of [true, false]) {
      expect(await fault('LogExists', store.fork('s', { id: 'taken', at: 1, sameKey }))).toMatchObject({ id: 'taken' })
      await fault('InvalidMeta', store.fork('s', { id: 'f', at: 1, sameKey, meta: { a: 1n } as never }))
      expect(await idsOf(inner)).toEqual(before)
    }
    expect((await ok(openSession(withKeys(inner, ring), 's'))).view().at(0)).toEqual(user('a'))
    expect((await ok(openSession(withKeys(inner, ring), 'taken'))).len).toBe(0)
  })

  it('is no longer marked once its removal is done', async () => {
    const [inner, keysIn] = [memoryStore(), memoryStore()]
    const slow: Store = {
      ...keysIn,
      remove: (id, call) =>
        storeTask(async () => {
          await new Promise(setImmediate)
          return keysIn.remove(id, call)()
        }, 'store.remove'),
      scoped: () => right(slow),
    }
    const store = withKeys(inner, keyRing([host], { keysIn: slow }))
    await ok(createSession(store, { id: 's' }))
    const isMark = (id: string): boolean => id.startsWith('indelible.keyed.')
    expect((await idsOf(keysIn)).filter(isMark)).toHaveLength(1)
    await ok(store.remove('s'))
    expect((await idsOf(keysIn)).filter(isMark)).toEqual([])
    // Nor has it a key once it could not be made.
    await ok(createSession(store, { id: 's' }))
    const keys = await keysOf(keysIn)
    await fault('LogExists', store.create({ id: 's', encrypt: true }))
    expect(await keysOf(keysIn)).toEqual(keys)
  })

  it('in the place of a removed plain session is no plain session', async () => {
    const inner = memoryStore()
    await ok(createSession(inner, { id: 's', messages: [user('a')] }))
    const store = withKeys(inner, ring)
    await fault('NoKey', openSession(store, 's'))
    await ok(store.remove('s'))
    const { head } = await ok(store.create({ id: 's', encrypt: false }))
    expect((await ok(store.append('s', { expected: head, rows: [rowOf('a')] }))).from).toBe(0)
  })

  it("is neither opened nor made while the scope's own key can not be read", async () => {
    const [inner, keysIn] = [memoryStore(), memoryStore()]
    await ok(createSession(withKeys(inner, keyRing([host], { keysIn })), { id: 's', messages: [user('a')] }))
    const down = failing(keysIn, 'info', { of: (id) => id === 'indelible.key.scope' })
    const keys = keyRing([host], { keysIn: { ...down, scoped: () => right(down) } })
    const before = await idsOf(inner)
    expect(await fault('Io', openSession(withKeys(inner, keys), 's'))).toEqual(io)
    expect(await fault('Io', withKeys(inner, keys).read('s'))).toEqual(io)
    expect(await fault('Io', createSession(withKeys(inner, keys), { id: 't' }))).toEqual(io)
    expect(await fault('Io', withKeys(inner, keys).getBlocks(['ab'.repeat(32) as never]))).toEqual(io)
    expect(await idsOf(inner)).toEqual(before)
  })

  it('is encrypted for its key until that key is destroyed, however soon the next append is', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    const session = await ok(createSession(store, { id: 's' }))
    await ok(session.append(user('a')))
    expect(await ok(destroyKey(inner, 's', ring))).toBe(true)
    await fault('NoKey', session.append(user('b')))
    expect((await ok(inner.info('s'))).head.size).toBe(1)
  })

  it('gets no key of the scope from an erasure in a plain session', async () => {
    const inner = memoryStore()
    await ok(createSession(inner, { id: 's', messages: [user('a')] }))
    await ok(eraseMessages(withKeys(inner, ring, { plain: 'continue' }), 's', [0]))
    expect((await idsOf(inner)).filter((id) => id.startsWith('indelible.key'))).toEqual([])
  })
})

describe('the rows of an encrypted log', () => {
  const keyed = async (...texts: readonly string[]) => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    await ok(createSession(store, { id: 's', messages: texts.map((text) => user(text)) }))
    const { head } = await ok(store.info('s'))
    return { inner, store, head }
  }

  it('name the blocks that come with them, and no others', async () => {
    const { store, head, inner } = await keyed()
    const bytes = Buffer.from('a block')
    const [id] = await ok(memoryStore().putBlocks([bytes]))
    const append = (row: Row) => store.append('s', { expected: head, rows: [rowOf('a'), row], blocks: [bytes] })
    expect(await fault('InvalidRow', append({ ...rowOf('b'), blocks: [id as never] }))).toEqual({
      ...{ _tag: 'InvalidRow', index: 1, reason: 'has blocks that its text does not name' },
    })
    const erased = 'ab'.repeat(32)
    expect(await fault('InvalidRow', store.append('s', { expected: head, rows: [rowOf('a'), { ...rowOf('b'), erased }] }))).toEqual({ _tag: 'InvalidRow', index: 1, reason: 'has more than the stub of an erased message' }) // oxfmt-ignore
    expect((await ok(inner.info('s'))).head).toEqual(head)
  })

  it.each<[string, (row: Row, other: Row) => Row, string]>([
    [
      'no encryption',
      () => rowOf('forged'),
      'the row is not encrypted, but the log is: it was written without the keys',
    ],
    ['the key of another log', (_, other) => other, 'the row has another key than the log uses at this position: it was moved'], // oxfmt-ignore
    ['another place', (row) => row, 'the row is not what its key encrypted for this position: it was altered or moved'],
  ])('with %s are damage at their position', async (_, change, reason) => {
    const { inner, store } = await keyed('a', 'b')
    await ok(createSession(store, { id: 'o', messages: [user('a')] }))
    const [[row], [other]] = [await ok(inner.read('s')), await ok(inner.read('o'))]
    const { head } = await ok(inner.info('s'))
    const { kind, body, at } = change(row as Row, other as Row)
    await ok(inner.append('s', { expected: head, rows: [{ kind, body, ...(at !== undefined && { at }) }] }))
    expect(await fault('DamagedLog', store.read('s'))).toEqual({ _tag: 'DamagedLog', id: 's', position: 2, reason })
    expect((await ok(store.read('s', { from: 0, to: 2 }))).map(({ body }) => body)).toEqual([bodyOf('a'), bodyOf('b')])
  })

  it('that are encrypted in a log that is not are damage', async () => {
    const { inner, store } = await keyed('a')
    const [row] = await ok(inner.read('s'))
    await ok(createSession(inner, { id: 'plain', messages: [user('a')] }))
    const { head } = await ok(inner.info('plain'))
    await ok(inner.append('plain', { expected: head, rows: [{ kind: 'entry', body: (row as Row).body }] }))
    const reading = withKeys(inner, ring, { plain: 'read' })
    expect(await fault('DamagedLog', reading.read('plain'))).toEqual({
      ...{ _tag: 'DamagedLog', id: 'plain', position: 1, reason: 'the row is encrypted, but the log is not' },
    })
    expect((await ok(store.read('s', { from: 1, to: 1 }))).length).toBe(0)
  })

  it('that were erased have nothing but a stub, also if somebody with the key wrote it', async () => {
    const { inner, store } = await keyed('a')
    const name = (await keysOf(inner))[0]?.slice('indelible.key.'.length) as string
    const key = deriveKey(orThrow(await new Vault(ring, inner).get(name, 's')), 'text')
    const { head } = await ok(inner.info('s'))
    const erased = 'cd'.repeat(32)
    const rows = [stub, bodyOf('forged')].map((text, index) => {
      const place = { kind: 'entry', position: 1 + index, at: 5, erased } as const
      return { kind: 'entry', at: 5, erased, body: encryptedRowBody({ name, key }, place, text) } as const
    })
    const stored = await ok(store.read('s', { from: 1, to: 3 }))
    const below: Store = {
      ...inner,
      read: () => storeTask(async () => right(rows.map((row, index) => Object.assign({ position: 1 + index, index: 1 + index }, row)) as never), 'store.read'), // oxfmt-ignore
    }
    expect(await fault('DamagedLog', withKeys(below, ring).read('s'))).toEqual({
      ...{ _tag: 'DamagedLog', id: 's', position: 2, reason: 'the row has more than the stub of an erased message' },
    })
    expect([stored, head.size]).toEqual([[], 1])
  })

  it('are not erased by more than a stub: the fault has the index of the row', async () => {
    const { store, head } = await keyed('a', 'b')
    const rows = [
      { position: 0, stub },
      { position: 1, stub: bodyOf('forged') },
    ]
    expect(await fault('InvalidRow', store.erase({ logs: [{ id: 's', expected: head, rows }] }))).toEqual({
      ...{ _tag: 'InvalidRow', index: 1, reason: 'has more than the stub of an erased message' },
    })
    expect((await ok(store.read('s'))).map(({ body }) => body)).toEqual([bodyOf('a'), bodyOf('b')])
  })
})

describe('attachments of a store with keys', () => {
  it('are not missing because their log can not be read', async () => {
    const inner = memoryStore()
    const bytes = Buffer.from('an attachment')
    const ids = await ok(withKeys(inner, ring).putBlocks([bytes]))
    const isName = (id: unknown): boolean => typeof id === 'string' && id.startsWith('indelible.block.')
    const down = withKeys(failing(inner, 'info', { of: isName }), ring)
    expect(await fault('Io', down.getBlocks(ids))).toEqual(io)
    expect(await fault('Io', down.hasBlocks(ids))).toEqual(io)
    for (const call of ['getBlocks', 'hasBlocks'] as const)
      expect(await fault('Io', withKeys(failing(inner, call), ring)[call](ids))).toEqual(io)
    const other = 'ab'.repeat(32) as never
    const store = withKeys(inner, ring)
    expect(await ok(store.getBlocks([other, ...ids]))).toEqual([undefined, Uint8Array.from(bytes)])
    expect(await ok(store.hasBlocks([other, ...ids]))).toEqual([false, true])
    expect(await ok(store.getBlocks([]))).toEqual([])
  })

  it('that are gone, or whose log was altered, are missing, and an erasure does not list them', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    const ids = await ok(store.putBlocks([Buffer.from('one'), Buffer.from('two')]))
    const content = ids.map((id) => file({ type: 'block', id, mediaType: 'text/plain' }))
    await ok(createSession(store, { id: 's', messages: [user(...content)] }))
    const [log, other] = (await idsOf(inner)).filter((id) => id.startsWith('indelible.block.')) as [string, string]
    await ok(ownStore(inner).remove(log))
    const left = (await ok(store.hasBlocks(ids))).indexOf(true)
    const expected = await ok(store.info('s'))
    const { blocks } = await ok(store.erase({ logs: [{ id: 's', expected: expected.head, rows: [{ position: 0, stub }] }] })) // oxfmt-ignore
    expect(blocks).toEqual([{ block: ids[left], rows: 0, kept: true }])
    const { version } = await ok(inner.info(other))
    await ok(ownStore(inner).update(other, { expected: version, meta: { 'indelible.block': 'altered' } }))
    expect(await ok(store.hasBlocks(ids))).toEqual([false, false])
    expect(await ok(store.getBlocks(ids))).toEqual([undefined, undefined])
  })

  it('that are not what their key encrypted are damage', async () => {
    const inner = memoryStore()
    const ids = await ok(withKeys(inner, ring).putBlocks([Buffer.from('an attachment')]))
    const other = await ok(inner.putBlocks([Buffer.from('plain')]))
    for (const change of [(bytes: Uint8Array) => bytes.with(0, 255 - (bytes[0] as number)), () => new Uint8Array(3)]) {
      const below: Store = {
        ...inner,
        getBlocks: (asked) =>
          storeTask(async () => {
            const found = await orThrow(inner.getBlocks(asked))
            return right(found.map((bytes) => bytes && change(bytes)))
          }, 'getBlocks'),
      }
      for (const [id] of [ids, other])
        expect(await fault('DamagedBlock', withKeys(below, ring).getBlocks([id as never]))).toEqual({
          ...{ _tag: 'DamagedBlock', ids: [id] },
        })
    }
  })
})

describe('the list of a store with keys', () => {
  it('has the damaged logs beside the others, with the reason, and those without a key as they are', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    for (const id of ['a', 'b', 'c']) await ok(createSession(store, { id, metadata: { title: id, clear: { of: id } } }))
    const { meta, version } = await ok(inner.info('b'))
    const change = { ...meta, clear: { of: 'eve' } }
    await ok(ownStore(inner).update('b', { expected: version, meta: change }))
    await ok(destroyKey(inner, 'c', ring))
    const page = await ok(store.list({ where: { 'indelible.session': 1 }, by: 'id' }))
    const reason = 'its metadata is not what its key encrypted: it was changed without the key'
    expect(page.damaged).toEqual([{ id: 'b', reason }])
    expect(page.logs.map(({ id, meta }) => [id, meta['title'], meta['clear']])).toEqual([
      ['a', 'a', { of: 'a' }],
      ['c', undefined, { of: 'c' }],
    ])
    for (const one of [page, page.logs, page.damaged, ...(page.damaged ?? [])]) expect(Object.isFrozen(one)).toBe(true)
    expect(await fault('DamagedLog', store.info('b'))).toEqual({ _tag: 'DamagedLog', id: 'b', position: 0, reason })
    expect(await fault('Io', withKeys(failing(inner, 'list'), ring).list())).toEqual(io)
    const isKey = (id: unknown): boolean => typeof id === 'string' && id.startsWith('indelible.key.')
    expect(await fault('Io', withKeys(failing(inner, 'info', { of: isKey }), ring).list())).toEqual(io)
  })

  it('has a log that lists no keys as damaged, with the reason', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    await ok(createSession(store, { id: 's' }))
    const { meta, version } = await ok(inner.info('s'))
    const encryption = { ...(meta[encryptionKey] as object), keys: [] }
    await ok(ownStore(inner).update('s', { expected: version, meta: { ...meta, [encryptionKey]: encryption } }))
    const reason = 'its metadata does not list the keys of the log'
    expect((await ok(store.list())).damaged).toEqual([{ id: 's', reason }])
  })
})

describe('an update of metadata in a store with keys', () => {
  it('that comes late has the metadata of the other one, decrypted', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    const { version, meta } = await ok(store.create({ id: 's', encrypt: true, meta: { title: 'first' } }))
    const changed = await ok(store.update('s', { expected: version, meta: { ...meta, title: 'second' } }))
    expect(changed.meta['title']).toBe('second')
    const late = await fault(
      'MetaConflict',
      store.update('s', { expected: version, meta: { ...meta, title: 'third' } }),
    )
    const actual = changed.version
    expect(late).toEqual({ _tag: 'MetaConflict', id: 's', expected: version, actual, meta: changed.meta })
    expect(await fault('InvalidMeta', store.update('s', { expected: changed.version, meta: { a: 1n } as never }))).toMatchObject({ path: ['a'] }) // oxfmt-ignore
    expect(await fault('NoSuchLog', store.update('none', { expected: 0, meta: {} }))).toMatchObject({ id: 'none' })
    expect((await ok(store.info('s'))).meta).toEqual(changed.meta)
  })
})

it('an update that comes after metadata that nobody with the keys wrote is damage', async () => {
  const inner = memoryStore()
  const { version, meta } = await ok(withKeys(inner, ring).create({ id: 's', encrypt: true, meta: { a: 1, clear: 1 } }))
  const late: Store = {
    ...inner,
    update: (id, update) =>
      storeTask(async () => {
        const stored = await orThrow(inner.info(id))
        const forged = { ...stored.meta, clear: 2 }
        await orThrow(ownStore(inner).update(id, { expected: stored.version, meta: forged }))
        return inner.update(id, update)()
      }, 'store.update'),
  }
  const updated = withKeys(late, ring).update('s', { expected: version, meta: { ...meta, a: 2 } })
  expect(await fault('DamagedLog', updated as never)).toMatchObject({ id: 's', position: 0 })
})

describe('a search of a store with keys', () => {
  const texts = async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    await ok(createSession(store, { id: 'a', messages: [user('Zanzibar'), user('x')] }))
    await ok(createSession(store, { id: 'b', messages: [user('x'), user('Zanzibar')] }))
    return { inner, store }
  }

  it('lists what it can not read, and has the other faults of the store', async () => {
    const { inner, store } = await texts()
    expect(await ok(store.containing(['Zanzibar']))).toEqual({
      rows: [
        { id: 'b', position: 1 },
        { id: 'a', position: 0 },
      ],
      ...{ blocks: [], unread: [] },
    })
    await ok(destroyKey(inner, 'a', ring))
    expect(await ok(store.containing(['Zanzibar']))).toEqual({
      rows: [{ id: 'b', position: 1 }],
      blocks: [],
      unread: ['a'],
    })
    for (const call of ['containing', 'list'] as const)
      expect(await fault('Io', withKeys(failing(inner, call), ring).containing(['Zanzibar']))).toEqual(io)
    const isB = (id: unknown): boolean => id === 'b'
    expect(await fault('Io', withKeys(failing(inner, 'read', { of: isB }), ring).containing(['x']))).toEqual(io)
    const gone = { _tag: 'NoSuchLog', id: 'b' }
    expect((await ok(withKeys(failing(inner, 'read', { of: isB, why: gone }), ring).containing(['Zanzibar']))).rows).toEqual([]) // oxfmt-ignore
  })
})

describe('the destruction of a key', () => {
  it('is recorded with the head and the key, and refused for what has none or is held', async () => {
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    const session = await ok(createSession(store, { id: 's', messages: [user('a')] }))
    await ok(createSession(inner, { id: 'plain' }))
    await ok(forkSession(store, 's', { id: 'f', at: 1 }))
    expect(await fault('NoKey', destroyKey(store, 'plain', ring))).toEqual({
      ...{ _tag: 'NoKey', id: 'plain', key: 'none', reason: 'it has no key to destroy; nothing was changed' },
    })
    expect(await fault('InvalidId', destroyKey(store, 'indelible.key.scope', ring))).toMatchObject({ what: 'log' })
    expect(await fault('NoSuchLog', destroyKey(store, 'none', ring))).toMatchObject({ id: 'none' })
    for (const because of [{}, { reason: 'court' }, { by: 'ann' }]) {
      await holdSession(store, 'f', because)
      expect(await fault('LogHeld', destroyKey(store, 's', ring))).toEqual({ _tag: 'LogHeld', id: 'f', ...because })
      await ok(ownStore(inner).remove('indelible.ledger'))
    }
    // A held session that can not be read may need the key; one that is gone does not.
    await holdSession(store, 'f')
    const isF = (id: unknown): boolean => id === 'f'
    expect(await fault('Io', destroyKey(failing(inner, 'info', { of: isF }), 's', ring))).toEqual(io)
    const gone = failing(inner, 'info', { of: isF, why: { _tag: 'NoSuchLog', id: 'f' } })
    const because = { reason: 'Art. 17', by: 'ann' }
    const destroying = destroyKey(gone, 's', ring, because)()
    because.reason = 'another'
    expect(await destroying).toEqual(right(true))
    const [destroyed] = (await readLedger(inner)).destroyed.values()
    expect(destroyed).toEqual({ id: 's', key: expect.any(String), row: 1, at: expect.any(Number), reason: 'Art. 17', by: 'ann' }) // oxfmt-ignore
    const rows = await ok(inner.read('indelible.ledger'))
    expect(JSON.parse(rows[1]?.body as string)).toMatchObject({ type: 'destroyed', ...session.head() })
    expect((await ok(describeSession(store, 's'))).metadata).toEqual({})
  })
})

it('a log without keys in a store with keys is made, forked and listed as before', async () => {
  const inner = memoryStore()
  const store = withKeys(inner, ring)
  await ok(store.create({ id: 'list', meta: { a: 1 }, encrypt: false }))
  await ok(store.fork('list', { id: 'fork', at: 0 }))
  expect((await ok(store.list({ by: 'id' }))).logs.map(({ id }) => id)).toEqual(['fork', 'list'])
  expect(await ok(store.info('list'))).toEqual(await ok(inner.info('list')))
  expect(await keysOf(inner)).toEqual([])
})
