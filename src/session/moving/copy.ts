/** Copies a session from one store to another. */
import { checkStore } from '../record/store-of.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, optionsOf } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type {
  Head,
  Store,
  StoreFault,
  NewLogFault,
  LogFault,
  StoreFaultOf,
  UpdateFault,
  VerifyFault,
} from '../../store/index.ts'
import { againstOwnId, headOf, isEncryptedLog, maxMissed, ownStore, rangeAt } from '../../store/kit.ts'
import type { Task } from '../../task/index.ts'
import {
  sessionTask,
  type ImportFault,
  type NoSessionFault,
  type ReadSessionFault,
  type SessionFaultOf,
} from '../fault.ts'
import { isPartialOf, partialMeta, sessionInfo, type SessionInfo } from '../record/metadata.ts'
import type { Mirror } from '../record/mirror.ts'
import { encryptedRowsErased, storeEncrypted, type PlacedRow } from './copy-encrypted.ts'
import { randomId } from '../opening/open.ts'
import { readMirror, type Opened } from '../record/read.ts'
import { bringReceiptBlocks } from '../erasing/receipt-blocks.ts'
import { importPrefix, publish, storeImported } from './import.ts'
import { type Reasons, eraseThere, holdThere, reasonsIn, rowsErased, sayErased } from './carry-erasures.ts'
import { rowsOf } from './export.ts'
import { type ImportOptions, type StoringFault, after, encodedOf, mostRows, storeRows } from './store-rows.ts'

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

const knownOfCopy = { progress: true } as const
