/** All sessions of a store. */
import { signal, useSignal } from '@preact/signals'
import type { Overview, SessionList, ViewedSession } from 'indelible/view'
import { mostOverviews, type FoundMessage } from 'indelible/view'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { hrefOf } from './route.ts'
import { agoText, compact, counted, dollarsText, oneLine, shown, timeText } from './shown.ts'
import type { Source } from './source.ts'
import { activityOf, titleOf } from './title.ts'
import { useVirtual } from './virtual.ts'

type Order = 'appended' | 'created' | 'messages' | 'title' | 'tokens' | 'money'

const orders: readonly (readonly [Order, string])[] = [
  ['appended', 'Last activity'],
  ['created', 'Newest'],
  ['messages', 'Messages'],
  ['title', 'Title'],
  ['tokens', 'Tokens'],
  ['money', 'Money'],
]

/** Overviews that have come, by the id of the session. */
const overviews = signal<ReadonlyMap<string, Overview>>(new Map())
const asked = new Set<string>()

const fetchOverviews = async (source: Source, ids: readonly string[]): Promise<void> => {
  const missing = ids.filter((id) => !asked.has(id))
  for (const id of missing) asked.add(id)
  for (let at = 0; at < missing.length; at += mostOverviews) {
    const found = await source.overviews(missing.slice(at, at + mostOverviews)).catch(() => [])
    overviews.value = new Map([...overviews.value, ...found.map((one) => [one.id, one] as const)])
  }
}

export const Sessions = ({
  source,
  list,
  place,
}: {
  readonly source: Source
  readonly list: SessionList
  readonly place: string
}): VNode => {
  const words = useSignal('')
  const order = useSignal<Order>('appended')
  const tree = useSignal(false)
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useMemo(
    () => arranged(list.sessions, words.value, order.value, tree.value, overviews.value),
    [
      list,
      words.value,
      order.value,
      tree.value,
      order.value === 'tokens' || order.value === 'money' || words.value !== '' ? overviews.value : undefined,
    ],
  )
  const found = useFound(source, words.value)
  const titles = useMemo(() => new Map(list.sessions.map((session) => [session.id, titleOf(session)])), [list])
  const lines = useMemo(() => linesOf(rows, found.hits, found.state), [rows, found.hits, found.state])
  const shownList = useVirtual({
    count: lines.length,
    scroller: () => scroller.current,
    estimate: (index) => (lines[index]?.type === 'heading' ? 44 : 68),
    keyOf: (index) => keyOf(lines[index]) ?? index,
    version: lines,
  })
  const inSight = shownList.items.flatMap(({ index }) => {
    const line = lines[index]
    return line?.type === 'session' ? [line.row.session.id] : []
  })
  const last = shownList.items.at(-1)?.index ?? 0
  useEffect(() => {
    if (found.more !== undefined && last >= lines.length - 5) found.more()
  }, [last, lines.length])
  useEffect(() => {
    document.title = 'Sessions · Indelible'
  }, [])
  useEffect(() => {
    const timer = setTimeout(() => void fetchOverviews(source, inSight), 30)
    return () => clearTimeout(timer)
  }, [inSight.join('\n')])
  useEffect(() => {
    if (order.value === 'tokens' || order.value === 'money')
      void fetchOverviews(
        source,
        list.sessions.map(({ id }) => id),
      )
  }, [order.value])
  const messages = list.sessions.reduce((sum, { len }) => sum + len, 0)
  return (
    <>
      <header class="top">
        <div class="top-line">
          <h1>Sessions</h1>
          <span class="quiet count">
            {counted(list.sessions.length, 'session')}, {counted(messages, 'message')}
          </span>
          <span class="quiet place" title={place}>
            {shown(place)}
          </span>
        </div>
        <div class="top-line second">
          <div class="tools wide" role="search">
            <input
              type="search"
              placeholder="Search sessions and their messages"
              aria-label="search sessions and messages"
              value={words.value}
              onInput={(event) => {
                words.value = event.currentTarget.value
                scroller.current?.scrollTo({ top: 0 })
              }}
            />
            <select
              aria-label="order"
              value={order.value}
              onChange={(event) => (order.value = event.currentTarget.value as Order)}
            >
              {orders.map(([value, text]) => (
                <option value={value}>{text}</option>
              ))}
            </select>
            <button type="button" class="plain" aria-pressed={tree.value} onClick={() => (tree.value = !tree.value)}>
              Forks as a tree
            </button>
          </div>
        </div>
      </header>
      <div class="scroll" ref={scroller} tabIndex={0} role="region" aria-label="sessions">
        {list.damaged.map(({ id, reason }) => (
          <p class="gap bad">
            {shown(id)}: {shown(reason)}
          </p>
        ))}
        {lines.length === 0 ? (
          <p class="nothing">
            {list.sessions.length === 0
              ? 'No sessions yet: “indelible import FILE” creates one.'
              : 'No session is like that.'}
          </p>
        ) : null}
        <ul class="sessions" style={{ height: `${shownList.height}px` }}>
          {shownList.items.map(({ index, key, start }) => {
            const line = lines[index]
            return line === undefined ? null : (
              <li key={key} ref={shownList.measure} data-index={index} style={{ transform: `translateY(${start}px)` }}>
                {line.type === 'session' ? (
                  <SessionRow
                    row={line.row}
                    overview={overviews.value.get(line.row.session.id)}
                    created={order.value === 'created'}
                  />
                ) : line.type === 'hit' ? (
                  <Hit hit={line.hit} title={titles.get(line.hit.session) ?? line.hit.session} />
                ) : (
                  <h2 class="list-heading">{line.text}</h2>
                )}
              </li>
            )
          })}
        </ul>
      </div>
    </>
  )
}

