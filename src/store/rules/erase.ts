/**
 * Erases rows of logs. A stub replaces each body, the leaf remains, and a row of the scope's ledger
 * records what was erased, why, by whom and when. Up to 256 rows are one transaction of the driver.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { freezeResult, present, isLeft, left, right, ownFields, isCount } from '../../json/index.ts'
import { emptyRange, type BlockId } from '../../proof/internal.ts'
import { retry } from './retry.ts'
import { checkAppend } from '../port/plan.ts'
import type { Answer, CheckedErasure, StoreDriver } from '../port/driver.ts'
import type { EraseResult, EraseRequest, RemainingBlock, RowsToErase, Sharing } from '../port/erasing.ts'
import type { StoreFault } from '../fault.ts'
import { identitiesIn, identityAt } from '../port/identity.ts'
import { claimIn } from '../port/lease.ts'
import { ledgerContent, stubLeaf, type LedgerContent } from './ledger.ts'
import { actionReasonOf, ledgerId, ledgerRow, type ErasedRow, type Hold, type LedgerRow } from '../port/ledger-row.ts'
import { ownIdFault } from '../port/own-logs.ts'
import type { Head, StoredRow } from '../port/row.ts'
import { tokensIn } from '../port/row-tokens.ts'
import { nextTurn, sliceRows, Slices } from '../port/slices.ts'
import { sameHead } from './rules.ts'
import type { Store } from '../port/store.ts'
import { headOf, rowLeaf } from '../port/tree.ts'

/** The part of a store needed to erase rows and to check erased ones. */
export type InnerStore = Pick<Store, 'info' | 'read' | 'nodes' | 'hash' | 'scope' | 'now'>

/** Erase rows with a driver. `store` is the store of that driver, for reading. */
export const eraseRows = async (driver: StoreDriver, store: InnerStore, request: EraseRequest): Answer<EraseResult> => {
  const { logs, reason, by, copied, cleanLater = false } = ownFields(request)
  const { erasing } = driver
  if (erasing === undefined) return left({ _tag: 'CannotErase' })
  const remaining = new Map<BlockId, RemainingBlock>()
  let count = 0
  return retry(async (isLast): Promise<Either<StoreFault, EraseResult> | undefined> => {
    const content = await ledgerContent(store)
    if (isLeft(content)) return content
    const { held } = content.right
    let { head: ledgerHead = headOf(emptyRange, store.hash) } = content.right
    const checked: CheckedErasure['logs'][number][] = []
    const news: LedgerRow[] = []
    const reading = new Slices()
    for (const log of logs) {
      const problem = ownIdFault(log.id)
      if (problem !== undefined) return left(problem)
      const found = await rowsOf(store, log)
      if (isLeft(found)) return found
      const info = await store.info(log.id)()
      if (isLeft(info)) return info
      const identities = identitiesIn(info.right.meta)
      if (held.size > 0 && found.right.length > 0) {
        const shares = await erasing.sharing(store.scope, log.id)
        if (isLeft(shares)) return shares
        const first = found.right.reduce((least, { position }) => Math.min(least, position), Infinity)
        const keeping = holdsWithRowCounts(held, { id: log.id, rows: Infinity }, shares.right).find(
          ({ rows }) => rows > first,
        )
        if (keeping !== undefined)
          return left({ _tag: 'LogHeld', id: keeping.hold.id, ...actionReasonOf(keeping.hold) })
      }
      const byPosition = new Map(log.rows.map((row) => [row.position, row]))
      const rows: CheckedErasure['logs'][number]['rows'][number][] = []
      const named: ErasedRow[] = []
      for (const row of found.right) {
        const { position, kind, index, body, at } = row
        const { stub, digests } = ownFields(byPosition.get(position) as RowsToErase['rows'][number])
        const leaf = rowLeaf(row, store.hash)
        rows.push({ position, leaf, stub, tokens: tokensIn(row) })
        named.push({
          log: identityAt(identities, position),
          row: position,
          kind,
          index,
          leaf: bytesToHex(leaf),
          stub: stubLeaf({ kind, body: stub, at }, store.hash),
          ...present({ digests }),
        })
        await reading.next(body.length + stub.length)
      }
      checked.push({ id: log.id, expected: log.expected, ...claimIn(log), rows })
      if (rows.length === 0) continue
      news.push({
        type: 'erased',
        id: log.id,
        head: log.expected,
        rows: named,
        ...actionReasonOf({ reason, by }),
        ...(copied && { copied }),
      })
    }
    if (news.length === 0 && cleanLater)
      return right(freezeResult({ head: content.right.head, rows: count, blocks: [], residue: [] }))
    if (news.length === 0) {
      const again = await erasing.erase(store.scope, undefined)
      return isLeft(again) ? again : right(freezeResult({ ...again.right, head: content.right.head, rows: count }))
    }
    const at = store.now() // one time for all: receipts use it to group what was erased together
    const slices = slicesOf(checked, news)
    for (const [index, { logs, ledgerRows }] of slices.entries()) {
      const added = ownFields({ expected: ledgerHead, rows: ledgerRows.map((row) => ledgerRow(row, at)) })
      const append = checkAppend(added, store)
      if (isLeft(append)) return append
      const ledger = { id: ledgerId, meta: { [ledgerId]: 1 } as const, append: append.right }
      const isLastSlice = index === slices.length - 1
      const slice = cleanLater || !isLastSlice ? 'one of several' : 'last'
      const done = await erasing.erase(store.scope, { logs, ledger, slice })
      if (isLeft(done)) {
        const isLate = done.left._tag === 'Conflict' && done.left.id === ledgerId
        return isLate && !isLast ? undefined : done
      }
      const { head, blocks, residue } = done.right
      for (const block of blocks) remaining.set(block.block, block)
      count += logs.reduce((sum, { rows }) => sum + rows.length, 0)
      if (isLastSlice) {
        // A later slice may have dropped a block that an earlier one left.
        const there = slices.length === 1 ? undefined : await driver.hasBlocks(store.scope, [...remaining.keys()])
        if (there !== undefined && isLeft(there)) return there
        const left = [...remaining.values()].filter(({ block }) => there?.right.has(block) !== false)
        return right(freezeResult({ head, rows: count, blocks: left, residue }))
      }
      ledgerHead = head as Head // something was appended
      await nextTurn()
    }
    return undefined // there is at least one slice
  })
}

