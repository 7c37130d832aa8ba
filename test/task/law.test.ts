/** The law of tasks: whatever the callbacks of the caller do, a task that is called answers. It never throws or rejects. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import {
  importRecord,
  assistant,
  createSession,
  exportSession,
  faultMessage,
  forkSession,
  listSessions,
  memoryStore,
  openOrCreateSession,
  openSession,
  orThrow,
  readSession,
  settle,
  user,
  verifySession,
  type Fault,
} from 'indelible'
import {
  newKey,
  proveHead,
  proveInLedger,
  readLedger,
  holdSession,
  listHolds,
  releaseSession,
  removeRecorded,
  signerOf,
  signLedger,
  updateLedger,
  verifyLedger,
  withLedger,
  witnessLedger,
} from '@indelible/evidence'
import { lastCheckpoint, listCheckpoints } from '../../packages/evidence/src/internal.ts'
import { createHistory } from 'indelible/history'
import { prepareSummaries } from 'indelible/context'
import { sentMessages } from '@indelible/recorder'
import { openCallLog } from '@indelible/records'
import {
  adoptHistory,
  blocksOfTree,
  createPendingHistory,
  createRefHistory,
  growRefTree,
  hydrate,
  hydratePartial,
  parseHistoryJson,
  persist,
  refsOf,
} from '@indelible/workflows/refs'
import { listWaiting, run, scriptedModel } from 'indelible/run'
import { dropIndex, indexStore, searchStore } from 'indelible/search'
import { explainUsage } from 'indelible/usage'
import { keepSums } from '../../src/usage/internal.ts'
import {
  copySession,
  createFork,
  describeSession,
  eraseMessages,
  findMessages,
  listUnfinished,
  removeUnfinished,
  proveEntry,
  proveErased,
  proveGrowth,
  readRange,
} from 'indelible/session'
import { appendRows, appendWithBlocks } from '../../src/session/internal.ts'
import { keyValueBlocks, removeBlocks, verifyLog } from 'indelible/store'
import { consistencyPath, inclusionPath, isRecorded, rangeAt } from '../../src/store/internal.ts'
import { checkKeys, destroyKey, keyRing, newHostKey, rotateKeys, withKeys } from '@indelible/encryption'
import { backupSqlite, compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'
import { exportOf, importTranscript, readTranscript } from '@indelible/transcripts'
import type { OnceStore } from '../../src/store/port/store.ts'
import type { RowIndex } from '../../src/store/port/row-terms.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-law-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What a caller's function may do instead of its work. */
const hostile: { readonly [how: string]: () => never } = {
  throws: () => {
    throw new Error('mine')
  },
  'throws nothing': () => {
    throw undefined
  },
  'throws a value without text': () => {
    throw Object.create(null)
  },
  'returns a value that throws when read': () =>
    new Proxy(() => {}, {
      get: () => {
        throw new Error('looked at')
      },
      ownKeys: () => {
        throw new Error('listed')
      },
      getPrototypeOf: () => {
        throw new Error('asked for its prototype')
      },
    }) as never,
}

type Called = () => Promise<Either<unknown, unknown>>
type Bad = () => never

const started = async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  await session.append([user('a'), assistant('b')])
  return { store, session }
}
const transcript = () => orThrow(readTranscript('[{"role":"user","content":"a"}]'))

const tree = { id: 'ab'.repeat(32) as never, len: 3 }

/** The index of a store, with a session of that id that is not indexed. */
const indexOf = async (id?: string): Promise<RowIndex> => {
  const { index, ...store } = await sqliteStore({ path: join(folder, `${Math.random()}.db`) })
  if (id !== undefined) await createSession(store, { id, messages: [user('a')] })
  await index?.make()
  return index as RowIndex
}

const once = (bad: Bad) =>
  keyValueBlocks({ mget: bad, mset: bad, putIfAbsent: bad, keys: bad, deletePrefix: bad }).once as Required<OnceStore>

