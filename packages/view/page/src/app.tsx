/** The page: the view that its address names. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { embeddedId } from './data/embedded-source.ts'
import { ForksView } from './forks/forks.tsx'
import { ErrorBoundary } from './elements/error-boundary.tsx'
import { useLoaded, useSessions } from './data/use-loaded.ts'
import { hrefOf, replaceRoute, route } from './route.ts'
import { ContextView } from './context/context-view.tsx'
import { openCount, recordOf, SessionView } from './session/session.tsx'
import { Sessions } from './list/sessions.tsx'
import { SpendView } from './spend/spend.tsx'
import { sentence } from './format-text.ts'
import type { Source } from './data/source.ts'
import { TraceView } from './trace/trace.tsx'

export const App = ({ source }: { readonly source: Source }): VNode => {
  const where = route.value
  if (where.view === 'sessions') return source.exported ? <First source={source} /> : <AllSessions source={source} />
  if (where.view === 'spend')
    return source.spending === undefined ? (
      <First source={source} />
    ) : (
      <ErrorBoundary name="The costs">
        <SpendView source={source} read={source.spending} />
      </ErrorBoundary>
    )
  if (where.view === 'diff')
    return source.exported ? (
      <First source={source} />
    ) : (
      <ErrorBoundary key={`${where.a}\n${where.b}\n${openCount.value}`} name="The view">
        <ForksView source={source} a={where.a} b={where.b} />
      </ErrorBoundary>
    )
  return <OneSession key={`${where.id}\n${openCount.value}`} source={source} id={where.id} />
}

const OneSession = ({ source, id }: { readonly source: Source; readonly id: string }): VNode => {
  const { value: record, fault } = useLoaded(() => recordOf(source, id), [id])
  if (fault !== undefined)
    return (
      <Fault text={fault}>{source.exported ? null : <a href={hrefOf({ view: 'sessions' })}>All sessions</a>}</Fault>
    )
  if (record === undefined) return <main aria-busy="true" />
  const where = route.value
  if (where.view === 'saw')
    return (
      <ErrorBoundary key="saw" name="The view">
        <ContextView record={record} named={where} />
      </ErrorBoundary>
    )
  if (where.view === 'trace' && source.trace !== undefined)
    return (
      <ErrorBoundary key="trace" name="The trace">
        <TraceView record={record} trace={source.trace} />
      </ErrorBoundary>
    )
  return <SessionView record={record} at={where.view === 'session' ? where.at : undefined} />
}

const AllSessions = ({ source }: { readonly source: Source }): VNode => {
  const { value: store, fault } = useLoaded(() => source.store(), [])
  const { value: list, fault: cause = fault } = useSessions(source)
  if (list === undefined) return cause === undefined ? <main aria-busy="true" /> : <Fault text={cause} />
  return (
    <ErrorBoundary name="The list of sessions">
      <Sessions source={source} list={list} place={store?.name ?? ''} fault={cause} />
    </ErrorBoundary>
  )
}

/** A file with one session opens with it. */
const First = ({ source }: { readonly source: Source }): VNode => {
  useEffect(() => {
    void embeddedId(source).then((id) => replaceRoute({ view: 'session', id }))
  }, [])
  return <main aria-busy="true" />
}

export const Fault = ({ text, children }: { readonly text: string; readonly children?: ComponentChildren }): VNode => (
  <main class="nothing">
    <h1 class="unseen">Not shown</h1>
    <p role="alert">{sentence(text)}</p>
    {children === undefined || children === null ? null : <p>{children}</p>}
  </main>
)
