/** Lines over the calls, one for each policy. */
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { Series } from './compare.ts'
import { compact } from './shown.ts'

const colours = ['--accent', '--k1', '--k3', '--k4'] as const
const dashes = [[], [6, 4], [2, 3], [10, 3, 2, 3]] as const

export const Plot = ({
  title,
  series,
  values,
  call,
  unit = compact,
}: {
  readonly title: string
  readonly series: readonly Series[]
  readonly values: (series: Series) => readonly (number | null)[]
  /** The call that is looked at. */
  readonly call: number
  /** How a value is written at the axis. */
  readonly unit?: (value: number) => string
}): VNode => {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current } = place
    const length = series[0]?.tokens.length ?? 0
    if (current === null || length === 0) return undefined
    const style = getComputedStyle(current)
    const colour = (name: string): string => style.getPropertyValue(name).trim()
    const axis = {
      stroke: colour('--quiet'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui, sans-serif',
    }
    const plot = new uPlot(
      {
        width: current.clientWidth,
        height: 180,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false } },
        axes: [
          { ...axis, size: 26 },
          { ...axis, size: 54, values: (_, ticks) => ticks.map(unit) },
        ],
        series: [
          {},
          ...series.map(({ policy }, index) => ({
            label: policy,
            stroke: colour(colours[index % colours.length] as string),
            dash: [...(dashes[index % dashes.length] as readonly number[])],
            width: 1.75,
            points: { show: false },
          })),
        ],
        hooks: {
          draw: [
            (drawn) => {
              const { ctx, bbox } = drawn
              ctx.fillStyle = colour('--strong-line')
              ctx.fillRect(drawn.valToPos(call + 1, 'x', true), bbox.top, devicePixelRatio, bbox.height)
            },
          ],
        },
      },
      [Array.from({ length }, (_, index) => index + 1), ...series.map((one) => [...values(one)])],
      current,
    )
    const seen = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height: 180 }))
    seen.observe(current)
    return () => {
      seen.disconnect()
      plot.destroy()
    }
  })
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      <div ref={place} role="img" aria-label={`${title}; the table below says the sums`} />
    </figure>
  )
}

/** How the line of a policy looks, for a legend. */
export const lineClass = (index: number): string => `line-${index % colours.length}`
