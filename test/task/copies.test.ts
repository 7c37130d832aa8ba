/**
 * A call copies its arguments before it returns: everything that was given is changed directly after the call, and both
 * the answer and what is stored are as if nobody had.
 */
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import {
  assistant,
  createSession,
  exportSession,
  forkSession,
  listSessions,
  memoryStore,
  openOrCreateSession,
  openSession,
  orThrow,
  user,
  verifySession,
  type Session,
  type Store,
} from 'indelible'
import { prepareSummaries } from 'indelible/context'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import {
  holdSession,
  newKey,
  releaseSession,
  removeRecorded,
  signLedger,
  signerOf,
  updateLedger,
  verifyLedger,
  withLedger,
} from '@indelible/evidence'
import { listCheckpoints } from '../../packages/evidence/src/internal.ts'
import { createHistory } from 'indelible/history'
import type { BlockId } from '../../src/proof/internal.ts'
import { openCallLog } from '@indelible/records'
import { createRefHistory, growRefTree, refsOf, type MessageRef, type RefTree } from '@indelible/workflows/refs'
import { searchStore } from 'indelible/search'
import { createFork, eraseMessages, findMessages, proveEntry, proveGrowth } from 'indelible/session'
import { blockCache, cachedBlocks, keyValueBlocks, type Row } from 'indelible/store'
import { describe, expect, it } from 'vitest'
import { changeEverything } from '../../packages/testing/src/check.ts'
import { keyValueMap } from '../store/key-value-map.ts'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import type { Head } from '../../src/store/port/row.ts'

interface World {
  readonly store: Store
  readonly session: Session
}

/** The same at each call: with one time and no random id. */
const worldOf = async (made: Store = memoryStore({ now: () => 1000 })): Promise<World> => {
  const session = await createSession(made, { id: 's', messages: [user('a'), assistant('b'), user('a secret')] })
  return { store: made, session }
}

/** What a call takes, and the call. It gives its task as it is: what is given is changed before that is awaited. */
interface Case {
  readonly given: (world: World) => readonly unknown[]
  readonly call: (world: World, ...given: never[]) => PromiseLike<unknown>
  /** What has to be there. */
  readonly before: (world: World) => PromiseLike<unknown>
}

const of = <Given extends readonly unknown[]>(
  given: (world: World) => [...Given],
  call: (world: World, ...given: Given) => PromiseLike<unknown>,
  before: Case['before'] = async () => {},
): Case => ({ given, call: call as unknown as Case['call'], before })

const head = ({ session }: World) => ({ ...session.head() })
const message = () => ({ role: 'user' as const, content: [{ type: 'text' as const, text: 'given' }] })
const ring = keyRing([newHostKey('a')])
const { skey } = newKey('n')

