/**
 * A store that fails, once, at any of its commands: whoever asked is given that fault, and no other one. A failure that
 * somebody takes for an answer would be a value that is wrong, or a program that ends.
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  assistant,
  createSession,
  file,
  forkSession,
  listSessions,
  memoryStore,
  openSession,
  orThrow,
  readSession,
  user,
  verifySession,
  type Store,
} from 'indelible'
import { checkKeys, destroyKey, keyRing, newHostKey, rotateKeys, withKeys } from '@indelible/encryption'
import {
  holdSession,
  newKey,
  proveHead,
  proveInLedger,
  readLedger,
  releaseSession,
  removeRecorded,
  signerOf,
  signLedger,
  updateLedger,
  verifyLedger,
} from '@indelible/evidence'
import { lastCheckpoint, listCheckpoints } from '../../packages/evidence/src/internal.ts'
import {
  copySession,
  createFork,
  describeSession,
  eraseMessages,
  exportSession,
  findMessages,
  listUnfinished,
  proveEntry,
  proveErased,
  readRange,
} from 'indelible/session'
import type { StoreFault } from 'indelible/store'
import { storeTask } from '../../src/store/internal.ts'
import type { Task } from '../../src/task/index.ts'
import { isFull, oneIn } from '../rounds.ts'

const injected: StoreFault = { _tag: 'Io', operation: 'fail', cause: new Error('the disk is gone') }

/** A store whose command number `at` fails. */
const failing = (inner: Store, at: number): { readonly store: Store; readonly failed: () => string | undefined } => {
  let count = 0
  let failed: string | undefined
  const through = Object.entries(inner).flatMap(([name, method]) => {
    if (typeof method !== 'function' || ['now', 'hash', 'close', 'release'].includes(name)) return []
    const command = (...given: readonly unknown[]): unknown => {
      if (count++ !== at) return (method as (...given: readonly unknown[]) => unknown).apply(inner, [...given])
      failed = name
      return storeTask(async () => ({ _tag: 'Left', left: injected }) as never, name)
    }
    return [[name, command]]
  })
  return { store: { ...inner, ...Object.fromEntries(through) }, failed: () => failed }
}

const attached = file({
  type: 'base64',
  data: btoa('an attachment of some length'.repeat(90)),
  mediaType: 'text/plain',
} as never)
const ring = keyRing([newHostKey('host')])
const { skey } = newKey('example.com/agents')
const signing = { origin: 'example.com/agents/default', signers: [orThrow(signerOf(skey))] }

/** A session with an attachment and a fork, and one that was erased from; the ledger knows them. */
const filled = async (store: Store): Promise<void> => {
  const messages = [user('a first secret'), user('look', attached), assistant('fine')]
  const session = await createSession(store, { id: 's', erasable: true, messages })
  await session.note({ type: 'application', namespace: 'test', content: 'a first secret' })
  await forkSession(store, 's', { id: 'f' })
  await createSession(store, { id: 'erased', erasable: true, messages: [user('gone'), user('stays')] })
  await updateLedger(store)
  await eraseMessages(store, 'erased', [0], { reason: 'asked to' })
  await signLedger(store, signing)
}

type Doing = (store: Store, other: Store) => Task<{ readonly _tag: string }, unknown>
const doings: { readonly [name: string]: Doing } = {
  openSession: (store) => openSession(store, 's'),
  readSession: (store) => readSession(store, 's'),
  describeSession: (store) => describeSession(store, 's'),
  listSessions: (store) => listSessions(store),
  forkSession: (store) => forkSession(store, 's', { id: 'new' }),
  createFork: (store) => createFork(store, 's', { id: 'new' }),
  readRange: (store) => readRange(store, 's', 0, 2),
  findMessages: (store) => findMessages(store, 's', { matching: /secret/ }),
  verifySession: (store) => verifySession(store, 's'),
  exportSession: (store) => exportSession(store, 's'),
  'copySession from it': (store, other) => copySession(store, other, 's'),
  'copySession into it': (store, other) => copySession(other, store, 'o'),
  listUnfinished: (store) => listUnfinished(store),
  proveEntry: (store) => proveEntry(store, 's', 0),
  proveErased: (store) => proveErased(store, 'erased', 0),
  eraseMessages: (store) => eraseMessages(store, 's', [0, 1], { reason: 'asked to' }),
  updateLedger: (store) => updateLedger(store),
  'updateLedger of one': (store) => updateLedger(store, ['s', 'nobody']),
  verifyLedger: (store) => verifyLedger(store),
  'verifyLedger where a session is missing': (store) => verifyLedger(store),
  readLedger: (store) => readLedger(store),
  removeRecorded: (store) => removeRecorded(store, 'f'),
  signLedger: (store) => signLedger(store, signing),
  listCheckpoints: (store) => listCheckpoints(store),
  lastCheckpoint: (store) => lastCheckpoint(store),
  proveInLedger: (store) => proveInLedger(store, 's', 0),
  proveHead: (store) => proveHead(store, 's'),
  holdSession: (store) => holdSession(store, 's'),
  releaseSession: (store) => releaseSession(store, 's'),
}
/** These are of the keys, and take the store below them. */
const doingsOfKeys: { readonly [name: string]: Doing } = {
  rotateKeys: (store) => rotateKeys(store, ring),
  checkKeys: (store) => checkKeys(store, ring),
  destroyKey: (store) => destroyKey(store, 'f', ring),
}

/** What changes nothing: one store is enough for all commands that fail. */
const isReading = (name: string): boolean =>
  /^(?:open|read|describe|list|find|prove|verify|export|last)|^copySession from/.test(name)

