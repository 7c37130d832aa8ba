/** All sessions of a store. */
import { effect, signal, useSignal, type Signal } from '@preact/signals'
import type { FoundMessage, Overview, SessionList, ViewedSession } from '../../../src/protocol.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Button, Choice, SearchField } from '../elements/controls.tsx'
import { useKeyActions } from '../elements/key-actions.ts'
import { displayNameOf, erasedText, fetchOverviews, overviews } from '../data/overviews.ts'
import { Facts } from '../elements/field.tsx'
import { hrefOf } from '../route.ts'
import {
  agoText,
  compactNumber,
  countText,
  costText,
  dotted,
  groupedNumber,
  oneLine,
  sentence,
  visibleText,
  timeText,
} from '../format-text.ts'
import {
  alikeIn,
  factsOf,
  hostsOf,
  inOrder,
  keyOf,
  linesOf,
  matches,
  modelsIn,
  parentsIn,
  programOf,
  projectsIn,
  tokensOf,
  treeOf,
  type Order,
  type Row,
  type SearchState,
} from './session-list.ts'
import { reasonOf, type Source } from '../data/source.ts'
import { activityOf, titleOf, useTitle } from '../data/title.ts'
import { workFolderOf } from '../../../src/texts/about.ts'
import { useVirtual } from '../elements/virtual.ts'

const orders: readonly (readonly [Order, string])[] = [
  ['appended', 'Last activity'],
  ['created', 'Newest'],
  ['messages', 'Messages'],
  ['title', 'Title'],
  ['tokens', 'Tokens'],
  ['money', 'Cost'],
]

/** How the rows stand: one after another, or in groups. */
type Arrangement = 'flat' | 'tree' | 'project' | 'program'

const arrangements: readonly (readonly [Arrangement, string])[] = [
  ['flat', 'No groups'],
  ['project', 'By project'],
  ['program', 'By program'],
  ['tree', 'As a tree'],
]

/** The periods of the last activity, in days. */
const periods: readonly (readonly [days: number, string])[] = [
  [Infinity, 'Any time'],
  [1, 'Last day'],
  [7, 'Last 7 days'],
  [30, 'Last 30 days'],
]
const dayMs = 86_400_000

/** The least cost, in US dollars. */
const costs: readonly (readonly [dollars: number, string])[] = [
  [0, 'Any cost'],
  [0.1, '$0.10 or more'],
  [1, '$1 or more'],
  [10, '$10 or more'],
  [100, '$100 or more'],
]

/** One of some choices. It is kept while a session is looked at, and when the page is loaded again. */
const keptChoice = <T,>(name: string, choices: readonly (readonly [T, string])[], first: T): Signal<T> => {
  const kept = signal(choices.find(([choice]) => String(choice) === sessionStorage.getItem(name))?.[0] ?? first)
  effect(() => sessionStorage.setItem(name, String(kept.value)))
  return kept
}
const keptText = (name: string): Signal<string> => {
  const kept = signal(sessionStorage.getItem(name) ?? '')
  effect(() => sessionStorage.setItem(name, kept.value))
  return kept
}
/** Made when the list is first shown: workers load this file too, and have no storage. */
const makeChoices = (): Choices => ({
  order: keptChoice('indelible.order', orders, 'appended'),
  arrangement: keptChoice('indelible.arrangement', arrangements, 'flat'),
  period: keptChoice('indelible.period', periods, Infinity),
  cost: keptChoice('indelible.cost', costs, 0),
  model: keptText('indelible.model'),
  host: keptText('indelible.host'),
})
let madeChoices: Choices | undefined

interface Choices {
  readonly order: Signal<Order>
  readonly arrangement: Signal<Arrangement>
  readonly period: Signal<number>
  readonly cost: Signal<number>
  /** Empty for any. */
  readonly model: Signal<string>
  readonly host: Signal<string>
}
/** What is searched for, and where the list was scrolled to: going back from a session finds it as it was. */
const words = signal('')
const kept = { top: 0 }

interface ValueChoiceProps {
  readonly label: string
  readonly any: string
  readonly values: readonly string[]
  readonly value: Signal<string>
}

/** A choice among values that occur, and any. Nothing if there is no choice. */
const ValueChoice = ({ label, any, values, value }: ValueChoiceProps): VNode | null => {
  const all = [...new Set(value.value === '' ? values : [value.value, ...values])].toSorted()
  if (all.length < 2 && value.value === '') return null
  return (
    <Choice
      label={label}
      choices={[['', any], ...all.map((value) => [value, oneLine(value, 40)] as const)]}
      value={value}
    />
  )
}

interface SessionsProps {
  readonly source: Source
  readonly list: SessionList
  readonly place: string
  /** Why not all of them could be read. */
  readonly fault: string | undefined
}

