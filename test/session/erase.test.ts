/** Erasing messages: what goes, what stays, what the receipt says, and who sees it. */
import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import {
  assistant,
  createSession,
  forkSession,
  memoryStore,
  openSession,
  orThrow,
  toolCall,
  toolResult,
  user,
  verifySession,
} from 'indelible'
import { destroyKey, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession, readLedger, releaseSession, updateLedger } from '@indelible/evidence'
import {
  checkErased,
  checkErasure,
  copySession,
  eraseMessages,
  exportSession,
  importRecord,
  proveErased,
} from 'indelible/session'
import { type Store } from 'indelible/store'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { afterEach, expect, it } from 'vitest'
import { proofOf } from '../../src/session/erasing/receipt.ts'
import { packBlocks } from '../../src/store/sqlite/packed.ts'
import { untilFault } from '../../src/task/index.ts'
import { messages, because, eraseCases } from './erase-cases.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'erase-'))
  folders.push(made)
  return made
}
const filesIn = (path: string): string =>
  readdirSync(path)
    .map((name) => readFileSync(join(path, name), 'latin1'))
    .join('')

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['sqlite', async () => sqliteStore({ path: join(folder(), 'store.db'), durability: 'os' })],
]

for (const [name, open] of stores) eraseCases(name, open)

it('removing a fork during an erasure does not stop it', async () => {
  const driver = memoryDriver()
  const erasing = driver.erasing as NonNullable<typeof driver.erasing>
  let races = 0
  const sharing: typeof erasing.sharing = async (scope, id) => {
    const found = await erasing.sharing(scope, id)
    if (races++ === 0) await driver.remove(scope, 'fork', undefined)
    return found
  }
  const store = orThrow(storeOf({ ...driver, erasing: { ...erasing, sharing } }))
  await createSession(store, { id: 's', messages: messages })
  await forkSession(store, 's', { id: 'fork', at: 2 })
  races = 0
  const receipt = await eraseMessages(store, 's', [0])
  expect([receipt.sharing, receipt.messages, races > 1]).toEqual([[], [0], true])
  expect(await eraseMessages(store, 'fork', [0])()).toMatchObject({ left: { _tag: 'NoSuchLog', id: 'fork' } })
})

it('an erasure receipt has no proof of a later erasure, even in the same millisecond', async () => {
  const store = memoryStore({ now: () => 1000 })
  const session = await createSession(store, { id: 's', messages: messages })
  const first = await eraseMessages(session, [0], because)
  await eraseMessages(session, [1], because)
  const again = await eraseMessages(session, [0], because)
  expect(again.proofs.map(({ row }) => row)).toEqual(first.proofs.map(({ row }) => row))
})

it('an erasure receipt is refused after any change', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: messages })
  await eraseMessages(session, [0], because)
  const receipt = await eraseMessages(session, [1, 2], because)
  type Draft = {
    session: string
    messages: number[]
    rows: [{ row: number; index: number; leaf: string; session: string }]
    proofs: [{ body: string; at: number }]
    readonly ledger: { root: string }
  }
  const changed = (change: (draft: Draft) => void): unknown => {
    const draft = structuredClone(receipt)
    change(draft as unknown as Draft)
    return checkErasure(draft)
  }
  const bad = { left: { _tag: 'BadProof' } }
  expect(changed((draft) => void (draft.rows[0].row = 7))).toMatchObject(bad)
  expect(changed((draft) => void (draft.rows[0].leaf = 'ab'.repeat(32)))).toMatchObject(bad)
  expect(changed((draft) => void (draft.proofs[0].body = draft.proofs[0].body.replace('ann', 'bob')))).toMatchObject(
    bad,
  )
  expect(changed((draft) => void (draft.proofs[0].at += 1))).toMatchObject(bad)
  expect(changed((draft) => void (draft.ledger.root = 'ab'.repeat(32)))).toMatchObject(bad)
  expect(changed((draft) => void (draft.proofs = [] as never))).toMatchObject(bad)
  expect(changed((draft) => void draft.proofs.push(draft.proofs[0] as never))).toMatchObject(bad)
  expect(changed((draft) => void (draft.session = 'of another'))).toMatchObject(bad)
  expect(changed((draft) => void (draft.messages = [7]))).toMatchObject(bad)
  expect(changed((draft) => void draft.messages.push(0))).toMatchObject(bad)
  expect(changed((draft) => void (draft.messages = []))).toMatchObject(bad)
  expect(changed((draft) => void (draft.rows = [] as never))).toMatchObject(bad)
  expect(changed((draft) => void (draft.rows[0].index = 7))).toMatchObject(bad)
  expect(changed((draft) => void (draft.rows[0].session = 'of another'))).toMatchObject(bad)
  expect(changed((draft) => void Object.assign(draft, { rows: [], messages: [], proofs: [] }))).toMatchObject(bad)
  expect(changed((draft) => void Object.assign(draft, { more: 'of no proof' }))).toMatchObject({
    right: { session: 's', rows: receipt.rows, ledger: receipt.ledger },
  })
  expect(checkErasure(receipt, { size: 9, root: 'ab'.repeat(32) })).toMatchObject(bad)
  expect(checkErasure({})).toMatchObject(bad)
})