const sessions: { readonly [name: string]: Case } = {
  createSession: of(
    () => [{ id: 'new', metadata: { tags: ['a'] }, messages: [message()] }],
    ({ store }, options) => createSession(store, options),
  ),
  'createSession, encrypted': of(
    () => [{ id: 'new', metadata: { tags: ['a'] }, messages: [message()] }],
    async ({ store }, options) => {
      await createSession(withKeys(store, ring), options)
      const opened = await openSession(withKeys(store, ring), 'new')
      const said = [opened.metadata(), opened.view().toArray()]
      await store.remove('new')
      return said
    },
  ),
  openOrCreateSession: of(
    () => [{ metadata: { tags: ['a'] }, messages: [message()] }],
    ({ store }, options) => openOrCreateSession(store, 'new', options),
  ),
  openSession: of(
    () => [{ redact: true as const }],
    ({ store }, options) => openSession(store, 's', options),
  ),
  forkSession: of(
    () => [{ id: 'fork', at: 1, metadata: { tags: ['a'] } }],
    ({ store }, options) => forkSession(store, 's', options),
  ),
  createFork: of(
    () => [{ id: 'fork', at: 1, metadata: { tags: ['a'] } }],
    ({ store }, options) => createFork(store, 's', options),
  ),
  listSessions: of(
    () => [{ limit: 1, where: { none: { x: 1 } } }],
    ({ store }, query) => listSessions(store, query),
  ),
  verifySession: of(
    (world) => [{ head: head(world) }],
    ({ store }, options) => verifySession(store, 's', options),
  ),
  importTranscript: of(
    () => [orThrow(readTranscript('[{"role":"user","content":"a"}]')), { id: 'imported' }],
    async ({ store }, transcript, options) => {
      await importTranscript(store, transcript, options)
      return (await openSession(store, 'imported')).view().toArray()
    },
  ),
  eraseMessages: of(
    () => [[1, 2], { reason: 'asked', by: 'ann' }],
    ({ store }, positions, because) => eraseMessages(store, 's', positions, because),
  ),
  findMessages: of(
    () => [{ before: 2000 }],
    ({ store }, query) => findMessages(store, 's', query),
  ),
  proveEntry: of(
    () => [{ size: 2 }],
    ({ store }, options) => proveEntry(store, 's', 0, options),
  ),
  proveGrowth: of(
    (world) => [head(world)],
    ({ store }, from) => proveGrowth(store, 's', from),
  ),
  'session.append': of(
    () => [[message(), message()], { page: ['plan', 'plan'] as const, operation: 'op' }],
    ({ session }, messages, options) => session.append(messages, options as never),
  ),
  'session.append, at a head': of(
    (world) => [
      { messages: [message()], notes: [{ type: 'pin' as const, position: 0 }] },
      { expectedHead: head(world), page: 'plan' as const },
    ],
    ({ session }, together, options) => session.append(together, options),
  ),
  'session.append, behind others': of(
    () => [[message()], { expectedLen: 4 }],
    ({ session }, messages, options) => {
      void session.append(user('before'))
      return session.append(messages, options)
    },
  ),
  'session.rebase': of(
    () => [{ page: ['plan'] as const, operation: 'op' }],
    ({ session }, options) => session.rebase(() => message(), options as never),
  ),
  'session.pop': of(
    (world) => [{ expectedHead: head(world) }],
    ({ session }, options) => session.pop(options),
  ),
  'session.rewind': of(
    (world) => [{ expectedHead: head(world), operation: 'op' }],
    ({ session }, options) => session.rewind(1, options),
  ),
  'session.rewind, with messages instead': of(
    (world) => [[message()], { page: ['plan'] as const, expectedHead: head(world) }],
    ({ session }, messages, options) => session.rewind(1, { instead: messages, ...(options as object) }),
  ),
  'session.rewind, behind others': of(
    () => [[message()], { page: 'plan' as const }],
    ({ session }, messages, options) => {
      void session.append(user('before'))
      return session.rewind(1, { instead: messages, ...options })
    },
  ),
  'session.note': of(
    (world) => [{ type: 'page' as const, position: 0, kind: 'plan' as const }, { expectedHead: head(world) }],
    ({ session }, note, options) => session.note(note, options),
  ),
  'session.note, of a message that is on its way': of(
    () => [{ type: 'pin' as const, position: 3 }, {}],
    ({ session }, note, options) => {
      void session.append(user('before'))
      return session.note(note, options)
    },
  ),
  'session.note, a summary': of(
    () => [{ type: 'summary' as const, from: 0, to: 2, text: 'all', model: 'm' }],
    ({ session }, summary) => session.note(summary),
  ),
  'session.note, a summary behind others': of(
    () => [{ type: 'summary' as const, from: 0, to: 4, text: 'all' }],
    ({ session }, summary) => {
      void session.append(user('before'))
      return session.note(summary)
    },
  ),
  'eraseMessages, of a session': of(
    () => [[1], { reason: 'asked' }],
    ({ session }, positions, because) => eraseMessages(session, positions, because),
  ),
  'session.update': of(
    () => [],
    async ({ session }) => {
      const tags = ['a'] // the recipe is called when its turn comes
      const updated = await session.update((metadata) => void (metadata['given'] = tags))
      tags.push('b')
      expect(updated).toEqual({ given: ['a'] })
      return [updated, session.metadata()]
    },
  ),
  'session.lease': of(
    () => [{ holder: 'h', ttl: 60_000, wait: 0 }],
    async ({ session, store }, options) => {
      const { holder, number } = await session.lease(options)
      return [holder, number, await store.leaseOf('s')]
    },
  ),
  exportSession: of(
    () => [],
    async ({ store }) => [...(await exportSession(store, 's')).rows],
  ),
}

const row = (body: string): Row => ({ kind: 'entry', body, blocks: [], salt: 'ab'.repeat(16) })
const block = () => Uint8Array.of(1, 2, 3)

