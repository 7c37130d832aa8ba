/** Moving records: from an export, to one, and from one store to another. */
import { checkStore } from './store-of.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, isLeft, isObject, left, right, optionsOf, ownFields, own } from '../json/index.ts'
import type { JsonObject } from '../json/index.ts'
import { decodeMessage, isErased, type Message, type MessageFault } from '../message/index.ts'
import { classify, isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import type { Exported, ExportedHead, ExportedRow } from './exported.ts'
import { emptyRange, type BlockId } from '../proof/kit.ts'
import { encodeRow, erasedBody, lacking, termsOf, type EncodedRow } from '../entry/kit.ts'
import type {
  CopiedClaim,
  ErasedRow,
  Erasure,
  Head,
  LogInfo,
  Store,
  StoreFault,
  AppendFault,
  BlockFault,
  ListFault,
  NewLogFault,
  RemoveFault,
  LogFault,
  StoreFaultOf,
  UpdateFault,
  VerifyFault,
} from '../store/index.ts'
import {
  againstOwnId,
  appendToLedger,
  erasureOf,
  identityAt,
  headOf,
  isEncryptedLog,
  ledgerContent,
  stubLeaf,
  maxMissed,
  ownStore,
  rangeAt,
  type LedgerRow,
  type TimedRow,
} from '../store/kit.ts'
import { called, type CallbackThrew, type Task } from '../task/index.ts'
import {
  sessionTask,
  type ImportFault,
  type NoSessionFault,
  type ReadSessionFault,
  type SessionFaultOf,
} from './fault.ts'
import {
  isPartial,
  isPartialOf,
  partialMeta,
  sessionInfo,
  storedMeta,
  type PartialOf,
  type SessionInfo,
} from './metadata.ts'
import { rowsIn, type DamagedRow, type Mirror } from './mirror.ts'
import { momentOf } from './stamp.ts'
import { decodeNote, type Note } from '../notes/kit.ts'
import { noteFaultText } from '../notes/fault.ts'
import { encryptedRowsErased, storeEncrypted, type PlacedRow } from './copy-encrypted.ts'
import { erasedCause } from './rows.ts'
import { randomId } from './open.ts'
import { readMirror, readReadable, type Opened } from './read.ts'
import { blocksNamedBy, bringBlocks, bringReceiptBlocks } from './receipt-blocks.ts'

/** How to import a record. */
export interface ImportOptions {
  /** The id of the new session. Default: the id in the record, or a random UUID. */
  readonly id?: string
  /**
   * Called while rows are stored.
   *
   * @param rows the number of rows stored so far
   */
  readonly progress?: (rows: number) => void
}

/**
 * Store an exported record as a session, row by row: the same record with the same head, or `OtherHead`, and then nothing
 * is kept. Rows without a time get that of the import; the root that the record states is not compared then.
 *
 * An export does not have the stored files that its messages reference. They must be in the store, or it is
 * `MissingBlock`.
 *
 * The rows go into a log of the import's own, `indelible.import.` and a random UUID. When it is complete, the session is
 * forked from it and the log is removed. So the session appears at one moment, or not at all. Several imports of one id may
 * run at once: one stores the session, and the others get `LogExists`. An import removes only the log that it created. A
 * killed import leaves its log behind; `listUnfinished` names it.
 *
 * Cost    O(record), in pieces
 *
 * @param given the store to write
 * @param record the record, as `exportSession` gives it. Its rows are read at once; their messages must not change meanwhile
 * @param options the id, and a callback for progress
 * @returns the description of the session; or `LogExists`, `MissingBlock`, `OtherHead`
 */
export const importRecord = (
  given: Store,
  record: Exported,
  options: ImportOptions = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('importRecord', given)
  const store = ownStore(given)
  if (
    !isObject(record) ||
    typeof (record.rows as Partial<typeof record.rows> | undefined)?.[Symbol.iterator] !== 'function'
  )
    throw new TypeError(`importRecord takes a record, as exportSession gives it, found ${describe(record)}`)
  const { id, progress } = optionsOf('importRecord', options, knownOfImport)
  const { head } = record
  const rows = [...record.rows] // it may give them only once
  return sessionTask(async () => {
    const name = id ?? record.id ?? randomId()
    const problem = againstOwnId(name)
    if (problem !== undefined) return left(problem)
    const meta = storedMeta(record.metadata, undefined, own(record, 'erasable'))
    if (isLeft(meta)) return meta
    const free = await isFree(store, name)
    if (isLeft(free)) return free
    const now = momentOf(store)
    if (isLeft(now)) return now
    const log = `${importPrefix}${randomId()}`
    const created = await store.create({ id: log, meta: partialMeta('import'), encrypt: true })()
    if (isLeft(created)) return created
    const timed = { [Symbol.iterator]: () => withTime(rows, now.right) }
    const stored = await storeImported(store, log, created.right.head, {
      id: name,
      head,
      rows: timed,
      erased: rowsErased(timed, store),
      reasons: async () => right(new Map()),
      progress,
    })
    const published = await publish(store, log, stored, {
      id: name,
      meta: meta.right,
      // Encrypted rows have another root, and so have rows that got their time here.
      root: store.encryption === undefined && isTimed(rows) ? head.root : undefined,
    })
    await store.remove(log)() // not what the session shares with it; if it fails, the answer is the same
    return isLeft(published) ? published : sessionInfo(published.right)
  }, 'importRecord')
}

const importPrefix = 'indelible.import.'

/** What is imported as a session. */
interface Imported {
  readonly id: string
  readonly head: ExportedHead
  readonly rows: Iterable<TimedExport>
  /** The rows that were erased. */
  readonly erased: readonly PlacedRow[]
  /** Why they were erased, where that is known. */
  readonly reasons: () => Promise<Either<StoreFault, Reasons>>
  readonly progress: ImportOptions['progress']
  /** The store that has the files of the messages. Undefined: the store that is written. */
  readonly from?: Store
}

/** Store rows in the log of an import. What stands for erased rows is first encrypted, then said in the ledger. */
const storeImported = async (
  store: Store,
  own: string,
  start: Head,
  imported: Imported,
): Promise<Head | ImportFault> => {
  const { id, head, rows, erased, reasons, progress, from } = ownFields(imported)
  const stubs: PlacedRow[] = []
  for (const { position, index, row } of erased) {
    const sealed = store.encryption?.rows(own, { expected: { ...start, size: position }, rows: [row] })
    if (sealed !== undefined && isLeft(sealed)) return sealed.left
    stubs.push({ position, index, row: { ...(sealed?.right.rows[0] ?? row), at: row.at } })
  }
  const said = await sayErased(store, own, id, head, stubs, reasons)
  if (isLeft(said)) return said.left
  return storeRows(store, own, start, rows, progress, from, stubs)
}

/** A session of the rows that are stored, if they are what they should be. */
const publish = async (
  store: Store,
  own: string,
  head: Head | ImportFault,
  { id, meta, root }: { readonly id: string; readonly meta: JsonObject; readonly root: string | undefined },
): Promise<Either<ImportFault, LogInfo>> => {
  if ('_tag' in head) return left(head)
  if (root !== undefined && head.root !== root) return left({ _tag: 'OtherHead', id, expected: root, found: head.root })
  return store.fork(own, { id, at: head.size, meta, sameKey: true })()
}

/** Whether there is no log of that id. */
const isFree = async (
  store: Store,
  id: string,
): Promise<Either<LogFault | StoreFaultOf<'LogExists'> | SessionFaultOf<'UnfinishedSession'>, void>> => {
  const found = await store.info(id)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? right(undefined) : found
  return isPartial(found.right)
    ? left({ _tag: 'UnfinishedSession', id, rows: found.right.head.size })
    : left({ _tag: 'LogExists', id })
}

/** The log of an import or a copy that has not finished. */
export interface Unfinished {
  /** The id of the session to be. */
  readonly id: string
  /** The function that began it. */
  readonly by: PartialOf
  /** The number of rows stored so far. */
  readonly rows: number
  /** The time of creation, in milliseconds since 1970. */
  readonly created: number
}

/**
 * List the logs of imports and copies that have not finished. Some may still be running: `removeUnfinished` makes such an
 * import or copy fail, and loses nothing else.
 *
 * Cost    O(logs of the scope)
 *
 * @param store the store to look in
 * @returns the logs
 */
export const listUnfinished = (store: Store): Task<ListFault, readonly Unfinished[]> =>
  sessionTask(async () => {
    const found: Unfinished[] = []
    for (const by of ['import', 'copy'] as const) {
      let after: string | undefined
      do {
        const page = await store.list({ where: partialMeta(by), ...(after !== undefined && { after }) })()
        if (isLeft(page)) return page
        for (const { id, head, created } of page.right.logs) found.push({ id, by, rows: head.size, created })
        after = page.right.next
      } while (after !== undefined)
    }
    return right(found)
  }, 'listUnfinished')

/**
 * Remove the log of an import or a copy that has not finished.
 *
 * @param store the store that has it
 * @param id the id that `listUnfinished` gave
 * @returns nothing; or `NoSuchLog` if there is no such log, also if it has become a session meanwhile
 */
export const removeUnfinished = (store: Store, id: string): Task<RemoveFault, void> =>
  sessionTask(async () => {
    const found = await store.info(id)()
    if (isLeft(found)) return found
    return isPartial(found.right) ? ownStore(store).remove(id)() : left({ _tag: 'NoSuchLog', id })
  }, 'removeUnfinished')

/** A session for an export. */
export interface ExportedSession extends Exported {
  /** Rows that are not what was appended: messages that say so stand in their place. Absent if there are none. */
  readonly damaged?: readonly DamagedRow[]
}

/**
 * Read a whole session for an export; `exportLines` writes it. Cost: that of opening the session.
 *
 * @param store the store that keeps it
 * @param id the id of the session
 * @returns the rows, the metadata and the head, without its root if rows are damaged; or `NoSuchLog`
 */
export const exportSession = (store: Store, id: string): Task<ReadSessionFault, ExportedSession> =>
  sessionTask(async () => {
    const opened = await readReadable(store, id)
    if (isLeft(opened)) return opened
    const { mirror, info } = opened.right
    const { metadata, erasable } = info
    const rows = { [Symbol.iterator]: () => rowsOf(mirror) }
    const { size, root } = mirror.head
    // The root is that of the encrypted rows, or of rows that are damaged.
    const head = info.encrypted || mirror.damaged.length > 0 ? { size } : { size, root }
    const { damaged } = mirror
    return right({ id, metadata, rows, head, erasable, ...(damaged.length > 0 && { damaged }) })
  }, 'exportSession')

function* rowsOf(mirror: Mirror): Generator<TimedExport> {
  for (const found of rowsIn(mirror, 0, mirror.head.size)) {
    const { row, at } = found
    const salt = mirror.salts.get(row)
    const erased = mirror.erased.get(row)
    const moment = { at, ...(salt !== undefined && { salt }), ...(erased !== undefined && { erased }) }
    if (found.kind === 'note') yield { note: found.note, ...moment }
    else yield { message: found.message as Message, page: found.page, ...moment }
  }
}

/**
 * Copy a session to another store, under the same id. A copy that was interrupted, or that another process is making,
 * is
 * continued. The rows in the other store must be the beginning of the record; otherwise nothing changes, and it is a
 * `Conflict` if the other session is longer, `Diverged` if it differs. At the end both heads are equal, or it is
 * `OtherHead`. Until then the copy is not a session.
 *
 * In a store with keys the copy of a plain session is encrypted: its head is another one, and it appears when it is whole.
 *
 * The copy has the record, its metadata, the stored files that its messages reference, the blocks that its receipts
 * name, and the hold of the session. The receipts of an encrypted session can only be read if both stores have keys
 * (`withKeys`): without them, those blocks are left behind, and `verifySession` names them in the copy. It does not have the time of creation or the operation ids, and a fork gets its own rows: it is held only if it is held itself.
 *
 * Cost    O(session), in pieces; the record is in memory meanwhile
 *
 * @param from the store to read
 * @param to the store to write
 * @param id the id of the session
 * @param options a callback for progress
 * @returns the description of the copy; or a fault
 */
export const copySession = (
  from: Store,
  to: Store,
  id: string,
  options: Pick<ImportOptions, 'progress'> = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('copySession', to)
  const { progress } = optionsOf('copySession', options, knownOfCopy)
  return sessionTask(async () => {
    const problem = againstOwnId(id)
    if (problem !== undefined) return left(problem)
    const own = ownStore(to)
    const plain = await plainSource(from, own, id)
    if (isLeft(plain)) return plain
    if (plain.right !== undefined) return copyIntoKeys(from, own, plain.right, progress)
    const source = await sourceOf(from, own, id, progress)
    if (isLeft(source)) return source
    const { head, meta, erased, store } = source.right
    const target = source.right.to
    for (;;) {
      const begun = await beginCopy(source.right.from, target, id, head)
      if (isLeft(begun)) return begun
      const start = begun.right.size // what is there already is erased at the end
      const coming = erased.filter(({ position }) => position >= start)
      const said = await sayErased(target, id, id, head, coming, () => reasonsIn(source.right.from))
      if (isLeft(said)) return said
      const stored = await store(begun.right)
      if (!('_tag' in stored)) {
        if (stored.root !== head.root) return left({ _tag: 'OtherHead', id, expected: head.root, found: stored.root })
        const beside = await bringBeside(from, own, id)
        if (beside !== undefined) return left(beside)
        const carried = await eraseThere(target, id, head, erased, source.right.from)
        if (isLeft(carried)) return carried
        const held = await holdThere(source.right.from, target, id, head)
        if (isLeft(held)) return held
        return finished(target, id, meta)
      }
      if (stored._tag !== 'Conflict') return left(stored) // else somebody else copies it too: look how far it is
    }
  }, 'copySession')
}

/** Bring the blocks that receipts of an encrypted session name, if its receipts can be read. */
const bringBeside = async (from: Store, to: Store, id: string): Promise<ImportFault | undefined> => {
  if (from.encryption === undefined || to.encryption === undefined) return undefined
  const found = await from.info(id)()
  if (isLeft(found)) return found.left
  if (!isEncryptedLog(found.right)) return undefined
  const opened = await readMirror(from, id)
  if (isLeft(opened)) return opened.left._tag === 'NoKey' ? undefined : opened.left
  return bringReceiptBlocks(from, to, opened.right.mirror)
}

/** A plain session that is to be copied into a store with keys, where there is no plain copy of it. */
const plainSource = async (
  from: Store,
  to: Store,
  id: string,
): Promise<Either<ReadSessionFault, Opened | undefined>> => {
  if (to.encryption === undefined) return right(undefined)
  const found = await from.info(id)()
  if (isLeft(found)) return found
  if (isEncryptedLog(found.right)) return right(undefined)
  const there = await to.info(id)()
  if (isLeft(there) && there.left._tag !== 'NoSuchLog') return there
  return !isLeft(there) && !isEncryptedLog(there.right) ? right(undefined) : readMirror(from, id)
}

/**
 * The copy of a plain session in a store with keys is encrypted, so its root is another. It appears whole, like an import;
 * what the session has got since is appended to it.
 */
const copyIntoKeys = async (
  from: Store,
  to: Store,
  { mirror, log }: Opened,
  progress: ImportOptions['progress'],
): Promise<Either<ImportFault, SessionInfo>> => {
  const { id, head } = mirror
  const erased = rowsErased(rowsOf(mirror), to)
  const rows = { [Symbol.iterator]: () => rowsOf(mirror) }
  const reasons = (): Promise<Either<StoreFault, Reasons>> => reasonsIn(from)
  const imported = { id, head, rows, erased, reasons, progress, from }
  const found = await to.info(id)()
  if (isLeft(found)) {
    if (found.left._tag !== 'NoSuchLog') return found
    const own = `${importPrefix}${randomId()}`
    const created = await to.create({ id: own, meta: partialMeta('import'), encrypt: true })()
    if (isLeft(created)) return created
    const stored = await storeImported(to, own, created.right.head, imported)
    const held = '_tag' in stored ? left(stored) : await holdThere(from, to, id, stored, own)
    const published = isLeft(held) ? held : await publish(to, own, stored, { id, meta: log.meta, root: undefined })
    await to.remove(own)()
    return isLeft(published) ? published : sessionInfo(published.right)
  }
  const start = found.right.head
  const same = await isBeginning(to, id, start, mirror)
  if (isLeft(same)) return same
  if (!same.right) return left({ _tag: 'Diverged', id, expected: head, actual: start })
  const rest = {
    ...imported,
    rows: after(rowsOf(mirror), start.size),
    erased: erased.filter(({ position }) => position >= start.size),
  }
  const stored = start.size === head.size ? start : await storeImported(to, id, start, rest)
  if ('_tag' in stored) return left(stored)
  const carried = await eraseThere(
    to,
    id,
    stored,
    erased.filter(({ position }) => position < start.size),
    from,
  )
  if (isLeft(carried)) return carried
  const held = await holdThere(from, to, id, stored)
  if (isLeft(held)) return held
  const there = await to.info(id)()
  return isLeft(there) ? there : sessionInfo(there.right)
}

/** Whether the rows of an encrypted copy are the first rows of the record. What was erased in one of them counts as equal. */
const isBeginning = async (
  to: Store,
  id: string,
  { size }: Head,
  mirror: Mirror,
): Promise<Either<LogFault, boolean>> => {
  const rows = rowsOf(mirror)
  for (let position = 0; position < size;) {
    const read = await to.read(id, { from: position, to: Math.min(position + mostRows, size) })()
    if (isLeft(read)) return read
    for (const row of read.right) {
      const next = rows.next()
      const encoded = next.done === true ? undefined : encodedOf(next.value, to)
      if (encoded === undefined || isLeft(encoded)) return right(false)
      const { kind, body, at, erased } = encoded.right.row
      const isErased = row.erased !== undefined || erased !== undefined
      if (kind !== row.kind || at !== row.at || (!isErased && body !== row.body)) return right(false)
    }
    position += read.right.length
  }
  return right(true)
}

/** What is copied, and between which stores. */
interface Source {
  readonly from: Store
  readonly to: Store
  readonly head: Head
  readonly meta: JsonObject
  /** The rows that were erased. */
  readonly erased: readonly PlacedRow[]
  /** Store the rows behind those that are there. */
  readonly store: (start: Head) => Promise<Head | StoringFault | NewLogFault>
}

/** An encrypted session is copied as it is stored. */
const sourceOf = async (
  from: Store,
  to: Store,
  id: string,
  progress: ImportOptions['progress'],
): Promise<Either<ReadSessionFault, Source>> => {
  const bare = { from: from.encryption?.bare ?? from, to: ownStore(to.encryption?.bare ?? to) }
  const found = await bare.from.info(id)()
  if (isLeft(found)) return found
  if (isEncryptedLog(found.right)) {
    const { head, meta } = found.right
    const info = sessionInfo(found.right)
    const store = (start: Head): ReturnType<Source['store']> =>
      storeEncrypted(bare.from, bare.to, found.right, start, from.encryption, progress)
    if (isLeft(info)) return info
    const erased = await encryptedRowsErased(bare.from, found.right)
    return isLeft(erased) ? erased : right({ ...bare, head, meta, erased: erased.right, store })
  }
  const opened = await readMirror(from, id)
  if (isLeft(opened)) return opened
  const { mirror, log } = opened.right
  const store = (start: Head): ReturnType<Source['store']> =>
    storeRows(to, id, start, after(rowsOf(mirror), start.size), progress, from)
  const erased = rowsErased(rowsOf(mirror), to)
  return right({ from, to, head: mirror.head, meta: log.meta, erased, store })
}

/** The rows of a record that were erased, as they are stored, each with its place. */
const rowsErased = (rows: Iterable<TimedExport>, store: Store): readonly PlacedRow[] => {
  const found: PlacedRow[] = []
  let position = 0
  let messages = 0
  for (const row of rows) {
    if (own(row, 'erased') !== undefined) {
      const encoded = encodedOf(row, store)
      const index = 'message' in row ? messages : position - messages
      if (!isLeft(encoded)) found.push({ position, index, row: encoded.right.row })
    }
    position += 1
    if ('message' in row) messages += 1
  }
  return found
}

type Reasons = ReadonlyMap<string, Erasure>

/** Why the rows of a store were erased, by their place and leaf. */
const reasonsIn = async (store: Store): Promise<Either<StoreFault, Reasons>> => {
  const content = await ledgerContent(store)
  if (isLeft(content)) return content
  return right(
    new Map(content.right.erasures.flatMap((one) => one.rows.map(({ row, leaf }) => [`${row} ${leaf}`, one] as const))),
  )
}

/** Say in a ledger what was erased elsewhere, so that rows without a text can be stored. Nothing, where it is said already. */
const sayErased = async (
  store: Store,
  own: string,
  id: string,
  head: ExportedHead,
  rows: readonly PlacedRow[],
  reasons: () => Promise<Either<StoreFault, Reasons>>,
): Promise<Either<ImportFault, void>> => {
  if (rows.length === 0) return right(undefined)
  const why = await reasons()
  if (isLeft(why)) return why as Either<ImportFault, never>
  const identities = await store.identities(own)()
  if (isLeft(identities)) return identities
  const said = await appendToLedger(store, async (ledger) => {
    if (ledger.held.has(own)) return left<StoreFaultOf<'LogHeld'>>({ _tag: 'LogHeld', id: own })
    const groups = new Map<Erasure | undefined, ErasedRow[]>()
    for (const { position, index, row } of rows) {
      const { kind, body, at, erased: leaf = '' } = row
      const stood = { position, kind, body, erased: leaf, at }
      if (erasureOf(ledger, stood, identities.right, store.hash) !== undefined) continue
      const by = why.right.get(`${position} ${leaf}`)
      const group = groups.get(by) ?? []
      groups.set(by, group)
      group.push({
        log: identityAt(identities.right, position),
        row: position,
        kind,
        index,
        leaf,
        stub: stubLeaf(stood, store.hash),
      })
    }
    const news = [...groups].map(([by, named]): LedgerRow => ({
      type: 'erased',
      id,
      head: { size: head.size, root: head.root ?? headOf(emptyRange, store.hash).root },
      rows: named,
      copied: copiedOf(by),
    }))
    return right({ rows: news, more: {} })
  })
  return isLeft(said) ? (said as Either<ImportFault, never>) : right(undefined)
}

/** What the other store says, which is no word of this one. */
const copiedOf = (by: Erasure | undefined): CopiedClaim => {
  if (by?.copied !== undefined) return by.copied
  const { at, reason, by: person } = by ?? { at: undefined, reason: 'erased before it was exported', by: undefined }
  return {
    ...(at !== undefined && { at }),
    ...(reason !== undefined && { reason }),
    ...(person !== undefined && { by: person }),
  }
}

/** Erase in a copy what was erased in the record since it was copied. */
const eraseThere = async (
  to: Store,
  id: string,
  expected: Head,
  rows: readonly PlacedRow[],
  from: Store,
): Promise<Either<ImportFault, void>> => {
  if (rows.length === 0) return right(undefined)
  const why = await reasonsIn(from)
  if (isLeft(why)) return why as Either<ImportFault, never>
  const first = rows
    .map(({ position, row }) => why.right.get(`${position} ${row.erased}`))
    .find((by) => by !== undefined)
  const erased = await to.erase({
    logs: [{ id, expected, rows: rows.map(({ position, row }) => ({ position, stub: row.body })) }],
    copied: copiedOf(first),
  })()
  return isLeft(erased) ? erased : right(undefined)
}

/** Hold a copy where the session is held. Before it is a session: so it is never one that can be erased. */
const holdThere = async (
  from: Store,
  to: Store,
  id: string,
  head: Head,
  own = id,
): Promise<Either<ImportFault, void>> => {
  const content = await ledgerContent(from)
  if (isLeft(content)) return content as Either<ImportFault, never>
  const hold = content.right.held.get(id)
  if (hold === undefined) return right(undefined)
  const { reason, by } = hold
  const identities = await to.identities(own)()
  if (isLeft(identities)) return identities
  const row: LedgerRow = {
    type: 'held',
    id,
    head,
    logs: identities.right,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  }
  const said = await appendToLedger(to, async ({ held }) => right({ rows: held.has(id) ? [] : [row], more: {} }))
  return isLeft(said) ? (said as Either<ImportFault, never>) : right(undefined)
}

/** What was partial is a session from now on. */
const finished = async (
  store: Store,
  id: string,
  meta: JsonObject,
): Promise<Either<UpdateFault | NoSessionFault, SessionInfo>> => {
  const log = await store.info(id)()
  if (isLeft(log) || !isPartialOf(log.right, 'copy')) return isLeft(log) ? log : sessionInfo(log.right)
  const whole = await store.update(id, { expected: log.right.version, meta })()
  if (isLeft(whole) && whole.left._tag === 'MetaConflict') return finished(store, id, meta) // somebody else was quicker
  return isLeft(whole) ? whole : sessionInfo(whole.right)
}

type BeginFault =
  | NewLogFault
  | UpdateFault
  | VerifyFault
  | StoreFaultOf<'Conflict'>
  | SessionFaultOf<'UnfinishedSession'>

/** How far the copy is, which is the beginning of the record. */
const beginCopy = async (from: Store, to: Store, id: string, head: Head): Promise<Either<BeginFault, Head>> => {
  const found = await to.info(id)()
  if (isLeft(found) && found.left._tag !== 'NoSuchLog') return found
  if (!isLeft(found) && isPartialOf(found.right, 'import'))
    return left({ _tag: 'UnfinishedSession', id, rows: found.right.head.size })
  const begun = isLeft(found) ? await to.create({ id, meta: partialMeta('copy'), encrypt: false })() : found
  if (isLeft(begun)) return begun.left._tag === 'LogExists' ? beginCopy(from, to, id, head) : begun
  const start = begun.right.head
  const common = Math.min(start.size, head.size)
  const [here, there] = [await rangeAt(from, id, common)(), await rangeAt(to, id, common)()]
  if (isLeft(here)) return here
  if (isLeft(there)) return there
  if (headOf(here.right, from.hash).root !== headOf(there.right, to.hash).root)
    return left({ _tag: 'Diverged', id, expected: head, actual: start })
  if (start.size === common) return right(start)
  const missed = await to.read(id, { from: common, to: Math.min(start.size, common + maxMissed) })()
  return isLeft(missed) ? missed : left({ _tag: 'Conflict', id, expected: head, actual: start, missed: missed.right })
}

/** A row that says when it was written. */
type TimedExport = ExportedRow & { readonly at: number }

/** Rows that do not say when they were written are written now. */
const withTime = function* (rows: Iterable<ExportedRow>, now: number): Generator<TimedExport> {
  for (const row of rows) yield { at: now, ...row }
}

const isTimed = (rows: Iterable<ExportedRow>): boolean => {
  for (const { at } of rows) if (at === undefined) return false
  return true
}

const after = function* <T>(values: Iterable<T>, count: number): Generator<T> {
  let seen = 0
  for (const value of values) if (seen++ >= count) yield value
}

/** How many rows, and how many characters of them, are appended at once. */
const mostRows = 1000
const mostText = 4_000_000

type StoringFault = AppendFault | BlockFault | SessionFaultOf<'InvalidMessage' | 'InvalidNote'> | CallbackThrew

const storeRows = async (
  store: Store,
  id: string,
  start: Head,
  rows: Iterable<TimedExport>,
  progress: ImportOptions['progress'],
  from?: Store,
  stubs: readonly PlacedRow[] = [],
): Promise<Head | StoringFault> => {
  const stubAt = new Map(stubs.map(({ position, row }) => [position, row]))
  let position = start.size
  let head = start
  let waiting: TimedEncoded[] = []
  let named = new Set<BlockId>()
  let text = 0
  const flush = async (): Promise<StoringFault | undefined> => {
    const attachments = from === undefined ? [] : [...new Set(waiting.flatMap((row) => row.attachments))] // without, the store looks for them itself
    const brought = await lacking(store, attachments, from)
    if (isLeft(brought)) return brought.left
    const appended = await store.append(id, {
      expected: head,
      rows: waiting.map(({ row }) => row),
      blocks: [...waiting.flatMap(({ blocks }) => blocks), ...brought.right],
      terms: termsOf,
    })()
    if (isLeft(appended)) return appended.left
    const beside = from === undefined ? undefined : await bringBlocks(from, store, [...named])
    if (beside !== undefined) return beside
    head = appended.right.head
    waiting = []
    named = new Set()
    text = 0
    const told = called('progress', () => progress?.(head.size))
    return isLeft(told) ? told.left : undefined
  }
  let index = 0
  for (const row of rows) {
    const encoded = encodedOf(row, store)
    if (isLeft(encoded))
      return encoded.left._tag === 'InvalidNote' ? encoded.left : { _tag: 'InvalidMessage', index, cause: encoded.left }
    const stub = stubAt.get(position++)
    waiting.push(stub === undefined ? encoded.right : { ...encoded.right, row: stub })
    text += encoded.right.row.body.length + encoded.right.blocks.reduce((sum, block) => sum + block.length, 0)
    if ('message' in row) index += 1
    else for (const id of blocksNamedBy(row.note)) named.add(id)
    const fault = waiting.length >= mostRows || text >= mostText ? await flush() : undefined
    if (fault !== undefined) return fault
  }
  return (waiting.length === 0 ? undefined : await flush()) ?? head
}

/** A row to store, which says when it was written. */
type TimedEncoded = EncodedRow & { readonly row: TimedRow }

const encodedOf = (
  given: TimedExport,
  { hash }: Store,
): Either<MessageFault | SessionFaultOf<'InvalidNote'>, TimedEncoded> => {
  const row = ownFields(given)
  const { at, salt, erased } = row
  const moment = { at, ...(salt !== undefined && { salt }), ...(erased !== undefined && { erased }) }
  const encoded =
    'note' in row ? encodedNote(row.note) : encodedMessage(row.message, row.page, erased !== undefined, hash)
  return isLeft(encoded) ? encoded : right({ ...encoded.right, row: { ...encoded.right.row, ...moment } })
}

const encodedNote = (note: Note): Either<SessionFaultOf<'InvalidNote'>, EncodedRow> => {
  const decoded = decodeNote(note)
  if (isLeft(decoded)) return left({ _tag: 'InvalidNote', reason: noteFaultText(decoded.left) })
  return right({ row: { kind: 'note', body: JSON.stringify(note) }, blocks: [], attachments: [] })
}

const encodedMessage = (
  given: Message,
  page: PageKind,
  erased: boolean,
  hash: Store['hash'],
): Either<MessageFault, EncodedRow> => {
  const decoded = decodeMessage(given)
  if (isLeft(decoded)) return decoded
  if (!isPageKind(page))
    return left({
      _tag: 'UnexpectedShape',
      path: ['page'],
      expected: `one of ${pageKinds.join(', ')}`,
      found: describe(page),
    })
  const message = decoded.right
  const tagged = page !== classify(message)
  if (!erased) return isErased(message) ? left(erasedCause(message)) : encodeRow(message, page, tagged, hash)
  return right({ row: { kind: 'entry', body: erasedBody(message, { page, tagged }) }, blocks: [], attachments: [] })
}

const knownOfImport = { id: true, progress: true } as const

const knownOfCopy = { progress: true } as const
