/** Encrypted sessions: what is stored of them, who can read it, and that everything else goes on as before. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  faultMessage,
  file,
  forkSession,
  image,
  listSessions,
  memoryStore,
  openSession,
  orThrow,
  readSession,
  toolCall,
  textOf,
  toolResult,
  user,
  verifySession,
  type Message,
  type Store,
} from 'indelible'
import {
  checkKeys,
  destroyKey,
  hostKeyOf,
  hostKeyText,
  keyRing,
  newHostKey,
  rotateKeys,
  withKeys,
} from '@indelible/encryption'
import { encodeRow } from 'indelible/internal/entry'
import { verifyLedger, updateLedger } from '@indelible/evidence'
import {
  copySession,
  createFork,
  describeSession,
  eraseMessages,
  exportSession,
  follow,
  proveEntry,
  readRange,
} from 'indelible/session'
import { verifyLog, type LogInfo, type Row } from 'indelible/store'
import { isEncrypted, ownStore, storeTask } from '../../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { postgresStore } from '@indelible/postgres'
import { blockContract, storeContract } from '@indelible/testing'
import { changeEverything } from '../../testing/src/check.ts'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import { root } from '../../../scripts/run.ts'
import { fault, ok } from '../../../test/task-results.ts'
import { startPostgres } from '../../postgres/test/postgres-server.ts'
import { native, portable } from '../src/aes.ts'
import { Vault } from '../src/vault.ts'
import { changed } from './stolen.ts'
import { isFull, oneIn, rounds } from '../../../test/rounds.ts'
import { program } from '../../../test/programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-encryption-'))
const server = await startPostgres()
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await server?.stop()
})

let count = 0
const inFile = async (): Promise<Store> => ok(sqliteStore({ path: join(folder, `${++count}.db`), durability: 'os' }))
const places: readonly { readonly name: string; readonly fresh: () => Promise<Store> }[] = [
  { name: 'memory', fresh: async () => memoryStore() },
  { name: 'SQLite', fresh: inFile },
  ...(server === undefined
    ? []
    : [
        {
          name: 'PostgreSQL',
          fresh: async () =>
            ok(
              postgresStore({
                timeout: 600_000,
                connectionString: server.url,
                schema: `keys ${process.pid} ${++count}`,
              }),
            ),
        },
      ]),
]

const host = newHostKey('one')
const ring = keyRing([host])

const word = 'Zanzibar-4711'
const long = `${word} `.repeat(600)
const picture = Buffer.from(`${word} `.repeat(200)).toString('base64')
const messages: readonly Message[] = [
  user(`first ${word}`, image({ type: 'base64', data: picture, mediaType: 'image/png' })),
  assistant(long, toolCall('call-secret-1', 'look', `{"at":"${word}"}`)),
  toolResult('call-secret-1', long),
]
const marks = ['Zanzibar', 'call-secret', '"assistant"', 'tool_call', 'conversation', Buffer.from(word).toString('hex')]

/** Everything that a store without keys gives. */
const dump = async (store: Store): Promise<string> => {
  let text = ''
  for (const { id, meta } of (await ok(store.list())).logs) {
    text += JSON.stringify([id, meta])
    for (const row of await ok(store.read(id))) {
      text += JSON.stringify(row)
      const blocks = [...row.body.matchAll(/[0-9a-f]{64}/g)].map(([block]) => block as never)
      for (const bytes of await ok(store.getBlocks(blocks))) text += Buffer.from(bytes ?? []).toString('latin1')
    }
  }
  return text
}

const views = async (store: Store, id: string): Promise<readonly unknown[]> => {
  const session = await ok(readSession(store, id))
  return [[...session.view()], [...session.notes()], session.metadata(), session.head()]
}

