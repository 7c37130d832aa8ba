/** Lines over the calls, one for each policy. */
import type { VNode } from 'preact'
import type { Series } from '../../../src/calls/derive-contexts.ts'
import { ErrorBoundary } from '../elements/error-boundary.tsx'
import { compactNumber, groupedNumber } from '../format-text.ts'

interface PlotProps {
  readonly title: string
  readonly series: readonly Series[]
  readonly values: (series: Series) => readonly (number | null)[]
  /** The call that is looked at. */
  readonly call: number
  /** How a value is written at the axis. */
  readonly format?: (value: number) => string
}

export const Plot = (plotted: PlotProps): VNode => (
  <ErrorBoundary name={`“${plotted.title}”`}>
    <Lines {...plotted} />
  </ErrorBoundary>
)

const Lines = ({ title, series, values, call, format = compactNumber }: PlotProps): VNode => {
  const lines = series.map(values)
  const length = lines[0]?.length ?? 0
  const most = lines.flat().reduce((a: number, b) => Math.max(a, b ?? 0), 0)
  const ticks = ticksTo(most)
  const top = Math.max(most, ticks.at(-1) ?? 0) || 1
  const xOf = (index: number): number => (length < 2 ? 50 : (index / (length - 1)) * 100)
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div role="img" aria-label={`${title}; the table below has the sums`}>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none">
          {ticks.map((tick) => (
            <path class="grid" d={`M0 ${100 - (tick / top) * 100}H100`} />
          ))}
          <path class="here" d={`M${xOf(call)} 0V100`} />
          {lines.map((line, index) => (
            <path data-line={index} class={lineClass(index)} d={pathOf(line, xOf, top)} />
          ))}
        </svg>
        {ticks.map((tick) => (
          <span class="tick" style={{ bottom: `${(tick / top) * 100}%` }}>
            {format(tick)}
          </span>
        ))}
      </div>
      <p class="ends" aria-hidden="true">
        <span>call 1</span>
        <span>{groupedNumber(length)}</span>
      </p>
    </figure>
  )
}

/** The most points drawn: a figure has no pixels for more. */
const mostPoints = 1000

/** A line that ends where a value is missing. */
const pathOf = (line: readonly (number | null)[], xOf: (index: number) => number, top: number): string => {
  const step = Math.ceil(line.length / mostPoints)
  let path = ''
  let isOn = false
  for (const [index, value] of line.entries()) {
    if (index % step !== 0 && index !== line.length - 1) continue
    // A point of its own is a line to itself: its round ends are seen.
    if (value !== null) {
      const point = `${xOf(index).toFixed(2)} ${(100 - (value / top) * 100).toFixed(2)}`
      path += isOn ? `L${point}` : `M${point}L${point}`
    }
    isOn = value !== null
  }
  return path
}

/** Round values from 0 up to a value, at most five. */
const ticksTo = (most: number): readonly number[] => {
  if (most <= 0) return [0]
  const size = 10 ** Math.floor(Math.log10(most))
  const step = [0.2, 0.5, 1, 2, 5].map((times) => times * size).find((step) => most / step <= 4) ?? size
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step)
}

const colours = 4

/** How the line of a policy looks, for a legend. */
export const lineClass = (index: number): string => `line-${index % colours}`
