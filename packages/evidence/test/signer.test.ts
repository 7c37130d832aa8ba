/** What a signer signs, whatever was done to the store and its checkpoints. */
import { createSession, memoryStore, orThrow, user, type Store } from 'indelible'
import {
  newKey,
  readLedger,
  remoteSigner,
  signerOf,
  signLedger,
  updateLedger,
  witnessLedger,
  type CheckpointOptions,
  type NoteSigner,
  type SignerMemory,
} from '@indelible/evidence'
import { lastCheckpoint, ledgerId, listCheckpoints, parseNote } from '../src/internal.ts' // oxfmt-ignore
import type { Head } from 'indelible/store'
import { ownStore, storeTask } from '../../../src/store/internal.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { fault } from '../../../test/task-results.ts'

const origin = 'example.com/log'
const signer = orThrow(signerOf(newKey(origin).skey))
const another = orThrow(signerOf(newKey('example.com/another').skey))

const memoryOf = (): SignerMemory & { readonly heads: Head[] } => {
  const heads: Head[] = []
  return {
    heads,
    read: async () => heads.at(-1),
    advance: async (_, from, to) => {
      if (heads.at(-1)?.root !== from?.root) return false
      heads.push(to)
      return true
    },
  }
}
const growLedger = async (store: Store, id: string): Promise<void> => {
  await createSession(store, { id, messages: [user(id)] })
  await updateLedger(store)
}
/** The same store with another history: its ledger is made again. */
const rewritten = async (store: Store): Promise<void> => {
  await ownStore(store).remove(ledgerId)
  for (const id of ['x', 'y', 'z']) await growLedger(store, id)
}

it("nothing is signed that does not continue the signer's memory, even without checkpoints", async () => {
  const store = memoryStore()
  const memory = memoryOf()
  await growLedger(store, 'a')
  await signLedger(store, { origin, signers: [signer], memory })
  expect(memory.heads).toEqual([(await readLedger(store)).head])
  await ownStore(store).remove('indelible.checkpoints')
  await rewritten(store)
  await fault('Diverged', signLedger(store, { origin, signers: [signer], memory }) as never)
  expect(memory.heads).toHaveLength(1)
  expect(await listCheckpoints(store)).toEqual([])
})

it('nothing is signed that does not continue the last own signature, whatever follows it', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  await signLedger(store, { origin, signers: [signer] })
  await rewritten(store)
  // A checkpoint of the new history that the signer has not signed.
  const forged = memoryStore()
  for (const id of ['x', 'y', 'z']) await growLedger(forged, id)
  await ownStore(forged).remove(ledgerId)
  const rows = await store.read(ledgerId)
  await ownStore(forged).create({ id: ledgerId, meta: { [ledgerId]: 1 }, rows: rows.map(({ kind, body, at }) => ({ kind, body, at })), encrypt: false }) // oxfmt-ignore
  const { note } = await signLedger(forged, { origin, signers: [another] })
  const { head } = await store.info('indelible.checkpoints')
  await ownStore(store).append('indelible.checkpoints', { expected: head, rows: [{ kind: 'note', body: note }] })
  expect((await lastCheckpoint(store))?.head).toEqual((await readLedger(store)).head)
  await fault('Diverged', signLedger(store, { origin, signers: [signer] }) as never)
  // Of another log it has signed nothing.
  const renamed = await signLedger(store, { origin: `${origin}/2`, signers: [signer] })
  expect(await lastCheckpoint(store)).toEqual(renamed)
})

it('nothing is signed that contradicts one of several memories, and each memory is updated', async () => {
  const store = memoryStore()
  const [mine, theirs] = [memoryOf(), memoryOf()]
  await growLedger(store, 'a')
  await signLedger(store, { origin, signers: [signer], memory: [mine, theirs] })
  expect(theirs.heads).toEqual(mine.heads)
  theirs.heads.push({ size: 1, root: 'ab'.repeat(32) })
  await growLedger(store, 'b')
  await fault('Diverged', signLedger(store, { origin, signers: [signer], memory: [mine, theirs] }) as never)
  expect(mine.heads).toHaveLength(1)
})