it.each([
  ['call', 1],
  ['result', 2],
])('a started-call note is erased with its %s alone, however short the arguments', async (_, at) => {
  const store = memoryStore()
  const messages = [user('hi'), assistant(toolCall('c1', 'look', {})), toolResult('c1', 'ok'), assistant('done')]
  const session = await createSession(store, { id: 's', messages })
  await session.note({ type: 'tool_started', callId: 'c1', name: 'look', arguments: '{}' })
  await session.note({ type: 'tool_started', callId: 'of another', name: 'look', arguments: '{}' })
  await eraseMessages(session, [at], because)
  const started = [...(await openSession(store, 's')).notes()].filter(({ type }) => type === 'tool_started')
  expect(started).toMatchObject([{ callId: 'of another' }])
})

it('a ledger row of another type proves no erasure', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: messages })
  await updateLedger(store) // its row 0 says the head of the session
  const receipt = await eraseMessages(session, [1], because)
  const proof = await proveErased(store, 's', 1)
  const other = orThrow(await untilFault(() => proofOf(store, 0, receipt.ledger.size)))
  const bad = { left: { _tag: 'BadProof', reason: 'row 0 of the ledger does not record an erasure' } }
  expect(checkErasure({ ...receipt, proofs: [other] })).toMatchObject(bad)
  expect(checkErased({ ...proof, said: other })).toMatchObject(bad)
})

it('an erasure in a copy proves nothing about the session: the head of its ledger is another one', async () => {
  const [store, mine] = [memoryStore(), memoryStore()]
  const session = await createSession(store, { id: 's', messages: messages, erasable: true })
  const head = session.head()
  await eraseMessages(session, [2])
  const ledger = (await readLedger(store)).head
  await importRecord(mine, await exportSession(store, 's'))
  await eraseMessages(mine, 's', [1], because)
  const forged = await proveErased(mine, 's', 1)
  expect(forged.head).toEqual(head)
  expect(checkErased(forged, { head, ledger })).toMatchObject({ left: { _tag: 'BadProof' } })
  expect(checkErased(await proveErased(store, 's', 2), { head, ledger })._tag).toBe('Right')
  // @ts-expect-error the head of the session alone proves no erasure
  expect(() => checkErased(forged, head)).toThrow(TypeError)
  // @ts-expect-error the same
  expect(() => checkErased(forged, { head })).toThrow('two trusted heads: `head` of the session and `ledger`')
})

it('invalid receipts and proofs are reported as such, whatever is wrong', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: messages })
  const receipt = await eraseMessages(session, [1, 2], because)
  const proof = await proveErased(store, 's', 1)
  const shapes = [
    [receipt, checkErasure, 'it is not a receipt of an erasure', ['session', 'ledger', 'messages', 'rows', 'proofs']],
    [
      proof,
      checkErased,
      'it is not a proof of an erased message',
      ['session', 'row', 'leaf', 'head', 'ledger', 'path', 'said'],
    ],
  ] as const
  for (const [whole, check, reason, names] of shapes) {
    expect(check(whole)._tag).toBe('Right')
    const wrong = (change: (draft: Record<string, unknown>) => void): unknown => {
      const draft = structuredClone(whole) as unknown as Record<string, unknown>
      change(draft)
      return check(draft)
    }
    const bad = { left: { _tag: 'BadProof', reason } }
    for (const name of ['indelible', 'version', ...names])
      for (const value of [null, true, {}, ['x']] as const)
        expect([name, value, wrong((draft) => (draft[name] = value))]).toMatchObject([name, value, bad])
    const nested = whole === receipt ? [['rows', 'session'], ['rows', 'row'], ['proofs', 'row'], ['proofs', 'at'], ['proofs', 'body'], ['proofs', 'path'], ['ledger', 'size'], ['ledger', 'root']] : [['said', 'row'], ['said', 'at'], ['said', 'body'], ['said', 'path'], ['head', 'size'], ['head', 'root'], ['ledger', 'size'], ['ledger', 'root']] // oxfmt-ignore
    for (const [outer = '', inner = ''] of nested)
      for (const value of [null, true, {}]) {
        const said = wrong((draft) => {
          const held = draft[outer]
          const one = (Array.isArray(held) ? held[0] : held) as Record<string, unknown>
          one[inner] = value
        })
        expect([outer, inner, value, said]).toMatchObject([outer, inner, value, bad])
      }
    for (const name of ['rows', 'messages', 'proofs'])
      if (whole === receipt) expect(wrong((draft) => ((draft[name] as unknown[])[0] = null))).toMatchObject(bad)
  }
})

