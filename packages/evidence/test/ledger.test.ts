/** The ledger of a scope: what it says, and what it finds. */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { left } from 'fp-ts/lib/Either.js'
import { createSession, forkSession, memoryStore, openSession, orThrow, user, type Store } from 'indelible'
import {
  checkBundle,
  checkCheckpoint,
  checkHead,
  evidenceFaultMessage,
  holdSession,
  listHolds,
  newKey,
  proveHead,
  proveInLedger,
  readLedger,
  removeRecorded,
  rotation,
  signerOf,
  signLedger,
  updateLedger,
  verifyLedger,
  withLedger,
  witnessLedger,
  type Trust,
} from '@indelible/evidence'
import {
  claimedHead,
  lastCheckpoint,
  ledgerId,
  listCheckpoints,
  readTrust,
  tlogProofText,
  parseNote,
  signNote,
} from '../src/internal.ts'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { describeSession, eraseMessages } from 'indelible/session'
import { inclusionPath, ownStore, storeTask } from '../../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { startWitness, type LoopbackWitness } from './loopback-witness.ts'
import { oneIn } from '../../../test/rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-ledger-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

const places: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => await sqliteStore({ path: join(folder, `${files++}.db`) })],
]

/** The places in a value that somebody could change. */
const openIn = (value: unknown, path = 'it'): readonly string[] =>
  typeof value !== 'object' || value === null
    ? []
    : [
        ...(Object.isFrozen(value) ? [] : [path]),
        ...Object.entries(value).flatMap(([key, inner]) => openIn(inner, `${path}.${key}`)),
      ]

const key = newKey('example.com/agents')
const signers = [orThrow(signerOf(key.skey))]
const origin = 'example.com/agents/default'
const trust: Trust = { origin, keys: [key.vkey] }

