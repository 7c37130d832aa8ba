/** Two sessions side by side: from where they part, and aligned again where they say the same. */
import { useSignal } from '@preact/signals'
import type { Part } from 'indelible/message'
import type { ViewedRow, ViewedSession } from '../../../src/protocol.ts'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ancestryOf } from '../../../src/texts/about.ts'
import { sumsOf } from '../../../src/calls/call-figures.ts'
import { Button, Numbers, SearchField } from '../elements/controls.tsx'
import { figuresIn, sumsOfFile } from '../data/call-figures.ts'
import { positionsOf } from '../data/filter.ts'
import { useLoaded, useSessions } from '../data/use-loaded.ts'
import { SourceContext } from '../message/media.tsx'
import { MessageItem } from '../message/message.tsx'
import { displayNameOf, fetchOverviews } from '../data/overviews.ts'
import { pairsOf, type Compared, type Pair } from './pairing.ts'
import type { Entry } from '../data/entry.ts'
import { SessionRecord } from '../data/record.ts'
import { hrefOf } from '../route.ts'
import { nameOf, LiveProblem } from '../session/session.tsx'
import {
  compactNumber,
  countText,
  atLeast,
  costText,
  groupedNumber,
  oneLine,
  sentence,
  share,
  visibleText,
} from '../format-text.ts'
import type { Source } from '../data/source.ts'
import { useTitle } from '../data/title.ts'
import { Loaded, ViewHead } from '../elements/view-head.tsx'
import { VirtualFeed } from '../elements/virtual-feed.tsx'
import { markChanges } from './word-changes.ts'

interface ForksViewProps {
  readonly source: Source
  readonly a: string
  readonly b: string
}

export const ForksView = ({ source, a, b }: ForksViewProps): VNode => {
  const { value: infos, fault } = useLoaded(
    async () => (b === '' ? undefined : Promise.all([source.session(a), source.session(b)])),
    [a, b],
  )
  const records = useMemo(
    () => infos && ([new SessionRecord(source, infos[0]), new SessionRecord(source, infos[1])] as const),
    [infos],
  )
  useEffect(
    () => () => {
      for (const record of records ?? []) record.close()
    },
    [records],
  )
  useTitle('Forks')
  if (b === '') return <OtherSession source={source} id={a} />
  return (
    <>
      <ViewHead
        to={{ view: 'session', id: a }}
        label="back to the session"
        title="Side by side"
        beside={records && <Divergence records={records} />}
      />
      <main class="view">
        <Loaded value={records} fault={fault} reading="Reading the sessions…">
          {(both) => <Columns records={both} />}
        </Loaded>
      </main>
    </>
  )
}

/** How many messages two records have in common, at their start. */
const commonLength = (a: SessionRecord, b: SessionRecord): number => {
  let row = 0
  while (row < a.rows.length && row < b.rows.length && isSame(a.rows[row] as ViewedRow, b.rows[row] as ViewedRow)) row++
  return Math.min(countBefore(a, row), countBefore(b, row))
}

const isSame = (a: ViewedRow, b: ViewedRow): boolean =>
  a.kind === b.kind && a.body === b.body && a.leaf === b.leaf && a.at === b.at && a.salt === b.salt

const countBefore = ({ entries, rows }: SessionRecord, row: number): number => {
  if (row >= rows.length) return entries.length
  const { kind, index } = rows[row] as ViewedRow
  return kind === 'entry' ? index : row - index
}

const Divergence = ({ records: [a, b] }: { readonly records: readonly [SessionRecord, SessionRecord] }): VNode => {
  const ready = a.whole.value && b.whole.value && a.version.value + b.version.value >= 0
  const common = ready ? commonLength(a, b) : 0
  return (
    <span class="quiet count" role="status">
      {!ready
        ? 'being read'
        : common === a.entries.length && common === b.entries.length
          ? 'the same messages'
          : common === 0
            ? `${groupedNumber(a.entries.length)} and ${countText(b.entries.length, 'message')}`
            : `${countText(common, 'message')} in common, then ${a.entries.length - common} and ${b.entries.length - common}`}
    </span>
  )
}