describe.each(places)('encrypted sessions on $name', ({ fresh }) => {
  it('are neither updated nor erased by a holder who lost the lease', async () => {
    const store = withKeys(await fresh(), ring)
    const session = await ok(createSession(store, { id: 's', messages: [user(word)] }))
    const lease = await ok(session.lease({ holder: 'zombie', ttl: 60_000 }))
    await ok(session.update((metadata) => void (metadata['by'] = 'its holder')))
    await ok(store.release('s', lease.number))
    await ok(store.lease('s', { holder: 'next', ttl: 60_000 }))
    await fault('LeaseLost', eraseMessages(session, [0]))
    await fault(
      'LeaseLost',
      session.update((metadata) => void (metadata['by'] = 'a zombie')),
    )
    const left = await ok(readSession(store, 's'))
    expect([left.metadata(), textOf(left.view().at(0) as Message)]).toEqual([{ by: 'its holder' }, word])
    await ok(lease.release())
    expect((await ok(eraseMessages(session, [0]))).messages.length).toBe(1)
    await ok(session.close())
    await ok(store.close())
  })
  it('read back unchanged and are unreadable without the keys', async () => {
    const bare = await fresh()
    const store = withKeys(bare, ring)
    const session = await ok(
      createSession(store, {
        id: 's',
        metadata: { title: word, clear: { user: 'ada' } },
        messages: messages.slice(0, 1),
      }),
    )
    await ok(session.append(messages.slice(1), { operation: 'turn-1', page: 'evidence' }))
    await ok(session.note({ type: 'application', namespace: 'x', content: { deep: word } }))
    await ok(session.note({ type: 'journal', step: 'st', said: [{ index: 0, text: word }] }))
    await ok(session.note({ type: 'pin', position: 0 }))
    await ok(session.note({ type: 'summary', from: 0, to: 2, text: `about ${word}` }))
    await ok(session.update((metadata) => void (metadata['more'] = word)))
    const [file1] = await ok(store.putBlocks([Buffer.from(`an attachment: ${word}`)]))
    await ok(session.append(user(file({ type: 'block', id: file1 as never, mediaType: 'text/plain' }))))

    const again = await ok(openSession(store, 's'))
    expect([...again.view()]).toEqual([...session.view()])
    expect([...again.view()].slice(0, 3)).toEqual(messages)
    expect([...again.notes()]).toEqual([...session.notes()])
    expect(again.at().pages).toEqual(session.at().pages)
    expect(again.head()).toEqual(session.head())
    const rows = await ok(store.read('s'))
    expect([rows.length, Object.isFrozen(rows)]).toEqual([again.head().size, true])
    expect(again.metadata()).toEqual({ title: word, more: word, clear: { user: 'ada' } })
    expect([again.len, await ok(describeSession(store, 's'))]).toMatchObject([4, { encrypted: true, len: 4 }])
    expect(Buffer.from((await ok(store.getBlocks([file1 as never])))[0] ?? []).toString()).toBe(
      `an attachment: ${word}`,
    )
    expect([...(await ok(readRange(store, 's', -3, -1))).view]).toEqual(messages.slice(1))
    // A retry, also of another process, is the same append.
    const retried = await ok(again.append(messages.slice(1), { operation: 'turn-1', page: 'evidence', expectedLen: 1 }))
    expect([retried.from, retried.to]).toEqual([1, 3])
    await fault('OperationMismatch', again.append(messages.slice(1), { operation: 'turn-1', expectedLen: 1 }))

    const text = await dump(bare)
    expect(text).toContain('"encrypted')
    for (const mark of marks) expect([mark, text.includes(mark)]).toEqual([mark, false])
    expect((await ok(listSessions(store, { where: { clear: { user: 'ada' } } }))).sessions).toMatchObject([
      { id: 's', encrypted: true, metadata: { title: word } },
    ])
    // Without keys: what is clear, that it is whole, and no more.
    expect((await ok(listSessions(bare))).sessions).toMatchObject([{ id: 's', metadata: { clear: { user: 'ada' } } }])
    expect(await ok(verifySession(bare, 's'))).toMatchObject({ len: 4, encrypted: true, head: session.head() })
    expect(await ok(verifySession(store, 's', { head: session.head() }))).toMatchObject({ len: 4 })
    await fault('NoKey', openSession(bare, 's'))
    await fault('NoKey', readSession(bare, 's'))
    await fault('NoKey', readRange(bare, 's', 0, 1))
    await fault('NoKey', exportSession(bare, 's'))
    await fault('NoKey', createFork(bare, 's'))
    const unproven = await fault('MessageEncrypted', proveEntry(store, 's', -1))
    expect(faultMessage(unproven)).toMatch(/^message 3 of "s" can't be proven alone: the session is encrypted/)
    expect(await ok(bare.check())).toEqual([])
    await bare.close()()
  })

  it('property: behave like sessions without a key', async () => {
    const [bare, plain] = [await fresh(), memoryStore()]
    const store = withKeys(bare, ring)
    const step = fc.oneof(
      fc.record({ do: fc.constant('append' as const), text: fc.string(), long: fc.boolean() }),
      fc.record({ do: fc.constant('note' as const), text: fc.string(), long: fc.boolean() }),
      fc.record({
        do: fc.constantFrom('pop' as const, 'reopen' as const, 'fork' as const),
        text: fc.constant(''),
        long: fc.constant(false),
      }),
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        let id = `law-${++run}`
        let [a, b] = [await ok(createSession(store, { id })), await ok(createSession(plain, { id }))]
        for (const { do: what, text, long: isLong } of steps) {
          const given = isLong ? text.repeat(5000) : text
          if (what === 'append') for (const session of [a, b]) void (await session.append(user(given)))
          if (what === 'note')
            for (const session of [a, b])
              void (await session.note({ type: 'application', namespace: 'x', content: text }))
          if (what === 'pop') for (const session of [a, b]) void (await session.pop())
          if (what === 'reopen') [a, b] = [await ok(openSession(store, id)), await ok(openSession(plain, id))]
          if (what === 'fork') {
            const to = `${id}f`
            const at = Math.floor(a.len / 2)
            ;[a, b] = [
              await ok(forkSession(store, id, { id: to, at })),
              await ok(forkSession(plain, id, { id: to, at })),
            ]
            id = to
          }
        }
        const [left, right] = [await ok(readSession(store, id)), await ok(readSession(plain, id))]
        expect([...left.view()]).toEqual([...right.view()])
        expect([...left.conversation()]).toEqual([...right.conversation()])
        expect([...left.notes()]).toEqual([...right.notes()])
        expect(left.head().size).toBe(right.head().size)
        await ok(verifySession(store, id))
        await ok(verifySession(bare, id))
      }),
      { numRuns: rounds(4, 300) },
    )
    await bare.close()()
  })

  it('become unreadable with what forks share when the key is destroyed; rows still verify', async () => {
    const [bare, keysIn] = [await fresh(), memoryStore()]
    const apart = keyRing([host], { keysIn })
    const store = withKeys(bare, apart)
    const session = await ok(createSession(store, { id: 's', messages: messages, metadata: { title: word } }))
    const fork = await ok(forkSession(store, 's', { id: 'f', at: 2 }))
    await ok(fork.append(user('own')))
    const other = await ok(createSession(store, { id: 'o', messages: [user(long)] })) // shares a block
    const backup = memoryStore()
    for (const id of ['s', 'f']) await ok(copySession(bare, backup, id))
    expect([...(await ok(openSession(withKeys(backup, apart), 's'))).view()]).toEqual(messages)

    expect(await ok(destroyKey(store, 's', apart))).toBe(true)
    expect(await ok(destroyKey(store, 's', apart))).toBe(false)
    for (const place of [store, withKeys(bare, apart), withKeys(backup, apart)])
      for (const id of ['s', 'f']) {
        const why = await fault('NoKey', openSession(place, id))
        expect(faultMessage(why)).toContain('destroyed')
      }
    await fault('NoKey', session.append(user('more')))
    const own = await ok(readRange(withKeys(bare, apart), 'f', -1))
    expect([...own.view]).toEqual([user('own')]) // what is the fork's alone is left
    for (const place of [bare, backup]) for (const id of ['s', 'f']) await ok(verifySession(place, id))
    expect([...(await ok(openSession(withKeys(bare, apart), 'o'))).view()]).toEqual([...other.view()])
    expect((await ok(describeSession(withKeys(bare, apart), 's'))).metadata).toEqual({})
    await bare.close()()
  })

  it('have forks with the same key, from before its first row too', async () => {
    const bare = await fresh()
    const store = withKeys(bare, ring)
    await ok(createSession(store, { id: 's', messages: messages }))
    await ok(forkSession(store, 's', { id: 'f', at: 2 }))
    const isKey = ({ id }: LogInfo): boolean => id.startsWith('indelible.key.')
    const keys = async (): Promise<number> => (await ok(bare.list({ limit: 100 }))).logs.filter(isKey).length
    const before = await keys()
    const { meta } = await ok(store.info('f'))
    await ok(store.fork('f', { id: 'g', at: 1, meta, sameKey: true }))
    await ok((await ok(openSession(store, 'g'))).append(user('own')))
    expect(await keys()).toBe(before)
    expect([...(await ok(openSession(withKeys(bare, ring), 'g'))).view()]).toEqual([messages[0], user('own')])
    await ok(store.fork('f', { id: 'h', at: 1 }))
    expect(await keys()).toBe(before + 1)
    await bare.close()()
  })

  it('are read with their own key where another process uses the id of a removed one', async () => {
    const inner = await fresh()
    const [store, elsewhere] = [withKeys(inner, ring), withKeys(inner, ring)]
    await ok(createSession(store, { id: 's', messages: messages }))
    await ok(store.read('s'))
    await ok(elsewhere.remove('s'))
    await ok(createSession(elsewhere, { id: 's', messages: messages.toReversed() }))
    expect(await ok(store.read('s'))).toEqual(await ok(elsewhere.read('s')))
    await inner.close()()
  })
})