type Line =
  | { readonly type: 'session'; readonly row: Row }
  | { readonly type: 'hit'; readonly hit: FoundMessage }
  | { readonly type: 'heading'; readonly text: string }

const keyOf = (line: Line | undefined): string | undefined =>
  line === undefined
    ? undefined
    : line.type === 'session'
      ? line.row.session.id
      : line.type === 'hit'
        ? `${line.hit.session}\n${line.hit.position}`
        : `\n${line.text}`

const linesOf = (rows: readonly Row[], hits: readonly FoundMessage[], state: Found['state']): readonly Line[] => {
  const sessions = rows.map((row): Line => ({ type: 'session', row }))
  if (state === 'none') return sessions
  return [
    ...sessions,
    {
      type: 'heading',
      text:
        state === 'busy' ? 'Searching the messages…' : hits.length === 0 ? 'No message has these words' : 'In messages',
    },
    ...hits.map((hit): Line => ({ type: 'hit', hit })),
  ]
}

interface Found {
  readonly state: 'none' | 'busy' | 'done'
  readonly hits: readonly FoundMessage[]
  readonly more?: () => void
}

/** So long after the last key the messages are searched. */
const typingPause = 120
const fewestLetters = 2

/** The messages with these words: the first page, and each further one when it is asked for. */
const useFound = ({ search }: Source, words: string): Found => {
  const [found, setFound] = useState<Omit<Found, 'more'> & { readonly next?: string | undefined }>({
    state: 'none',
    hits: [],
  })
  const gone = useRef(new AbortController())
  const page = useRef<string | undefined>(undefined)
  const read = async (
    before: readonly FoundMessage[],
    after: string | undefined,
    signal: AbortSignal,
  ): Promise<void> => {
    // A page may be empty and have a next one: a call looks through a bounded number of messages.
    const hits = [...before]
    let next = after
    do {
      const answer = await search?.(words, next, signal)
      if (signal.aborted) return
      hits.push(...(answer?.hits ?? []))
      next = answer?.next
    } while (next !== undefined && hits.length === before.length)
    setFound({ state: 'done', hits, next })
  }
  useEffect(() => {
    gone.current.abort()
    gone.current = new AbortController()
    page.current = undefined
    if (search === undefined || words.trim().length < fewestLetters) return setFound({ state: 'none', hits: [] })
    setFound((before) => ({ state: 'busy', hits: before.hits }))
    const { signal } = gone.current
    const timer = setTimeout(() => {
      read([], undefined, signal).catch(() => signal.aborted || setFound({ state: 'done', hits: [] }))
    }, typingPause)
    return () => clearTimeout(timer)
  }, [words])
  const { next, ...rest } = found
  return {
    ...rest,
    ...(next !== undefined && {
      more: () => {
        if (page.current === next) return
        page.current = next
        read(found.hits, next, gone.current.signal).catch(() => {})
      },
    }),
  }
}

