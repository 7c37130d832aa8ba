import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { rootOf, verifyConsistency } from '../../src/proof/internal.ts'
import {
  checkErased,
  checkErasure,
  checkGrowth,
  checkProof,
  createFork,
  describeSession,
  proveEntry,
  proveErased,
  proveGrowth,
  type EntryProof,
  type GrowthProof,
  eraseMessages,
} from 'indelible/session'
import type { Head } from 'indelible/store'
import { consistencyPath, headOf, rangeAt } from '../../src/store/internal.ts'
import { createSession, image, memoryStore, openSession, orThrow, user, type Session, type Store } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { fault, ok } from '../task-results.ts'
import { thawed } from '../thawed.ts'

const recorded = async (len: number): Promise<{ store: Store; session: Session }> => {
  const store = memoryStore()
  const session = await ok(createSession(store, { id: 's' }))
  for (let index = 0; index < len; index++) {
    await ok(session.append(user(`m${index}`)))
    if (index % 3 === 0) await ok(session.note({ type: 'pin', position: index }))
  }
  return { store, session }
}

it('a message proof of any record size verifies for anyone with the head', async () => {
  for (const len of [1, 2, 3, 5, 8, 13, 20, 33]) {
    const { store, session } = await recorded(len)
    for (let position = 0; position < len; position++) {
      const proof = JSON.parse(JSON.stringify(await ok(proveEntry(store, 's', position)))) as unknown
      const proven = checkProof(proof, session.head())
      expect(isRight(proven) && [proven.right.message, proven.right.session]).toEqual([user(`m${position}`), 's'])
    }
  }
})

it('proofs, receipts and descriptions are frozen, all the way down', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prove-'))
  const store = await sqliteStore({ path: join(folder, 'store.db') })
  const metadata = { tags: { seen: [1] } }
  const messages = [user('long '.repeat(2000)), user('b')]
  const session = await createSession(store, { id: 's', metadata, messages })
  const head = session.head()
  const fork = await createFork(store, 's', { id: 'f' })
  const proof = await proveEntry(store, 's', 0)
  await session.append(user('c'))
  const growth = await proveGrowth(store, 's', head)
  const receipt = await eraseMessages(session, [0])
  const erased = await proveErased(store, 's', 0)
  const checked = orThrow(checkErasure(receipt))
  const checkedErased = orThrow(checkErased(erased))
  const results = {
    checkedErased,
    fork,
    info: await ok(describeSession(store, 's')),
    log: await store.info('f'),
    proof,
    growth,
    receipt,
    erased,
    checked,
  }
  for (const [name, result] of Object.entries(results)) expect(thawed(result, name)).toBeUndefined()
  await store.close()
  rmSync(folder, { recursive: true })
})

it("a message proof carries the message's blocks", async () => {
  const { store, session } = await recorded(4)
  const message = user(
    'long '.repeat(2000),
    image({ type: 'base64', data: 'QUJD'.repeat(1000), mediaType: 'image/png' }),
  )
  await ok(session.append(message, { page: 'plan' }))
  const proof = await ok(proveEntry(store, 's', -1))
  const proven = checkProof(proof, session.head())
  expect(isRight(proven) && [proven.right.message, proven.right.page]).toEqual([message, 'plan'])
  const [block] = Object.keys(proof.blocks) as [string]
  for (const blocks of [{}, { ...proof.blocks, [block]: 'QUJD' }])
    expect(checkProof({ ...proof, blocks })).toMatchObject({
      left: { _tag: 'BadProof', reason: expect.stringContaining('block') as string },
    })
})

it('a message proof verifies for nothing else', async () => {
  const { store, session } = await recorded(11)
  const proof = await ok(proveEntry(store, 's', 6))
  const older = await ok(openSession(store, 's'))
  await ok(session.append(user('more')))
  const changed: unknown[] = [
    { ...proof, body: proof.body.replace('m6', 'm7') },
    { ...proof, row: proof.row + 1 },
    { ...proof, row: -1 },
    { ...proof, row: 0.5 },
    { ...proof, head: { ...proof.head, size: proof.head.size * 4 } },
    { ...proof, head: { ...proof.head, root: '0'.repeat(64) } },
    { ...proof, path: proof.path.slice(1) },
    { ...proof, path: proof.path.toReversed() },
    { ...proof, path: [...proof.path, '0'.repeat(64)] },
    { ...proof, path: ['x', ...proof.path.slice(1)] },
    { ...proof, version: 2 },
    { ...proof, at: proof.at + 1 },
    { ...proof, at: undefined },
    { ...proof, at: 0.5 },
    { ...proof, salt: '0'.repeat(32) },
    { ...proof, salt: '' },
    { ...proof, blocks: null },
    null,
    [],
    'proof',
  ]
  for (const one of changed) expect([one, checkProof(one)]).toMatchObject([one, { left: { _tag: 'BadProof' } }])
  expect(checkProof(proof, older.head())._tag).toBe('Right')
  expect(checkProof(proof, session.head())._tag).toBe('Left')
  expect(checkProof({ ...proof, session: 'what a session is called is not proven' } satisfies EntryProof)._tag).toBe(
    'Right',
  )
})