it('a head is remembered before it is signed', async () => {
  const store = memoryStore()
  const memory = memoryOf()
  const seen: number[] = []
  await growLedger(store, 'a')
  const watching = { ...signer, sign: (text: Uint8Array) => (seen.push(memory.heads.length), signer.sign(text)) }
  await signLedger(store, { origin, signers: [watching], memory })
  expect(seen).toEqual([1])
  const failing = { ...memory, advance: async () => Promise.reject(new Error('the disk is full')) }
  await growLedger(store, 'b')
  await fault('CallbackThrew', signLedger(store, { origin, signers: [watching], memory: failing }) as never)
  expect(seen).toEqual([1])
})

it('two concurrent signers never step a checkpoint back', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  const slow = {
    ...signer,
    sign: async (text: Uint8Array) => {
      if ((await listCheckpoints(store)).length === 0) {
        await growLedger(store, 'b') // the ledger grows, and the other signs it first
        await signLedger(store, { origin, signers: [signer] })
      }
      return signer.sign(text)
    },
  }
  await signLedger(store, { origin, signers: [slow] })
  const sizes = (await listCheckpoints(store)).map(({ head }) => head.size)
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
  expect(sizes.at(-1)).toBe((await readLedger(store)).head.size)
})

it('a checkpoint is stored in a new log if the checkpoints are removed meanwhile', async () => {
  const inner = memoryStore()
  await growLedger(inner, 'a')
  await signLedger(inner, { origin, signers: [signer] })
  await growLedger(inner, 'b')
  const append: Store['append'] = (id, append) =>
    storeTask(async () => {
      const appended = await inner.append(id, append)()
      if (isLeft(appended) && appended.left._tag === 'Conflict') await ownStore(inner).remove(id)
      return appended
    }, 'store.append')
  const { note, head } = await signLedger({ ...inner, append }, { origin, signers: [signer] })
  expect(head).toEqual((await readLedger(inner)).head)
  expect(await listCheckpoints(inner)).toEqual([{ note, head }])
})

it('a remote signer has a valid key', () => {
  expect(remoteSigner('no key', () => new Uint8Array(64))).toMatchObject({ left: { _tag: 'BadKey' } })
})

it('an endless witness response is read up to a limit', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  await signLedger(store, { origin, signers: [signer] })
  let pieces = 0
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => void (pieces++, controller.enqueue(new Uint8Array(10_000).fill(97))) }) // oxfmt-ignore
  const witness = { url: 'https://witness.example', vkey: newKey('witness.example', 'witness').vkey }
  const asked = witnessLedger(store, [witness], {
    fetch: async () => ({ status: 200, body, text: async () => Promise.reject(new Error('it has no end')) }),
  })
  expect((await asked).refusals).toMatchObject([
    { _tag: 'WitnessRefused', reason: 'it did not answer with signature lines' },
  ])
  expect(pieces).toBeLessThan(20)
  // 100,000 bytes end in the middle of a character.
  const cut = new Response(`a${'ü'.repeat(60_000)}`, { status: 400 })
  expect((await witnessLedger(store, [witness], { fetch: async () => cut })).refusals).toMatchObject([{ status: 400 }])
  // What has no body is asked for its text.
  const text = await witnessLedger(store, [witness], { fetch: async () => ({ status: 400, text: async () => ' no such log ' }) }) // oxfmt-ignore
  expect(text.refusals).toMatchObject([{ _tag: 'WitnessRefused', status: 400, reason: 'no such log' }])
})

it.each<[string, NoteSigner]>([
  ['no bytes', orThrow(remoteSigner(signer.vkey, () => new Uint8Array()))],
  ['the wrong bytes', orThrow(remoteSigner(signer.vkey, () => new Uint8Array(64)))],
  ["another key's signature", orThrow(remoteSigner(signer.vkey, another.sign))],
  ['the signature of a name that the key does not have', { ...signer, name: 'two words' }],
])('a signer that returns %s has nothing stored, and the next one signs', async (_, bad) => {
  const store = memoryStore()
  await growLedger(store, 'a')
  const refused = await signLedger(store, { origin, signers: [signer, bad] })()
  expect(refused).toMatchObject({ left: { _tag: 'CallbackThrew', callback: 'sign' } })
  expect(await listCheckpoints(store)).toEqual([])
  await signLedger(store, { origin, signers: [signer] })
})