interface Slice {
  readonly logs: CheckedErasure['logs'][number][]
  readonly ledgerRows: LedgerRow[]
}

/** At most 256 rows in each transaction, so that other calls run in between. Each slice has its rows of the ledger. */
const slicesOf = (checked: CheckedErasure['logs'], ledgerRows: readonly LedgerRow[]): readonly Slice[] => {
  const slices: Slice[] = []
  let left = 0
  const namedOf = new Map(ledgerRows.map((row) => [row.id, row]))
  // Of a log without rows, only the head is compared: with the first slice.
  for (const log of checked.toSorted((a, b) => Math.min(1, a.rows.length) - Math.min(1, b.rows.length))) {
    const named = namedOf.get(log.id)
    for (let from = 0; from < Math.max(1, log.rows.length);) {
      if (left === 0) {
        slices.push({ logs: [], ledgerRows: [] })
        left = sliceRows
      }
      const slice = slices.at(-1) as Slice
      const to = Math.min(log.rows.length, from + left)
      slice.logs.push({ ...log, rows: log.rows.slice(from, to) })
      if (named?.type === 'erased' && to > from) slice.ledgerRows.push({ ...named, rows: named.rows.slice(from, to) })
      left -= to - from
      from = Math.max(to, from + 1)
    }
  }
  return slices
}

/**
 * The holds on the rows of a log: its own, and those of the logs that share its first rows.
 *
 * @param held all holds of the scope
 * @param log the log, and its number of rows
 * @param shares the logs that share rows with it
 * @returns each hold, and the number of first rows it covers
 */
export const holdsWithRowCounts = (
  held: LedgerContent['held'],
  log: Sharing,
  shares: readonly Sharing[],
): readonly { readonly hold: Hold; readonly rows: number }[] =>
  [log, ...shares].flatMap(({ id, rows }) => {
    const hold = held.get(id)
    return hold === undefined ? [] : [{ hold, rows }]
  })

/** The rows of a log to erase, without those erased before. */
const rowsOf = async (store: InnerStore, { id, expected, rows }: RowsToErase): Answer<readonly StoredRow[]> => {
  const info = await store.info(id)()
  if (isLeft(info)) return info
  const { head } = info.right
  if (!sameHead(head, expected)) return left({ _tag: 'Conflict', id, expected, actual: head, missed: [] })
  const positions = [...new Set(rows.map(({ position }) => position))].toSorted((a, b) => a - b)
  const found: StoredRow[] = []
  const slices = new Slices()
  for (const position of positions) {
    if (!isCount(position) || position >= head.size)
      return left({ _tag: 'BeyondEnd', id, at: position, size: head.size })
    const read = await store.read(id, { from: position, to: position + 1 })()
    if (isLeft(read)) return read
    const [row] = read.right
    if (row !== undefined && row.erased === undefined) found.push(row)
    await slices.next(row?.body.length)
  }
  return right(found)
}