describe.each(places)('a ledger in %s', (_, open) => {
  const three = async (): Promise<Store> => {
    const store = await open()
    for (const id of ['a', 'b', 'c']) await createSession(store, { id, messages: [user(id), user('more')] })
    await updateLedger(store)
    return store
  }

  it('reports new heads in an update, none twice', async () => {
    const store = await three()
    const { head } = await readLedger(store)
    expect(await updateLedger(store)).toEqual({ head, recorded: 0, mismatches: [] })
    const session = await openSession(store, 'b')
    await session.append(user('third'))
    expect(await updateLedger(store)).toMatchObject({ recorded: 1, mismatches: [] })
    const { sessions } = await readLedger(store)
    expect([...sessions.values()].map(({ id, head: { size } }) => [id, size])).toEqual(
      expect.arrayContaining([
        ['a', 2],
        ['b', 3],
        ['c', 2],
      ]),
    )
    expect(await verifyLedger(store)).toMatchObject({ good: 3, removed: 0, unrecorded: [] })
    await store.close()
  })

  it("results of a ledger and its updates are immutable, including a hold's identities", async () => {
    const store = await three()
    await holdSession(store, 'a')
    await eraseMessages(store, 'b', [0], { reason: 'asked to' })
    await store.remove('c')
    const { head, held, sessions, erasures } = await readLedger(store)
    const answers = [await updateLedger(store), await updateLedger(store, ['a']), await listHolds(store, 'a')]
    expect(answers[0]).toMatchObject({ mismatches: [{ id: 'c', what: 'missing' }] })
    const said = [head, erasures, ...held.values(), ...sessions.values()]
    for (const answer of [...answers, ...said, await listHolds(await three(), 'a')]) expect(openIn(answer)).toEqual([])
  })

  it('reports a deleted, replaced or truncated session', async () => {
    const store = await three()
    await store.remove('a')
    await store.remove('b')
    await createSession(store, { id: 'b', messages: [user('other'), user('words')] })
    await store.remove('c')
    await createSession(store, { id: 'c', messages: [user('c')] })
    const found = [
      { id: 'a', what: 'missing' },
      { id: 'b', what: 'replaced' },
      { id: 'c', what: 'cut' },
    ]
    const verified = await verifyLedger(store)()
    expect(verified).toMatchObject({ left: { _tag: 'LedgerMismatch' } })
    const { mismatches } = (verified as { left: { mismatches: readonly { id: string; what: string }[] } }).left
    expect(mismatches.map(({ id, what }) => ({ id, what })).toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual(found)
    const output = [1, 2, 3, 4].map((count) =>
      evidenceFaultMessage({
        _tag: 'LedgerMismatch',
        mismatches: [...mismatches, ...mismatches].slice(0, count) as never,
      }),
    )
    expect(output.map((text) => [text.match(/session "/g)?.length, text.endsWith('; …')])).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [3, true],
    ])
    const [first] = mismatches as readonly { expected?: { root: string } }[]
    expect(output[0]).toContain(` with root ${first?.expected?.root.slice(0, 12)}…`)
    expect(output.map((text) => text.split(' not ')[0])).toEqual([
      '1 session does',
      ...[2, 3, 4].map((n) => `${n} sessions do`),
    ])
    // An update heals nothing: what is wrong is said again, and nothing new is recorded of it.
    expect((await updateLedger(store)).mismatches).toHaveLength(3)
    expect(await verifyLedger(store)()).toMatchObject({ left: { _tag: 'LedgerMismatch' } })
    await store.close()
  })

  it('recognizes recorded removals and a reused id', async () => {
    const store = await three()
    await removeRecorded(store, 'a', { reason: 'asked to', by: 'ann' })
    expect(await verifyLedger(store)).toMatchObject({ good: 2, removed: 1 })
    expect((await readLedger(store)).sessions.get('a')).toMatchObject({ removed: true, reason: 'asked to', by: 'ann' })
    await createSession(store, { id: 'a', messages: [user('again')] })
    expect(await updateLedger(store)).toMatchObject({ recorded: 1, mismatches: [] })
    expect(await verifyLedger(store)).toMatchObject({ good: 3, removed: 0 })
    expect(await removeRecorded(store, 'nobody')()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
    await store.close()
  })

  it('reports an unfinished removal of a dead process, and the next one completes it', async () => {
    const store = await three()
    const refusing: Store = { ...store, remove: () => store.remove('is not there') }
    expect((await removeRecorded(refusing, 'a')())._tag).toBe('Left')
    expect(await verifyLedger(store)()).toMatchObject({ left: { mismatches: [{ id: 'a', what: 'present' }] } })
    const { head } = await readLedger(store)
    await removeRecorded(store, 'a')
    expect((await readLedger(store)).head).toEqual(head) // the row is there once
    expect(await verifyLedger(store)).toMatchObject({ removed: 1 })
    await store.close()
  })

  it('treats removals during a verification as no mismatch', async () => {
    const store = await three()
    // One from the row to the end, after the verification has read the ledger.
    let removed = false
    const between: Store = {
      ...store,
      list: (query) =>
        storeTask(async () => {
          if (!removed) await removeRecorded(store, 'a')
          removed = true
          return store.list(query)()
        }, 'list'),
    }
    expect((await verifyLedger(between)).head.size).toBeGreaterThan(0)
    // One whose row is there, and which ends while the ledger is compared again.
    const whileRemoving = async <T>(id: string, work: (looking: Store) => PromiseLike<T>): Promise<T> => {
      let letGo = (): void => undefined
      const held = new Promise<void>((resolve) => (letGo = resolve))
      const slow: Store = {
        ...store,
        remove: (log, call) => storeTask(() => held.then(() => store.remove(log, call)()), 'remove'),
      }
      const removing = removeRecorded(slow, id)()
      while ((await readLedger(store)).sessions.get(id)?.removed !== true) await new Promise(setImmediate)
      return work({
        ...store,
        info: (log) =>
          storeTask(async () => {
            if (log === id) {
              letGo()
              await removing
            }
            return store.info(log)()
          }, 'info'),
      })
    }
    expect(await whileRemoving('b', (looking) => verifyLedger(looking))).toMatchObject({ good: 1, removed: 2 })
    expect(await whileRemoving('c', (looking) => updateLedger(looking))).toMatchObject({ recorded: 0, mismatches: [] })
    await store.close()
  })

  it('treats a session that a list came too early for as no mismatch', async () => {
    const store = await three()
    const early: Store = {
      ...store,
      list: (query) =>
        storeTask(async () => {
          const page = await store.list(query)()
          return pipe(
            page,
            E.map((listed) => ({ ...listed, logs: listed.logs.filter(({ id }) => id !== 'b') })),
          )
        }, 'list'),
    }
    expect(await updateLedger(early)).toMatchObject({ recorded: 0, mismatches: [] })
    expect(await verifyLedger(early)).toMatchObject({ removed: 0, unrecorded: [] })
    await store.close()
  })

  it("returns a ledger's own fault during a lookup, not a mismatch", async () => {
    const store = await three()
    let isGone = false
    const gone = left({ _tag: 'Io', operation: 'info', cause: new Error('the disk is gone') } as const)
    const losing: Store = {
      ...store,
      info: (id) => {
        if (isGone && id === ledgerId) return storeTask(async () => gone, 'info')
        isGone ||= id === 'a'
        return store.info(id === 'a' ? 'is not there' : id)
      },
    }
    expect(await verifyLedger(losing)()).toMatchObject({ left: { _tag: 'Io', operation: 'info' } })
    await store.close()
  })

  it('reports a session not yet in the ledger, including a fork', async () => {
    const store = await three()
    await forkSession(store, 'a', { id: 'fork', at: 1 })
    expect(await verifyLedger(store)).toMatchObject({ good: 3, unrecorded: ['fork'] })
    await store.close()
  })

  it('records each head once in concurrent updates', async () => {
    const store = await open()
    for (const id of ['a', 'b', 'c', 'd']) await createSession(store, { id, messages: [user(id)] })
    const all = await Promise.all(Array.from({ length: 6 }, () => updateLedger(store)))
    expect(all.reduce((sum, { recorded }) => sum + recorded, 0)).toBe(4)
    expect(await verifyLedger(store)).toMatchObject({ good: 4, unrecorded: [] })
    await store.close()
  })

  it('is updated every given number of appends and at every removal', async () => {
    const plain = await open()
    const store = withLedger(plain, { every: 3, by: 'host' })
    const session = await createSession(store, { id: 's' })
    for (let count = 1; count <= 7; count++) {
      await session.append(user(`${count}`))
      if (count > 2) expect((await readLedger(plain)).sessions.get('s')?.head.size).toBe(count - (count % 3))
    }
    // A removal that the ledger does not record is none.
    const gone = left({ _tag: 'Io', operation: 'append', cause: new Error('the disk is gone') } as const)
    const failing: Store = {
      ...plain,
      append: (id, append) => (id === ledgerId ? storeTask(async () => gone, 'append') : plain.append(id, append)),
    }
    expect(await withLedger(failing).remove('s')()).toMatchObject({ left: { _tag: 'Io' } })
    expect((await plain.info('s')).head.size).toBe(7)
    await store.remove('s')
    expect((await readLedger(plain)).sessions.get('s')).toMatchObject({ removed: true, by: 'host', head: { size: 7 } })
    expect(await verifyLedger(plain)).toMatchObject({ good: 0, removed: 1 })
    await plain.close()
  })

  it('keeps signed checkpoints; a replaced ledger is not signed and no longer verifies', async () => {
    const store = await three()
    const first = await signLedger(store, { origin, signers })
    expect(orThrow(checkCheckpoint(first.note, trust))).toMatchObject({ origin, head: first.head })
    await (await openSession(store, 'a')).append(user('grown'))
    await updateLedger(store)
    const second = await signLedger(store, { origin, signers })
    expect(second.head.size).toBe(first.head.size + 1)
    expect((await listCheckpoints(store)).map(({ head }) => head)).toEqual([first.head, second.head])
    expect(await verifyLedger(store, first.head)).toMatchObject({ good: 3 })
    // The whole ledger is made anew, for a store in which another session stands.
    await ownStore(store).remove(ledgerId)
    await store.remove('b')
    await createSession(store, { id: 'b', messages: [user('forged'), user('forged')] })
    await updateLedger(store)
    expect(await verifyLedger(store, first.head)()).toMatchObject({ left: { _tag: 'Diverged' } })
    expect(await signLedger(store, { origin, signers })()).toMatchObject({ left: { _tag: 'Diverged', id: ledgerId } })
    await store.close()
  })

  it('proves a message with public keys only, also after growth', async () => {
    const store = await three()
    await signLedger(store, { origin, signers })
    const session = await openSession(store, 'b')
    await session.append(user('later'))
    for (let count = 0; count < 5; count++) await createSession(store, { id: `more ${count}`, messages: [user('x')] })
    await updateLedger(store)
    const bundle = JSON.parse(JSON.stringify(await proveInLedger(store, 'b', 1))) as unknown
    expect(Object.isFrozen(orThrow(checkBundle(bundle, trust)))).toBe(true)
    expect(orThrow(checkBundle(bundle, trust))).toMatchObject({
      session: 'b',
      message: user('more'),
      checkpoint: { origin },
    })
    expect(await proveInLedger(store, 'b', 2)()).toMatchObject({ left: { _tag: 'NotInLedger', id: 'b', rows: 2 } })
    expect(await proveInLedger(store, 'more 0', 0)()).toMatchObject({ left: { _tag: 'NotInLedger', rows: 0 } })
    await signLedger(store, { origin, signers })
    expect(orThrow(checkBundle(await proveInLedger(store, 'b', 2), trust)).message).toEqual(user('later'))
    await store.close()
  })
})

describe('a ledger verification of altered rows', () => {
  const words = 'a long answer '.repeat(400) // stands in a block
  const alter = async (sql: string, keys = false): Promise<Store> => {
    const path = join(folder, `${files++}.db`)
    const bare = await sqliteStore({ path })
    const store = keys ? withKeys(bare, keyRing([newHostKey()])) : bare
    for (const id of ['a', 'b'])
      await createSession(store, { id, messages: [user(id), user(`more ${id}`), user(words + id)] })
    await updateLedger(store)
    await (await openSession(store, 'b')).append(user('grown'))
    await bare.close()
    const db = new DatabaseSync(path)
    db.exec(sql)
    db.close()
    return sqliteStore({ path })
  }

  it.each([
    ['a text', `update row set body = replace(body, 'more b', 'less b')`, 1],
    [
      'a block',
      `update content set bytes = cast(x'00' || substr(bytes, 2) as blob) where block = (select max(key) from block)`,
      2,
    ],
    ['a missing row', `delete from row where body like '%more b%'`, 1],
    ['the metadata', `update log set meta = 'x' where id = 'b'`, undefined],
  ])('names session and position: %s', async (_, sql, position) => {
    const store = await alter(sql)
    expect(await verifyLedger(store)()).toMatchObject({
      left: {
        _tag: 'LedgerMismatch',
        mismatches: [{ id: 'b', what: 'altered', ...(position !== undefined && { position }) }],
      },
    })
    await store.close()
  })

  it('states when only heads are compared, which finds no altered row', async () => {
    const store = await alter(`update row set body = replace(body, 'more', 'less')`)
    expect(await verifyLedger(store, undefined, { headsOnly: true })).toMatchObject({ headsOnly: true, good: 2 })
    expect(await verifyLedger(store)()).toMatchObject({ left: { mismatches: [{ id: 'a' }, { id: 'b' }] } })
    await store.close()
  })

  it('verifies encrypted sessions without keys', async () => {
    const good = await alter('select 1', true)
    expect(await verifyLedger(good)).toMatchObject({ headsOnly: false, good: 2 })
    await good.close()
    const store = await alter(
      `update row set body = replace(body, '.', '.AAAA') where id & 4294967295 = 1 and id >> 32 < (select max(segment) from log)`,
      true,
    )
    expect(await verifyLedger(store)()).toMatchObject({
      left: { mismatches: [{ id: 'a', what: 'altered', position: 1 }, { id: 'b' }] },
    })
    await store.close()
  })
})

it('a scope without a ledger is a fault', async () => {
  const store = memoryStore()
  for (const call of [
    () => readLedger(store),
    () => verifyLedger(store),
    () => signLedger(store, { origin, signers }),
    () => proveInLedger(store, 'a', 0),
  ])
    expect(await (call() as () => Promise<unknown>)()).toMatchObject({ left: { _tag: 'NoLedger', scope: 'default' } })
})

it('the sentence for a missing ledger or checkpoint has the command that makes it', () => {
  const none = { _tag: 'NoLedger', scope: 'default' } as const
  expect(evidenceFaultMessage(none)).toBe('scope "default" has no ledger: create it with "indelible ledger update"')
  expect(evidenceFaultMessage({ ...none, missing: 'checkpoint' })).toBe(
    'the ledger of scope "default" has no signed checkpoint: create one with "indelible ledger sign"',
  )
})

it("a log with the ledger's id that is not a ledger is left alone", async () => {
  const store = memoryStore()
  await createSession(ownStore(store), { id: ledgerId, messages: [user('mine')] })
  expect(await updateLedger(store)()).toMatchObject({ left: { _tag: 'NotALedger' } })
  expect((await describeSession(store, ledgerId)).len).toBe(1)
})

describe('a proof bundle', () => {
  const bundleOf = async (): Promise<string> => {
    const store = memoryStore()
    for (let count = 0; count < 5; count++)
      await createSession(store, { id: `s${count}`, messages: [user('hello'), user('you')] })
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    return JSON.stringify(await proveInLedger(store, 's2', 1))
  }

  it('of a head is checked the same way and claims nothing unsigned', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('hello')] })
    expect(await proveHead(store, 's')()).toMatchObject({ left: { _tag: 'NoLedger' } })
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    const head = session.head()
    await session.append(user('later'))
    const proof = JSON.parse(JSON.stringify(await proveHead(store, 's'))) as { body: string; proof: string }
    expect(orThrow(checkHead(proof, trust))).toMatchObject({
      session: 's',
      head,
      checkpoint: { signedBy: [key.vkey.split('+')[0]] },
    })
    expect(orThrow(claimedHead(proof))).toMatchObject({ session: 's', head, checkpoint: { origin } })
    const other = { ...trust, keys: [newKey('example.com/agents').vkey] }
    expect(checkHead(proof, other)).toMatchObject({ left: { _tag: 'NotSigned' } })
    for (const changed of [
      { ...proof, body: proof.body.replace('"s"', '"t"') },
      { ...proof, at: 1 },
      { proof: '' },
      null,
    ]) {
      expect(checkHead(changed, trust)._tag).toBe('Left')
      expect(claimedHead(changed)._tag).toBe('Left')
    }
    expect(await proveHead(store, 'none')()).toMatchObject({ left: { _tag: 'NotInLedger', rows: 0 } })
    await removeRecorded(store, 's')
    const { note: checkpoint, head: ledger } = await signLedger(store, { origin, signers })
    expect(await proveHead(store, 's')()).toMatchObject({ left: { _tag: 'NotInLedger', rows: 0 } })
    // The removal is in the ledger, too, and is no head.
    const index = ledger.size - 1
    const [{ body, at } = { body: '', at: 0 }] = await store.read(ledgerId, { from: index })
    const path = await inclusionPath(store, ledgerId, index, ledger.size)
    expect(checkHead({ body, at, proof: tlogProofText({ index, path, checkpoint }) }, trust)).toMatchObject({
      left: { _tag: 'BadBundle', reason: `row ${index} of the ledger does not record the head of a session` },
    })
  })

  it('is refused with any bit changed', async () => {
    const text = await bundleOf()
    const bytes = new TextEncoder().encode(text)
    const whole = JSON.stringify(orThrow(checkBundle(JSON.parse(text), trust)))
    let refused = 0
    const decoder = new TextDecoder()
    const every = oneIn(29)
    for (let bit = 0; bit < bytes.length * 8; bit += every) {
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
      const changed = decoder.decode(bytes)
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
      let value: unknown
      try {
        value = JSON.parse(changed)
      } catch {
        refused++
        continue
      }
      const checked = checkBundle(value, trust)
      // What is accepted says the same, word for word: a change that JSON does not see.
      if (checked._tag === 'Left') refused++
      else expect([bit, JSON.stringify(checked.right)]).toEqual([bit, whole])
    }
    expect(refused).toBeGreaterThan((bytes.length * 7) / every)
  })

  it("is refused with another session, ledger row, or log's old checkpoint", async () => {
    const bundle = JSON.parse(await bundleOf()) as {
      entry: { session: string }
      ledger: { body: string; proof: string }
    }
    const changed = [
      { ...bundle, entry: { ...bundle.entry, session: 's3' } },
      { ...bundle, ledger: { ...bundle.ledger, body: bundle.ledger.body.replace('s2', 's3') } },
      { ...bundle, ledger: { ...bundle.ledger, at: 1 } },
      { ...bundle, version: 2 },
      { ...bundle, ledger: 'none' },
    ]
    for (const one of changed) expect(checkBundle(one, trust)._tag).toBe('Left')
    for (const value of [null, undefined, 1, 'x', [], {}, { indelible: 'evidence', version: 1 }])
      expect(checkBundle(value, trust)._tag).toBe('Left')
    expect(checkBundle(bundle, { ...trust, origin: 'example.com/other' })).toMatchObject({
      left: { _tag: 'BadCheckpoint' },
    })
    expect(checkBundle(bundle, { ...trust, keys: [newKey('example.com/agents').vkey] })).toMatchObject({
      left: { _tag: 'NotSigned' },
    })
  })

  it('adds at most 8 kB to the message in a large store', async () => {
    const store = memoryStore()
    const big = await createSession(store, {
      id: 'big',
      messages: Array.from({ length: 5000 }, (_, index) => user(`${index}`)),
    })
    for (let count = 0; count < 200; count++) await createSession(store, { id: `s${count}` })
    await big.append(user('x'))
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    const bundle = JSON.stringify(await proveInLedger(store, 'big', 3210))
    // 13 + 8 hashes here; a million rows and ten thousand sessions have 7 + 6 more, of at most 70 bytes each.
    expect(bundle.length + 13 * 70).toBeLessThan(8000)
    expect(checkBundle(JSON.parse(bundle), trust)._tag).toBe('Right')
  })
})

