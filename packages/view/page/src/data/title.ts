/** What a session is called. */
import { useEffect } from 'preact/hooks'
import type { ViewedSession } from '../../../src/protocol.ts'
import { titleOf as ownTitle } from '../../../src/texts/about.ts'

export { activityOf } from '../../../src/texts/about.ts'

/** Its title, or that of the file it was imported from, or its id. */
export const titleOf = (session: Pick<ViewedSession, 'id' | 'metadata'>): string => ownTitle(session) ?? session.id

/** Name the page's tab. */
export const useTitle = (title: string): void =>
  useEffect(() => {
    document.title = `${title} · Indelible`
  }, [title])
