/** What a view needs before it can be shown. A server that does not answer is asked again. */
import type { SessionList } from '../../src/protocol.ts'
import { useEffect, useState } from 'preact/hooks'
import { allSessions, reasonOf, retryUntilAnswered, type Source } from './source.ts'

export interface LoadState<T> {
  /** What was loaded; undefined while it is not there. */
  readonly value?: T
  /** Why it is not there, in a sentence. */
  readonly fault?: string
}

/** Load it when the view opens, and when one of the inputs changes. */
export const useLoaded = <T>(load: (gone: AbortSignal) => Promise<T>, inputs: readonly unknown[]): LoadState<T> => {
  const [state, setState] = useState<LoadState<T>>({})
  useEffect(() => {
    const gone = new AbortController()
    const fail = (cause: unknown): void => void (gone.signal.aborted || setState({ fault: reasonOf(cause) }))
    setState({})
    retryUntilAnswered(() => load(gone.signal), gone.signal, fail).then(
      (value) => gone.signal.aborted || setState({ value }),
      fail,
    )
    return () => gone.abort()
  }, inputs)
  return state
}

/** All sessions of the store, as they come. */
export const useSessions = (source: Source): LoadState<SessionList> => {
  const [state, setState] = useState<LoadState<SessionList>>({})
  useEffect(() => {
    const gone = new AbortController()
    const fail = (cause: unknown): void =>
      void (gone.signal.aborted || setState((before) => ({ ...before, fault: reasonOf(cause) })))
    allSessions(source, gone.signal, (value) => gone.signal.aborted || setState({ value }), fail).catch(fail)
    return () => gone.abort()
  }, [source])
  return state
}