describe('ledger signing keys', () => {
  const next = newKey('example.com/agents-2')
  const nextSigners = [orThrow(signerOf(next.skey))]
  const signed = async (extensions: readonly string[], by = signers): Promise<string> => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('a')] })
    await updateLedger(store)
    return (await signLedger(store, { origin, signers: by, extensions })).note
  }

  it('rotate with a checkpoint under the old key that names the new one', async () => {
    const rotations = [await signed([rotation(next.vkey)])]
    const note = await signed([], nextSigners)
    expect(checkCheckpoint(note, trust)).toMatchObject({ left: { _tag: 'NotSigned' } })
    expect(orThrow(checkCheckpoint(note, { ...trust, rotations })).signedBy).toEqual(['example.com/agents-2'])
    const forged = [await signed([rotation(next.vkey)], nextSigners)] // by the key that it names
    expect(checkCheckpoint(note, { ...trust, rotations: forged })).toMatchObject({ left: { _tag: 'NotSigned' } })
  })

  it('are revoked if any mention of them is, in whichever order, and also if a rotation names them again', async () => {
    const note = await signed([])
    const revoked = { vkey: key.vkey, revoked: 5 }
    const rotations = [await signed([rotation(key.vkey)], nextSigners)]
    for (const keys of [[revoked], [revoked, key.vkey], [key.vkey, revoked]])
      expect(checkCheckpoint(note, { origin, keys })).toMatchObject({ left: { _tag: 'BadCheckpoint' } })
    expect(checkCheckpoint(note, { origin, keys: [next.vkey, revoked], rotations })).toMatchObject({
      left: { _tag: 'BadCheckpoint' },
    })
  })

  it('are trusted by known names only: a misspelled "quorum" or "revoked" is no weaker check', async () => {
    const note = await signed([])
    for (const misspelled of [
      { ...trust, quorom: 1 },
      { ...trust, keys: [{ vkey: key.vkey, revokedAt: 5 }] },
    ]) {
      expect(() => checkCheckpoint(note, misspelled as Trust)).toThrow(/has no option "(?:quorom|revokedAt)"/)
      expect(readTrust(misspelled)).toMatchObject({ left: { _tag: 'BadTrust' } })
    }
    for (const value of [null, 'trust', 1])
      expect(readTrust(value)).toMatchObject({ left: { _tag: 'BadTrust', reason: 'is not a JSON object' } })
    expect(readTrust({ ...trust })).toMatchObject({ right: trust })
    expect(readTrust({ ...trust, keys: [] })).toMatchObject({ left: { reason: expect.stringContaining('"keys"') } })
    expect(readTrust({ ...trust, quorom: 1 })).toMatchObject({ left: { reason: expect.stringContaining('quorom') } })
  })

  it('are those of the trust, whatever is added to Object.prototype', async () => {
    const note = await signed([], nextSigners)
    const rotations = [await signed([rotation(next.vkey)])]
    // oxlint-disable-next-line no-extend-native -- this is the attack
    Object.defineProperty(Object.prototype, 'rotations', { value: rotations, configurable: true })
    const checked = checkCheckpoint(note, trust)
    Reflect.deleteProperty(Object.prototype, 'rotations')
    expect(checked).toMatchObject({ left: { _tag: 'NotSigned' } })
  })
})