const Columns = ({ records: [a, b] }: { readonly records: readonly [SessionRecord, SessionRecord] }): VNode => {
  const side = useSignal<'a' | 'b'>('a')
  const ready = a.whole.value && b.whole.value
  const version = a.version.value + b.version.value
  const common = useMemo(() => (ready ? commonLength(a, b) : 0), [a, b, ready, version])
  const pairs = useMemo(() => (ready ? pairsBehind(a, b, common) : []), [a, b, ready, version, common])
  const troubles = [a, b].map((record) => <LiveProblem record={record} />)
  if (!ready)
    return (
      <div class="nothing">
        {troubles}
        {a.failed.value || b.failed.value ? null : <p>Reading the sessions…</p>}
      </div>
    )
  return (
    <>
      {a.live.value === b.live.value ? troubles[0] : troubles}
      <Spent records={[a, b]} version={version} />
      <div class="sides" role="group" aria-label="which session">
        {(['a', 'b'] as const).map((entry) => (
          <Button aria-pressed={side.value === entry} onClick={() => (side.value = entry)}>
            {oneLine(nameOf(entry === 'a' ? a : b), 40)}
          </Button>
        ))}
      </div>
      <div class={`compared side-${side.value}`}>
        <div class="pair-heads">
          <Heading record={a} at={pairs[0]?.a} />
          <Heading record={b} at={pairs[0]?.b} />
        </div>
        <VirtualFeed
          label="messages of both sessions"
          items={pairs}
          estimate={110}
          keyOf={(pair) => `${pair.a ?? ''} ${pair.b ?? ''}`}
          classOf={({ isSame }) => (isSame ? 'pair common' : 'pair')}
          render={({ a: left, b: right, diverges, isSame }) => (
            <>
              {diverges ? <p class="parts-here">They diverge here</p> : null}
              <Side record={a} position={left} name="first session" />
              <Side record={b} position={right} name="second session" marks={!isSame} />
            </>
          )}
        />
      </div>
    </>
  )
}

/** The figures of a row of the table of costs; ≥ where not all tokens were counted. */
const cellsOf = (sums: ReturnType<typeof sumsOfFile> & { readonly errors: number }): readonly string[] => {
  const { calls, input, cached, output, dollars, unpriced, isUndercounted, uncounted, errors } = sums
  const isLeast = isUndercounted || uncounted > 0
  return [
    costText(dollars, unpriced, isLeast)[0]?.replace(atLeast(true), '≥ ') ?? '–',
    groupedNumber(calls),
    `${uncounted > 0 ? '≥ ' : ''}${compactNumber(input)}`,
    cached === undefined || calls === 0 ? '–' : share(cached, input),
    `${isLeast ? '≥ ' : ''}${compactNumber(output)}`,
    groupedNumber(errors),
  ]
}

/** What each session cost, one below the other. Nothing where no calls were counted. */
const Spent = ({
  records,
  version,
}: {
  readonly records: readonly SessionRecord[]
  readonly version: number
}): VNode | null => {
  const sums = useMemo(
    () =>
      records.map((record) => {
        const { figures } = figuresIn(record)
        const parts = record.entries.flatMap(({ message }) => message.content)
        const toolErrors = parts.filter((part) => part.type === 'tool_result' && part.isError === true).length
        const ofCalls = figures.length > 0 ? sumsOf(figures) : { ...sumsOfFile(record), failed: 0 }
        return {
          ...ofCalls,
          errors: ofCalls.failed + toolErrors,
          name: `${nameOf(record)}${record.info.value.forkedFrom === undefined ? '' : ' (fork, only its own calls)'}`,
        }
      }),
    [...records, version],
  )
  if (sums.every(({ calls }) => calls === 0)) return null
  return (
    <div class="spent">
      <Numbers
        label="what each session cost"
        headings={['session', 'cost', 'calls', 'input', 'cached', 'output', 'errors']}
        rows={sums.map((sum) => [oneLine(sum.name, 80), cellsOf(sum)])}
      />
    </div>
  )
}

/** The last message in common stays in sight, so that a reader knows what the two go on from. Cost: O(texts that are not in common) */
const pairsBehind = (a: SessionRecord, b: SessionRecord, common: number): readonly Pair[] => {
  const [left, right] = [tailOf(a, common), tailOf(b, common)]
  const last: readonly Pair[] = common === 0 ? [] : [{ a: left.before, b: right.before, isSame: true, diverges: false }]
  return [...last, ...pairsOf(left.rest, right.rest)]
}

interface Tail {
  readonly before: number | undefined
  readonly rest: readonly Compared[]
}

const tailOf = (record: SessionRecord, common: number): Tail => {
  const all = positionsOf(record, 'all', '')
  const parted = all.findIndex((position) => position >= common)
  const erased = erasedResults(record)
  const rest = parted === -1 ? [] : all.slice(parted).filter((position) => !erased.has(position))
  return { before: all.at((parted === -1 ? all.length : parted) - 1), rest: rest.map((at) => comparedAt(record, at)) }
}

/** Erased results: the line of their call says so, where the other session has a result in that line. */
const erasedResults = (record: SessionRecord): ReadonlySet<number> => {
  const lost = new Set<string>()
  for (const { message } of record.entries)
    for (const part of message.content)
      if (part.type === 'tool_call' && record.join.answerTo(part) === 'erased') lost.add(part.id)
  const isLost = (part: Part): boolean => part.type === 'erased' && part.callId !== undefined && lost.has(part.callId)
  const positions = record.entries.filter(({ message }) => message.content.length > 0 && message.content.every(isLost))
  return new Set(positions.map(({ position }) => position))
}

