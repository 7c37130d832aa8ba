/** Every public function that returns a task, and the methods of a store and a session that do, with valid arguments. */
import {
  createSession,
  exportSession,
  forkSession,
  importRecord,
  listSessions,
  memoryStore,
  openOrCreateSession,
  openSession,
  orThrow,
  readSession,
  user,
  verifySession,
  type Session,
  type Store,
} from 'indelible'
import { listWaiting } from 'indelible/run'
import { prepareSummaries } from 'indelible/context'
import { checkKeys, destroyKey, keyRing, newHostKey, rotateKeys } from '@indelible/encryption'
import {
  holdSession,
  listHolds,
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
  witnessLedger,
} from '@indelible/evidence'
import { postgresStore } from '@indelible/postgres'
import { sentMessages } from '@indelible/recorder'
import { openCallLog } from '@indelible/records'
import { dropIndex, indexStore, searchStore } from 'indelible/search'
import { explainUsage } from 'indelible/usage'
import {
  copySession,
  createFork,
  describeSession,
  eraseMessages,
  findMessages,
  listUnfinished,
  proveEntry,
  proveErased,
  proveGrowth,
  readRange,
  removeUnfinished,
} from 'indelible/session'
import { removeBlocks, verifyLog } from 'indelible/store'
import { backupSqlite, compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import {
  adoptHistory,
  appendMessages,
  blocksOfTree,
  createPendingHistory,
  createRefHistory,
  growRefTree,
  hydrate,
  hydratePartial,
  persist,
  refsOf,
} from '@indelible/workflows/refs'
import { keyValueMap } from '../store/key-value-map.ts'

/** What an argument has to be. Its wrong values are those that no program means. */
export type Kind =
  | 'store'
  | 'id'
  | 'options'
  | 'object'
  | 'list'
  | 'position'
  | 'function'
  | 'session'
  | 'text'
  | 'data'
  | 'bound'
  | 'optional'

export const wrong: { readonly [kind in Kind]: readonly unknown[] } = {
  store: [null, undefined, 'x', {}],
  session: [null, undefined, 'x', {}],
  id: [null, undefined, 7, {}],
  options: [null, 'x', []],
  object: [null, undefined, 'x', 7],
  /** An object that may be left out. */
  optional: [null, 'x', 7],
  /** A message or a note. */
  data: [null, undefined, 'x', 7],
  /** A bound, by the rules of `slice`. */
  bound: [null, 'x', NaN, {}],
  list: [null, undefined, 'x', 7, {}],
  position: [null, 'x', {}],
  function: [null, undefined, 'x', {}],
  text: [null, undefined, 7, {}],
}

export const store: Store = memoryStore()
export const session: Session = await createSession(store, { id: 's', messages: [user('a')] })
const ring = keyRing([newHostKey('a')])
const signer = orThrow(signerOf(newKey('n').skey))
const record = await exportSession(store, 's')
const transcript = orThrow(readTranscript('[{"role":"user","content":"a"}]'))
const view = session.view()
const pin = { type: 'pin', position: 0 } as const
const keyValue = keyValueMap()
const pending = createPendingHistory()
const stored = await persist(store, pending)

/** A call: its name, the kinds and valid values of its arguments, and the function. Optional arguments are given, too. */
type Case = readonly [name: string, args: readonly (readonly [Kind, unknown])[], call: (...args: never[]) => unknown]

const aStore = ['store', store] as const
const anId = ['id', 's'] as const
const none = ['options', {}] as const

export const functions: readonly Case[] = [
  ['adoptHistory', [['object', keyValue], ['object', { messages: [], keys: [] }], none], adoptHistory],
  ['appendMessages', [aStore, ['object', createRefHistory({ session: 's' })], ['list', []], none], appendMessages],
  ['backupSqlite', [['options', { from: '/nowhere/x.db', to: '/nowhere/y.db' }]], backupSqlite],
  ['blocksOfTree', [aStore, ['object', {}]], blocksOfTree],
  ['checkKeys', [aStore, ['object', ring]], checkKeys],
  ['compactSqlite', [['options', { path: '/nowhere/x.db' }]], compactSqlite],
  ['copySession', [aStore, ['store', memoryStore()], anId, none], copySession],
  ['createFork', [aStore, anId, none], createFork],
  ['createSession', [aStore, none], createSession],
  ['describeSession', [aStore, anId], describeSession],
  ['destroyKey', [aStore, anId, ['object', ring], none], destroyKey],
  ['dropIndex', [aStore], dropIndex],
  ['eraseMessages', [aStore, anId, ['object', [0]], none], eraseMessages],
  ['exportSession', [aStore, anId], exportSession],
  ['findMessages', [aStore, anId, ['options', {}]], findMessages],
  ['forkSession', [aStore, anId, none], forkSession],
  ['growRefTree', [aStore, ['optional', undefined], ['list', []]], growRefTree],
  ['holdSession', [aStore, anId, none], holdSession],
  ['hydrate', [aStore, ['object', stored]], hydrate],
  ['hydratePartial', [aStore, ['object', stored]], hydratePartial],
  ['importRecord', [aStore, ['object', record], none], importRecord],
  ['importTranscript', [aStore, ['object', transcript], none], importTranscript],
  ['indexStore', [aStore, none], indexStore],
  ['listHolds', [aStore, anId], listHolds],
  ['listSessions', [aStore, none], listSessions],
  ['listUnfinished', [aStore], listUnfinished],
  ['listWaiting', [aStore, none], listWaiting],
  ['openCallLog', [['options', { store, id: 'calls' }]], openCallLog],
  ['openOrCreateSession', [aStore, anId, none], openOrCreateSession],
  ['openSession', [aStore, anId, none], openSession],
  ['persist', [aStore, ['object', pending]], persist],
  ['postgresStore', [['options', {}]], postgresStore],
  ['prepareSummaries', [['object', view], ['list', []], ['optional', undefined], none], prepareSummaries],
  ['proveEntry', [aStore, anId, ['position', 0], none], proveEntry],
  ['proveErased', [aStore, anId, ['position', 0]], proveErased],
  ['proveGrowth', [aStore, anId, ['object', session.head()]], proveGrowth],
  ['proveHead', [aStore, anId], proveHead],
  ['proveInLedger', [aStore, anId, ['position', 0]], proveInLedger],
  ['readLedger', [aStore, ['position', 0]], readLedger],
  ['readRange', [aStore, anId, ['bound', 0], ['bound', 0]], readRange],
  ['readSession', [aStore, anId, none], readSession],
  ['refsOf', [aStore, ['object', stored]], refsOf],
  ['releaseSession', [aStore, anId, none], releaseSession],
  ['removeBlocks', [['object', keyValue], none], removeBlocks],
  ['removeRecorded', [aStore, anId, none], removeRecorded],
  ['removeUnfinished', [aStore, anId], removeUnfinished],
  ['rotateKeys', [aStore, ['object', ring]], rotateKeys],
  ['searchStore', [aStore, ['text', 'a'], none], searchStore],
  ['sentMessages', [aStore, ['session', session], ['object', {}]], sentMessages],
  ['signLedger', [aStore, ['options', { signer }]], signLedger],
  ['sqliteStore', [['options', { path: '/nowhere/x.db' }]], sqliteStore],
  ['updateLedger', [aStore, ['optional', undefined]], updateLedger],
  ['verifyLedger', [aStore, ['optional', undefined], none], verifyLedger],
  ['verifyLog', [aStore, anId, ['optional', session.head()]], verifyLog],
  ['explainUsage', [aStore, anId], explainUsage],
  ['verifySession', [aStore, anId, none], verifySession],
  ['witnessLedger', [aStore, ['list', []], none], witnessLedger],
]

export const methods: readonly Case[] = [
  ['session.append', [['data', user('x')], none], session.append],
  ['session.note', [['data', pin], none], session.note],
  ['session.rebase', [['function', () => []], none], session.rebase],
  ['session.pop', [none], session.pop],
  ['session.rewind', [['position', 0], none], session.rewind],
  ['session.update', [['function', () => undefined], none], session.update],
  ['session.lease', [none], session.lease],
  ['session.seal', [none], session.seal],
  ['store.create', [['options', { id: 'n' }]], store.create],
  ['store.append', [anId, ['options', { expected: session.head(), rows: [] }]], store.append],
  ['store.read', [anId, none], store.read],
  ['store.info', [anId], store.info],
  ['store.list', [none], store.list],
  ['store.check', [none], store.check],
  ['store.repair', [none], store.repair],
  ['store.update', [anId, ['options', { meta: {}, version: 1 }]], store.update],
  ['store.fork', [anId, ['options', { id: 'n' }]], store.fork],
  ['store.remove', [anId], store.remove],
  ['store.lease', [anId, ['options', { holder: 'h', ttl: 1000 }]], store.lease],
  ['store.renew', [anId, ['options', { number: 1, ttl: 1000 }]], store.renew],
  ['store.putBlocks', [['list', []]], store.putBlocks],
  ['store.getBlocks', [['list', []]], store.getBlocks],
  ['store.hasBlocks', [['list', []]], store.hasBlocks],
]
