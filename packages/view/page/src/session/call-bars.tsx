/** A session's calls at a glance: a bar for each recorded call, and which one cost most and why. */
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import {
  costsMore,
  dearestText,
  sharedText,
  sumsOf,
  sumsText,
  type CallFigures,
  type CallSums,
} from '../../../src/calls/call-figures.ts'
import { barCauses, causeTexts } from '../../../src/texts/cause-text.ts'
import { figuresIn, sumsOfFile } from '../data/call-figures.ts'
import { useLoaded } from '../data/use-loaded.ts'
import type { SessionRecord } from '../data/record.ts'
import { Facts, Legend } from '../elements/field.tsx'
import { hrefOf } from '../route.ts'
import { sessionsBeside, type SessionBeside } from '../data/concurrent-sessions.ts'
import {
  atLeast,
  compactNumber,
  dollarsText,
  dotted,
  groupedNumber,
  oneLine,
  sentence,
  tokensText,
} from '../format-text.ts'

/** The most bars that are drawn. If there are more calls, a bar shows several. */
const mostBars = 1000
/** A bar is at most this wide, with the gap beside it, in pixels. */
const widest = 32

/** Nothing where no call of the record was counted. */
export const CallBars = ({
  record,
  here,
}: {
  readonly record: SessionRecord
  /** The call that is looked at: the bars lead from call to call. */
  readonly here?: number
}): VNode | null => {
  const isReady = record.whole.value || record.failed.value
  // Receipts of a session that is open come one by one; while it is being read, they come by the thousand.
  const version = isReady ? record.version.value : -1
  const figures = useMemo(() => (isReady ? figuresIn(record).figures : []), [record, isReady, version])
  const beside = useLoaded(
    (gone) => (figures.length > 0 ? sessionsBeside(record, gone) : Promise.resolve([])),
    [record, figures.length > 0],
  )
  if (version === -1) return null
  if (figures.length === 0) return here === undefined ? <FileTotals record={record} /> : null
  return <Bars record={record} figures={figures} beside={beside.value ?? []} fault={beside.fault} here={here} />
}

/** What a file counts of all its calls together. */
const FileTotals = ({ record }: { readonly record: SessionRecord }): VNode | null => {
  const ofFile = sumsOfFile(record)
  if (ofFile.calls === 0 || ofFile.input === 0) return null
  const sums = { ...ofFile, breaks: undefined, failed: 0, dearest: undefined }
  return (
    <section class="glance" aria-label="calls at a glance">
      <p class="glance-sums">
        <Facts text={sumsText(sums)} />. The file has only totals: which call cost most is not recorded.
      </p>
    </section>
  )
}

/** A bar: of a call, of several that follow each other, or of a session that began beside them. */
type Bar =
  | { readonly type: 'calls'; readonly shown: CallFigures; readonly of: readonly CallFigures[] }
  | { readonly type: 'beside'; readonly session: SessionBeside }

const barsOf = (figures: readonly CallFigures[], beside: readonly SessionBeside[]): readonly Bar[] => {
  const step = Math.ceil(figures.length / mostBars)
  const bars: Bar[] = []
  let next = 0
  for (let from = 0; from < figures.length; from += step) {
    const of = figures.slice(from, from + step)
    const first = of[0]?.at ?? Infinity
    for (; next < beside.length && (beside[next] as SessionBeside).created <= first; next++)
      bars.push({ type: 'beside', session: beside[next] as SessionBeside })
    bars.push({ type: 'calls', shown: of.reduce((most, figures) => (costsMore(figures, most) ? figures : most)), of })
  }
  return [...bars, ...beside.slice(next).map((session): Bar => ({ type: 'beside', session }))]
}

interface BarsProps {
  readonly record: SessionRecord
  readonly figures: readonly CallFigures[]
  readonly beside: readonly SessionBeside[]
  readonly fault: string | undefined
  readonly here: number | undefined
}