/** A call of everything that gives a task, with a hostile function wherever one is taken. */
const calls: { readonly [name: string]: (bad: Bad) => Promise<readonly Called[]> } = {
  // sessions
  createSession: async () => [createSession(memoryStore(), { metadata: { f: () => 1 } as never })],
  openOrCreateSession: async () => [openOrCreateSession(memoryStore(), 's', { metadata: { f: () => 1 } as never })],
  openSession: async (bad) => {
    const { store } = await started()
    await createSession(withKeys(store, keyRing([newHostKey('a')])), { id: 'encrypted' })
    const key = { current: newHostKey('b'), byId: bad as never }
    return [openSession(memoryStore(), 'none'), openSession(withKeys(store, key), 'encrypted')]
  },
  readSession: async () => [readSession(memoryStore(), 'none')],
  proveGrowth: async () => [proveGrowth(memoryStore(), 'none', { size: 1, root: '' })],
  explainUsage: async () => [explainUsage(memoryStore(), 'none')],
  keepSums: async () => [keepSums(memoryStore(), 'none')],
  describeSession: async () => [describeSession(memoryStore(), 'none')],
  forkSession: async () => [forkSession(memoryStore(), 'none', { at: NaN })],
  createFork: async () => [createFork(memoryStore(), 'none', { at: NaN })],
  listSessions: async () => [listSessions(memoryStore(), { after: 'x' })],
  listUnfinished: async () => [listUnfinished(memoryStore())],
  listWaiting: async () => [listWaiting(memoryStore())],
  removeUnfinished: async () => [removeUnfinished(memoryStore(), 'x')],
  isRecorded: async (bad) => [isRecorded((await started()).store, 's', bad as never)],
  readRange: async () => [readRange(memoryStore(), 'none', -1)],
  proveEntry: async () => [proveEntry(memoryStore(), 'none', NaN)],
  proveErased: async () => [proveErased(memoryStore(), 'none', NaN)],
  exportSession: async () => [exportSession(memoryStore(), 'none')],
  verifySession: async (bad) => [verifySession((await started()).store, 's', { progress: bad })],
  copySession: async (bad) => [copySession((await started()).store, memoryStore(), 's', { progress: bad })],
  appendRows: async () => [
    appendRows(memoryStore(), 'none', { head: undefined, metadata: {}, rows: [], blocks: new Map() }),
  ],
  importRecord: async (bad) => [importRecord(memoryStore(), exportOf(transcript()), { progress: bad })],
  importTranscript: async (bad) => [importTranscript(memoryStore(), transcript(), { progress: bad })],
  'session.append': async () => {
    const { session } = await started()
    const odd = { get role() { throw new Error('mine') } } // oxfmt-ignore
    return [
      session.append(odd as never),
      session.append(user('x'), { page: 'gossip' as never }),
      session.append(user('x'), { operation: '\n' }),
    ]
  },
  'session.rebase': async (bad) => [(await started()).session.rebase(bad)],
  'session.update': async (bad) => [
    (await started()).session.update(bad),
    (await started()).session.update((draft) => void (draft['f'] = bad as never)),
  ],
  'session.lease': async () => [(await started()).session.lease({ holder: '', ttl: NaN })],
  'lease.release': async () => [(await (await started()).session.lease({ holder: 'h', ttl: 1000 })).release()],
  appendWithBlocks: async () => [
    appendWithBlocks((await started()).session, { notes: [{ type: 'gossip' } as never] }, []),
  ],
  'session.note': async () => [(await started()).session.note({ type: 'gossip' } as never)],
  'session.note, pin': async () => [(await started()).session.note({ type: 'pin', position: NaN })],
  'session.note, unpin': async () => [(await started()).session.note({ type: 'unpin', position: -1 })],
  'session.pop': async () => [(await started()).session.pop()],
  'session.rewind': async () => [(await started()).session.rewind(NaN)],
  'session.rewind, instead': async () => [(await started()).session.rewind(0, { instead: 'gossip' as never })],
  'session.rewind, head': async () => [(await started()).session.rewind(0, { expectedHead: { size: 99, root: '' } })],
  'session.note, page': async () => [
    (await started()).session.note({ type: 'page', position: 0, kind: 'gossip' as never }),
  ],
  'session.note, summary': async () => [(await started()).session.note({ type: 'summary', from: 1, to: 0, text: '' })],
  'session.refresh': async () => [(await started()).session.refresh()],
  'eraseMessages, of a session': async () => [eraseMessages((await started()).session, [0])],
  findMessages: async () => [findMessages((await started()).store, 's', { matching: /x/ })],
  holdSession: async () => [holdSession((await started()).store, 's')],
  listHolds: async () => [listHolds(memoryStore(), 'none')],
  releaseSession: async () => [releaseSession((await started()).store, 's')],
  eraseMessages: async () => [eraseMessages((await started()).store, 's', [0])],
  'session.seal': async () => [(await started()).session.seal()],
  'session.close': async () => [(await started()).session.close()],
  // searching
  searchStore: async () => [
    searchStore((await started()).store, 'a', { limit: 1, after: 'x' }),
    searchStore((await started()).store, '"', { session: '\n' }),
    searchStore((await started()).store, { question: '?' }),
    searchStore((await started()).store, { question: 'a', session: '\n' }),
  ],
  indexStore: async (bad) => [indexStore(memoryStore(), { progress: bad })],
  dropIndex: async () => [dropIndex(memoryStore())],
  'index.find': async () => [
    (await indexOf()).find({ all: [], limit: NaN }),
    (await indexOf()).find({ all: [], after: 'x' }),
  ],
  'index.findIn': async () => [(await indexOf('s')).findIn(['s', '\n', 'none'], '"')],
  'index.places': async () => [
    (await indexOf('s')).places({ words: [[{ term: '"' }]], most: 10 }),
    (await indexOf('s')).places({ words: [], most: NaN, log: '\n' }),
  ],
  'index.segmentsOf': async () => [(await indexOf('s')).segmentsOf(['s', '\n', 'none', 's'])],
  'index.logsAt': async () => [(await indexOf('s')).logsAt([1, 0, 7, 9])],
  'index.encrypted': async () => [(await indexOf()).encrypted()],
  'index.make': async () => [(await indexOf()).make()],
  'index.add': async (bad) => [(await indexOf('s')).add(bad, NaN), (await indexOf('s')).add(bad, 10)],
  'index.drop': async () => [(await indexOf()).drop()],
  // evidence
  readLedger: async () => [readLedger(memoryStore(), NaN)],
  updateLedger: async () => [updateLedger(memoryStore(), ['\n'])],
  rotateKeys: async (bad) => {
    const store = memoryStore()
    await createSession(withKeys(store, keyRing([newHostKey('a')])), { id: 's' })
    return [rotateKeys(store, { current: newHostKey('b'), byId: bad as never })]
  },
  checkKeys: async (bad) => {
    const store = memoryStore()
    await createSession(withKeys(store, keyRing([newHostKey('a')])), { id: 's' })
    return [checkKeys(store, { current: newHostKey('b'), byId: bad as never })]
  },
  'encryption.keyFor': async () => {
    const { encryption } = withKeys(memoryStore(), keyRing([newHostKey()]))
    return encryption === undefined ? [] : [encryption.keyFor('none', '\n', 'other'), encryption.keyFor('', 's', '')]
  },
  destroyKey: async () => [destroyKey(memoryStore(), '\n', keyRing([newHostKey()]))],
  verifyLedger: async (bad) => {
    const { store } = await started()
    await updateLedger(store)
    return [verifyLedger(store, { size: NaN, root: '' }), verifyLedger(store, undefined, { progress: bad })]
  },
  removeRecorded: async (bad) => [removeRecorded(withLedger(memoryStore(), { onFault: bad }), 'none')],
  signLedger: async (bad) => {
    const { store } = await started()
    await updateLedger(store)
    return [signLedger(store, { origin: 'o', signers: [{ name: 'n', keyId: '00000000', vkey: '', sign: bad }] })]
  },
  lastCheckpoint: async () => [lastCheckpoint(memoryStore())],
  listCheckpoints: async () => [listCheckpoints(memoryStore())],
  witnessLedger: async (bad) => {
    const { store } = await started()
    const { skey, vkey } = newKey('n')
    await updateLedger(store)
    await signLedger(store, { origin: 'o', signers: [orThrow(signerOf(skey))] })
    return [witnessLedger(store, [{ url: 'x', vkey }], { fetch: bad })]
  },
  proveInLedger: async () => [proveInLedger(memoryStore(), 'none', NaN)],
  proveHead: async () => [proveHead(memoryStore(), 'none')],
  // recorder
  sentMessages: async () => {
    const { store, session } = await started()
    const contextDigest = '0'.repeat(64)
    return [
      sentMessages(store, session, {
        type: 'receipt',
        len: 0,
        contextDigest,
        model: 'm',
        details: { sent: [[0, 9], contextDigest] },
      }),
    ]
  },
  // stores
  'store.create': async () => [
    memoryStore().create({ id: '', encrypt: false }),
    memoryStore({ now: () => NaN }).create({ id: 'a', encrypt: false }),
  ],
  'store.info': async () => [memoryStore().info('\u0000')],
  'store.list': async () => [memoryStore().list({ after: 'x' })],
  'store.update': async () => [memoryStore().update('none', { expected: NaN, meta: null as never })],
  'store.append': async () => [
    memoryStore().append('none', { expected: { size: NaN, root: '' }, rows: [{ kind: 'x', body: 1 } as never] }),
  ],
  'store.read': async () => [memoryStore().read('none', { from: NaN })],
  'store.nodes': async () => [memoryStore().nodes('none', [NaN])],
  'store.fork': async () => [memoryStore().fork('none', { id: 'x', at: NaN })],
  'store.remove': async () => [memoryStore().remove('none')],
  'store.erase': async () => [memoryStore().erase({ logs: [] })],
  'store.identities': async () => [memoryStore().identities('none')],
  'store.sharing': async () => [memoryStore().sharing('none')],
  'store.containing': async () => [memoryStore().containing(['x'])],
  'store.lease': async () => [memoryStore().lease('none', { holder: '', ttl: NaN })],
  'store.renew': async () => [memoryStore().renew('none', { number: NaN, ttl: NaN } as never)],
  'store.release': async () => [memoryStore().release('none', NaN)],
  'store.requestStop': async () => [memoryStore().requestStop('none')],
  'store.leaseOf': async () => [memoryStore().leaseOf('none')],
  'store.watch': async (bad) => [(await started()).store.watch('s', bad)],
  'store.scopes': async () => [memoryStore().scopes()],
  'store.check': async () => [memoryStore().check()],
  'store.repair': async () => [memoryStore().repair()],
  'store.close': async () => [memoryStore().close()],
  'store.putBlocks': async (bad) => [
    keyValueBlocks({ mget: bad, mset: bad }).putBlocks([new Uint8Array(1)]),
    memoryStore().putBlocks([null as never]),
  ],
  'store.getBlocks': async (bad) => [keyValueBlocks({ mget: bad, mset: bad }).getBlocks(['x' as never])],
  'store.hasBlocks': async (bad) => [keyValueBlocks({ mget: bad, mset: bad }).hasBlocks(['0'.repeat(64) as never])],
  'once.get': async (bad) => [once(bad).get(['a'])],
  'once.put': async (bad) => [once(bad).put('a', new Uint8Array(1))],
  'once.list': async (bad) => [once(bad).list('a')],
  'once.remove': async (bad) => [once(bad).remove('a')],
  removeBlocks: async (bad) => [removeBlocks({ mget: bad, mset: bad, deletePrefix: bad })],
  verifyLog: async (bad) => [verifyLog((await started()).store, 's', undefined, bad)],
  inclusionPath: async () => [inclusionPath(memoryStore(), 'none', 0, 2)],
  consistencyPath: async () => [consistencyPath(memoryStore(), 'none', 1, 2)],
  rangeAt: async () => [rangeAt(memoryStore(), 'none', 0)],
  sqliteStore: async (bad) => [
    sqliteStore({ path: join(folder, 'none', 'x.db') }),
    sqliteStore({ path: join(folder, 'notice.db'), onNotice: bad }),
    async () => {
      const store = await sqliteStore({ path: join(folder, `${Math.random()}.db`), now: bad })
      return store.create({ id: 'a', encrypt: false })()
    },
  ],
  backupSqlite: async (bad) => {
    const path = join(folder, `${Math.random()}.db`)
    await (await sqliteStore({ path })).close()
    return [backupSqlite({ path, to: `${path}.copy`, progress: bad })]
  },
  compactSqlite: async () => [compactSqlite({ path: join(folder, 'compact.db') })],
  // reference histories
  growRefTree: async (bad) => [
    growRefTree(keyValueBlocks({ mget: bad, mset: bad }), undefined, (await stored()).refHistory().refs()),
  ],
  blocksOfTree: async (bad) => [blocksOfTree(keyValueBlocks({ mget: bad, mset: bad }), tree)],
  refsOf: async (bad) => [refsOf(keyValueBlocks({ mget: bad, mset: bad }), createRefHistory({ tree }))],
  hydrate: async (bad) => [hydrate(keyValueBlocks({ mget: bad, mset: bad }), (await stored()).refHistory())],
  hydratePartial: async (bad) => [
    hydratePartial(keyValueBlocks({ mget: bad, mset: bad }), (await stored()).refHistory()),
  ],
  persist: async (bad) => [
    persist(keyValueBlocks({ mget: bad, mset: bad }), createPendingHistory({ from: [user('a')] })),
  ],
  adoptHistory: async (bad) => {
    const keyed = orThrow(parseHistoryJson([{ flowId: 'f', blockIds: ['f:msg:0'], role: 'user' }]))
    return keyed.kind === 'keyed'
      ? [
          adoptHistory({ mget: bad }, keyed.history),
          adoptHistory({ mget: async () => [] }, keyed.history, { keyOf: bad }),
        ]
      : []
  },
  // runs, contexts, call logs
  'run.result': async (bad) => {
    const view = orThrow(settle([user('a')]))
    const model = scriptedModel([assistant('b')])
    return [
      run({ model, view, handlers: [bad] }).result(),
      run({ model, view, context: bad }).result(),
      run({ model: { name: 'bad', stream: bad }, view }).result(),
    ]
  },
  prepareSummaries: async (bad) => {
    const view = createHistory({ from: Array.from({ length: 40 }, (_, n) => user(`message ${n} `.repeat(50))) }).view()
    return [prepareSummaries(view, createHistory<never>().view(), { id: 'x', summarize: bad } as never)]
  },
  openCallLog: async (bad) => [openCallLog({ store: memoryStore(), id: 'calls', telemetry: bad, newId: bad } as never)],
  'log.flush': async () => [(await openCallLog({ store: memoryStore(), id: 'calls' })).flush()],
}