it("neither a witness's key signs as a log, nor a log's as a witness", async () => {
  const store = memoryStore()
  const memory = memoryOf()
  await growLedger(store, 'a')
  const signers = [signer, orThrow(signerOf(newKey('witness.example', 'witness').skey))]
  await fault('BadKey', signLedger(store, { origin, signers, memory }) as never)
  expect([memory.heads, await listCheckpoints(store)]).toEqual([[], []])
  await signLedger(store, { origin, signers: [signer], memory })
  await fault('BadKey', witnessLedger(store, [{ url: 'http://127.0.0.1:1', vkey: signer.vkey }]) as never)
})

it('no more signers sign than a note may have', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  const made = new Map<string, Uint8Array>()
  const sign = (bytes: Uint8Array): Uint8Array => {
    const text = Buffer.from(bytes).toString('latin1')
    const signature = made.get(text) ?? (signer.sign(bytes) as Uint8Array)
    made.set(text, signature)
    return signature
  }
  const signers = Array.from({ length: 101 }, () => ({ ...signer, sign }))
  await expect(signLedger(store, { origin, signers })()).resolves.toMatchObject({ left: { _tag: 'CallbackThrew' } })
  await signLedger(store, { origin, signers: signers.slice(1) })
  expect(await listCheckpoints(store)).toHaveLength(1)
})

it.each(['a\tb', 'a\nb', 'a\ud800', ''])(
  'an origin or extension of %j is invalid, and nothing is remembered',
  async (line) => {
    const store = memoryStore()
    const memory = memoryOf()
    await growLedger(store, 'a')
    await expect(signLedger(store, { origin: line, signers: [signer], memory })()).rejects.toThrow(TypeError)
    await expect(signLedger(store, { origin, signers: [signer], memory, extensions: [line] })()).rejects.toThrow(
      TypeError,
    )
    expect(memory.heads).toEqual([])
  },
)

it('an option that signLedger does not have is refused: a misspelled memory would remember nothing', () => {
  const options = { origin, signers: [signer], memroy: memoryOf() }
  expect(() => signLedger(memoryStore(), options as CheckpointOptions)).toThrow(/no option "memroy".*`memory`/)
})

describe('the checkpoints of a ledger', () => {
  it('are none before the first one, then those that were signed, frozen', async () => {
    const store = memoryStore()
    expect([await listCheckpoints(store), await lastCheckpoint(store)]).toEqual([[], undefined])
    await ownStore(store).create({ id: 'indelible.checkpoints', encrypt: false }) // and of a log without rows
    expect([await listCheckpoints(store), await lastCheckpoint(store)]).toEqual([[], undefined])
    await growLedger(store, 'a')
    const first = await signLedger(store, { origin, signers: [signer] })
    await growLedger(store, 'b')
    const second = await signLedger(store, { origin, signers: [signer] })
    expect(second.head).toEqual((await readLedger(store)).head)
    const all = await listCheckpoints(store)
    expect([all, await lastCheckpoint(store)]).toEqual([[first, second], second])
    for (const one of [all, ...all, first]) expect(Object.isFrozen(one)).toBe(true)
  })

  it('can not be read once one of them is damaged, and nothing is signed', async () => {
    const store = memoryStore()
    await growLedger(store, 'a')
    const { head } = await signLedger(store, { origin, signers: [signer] })
    const { head: expected } = await store.info('indelible.checkpoints')
    for (const [body, tag] of [
      ['no note', 'BadNote'],
      ['no checkpoint\n\n\u2014 a AAAAAAA=\n', 'BadCheckpoint'],
    ] as const) {
      const damaged: Store = {
        ...store,
        read: (id, range) =>
          storeTask(async () => {
            const rows = await store.read(id, range)()
            if (id !== 'indelible.checkpoints' || isLeft(rows)) return rows
            return { _tag: 'Right', right: rows.right.map((row) => Object.assign({}, row, { body })) }
          }, 'store.read'),
      }
      await fault(tag, listCheckpoints(damaged) as never)
      await fault(tag, lastCheckpoint(damaged) as never)
      await fault(tag, signLedger(damaged, { origin, signers: [signer] }) as never)
    }
    expect((await store.info('indelible.checkpoints')).head).toEqual(expected)
    expect(head.size).toBe(1)
  })

  it('of the same head keep the signatures of other keys, and have one of each key', async () => {
    const store = memoryStore()
    await growLedger(store, 'a')
    const names = async (): Promise<readonly string[]> =>
      orThrow(parseNote((await lastCheckpoint(store))?.note as string)).signatures.map(({ name }) => name)
    await signLedger(store, { origin, signers: [signer] })
    await signLedger(store, { origin, signers: [another] })
    expect(await names()).toEqual([another.name, signer.name])
    await signLedger(store, { origin, signers: [signer] })
    expect(await names()).toEqual([signer.name, another.name])
    // A key with the name of another one is another key.
    const namesake = orThrow(signerOf(newKey(origin).skey))
    await signLedger(store, { origin, signers: [namesake] })
    expect(await names()).toEqual([namesake.name, signer.name, another.name])
    // Another text has none of them.
    await signLedger(store, { origin, signers: [signer], extensions: ['more'] })
    expect(await names()).toEqual([signer.name])
  })

  it('are kept in a log that another signer makes at the same time', async () => {
    const store = memoryStore()
    await growLedger(store, 'a')
    const both = await Promise.all(
      [signer, another].map((noteSigner) =>
        signLedger(store, { origin, signers: [noteSigner], extensions: [noteSigner.name] }),
      ),
    )
    expect(new Set(await listCheckpoints(store))).toEqual(new Set(both))
  })

  it('need a scope whose ledger was signed: the fault says which of the two is missing', async () => {
    const store = memoryStore()
    const ask = () => fault('NoLedger', witnessLedger(store, []) as never)
    expect(await ask()).toEqual({ _tag: 'NoLedger', scope: 'default' })
    await growLedger(store, 'a')
    expect(await ask()).toEqual({ _tag: 'NoLedger', scope: 'default', missing: 'checkpoint' })
  })
})

