/**
 * Decides whether a stored row is a hit. An index only proposes rows; hits are read from the
 * record, so that deleted content is never found and all stores give the same results.
 */
import { isLeft, jsonIn, type Immutable } from '../json/index.ts'
import { decodeRow, messageIn, textsOf, type SearchText } from '../entry/internal.ts'
import type { Range } from '../history/index.ts'
import type { Message, Role } from '../message/index.ts'
import { decodeNote } from '../notes/internal.ts'
import type { BlockId } from '../proof/internal.ts'
import type { Store, StoredRow } from '../store/index.ts'
import type { Slices } from '../store/internal.ts'
import type { SearchHit, SearchPlan } from './hit.ts'
import { matchIn, type Match } from './match.ts'
import type { Query } from './query.ts'

export type BlocksOf = (id: BlockId) => Uint8Array | undefined

/** The blocks with the texts of rows, as far as they exist and are undamaged. */
export const blocksFor = async (store: Store, rows: readonly StoredRow[]): Promise<BlocksOf> => {
  const keys = new Map<BlockId, string | undefined>() // for encrypted sessions
  for (const { kind, body } of rows) {
    const decoded = kind === 'entry' ? decodeRow(body) : undefined
    if (decoded !== undefined && !isLeft(decoded)) for (const { id, key } of decoded.right.blocks) keys.set(id, key)
  }
  const wanted = [...keys.keys()]
  const found = new Map<BlockId, Uint8Array | undefined>()
  if (wanted.length === 0) return () => undefined
  const { encryption } = store
  const stored = encryption?.bare ?? store
  const all = await stored.getBlocks(wanted)()
  for (const [index, id] of wanted.entries()) {
    const single = isLeft(all) ? await stored.getBlocks([id])() : undefined // one is damaged; still read the others
    const bytes = isLeft(all)
      ? single === undefined || isLeft(single)
        ? undefined
        : single.right[0]
      : all.right[index]
    const key = keys.get(id)
    found.set(id, bytes === undefined || key === undefined ? bytes : encryption?.block(key, bytes))
  }
  return (id) => found.get(id)
}

/** What a search looks for. Its slices let other work run. */
export interface RowSearch {
  readonly query: Query
  readonly wanted: SearchPlan
  readonly slices: Slices
}

export type HitInRow = Omit<SearchHit, 'session' | 'retracted'>

/** The hit for a row; undefined if it does not match; `'unread'` if its message can't be read because of damage. */
export const judgeRow = async (
  row: StoredRow,
  blocks: BlocksOf,
  { query, wanted, slices }: RowSearch,
): Promise<HitInRow | 'unread' | undefined> => {
  await slices.next(row.body.length)
  const searched = searchedIn(row, blocks, wanted)
  if (searched === 'unread' || searched === undefined) return searched
  const match = await matchIn(searched.texts, query, slices)
  return match && hitIn(row, searched, match)
}

/** What a hit says of a row and of the match in it. */
export const hitIn = (
  { index, at }: StoredRow,
  { role }: SearchedMessage,
  { of, excerpt, score }: Match,
): HitInRow => ({ position: index, role, at, in: of, excerpt, score })

/** A message with the texts that a search covers. */
interface SearchedMessage {
  readonly role: Role
  readonly texts: readonly SearchText[]
}

/** The message of a row; undefined if the filters of a search leave it out; `'unread'` if it can't be read because of damage. */
export const searchedIn = (
  { kind, body, at }: StoredRow,
  blocks: BlocksOf,
  { in: where, role, since = -Infinity, until = Infinity }: Pick<SearchPlan, 'in' | 'role' | 'since' | 'until'>,
): SearchedMessage | 'unread' | undefined => {
  if (kind !== 'entry' || at < since || at >= until) return undefined
  const message: Immutable<Message> | undefined = messageIn(body, blocks)
  if (message === undefined) return 'unread'
  if (role !== undefined && message.role !== role) return undefined
  return { role: message.role, texts: textsOf(message).filter(({ of }) => where === 'all' || where.startsWith(of)) }
}

/** The ranges retracted by notes. Unreadable notes retract nothing. */
export const retractionsIn = (notes: readonly StoredRow[]): readonly Range[] =>
  notes.flatMap(({ body }) => {
    const note = decodeNote(jsonIn(body))
    return !isLeft(note) && note.right.type === 'retraction' ? [{ from: note.right.from, to: note.right.to }] : []
  })

export const isInRanges = (ranges: readonly Range[], position: number): boolean =>
  ranges.some(({ from, to }) => position >= from && position < to)
