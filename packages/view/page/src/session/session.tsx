/** A session: its title, whether it is what was appended, and its views. */
import { signal, useSignal, type Signal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { Button, Choice, SearchField } from '../elements/controls.tsx'
import { CallBars } from './call-bars.tsx'
import { spentOf } from '../data/call-figures.ts'
import { Export } from './export.tsx'
import { choices, positionsOf, type Filter } from '../data/filter.ts'
import { ErrorBoundary } from '../elements/error-boundary.tsx'
import { Keys } from './keys.tsx'
import { SourceContext } from '../message/media.tsx'
import { SessionRecord } from '../data/record.ts'
import { hrefOf, type Route } from '../route.ts'
import { countText, groupedNumber, oneLine, sentence, visibleText, tokensText } from '../format-text.ts'
import type { SessionList, ViewedSession } from '../../../src/protocol.ts'
import { allSessions, type Source } from '../data/source.ts'
import { useSubAgents } from '../data/sub-agents.ts'
import { Timeline } from './timeline.tsx'
import { titleOf, useTitle } from '../data/title.ts'
import { firstWordsOf, parentIdOf, projectIn, workFolderOf } from '../../../src/texts/about.ts'
import { Back } from '../elements/view-head.tsx'
import { Verified } from '../proof/verification.tsx'

/** How often a record was opened again: each time its views begin anew. */
export const openCount: Signal<number> = signal(0)

/** Forget the record that is open, and read what the store has now. */
const openAgain = (): void => {
  openedRecord.value?.close()
  openedRecord.value = undefined
  openCount.value += 1
}

/** The record that was opened last: going from one view of a session to another loads nothing again. */
const openedRecord = signal<SessionRecord | undefined>(undefined)

/** The sessions whose ids begin so: a link may have the beginning of an id. */
const sessionsBeginningWith = async (source: Source, start: string): Promise<readonly ViewedSession[]> => {
  let list: SessionList = { sessions: [], damaged: [] }
  if (start.length >= fewestLetters)
    await allSessions(
      source,
      new AbortController().signal,
      (all) => (list = all),
      () => {},
    )
  return list.sessions.filter(({ id }) => id.startsWith(start))
}
const fewestLetters = 4

export const recordOf = async (source: Source, id: string): Promise<SessionRecord> => {
  if (openedRecord.value?.id === id) return openedRecord.value
  const info = await source.session(id).catch(async (cause: unknown) => {
    const found = await sessionsBeginningWith(source, id)
    const [only] = found
    if (found.length !== 1 || only === undefined) throw cause
    return only
  })
  openedRecord.value?.close()
  openedRecord.value = new SessionRecord(source, info)
  return openedRecord.value
}

export const SessionView = ({
  record,
  at,
}: {
  readonly record: SessionRecord
  readonly at: number | undefined
}): VNode => {
  useSubAgents(record)
  const only = useSignal<Filter>('all')
  const words = useSignal('')
  const field = useRef<HTMLInputElement>(null)
  const jumpTo = useRef<(step: number) => void>(() => {})
  return (
    <SourceContext.Provider value={record.source}>
      <SessionHead record={record} here={{ view: 'session', id: record.id, at }} at={at}>
        <div class="tools" role="search">
          <SearchField
            {...{ label: 'search this session', placeholder: 'Search this session', words, field }}
            onKeyDown={(event) => event.key === 'Enter' && jumpTo.current(event.shiftKey ? -1 : 1)}
          />
          <Choice label="show" choices={choices} value={only} />
          <Export
            record={record}
            filtered={
              only.value === 'all' && words.value.trim() === ''
                ? undefined
                : () => positionsOf(record, only.value, words.value)
            }
          />
          <Keys />
        </div>
      </SessionHead>
      <main class="rest">
        <ErrorBoundary name="The calls at a glance">
          <CallBars record={record} />
        </ErrorBoundary>
        <ErrorBoundary name="The conversation">
          <Timeline
            record={record}
            only={only.value}
            words={words.value}
            at={at}
            search={() => field.current?.focus()}
            jumpTo={jumpTo}
          />
        </ErrorBoundary>
      </main>
    </SourceContext.Provider>
  )
}

interface SessionHeadProps {
  readonly record: SessionRecord
  readonly here: Route
  /** The message that is looked at. */
  readonly at: number | undefined
  readonly children?: ComponentChildren
}

/** The head of every view of a session. */
export const SessionHead = ({ record, here, at, children }: SessionHeadProps): VNode => {
  const info = record.info.value
  const title = record.version.value >= 0 ? nameOf(record) : titleOf(info)
  const live = record.live.value
  const { version } = record
  const { exported } = record.source
  const spent = useMemo(
    () => (record.whole.value ? spentOf(record) : { tokens: 0, cost: [] }),
    [record, record.whole.value, version.value],
  )
  const folder = workFolderOf(info)
  const parent = parentIdOf(info)
  useTitle(oneLine(title))
  return (
    <header class="top">
      <div class="top-line">
        {exported ? null : <Back to={{ view: 'sessions' }} label="all sessions" />}
        <h1 title={info.id} dir="auto">
          {visibleText(title)}
        </h1>
        <span class="quiet count" title={folder}>
          {folder === undefined ? '' : `${oneLine(projectIn(folder), 32)} · `}
          {version.value >= 0 && !record.whole.value
            ? `${groupedNumber(record.entries.length)} of ${countText(info.len, 'message')}`
            : `${countText(record.entries.length, 'message')}${spentText(spent)}`}
        </span>
        {parent === undefined || exported ? null : (
          <a class="parent-link" href={hrefOf({ view: 'session', id: parent })}>
            sub-agent of {oneLine(parent, 24)}
          </a>
        )}
        {live === 'live' ? (
          <span class="live" title="New messages appear here">
            live
          </span>
        ) : live === 'lost' || live === 'removed' || live === 'replaced' ? (
          <span class="badge bad">{live === 'lost' ? 'connection lost' : live}</span>
        ) : null}
        <ErrorBoundary name="The verification">
          <Verified record={record} />
        </ErrorBoundary>
      </div>
      <div class="top-line second">
        <nav aria-label="views of the session">
          <Tab to={{ view: 'session', id: record.id, at }} here={here}>
            Conversation
          </Tab>
          <Tab to={{ view: 'saw', id: record.id, message: at }} here={here}>
            What the model saw
          </Tab>
          {record.source.trace === undefined ? null : (
            <Tab to={{ view: 'trace', id: record.id }} here={here}>
              Trace
            </Tab>
          )}
          {exported ? null : (
            <Tab
              to={{
                view: 'diff',
                a: info.forkedFrom?.id ?? record.id,
                b: info.forkedFrom === undefined ? '' : record.id,
              }}
              here={here}
            >
              {info.forkedFrom === undefined ? 'Compare' : `Fork at ${info.forkedFrom.at}`}
            </Tab>
          )}
        </nav>
        {children}
      </div>
      <LiveProblem record={record} />
    </header>
  )
}

const spentText = ({ tokens, cost }: ReturnType<typeof spentOf>): string =>
  tokens === 0 ? '' : ['', tokensText(tokens), ...cost].join(' · ')

/** What keeps the page from showing what the store has. */
export const LiveProblem = ({ record }: { readonly record: SessionRecord }): VNode | null => {
  const live = record.live.value
  if (live === 'no' || live === 'live' || live === 'ended') return null
  const fault = record.fault.value ?? ''
  return (
    <p class="fault" role="alert">
      {live === 'removed'
        ? 'The session is no longer in the store. The page still shows what it has read.'
        : live === 'replaced'
          ? 'Another session now has this id. The page still shows the one that it has read.'
          : live === 'lost'
            ? `${sentence(fault)} The page tries again.`
            : sentence(fault)}{' '}
      {live === 'replaced' || live === 'fault' ? (
        <Button class="more" onClick={openAgain}>
          {live === 'fault' ? 'Read it again' : 'Show the new one'}
        </Button>
      ) : null}
    </p>
  )
}

/** Its title; without one, the first words of the user. */
export const nameOf = (record: SessionRecord): string => {
  const title = titleOf(record.info.value)
  if (title !== record.id) return title
  return oneLine(firstWordsOf(record.entries.slice(0, 12).map(({ message }) => message)), 80) || title
}

interface TabProps {
  readonly to: Route
  readonly here: Route
  readonly children: ComponentChildren
}

const Tab = ({ to, here, children }: TabProps): VNode => (
  <a href={hrefOf(to.view === here.view ? here : to)} aria-current={to.view === here.view ? 'page' : undefined}>
    {children}
  </a>
)