export const Sessions = ({ source, list, place, fault }: SessionsProps): VNode => {
  const { order, arrangement, period, cost, model, host } = (madeChoices ??= makeChoices())
  const isFiltered = [period.value !== Infinity, cost.value > 0, model.value !== '', host.value !== '']
  const filters = isFiltered.filter(Boolean).length
  const showsFilters = useSignal(filters > 0)
  const scroller = useRef<HTMLDivElement>(null)
  const shownOnce = useRef({}).current // one list that is looked at: its overviews are asked for once
  const byOverviews = order.value === 'tokens' || order.value === 'money'
  const needsOverviews = words.value !== '' || model.value !== '' || cost.value > 0
  const sorted = useMemo(
    () => inOrder(list.sessions, order.value, overviews.value),
    [list, order.value, byOverviews ? overviews.value : undefined],
  )
  const parentOf = useMemo(() => parentsIn(list.sessions), [list])
  const matching = useMemo(
    () =>
      sorted.filter((session) =>
        matches(session, overviews.value.get(session.id), {
          words: words.value,
          oldest: Date.now() - period.value * dayMs,
          cost: cost.value,
          model: model.value,
          host: host.value,
        }),
      ),
    [
      ...[sorted, words.value, period.value, cost.value, model.value, host.value],
      needsOverviews ? overviews.value : undefined,
    ],
  )
  const rows = useMemo(
    () =>
      arrangement.value === 'tree' ? treeOf(matching, parentOf) : matching.map((session) => ({ session, depth: 0 })),
    [matching, arrangement.value, parentOf],
  )
  const hosts = useMemo(() => [...new Set(list.sessions.flatMap(hostsOf))], [list])
  const models = useMemo(() => modelsIn(list.sessions, overviews.value), [list, overviews.value])
  const found = useSearch(source, words.value)
  const byId = useMemo(() => new Map(list.sessions.map((session) => [session.id, session])), [list])
  const isAlike = useMemo(() => alikeIn(list.sessions), [list, overviews.value])
  const projectOf = useMemo(() => projectsIn(list.sessions), [list])
  const groupOf = arrangement.value === 'project' ? projectOf : arrangement.value === 'program' ? programOf : undefined
  const lines = useMemo(() => linesOf(rows, found, groupOf), [rows, found.hits, found.state, found.fault, groupOf])
  const shownList = useVirtual({
    count: lines.length,
    scroller: () => scroller.current,
    estimate: (index) => (lines[index]?.type === 'heading' ? 44 : 68),
    keyOf: (index) => keyOf(lines[index]) ?? index,
    version: lines,
  })
  const inSight = shownList.items.flatMap(({ index }) => {
    const line = lines[index]
    return line?.type === 'session' ? [line.row.session.id] : line?.type === 'hit' ? [line.hit.session] : []
  })
  const last = shownList.items.at(-1)?.index ?? 0
  useEffect(() => {
    if (found.more !== undefined && last >= lines.length - 5) found.more()
  }, [last, lines.length])
  useTitle('Sessions')
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    shownList.scrollToOffset(kept.top)
    const scrolled = ({ target }: Event): void =>
      void (target === shownList.element() && (kept.top = shownList.element()?.scrollTop ?? 0))
    document.addEventListener('scroll', scrolled, true)
    return () => document.removeEventListener('scroll', scrolled, true)
  }, [])
  /** Moves the focus by so many sessions or found messages. */
  const move = (step: number): void => {
    const at = document.activeElement?.closest<HTMLElement>('li[data-index]')?.dataset['index']
    let next = at === undefined ? (shownList.items[0]?.index ?? 0) : Number(at) + step
    while (lines[next]?.type === 'heading') next += step
    const link = scroller.current?.querySelector<HTMLElement>(`li[data-index="${next}"] a`)
    link?.focus({ preventScroll: true })
    link?.scrollIntoView({ block: 'nearest' })
  }
  useKeyActions({
    j: () => move(1),
    k: () => move(-1),
    '/': () => field.current?.focus(),
  })
  useEffect(() => {
    const timer = setTimeout(() => void fetchOverviews(source, shownOnce, inSight), 30)
    return () => clearTimeout(timer)
  }, [inSight.join('\n'), list])
  useEffect(() => {
    const isFiltered = model.value !== '' || cost.value > 0
    if (!byOverviews && !isFiltered) return
    const isWhole = isFiltered || order.value === 'money'
    const unknown = list.sessions.filter((session) => isWhole || factsOf(session).tokens === undefined)
    const ids = unknown.map(({ id }) => id)
    void fetchOverviews(source, shownOnce, ids)
  }, [order.value, model.value, cost.value, list])
  const messages = list.sessions.reduce((sum, { len }) => sum + len, 0)
  return (
    <>
      <header class="top">
        <div class="top-line">
          <h1>Sessions</h1>
          <span class="quiet count">
            {countText(list.sessions.length, 'session')}, {countText(messages, 'message')}
            {list.next === undefined ? '' : ' so far'}
          </span>
          {source.spending === undefined ? null : (
            <a class="view-link" href={hrefOf({ view: 'spend' })}>
              Spend
            </a>
          )}
          <span class="quiet place" title={place}>
            <bdi dir="ltr">{visibleText(place)}</bdi>
          </span>
        </div>
        <div class="top-line second">
          <div class="tools wide" role="search">
            <SearchField
              {...{ label: 'search sessions and messages', placeholder: 'Search sessions and their messages' }}
              {...{ words, field, typed: () => scroller.current?.scrollTo({ top: 0 }) }}
            />
            <Choice label="order" choices={orders} value={order} />
            <Choice label="groups" choices={arrangements} value={arrangement} />
            <Button aria-expanded={showsFilters.value} onClick={() => (showsFilters.value = !showsFilters.value)}>
              {filters === 0 ? 'Filters' : countText(filters, 'filter')}
            </Button>
          </div>
          {showsFilters.value ? (
            <div class="tools filters" role="group" aria-label="filters">
              <Choice label="time" choices={periods} value={period} />
              <Choice label="cost" choices={costs} value={cost} />
              <ValueChoice label="model" any="Any model" values={models} value={model} />
              <ValueChoice label="host" any="Any host" values={hosts} value={host} />
              <span class="quiet" role="status">
                {filters === 0
                  ? ''
                  : `${countText(matching.length, 'session')} of ${groupedNumber(list.sessions.length)}`}
              </span>
            </div>
          ) : null}
        </div>
      </header>
      <main class="view">
        <div class="scroll" ref={scroller} tabIndex={0} role="region" aria-label="sessions">
          {fault === undefined ? null : (
            <p class="gap bad" role="alert">
              {sentence(fault)}
            </p>
          )}
          {list.damaged.map(({ id, reason }) => (
            <p class="gap bad">
              {visibleText(id)}: {visibleText(reason)}
            </p>
          ))}
          {lines.length === 0 ? (
            <p class="nothing">
              {list.sessions.length === 0
                ? 'No sessions yet: “indelible import FILE” creates one.'
                : 'No session matches.'}
            </p>
          ) : null}
          <ul class="sessions" style={{ height: `${shownList.height}px` }}>
            {shownList.items.map(({ index, key, start }) => {
              const line = lines[index]
              return line === undefined ? null : (
                <li
                  key={key}
                  ref={shownList.measure}
                  data-index={index}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {line.type === 'session' ? (
                    <SessionRow
                      row={line.row}
                      overview={overviews.value.get(line.row.session.id)}
                      created={order.value === 'created'}
                      isAlike={isAlike(line.row.session)}
                      project={projectOf(line.row.session)}
                    />
                  ) : line.type === 'hit' ? (
                    <Hit
                      hit={line.hit}
                      title={displayNameOf(byId.get(line.hit.session) ?? { id: line.hit.session, metadata: {} })}
                    />
                  ) : (
                    <h2 class="list-heading">{line.text}</h2>
                  )}
                </li>
              )
            })}
          </ul>
        </div>
      </main>
    </>
  )
}