it('erasing a result erases notes that know it only by call id', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: messages })
  await session.note({ type: 'journal', step: 'one', results: [{ type: 'tool_result', callId: 'c1', content: [] }] })
  await session.note({ type: 'journal', step: 'two', results: [{ type: 'tool_result', callId: 'c2', content: [] }] })
  for (const step of ['one', 'two']) await session.note({ type: 'journal', step, closed: true })
  await eraseMessages(session, [2], because)
  const again = await openSession(store, 's')
  expect([...again.notes()].map(({ type }) => type)).toEqual(['erased', 'journal', 'erased', 'journal'])
})

it('an erasure lists the scope whose name has the text', async () => {
  const store = memoryStore()
  await createSession(orThrow(store.scoped('of Grace Hopper')), { id: 'there' })
  await createSession(store, { id: 's', messages: [user('Grace Hopper')], erasable: true })
  expect((await eraseMessages(store, 's', [0])).remains).toEqual([{ what: 'scope', scope: 'of Grace Hopper' }])
})

it('erasing a result erases an application note about its call, whatever the note has', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  const note = { type: 'application', namespace: 'whole.results' } as const
  await session.append([assistant('a', toolCall('c1', 'read', {})), toolResult('c1', 'The first line …')])
  await session.note({ ...note, content: 'another part of the result', calls: ['c0', 'c1'] })
  await session.note({ ...note, content: 'another part of another', calls: ['c2'] })
  await session.note({ ...note, content: 'c1' })
  const { rows } = await eraseMessages(session, [1])
  expect(rows.map(({ row }) => row)).toEqual([1, 2])
})

it('erasing a message erases a note that has its text: as a whole from 4 characters on, and within another from 12', async () => {
  const left: string[][] = []
  for (const output of ['tea', 'teas', 'elevenchars', 'twelve chars']) {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user(output)] })
    for (const content of [`they like ${output}`, { deep: [output] }, 'they like none'])
      await session.note({ type: 'application', namespace: 'app', content })
    await eraseMessages(session, [0], because)
    const notes = [...(await openSession(store, 's')).notes()]
    left.push(notes.flatMap((note) => (note.type === 'application' ? [JSON.stringify(note.content)] : [])))
  }
  const none = '"they like none"'
  expect(left).toEqual([
    ['"they like tea"', '{"deep":["tea"]}', none],
    ['"they like teas"', none],
    ['"they like elevenchars"', none],
    [none],
  ])
})

it('a damaged note in a fork does not stop an erasure', async () => {
  const store = memoryStore()
  await createSession(store, { id: 's', messages: messages })
  const fork = await forkSession(store, 's', { id: 'fork' })
  await store.append('fork', { expected: fork.head(), rows: [{ kind: 'note', body: 'no note' }] })
  const receipt = await eraseMessages(store, 's', [0], because)
  expect(receipt).toMatchObject({ messages: [0], sharing: ['fork'] })
})

it('a receipt for messages erased in a fork names the session in the ledger', async () => {
  const store = memoryStore()
  await createSession(store, { id: 's', messages: messages })
  await forkSession(store, 's', { id: 'fork' })
  await eraseMessages(store, 'fork', [0], because)
  const receipt = await eraseMessages(store, 's', [0], because)
  expect(receipt).toMatchObject({ session: 'fork', messages: [0] })
  expect(checkErasure(receipt)).toMatchObject({ right: { session: 'fork', said: [{ id: 'fork', by: 'ann' }] } })
})