/** Without the ids of calls, which differ from run to run, and with the results that stand with its calls. */
const comparedAt = (record: SessionRecord, position: number): Compared => {
  const { message, state } = record.entries[position] as Entry
  const parts = message.content.map((part) => {
    if (part.type === 'tool_result') return [part.type, part.content, part.isError]
    if (part.type !== 'tool_call') return part
    const result = record.join.answerTo(part)
    return [part.name, part.arguments, typeof result === 'object' ? [result.part.content, result.part.isError] : result]
  })
  return {
    ...{ position, role: message.role, isErased: state === 'erased' },
    text: JSON.stringify([state, message.role, parts]),
  }
}

const Heading = ({ record, at }: { readonly record: SessionRecord; readonly at: number | undefined }): VNode => {
  const info = record.info.value
  return (
    <h2>
      <a href={hrefOf({ view: 'session', id: record.id, ...(at !== undefined && { at }) })} title={record.id}>
        {visibleText(nameOf(record))}
      </a>
      {info.forkedFrom === undefined ? null : <span class="quiet"> fork at {info.forkedFrom.at}</span>}
    </h2>
  )
}

interface SideProps {
  readonly record: SessionRecord
  readonly position: number | undefined
  readonly name: string
  /** Whether to mark the words in which it differs from the side before it. */
  readonly marks?: boolean
}

const Side = ({ record, position, name, marks = false }: SideProps): VNode => {
  const cell = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current: after } = cell
    const before = after?.previousElementSibling ?? null
    if (!marks || after === null || before === null) return undefined
    let unmark = (): void => {}
    const mark = (): void => {
      unmark()
      unmark = markChanges(before.querySelector('.content'), after.querySelector('.content'))
    }
    mark()
    const changed = new MutationObserver(mark) // parts are opened and folded
    for (const side of [before, after]) changed.observe(side, { childList: true, characterData: true, subtree: true })
    return () => {
      changed.disconnect()
      unmark()
    }
  }, [record, position, marks])
  return (
    <div class="cell" role="group" aria-label={name} ref={cell}>
      {position === undefined ? (
        <p class="quiet">no message here</p>
      ) : (
        <SourceContext.Provider value={record.source}>
          <MessageItem record={record} entry={record.entries[position] as Entry} />
        </SourceContext.Provider>
      )}
    </div>
  )
}

const mostOffered = 100

/** Which session to compare with: relatives first. */
const OtherSession = ({ source, id }: { readonly source: Source; readonly id: string }): VNode => {
  const { value: list, fault } = useSessions(source)
  const words = useSignal('')
  const sessions = list?.sessions ?? []
  const rootOf = useMemo(() => rootsOf(sessions), [list])
  const own = sessions.find((session) => session.id === id)
  const root = rootOf(id)
  const wanted = words.value.trim().toLowerCase()
  const others = sessions.filter(
    (session) => session.id !== id && `${session.id} ${displayNameOf(session)}`.toLowerCase().includes(wanted),
  )
  const relatives = others.filter((session) => rootOf(session.id) === root)
  const related = new Set(relatives)
  const offered = [...relatives, ...others.filter((session) => !related.has(session))].slice(0, mostOffered)
  useEffect(
    () => void fetchOverviews(source, sessions, [id, ...offered.map((session) => session.id)]),
    [offered.length, list],
  )
  return (
    <>
      <ViewHead
        to={{ view: 'session', id }}
        label="back to the session"
        title={`Compare ${own === undefined ? visibleText(id) : oneLine(displayNameOf(own), 80)} with`}
      >
        <div class="tools wide" role="search">
          <SearchField label="filter sessions" placeholder="Title or id" words={words} />
        </div>
      </ViewHead>
      <main class="view">
        <div class="scroll" tabIndex={0} role="region" aria-label="sessions to compare with">
          {offered.length > 0 ? null : (
            <p class="nothing" role={fault === undefined ? 'status' : 'alert'}>
              {fault !== undefined
                ? sentence(fault)
                : list === undefined
                  ? 'Reading the sessions…'
                  : sessions.length < 2
                    ? 'There is no other session.'
                    : 'No session matches.'}
            </p>
          )}
          <ul class="offered">
            {offered.map((session) => (
              <li>
                <a class="session" href={hrefOf({ view: 'diff', a: id, b: session.id })}>
                  <span class="session-title">
                    <span>{oneLine(displayNameOf(session), 160)}</span>
                  </span>
                  <span class="session-words">{session.id}</span>
                  <span class="session-time">{related.has(session) ? 'of the same root' : ''}</span>
                  <span class="session-facts">{countText(session.len, 'message')}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      </main>
    </>
  )
}

/** The session that a chain of forks begins with, as far as it is known. */
const rootsOf = (sessions: readonly ViewedSession[]): ((id: string) => string) => {
  const byId = new Map(sessions.map((session) => [session.id, session]))
  return (id) => ancestryOf(id, (at) => byId.get(at)?.forkedFrom?.id).at(-1) ?? id
}
