/** What lists show of sessions beside their descriptions, as it comes from the server. */
import { signal, type Signal } from '@preact/signals'
import { mostOverviews, type Overview, type ViewedSession } from '../../../src/protocol.ts'
import type { SessionRecord } from './record.ts'
import { oneLine, timeText } from '../format-text.ts'
import type { Source } from './source.ts'
import { titleOf } from './title.ts'

/** Overviews that have come, by the id of the session, and what was asked for. Each list that is loaded asks anew. */
export const overviews: Signal<ReadonlyMap<string, Overview>> = signal(new Map())
let requestedOverviews: { readonly list: object; readonly ids: Set<string> } | undefined

/** Sessions have grown: their overviews are asked for again. */
export const forgetOverviews = (ids: Iterable<string>): void => {
  for (const id of ids) requestedOverviews?.ids.delete(id)
}

/** Ask for those of these sessions that were not asked for yet, on behalf of a list. */
export const fetchOverviews = async (source: Source, list: object, ids: readonly string[]): Promise<void> => {
  if (requestedOverviews?.list !== list) requestedOverviews = { list, ids: new Set() }
  const { ids: known } = requestedOverviews
  const missing = ids.filter((id) => !known.has(id))
  for (const id of missing) known.add(id)
  let [came, drawn]: [Overview[], number] = [[], 0]
  for (let at = 0; at < missing.length; at += mostOverviews) {
    const wanted = missing.slice(at, at + mostOverviews)
    const found = await source.overviews(wanted).catch(() => {
      for (const id of wanted) known.delete(id)
      return []
    })
    for (const overview of found) came.push(overview)
    // To order the list anew takes as long as to read some.
    if (at + mostOverviews < missing.length && performance.now() - drawn < betweenDraws) continue
    overviews.value = new Map([...overviews.value, ...came.map((overview) => [overview.id, overview] as const)])
    came = []
    drawn = performance.now()
  }
}

/** The erasures from a session, as the ledger has them; in an exported file nobody knows of them. */
export const erasuresOf = async ({ source, id }: SessionRecord): Promise<NonNullable<Overview['erasures']>> =>
  (await source.overviews([id]))[0]?.erasures ?? []

/** When, by whom and why, without the rows. */
export const erasedText = ({ at, by, reason }: NonNullable<Overview['erasures']>[number]): string =>
  `erased ${timeText(at)}${by === undefined ? '' : ` by ${oneLine(by, 80)}`}${reason === undefined ? '' : `: ${oneLine(reason, 160)}`}`

/** Milliseconds. */
const betweenDraws = 500

/** What a session is called: its title; without one, its first words; without any, its id. */
export const displayNameOf = (session: Pick<ViewedSession, 'id' | 'metadata'>): string => {
  const title = titleOf(session)
  return title === session.id ? overviews.value.get(session.id)?.words || title : title
}