/** So long after the last key the messages are searched. */
const typingPause = 120
const fewestLetters = 2

/** The messages with these words: the first page, and each further one when it is asked for. */
const useSearch = ({ search }: Source, words: string): SearchState => {
  const [found, setFound] = useState<Omit<SearchState, 'more'> & { readonly next?: string | undefined }>({
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
      for (const hit of answer?.hits ?? []) hits.push(hit)
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
      read([], undefined, signal).catch(
        (cause: unknown) => signal.aborted || setFound({ state: 'done', hits: [], fault: reasonOf(cause) }),
      )
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
    <span class="hit-text" dir="auto">
      {markedText(hit)}
    </span>
    <span class="session-words">
      {hit.role} {hit.position} · {oneLine(title, 120)}
    </span>
  </a>
)

/** The number of characters before the first of the words. */
const before = 24

/** The text around the words, with the words marked. */
const markedText = ({ text, marks }: FoundMessage): ComponentChildren => {
  // The words stand near the start, so that they are seen where the line is cut.
  const first = marks[0]?.[0] ?? 0
  const cut = first > before ? text.lastIndexOf(' ', first - before) + 1 || first - before : 0
  const pieces: ComponentChildren[] = cut > 0 ? ['…'] : []
  let at = cut
  for (const [from, to] of marks) {
    pieces.push(visibleText(text.slice(at, from)), <mark>{visibleText(text.slice(from, to))}</mark>)
    at = to
  }
  return [...pieces, visibleText(text.slice(at))]
}

interface SessionRowProps {
  readonly row: Row
  readonly overview: Overview | undefined
  readonly created: boolean
  /** Whether another session has the same name. */
  readonly isAlike: boolean
  /** Empty if it is not known. */
  readonly project: string
}

const SessionRow = ({ row: { session, depth }, overview, created, isAlike, project }: SessionRowProps): VNode => {
  const title = titleOf(session)
  const time = created ? session.created : activityOf(session)
  const words = overview?.words ?? ''
  const named = title !== session.id
  const beside = isAlike && named ? <bdi title={session.id}>{shortId(session.id)} · </bdi> : null
  return (
    <a
      class={`session depth${depth}`}
      style={{ paddingLeft: depth === 0 ? undefined : `${1.25 + 1.25 * Math.min(depth, 4)}rem` }}
      href={hrefOf({ view: 'session', id: session.id })}
    >
      <span class="session-title">
        <span dir="auto">
          {depth > 0 ? <span aria-hidden="true">↳ </span> : null}
          {oneLine(withoutMarkup(displayNameOf(session)), 160)}
        </span>
        {marksOf(session, overview).map(([mark, why]) => (
          <span class={mark === damagedMark ? 'badge bad' : 'badge'} title={why}>
            {mark}
          </span>
        ))}
      </span>
      <span class="session-words" dir="auto">
        {overview?.unreadable !== undefined
          ? sentence(overview.unreadable)
          : named && words !== ''
            ? [beside, oneLine(withoutMarkup(restOf(words, title)), 200)]
            : named || words !== ''
              ? session.id
              : ''}
      </span>
      <span class="session-time" title={timeText(time)}>
        {agoText(time)}
      </span>
      <span class="session-facts" title={workFolderOf(session)}>
        <Facts text={rowFacts(session, overview, project)} />
      </span>
    </a>
  )
}

const rowFacts = (session: ViewedSession, overview: Overview | undefined, project: string): string => {
  const { len, forkedFrom } = session
  const { models = [], dollars, unpriced, undercounted, breaks } = overview ?? {}
  const tokens = tokensOf(session, overview)
  return dotted(
    project === '' ? [] : oneLine(project, 32),
    `${countText(len, 'message')}${forkedFrom === undefined ? '' : ` (${groupedNumber(forkedFrom.at)} shared)`}`,
    models.length === 0 ? [] : models.map((model) => oneLine(model, 32)).join(', '),
    tokens === 0 ? [] : `${compactNumber(tokens)} tokens`,
    costText(dollars, unpriced, undercounted),
    breaks === undefined ? [] : countText(breaks, 'cache break'),
  )
}

/** The end of a long id, in which recorded sessions of the same first words differ. */
const shortId = (id: string): string => visibleText(id.length > 24 ? `…${id.slice(-16)}` : id)

/** First words without a title that repeats their beginning. */
const restOf = (words: string, title: string): string => {
  const start = title.replaceAll(/\s+/g, ' ').replace(/…$/, '').trim()
  if (!words.startsWith(start)) return words
  const rest = words.slice(start.length).trim()
  return rest === '' ? '' : `… ${rest}`
}

/** A line of Markdown without the marks of code, of bold text and of a heading. */
const withoutMarkup = (text: string): string => text.replaceAll(/`+|\*\*|^#{1,6} /g, '')

const damagedMark = 'damaged'

/** What is special about a session, in a word, and what that means. */
const marksOf = (
  { encrypted, forkedFrom }: ViewedSession,
  overview: Overview | undefined,
): readonly (readonly [mark: string, why: string])[] => {
  const { held, erased, found, sealed, unreadable } = overview ?? {}
  const because = [held?.by, held?.reason].filter((text) => text !== undefined).join(': ')
  const marks: readonly (readonly [isThere: boolean, mark: string, why: string])[] = [
    [encrypted === true && unreadable === undefined, 'encrypted', 'Its stored rows are encrypted'],
    [encrypted === true && unreadable !== undefined, 'no key', 'It is encrypted, and this view has no key for it'],
    [encrypted !== true && unreadable !== undefined, 'unreadable', visibleText(unreadable ?? '')],
    [
      found?.problem !== undefined,
      found?.damaged === undefined ? 'blocks missing' : damagedMark,
      sentence(found?.problem ?? ''),
    ],
    [forkedFrom !== undefined, 'fork', `Forked from ${visibleText(forkedFrom?.id ?? '')}`],
    [
      held !== undefined,
      'held',
      `It may not be erased or removed${because === '' ? '' : ` (${visibleText(because)})`}`,
    ],
    [
      erased !== undefined,
      `${groupedNumber(erased ?? 0)} erased`,
      ['The text of messages was erased.', ...(overview?.erasures ?? []).map(erasedText)].join('\n'),
    ],
    [sealed === true, 'sealed', 'Nothing can be appended to it'],
  ]
  return marks.flatMap(([isThere, mark, why]) => (isThere ? [[mark, why] as const] : []))
}
