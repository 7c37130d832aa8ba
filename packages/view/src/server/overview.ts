/** The details of a session in a list: first words, models, tokens, cost, and state. */
import { isArray, isLeft, present } from 'indelible/internal/json'
import { describeSession, readRange, type SessionInfo } from 'indelible/session'
import { breakIn, callsIn, explainCalls, receiptCalls, summedCalls } from 'indelible/internal/usage'
import type { Store, StoredRow } from 'indelible/store'
import { ledgerContent, type LedgerContent, type Erasure } from 'indelible/internal/store'
import { reasonOf } from 'indelible/internal/task'
import { firstWordsOf, importedFrom, spendingOf } from '../texts/about.ts'
import type { Overview } from '../protocol.ts'
import { noteIn } from '../calls/model-calls.ts'
import { Verdicts } from './verdict.ts'

/** Overviews of sessions, each cached until its session grows or part of it is erased. */
export const overviewsOf = (
  store: Store,
  verdicts: Pick<Verdicts, 'foundIn'> = new Verdicts(store),
): ((ids: readonly string[]) => Promise<readonly Overview[]>) => {
  const known = new Map<string, { readonly state: string; readonly overview: Overview }>()
  let erased: { readonly of: LedgerContent['erasures']; readonly rows: ErasedRows } = { of: [], rows: new Map() }
  const overviewOf = async (
    id: string,
    ledger: Pick<LedgerContent, 'held'>,
    erasedRows: ErasedRows,
  ): Promise<Overview> => {
    const info = await describeSession(store, id)
    const erasures = await erasuresFrom(store, info, erasedRows)
    const erased = erasures.reduce((sum, { rows }) => sum + rows.length, 0)
    const state = `${info.head.root} ${erased}`
    const hold = ledger.held.get(id)
    const { reason, by } = hold ?? {}
    const held = hold && { held: { ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) } }
    let kept = known.get(id)
    if (kept?.state !== state) {
      const words = await wordsOf(store, info)
      const notes = info.head.size === info.len ? [] : await store.read(id, { only: 'note' })
      const own = { id, words, ...callsOf(info, notes) }
      const sealed = isSealed(info, notes)
      kept = {
        state,
        overview: { ...own, ...(erased > 0 && { erased, erasures }), ...(sealed && { sealed: true as const }) },
      }
    }
    known.delete(id)
    if (info.encrypted !== true) known.set(id, kept) // a key can be destroyed at any time
    if (known.size > mostKept) known.delete(known.keys().next().value as string)
    return { ...verdicts.foundIn(info), ...kept.overview, ...held }
  }
  return async (ids) => {
    const found = await ledgerContent(store)
    const ledger = isLeft(found) ? noLedger : found.right
    if (erased.of !== ledger.erasures) erased = { of: ledger.erasures, rows: erasedRowsIn(ledger.erasures) }
    const overviews: Overview[] = []
    for (let from = 0; from < ids.length; from += sessionsAtOnce) {
      const some = ids.slice(from, from + sessionsAtOnce).map((id) =>
        overviewOf(id, ledger, erased.rows).catch((cause: unknown): Overview => {
          known.delete(id)
          return { ...emptyOverview, id, unreadable: reasonOf(cause) }
        }),
      )
      for (const overview of await Promise.all(some)) overviews.push(overview)
      await new Promise(setImmediate) // let other calls run
    }
    return overviews
  }
}

/** The most sessions to inspect at the same time: a remote store answers slowly. */
const sessionsAtOnce = 16

const noLedger: Pick<LedgerContent, 'held' | 'erasures'> = { held: new Map(), erasures: [] }
const emptyOverview: Omit<Overview, 'id'> = { words: '', models: [], input: 0, output: 0 }

/** The erased messages by log identity: each row, with the ledger's entry about it. */
type ErasedRows = ReadonlyMap<string, ReadonlyMap<number, Erasure>>

const erasedRowsIn = (erasures: LedgerContent['erasures']): ErasedRows => {
  const found = new Map<string, Map<number, Erasure>>()
  for (const erasure of erasures)
    for (const { log, row, kind } of erasure.rows) {
      if (kind !== 'entry') continue
      const of = found.get(log) ?? new Map<number, Erasure>()
      found.set(log, of.set(row, erasure))
    }
  return found
}

/** The erasures of a session's messages, including those made for another session that shares its rows. */
const erasuresFrom = async (
  store: Store,
  { id, head }: SessionInfo,
  erased: ErasedRows,
): Promise<NonNullable<Overview['erasures']>> => {
  if (erased.size === 0) return []
  const identities = await store.identities(id)
  const found = new Map<Erasure, number[]>()
  for (const [index, { log, from }] of identities.entries()) {
    const to = identities[index + 1]?.from ?? head.size
    for (const [row, erasure] of erased.get(log) ?? [])
      if (row >= from && row < to) found.set(erasure, [...(found.get(erasure) ?? []), row])
  }
  return Array.from(found, ([{ at, by, reason }, rows]) => ({ at, rows, ...present({ by, reason }) }))
}

const isSealed = ({ head }: SessionInfo, notes: readonly StoredRow[]): boolean => {
  const last = notes.at(-1)
  return last?.position === head.size - 1 && noteIn(last.body)?.type === 'seal'
}

const mostKept = 20_000
const mostWords = 200

/** The user's first message; for a fork, the first of its own. */
const wordsOf = async (store: Store, { id, len, forkedFrom }: SessionInfo): Promise<string> => {
  const from = forkedFrom !== undefined && forkedFrom.at < len ? forkedFrom.at : 0
  const { view } = await readRange(store, id, from, from + 12)
  return firstWordsOf(view)
    .slice(0, mostWords * 2)
    .replaceAll(/\s+/g, ' ')
    .slice(0, mostWords)
}

type Spending = Omit<Overview, 'id' | 'words'>

/** The calls of a session, from its receipts and its imported file. */
const callsOf = (info: SessionInfo, notes: readonly StoredRow[]): Spending => {
  const imported = importedFrom(info)
  const receipts = receiptCalls(info, notes)
  // A file's figures cover the whole session. A fork has only part of it, and gets none.
  const uses = info.forkedFrom === undefined ? [...summedCalls(imported), ...receipts] : receipts
  const { models: named } = imported
  const models = new Set(uses.flatMap(({ model }) => (model === '' ? [] : model)))
  return {
    models: models.size > 0 || !isArray(named) ? [...models] : named.filter((model) => typeof model === 'string'),
    ...spendingOf(uses.filter(({ isShared }) => isShared !== true)),
    ...breaksIn(info, notes),
  }
}

/** Of a fork those of its own calls. */
const breaksIn = (info: SessionInfo, notes: readonly StoredRow[]): Pick<Overview, 'breaks'> => {
  const own = explainCalls(callsIn(info, notes)).filter(({ isShared }) => isShared !== true)
  const breaks = own.filter((call) => breakIn(call) !== undefined).length
  return breaks === 0 ? {} : { breaks }
}