describe('session keys', () => {
  it('a wrong or missing host key is a fault with the reason', async () => {
    const bare = memoryStore()
    await ok(createSession(withKeys(bare, ring), { id: 's', messages: messages }))
    const wrong = await fault('NoKey', openSession(withKeys(bare, keyRing([newHostKey('one')])), 's'))
    expect(faultMessage(wrong)).toMatch(
      /^"s" is encrypted.* another key with that name, or the wrapped key was altered$/,
    )
    const lacking = await fault('NoKey', openSession(withKeys(bare, keyRing([newHostKey('two')])), 's'))
    expect(faultMessage(lacking)).toContain('host key "one", which the key ring lacks')
    expect([...(await ok(openSession(withKeys(bare, ring), 's'))).view()]).toEqual(messages)
    expect([...(await ok(readSession(withKeys(bare, ring), 's'))).view()]).toEqual(messages)
    expect((await ok(forkSession(withKeys(bare, ring), 's', { id: 'f' }))).len).toBe(3)
    expect(() => withKeys(withKeys(bare, ring), ring)).toThrow(TypeError)
    expect(() => withKeys(bare, undefined as never)).toThrow('withKeys takes a key ring, such as keyRing([…]), found')
    expect(() => keyRing([])).toThrow(TypeError)
    expect(() => keyRing([{ id: 'a b', key: new Uint8Array(32) }])).toThrow(TypeError)
    expect(() => keyRing([{ id: 'a', key: new Uint8Array(31) }])).toThrow(TypeError)
    expect(hostKeyOf(hostKeyText(host))).toEqual({ id: 'one', key: host.key })
    expect(() => hostKeyOf('one:AAAA')).toThrow(TypeError)
  })

  it('encrypt no metadata that stays readable beside it', async () => {
    const bare = memoryStore()
    await ok(createSession(withKeys(bare, ring), { id: 's', metadata: { clear: { user: 'a'.repeat(5000) } } }))
    expect(JSON.stringify((await ok(bare.info('s'))).meta).length).toBeLessThan(6000)
  })

  it('are found in metadata whose keys a store returns in another order', async () => {
    const bare = memoryStore()
    const metadata = { title: 'a', clear: { b: 1, a: [{ d: 1, c: { f: 1, e: 2 } }] } }
    await ok(createSession(withKeys(bare, ring), { id: 's', messages: messages, metadata }))
    const backwards = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(backwards)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .toReversed()
                .map(([key, inner]) => [key, backwards(inner)]),
            )
          : value
    const info: Store['info'] = (id) =>
      storeTask(async () => {
        const found = await orThrow(bare.info(id))
        return right({ ...found, meta: backwards(found.meta) as typeof found.meta })
      }, 'store.info')
    const session = await ok(openSession(withKeys({ ...bare, info }, ring), 's'))
    expect(session.metadata()).toEqual(metadata)
    expect([...session.view()]).toEqual(messages)
  })

  it("without a scope's key no attachment is stored or read, with the reason in the fault", async () => {
    const bare = memoryStore()
    const [id] = await ok(withKeys(bare, ring).putBlocks([Buffer.from(word)]))
    const lacking = withKeys(bare, keyRing([newHostKey('two')]))
    const put = await fault('Io', lacking.putBlocks([Buffer.from(word)]))
    expect(put.cause).toMatchObject({ _tag: 'NoKey' })
    await fault('NoKey', lacking.getBlocks([id as never]))
    await fault('NoKey', lacking.hasBlocks([id as never]))
  })

  it('of a scope name an attachment once: it is not stored again while it is there', async () => {
    const inner = memoryStore()
    const stored: number[] = []
    const putBlocks: Store['putBlocks'] = (blocks) => (stored.push(blocks.length), inner.putBlocks(blocks))
    const store = withKeys({ ...inner, putBlocks }, ring)
    const bytes = [Buffer.from(word), Buffer.from(`${word}!`)]
    const ids = await ok(store.putBlocks(bytes))
    expect([await ok(store.putBlocks(bytes)), stored]).toEqual([ids, []])
    expect(await ok(store.hasBlocks(ids))).toEqual([true, true])
  })

  it('of a scope store an attachment again if it is missing, and no fault of the store is taken for stored', async () => {
    const inner = memoryStore()
    const bytes = [Buffer.from(word)]
    await ok(withKeys(inner, ring).putBlocks(bytes))
    const stored: number[] = []
    const lost: Store = {
      ...inner,
      hasBlocks: (ids) => storeTask(async () => right(ids.map(() => false)), 'hasBlocks'),
      putBlocks: (blocks) => (stored.push(blocks.length), inner.putBlocks(blocks)),
    }
    await ok(withKeys(lost, ring).putBlocks(bytes))
    expect(stored).toEqual([1])
    const failing = (operation: string) => () =>
      storeTask(async () => left({ _tag: 'Io', operation, cause: 'it is gone' } as const), operation) as never
    for (const name of ['hasBlocks', 'putBlocks'] as const) {
      const { operation } = await fault('Io', withKeys({ ...lost, [name]: failing(name) }, ring).putBlocks(bytes))
      expect(operation).toBe(name)
    }
    const create: Store['create'] = (log) => (log.rows ? failing('create')() : inner.create(log))
    const { operation } = await fault('Io', withKeys({ ...inner, create }, ring).putBlocks([Buffer.from('new')]))
    expect(operation).toBe('create')
  })

  it('that are damaged, of another scope, or whose key ring fails are a fault with the reason', async () => {
    const store = memoryStore()
    await new Vault(ring, store).make('k')
    const log = await ok(store.info('indelible.key.k'))
    const why = async (change: object, keys = ring): Promise<string> => {
      const { version } = await ok(store.info(log.id))
      await ok(ownStore(store).update(log.id, { expected: version, meta: { ...log.meta, ...change } }))
      const got = await new Vault(keys, store).get('k', 's')
      if (isLeft(got) && got.left._tag === 'NoKey') expect(got.left).toMatchObject({ id: 's', key: 'k' })
      return isLeft(got) && got.left._tag === 'NoKey' ? got.left.reason : got._tag
    }
    for (const field of ['by', 'scope', 'wrapped']) expect(await why({ [field]: 1 })).toBe('the key k is damaged')
    expect(await why({ scope: 'x' })).toMatch(/^the key k is wrapped for the scope "x", and this is "default": copy/)
    const byId = (): never => {
      throw new Error('offline')
    }
    expect(await why({}, { current: newHostKey('two'), byId })).toBe(
      'the key ring failed when it was asked for the host key "one": offline',
    )
    expect(await why({}, { current: newHostKey('two'), byId: () => new Uint8Array(31) })).toMatch(
      /does not open the key k/,
    )
    expect(await why({})).toBe('Right')
  })

  it('in a store that fails are not taken for missing ones, and its faults keep their kinds', async () => {
    const memory = memoryStore()
    const io = { _tag: 'Io', operation: 'read', cause: 'it is gone' } as const
    for (const given of [
      io,
      { _tag: 'Closed' },
      { _tag: 'Busy' },
      { _tag: 'DamagedLog', id: 'k', position: 0, reason: 'x' },
    ]) {
      const failing = storeTask(async () => left(given as never), 'x') as never
      const vault = new Vault(ring, { ...memory, info: () => failing, create: () => failing, list: () => failing })
      const faultOf = (operation: string): object =>
        left(given._tag === 'DamagedLog' ? { _tag: 'Io', operation, cause: given } : given)
      expect(await vault.get('k', 's')).toEqual(faultOf('read a key'))
      expect(await vault.isThere('k', 's')).toEqual(faultOf('read a key'))
      expect(await vault.destroy('k', 's')).toEqual(faultOf('read a key'))
      expect(await vault.make('k')).toEqual(faultOf('store a key'))
      expect(await vault.getOrMake('k')).toEqual(faultOf('store a key'))
      expect(await vault.mark('s')).toEqual(faultOf('record that a log is encrypted'))
      expect(await vault.isMarked('s')).toEqual(faultOf('read whether a log is encrypted'))
      expect(await vault.check()).toEqual(faultOf('list keys'))
      expect(await vault.rotate()).toEqual(faultOf('list keys'))
      const there = new Vault(ring, memory)
      const name = `k ${given._tag}`.replaceAll(' ', '')
      await there.make(name)
      const stuck = new Vault(ring, { ...memory, create: () => failing })
      expect(await stuck.destroy(name, 's')).toEqual(faultOf('record that a key is destroyed'))
      const kept = new Vault(ring, { ...memory, remove: () => failing, update: () => failing })
      expect(
        await new Vault(keyRing([newHostKey('two'), host]), { ...memory, update: () => failing }).rotate(),
      ).toEqual(faultOf('store a key'))
      expect(await kept.destroy(name, 's')).toEqual(faultOf('remove a key'))
      expect(await there.destroy(name, 's')).toEqual(right(true))
      expect(await there.destroy(name, 's')).toEqual(right(false))
    }
  })

  it('are unwrapped once, and checked before each use', async () => {
    const store = memoryStore()
    await new Vault(ring, store).make('k')
    let asked = 0
    const server = { current: newHostKey('two'), byId: async () => ((asked += 1), host.key) }
    const vault = new Vault(server, store)
    const secret = await vault.get('k', 's')
    expect(vault.isFresh('k', 60_000)).toBe(true)
    expect(vault.isFresh('k', 0)).toBe(false)
    expect([await vault.get('k', 's'), await vault.getOrMake('k'), asked]).toEqual([secret, secret, 1])
    await ok(ownStore(store).remove('indelible.key.k'))
    expect((await vault.get('k', 's'))._tag).toBe('Left')
    expect(vault.isFresh('k', 60_000)).toBe(false)
  })

  it('up to ten thousand are kept in memory, evicting the oldest', async () => {
    const inner = memoryStore()
    const created = inner.create({ id: 'k', encrypt: false })
    const vault = new Vault(ring, { ...inner, create: () => created }) // keys are kept in memory, whatever is stored
    const isKept = (name: number): boolean => vault.isFresh(`k${name}`, Infinity)
    for (let name = 0; name < 10_001; name++) await vault.make(`k${name}`)
    expect([isKept(0), isKept(1), isKept(10_000)]).toEqual([false, true, true])
  })

  it('after a rotation old host keys are not needed and no row has changed', async () => {
    const bare = memoryStore()
    const session = await ok(createSession(withKeys(bare, ring), { id: 's', messages: messages }))
    const rows = await ok(bare.read('s'))
    const next = newHostKey('two')
    const both = { current: next, byId: async (id: string) => (id === 'one' ? host.key : undefined) } // as a key server would
    expect(await ok(rotateKeys(bare, both))).toBe(2) // of the session and of the scope
    expect(await ok(rotateKeys(bare, both))).toBe(0)
    for (const store of [bare, withKeys(bare, both)]) {
      expect(await ok(checkKeys(store, both))).toBe(2)
      expect(await ok(rotateKeys(store, both))).toBe(0)
      await fault('NoKey', checkKeys(store, keyRing([newHostKey('three')])))
    }
    expect(await ok(bare.read('s'))).toEqual(rows)
    const opened = await ok(openSession(withKeys(bare, keyRing([next])), 's'))
    expect([...opened.view()]).toEqual([...session.view()])
    await fault('NoKey', openSession(withKeys(bare, ring), 's'))
  })

  it('a ciphertext altered in any character is damage at its position', async () => {
    const bare = memoryStore()
    await ok(createSession(withKeys(bare, ring), { id: 's', messages: [user('a'), user('b'), user('c')] }))
    const text = (await ok(bare.read('s')))[1]?.body ?? ''
    const others = [(body: string) => `${body} `, () => '{"encrypted":"', () => '{"encrypted":"a.b"}'].map((change) =>
      change(text),
    )
    for (let at = text.indexOf('.') + 1; at < text.length - 2; at += oneIn(3))
      others.push(text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1))
    for (const body of others) {
      const store = await changed(bare, 's', ({ rows }) => void (rows[1] = { ...(rows[1] as Row), body }))
      expect((await fault('DamagedLog', openSession(withKeys(store, ring), 's'))).position).toBe(1)
    }
  })

  it('erased messages have encrypted stubs that still verify', async () => {
    const bare = await inFile()
    const store = withKeys(bare, ring)
    const session = await ok(createSession(store, { id: 's', messages: [...messages, user('what is left')] }))
    await ok(
      createSession(store, {
        id: 'other',
        messages: [user(`also ${word}: first ${word}`), user(`${'long '.repeat(900)}first ${word}`)],
      }),
    )
    const receipt = await ok(eraseMessages(store, 's', [0], { reason: 'asked' }))
    expect(receipt.remains).toContainEqual(
      expect.objectContaining({
        what: 'text',
        rows: [
          { id: 'other', position: 0, message: 0 },
          { id: 'other', position: 1, message: 1 },
        ],
      }),
    )
    const again = await ok(openSession(store, 's'))
    expect(again.view().at(0)).toMatchObject({ role: 'user', content: [{ type: 'erased' }] })
    expect([...again.view()].slice(1)).toEqual([...session.view()].slice(1))
    expect(again.head()).toEqual(session.head())
    for (const row of await ok(bare.read('s'))) expect(isEncrypted(row.body)).toBe(true)
    const { head: expected } = await ok(store.info('s'))
    const beyond = { logs: [{ id: 's', expected, rows: [{ position: 99, stub: '"gone"' }] }], reason: 'r', by: 'me' }
    const plain = memoryStore()
    await ok(copySession(bare, plain, 's'))
    expect(await store.erase(beyond)()).toEqual(await plain.erase(beyond)())
    await ok(forkSession(store, 's', { id: 'fork' }))
    const found = await ok(store.containing(['call-secret-1']))
    expect([...new Set(found.rows.map(({ id }) => id))]).toEqual(['s'])
    await ok(store.remove('fork'))
    expect((await ok(verifySession(store, 's'))).erased).toEqual([0])
    await ok(verifySession(bare, 's'))
    const there = memoryStore()
    await ok(copySession(bare, there, 's'))
    expect([...(await ok(openSession(withKeys(there, ring), 's'))).view()]).toEqual([...again.view()])
    await ok(eraseMessages(store, 's', [3]))
    await ok(copySession(store, there, 's'))
    expect((await ok(verifySession(withKeys(there, ring), 's'))).erased).toEqual([0, 3])
    await bare.close()()
  })

  it('an append with a known key is sent before the call returns', async () => {
    const bare = memoryStore()
    let sent = 0
    const store = withKeys({ ...bare, append: (id, append) => ((sent += 1), bare.append(id, append)) }, ring)
    const session = await ok(createSession(store, { id: 's', messages: [user('a')] }))
    sent = 0
    const appended = store.append('s', { expected: session.head(), rows: [{ kind: 'note', body: '{}' }] })
    expect(sent).toBe(1)
    await ok(appended)
  })

  it('of an open session stay known when another call finds the id in use, or a key store that does not answer', async () => {
    const memory = memoryStore()
    let isDown = false
    const info: Store['info'] = (id) =>
      isDown && id !== 's'
        ? storeTask(
            async () => left({ _tag: 'Io', operation: 'read a key', cause: new Error('no answer') }),
            'store.info',
          )
        : memory.info(id)
    const store = withKeys({ ...memory, info }, keyRing([newHostKey('a')]))
    const session = await createSession(store, { id: 's' })
    await fault('LogExists', createSession(store, { id: 's' }))
    await session.append(user('one'))
    await fault('LogExists', createFork(store, 's', { id: 's' }))
    await session.append(user('two'))
    isDown = true
    await fault('Io', openSession(store, 's'))
    await session.append(user('three'))
    isDown = false
    expect((await openSession(store, 's')).len).toBe(3)
  })
  it('metadata encrypted for a session are not stored in another one under its id', async () => {
    const bare = memoryStore()
    const other = withKeys(bare, ring)
    let taken = false
    const racing: Store = {
      ...ownStore(bare),
      update: (id, update) =>
        storeTask(async () => {
          if (!taken) {
            taken = true
            await ok(other.remove('s'))
            await ok(createSession(other, { id: 's' }))
          }
          return ownStore(bare).update(id, update)()
        }, 'update'),
    }
    const store = withKeys(racing, ring)
    await ok(createSession(store, { id: 's' }))
    const { meta, version } = await ok(store.info('s'))
    await fault('NoSuchLog', store.update('s', { expected: version, meta: { ...meta, title: 'of the first' } }))
    expect((await ok(describeSession(other, 's'))).metadata).toEqual({})
    const now = await ok(other.info('s'))
    await fault('NoSuchLog', other.update('s', { expected: now.version, meta: now.meta, ownKey: null })) // of a plain one
  })

  it("internal metadata cannot be changed by a caller's update", async () => {
    const store = withKeys(memoryStore(), ring)
    await ok(createSession(store, { id: 's' }))
    const { meta, version } = await ok(store.info('s'))
    const update = { expected: version, meta: { ...meta, 'indelible.forged': 1 } }
    expect(await fault('InvalidMeta', store.update('s', update))).toMatchObject({ path: ['indelible.forged'] })
    await fault('MetaConflict', store.update('s', { ...update, expected: version + 1 })) // it may be what another one stored
  })

  it('a plain session stays plain, and both kinds are in one list', async () => {
    const bare = memoryStore()
    await ok(createSession(bare, { id: 'plain', messages: messages }))
    const store = withKeys(bare, ring, { plain: 'continue' })
    await ok(createSession(store, { id: 'secret', messages: messages }))
    const plain = await ok(openSession(store, 'plain'))
    await ok(plain.append(user('more')))
    // The sum of tokens would show an encrypted session's use to somebody without its key.
    const usage = { input: 10, output: 2 }
    for (const session of [plain, await ok(openSession(store, 'secret'))])
      await ok(session.note({ type: 'receipt', len: 1, contextDigest: '0'.repeat(64), model: 'm', usage }))
    for (const one of [bare, store]) {
      expect((await ok(one.list({ by: 'id' }))).logs.filter(({ tokens }) => tokens > 0).map(({ id }) => id)).toEqual([
        'plain',
      ])
      expect((await ok(listSessions(one))).sessions.map(({ tokens }) => tokens)).toEqual([undefined, 12])
    }
    expect([...(await ok(openSession(bare, 'plain'))).view()]).toEqual([...messages, user('more')])
    expect((await ok(listSessions(store))).sessions.map(({ id, encrypted }) => [id, encrypted])).toEqual([
      ['secret', true],
      ['plain', undefined],
    ])
    expect(await ok(store.list())).not.toHaveProperty('damaged')
    await updateLedger(store)
    expect(await verifyLedger(bare)).toMatchObject({ good: 2 })
  })

  it('several handles write and follow concurrently', async () => {
    const bare = memoryStore()
    const stores = [withKeys(bare, ring), withKeys(bare, ring), withKeys(bare, ring)]
    const first = await ok(createSession(stores[0] as Store, { id: 's' }))
    const sessions = [
      first,
      await ok(openSession(stores[1] as Store, 's')),
      await ok(openSession(stores[2] as Store, 's')),
    ]
    await Promise.all(
      sessions.map(async (session, who) => {
        for (let turn = 0; turn < 10; turn++) await session.rebase(() => user(`${who} says ${turn}`))
      }),
    )
    await ok(first.refresh())
    expect(first.len).toBe(30)
    await ok(first.seal())
    const followed: string[] = []
    for await (const { body, kind } of follow({ store: stores[1] as Store, id: 's' })) {
      expect(isEncrypted(body)).toBe(false)
      if (kind === 'entry') followed.push(body)
    }
    expect(followed).toHaveLength(30)
    for await (const { body } of follow({ store: bare, id: 's' })) {
      expect(isEncrypted(body)).toBe(true)
      break
    }
    await ok(verifyLog(bare, 's', first.head()))
  })

  it('equal content is stored once per scope, with other bytes in another scope', async () => {
    const bare = memoryStore()
    const store = withKeys(bare, ring)
    const blocks = async (id: string, of: Store = bare): Promise<string> =>
      JSON.parse((await ok(of.read(id)))[0]?.body ?? '').blocks[0]
    await ok(createSession(store, { id: 'a', messages: [user(long)] }))
    await ok(createSession(store, { id: 'b', messages: [assistant(long)] }))
    expect(await blocks('a')).toBe(await blocks('b'))
    // Also by a process that opens a session that it did not make, and whose rows say when, and have a salt.
    const later = withKeys(bare, ring)
    const { head } = await ok(later.info('b'))
    const row = { ...orThrow(encodeRow(user(long), 'plan', false, bare.hash)).row, at: 5, salt: 'ab'.repeat(16) }
    await ok(later.append('b', { expected: head, rows: [row], blocks: [Buffer.from(long)] }))
    expect(JSON.parse((await ok(bare.read('b')))[1]?.body ?? '').blocks[0]).toBe(await blocks('a'))
    expect((await ok(later.read('b')))[1]).toMatchObject({ at: 5, salt: 'ab'.repeat(16) })
    const scoped = store.scoped('other')
    if (scoped._tag === 'Left') throw new Error('no scope')
    await ok(createSession(scoped.right, { id: 'a', messages: [user(long)] }))
    expect(await blocks('a', scoped.right.encryption?.bare)).not.toBe(await blocks('a'))
    const bytes = (await ok(bare.getBlocks([(await blocks('a')) as never])))[0]
    expect(Buffer.from(bytes ?? []).includes('Zanzibar')).toBe(false)
  })

  it('copies keep the head; exports are readable and can be imported into an encrypted session', async () => {
    const bare = memoryStore()
    const store = withKeys(bare, ring)
    const session = await ok(createSession(store, { id: 's', messages: messages, metadata: { title: word } }))
    await ok(session.note({ type: 'application', namespace: 'x', content: 1 }))
    const there = memoryStore()
    expect((await ok(copySession(bare, there, 's'))).head).toEqual(session.head())
    expect(await views(withKeys(there, ring), 's')).toEqual(await views(store, 's'))
    await ok(session.append(user('more')))
    expect((await ok(copySession(store, withKeys(there, ring), 's'))).head).toEqual(session.head())
    expect(await views(withKeys(there, ring), 's')).toEqual(await views(store, 's'))

    const lines = [...exportLines(await exportSession(store, 's'))].join('')
    expect(lines).toContain(word)
    expect(lines).not.toContain('"root"')
    const read = readTranscript(lines)
    if (read._tag === 'Left') throw new Error(read.left._tag)
    await ok(importTranscript(there, read.right, { id: 'plain' }))
    await ok(importTranscript(store, read.right, { id: 'secret' }))
    expect((await views(store, 'secret')).slice(0, 3)).toEqual((await views(there, 'plain')).slice(0, 3))
    expect((await ok(bare.read('secret'))).every(({ body }) => isEncrypted(body))).toBe(true)
    expect(await ok(destroyKey(bare, 'secret', ring))).toBe(true)
    await fault('NoKey', openSession(withKeys(bare, ring), 'secret'))
  })

  it('a missing attachment is a MissingBlock', async () => {
    const store = withKeys(memoryStore(), ring)
    const session = await ok(createSession(store, { id: 's' }))
    const lost = user(file({ type: 'block', id: 'ab'.repeat(32) as never, mediaType: 'text/plain' }))
    const stale = { expected: session.head(), rows: [{ kind: 'entry' as const, body: '{}' }] }
    await ok(session.note({ type: 'application', namespace: 'n', content: word }))
    const { missed } = await fault('Conflict', store.append('s', stale))
    expect(missed?.map(({ body }) => body)).toEqual([expect.stringContaining(word)])
    await fault('MissingBlock', session.append(lost))
    await fault('MissingBlock', createSession(store, { id: 't', messages: [lost] }))
    expect(session.len).toBe(0)
    await ok(session.append(user('goes on')))
  })

  it('no byte of a message is in a store file', async () => {
    const path = join(folder, 'grep.db')
    const bare = await ok(sqliteStore({ path, durability: 'os' }))
    const session = await ok(
      createSession(withKeys(bare, ring), { id: 's', messages: messages, metadata: { title: word } }),
    )
    await ok(session.append(user(word), { operation: 'o' }))
    const marksFound = (): readonly string[] =>
      readdirSync(folder)
        .filter((name) => name.startsWith('grep.db'))
        .flatMap((name) =>
          marks.filter((mark) => readFileSync(join(folder, name)).includes(mark)).map((mark) => `${name}: ${mark}`),
        )
    expect(marksFound()).toEqual([])
    await bare.close()()
    expect(marksFound()).toEqual([])
  })

  it('acknowledged messages survive kill -9 and the session continues', async () => {
    const path = join(folder, 'killed.db')
    for (let round = 0; round < rounds(2, 100); round++) {
      const child = spawn(
        process.execPath,
        [
          program('packages/encryption/test/crash-process.ts'),
          path,
          hostKeyText(host),
          round === 0 ? 'create' : 'open',
        ],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
          env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
        },
      )
      let acknowledged = -1
      for await (const line of createInterface(child.stdout)) {
        acknowledged = Number(line)
        if (acknowledged >= (round + 1) * 5) child.kill('SIGKILL')
      }
      const bare = await ok(sqliteStore({ path, durability: 'os' }))
      const session = await ok(openSession(withKeys(bare, ring), 's'))
      expect(session.len).toBeGreaterThan(acknowledged)
      for (const [turn, message] of [...session.view()].entries()) expect(textOf(message)).toMatch(`turn ${turn} Zanz`)
      await ok(verifySession(bare, 's'))
      // The operation that may have been under way is not doubled.
      const last = session.len - 1
      const again = await ok(
        session.append([session.view().at(last) as Message], { operation: `turn-${last}`, expectedLen: last }),
      )
      expect([again.to, session.len]).toEqual([last + 1, last + 1])
      await bare.close()()
    }
  })

  it('platform and portable code give the same bytes; GCM matches the specification', () => {
    const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))
    // McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16: AES-256.
    const key = bytes('feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308')
    const nonce = bytes('cafebabefacedbaddecaf888')
    const aad = bytes('feedfacedeadbeeffeedfacedeadbeefabaddad2')
    const plain = bytes(
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39',
    )
    const sealed =
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662' +
      '76fc6ece0f4e1768cddf8853bb2d551b'
    expect(native).toBeDefined()
    const given = { bytes: nonce, text: Buffer.from(nonce).toString('base64') }
    const texts = ['', 'a', 'ab', 'abc', `${word} \u{1f600}`, long]
    for (const text of texts)
      for (const [a, b] of [
        [portable, native ?? portable],
        [native ?? portable, portable],
      ] as const) {
        const sealedText = a.encryptText(key, given, aad, text)
        expect(b.encryptText(key, given, aad, text)).toBe(sealedText)
        expect(b.decryptText(key, aad, sealedText)).toBe(text)
        expect(b.decryptText(key, plain, sealedText)).toBeUndefined()
        for (const wrong of [sealedText.slice(0, -4), `${sealedText}\n`, `${sealedText}AAAA`, sealedText.slice(1), ''])
          expect(b.decryptText(key, aad, wrong)).toBeUndefined()
      }
    for (const { encrypt, decrypt, hmac, utf8, toBase64, fromBase64 } of [portable, native ?? portable]) {
      const marksFound = encrypt(key, nonce, aad, plain)
      expect(Buffer.from(marksFound).toString('hex')).toBe(sealed)
      expect(decrypt(key, nonce, aad, marksFound)).toEqual(plain)
      expect(decrypt(key, nonce, aad, marksFound.subarray(1))).toBeUndefined()
      expect(decrypt(key, nonce, plain, marksFound)).toBeUndefined()
      expect(decrypt(key, nonce, aad, new Uint8Array(3))).toBeUndefined()
      expect(Buffer.from(hmac(key, plain)).toString('hex')).toBe(Buffer.from(portable.hmac(key, plain)).toString('hex'))
      expect(fromBase64(toBase64(plain))).toEqual(plain)
      expect(fromBase64('not base64')).toBeUndefined()
      for (const text of texts) expect(Buffer.from(utf8(text)).toString()).toBe(text)
    }
  })
})

