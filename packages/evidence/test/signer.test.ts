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
import { lastCheckpoint, ledgerId, listCheckpoints, signSession } from '../src/kit.ts' // oxfmt-ignore
import type { Head } from 'indelible/store'
import { ownStore, storeTask } from '../../../src/store/kit.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
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
  expect(sizes).toEqual(sizes.toSorted((one, other) => one - other))
  expect(sizes.at(-1)).toBe((await readLedger(store)).head.size)
})

it('a checkpoint is stored in a new log if the checkpoints are removed meanwhile', async () => {
  const inner = memoryStore()
  await growLedger(inner, 'a')
  await signLedger(inner, { origin, signers: [signer] })
  await growLedger(inner, 'b')
  const append: Store['append'] = (id, given) =>
    storeTask(async () => {
      const appended = await inner.append(id, given)()
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
  await fault('BadKey', signSession(store, 'a', { origin, signers }) as never)
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