describe('witnesses', () => {
  let one: LoopbackWitness
  let two: LoopbackWitness
  let lying: LoopbackWitness
  beforeAll(async () => {
    one = await startWitness('witness.example/1', { [origin]: key.vkey })
    two = await startWitness('witness.example/2', { [origin]: key.vkey })
    lying = await startWitness(
      'witness.example/3',
      { [origin]: key.vkey },
      { signs: (text) => text.replace(/^\d+$/m, '99') },
    )
  })
  afterAll(() => Promise.all([one.close(), two.close(), lying.close()]))

  it('sign only continuations of their last checkpoint; a policy of k counts them', async () => {
    const store = memoryStore()
    for (let count = 0; count < 7; count++) await createSession(store, { id: `s${count}`, messages: [user('a')] })
    await updateLedger(store)
    const { note } = await signLedger(store, { origin, signers })
    const witnesses = [one.vkey, two.vkey, lying.vkey]
    expect(checkCheckpoint(note, { ...trust, witnesses, quorum: 1 })).toMatchObject({
      left: { _tag: 'TooFewWitnesses', wanted: 1, found: [] },
    })
    const witnessed = await witnessLedger(store, [one, two, lying])
    expect(witnessed.signedBy).toEqual(['witness.example/1', 'witness.example/2'])
    expect(witnessed.refusals).toMatchObject([{ _tag: 'WitnessRefused', url: lying.url, status: 200 }])
    const checked = orThrow(checkCheckpoint(witnessed.note, { ...trust, witnesses, quorum: 2 }))
    expect(checked.witnessed.map(({ name, at }) => [name, typeof at])).toEqual([
      ['witness.example/1', 'number'],
      ['witness.example/2', 'number'],
    ])
    expect((await lastCheckpoint(store))?.note).toBe(witnessed.note)
    const commandEnded = one.answered.length
    await signLedger(store, { origin, signers }) // the same checkpoint: its signatures stay, with their times
    const again = await witnessLedger(store, [one])
    const linesOf = (note: string) => note.split('\n').toSorted()
    expect(linesOf(again.note)).toEqual(linesOf(witnessed.note))
    expect(again.signedBy).toEqual(['witness.example/1'])
    expect(one.answered).toHaveLength(commandEnded)

    for (let count = 0; count < 4; count++) await createSession(store, { id: `t${count}`, messages: [user('a')] })
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    expect((await witnessLedger(store, [one])).signedBy).toEqual(['witness.example/1'])
    expect(one.answered.slice(commandEnded)).toEqual([200]) // it was known what it signed before
    // Bundles carry the signatures.
    const bundle = await proveInLedger(store, 's3', 0)
    expect(orThrow(checkBundle(bundle, { ...trust, witnesses, quorum: 1 })).checkpoint.witnessed).toHaveLength(1)
  })

  it('that are asked at the same time all sign the stored checkpoint', async () => {
    const witnesses = await Promise.all(['a', 'b'].map((name) => startWitness(name, { [origin]: key.vkey })))
    const store = memoryStore()
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    await Promise.all(witnesses.map((witness) => witnessLedger(store, [witness])))
    const { note } = (await lastCheckpoint(store)) as { note: string }
    const both = { ...trust, witnesses: witnesses.map(({ vkey }) => vkey), quorum: 2 }
    expect(checkCheckpoint(note, both)._tag).toBe('Right')
    await Promise.all(witnesses.map((witness) => witness.close()))
  })

  it('time out, also with a fetch that ignores its signal', async () => {
    const store = memoryStore()
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    const { refusals } = await witnessLedger(store, [one], { timeout: 5, fetch: () => new Promise(() => undefined) })
    expect(refusals).toMatchObject([
      { _tag: 'WitnessRefused', reason: expect.stringContaining('it did not answer within 5 ms') as string },
    ])
  })
  it('are asked again from the size they report', async () => {
    const mine = await startWitness('witness.example/4', { [origin]: key.vkey })
    const store = memoryStore()
    for (let count = 0; count < 3; count++) {
      await createSession(store, { id: `s${count}`, messages: [user('a')] })
      await updateLedger(store)
      await signLedger(store, { origin, signers })
      if (count === 1) {
        // A copy of the scope asks: this store does not hear of it.
        const { note } = (await lastCheckpoint(store)) as { note: string }
        const response = await fetch(`${mine.url}/add-checkpoint`, { method: 'POST', body: `old 0\n\n${note}` })
        expect(response.status).toBe(200)
      }
    }
    expect((await witnessLedger(store, [mine])).signedBy).toEqual(['witness.example/4'])
    expect(mine.answered).toEqual([200, 409, 200])
    await mine.close()
  })

  it('do not sign a replaced history', async () => {
    const mine = await startWitness('witness.example/5', { [origin]: key.vkey })
    for (const words of ['first', 'other']) {
      const store = memoryStore()
      for (let count = 0; count < 3; count++)
        await createSession(store, { id: `${words} ${count}`, messages: [user(words)] })
      await updateLedger(store)
      await signLedger(store, { origin, signers })
      const { signedBy, refusals } = await witnessLedger(store, [mine])
      if (words === 'first') expect(signedBy).toHaveLength(1)
      else expect(refusals).toMatchObject([{ _tag: 'WitnessRefused', status: 422 }])
    }
    await mine.close()
  })

  it('that do not know the log or are unreachable are named', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('a')] })
    await updateLedger(store)
    await signLedger(store, { origin: 'example.com/unknown', signers })
    const gone = await startWitness('witness.example/6', {})
    await gone.close()
    const { signedBy, refusals } = await witnessLedger(store, [one, gone])
    expect(signedBy).toEqual([])
    expect(refusals).toMatchObject([
      { status: 404 },
      { url: gone.url, reason: expect.stringContaining('reached') as string },
    ])
  })

  it('make checkpoints of a revoked key count if signed before the revocation', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('a')] })
    await updateLedger(store)
    await signLedger(store, { origin, signers })
    const mine = await startWitness('witness.example/7', { [origin]: key.vkey })
    const { note } = await witnessLedger(store, [mine])
    await mine.close()
    const at = (revoked: number): Trust => ({ ...trust, keys: [{ vkey: key.vkey, revoked }], witnesses: [mine.vkey] })
    expect(checkCheckpoint(note, at(Date.now() + 5000))._tag).toBe('Right')
    expect(checkCheckpoint(note, at(Date.now() - 60_000))).toMatchObject({ left: { _tag: 'BadCheckpoint' } })
    expect(checkCheckpoint(note, { ...at(Date.now() + 5000), witnesses: [] })).toMatchObject({
      left: { _tag: 'BadCheckpoint' },
    })
    const late = newKey('witness.example/late', 'witness')
    const lateSigner = orThrow(signerOf(late.skey, () => Date.now() + 60_000))
    const { text } = orThrow(parseNote(note))
    const [, line] = (await signNote(text, [lateSigner])).split('\n\n')
    const two = { ...at(Date.now() + 5000), witnesses: [mine.vkey, late.vkey], quorum: 2 }
    expect(checkCheckpoint(note + line, two)).toMatchObject({ left: { _tag: 'BadCheckpoint' } })
    expect(checkCheckpoint(note + line, { ...two, quorum: 1 })._tag).toBe('Right')
    const early = orThrow(signerOf(late.skey, () => Date.now() - 60_000))
    const [, before] = (await signNote(text, [early])).split('\n\n')
    expect(checkCheckpoint(note + line + before, two)._tag).toBe('Right') // the earliest time of each witness counts
  })
})

