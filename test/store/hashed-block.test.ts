/** A block that an append brings is hashed once, when it is taken out of its message; nobody can make it another. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { createSession, memoryStore, openSession, orThrow, user } from 'indelible'
import { encodeRow } from '../../src/entry/internal.ts'
import { blockIdOf, emptyRange, portableSha256, type BlockId } from '../../src/proof/internal.ts'
import { headOf } from '../../src/store/internal.ts'

const long = 'a long text '.repeat(1000)
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** A store that notes what is hashed, and a log in it. */
const noting = async () => {
  const hashed: string[] = []
  const hash = (bytes: Uint8Array): Uint8Array => {
    hashed.push(new TextDecoder().decode(bytes))
    return portableSha256(bytes)
  }
  const store = memoryStore({ hash })
  return { store, hash, times: (text: string) => hashed.filter((found) => found === text).length }
}

it('a session hashes each long text only once when storing it', async () => {
  const { store, times } = await noting()
  const session = await createSession(store, { id: 's' })
  await session.append(user(long))
  expect(times(long)).toBe(1)
  expect(await store.getBlocks([blockIdOf(bytesOf(long), portableSha256)])).toEqual([bytesOf(long)])
  expect((await openSession(store, 's')).view().at(0)).toEqual(user(long))
})

it('bytes changed after hashing are stored as they were, under their id', async () => {
  const { store, hash } = await noting()
  await store.create({ id: 'a', encrypt: false })
  const { row, blocks } = orThrow(encodeRow(user(long), 'conversation', false, hash))
  const [bytes] = blocks as [Uint8Array]
  bytes.fill(0x78)
  await store.append('a', { expected: headOf(emptyRange, hash), rows: [row], blocks })
  expect(await store.getBlocks(row.blocks ?? [])).toEqual([bytesOf(long)])
})

it('changed bytes that a row references by their new id are hashed again', async () => {
  const { store, hash } = await noting()
  await store.create({ id: 'a', encrypt: false })
  const { blocks } = orThrow(encodeRow(user(long), 'conversation', false, hash))
  const [bytes] = blocks as [Uint8Array]
  bytes.fill(0x78)
  const id = blockIdOf(bytes, hash)
  const body = '{"page":"conversation","message":{}}'
  await store.append('a', { expected: headOf(emptyRange, hash), rows: [{ kind: 'entry', body, blocks: [id] }], blocks })
  expect(await store.getBlocks([id])).toEqual([bytes])
  expect(await store.putBlocks([bytes])).toEqual([id])
})

it('bytes are hashed again the second time and with another hash', async () => {
  const { store, hash } = await noting()
  const head = headOf(emptyRange, hash)
  for (const id of ['a', 'b']) await store.create({ id, encrypt: false })
  const { row, blocks } = orThrow(encodeRow(user(long), 'conversation', false, hash))
  await store.append('a', { expected: head, rows: [row], blocks })
  blocks[0]?.fill(0x78)
  const changed = await store.append('b', { expected: head, rows: [row], blocks })()
  expect(isLeft(changed) && changed.left._tag).toBe('UnusedBlock')

  const wrongHash = (bytes: Uint8Array): Uint8Array => portableSha256(bytes).fill(0xab)
  const encoded = orThrow(encodeRow(user(long), 'conversation', false, wrongHash))
  const foreign = await store.append('b', { expected: head, rows: [encoded.row], blocks: encoded.blocks })()
  expect(isLeft(foreign) && foreign.left._tag).toBe('UnusedBlock')
  expect(await store.hasBlocks(['ab'.repeat(32) as BlockId])).toEqual([false])
})
