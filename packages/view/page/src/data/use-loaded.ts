/** What a view needs before it can be shown. A server that does not answer is asked again. */
import type { SessionList } from '../../../src/protocol.ts'
import { useEffect, useState } from 'preact/hooks'
import { forgetOverviews } from './overviews.ts'
import { allSessions, reasonOf, retryUntilAnswered, type Source } from './source.ts'

export interface LoadState<T> {
  /** What was loaded; undefined while it is not there. */
  readonly value?: T | undefined
  /** Why it is not there, in a sentence. */
  readonly fault?: string | undefined
}

/** Load it when the view opens, and when one of the inputs changes. What other inputs had is not answered. */
export const useLoaded = <T>(load: (gone: AbortSignal) => Promise<T>, inputs: readonly unknown[]): LoadState<T> => {
  const [state, setState] = useState<LoadState<T> & { readonly of?: readonly unknown[] }>({})
  useEffect(() => {
    const gone = new AbortController()
    const set = (loaded: LoadState<T>): void => void (gone.signal.aborted || setState({ ...loaded, of: inputs }))
    const fail = (cause: unknown): void => set({ fault: reasonOf(cause) })
    retryUntilAnswered(() => load(gone.signal), gone.signal, fail).then((value) => set({ value }), fail)
    return () => gone.abort()
  }, inputs)
  return state.of?.every((input, index) => Object.is(input, inputs[index])) === true ? state : {}
}

/** Milliseconds until the list is compared with the store again. */
const refreshPause = 4000

/** A list with the newest page of the store's in it; the same list if nothing is new. */
const withNewest = (list: SessionList, { sessions }: SessionList): SessionList => {
  const known = new Map(list.sessions.map((session) => [session.id, session.head.root]))
  const changed = sessions.filter(({ id, head }) => known.get(id) !== head.root)
  if (changed.length === 0) return list
  const ids = new Set(changed.map(({ id }) => id))
  forgetOverviews(ids)
  return { ...list, sessions: [...changed, ...list.sessions.filter(({ id }) => !ids.has(id))] }
}

/** All sessions of the store, as they come; then those that are created or grow, while the page is in sight. */
export const useSessions = (source: Source): LoadState<SessionList> => {
  const [state, setState] = useState<LoadState<SessionList>>({})
  useEffect(() => {
    const gone = new AbortController()
    const fail = (cause: unknown): void =>
      void (gone.signal.aborted || setState((before) => ({ ...before, fault: reasonOf(cause) })))
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = async (): Promise<void> => {
      const newest = document.hidden ? undefined : await source.sessions().catch(() => undefined)
      if (gone.signal.aborted) return
      if (newest !== undefined)
        setState((before) => {
          const value = before.value && withNewest(before.value, newest)
          return value === undefined || value === before.value ? before : { ...before, value }
        })
      timer = setTimeout(() => void refresh(), refreshPause)
    }
    const start = async (): Promise<void> => {
      await allSessions(source, gone.signal, (value) => gone.signal.aborted || setState({ value }), fail)
      if (!gone.signal.aborted && !source.exported) timer = setTimeout(() => void refresh(), refreshPause)
    }
    start().catch(fail)
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [source])
  return state
}
