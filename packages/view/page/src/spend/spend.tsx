/** What the model calls of all sessions cost: by day and cause, project, program and model, and the calls that cost most. */
import { useSignal } from '@preact/signals'
import type { UsageCause } from 'indelible/internal/usage'
import type { VNode } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { SpendingRow, SpendingSum, ViewedSpending, ViewedSpentCall } from '../../../src/protocol.ts'
import { causeTexts } from '../../../src/texts/cause-text.ts'
import { Button } from '../elements/controls.tsx'
import { Facts, Legend } from '../elements/field.tsx'
import {
  compactNumber,
  countText,
  dollarsText,
  dotted,
  groupedNumber,
  oneLine,
  sentence,
  share,
  tokensText,
} from '../format-text.ts'
import { fetchOverviews, overviews } from '../data/overviews.ts'
import { hrefOf } from '../route.ts'
import type { Source } from '../data/source.ts'
import { addDays, chartBands, chartDays, type ChartDay } from './spend-chart.ts'
import { useTitle } from '../data/title.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { Loaded, ViewHead } from '../elements/view-head.tsx'

export const SpendView = ({
  source,
  read,
}: {
  readonly source: Source
  readonly read: () => Promise<ViewedSpending>
}): VNode => {
  const { value: spending, fault } = useLoaded(() => read(), [])
  useTitle('Spend')
  return (
    <>
      <ViewHead
        to={{ view: 'sessions' }}
        label="all sessions"
        title="Spend"
        beside={
          <span class="quiet count">
            {spending === undefined
              ? ''
              : `${countText(spending.sessions, 'session')}, ${countText(spending.total.calls, 'call')}`}
          </span>
        }
      />
      <main class="view">
        <Loaded value={spending} fault={fault} reading="Adding up the calls…">
          {(found) =>
            found.total.calls + found.total.failed === 0 ? (
              <p class="nothing">No session has token counts of its calls.</p>
            ) : (
              <Account source={source} spending={found} />
            )
          }
        </Loaded>
      </main>
    </>
  )
}

/** A measure of calls: their cost, or their tokens where no price is known. */
interface Measure {
  readonly name: 'Dollars' | 'Tokens'
  readonly of: (sum: SpendingSum) => number
  readonly text: (value: number) => string
}

const dollars: Measure = { name: 'Dollars', of: (sum) => sum.dollars, text: dollarsText }
const tokens: Measure = { name: 'Tokens', of: ({ input, output }) => input + output, text: compactNumber }