const Bars = ({ record, figures, beside, fault, here }: BarsProps): VNode => {
  const sums = useMemo(() => sumsOf(figures), [figures])
  const bars = useMemo(() => barsOf(figures, beside), [figures, beside])
  const most = useMemo(() => figures.reduce((most, { input }) => Math.max(most, input), 1), [figures])
  /** The bar that is pointed at, and the one that Tab leads to. */
  const pointed = useSignal<number | undefined>(undefined)
  const reached = useSignal(-1)
  const dearest = bars.findIndex((bar) => bar.type === 'calls' && bar.of.includes(sums.dearest as CallFigures))
  const current = bars.findIndex((bar) => bar.type === 'calls' && bar.of.some(({ key }) => key === here))
  const looked = here === undefined ? dearest : current
  const tabbed = reached.value === -1 ? Math.max(0, looked) : Math.min(reached.value, bars.length - 1)
  const scroller = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current: element } = scroller
    const bar = element?.querySelectorAll('a')[looked]
    if (element === null || bar === undefined) return undefined
    const resized = new ResizeObserver(() => {
      element.scrollLeft = bar.offsetLeft - element.clientWidth / 2
      hintAtHidden(element)
    })
    resized.observe(element)
    return () => resized.disconnect()
  }, [looked])
  const move = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: tabbed - 1, ArrowRight: tabbed + 1, Home: 0, End: bars.length - 1 }[event.key]
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    scroller.current?.querySelectorAll('a')[Math.min(bars.length - 1, Math.max(0, to))]?.focus()
  }
  const shownBar = pointed.value === undefined ? undefined : bars[pointed.value]
  return (
    <section class={`glance${here === undefined ? '' : ' within'}`} aria-label="calls at a glance">
      <p class="glance-sums">
        <Facts text={`${sumsText(sums)}${sharedText(record.info.value, figures)}`} />
      </p>
      <div class="glance-plot" style={{ width: `min(100%, ${bars.length * widest}px)` }}>
        <p class="glance-scale" aria-hidden="true">
          {tokensText(most)}
        </p>
        {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- the keys move between links */}
        <div
          ref={scroller}
          class={`glance-bars${bars.length > 200 ? ' close' : ''}`}
          role="group"
          aria-label="a bar for each call; the arrow keys move between them"
          onKeyDown={move}
          onScroll={(event) => hintAtHidden(event.currentTarget)}
          onMouseLeave={() => (pointed.value = undefined)}
        >
          {bars.map((bar, index) => {
            const point = {
              tabIndex: index === tabbed ? 0 : -1,
              onMouseEnter: () => (pointed.value = index),
              onFocus: () => {
                pointed.value = index
                reached.value = index
              },
              onBlur: () => (pointed.value = undefined),
            }
            return bar.type === 'beside' ? (
              <a
                class="bar beside-bar"
                href={hrefOf({ view: 'session', id: bar.session.id })}
                aria-label={besideText(bar.session)}
                {...point}
              >
                <i style={{ height: heightOf(bar.session.input, most) }} />
              </a>
            ) : (
              <CallBar
                record={record}
                bar={bar}
                most={most}
                isDearest={index === dearest && figures.length > 1}
                isHere={index === current}
                within={here !== undefined}
                point={point}
              />
            )
          })}
        </div>
      </div>
      <p class="glance-said">
        {shownBar === undefined ? (
          here === undefined ? (
            <DearestCall record={record} sums={sums} />
          ) : (
            <SelectedCall record={record} sums={sums} bar={bars[current]} />
          )
        ) : (
          <Facts text={shownBar.type === 'beside' ? besideText(shownBar.session) : textOf(shownBar)} />
        )}
      </p>
      <Legend marks={legendOf(figures, beside.length > 0)} />
      {fault === undefined ? null : (
        <p class="bad">Other sessions of the same client could not be listed. {sentence(fault)}</p>
      )}
    </section>
  )
}

/** Bars fade out at an edge that hides others. */
const hintAtHidden = ({ scrollLeft, scrollWidth, clientWidth, classList }: HTMLElement): void => {
  const left = scrollWidth - clientWidth - scrollLeft
  classList.toggle('scrolls', scrollWidth > clientWidth)
  classList.toggle('hidden-before', scrollLeft > 1)
  classList.toggle('hidden-after', left > 1)
}

interface CallBarProps {
  readonly record: SessionRecord
  readonly bar: Extract<Bar, { readonly type: 'calls' }>
  readonly most: number
  readonly isDearest: boolean
  readonly isHere: boolean
  readonly within: boolean
  readonly point: object
}

const CallBar = ({ record, bar, most, isDearest, isHere, within, point }: CallBarProps): VNode => {
  const { shown, of } = bar
  const states = [
    isDearest ? ' dearest' : '',
    isHere ? ' here' : '',
    of.some(({ failed }) => failed !== undefined) ? ' glance-failed' : of.some(isEmpty) ? ' empty' : '',
  ]
  return (
    <a
      class={`bar${states.join('')}`}
      href={hrefOfCall(record, shown, within)}
      aria-label={textOf(bar)}
      aria-current={isHere ? 'true' : undefined}
      {...point}
    >
      {of.some(({ repeats }) => repeats !== undefined) ? <b class="repeats" /> : null}
      {of.some(({ broke }) => broke !== undefined) ? <b class="broke" /> : null}
      {barCauses
        .toReversed()
        .map((cause) =>
          shown.parts.has(cause) ? (
            <i
              class={`cause-${cause}`}
              style={{ ...colourOf(cause), height: heightOf(shown.parts.get(cause) as number, most) }}
            />
          ) : null,
        )}
    </a>
  )
}

/** What it saw; what an imported call saw is not recorded, so that leads to its answer. */
const hrefOfCall = (record: SessionRecord, { number, imported }: CallFigures, within: boolean): string =>
  hrefOf(
    imported === undefined || within
      ? { view: 'saw', id: record.id, call: number }
      : { view: 'session', id: record.id, at: imported },
  )