it.each([-1, 1.5, 1e300])('a ledger row with size %s is invalid', async (size) => {
  const store = memoryStore()
  const body = JSON.stringify({ type: 'head', id: 's', size, root: '0'.repeat(64) })
  await ownStore(store).create({
    id: ledgerId,
    meta: { [ledgerId]: 1 },
    rows: [{ kind: 'note', body }],
    encrypt: false,
  })
  expect(await verifyLedger(store)()).toMatchObject({ left: { _tag: 'NotALedger' } })
})

it("a log's key among the witnesses is refused, with the call that makes a witness's", () => {
  const { vkey } = newKey('w.example')
  const read = checkCheckpoint('text\n\n', { ...trust, witnesses: [vkey] })
  expect(read).toMatchObject({ left: { _tag: 'BadKey', reason: expect.stringContaining("newKey(name, 'witness')") } })
})

it.each([NaN, -1, 0.5, Infinity])('a quorum of %s is invalid', (quorum) => {
  const output = `quorum is ${quorum}; expected a whole number of witnesses, at least 0 and at most 1000`
  expect(() => checkCheckpoint('text\n\n', { ...trust, quorum })).toThrow(new TypeError(output))
})

it.each<[string, (store: Store) => Promise<unknown>]>([
  ['readLedger', async (store) => await readLedger(store)],
  ['updateLedger', async (store) => await updateLedger(store)],
  ['removeRecorded', async (store) => await removeRecorded(store, 's')],
  ['verifyLedger', async (store) => await verifyLedger(store)],
  ['signLedger', async (store) => await signLedger(store, { origin, signers })],
  ['proveHead', async (store) => await proveHead(store, 's')],
  ['proveInLedger', async (store) => await proveInLedger(store, 's', 0)],
  ['listHolds', async (store) => await listHolds(store, 's')],
])('%s needs a store', async (name, call) => {
  const message = `${name} takes a store, such as memoryStore(), found nothing`
  await expect(async () => call(undefined as never)).rejects.toThrow(new TypeError(message))
})