it('no part of an erased long text stays in the files, compressed or not', async () => {
  const path = folder()
  const store = await sqliteStore({ path: join(path, 'store.db') })
  const text = Array.from({ length: 1500 }, (_, word) => hash('sha1', `${word}`).slice(0, 6)).join(' ')
  const session = await createSession(store, { id: 's', erasable: true, messages: [user('kept'), user(text)] })
  const db = new DatabaseSync(join(path, 'store.db'))
  db.exec('pragma wal_checkpoint(truncate)')
  await packBlocks(db, async (work) => work())
  db.exec('pragma wal_checkpoint(truncate)')
  const [content] = db.prepare('select bytes from content where size is not null').all()
  db.close()
  const pieces =
    Buffer.from(content?.['bytes'] as Uint8Array)
      .toString('latin1')
      .slice(200)
      .match(/.{16}/gs) ?? []
  const words = text.match(/.{35}/g) ?? []
  const leftOf = (all: readonly string[]): number => {
    const files = filesIn(path)
    return all.filter((piece) => files.includes(piece)).length
  }
  expect([leftOf(pieces) > 100, leftOf(words) > 100]).toEqual([true, true])
  expect(await eraseMessages(session, [1], because)).toMatchObject({ remains: [], residue: [] })
  expect([leftOf(pieces), leftOf(words)]).toEqual([0, 0])
  await store.close()
})

it.each([false, true])(
  'erased messages leave nothing in SQLite files, notes and blocks included; blocks compressed: %s',
  async (isPacked) => {
    const path = folder()
    const store = await sqliteStore({ path: join(path, 'store.db') })
    const session = await createSession(store, { id: 's', erasable: true })
    const secret = (name: string): string =>
      Array.from({ length: 900 }, (_, word) => `${name}${hash('sha1', `${name}${word}`).slice(0, 4)}`).join(' ')
    for (let turn = 0; turn < 10; turn++) {
      await session.note({ type: 'journal', step: `${turn}`, said: [{ index: 0, text: secret(`journal${turn}x`) }] })
      await session.append({ ...assistant(secret(`answer${turn}x`)), meta: { indelible: { step: `${turn}` } } })
    }
    await session.append(user('answer3x and journal3x'))
    const db = new DatabaseSync(join(path, 'store.db'))
    // As a compaction that was cut off leaves them: with the bytes of before in pages that are free.
    if (isPacked) await packBlocks(db, async (work) => work())
    const contents = db.prepare('select bytes from content where size is not null').all()
    db.close()
    expect(contents.length).toBe(isPacked ? 10 : 0)
    const receipt = await eraseMessages(session, [2, 5, 7], because)
    expect(receipt).toMatchObject({ remains: [], residue: [] })
    const files = filesIn(path)
    for (const turn of [2, 5, 7])
      for (const kind of ['answer', 'journal']) expect(files.includes(`${kind}${turn}x`)).toBe(false)
    expect(files.includes('answer3x') && files.includes('journal3x')).toBe(true)
    // What is compressed may have pieces in common.
    const stored = (contents as unknown as readonly { readonly bytes: Uint8Array }[]).map(({ bytes }) => ({
      pieces: Buffer.from(bytes).toString('latin1').match(/.{16}/gs) ?? [],
      isErased: [2, 5, 7].some((turn) => zstdDecompressSync(bytes).includes(`${turn}x`)),
    }))
    const left = new Set(stored.flatMap(({ pieces, isErased }) => (isErased ? [] : pieces)))
    for (const { pieces, isErased } of stored) {
      const own = isErased ? pieces.filter((piece) => !left.has(piece)) : pieces
      expect(own.length).toBeGreaterThan(20)
      expect(own.some((piece) => files.includes(piece))).toBe(!isErased)
    }
    await store.close()
  },
)

it('an erased text that compaction compressed for a since removed session leaves no compressed byte', async () => {
  const path = folder()
  const file = join(path, 'store.db')
  const store = await sqliteStore({ path: file, durability: 'os' })
  const secret = Array.from({ length: 900 }, (_, word) => hash('sha1', `${word}`).slice(0, 5)).join(' ')
  await createSession(store, { id: 'removed', messages: [user(secret)] })
  const others = await createSession(store, { id: 'others', messages: [user('hello')] })
  await compactSqlite({ path: file })
  const db = new DatabaseSync(file)
  const { bytes } = db.prepare('select bytes from content where size is not null').get() as {
    readonly bytes: Uint8Array
  }
  db.close()
  const pieces = Buffer.from(bytes).toString('latin1').match(/.{16}/gs) as readonly string[]
  const left = (): number => {
    const files = filesIn(path)
    return pieces.filter((piece) => files.includes(piece)).length
  }
  const overwriting = [0, 1, 2].map((turn) => user(`turn ${turn} ${'z'.repeat(60)}`)) // what is left of the removed row
  await store.remove('removed')
  for (const message of overwriting) await others.append(message)
  const session = await createSession(store, { id: 's', erasable: true, messages: [user(secret)] })
  for (const message of overwriting) await others.append(message)
  expect(left()).toBe(pieces.length)
  expect(await eraseMessages(session, [0], because)).toMatchObject({ remains: [], residue: [] })
  expect(left()).toBe(0)
  await store.close()
})