// How many blocks there can be at once is a question to the store below: it is asked in the contracts of stores.
const blockCases = blockContract('with keys', async () => ({ store: withKeys(memoryStore(), ring) }))
it.each(blockCases.filter(({ name }) => isFull || !name.includes('any number')))('encrypted blocks $name', ({ run }) =>
  run(),
)

const argumentsOf = storeContract('with keys', async () => {
  const inner = memoryStore()
  return { open: async () => withKeys(inner, ring), lasting: false }
}).filter(({ name }) => name.includes('changing a'))
it.each(argumentsOf)('encrypted store: $name', ({ run }) => run())

it('a store that has not read an encrypted log appends to it, and encrypts', async () => {
  const bare = memoryStore()
  const expected = (await ok(createSession(withKeys(bare, ring), { id: 's' }))).head()
  const { row } = orThrow(encodeRow(user(word), 'plan', false, bare.hash))
  await ok(withKeys(bare, ring).append('s', { expected, rows: [row] }))
  expect(await dump(bare)).not.toContain(word)
  expect([...(await ok(readSession(withKeys(bare, ring), 's'))).view()]).toEqual([user(word)])
})

it('a row may name a text that the store has in plain, which is found in it, but none that the store lacks', async () => {
  const bare = memoryStore()
  await ok(createSession(bare, { id: 'plain', messages: [user(long)] }))
  const store = withKeys(bare, ring)
  const session = await ok(createSession(store, { id: 's' }))
  const other = user('other '.repeat(1000))
  const encodedRow = orThrow(encodeRow(other, 'plan', false, bare.hash))
  const append = (message: Message) => {
    const { row } = orThrow(encodeRow(message, 'plan', false, bare.hash))
    return store.append('s', { expected: session.head(), rows: [row, encodedRow.row], blocks: encodedRow.blocks })
  }
  await fault('MissingBlock', append(user(`${long} `)))
  await ok(append(user(long)))
  expect([...(await ok(readSession(store, 's'))).view()]).toEqual([user(long), other])
  expect((await ok(store.containing([word]))).rows).toEqual([
    { id: 'plain', position: 0 },
    { id: 's', position: 0 },
  ])
})