describe('a ledger', () => {
  const withSessions = async (...ids: readonly string[]): Promise<Store> => {
    const store = memoryStore()
    for (const id of ids) await createSession(store, { id, messages: [user(id), user('more')] })
    await updateLedger(store)
    return store
  }
  /** The same store, but the logs with these ids have this fault. */
  const withFault = (store: Store, fault: { readonly _tag: string }, ...ids: readonly string[]): Store => ({
    ...store,
    list: (query) =>
      storeTask(async () => {
        const page = await store.list(query)()
        return pipe(
          page,
          E.map((listed) => Object.assign({}, listed, { logs: listed.logs.filter(({ id }) => !ids.includes(id)) })),
        )
      }, 'list'),
    info: (id) => (ids.includes(id) ? storeTask(async () => left(fault as never), 'info') : store.info(id)),
  })
  const io = { _tag: 'Io', operation: 'read', cause: 'gone' } as const
  const busy = { _tag: 'Busy', operation: 'read', cause: 'locked' } as const
  const damage = { _tag: 'DamagedLog', id: 'a', position: 1, reason: 'its text was changed' } as const

  it('has the sessions in the order of their creation', async () => {
    const store = await withSessions('c', 'a', 'b')
    const rows = await store.read(ledgerId)
    expect(rows.map(({ body }) => (JSON.parse(body) as { id: string }).id)).toEqual(['c', 'a', 'b'])
  })

  it('is read up to a size, or whole', async () => {
    const store = await withSessions('a', 'b')
    const first = await readLedger(store, 1)
    expect([first.head.size, [...first.sessions.keys()]]).toEqual([1, ['a']])
    expect([...(await readLedger(store)).sessions.keys()]).toEqual(['a', 'b'])
    const { head } = await describeSession(store, 'a')
    expect(first).toEqual({
      head: first.head,
      sessions: new Map([['a', { id: 'a', row: 0, at: expect.any(Number), head, removed: false }]]),
      ...{ held: new Map(), destroyed: new Map(), erasures: [] },
    })
    ;(first.sessions as Map<string, unknown>).clear() // a copy
    expect((await readLedger(store, 1)).sessions.size).toBe(1)
  })

  it('has exactly what differs: the head that it records, and the one found', async () => {
    const store = await withSessions('cut', 'gone', 'replaced', 'good')
    const { sessions } = await readLedger(store)
    const expected = (id: string) => sessions.get(id)?.head
    for (const id of ['cut', 'gone', 'replaced']) await store.remove(id)
    const cut = await createSession(store, { id: 'cut', messages: [user('cut')] })
    const replaced = await createSession(store, { id: 'replaced', messages: [user('x'), user('y'), user('z')] })
    const mismatches = [
      { id: 'cut', what: 'cut', expected: expected('cut'), found: cut.head() },
      { id: 'gone', what: 'missing', expected: expected('gone') },
      { id: 'replaced', what: 'replaced', expected: expected('replaced'), found: replaced.head() },
    ]
    const sorted = (found: readonly { readonly id: string }[]) => found.toSorted((x, y) => (x.id < y.id ? -1 : 1))
    expect(sorted((await updateLedger(store)).mismatches)).toEqual(mismatches)
    const verified = (await verifyLedger(store)()) as { left: { mismatches: readonly { id: string }[] } }
    expect(sorted(verified.left.mismatches)).toEqual(mismatches)
    expect(Object.isFrozen(verified.left.mismatches)).toBe(true)
    for (const id of ['cut', 'gone', 'gone', 'replaced', 'good', 'unknown'])
      expect(await updateLedger(store, [id, id])).toMatchObject({
        recorded: 0,
        mismatches: mismatches.filter((mismatch) => mismatch.id === id),
      })
  })

  it('of which a session can not be described is not updated, or has it as altered or missing', async () => {
    const store = await withSessions('a', 'b')
    const { sessions } = await readLedger(store)
    const expected = sessions.get('a')?.head
    for (const fault of [io, busy]) {
      expect(await updateLedger(withFault(store, fault, 'a'))()).toEqual(left(fault))
      expect(await updateLedger(withFault(store, fault, 'a'), ['a'])()).toEqual(left(fault))
      expect(await updateLedger(withFault(store, fault, 'a'), ['b'])).toMatchObject({ recorded: 0, mismatches: [] })
    }
    const altered = { id: 'a', what: 'altered', expected, position: 1, reason: damage.reason }
    const missing = { id: 'a', what: 'missing', expected }
    expect((await updateLedger(withFault(store, damage, 'a'))).mismatches).toEqual([altered])
    // The damage of another log is none of its own.
    expect((await updateLedger(withFault(store, { ...damage, id: 'b' } as never, 'a'))).mismatches).toEqual([missing])
    expect(await verifyLedger(withFault(store, damage, 'a'))()).toEqual(
      left({ _tag: 'LedgerMismatch', mismatches: [altered] }),
    )
  })

  it('has a session as altered whose earlier head can not be computed, and no fault of the store', async () => {
    const store = await withSessions('a')
    const expected = (await readLedger(store)).sessions.get('a')?.head
    await (await openSession(store, 'a')).append(user('grown'))
    const nodesOf = (fault: { readonly _tag: string }): Store => ({
      ...store,
      nodes: (id, wanted) =>
        id === 'a' ? storeTask(async () => left(fault as never), 'nodes') : store.nodes(id, wanted),
    })
    expect(await updateLedger(nodesOf(damage))).toMatchObject({
      recorded: 0,
      mismatches: [{ id: 'a', what: 'altered', expected, position: 1, reason: damage.reason }],
    })
    expect(await updateLedger(nodesOf(io))()).toEqual(left(io))
    expect(await updateLedger(store)).toMatchObject({ recorded: 1, mismatches: [] })
  })

  it('that grows by rows of others in between is compared anew', async () => {
    const store = await withSessions('a')
    for (const text of ['x', 'y']) {
      await (await openSession(store, 'a')).append(user(text))
      await createSession(store, { id: text })
      await updateLedger(store, [text])
      expect(await updateLedger(store)).toMatchObject({ recorded: 1, mismatches: [] })
    }
    expect((await readLedger(store)).sessions.get('a')?.head.size).toBe(4)
  })
})