const stored = async () => await persist(memoryStore(), createPendingHistory({ from: [user('a')] }))

/** Everything that has methods which give tasks. */
const things: { readonly [name: string]: () => Promise<object> } = {
  session: async () => (await started()).session,
  'readonly session': async () => await readSession((await started()).store, 's'),
  lease: async () => await (await started()).session.lease({ holder: 'h', ttl: 60_000 }),
  store: async () => (await started()).store,
  'sqlite store': async () => await sqliteStore({ path: join(folder, `${Math.random()}.db`) }),
  'sqlite index': async () => {
    const { index } = await sqliteStore({ path: join(folder, `${Math.random()}.db`) })
    return index ?? {}
  },
  'blocks by keys': async () => keyValueBlocks({ mget: async () => [], mset: async () => {} }),
  'values kept once': async () =>
    once(() => {
      throw new Error('down')
    }),
  'call log': async () => await openCallLog({ store: memoryStore(), id: 'calls' }),
  run: async () => run({ model: scriptedModel([assistant('b')]), view: orThrow(settle([user('a')])) }),
}

/** What a method may be given: a hostile function, and an object that gives one for everything that it is asked. */
const given = (bad: Bad): readonly (readonly unknown[])[] => {
  const everywhere = new Proxy({}, { get: () => bad })
  return [
    [bad],
    [[bad]],
    [bad, bad, bad],
    ['s', bad],
    ['s', everywhere],
    [everywhere, everywhere],
    ['s', { from: bad, id: bad }],
  ]
}