it('a text is not found in a block that the store lost, and the rows beside it are', async () => {
  const bare = memoryStore()
  await ok(createSession(withKeys(bare, ring), { id: 's', messages: [user(long), user(word)] }))
  const losing: Store = { ...bare, getBlocks: (ids) => storeTask(async () => right(ids.map(() => undefined)), 'store.getBlocks') } // oxfmt-ignore
  expect(await ok(withKeys(losing, ring).containing([word]))).toMatchObject({
    rows: [{ id: 's', position: 1 }],
    unread: [],
  })
})

it('a retried operation of an encrypted log is applied once, and with other rows is a fault', async () => {
  const store = ownStore(withKeys(memoryStore(), ring))
  const { head } = await store.create({ id: 'a', encrypt: true })
  const [x, y, z] = (['x', 'y', 'z'] as const).map((body) => ({ kind: 'entry' as const, body })) as [Row, Row, Row]
  const append = { expected: head, rows: [x, y], operation: 'op' }
  const first = await ok(store.append('a', append))
  expect(await ok(store.append('a', append))).toEqual(first)
  for (const rows of [[x], [x, z], [{ ...x, kind: 'note' as const }, y], [x, y, z], [y, x]])
    await fault('OperationMismatch', store.append('a', { ...append, rows }))
  expect((await ok(store.info('a'))).head).toEqual(first.head)
})