it('a memory that fails has nothing signed: the fault has its cause', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  const cause = new Error('the disk is gone')
  for (const method of ['read', 'advance'] as const) {
    const memory = { ...memoryOf(), [method]: () => Promise.reject(cause) }
    const signed = await signLedger(store, { origin, signers: [signer], memory })()
    expect(signed).toEqual({ _tag: 'Left', left: { _tag: 'CallbackThrew', callback: `memory.${method}`, cause } })
  }
  expect(await listCheckpoints(store)).toEqual([])
})

it('a memory that another signer advances meanwhile is read again', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  const memory = memoryOf()
  let advances = 0
  const contended: SignerMemory = {
    ...memory,
    advance: async (...given) => (++advances === 1 ? false : memory.advance(...given)),
  }
  const { head } = await signLedger(store, { origin, signers: [signer], memory: contended })
  expect([advances, memory.heads, (await listCheckpoints(store)).length]).toEqual([2, [head], 1])
})

it('the fault of a ledger that does not continue its checkpoint has both heads, if it is shorter or other', async () => {
  const store = memoryStore()
  for (const id of ['a', 'b']) await growLedger(store, id)
  const { head: expected } = await signLedger(store, { origin, signers: [signer] })
  for (const ids of [['x'], ['x', 'y']]) {
    await ownStore(store).remove(ledgerId)
    for (const id of ids) {
      await createSession(store, { id })()
      await updateLedger(store, [id])
    }
    const actual = (await readLedger(store)).head
    expect(actual.size).toBe(ids.length)
    const refused = await fault('Diverged', signLedger(store, { origin, signers: [signer] }) as never)
    expect(refused).toEqual({ _tag: 'Diverged', id: ledgerId, expected, actual })
  }
})

it('a checkpoint without signers is a mistake', async () => {
  const store = memoryStore()
  await createSession(store, { id: 's', messages: [user('a')] })
  await updateLedger(store)
  await expect(signLedger(store, { origin, signers: [] })()).rejects.toThrow('a note needs at least one signer')
})

it('options that change after the call change nothing', async () => {
  const store = memoryStore()
  await growLedger(store, 'a')
  const [signers, extensions, memories] = [[signer], ['one'], [memoryOf()]]
  const signing = signLedger(store, { origin, signers, extensions, memory: memories })()
  for (const list of [signers, extensions, memories]) list.splice(0)
  const { text, signatures } = orThrow(parseNote(orThrow(await signing).note))
  expect([text.split('\n').slice(3), signatures.length]).toEqual([['one', ''], 1])
})
