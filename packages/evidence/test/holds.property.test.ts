/** No public call, key, copy or unreadable ledger makes a held text unreadable: any sequence of them against held sessions. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, forkSession, memoryStore, openSession, user, type Store } from 'indelible'
import { destroyKey, keyRing, newHostKey, rotateKeys, withKeys, type KeyRing } from '@indelible/encryption'
import { holdSession, releaseSession, removeRecorded, updateLedger, withLedger } from '@indelible/evidence'
import { ledgerId } from '../src/internal.ts'
import { openCallLog } from '@indelible/records'
import {
  copySession,
  eraseMessages,
  exportSession,
  listUnfinished,
  readRange,
  removeUnfinished,
} from 'indelible/session'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { ownStore } from '../../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { rounds } from '../../../test/rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-held-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

/** What somebody does all this to. */
interface World {
  /** The store as it is, and the same with keys and with a ledger. */
  readonly bare: Store
  readonly keyed: () => Store
  /** Another store, with copies of the sessions as they were and as they became. */
  readonly other: Store
  ring: KeyRing
  /** Numbers for ids of their own. */
  count: number
}

type Answer = { readonly _tag: 'Left' | 'Right' }
/** A deed: what is done to the log `id`; `at` picks among what there is. */
type Deed = (world: World, id: string, at: number) => Promise<Answer>

const settled = async (work: PromiseLike<unknown>): Promise<Answer> =>
  Promise.resolve(work).then(
    () => ({ _tag: 'Right' }) as const,
    () => ({ _tag: 'Left' }) as const,
  )
const stub = '{"page":"conversation","message":{"role":"user","content":[{"type":"erased"}]}}'

const deeds: { readonly [name: string]: Deed } = {
  remove: ({ bare }, id) => bare.remove(id)(),
  removeKeyed: ({ keyed }, id) => keyed().remove(id)(),
  removeRecorded: ({ keyed }, id) => removeRecorded(keyed(), id)(),
  removeWithLedger: ({ bare }, id) => withLedger(bare).remove(id)(),
  removeUnfinished: ({ bare }, id) => removeUnfinished(bare, id)(),
  erase: ({ keyed }, id, at) => eraseMessages(keyed(), id, [at % 2])(),
  eraseBare: ({ bare }, id, at) => eraseMessages(bare, id, [at % 2])(),
  eraseAll: ({ keyed }, id) => eraseMessages(keyed(), id, { all: true })(),
  eraseInput: ({ keyed }, id) => eraseMessages(keyed(), id, { inputs: ['one'] })(),
  eraseRows: async ({ bare }, id, at) => {
    const info = await bare.info(id)()
    if (info._tag === 'Left') return info
    return bare.erase({ logs: [{ id, expected: info.right.head, rows: [{ position: at % 3, stub }] }] })()
  },
  eraseRowsKeyed: async ({ keyed }, id, at) => {
    const info = await keyed().info(id)()
    if (info._tag === 'Left') return info
    return keyed().erase({ logs: [{ id, expected: info.right.head, rows: [{ position: at % 3, stub }] }] })()
  },
  destroyKey: ({ keyed, ring }, id) => destroyKey(keyed(), id, ring)(),
  destroyKeyBare: ({ bare, ring }, id) => destroyKey(bare, id, ring)(),
  destroyKeyOfAnotherRing: ({ bare }, id) => destroyKey(bare, id, keyRing([newHostKey('stranger')]))(),
  rotateKeys: async (world) => {
    const next = keyRing([newHostKey(`host-${world.count++}`), world.ring.current])
    const rotated = await rotateKeys(world.bare, next)()
    if (rotated._tag === 'Right') world.ring = next
    return rotated
  },
  rotateToAStranger: ({ bare }) => rotateKeys(bare, keyRing([newHostKey('stranger')]))(),
  removeKeys: async ({ bare }, _, at) => {
    const { logs } = await bare.list({ limit: 1000 })
    const own = logs.filter((log) => log.id.startsWith('indelible.'))
    return own.length === 0 ? { _tag: 'Left' } : bare.remove(own[at % own.length]?.id ?? '')()
  },
  changeKeys: async ({ bare }, _, at) => {
    const { logs } = await bare.list({ limit: 1000 })
    const own = logs[at % logs.length]
    return own === undefined ? { _tag: 'Left' } : bare.update(own.id, { expected: own.version, meta: {} })()
  },
  changeMeta: async ({ keyed }, id) => {
    const info = await keyed().info(id)()
    return info._tag === 'Left' ? info : keyed().update(id, { expected: info.right.version, meta: {} })()
  },
  createAgain: ({ bare }, id) => createSession(bare, { id, messages: [user('mine')] })(),
  createAgainKeyed: ({ keyed }, id) => createSession(keyed(), { id, messages: [user('mine')] })(),
  callLog: ({ bare }, id) => openCallLog({ store: bare, id })(),
  fork: (world, id) => forkSession(world.keyed(), id, { id: `fork-${world.count++}`, at: 1 })(),
  forkBare: ({ bare, ...world }, id) => forkSession(bare, id, { id: `bare-${world.count}`, at: 1 })(),
  release: ({ keyed }, id) =>
    id.startsWith('held') ? Promise.resolve({ _tag: 'Left' }) : releaseSession(keyed(), id)(),
  hold: ({ keyed }, id) => holdSession(keyed(), id)(),
  updateLedger: ({ bare }) => updateLedger(bare)(),
  copyHere: ({ keyed, other }, id) => copySession(other, keyed(), id)(),
  copyHereBare: ({ bare, other }, id) => copySession(other, bare, id)(),
  copyThere: ({ keyed, other }, id) => copySession(keyed(), other, id)(),
  eraseThere: ({ other }, id) => releaseSession(other, id)().then(() => eraseMessages(other, id, [0, 1])()),
  removeThere: ({ other }, id) => releaseSession(other, id)().then(() => other.remove(id)()),
  importThere: async ({ keyed, other }, id) => {
    const exported = await exportSession(keyed(), id)()
    if (exported._tag === 'Left') return exported
    const read = readTranscript([...exportLines(exported.right)].join(''))
    return read._tag === 'Left' ? read : importTranscript(other, read.right, { id })()
  },
  importHere: async ({ keyed, other }, id) => {
    const exported = await exportSession(other, id)()
    if (exported._tag === 'Left') return exported
    const read = readTranscript([...exportLines(exported.right)].join(''))
    return read._tag === 'Left' ? read : importTranscript(keyed(), read.right, { id })()
  },
  seal: ({ keyed }, id) => settled(openSession(keyed(), id).then((session) => session.seal())),
  clear: ({ keyed }, id) => settled(openSession(keyed(), id).then((session) => session.rewind(0))),
  append: ({ keyed }, id) => settled(openSession(keyed(), id).then((session) => session.append(user('more')))),
  appendRows: async ({ bare }, id) => {
    const info = await bare.info(id)()
    if (info._tag === 'Left') return info
    return bare.append(id, { expected: info.right.head, rows: [{ kind: 'note', body: 'not a note' }] })()
  },
  appendClaim: async ({ bare }) => {
    const info = await bare.info(ledgerId)()
    if (info._tag === 'Left') return info
    const body = JSON.stringify({ type: 'released', id: 'held', size: 3, root: 'ab'.repeat(32) })
    return bare.append(ledgerId, { expected: info.right.head, rows: [{ kind: 'note', body }] })()
  },
  lease: ({ bare }, id) => bare.lease(id, { holder: 'stranger', ttl: 100 })(),
  repair: ({ bare }) => bare.repair()(),
  otherScope: async ({ bare }, id) => {
    const scoped = bare.scoped('another')
    return scoped._tag === 'Left' ? scoped : scoped.right.remove(id)()
  },
  /** Damage, as only somebody can do who writes to the file: from here on nothing may be taken away. */
  damageLedger: async ({ bare }) => {
    const info = await bare.info(ledgerId)()
    if (info._tag === 'Left') return info
    return ownStore(bare).append(ledgerId, { expected: info.right.head, rows: [{ kind: 'note', body: 'damage' }] })()
  },
}