const Hit = ({ hit, title }: { readonly hit: FoundMessage; readonly title: string }): VNode => (
  <a class="session hit" href={hrefOf({ view: 'session', id: hit.session, at: hit.position })}>
    <span class="hit-text">{marked(hit)}</span>
    <span class="session-words">
      {hit.role} {hit.position} · {oneLine(title, 120)}
    </span>
  </a>
)

/** The text around the words, with the words marked. */
const marked = ({ text, marks }: FoundMessage): ComponentChildren => {
  const pieces: ComponentChildren[] = []
  let at = 0
  for (const [from, to] of marks) {
    pieces.push(shown(text.slice(at, from)), <mark>{shown(text.slice(from, to))}</mark>)
    at = to
  }
  return [...pieces, shown(text.slice(at))]
}

const SessionRow = ({
  row: { session, depth },
  overview,
  created,
}: {
  readonly row: Row
  readonly overview: Overview | undefined
  readonly created: boolean
}): VNode => {
  const title = titleOf(session)
  const time = created ? session.created : activityOf(session)
  const words = overview?.words ?? ''
  const named = title !== session.id
  return (
    <a class={`session depth${Math.min(depth, 6)}`} href={hrefOf({ view: 'session', id: session.id })}>
      <span class="session-title">
        {depth > 0 ? <span aria-hidden="true">↳ </span> : null}
        {oneLine(named ? title : words === '' ? title : words, 160)}
      </span>
      <span class="session-words">{named && words !== '' ? oneLine(words, 200) : session.id}</span>
      <span class="session-time" title={timeText(time)}>
        {agoText(time)}
      </span>
      <span class="session-facts">
        {counted(session.len, 'message')}
        {session.forkedFrom === undefined ? '' : ` · fork at ${session.forkedFrom.at}`}
        {overview === undefined || overview.models.length === 0
          ? ''
          : ` · ${overview.models.map((model) => oneLine(model, 32)).join(', ')}`}
        {overview === undefined || overview.input === 0 ? '' : ` · ${compact(overview.input + overview.output)} tokens`}
        {overview?.dollars === undefined ? '' : ` · ${dollarsText(overview.dollars)}`}
      </span>
    </a>
  )
}

interface Row {
  readonly session: ViewedSession
  readonly depth: number
}

const arranged = (
  sessions: readonly ViewedSession[],
  words: string,
  order: Order,
  tree: boolean,
  known: ReadonlyMap<string, Overview>,
): readonly Row[] => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sessions.filter((session) => {
    if (wanted.length === 0) return true
    const overview = known.get(session.id)
    const text =
      `${session.id} ${titleOf(session)} ${overview?.words ?? ''} ${overview?.models.join(' ') ?? ''}`.toLowerCase()
    return wanted.every((word) => text.includes(word))
  })
  const tokens = (id: string): number => (known.get(id)?.input ?? 0) + (known.get(id)?.output ?? 0)
  const by: { readonly [order in Order]: (a: ViewedSession, b: ViewedSession) => number } = {
    appended: (a, b) => activityOf(b) - activityOf(a),
    created: (a, b) => b.created - a.created,
    messages: (a, b) => b.len - a.len,
    title: (a, b) => titleOf(a).localeCompare(titleOf(b)),
    tokens: (a, b) => tokens(b.id) - tokens(a.id),
    money: (a, b) => (known.get(b.id)?.dollars ?? -1) - (known.get(a.id)?.dollars ?? -1),
  }
  const sorted = found.toSorted(by[order])
  return tree ? treeOf(sorted) : sorted.map((session) => ({ session, depth: 0 }))
}

/** Forks below the session that they come from. */
const treeOf = (sessions: readonly ViewedSession[]): readonly Row[] => {
  const there = new Set(sessions.map(({ id }) => id))
  const forks = new Map<string, ViewedSession[]>()
  const roots: ViewedSession[] = []
  for (const session of sessions) {
    const from = session.forkedFrom?.id
    if (from === undefined || !there.has(from) || from === session.id) roots.push(session)
    else forks.set(from, [...(forks.get(from) ?? []), session])
  }
  const rows: Row[] = []
  const stack: Row[] = roots.toReversed().map((session) => ({ session, depth: 0 }))
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { session, depth } = next
    rows.push(next)
    for (const fork of (forks.get(session.id) ?? []).toReversed()) stack.push({ session: fork, depth: depth + 1 })
  }
  return rows
}