const isTask = (value: unknown): value is Called =>
  typeof value === 'function' && typeof (value as { readonly then?: unknown }).then === 'function'

describe('every asynchronous method, by reflection', () => {
  for (const [name, make] of Object.entries(things))
    for (const [how, bad] of Object.entries(hostile))
      it(`${name}: a called task resolves where its argument ${how}`, async () => {
        let tasks = 0
        const thing = (await make()) as { readonly [key: string]: unknown }
        const ends = ['seal', 'close'] // nothing is left to do behind these
        const keys = Object.keys(Object.getOwnPropertyDescriptors(thing)).filter((key) => !ends.includes(key))
        for (const key of [...keys, ...ends])
          for (const values of given(bad)) {
            const member = thing[key]
            expect([key, isTask(member)]).toEqual([key, false]) // no property gives a task
            if (typeof member !== 'function') continue
            let made: unknown
            try {
              made = (member as (...values: readonly unknown[]) => unknown)(...values)
            } catch {
              continue // it gives no task, or what it was given is a mistake in the program
            }
            if (!isTask(made)) continue
            tasks += 1
            expect([key, (await made())._tag]).toEqual([key, expect.stringMatching(/^(?:Left|Right)$/)])
          }
        expect(tasks).toBeGreaterThan(0)
      })
})

