/** A session as a timeline: a feed of its messages, of which only those in sight are there. */
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { Button } from '../elements/controls.tsx'
import { positionsOf, type Filter } from '../data/filter.ts'
import { firstWhere } from '../first-where.ts'
import { markWords } from './highlight.ts'
import { useKeyActions } from '../elements/key-actions.ts'
import { MessageItem } from '../message/message.tsx'
import { openAll, toggle } from '../message/folding.ts'
import type { Entry } from '../data/entry.ts'
import { roleOf, type SessionRecord } from '../data/record.ts'
import { replaceRoute, route } from '../route.ts'
import { searchWords } from '../message/search-hits.tsx'
import { countText, dayText, groupedNumber, oneLine } from '../format-text.ts'
import { useVirtual } from '../elements/virtual.ts'

interface TimelineProps {
  readonly record: SessionRecord
  readonly only: Filter
  readonly words: string
  /** Receives the function that goes so many found messages on. */
  readonly jumpTo: { current: (step: number) => void }
  /** The message that the address names. */
  readonly at: number | undefined
  readonly search: () => void
}

export const Timeline = ({ record, only, words, at, search, jumpTo }: TimelineProps): VNode => {
  const scroller = useRef<HTMLDivElement>(null)
  const version = record.version.value
  const positions = useMemo(() => positionsOf(record, only, ''), [record, version, only])
  const isSearched = words.trim() !== ''
  const hits = useMemo(
    () => (isSearched ? positionsOf(record, only, words) : []),
    [record, version, only, words, isSearched],
  )
  const entryAt = (index: number): Entry => record.entries[positions[index] as number] as Entry
  const list = useVirtual({
    count: positions.length,
    scroller: () => scroller.current,
    estimate: (index) => estimated(entryAt(index)),
    keyOf: (index) => positions[index] ?? index,
    version: only,
  })
  const current = at === undefined ? -1 : indexOf(positions, record.join.shownIn(at))

  // The message that the address names is brought to the top once it has come.
  const brought = useRef<number | undefined>(undefined)
  const focused = useRef<number | undefined>(undefined)
  useLayoutEffect(() => {
    if (at === undefined || brought.current === at || current === -1) return
    brought.current = at
    list.scrollTo(current)
  })
  useEffect(() => {
    if (focused.current === undefined) return
    const element = document.getElementById(`m${focused.current}`)
    if (element === null) return
    element.focus({ preventScroll: true })
    focused.current = undefined
  })
  useEffect(() => {
    const stop = markWords(scroller.current, words)
    return stop
  })

  /** Where the reader is: asked of the address, which is ahead of what is rendered. */
  const here = (): number => {
    const { value } = route
    return value.view === 'session' && value.at !== undefined ? indexOf(positions, record.join.shownIn(value.at)) : -1
  }
  const move = (step: number): void => {
    const from = here()
    const first = (list.items[0]?.index ?? 0) - (step > 0 ? 1 : 0)
    focusOn(Math.min(positions.length - 1, Math.max(0, (from === -1 ? first : from) + step)))
  }
  const focusOn = (index: number): void => {
    const position = positions[index]
    if (position === undefined) return
    brought.current = position
    focused.current = position
    replaceRoute({ view: 'session', id: record.id, at: position })
    list.scrollTo(index)
  }
  /** Goes from the message that the reader is at, or sees first, to the next one that was found; round the end. */
  const jump = (step: number, isNew = false): void => {
    const from = here()
    const at = positions[from === -1 ? (list.items[0]?.index ?? 0) : from] ?? 0
    const known = indexOf(hits, at)
    const ahead = hits.findIndex((position) => position >= at)
    const next = isNew ? ahead : known !== -1 ? known + step : step > 0 ? ahead : ahead - 1
    const position = hits.at(next >= hits.length ? 0 : next)
    if (position === undefined) return
    brought.current = position
    replaceRoute({ view: 'session', id: record.id, at: position })
    list.scrollTo(indexOf(positions, position))
  }
  useEffect(() => {
    if (isSearched) jump(1, true)
  }, [words])
  useEffect(() => {
    jumpTo.current = jump
  })
  useKeyActions({
    n: () => jump(1),
    N: () => jump(-1),
    j: () => move(1),
    k: () => move(-1),
    g: () => focusOn(0),
    G: () => focusOn(positions.length - 1),
    e: openAll,
    o: () => {
      const index = here()
      if (index === -1) return
      const entry = entryAt(index)
      for (const [part, { type }] of entry.message.content.entries())
        if (type !== 'refusal' && type !== 'image') toggle(`${record.id}/${entry.position}.${part}`)
    },
    '/': () => {
      focused.current = undefined // a message that is focused later would take the next letters
      search()
    },
  })

  // A reader at the end follows new messages. Elsewhere, the page shows how many there are.
  const end = useRef({ isNear: false, seen: 0 }).current
  const unseen = useSignal(0)
  useEffect(() => {
    const scrolled = ({ target }: Event): void => {
      const element = list.element()
      if (element === null || target !== element) return
      end.isNear = element.scrollHeight - element.scrollTop - element.clientHeight < 80
      if (end.isNear) unseen.value = 0
    }
    document.addEventListener('scroll', scrolled, true)
    return () => document.removeEventListener('scroll', scrolled, true)
  }, [])
  useEffect(() => {
    const more = record.entries.length - end.seen
    end.seen = record.entries.length
    if (record.live.value !== 'live' || more <= 0 || more === record.entries.length) return
    if (end.isNear) list.scrollTo(positions.length - 1)
    else unseen.value += more
  }, [version])
  useEffect(() => {
    searchWords.value = words
    return () => void (searchWords.value = '')
  }, [words])
  return (
    <>
      {only === 'all' && !isSearched ? null : (
        <p class="found-count">
          <span role="status">
            {only === 'all'
              ? ''
              : `${countText(positions.length, 'message')} of ${groupedNumber(record.entries.length)}`}
            {only !== 'all' && isSearched ? ', ' : ''}
            {isSearched
              ? `${foundText(hits, current === -1 ? -1 : positions[current])} with “${oneLine(words, 60)}”`
              : ''}
            {record.whole.value ? '' : ', so far'}
          </span>
          {hits.length === 0 ? null : (
            <>
              <Button class="more" onClick={() => jump(-1)}>
                Previous
              </Button>
              <Button class="more" onClick={() => jump(1)}>
                Next
              </Button>
            </>
          )}
        </p>
      )}
      <div class="scroll" ref={scroller} tabIndex={0} role="region" aria-label="messages of the session">
        {positions.length === 0 && record.whole.value ? (
          <p class="nothing">
            {record.entries.length === 0 ? 'The session has no messages yet.' : 'No message matches.'}
          </p>
        ) : null}
        <div class="feed" role="feed" aria-busy={!record.whole.value} style={{ height: `${list.height}px` }}>
          {list.items.map(({ index, key, start }) => {
            const entry = entryAt(index)
            const before = index === 0 ? undefined : entryAt(index - 1)
            let dated = index - 1
            while (dated >= 0 && dayOf(entryAt(dated)) === undefined) dated -= 1
            return (
              <article
                key={key}
                ref={list.measure}
                data-index={index}
                id={`m${entry.position}`}
                class={index === current ? 'item current' : 'item'}
                aria-posinset={index + 1}
                aria-setsize={record.whole.value ? positions.length : -1}
                aria-label={`${roleOf(entry)}, message ${entry.position}`}
                tabIndex={-1}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Day at={dayOf(entry)} before={dated < 0 ? undefined : dayOf(entryAt(dated))} />
                <MessageItem record={record} entry={entry} continued={continues(before, entry)} />
              </article>
            )
          })}
        </div>
      </div>
      {unseen.value === 0 ? null : (
        <button type="button" class="unseen-messages" onClick={() => focusOn(positions.length - 1)}>
          {countText(unseen.value, 'new message')} ↓
        </button>
      )}
    </>
  )
}