const Account = ({ source, spending }: { readonly source: Source; readonly spending: ViewedSpending }): VNode => {
  const { total, causes, days, projects, programs, models, dearest, lost, advice, unread, unpricedModels } = spending
  const measure = useSignal(total.dollars > 0 ? dollars : tokens)
  const isLeast = total.unpriced + total.undercounted + total.uncounted > 0
  const isPriced = total.dollars > 0
  const sessions = dearest.map(({ session }) => session)
  useEffect(() => void fetchOverviews(source, spending, sessions), [spending])
  return (
    <div class="scroll account" tabIndex={0} role="region" aria-label="what all sessions cost">
      <section aria-label="sum">
        <p class="account-sum">
          <strong>
            {isPriced ? `${isLeast ? '≥ ' : ''}${dollarsText(total.dollars)}` : tokensText(tokens.of(total))}
          </strong>
          <span class="quiet">
            <Facts
              text={dotted(
                `${tokensText(total.input)} in`,
                total.input === 0 ? [] : `${share(total.cacheRead, total.input)} cached`,
                `${isLeast ? '≥ ' : ''}${compactNumber(total.output)} out`,
                total.failed === 0 ? [] : `${groupedNumber(total.failed)} failed`,
                isPriced && lost.dollars > 0
                  ? `${dollarsText(lost.dollars)} (${share(lost.dollars, total.dollars)}) for tokens that were sent again`
                  : [],
              )}
            />
          </span>
        </p>
        {[
          advice,
          unread > 0 ? `${countText(unread, 'encrypted session')} could not be read without a key` : [],
          unpricedModels.length > 0
            ? `no list price is known of ${unpricedModels.map((model) => oneLine(model, 40)).join(', ')}`
            : [],
        ]
          .flat()
          .map((line) => (
            <p class="quiet">{sentence(line)}</p>
          ))}
        <p class="quiet">At list prices. Not a bill: a subscription may pay for the calls.</p>
      </section>
      <section aria-label="days">
        <div class="account-head">
          <h2>By day</h2>
          {isPriced ? (
            <span role="group" aria-label="measure">
              {[dollars, tokens].map((entry) => (
                <Button aria-pressed={measure.value === entry} onClick={() => (measure.value = entry)}>
                  {entry.name}
                </Button>
              ))}
            </span>
          ) : null}
        </div>
        <Days rows={days} measure={measure.value} />
      </section>
      <div class="account-tables">
        <Table title="By cause" name="cause" rows={causes} measure={measure.value} total={total} texts={causeTexts} />
        <Table title="By project" name="project" rows={projects} measure={measure.value} total={total} />
        <Table title="By model" name="model" rows={models} measure={measure.value} total={total} />
        <Table title="By program" name="program" rows={programs} measure={measure.value} total={total} />
      </div>
      {dearest.length === 0 ? null : (
        <section aria-label="calls that cost most">
          <h2>Calls that cost most</h2>
          <ol class="dearest-calls">
            {dearest.map((call) => (
              <Dearest call={call} />
            ))}
          </ol>
        </section>
      )}
    </div>
  )
}

const Dearest = ({ call }: { readonly call: ViewedSpentCall }): VNode => {
  const { session, title, number, position, dollars: cost, why } = call
  const name = title ?? (overviews.value.get(session)?.words || session)
  return (
    <li>
      <a
        href={hrefOf(
          position === undefined
            ? { view: 'saw', id: session, call: number }
            : { view: 'session', id: session, at: position },
        )}
      >
        Call {groupedNumber(number)}
      </a>{' '}
      of {oneLine(name, 80).replace(/[.:]$/, '')}: {dollarsText(cost)}. {sentence(why)}
    </li>
  )
}

/** A bar for each day, stacked by cause. The arrow keys move between the days. */
const Days = ({ rows, measure }: { readonly rows: readonly SpendingRow[]; readonly measure: Measure }): VNode => {
  const { days, undated } = useMemo(() => chartDays(rows, measure.of), [rows, measure])
  const pointed = useSignal<number | undefined>(undefined)
  const most = days.reduce((sum, day) => Math.max(sum, day.value), 0)
  const shown = days[pointed.value ?? -1]
  const used = chartBands.filter((_, band) => days.some((day) => (day.parts[band] ?? 0) > 0))
  const move = (event: KeyboardEvent): void => {
    const from = pointed.value ?? (event.key === 'ArrowLeft' ? days.length : -1)
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: days.length - 1 }[event.key]
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    pointed.value = Math.min(days.length - 1, Math.max(0, to))
  }
  if (days.length === 0) return <p class="quiet">The days of the calls are not known.</p>
  return (
    <>
      <p class="glance-scale" aria-hidden="true">
        {measure.text(most)}
      </p>
      {/* oxlint-disable jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-static-element-interactions -- the arrow keys move between days */}
      <div
        class={`day-bars${days.length > 60 ? '' : ' few'}`}
        style={{ width: widthOf(days.length) }}
        tabIndex={0}
        role="group"
        aria-label={`${measure.name.toLowerCase()} of each day by cause; the arrow keys move between days`}
        onKeyDown={move}
        onBlur={() => (pointed.value = undefined)}
        onMouseLeave={() => (pointed.value = undefined)}
      >
        {days.map((day, index) => (
          <span
            class={pointed.value === index ? 'day-bar pointed' : 'day-bar'}
            onMouseEnter={() => (pointed.value = index)}
          >
            {chartBands
              .map((band, at) => ({ band, part: day.parts[at] ?? 0 }))
              .toReversed()
              .map(({ band, part }) =>
                part === 0 ? null : (
                  <i style={{ height: `${(part / most) * 100}%`, background: colourOf(band.colour) }} />
                ),
              )}
          </span>
        ))}
      </div>
      {/* oxlint-enable jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-static-element-interactions */}
      <p class="day-ends" aria-hidden="true" style={{ width: widthOf(days.length) }}>
        <span>{dateText(days[0]?.day ?? '')}</span>
        <span>{days.length > 1 ? dateText(days.at(-1)?.day ?? '') : ''}</span>
      </p>
      <p class="glance-said" role="status">
        <Facts text={shown === undefined ? summaryOf(days, undated, measure) : dayTextOf(shown, measure)} />
      </p>
      <Legend
        marks={used.map(({ colour, text }) => [<i class="level" style={{ background: colourOf(colour) }} />, text])}
      />
    </>
  )
}