it("changing arguments of an encrypted session's call directly afterwards has no effect", async () => {
  const store = withKeys(memoryStore(), ring)
  const call = async <G extends object, T>(given: G, work: (given: G) => PromiseLike<T>): Promise<T> => {
    const called = work(given)
    changeEverything(given)
    return called
  }
  const message = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] })
  const creation = { id: 's', messages: [message('one')], metadata: { a: { b: 1 } } }
  const session = await call(creation, (given) => createSession(store, given))
  await call([message('two')], (given) => session.append(given))
  await call({ messages: [message('three')], notes: [{ type: 'pin' as const, position: 0 }] }, (given) =>
    session.append(given),
  )
  await call({ type: 'pin' as const, position: 1 }, (given) => session.note(given))
  await call({ from: 0, to: 1, text: 'sum' }, (given) => session.note({ type: 'summary', ...given }))
  await call({ instead: [message('four')] }, (given) => session.rewind(2, given))
  const fork = await call({ id: 'f', at: 2, metadata: { c: [1] } }, (given) => forkSession(store, 's', given))
  const opened = await openSession(store, 's')
  expect(opened.view().toArray()).toEqual(['one', 'two', 'three', 'four'].map(message))
  expect(opened.metadata()).toEqual({ a: { b: 1 } })
  expect(opened.notes().toArray()).toMatchObject([
    { type: 'pin', position: 0 },
    { type: 'pin', position: 1 },
    { type: 'summary', from: 0, to: 1, text: 'sum' },
    { type: 'retraction', from: 2 },
  ])
  expect([fork.len, fork.metadata()]).toEqual([2, { c: [1] }])
  await verifySession(store, 's')
})

