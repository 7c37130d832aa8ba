/** The sessions that began while a session's calls were made: its forks, and others of the same client, such as sub-agents. */
import { costText } from '../format-text.ts'
import { allSessions } from './source.ts'
import type { SessionRecord } from './record.ts'
import { titleOf } from './title.ts'
import { mostOverviews, type SessionList, type ViewedSession } from '../../../src/protocol.ts'

/** One of them. */
export interface SessionBeside {
  readonly id: string
  readonly title: string
  readonly created: number
  readonly isFork: boolean
  /** Input tokens of its own calls, and their cost in words. */
  readonly input: number
  readonly cost: readonly string[]
}

/**
 * List them in the order of their beginning, at most `mostOverviews`.
 *
 * Cost    the list of the sessions that were appended to since this one was created; none in an exported file
 */
export const sessionsBeside = async (record: SessionRecord, gone: AbortSignal): Promise<readonly SessionBeside[]> => {
  const { source } = record
  if (source.exported) return []
  const { id, created, metadata } = record.info.value
  const { client } = metadata
  const isBeside = (other: ViewedSession): boolean =>
    other.id !== id &&
    other.created >= created &&
    (other.forkedFrom?.id === id || (typeof client === 'string' && other.metadata['client'] === client))
  const enough = new AbortController()
  const stop = (): void => enough.abort()
  gone.addEventListener('abort', stop)
  let list: SessionList = { sessions: [], damaged: [] }
  const takeList = (all: SessionList): void => {
    list = all
    // The one that was appended to last comes first: those behind this one ended before it began.
    if ((all.sessions.at(-1)?.appended ?? 0) < created) stop()
  }
  await allSessions(source, enough.signal, takeList, () => {}).finally(() => gone.removeEventListener('abort', stop))
  const found = list.sessions
    .filter(isBeside)
    .toSorted((a, b) => a.created - b.created)
    .slice(0, mostOverviews)
  if (found.length === 0) return []
  const overviews = await source.overviews(found.map((session) => session.id))
  return found.map((session) => {
    const overview = overviews.find((other) => other.id === session.id)
    const { input = 0, dollars, unpriced, undercounted } = overview ?? {}
    return {
      id: session.id,
      // A fork has the title of the session that it was forked from: its own first words say more.
      title: overview?.words || titleOf(session),
      created: session.created,
      isFork: session.forkedFrom?.id === id,
      input,
      cost: costText(dollars, unpriced, undercounted),
    }
  })
}
