/** The page: the view that its address names. */
import { useSignal } from '@preact/signals'
import type { SessionList, ViewedStore } from 'indelible/view'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { embeddedId } from './embedded.ts'
import { ForksView } from './forks.tsx'
import type { SessionRecord } from './record.ts'
import { replaceRoute, route } from './route.ts'
import { SawView } from './saw.tsx'
import { recordOf, SessionView } from './session.tsx'
import { Sessions } from './sessions.tsx'
import { shown } from './shown.ts'
import type { Source } from './source.ts'

export const App = ({ source }: { readonly source: Source }): VNode => {
  const where = route.value
  if (where.view === 'sessions') return source.exported ? <First source={source} /> : <AllSessions source={source} />
  if (where.view === 'diff')
    return source.exported ? (
      <First source={source} />
    ) : (
      <ForksView key={`${where.a}\n${where.b}`} source={source} a={where.a} b={where.b} />
    )
  return <OneSession key={where.id} source={source} id={where.id} />
}

const OneSession = ({ source, id }: { readonly source: Source; readonly id: string }): VNode => {
  const record = useSignal<SessionRecord | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  useEffect(() => {
    recordOf(source, id).then(
      (found) => (record.value = found),
      (cause: unknown) => (fault.value = reasonOf(cause)),
    )
  }, [id])
  if (fault.value !== undefined) return <Fault text={fault.value} />
  if (record.value === undefined) return <main aria-busy="true" />
  const where = route.value
  if (where.view === 'saw') return <SawView source={source} record={record.value} call={where.call} />
  return <SessionView source={source} record={record.value} at={where.view === 'session' ? where.at : undefined} />
}

const AllSessions = ({ source }: { readonly source: Source }): VNode => {
  const found = useSignal<{ readonly store: ViewedStore; readonly list: SessionList } | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const load = async (): Promise<void> => {
      const [store, list] = await Promise.all([source.store(), source.sessions()])
      found.value = { store, list }
    }
    load().catch((cause: unknown) => (fault.value = reasonOf(cause)))
  }, [])
  if (fault.value !== undefined) return <Fault text={fault.value} />
  if (found.value === undefined) return <main aria-busy="true" />
  return <Sessions source={source} list={found.value.list} place={found.value.store.name} />
}

/** A file with one session opens with it. */
const First = ({ source }: { readonly source: Source }): VNode => {
  useEffect(() => {
    void embeddedId(source).then((id) => replaceRoute({ view: 'session', id }))
  }, [])
  return <main aria-busy="true" />
}

export const Fault = ({ text }: { readonly text: string }): VNode => (
  <main class="nothing">
    <p role="alert">{shown(text)}</p>
  </main>
)

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