describe('misbehaving callbacks', () => {
  for (const [how, bad] of Object.entries(hostile))
    for (const [name, made] of Object.entries(calls))
      it(`${name} resolves where one ${how}`, async () => {
        for (const answer of await Promise.all((await made(bad)).map((task) => task()))) {
          expect(['Left', 'Right']).toContain(answer._tag)
          if (isLeft(answer)) expect(faultMessage(answer.left as Fault).length).toBeGreaterThan(10)
        }
      })
})

/** The names of all that gives a task, by the types in the sources: exported functions, and members of what they give. */
const named = (): readonly string[] => {
  const found = new Set<string>()
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts') && !/^(?:cli|testing|task)\b/.test(name))) {
    const code = readFileSync(join(root, 'src', file), 'utf8')
    for (const [, name] of code.matchAll(
      /^export (?:const|function) (\w+)(?: = )?(?:<[^(]*>)?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\): (?:\w*)Task</gm,
    ))
      found.add(name as string)
    for (const [, name] of code.matchAll(
      /^ {2}readonly (\w+): (?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\) => )?(?:\w*)Task</gm,
    ))
      found.add(`.${name}`)
  }
  return [...found]
}

it('the reflection covers every function that returns a task', () => {
  const covered = new Set(Object.keys(calls).flatMap((name) => [name, name.replace(/^\w+(?=\.)/, '')]))
  expect(named().length).toBeGreaterThan(40)
  expect(named().filter((name) => !covered.has(name) && name !== 'postgresStore' && name !== '.take')).toEqual([])
})