/** Whether nothing is known of a call, neither its tokens nor why there is no answer. */
const isEmpty = ({ input, failed }: CallFigures): boolean => input === 0 && failed === undefined

/** Of the bars' own height, less the mark above them. */
const heightOf = (tokens: number, most: number): string => `${Math.min(1, tokens / most) * 92}%`

/** Which call cost most, and why. */
const DearestCall = ({ record, sums }: { readonly record: SessionRecord; readonly sums: CallSums }): VNode | null => {
  const { dearest, calls } = sums
  if (dearest === undefined) return null
  if (calls === 1) return <Facts text={textOf({ type: 'calls', shown: dearest, of: [dearest] })} />
  const { number, why } = dearest
  return (
    <>
      <a href={hrefOfCall(record, dearest, false)}>Call {groupedNumber(number)}</a>
      {dearestText(sums)} {why}
    </>
  )
}

interface SelectedCallProps {
  readonly record: SessionRecord
  readonly sums: CallSums
  readonly bar: Bar | undefined
}

/** The call that is looked at, and the way to the one that cost most. */
const SelectedCall = ({ record, sums: { dearest, unpriced }, bar }: SelectedCallProps): VNode => {
  const isCall = bar?.type === 'calls'
  const isDearest = dearest === undefined || (isCall && bar.shown === dearest)
  return (
    <>
      <Facts text={isCall ? textOf(bar) : 'This call has no token counts.'} />{' '}
      {isDearest ? null : (
        <a href={hrefOfCall(record, dearest, true)}>
          Call {groupedNumber(dearest.number)} {unpriced === 0 ? 'cost most' : 'was sent most that was not cached'}.
        </a>
      )}
    </>
  )
}

/** A bar in words. */
const textOf = ({ shown, of }: Extract<Bar, { readonly type: 'calls' }>): string => {
  const { number, model, input, output, cached, dollars, isCounted, isUndercounted, failed, repeats, why } = shown
  const facts = dotted(
    of.length === 1
      ? `Call ${groupedNumber(number)}`
      : `Calls ${groupedNumber(of[0]?.number ?? 0)}–${groupedNumber(of.at(-1)?.number ?? 0)}, most in call ${groupedNumber(number)}`,
    model === '' ? [] : oneLine(model, 40),
    dollars === undefined ? [] : `${atLeast(isUndercounted)}${dollarsText(dollars)}`,
    input === 0
      ? 'without token counts'
      : `${tokensText(input)} in${isCounted ? '' : ' by estimate'}${cached === undefined ? '' : `, ${cached === 0 ? 'none' : compactNumber(cached)} cached`}`,
    output === 0 ? [] : `${atLeast(isUndercounted)}${compactNumber(output)} out`,
    failed === undefined ? [] : `failed (${failed})`,
    repeats === undefined ? [] : `repeats call ${groupedNumber(repeats)}`,
  )
  return `${facts}. ${why}`.trim()
}

const besideText = ({ title, isFork, input, cost }: SessionBeside): string =>
  dotted(
    `${isFork ? 'A fork starts here' : 'Another session of the same client starts here, such as a sub-agent'}: ${oneLine(title, 80)}`,
    input === 0 ? [] : `${tokensText(input)} in`,
    cost,
  )

/** The colours and marks that are there. */
const legendOf = (figures: readonly CallFigures[], hasBeside: boolean): Parameters<typeof Legend>[0]['marks'] => {
  const hasNew = figures.some(({ parts }) => parts.has('new'))
  const marks: readonly (readonly [isThere: boolean, mark: VNode, words: string])[] = [
    ...barCauses.map(
      (cause) =>
        [
          figures.some(({ parts }) => parts.has(cause)) && !(hasNew && asNew.has(cause)),
          <i class="level" style={colourOf(cause)} />,
          causeTexts[cause],
        ] as const,
    ),
    [figures.some(({ broke }) => broke !== undefined), <b class="broke" />, 'cache break'],
    [figures.some(({ failed }) => failed !== undefined), <i class="level legend-failed" />, 'failed'],
    [figures.some(isEmpty), <i class="level empty-call" />, 'without token counts'],
    [figures.some(({ repeats }) => repeats !== undefined), <b class="repeats" />, 'repeats a failed call'],
    [
      figures.filter(({ isShared }) => !isShared).length > 1,
      <i class="level dearest-call" />,
      sumsOf(figures).unpriced === 0 ? 'cost most' : 'most not cached',
    ],
    [hasBeside, <i class="level beside-call" />, 'sub-agent or fork'],
  ]
  return marks.flatMap(([isThere, mark, words]) => (isThere ? [[mark, words] as const] : []))
}

/** Causes with the colour of new content: the legend names a colour once. */
const asNew: ReadonlySet<(typeof barCauses)[number]> = new Set(['first', 'agent'])

const colourOf = (cause: (typeof barCauses)[number]): { readonly background: string } => ({
  background: `var(--cause-${cause})`,
})