/** Which of the found messages the reader is at. */
const foundText = (hits: readonly number[], at: number | undefined): string => {
  const known = at === undefined ? -1 : indexOf(hits, at)
  return known === -1
    ? countText(hits.length, 'message')
    : `${groupedNumber(known + 1)} of ${countText(hits.length, 'message')}`
}

/** Whether the same one speaks on, in the same minutes. */
const continues = (before: Entry | undefined, { message, at }: Entry): boolean =>
  before !== undefined &&
  message.role === 'assistant' &&
  before.message.role === 'assistant' &&
  before.message.name === message.name &&
  (at ?? 0) - (before.at ?? 0) < longestPause

const longestPause = 30 * 60_000

/** A time of its day; undefined of an erased message that was said on another than it was imported. */
const dayOf = ({ at, isUntold, state }: Entry): number | undefined => (isUntold && state === 'erased' ? undefined : at)

/** The day, where a new one begins. */
const Day = ({ at, before }: { readonly at: number | undefined; readonly before: number | undefined }): VNode | null =>
  at === undefined || (before !== undefined && dayText(before) === dayText(at)) ? null : (
    <p class="day">{dayText(at)}</p>
  )

/** About as high as it will be: what is measured later moves less. */
const estimated = ({ message }: Entry): number => {
  let height = 52
  for (const part of message.content)
    height +=
      part.type === 'text' ? Math.min(1600, 26 * Math.ceil(part.text.length / 90)) : part.type === 'image' ? 320 : 36
  return height
}

/** Where a position stands among sorted ones; -1 where it does not. */
const indexOf = (positions: readonly number[], position: number): number => {
  const index = firstWhere(positions.length, (at) => (positions[at] as number) >= position)
  return positions[index] === position ? index : -1
}