it('there is no proof for a missing message', async () => {
  const { store } = await recorded(3)
  for (const position of [3, -4, 1.5, NaN]) await fault('BeyondEnd', proveEntry(store, 's', position))
  await fault('NoSuchLog', proveEntry(store, 'nowhere', 0))
})

it('a message is proven for an earlier head that includes it, and not for one before it', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 'grown', messages: [user('one'), user('two')] })
  const { head: earlier } = await describeSession(store, 'grown')
  await session.append(user('three'))
  const proof = await proveEntry(store, 'grown', 1, { size: earlier.size })
  expect(proof.head).toEqual(earlier)
  expect(orThrow(checkProof(proof, earlier)).row).toBe(1)
  expect(await proveEntry(store, 'grown', 2, { size: earlier.size })()).toMatchObject({ left: { _tag: 'BeyondEnd' } })
  expect(await proveEntry(store, 'grown', 0, { size: 9 })()).toMatchObject({ left: { _tag: 'BeyondEnd' } })
})

it.each([1, 2, 3, 7, 8, 12, 33])('a log of 33 rows is shown to continue its first %i', async (oldSize) => {
  const store = memoryStore()
  await createSession(store, { id: 'long', messages: Array.from({ length: 33 }, (_, index) => user(`${index}`)) })
  const [old, now] = await Promise.all([rangeAt(store, 'long', oldSize), rangeAt(store, 'long', 33)])
  const claim = {
    oldSize,
    oldRoot: rootOf(old, store.hash),
    size: 33,
    root: rootOf(now, store.hash),
    proof: await consistencyPath(store, 'long', oldSize, 33),
  }
  expect(verifyConsistency(claim)).toBe(true)
  if (oldSize < 33) expect(verifyConsistency({ ...claim, proof: claim.proof.slice(1) })).toBe(false)
})

it('a proof of growth leads from any earlier head to the current one, and from no other', async () => {
  const { store, session } = await recorded(9)
  const head = session.head()
  const heads = await Promise.all(
    Array.from({ length: head.size }, async (_, index) => headOf(await ok(rangeAt(store, 's', index + 1)), store.hash)),
  )
  const [first, other] = [heads[0] as Head, { size: 3, root: 'ab'.repeat(32) }]
  for (const from of heads) {
    const proof = JSON.parse(JSON.stringify(await ok(proveGrowth(store, 's', from)))) as GrowthProof
    expect(proof).toMatchObject({ indelible: 'growth', version: 1, session: 's', from, head })
    for (const known of [undefined, from, head]) expect(checkGrowth(proof, known)).toEqual(right(proof))
    expect(checkGrowth(proof, other)).toEqual(
      left({
        _tag: 'BadProof',
        reason: `it leads from the head ${from.size} ${from.root} to ${head.size} ${head.root}, and neither is 3 ${other.root}`,
      }),
    )
    if (from.size < head.size)
      expect(checkGrowth({ ...proof, from: { ...from, root: other.root } })).toEqual(
        left({
          _tag: 'BadProof',
          reason: `the record with the head ${head.size} ${head.root} does not extend ${from.size} ${other.root}`,
        }),
      )
    const shapes = { indelible: 'x', version: 2, session: 1, from: {}, head: { size: -1, root: head.root }, path: 'x' }
    for (const [name, value] of [...Object.entries(shapes), ['path', ['x']], ['head', { size: 1, root: 'x' }]] as const)
      expect([name, checkGrowth({ ...proof, [name]: value })]).toMatchObject([
        name,
        { left: { reason: 'it is not a proof of growth of this library' } },
      ])
  }
  for (const wrong of [{ ...first, size: 0 }, { ...head, size: head.size + 1 }, { ...first, size: 0.5 }, other])
    expect(await fault('Diverged', proveGrowth(store, 's', wrong))).toMatchObject({ expected: wrong, actual: head })
})

it('a row whose message cannot be read proves nothing, even with a tree that has it', async () => {
  const store = memoryStore()
  await ok(createSession(store, { id: 's', messages: [user('a')] }))
  const proof = await ok(proveEntry(store, 's', 0))
  const body = proof.body.replace('"user"', '"nobody"')
  const head = (
    await ok(memoryStore().create({ id: 's', rows: [{ kind: 'entry', body, at: proof.at }], encrypt: false }))
  ).head
  const forged = { ...proof, body, head }
  expect(checkProof(forged)).toMatchObject({ left: { _tag: 'BadProof', reason: expect.stringContaining('nobody') } })
})