/** What a store takes, in a log that is no session's. */
const ports: { readonly [name: string]: Case } = {
  create: of(
    () => [{ id: 'log', meta: { tags: ['a'] }, rows: [row('x')], encrypt: true }],
    ({ store }, log) => store.create(log),
  ),
  list: of(
    () => [{ limit: 1, where: { none: { x: 1 } } }],
    ({ store }, query) => store.list(query),
  ),
  update: of(
    () => [{ expected: 1, meta: { tags: ['a'] } }],
    ({ store }, update) => store.update('plain', update),
  ),
  append: of(
    () => [{ expected: { size: 0, root: emptyRoot }, rows: [row('x'), row('y')], operation: 'op' }],
    ({ store }, append) => store.append('plain', append),
  ),
  'append, twice': of(
    () => [{ expected: { size: 0, root: emptyRoot }, rows: [row('x')] }],
    ({ store }, append) => {
      void store.append('plain', append)
      return store.append('plain', append).catch((error: unknown) => String(error))
    },
  ),
  read: of(
    () => [{ from: 0, to: 2 }],
    ({ store }, range) => store.read('s', range),
  ),
  nodes: of(
    () => [[0, 1]],
    ({ store }, positions) => store.nodes('s', positions),
  ),
  fork: of(
    () => [{ id: 'fork', at: 0, meta: { tags: ['a'] } }],
    ({ store }, fork) => store.fork('plain', fork),
  ),
  containing: of(
    () => [['secret']],
    ({ store }, texts) => store.containing(texts),
  ),
  putBlocks: of(
    () => [[block(), block()]],
    ({ store }, blocks) => store.putBlocks(blocks),
  ),
  getBlocks: of(
    () => [['0'.repeat(64) as BlockId]],
    ({ store }, ids) => store.getBlocks(ids),
  ),
  hasBlocks: of(
    () => [['0'.repeat(64) as BlockId]],
    ({ store }, ids) => store.hasBlocks(ids),
  ),
  lease: of(
    () => [{ holder: 'h', ttl: 60_000 }],
    ({ store }, lease) => store.lease('s', lease),
  ),
  erase: of(
    (world) => [{ logs: [{ id: 's', expected: head(world), rows: [{ position: 0, stub }] }], reason: 'asked' }],
    ({ store }, request) => store.erase(request),
  ),
}
const emptyRoot = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const stub = '{"role":"user","content":[{"type":"erased"}]}'

let newest: Head = { size: 0, root: '' }
let grown: RefTree = { id: '' as BlockId, len: 0 }

const others: { readonly [name: string]: Case } = {
  holdSession: of(
    () => [{ reason: 'court', by: 'ann' }],
    ({ store }, because) => holdSession(store, 's', because),
  ),
  releaseSession: of(
    () => [{ reason: 'over' }],
    ({ store }, because) => releaseSession(store, 's', because),
    ({ store }) => holdSession(store, 's'),
  ),
  removeRecorded: of(
    () => [{ reason: 'asked' }],
    ({ store }, because) => removeRecorded(withLedger(store), 's', because),
  ),
  updateLedger: of(
    () => [['s']],
    ({ store }, ids) => updateLedger(store, ids),
  ),
  verifyLedger: of(
    () => [{ ...newest }, { headsOnly: true }],
    ({ store }, older, options) => verifyLedger(store, older, options),
    async ({ store }) => (newest = (await updateLedger(store)).head),
  ),
  signLedger: of(
    () => [{ origin: 'o', signers: [orThrow(signerOf(skey))], extensions: ['line'] }],
    async ({ store }, options) => {
      await signLedger(store, options)
      return listCheckpoints(store)
    },
    ({ store }) => updateLedger(store),
  ),
  searchStore: of(
    () => [{ in: 'messages' as const, limit: 1 }],
    ({ store }, options) => searchStore(store, 'a', options),
  ),
  growRefTree: of(
    () => [{ ...grown }, [{ blockIds: [id(7)], role: 'user' as const }]],
    async ({ store }, tree, refs) => {
      const more = await growRefTree(store, tree, refs)
      return [more, await refsOf(store, createRefHistory({ tree: more ?? tree }))]
    },
    async ({ store }) => {
      const refs = Array.from({ length: 300 }, (_, n): MessageRef => ({ blockIds: [id(n)], role: 'user' }))
      grown = (await growRefTree(store, undefined, refs)) ?? grown
    },
  ),
  'cachedBlocks.getBlocks': of(
    () => [['0'.repeat(64) as BlockId]],
    ({ store }, ids) => cachedBlocks(store, blockCache()).getBlocks(ids),
  ),
  'keyValueBlocks.putBlocks': of(
    () => [[block()]],
    async (_world, blocks) => {
      const store = keyValueBlocks(keyValueMap())
      return store.getBlocks(await store.putBlocks(blocks))
    },
  ),
  prepareSummaries: of(
    () => [{ chunkTokens: 100, keepTokens: 100, maxTokens: 100 }],
    (_world, options) => {
      const view = createHistory({
        from: Array.from({ length: 40 }, (_, n) => user(`message ${n} `.repeat(50))),
      }).view()
      return prepareSummaries(view, createHistory<never>().view(), undefined, options)
    },
  ),
  openCallLog: of(
    ({ store }) => [{ store, id: 'calls', now: () => 1000, writer: 'w', durable: true }],
    async (_world, options) => (await openCallLog(options)).flush(),
  ),
}
const id = (n: number): BlockId => n.toString(16).padStart(64, '0') as BlockId