/** A few days do not fill the width. */
const widthOf = (days: number): string => `min(100%, ${Math.max(days * 2.5, 14)}rem)`

const colourOf = (cause: UsageCause): string => `var(--cause-${cause})`

const dateFormat = new Intl.DateTimeFormat('en', {
  ...{ day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' },
})

/** A day of UTC, as providers count them. */
const dateText = (day: string): string => (day === '' ? '' : dateFormat.format(new Date(addDays(day, 0))))

const dayTextOf = ({ day, value, parts }: ChartDay, { text }: Measure): string =>
  dotted(
    `${dateText(day)} (UTC): ${text(value)}`,
    chartBands.flatMap((band, index) => ((parts[index] ?? 0) > 0 ? `${band.text} ${text(parts[index] ?? 0)}` : [])),
  )

const summaryOf = (days: readonly ChartDay[], undated: number, { text }: Measure): string => {
  const used = days.filter(({ value }) => value > 0)
  const dearest = used.reduce<ChartDay | undefined>(
    (most, day) => (day.value > (most?.value ?? 0) ? day : most),
    undefined,
  )
  return dotted(
    `${countText(used.length, 'day')} with calls (UTC)`,
    dearest === undefined || used.length < 2 ? [] : `most on ${dateText(dearest.day)}: ${text(dearest.value)}`,
    undated > 0 ? `${text(undated)} on days that are not known` : [],
  )
}

/** The most rows of a table before the rest is shown as one. */
const mostRows = 12

interface TableProps {
  readonly title: string
  readonly name: string
  readonly rows: readonly SpendingRow[]
  readonly measure: Measure
  readonly total: SpendingSum
  readonly texts?: { readonly [key: string]: string }
}

const Table = ({ title, name, rows, measure, total, texts = {} }: TableProps): VNode => {
  const isWhole = useSignal(false)
  const all = measure.of(total)
  const sorted = useMemo(() => rows.toSorted((a, b) => measure.of(b.sum) - measure.of(a.sum)), [rows, measure])
  const shown = isWhole.value ? sorted : sorted.slice(0, mostRows)
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <table class="account-table">
        <thead class="unseen">
          <tr>
            <th>{name}</th>
            <th>share</th>
            <th>{measure.name.toLowerCase()}</th>
            <th>calls</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ keys: [key = ''], sum }) => {
            const value = measure.of(sum)
            const isUnknown = measure === dollars && value === 0 && sum.unpriced > 0
            return (
              <tr>
                <th scope="row" dir="auto">
                  {key === '' ? 'not known' : oneLine(texts[key] ?? key, 60)}
                </th>
                <td>
                  <i class="share-bar" style={{ width: `${all === 0 ? 0 : (value / all) * 100}%` }} />
                  <span class="share-text">{share(value, all)}</span>
                </td>
                <td class="align-right">{isUnknown ? '?' : measure.text(value)}</td>
                <td class="align-right quiet">{countText(sum.calls, 'call')}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {rows.length > mostRows ? (
        <Button class="more" onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? 'Show less' : `Show all ${groupedNumber(rows.length)}`}
        </Button>
      ) : null}
    </section>
  )
}