describe('a plain session in an encrypted store', () => {
  const plainIn = async (inner: Store): Promise<void> => {
    await ok(createSession(inner, { id: 'c', messages: [user('SECRET 1')] }))
  }
  const rowsIn = async (inner: Store): Promise<string> => {
    const texts: string[] = []
    for (const { id, meta } of (await ok(inner.list({ limit: 1000 }))).logs)
      texts.push(JSON.stringify([id, meta, await ok(inner.read(id))]))
    return texts.join('\n')
  }

  it('is refused, read or continued, as configured', async () => {
    const inner = memoryStore()
    await plainIn(inner)
    const refusing = withKeys(inner, ring)
    expect(await fault('NoKey', openSession(refusing, 'c'))).toMatchObject({ id: 'c', key: 'none' })
    await fault('NoKey', openSession(withKeys(inner, ring), 'c'))
    await fault('NoKey', forkSession(refusing, 'c', { id: 'f' }))
    const reading = withKeys(inner, ring, { plain: 'read' })
    const session = await ok(openSession(reading, 'c'))
    expect([...session.view()]).toEqual([user('SECRET 1')])
    await fault('NoKey', session.append(user('SECRET 2')))
    await fault(
      'NoKey',
      session.update((metadata) => void (metadata['title'] = 'SECRET 2')),
    )
    await fault('NoKey', forkSession(reading, 'c', { id: 'f' }))
    expect(await rowsIn(inner)).not.toContain('SECRET 2')
    await ok((await ok(openSession(withKeys(inner, ring, { plain: 'continue' }), 'c'))).append(user('on')))
    expect((await ok(readSession(reading, 'c'))).len).toBe(2)
    const continuing = withKeys(inner, ring, { plain: 'continue' })
    const { meta, version } = await ok(continuing.info('c'))
    const forged = continuing.update('c', { expected: version, meta: { ...meta, 'indelible.forged': 1 } })
    expect(await fault('InvalidMeta', forged)).toMatchObject({ path: ['indelible.forged'] })
    await ok(continuing.update('c', { expected: version, meta: { ...meta, mine: 1 } }))
    const scoped = orThrow(withKeys(inner, ring).scoped('default'))
    await fault('NoKey', openSession(scoped, 'c'))
  })
  it('is encrypted when copied, with appends to the copy and its forks', async () => {
    const from = memoryStore()
    await plainIn(from)
    const inner = memoryStore()
    const store = withKeys(inner, ring)
    expect(await ok(copySession(from, store, 'c'))).toMatchObject({ encrypted: true, len: 1 })
    await ok((await ok(openSession(from, 'c'))).append([user('SECRET 2'), user('SECRET 3')]))
    await ok(eraseMessages(from, 'c', [0, 2], { reason: 'asked to' }))
    expect(await ok(copySession(from, store, 'c'))).toMatchObject({ encrypted: true, len: 3 })
    expect(await ok(copySession(from, store, 'c'))).toMatchObject({ encrypted: true, len: 3 })
    const fork = await ok(forkSession(store, 'c', { id: 'f' }))
    await ok(fork.append(user('SECRET 4')))
    expect([...(await ok(readSession(store, 'c'))).view()].map(({ content }) => content[0])).toMatchObject([
      { type: 'erased' },
      { text: 'SECRET 2' },
      { type: 'erased' },
    ])
    expect(await rowsIn(inner)).not.toContain('SECRET')
    await ok((await ok(openSession(store, 'c'))).append(user('own')))
    await fault('Diverged', copySession(from, store, 'c'))
  })
  it('substituted for an encrypted one is damage, whatever is configured', async () => {
    for (const isElsewhere of [false, true])
      for (const plain of ['refuse', 'read', 'continue'] as const) {
        const keys = keyRing([newHostKey()], isElsewhere ? { keysIn: memoryStore() } : {})
        const inner = memoryStore()
        await ok(createSession(withKeys(inner, keys), { id: 'c', messages: [user('mine')] }))
        await ok(inner.remove('c'))
        await ok(createSession(inner, { id: 'c', messages: [user('forged')] }))
        await fault('LogExists', createSession(withKeys(inner, keys), { id: 'c' }))
        await fault('DamagedLog', openSession(withKeys(inner, keys, { plain }), 'c'))
        await fault('DamagedLog', withKeys(inner, keys, { plain }).read('c'))
        await ok(withKeys(inner, keys).remove('c')) // by who has the keys: then the id is free again
        await ok(createSession(inner, { id: 'c', messages: [user('plain')] }))
        await ok(openSession(withKeys(inner, keys, { plain: 'read' }), 'c'))
        await ok(inner.remove('c'))
      }
  })
  it('is not read while the key store cannot tell whether it was encrypted', async () => {
    const inner = memoryStore()
    await plainIn(inner)
    const busy: Store['info'] = () => storeTask(async () => left({ _tag: 'Busy', waited: 1 }), 'store.info')
    const keysIn: Store = { ...memoryStore(), info: busy, scoped: () => right(keysIn) }
    await fault('Busy', openSession(withKeys(inner, keyRing([host], { keysIn }), { plain: 'read' }), 'c'))
  })
  it('keeps its id, where an encrypted one cannot be created', async () => {
    const inner = memoryStore()
    await plainIn(inner)
    await fault('LogExists', createSession(withKeys(inner, ring), { id: 'c' }))
    await ok(openSession(withKeys(inner, ring, { plain: 'continue' }), 'c'))
  })
})