/** Everything that is stored. */
const stored = async (store: Store): Promise<unknown> => {
  const { logs } = await store.list({ limit: 1000 })
  return Promise.all(logs.map(async (log) => [log.id, log.meta, log.head.size, await store.read(log.id)] as const))
}

const plain = (answer: unknown): unknown => {
  const { view, notes, metadata } = (answer ?? {}) as Partial<Session>
  if (view === undefined || notes === undefined || metadata === undefined) return answer
  return [view().toArray(), notes().toArray(), metadata()]
}

const outcome = async (
  { given, call, before }: Case,
  after: (value: unknown) => void,
  made: () => Store,
  look: (store: Store) => Promise<unknown>,
): Promise<unknown> => {
  const world = await worldOf(made())
  await world.store.create({ id: 'plain', encrypt: false })
  await before(world)
  const values = given(world)
  const task = call(world, ...(values as never[]))
  after(values)
  const answer = isTask(task) ? await task() : await task
  return masked([
    plain(isEither(answer) ? (isLeft(answer) ? answer.left : plain(answer.right)) : answer),
    await look(world.store),
  ])
}

/** Without what is random: identities of logs, keys, and what follows from them. */
const masked = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_name, inner: unknown) =>
      typeof inner === 'string'
        ? inner.replaceAll(/[0-9a-f]{24,}|[0-9a-f]{8}-[0-9a-f-]{27}/g, '#').replaceAll(/[\w+/]{20,}=*/g, '#')
        : inner instanceof Uint8Array && inner.length > 20
          ? `${inner.length} bytes`
          : inner,
    ),
  )

const isTask = (value: unknown): value is () => Promise<Either<unknown, unknown>> => typeof value === 'function'
const isEither = (value: unknown): value is Either<unknown, unknown> =>
  typeof value === 'object' && value !== null && '_tag' in value && (value._tag === 'Left' || value._tag === 'Right')

const compared = async (one: Case, made: () => Store, look = stored): Promise<void> => {
  const untouched = await outcome(one, () => {}, made, look)
  expect(untouched).not.toEqual([expect.objectContaining({ _tag: expect.any(String) }), expect.anything()])
  expect(await outcome(one, changeEverything, made, look)).toEqual(untouched)
}

describe('arguments may be changed directly after the call', () => {
  const made = (): Store => memoryStore({ now: () => 1000 })
  for (const [name, one] of Object.entries({ ...sessions, ...others })) it(name, () => compared(one, made))
  for (const [name, one] of Object.entries(ports)) it(`store.${name}`, () => compared(one, made))
  // Keys and ciphertexts are random: of what is stored, the texts.
  // An encrypted log takes stubs of messages only, as eraseMessages gives them.
  for (const [name, one] of Object.entries(ports).filter(([name]) => name !== 'erase'))
    it(`store.${name}, with keys`, () =>
      compared(
        one,
        () => withKeys(made(), ring, { plain: 'continue' }),
        async (store) => {
          const { logs } = await store.list({ limit: 1000 })
          const readable = logs.filter((log) => !log.id.startsWith('indelible.'))
          return Promise.all(
            readable.map(async (log) => [log.id, log.head.size, (await store.read(log.id)).map(({ body }) => body)]),
          )
        },
      ))
})