describe('the removal of a session', () => {
  const damage = { _tag: 'DamagedLog', id: 's', position: 0, reason: 'its text was changed' } as const
  const damaged = (store: Store): Store => ({
    ...store,
    info: (id) => (id === 's' ? storeTask(async () => left(damage), 'info') : store.info(id)),
  })
  const rowsOf = async (store: Store): Promise<readonly unknown[]> =>
    (await store.read(ledgerId)).map(({ body }) => JSON.parse(body) as unknown)

  it('that is damaged is recorded with its last head in the ledger, if it has one', async () => {
    for (const isKnown of [true, false]) {
      const store = memoryStore()
      const { head } = await createSession(store, { id: 's', messages: [user('a')] })
      if (isKnown) await updateLedger(store)
      await removeRecorded(damaged(store), 's', { reason: 'damaged' })
      expect(await store.info('s')()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
      const row = { id: 's', ...head() }
      const recorded = [
        { type: 'head', ...row },
        { type: 'removed', ...row, reason: 'damaged' },
      ]
      expect(await rowsOf(store)).toEqual(isKnown ? recorded : [])
    }
  })

  it('that was made again after a removal is recorded again, and so is another head', async () => {
    const store = memoryStore()
    const kept: Store = { ...store, remove: () => store.remove('none') } // the process dies before it removes
    const session = await createSession(store, { id: 's', messages: [user('a')] })
    for (let count = 0; count < 2; count++) await removeRecorded(kept, 's')()
    expect(await rowsOf(store)).toEqual([{ type: 'removed', id: 's', ...session.head() }])
    await session.append(user('b'))
    const head = await removeRecorded(store, 's', { reason: 'Art. 17', by: 'ann' })
    expect(head).toEqual((await readLedger(store)).head)
    expect((await rowsOf(store)).slice(1)).toEqual([
      { type: 'removed', id: 's', ...session.head(), reason: 'Art. 17', by: 'ann' },
    ])
  })

  it("of the library's own logs is refused", async () => {
    const store = memoryStore()
    await updateLedger(store)
    expect(await removeRecorded(store, ledgerId)()).toMatchObject({ left: { _tag: 'InvalidId', what: 'log' } })
    expect((await readLedger(store)).head.size).toBe(0)
  })
})

describe('the verification of a ledger', () => {
  const three = async (): Promise<Store> => {
    const store = memoryStore()
    for (const [index, id] of ['a', 'b', 'c'].entries())
      await createSession(store, { id, messages: Array.from({ length: index + 1 }, () => user(id)) })
    await updateLedger(store)
    return store
  }
  /** The same store; once its sessions are listed, this happens. */
  const afterList = (store: Store, change: () => Promise<unknown>): Store => {
    let isDone = false
    return {
      ...store,
      list: (query) =>
        storeTask(async () => {
          const page = await store.list(query)()
          if (!isDone) await change()
          isDone = true
          return page
        }, 'list'),
    }
  }

  it('reports exactly what it found, frozen, and the rows that it read so far', async () => {
    const store = await three()
    await holdSession(store, 'c')
    await removeRecorded(store, 'a')
    await eraseMessages(store, 'b', [0, 1], { reason: 'asked to' })
    await createSession(store, { id: 'new' })
    const seen: number[] = []
    const report = await verifyLedger(store, undefined, { progress: (rows) => void seen.push(rows) })
    const { head } = await readLedger(store)
    const expected = { head, headsOnly: false, good: 2, removed: 1, held: ['c'], erased: 2, unrecorded: ['new'] }
    expect(report).toEqual(expected)
    for (const one of [report, report.held, report.unrecorded]) expect(Object.isFrozen(one)).toBe(true)
    expect([seen.at(-1), seen.toSorted((a, b) => a - b)]).toEqual([5, seen])
    expect(await verifyLedger(store, undefined, { headsOnly: true })).toEqual({ ...expected, headsOnly: true })
  })

  it('with headsOnly reads no row of a session', async () => {
    const store = await three()
    const asked: string[] = []
    const watched: Store = { ...store, read: (id, range) => (asked.push(id), store.read(id, range)) }
    await verifyLedger(watched, undefined, { headsOnly: true, progress: () => asked.push('progress') })
    expect(new Set(asked)).toEqual(new Set([ledgerId]))
  })

  it('has a session as replaced, cut or missing that changes before its rows are read', async () => {
    for (const what of ['replaced', 'missing'] as const) {
      const store = await three()
      const expected = (await readLedger(store)).sessions.get('b')?.head
      const changing = afterList(store, async () => {
        await store.remove('b')
        if (what === 'replaced') await createSession(store, { id: 'b', messages: [user('x'), user('y')] })
      })
      const found = what === 'replaced' ? { found: expect.objectContaining({ size: 2 }) as unknown } : {}
      const verified = await verifyLedger(changing)()
      expect(verified).toEqual(left({ _tag: 'LedgerMismatch', mismatches: [{ id: 'b', what, expected, ...found }] }))
      expect(Object.isFrozen((verified as { left: { mismatches: readonly unknown[] } }).left.mismatches[0])).toBe(true)
    }
  })

  it('compares with a head from elsewhere as it was when it was called', async () => {
    const store = await three()
    const { head } = await readLedger(store)
    const earlier = { ...head }
    const verifying = verifyLedger(store, earlier)()
    earlier.root = '0'.repeat(64)
    expect((await verifying)._tag).toBe('Right')
    expect(await verifyLedger(store, earlier)()).toMatchObject({ left: { _tag: 'Diverged', id: ledgerId } })
  })

  it('has no other options, and the fault of a callback', async () => {
    const store = await three()
    expect(() => verifyLedger(store, undefined, { headOnly: true } as never)).toThrow(/no option "headOnly"/)
    const cause = new Error('the terminal is gone')
    const progress = () => {
      throw cause
    }
    expect(await verifyLedger(store, undefined, { progress })()).toMatchObject({
      left: { _tag: 'CallbackThrew', cause },
    })
  })
})