it('a copy has the messages erased too, with the reason', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  const session = await createSession(from, { id: 's', messages: messages })
  await session.note({ type: 'summary', from: 0, to: 2, text: 'a summary' })
  await eraseMessages(session, [0, 2], because)
  await copySession(from, to, 's')
  expect((await verifySession(to, 's')).erased).toEqual([0, 2])
  expect((await to.info('s')).head).toEqual(session.head())
})

it('a copy of a held session is held until released, also if sealed or encrypted', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  await createSession(from, { id: 'plain', messages: messages })
  await (await createSession(from, { id: 'sealed', messages: messages })).seal()
  await createSession(withKeys(from, keyRing([newHostKey('one')])), { id: 'secret', messages: messages })
  await createSession(from, { id: 'free', messages: messages })
  for (const id of ['plain', 'sealed', 'secret']) await holdSession(from, id, because)
  for (const id of ['plain', 'sealed', 'secret', 'free']) await copySession(from, to, id)
  for (const id of ['plain', 'sealed', 'secret', 'free']) await copySession(from, to, id)
  const { held, head } = await readLedger(to)
  expect([[...held.keys()], head.size]).toEqual([['plain', 'sealed', 'secret'], 3])
  const refused = { left: { _tag: 'LogHeld', ...because } }
  for (const id of held.keys()) expect([id, await to.remove(id)()]).toMatchObject([id, refused])
  for (const id of ['plain', 'sealed']) expect(await eraseMessages(to, id, [0])()).toMatchObject(refused)
  await eraseMessages(to, 'free', [0])

  await holdSession(from, 'free', because)
  await copySession(from, to, 'free')
  expect(await to.remove('free')()).toMatchObject(refused)
  await releaseSession(from, 'plain')
  await eraseMessages(from, 'plain', [0], because)
  expect(await copySession(from, to, 'plain')()).toMatchObject(refused) // nothing is erased there while it is held
  expect((await openSession(to, 'plain')).view().at(0)).toEqual(messages[0])
  await releaseSession(to, 'plain')
  await copySession(from, to, 'plain')
  expect((await verifySession(to, 'plain')).erased).toEqual([0])
})

it("an encrypted session's receipt lists each place once, finds every salt, and names unreadable rows", async () => {
  const store = memoryStore()
  const ring = keyRing([newHostKey('one')])
  const keyed = withKeys(store, ring)
  const long = 'A long text that she wrote. '.repeat(300)
  const text = 'I am Grace Hopper of Arlington.'
  await createSession(keyed, { id: 's', messages: [user(text), user(long)] })
  await createSession(keyed, {
    id: 'other',
    messages: [user(long), assistant(`You said: ${text}`), user(`${long}${text}`)],
  })
  await createSession(keyed, { id: 'lost', messages: [user(text)] })
  const fork = await forkSession(keyed, 's', { id: 'fork', at: 2 })
  await fork.note({ type: 'summary', from: 0, to: 1, text: 'about Grace' })
  await createSession(store, { id: 'plain', messages: [user(text)] })
  await destroyKey(store, 'lost', ring)
  await destroyKey(store, 'fork', ring)
  const receipt = await eraseMessages(withKeys(store, ring), 's', [0, 1], because)
  expect(receipt.remains).toEqual([
    {
      what: 'block',
      block: expect.any(String) as string,
      rows: [{ id: 'other', position: 0, message: 0 }],
      kept: false,
    },
    {
      what: 'text',
      rows: [
        { id: 'plain', position: 0, message: 0 },
        { id: 'other', position: 1, message: 1 },
        { id: 'other', position: 2, message: 2 },
      ],
    },
    { what: 'unread', session: 'fork' },
    { what: 'unread', session: 'lost' },
  ])
  expect(receipt.sharing).toEqual(['fork'])
  expect((await verifySession(keyed, 's')).erased).toEqual([0, 1])
  expect((await verifySession(store, 'fork')).erased).toEqual([0, 1])
})