/** The most commands that anything here gives. */
const most = 400

const fails = async (name: string, does: Doing, keys: 'none' | 'both' | 'setup'): Promise<void> => {
  const keyed = (store: Store): Store => (keys === 'none' ? store : withKeys(store, ring))
  const newStore = async (): Promise<Store> => {
    const inner = memoryStore()
    await filled(keyed(inner))
    if (name.endsWith('is missing')) await keyed(inner).remove('f')
    return inner
  }
  const unchanged = isReading(name) ? await newStore() : undefined
  const isDear = keys === 'both' || unchanged === undefined
  for (let at = 0; at < most; at += isDear ? oneIn(3) : 1) {
    const inner = unchanged ?? (await newStore())
    const other = keyed(memoryStore())
    await createSession(other, { id: 'o', messages: [user('of another store')] })
    const { store, failed } = failing(inner, at)
    const answer = await does(keys === 'both' ? withKeys(store, ring) : store, other)()
    if (failed() === undefined)
      return expect([name, isLeft(answer) ? answer.left._tag : 'Right']).toEqual([
        name,
        name.endsWith('is missing') ? 'LedgerMismatch' : 'Right',
      ])
    // The session is held by then: whether it is still there is looked at last.
    if (name === 'holdSession' && failed() === 'info' && !isLeft(answer)) continue
    // Keys are looked for in more places than one: it may go well all the same.
    if (keys === 'both' && !isLeft(answer)) continue
    if (name === 'forkSession') expect([at, await inner.info('new')()]).toMatchObject([at, { _tag: 'Left' }])
    expect([name, at, failed(), answer]).toEqual([name, at, failed(), { _tag: 'Left', left: injected }])
  }
  throw new Error(`${name} gives more than ${most} commands`)
}

it.each(Object.entries(doings))('%s returns the fault of a store that fails at any command', (name, does) =>
  fails(name, does, 'none'),
)

/** What reads or writes by keys; everything at full size, but what proves messages, which nobody can where they are encrypted. */
const ofKeys = isFull
  ? Object.keys(doings).filter((name) => name !== 'proveEntry' && name !== 'proveInLedger')
  : [
      'openSession',
      'listSessions',
      'createFork',
      'copySession from it',
      'copySession into it',
      'eraseMessages',
      'proveErased',
    ]
it.each(ofKeys)('%s returns the fault of an encrypted store that fails at any command', (name) =>
  fails(name, doings[name] as Doing, 'both'),
)
it.each(Object.entries(doingsOfKeys))('%s returns the fault of a store that fails at any command', (name, does) =>
  fails(name, does, 'setup'),
)

/** An encrypted session to erase from, and another that says the same in a message and in a long text. */
const saidTwice = async (store: Store): Promise<void> => {
  const long = `a first secret ${'of many words '.repeat(400)}`
  await createSession(store, { id: 's', erasable: true, messages: [user('a first secret')] })
  await createSession(store, { id: 'other', messages: [user('again a first secret'), user(long)] })
}

it('eraseMessages on an encrypted store lists everything that remains or is a fault, whichever command fails', async () => {
  for (let at = 0; at < most; at += oneIn(2)) {
    const inner = memoryStore()
    await saidTwice(withKeys(inner, ring))
    const { store, failed } = failing(inner, at)
    const answer = await eraseMessages(withKeys(store, ring), 's', [0], { reason: 'asked to' })()
    if (isLeft(answer)) expect([failed(), answer.left]).toEqual([failed(), injected])
    else
      expect([failed(), answer.right.remains]).toMatchObject([
        failed(),
        [
          {
            what: 'text',
            rows: [
              { id: 'other', position: 0 },
              { id: 'other', position: 1 },
            ],
          },
        ],
      ])
    if (failed() === undefined) return
  }
  throw new Error(`it gives more than ${most} commands`)
})

/** A store whose reads give, as the first row of a log, the body of its second. */
const withSwappedRow = (inner: Store, of: string): Store => ({
  ...inner,
  read: (id, range) =>
    storeTask(async () => {
      const rows = await inner.read(id, range)()
      if (id !== of || isLeft(rows) || rows.right[0]?.position !== 0) return rows
      const [first, ...others] = rows.right
      const second = await inner.read(id, { from: 1, to: 2 })()
      return isLeft(second) ? second : { ...rows, right: [{ ...first, body: second.right[0]?.body ?? '' }, ...others] }
    }, 'store.read'),
})

it('readSession of a session with a damaged row returns the fault of a store that fails at any command', async () => {
  const inner = memoryStore()
  await filled(inner)
  for (let at = 0; at < most; at++) {
    const { store, failed } = failing(withSwappedRow(inner, 's'), at)
    const answer = await readSession(store, 's')()
    if (failed() === undefined) return expect(orThrow(answer).damaged.map(({ row }) => row)).toEqual([0])
    expect([at, failed(), answer]).toEqual([at, failed(), { _tag: 'Left', left: injected }])
  }
  throw new Error(`it gives more than ${most} commands`)
})

it('eraseMessages on an encrypted store names a session with a damaged row', async () => {
  const inner = memoryStore()
  await saidTwice(withKeys(inner, ring))
  const damaged = withSwappedRow(inner, 'other')
  const { remains } = orThrow(await eraseMessages(withKeys(damaged, ring), 's', [0], { reason: 'asked to' })())
  expect(remains).toEqual([{ what: 'unread', session: 'other' }])
})