const names = Object.keys(deeds)
const ids = ['held', 'held-plain', 'held-fork', 'parent', 'free', 'fork-0', 'bare-0', ledgerId, 'indelible.key.scope']
const deed = fc.record({
  name: fc.constantFrom(
    ...names.filter((name) => name !== 'damageLedger'),
    ...(['erase', 'remove', 'destroyKey'] as const),
  ),
  id: fc.constantFrom(...ids),
  at: fc.nat(20),
})
/** The ledger is damaged in some of the sequences, at some moment. */
const sequences = fc
  .tuple(fc.array(deed, { minLength: 10, maxLength: 40 }), fc.option(fc.nat(40), { freq: 3 }))
  .map(([all, damaged]) =>
    damaged === null ? all : all.toSpliced(damaged, 0, { name: 'damageLedger', id: 'held', at: 0 }),
  )

const long = 'a long text that stands in a block, '.repeat(200)
const said = [user('I ordered it.'), user(long), user('on Friday')]

const begin = async (bare: Store): Promise<World> => {
  const ring = keyRing([newHostKey('first')])
  const world: World = {
    ...{ bare, other: memoryStore(), ring, count: 0 },
    keyed: () => withKeys(bare, world.ring, { plain: 'continue' }),
  }
  const keyed = world.keyed()
  await createSession(keyed, { id: 'held', messages: said })
  await createSession(bare, { id: 'held-plain', messages: said, erasable: true })
  await createSession(keyed, { id: 'parent', messages: said })
  await forkSession(keyed, 'parent', { id: 'held-fork', at: 2 })
  await createSession(keyed, { id: 'free', messages: said })
  await copySession(bare, world.other, 'held-plain')
  for (const id of ['held', 'held-plain', 'held-fork']) await holdSession(keyed, id, { reason: 'case 14' })
  return world
}

it('every text of a held session stays readable, whatever is done to any session', async () => {
  const went = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(sequences, fc.boolean(), async (all, inFile) => {
      const driver = memoryDriver()
      const made = storeOf(driver)
      if (made._tag === 'Left') throw new Error('no store')
      const bare = inFile ? await sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' }) : made.right
      const world = await begin(bare)
      for (const { name, id, at } of all) {
        const answer = await (deeds[name] as Deed)(world, id, at)
        if (answer._tag === 'Right') went.set(name, (went.get(name) ?? 0) + 1)
        for (const [held, messages] of [
          ['held', said],
          ['held-plain', said],
          ['held-fork', said.slice(0, 2)],
        ] as const) {
          const read = await readRange(world.keyed(), held, 0, messages.length)()
          expect([name, id, held, read._tag === 'Left' ? read.left : [...read.right.view]]).toEqual([
            name,
            id,
            held,
            messages,
          ])
        }
      }
      for (const { id } of await listUnfinished(bare)) expect(id).not.toMatch(/^held/)
      await bare.close()
    }),
    { numRuns: rounds(5, 1500) },
  )
  // What is refused of a held session is done to others: or this would show nothing.
  const must = [
    'remove',
    'removeKeyed',
    'erase',
    'destroyKey',
    'rotateKeys',
    'fork',
    'copyHere',
    'eraseThere',
    'eraseAll',
  ]
  if (rounds(5, 1500) >= 150) expect(must.filter((name) => !went.has(name))).toEqual([])
})
