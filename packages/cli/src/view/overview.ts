/** What a list shows of a session beside its description: its first words, its models, tokens, money, and what became of it. */
import { usageDollars } from 'indelible/context/kit'
import { isLeft, isObject, parseJson } from 'indelible/json/kit'
import { decodeNote, type Note } from 'indelible/notes/kit'
import { describeSession, readRange, type SessionInfo } from 'indelible/session'
import { usesIn, type CallUse } from 'indelible/session/kit'
import type { Store, StoredRow } from 'indelible/store'
import { ledgerContent, type LedgerContent } from 'indelible/store/kit'
import { reasonOf } from 'indelible/task/kit'
import { textOf, type Message } from 'indelible/message'
import type { Overview } from './protocol.ts'

/** Overviews of sessions, each kept until its session grows or is erased from. */
export const overviewsOf = (store: Store): ((ids: readonly string[]) => Promise<readonly Overview[]>) => {
  const known = new Map<string, { readonly state: string; readonly overview: Overview }>()
  let erased: { readonly of: LedgerContent['erasures']; readonly rows: ErasedRows } = { of: [], rows: new Map() }
  const looked = async (id: string, ledger: Pick<LedgerContent, 'held'>, erasedRows: ErasedRows): Promise<Overview> => {
    const info = await describeSession(store, id)
    const erased = await erasedOf(store, info, erasedRows)
    const state = `${info.head.root} ${erased}`
    const hold = ledger.held.get(id)
    const held = hold && {
      held: {
        ...(hold.reason !== undefined && { reason: hold.reason }),
        ...(hold.by !== undefined && { by: hold.by }),
      },
    }
    let kept = known.get(id)
    if (kept?.state !== state) {
      const words = await wordsOf(store, info)
      const notes = info.head.size === info.len ? [] : await store.read(id, { only: 'note' })
      const own = { id, words, ...spendingOf(info, notes) }
      const sealed = isSealed(info, notes)
      kept = { state, overview: { ...own, ...(erased > 0 && { erased }), ...(sealed && { sealed: true as const }) } }
    }
    known.delete(id)
    if (info.encrypted !== true) known.set(id, kept) // a key can be destroyed at any time
    if (known.size > mostKept) known.delete(known.keys().next().value as string)
    return { ...kept.overview, ...held }
  }
  return async (ids) => {
    const found = await ledgerContent(store)
    const ledger = isLeft(found) ? noLedger : found.right
    if (erased.of !== ledger.erasures) erased = { of: ledger.erasures, rows: erasedRowsIn(ledger.erasures) }
    const overviews: Overview[] = []
    for (let from = 0; from < ids.length; from += together) {
      const some = ids.slice(from, from + together).map((id) =>
        looked(id, ledger, erased.rows).catch((cause: unknown): Overview => {
          known.delete(id)
          return { ...empty, id, unreadable: reasonOf(cause) }
        }),
      )
      overviews.push(...(await Promise.all(some)))
      await new Promise(setImmediate) // other calls wait
    }
    return overviews
  }
}

/** How many sessions are looked into at once: a store in a network answers each after a while. */
const together = 16

const noLedger: Pick<LedgerContent, 'held' | 'erasures'> = { held: new Map(), erasures: [] }
const empty: Omit<Overview, 'id'> = { words: '', models: [], calls: 0, input: 0, cached: 0, output: 0 }

/** The positions of erased messages, by the identity of the log that they are of. */
type ErasedRows = ReadonlyMap<string, ReadonlySet<number>>

const erasedRowsIn = (erasures: LedgerContent['erasures']): ErasedRows => {
  const found = new Map<string, Set<number>>()
  for (const { rows } of erasures)
    for (const { log, row, kind } of rows) {
      if (kind !== 'entry') continue
      const of = found.get(log) ?? new Set()
      found.set(log, of.add(row))
    }
  return found
}

/** How many messages of a session were erased, also for another session that it shares rows with. */
const erasedOf = async (store: Store, { id, head }: SessionInfo, erased: ErasedRows): Promise<number> => {
  if (erased.size === 0) return 0
  const identities = await store.identities(id)
  let count = 0
  for (const [index, { log, from }] of identities.entries()) {
    const to = identities[index + 1]?.from ?? head.size
    for (const row of erased.get(log) ?? []) if (row >= from && row < to) count += 1
  }
  return count
}

/** Whether its last row ends it. */
const isSealed = ({ head }: SessionInfo, notes: readonly StoredRow[]): boolean => {
  const last = notes.at(-1)
  return last?.position === head.size - 1 && noteIn(last.body)?.type === 'seal'
}

const noteIn = (body: string): Note | undefined => {
  const parsed = parseJson(body)
  const note = isLeft(parsed) ? parsed : decodeNote(parsed.right)
  return isLeft(note) ? undefined : note.right
}

const mostKept = 20_000
const mostWords = 200

/**
 * What the user says first; in a fork, first of its own. Many programs send instructions as the user's own message: such a one
 * is skipped if another follows.
 */
const wordsOf = async (store: Store, { id, len, forkedFrom }: SessionInfo): Promise<string> => {
  const from = forkedFrom !== undefined && forkedFrom.at < len ? forkedFrom.at : 0
  const { view } = await readRange(store, id, from, from + 12)
  const said = [...view].filter(({ role }) => role === 'user').map((message) => textOf(message as Message).trim())
  const found = said.find((text) => text !== '' && !/^<[\w-]+>/.test(text)) ?? said[0] ?? ''
  return found
    .slice(0, mostWords * 2)
    .replaceAll(/\s+/g, ' ')
    .slice(0, mostWords)
}

type Spending = Omit<Overview, 'id' | 'words'>

/** By the receipts of its calls, and by what the file says that it was imported from. */
const spendingOf = (info: SessionInfo, notes: readonly StoredRow[]): Spending => {
  const uses = usesIn(info, notes)
  const { from } = info.metadata
  const named = isObject(from) && Array.isArray(from['models']) ? (from['models'] as readonly unknown[]) : []
  const models = new Set(uses.flatMap(({ model }) => model ?? []))
  return {
    models: models.size > 0 ? [...models] : named.filter((model) => typeof model === 'string'),
    ...sumOf(uses),
    ...(info.forkedFrom !== undefined && { own: sumOf(usesIn(info, notes, { own: true })) }),
  }
}

const sumOf = (uses: readonly CallUse[]): Pick<Overview, 'calls' | 'input' | 'cached' | 'output' | 'dollars'> => {
  const sum = { calls: 0, input: 0, cached: 0, output: 0 }
  let dollars: number | undefined = uses.some(({ usage }) => usage !== undefined) ? 0 : undefined
  for (const { model, calls, usage } of uses) {
    sum.calls += calls
    if (usage === undefined) continue
    sum.input += usage.input
    sum.cached += usage.cacheRead ?? 0
    sum.output += usage.output
    const cost = usageDollars(model, usage, calls)
    dollars = cost === undefined || dollars === undefined ? undefined : dollars + cost
  }
  return { ...sum, ...(dollars !== undefined && { dollars }) }
}
