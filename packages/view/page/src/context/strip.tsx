/** The strip of residency: every message of the record in a row, as wide as its tokens and as high as the share of it that the call was sent. */
import type { ResidencyLevel } from 'indelible/pages'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { firstWhere } from '../first-where.ts'

/** Heights of a level, of the whole strip: less is lower, so that the strip reads without its colours. */
const heights: { readonly [level in ResidencyLevel]: number } = {
  full: 1,
  compressed: 0.68,
  structured: 0.4,
  pointer: 0.14,
}

export const Strip = ({
  total,
  len,
  ends,
  levelOf,
  cachedTo,
  activeFrom,
  epochFrom,
  chosen,
  choose,
  label,
}: Drawn & {
  readonly choose: (position: number) => void
  readonly label: string
}): VNode => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const scheme = useScheme()
  useEffect(() => {
    const { current } = canvas
    if (current === null) return undefined
    const seen = new ResizeObserver(() => setWidth(current.clientWidth))
    seen.observe(current)
    return () => seen.disconnect()
  }, [scheme])
  useEffect(() => {
    const { current } = canvas
    if (current !== null && width > 0)
      draw(current, width, { total, len, ends, levelOf, cachedTo, activeFrom, epochFrom, chosen })
  })
  const positionAt = (x: number): number => {
    const share = shareOf({ total, ends })
    return firstWhere(Math.max(0, total - 1), (position) => share(position + 1) * width > x)
  }
  return (
    <canvas
      key={scheme}
      ref={canvas}
      class="strip"
      role="img"
      aria-label={label}
      onClick={(event) => choose(positionAt(event.offsetX))}
    />
  )
}

const useScheme = (): string => {
  const query = matchMedia('(prefers-color-scheme: dark)')
  const [dark, setDark] = useState(query.matches)
  useEffect(() => {
    const changed = (): void => setDark(query.matches)
    query.addEventListener('change', changed)
    return () => query.removeEventListener('change', changed)
  }, [])
  return dark ? 'dark' : 'light'
}

interface Drawn {
  /** The messages of the record now, and before the call. */
  readonly total: number
  readonly len: number
  /** The tokens of the first messages up to each; undefined while they are counted: all are as wide then. */
  readonly ends: Float64Array | undefined
  readonly levelOf: (position: number) => ResidencyLevel
  /** The first position that the cached prefix does not hold. */
  readonly cachedTo: number
  readonly activeFrom: number | undefined
  readonly epochFrom: number | undefined
  readonly chosen: number | undefined
}

/** Where a message begins, of 1. */
const shareOf = ({ total, ends }: Pick<Drawn, 'total' | 'ends'>): ((position: number) => number) => {
  const known = Math.min(ends?.length ?? 0, total)
  const counted = ends?.[known - 1] ?? 0
  if (ends === undefined || counted === 0) return (position) => position / Math.max(1, total)
  // Those behind the call are as wide as these are on average.
  const each = counted / known
  const sum = counted + (total - known) * each
  return (position) =>
    position <= 0 ? 0 : ((ends[Math.min(position, known) - 1] ?? 0) + Math.max(0, position - known) * each) / sum
}

const barHeight = 44
const cacheTop = barHeight + 5
const stripHeight = 56

const draw = (
  canvas: HTMLCanvasElement,
  width: number,
  { total, len, ends, levelOf, cachedTo, activeFrom, epochFrom, chosen }: Drawn,
): void => {
  const ratio = devicePixelRatio
  canvas.width = width * ratio
  canvas.height = stripHeight * ratio
  const context = canvas.getContext('2d')
  if (context === null || total === 0) return
  const style = getComputedStyle(canvas)
  const colour = (name: string): string => style.getPropertyValue(name)
  context.scale(ratio, ratio)
  const share = shareOf({ total, ends })
  const xOf = (position: number): number => share(position) * width
  context.fillStyle = colour('--sunken')
  context.fillRect(0, 0, width, barHeight)
  // One bar for each message, or for each pixel the fullest of its messages.
  for (let from = 0, to = 0; from < len; from = to) {
    let level: ResidencyLevel = 'pointer'
    const left = xOf(from)
    do {
      const own = levelOf(to)
      if (heights[own] > heights[level]) level = own
      to += 1
    } while (to < len && xOf(to) - left < 1)
    const height = heights[level] * barHeight
    const right = xOf(to)
    context.fillStyle = colour(`--level-${level}`)
    context.fillRect(left, barHeight - height, Math.max(0.75, right - left - (right - left > 4 ? 1 : 0)), height)
  }
  context.fillStyle = colour('--good')
  context.fillRect(0, cacheTop, xOf(cachedTo), 3)
  context.fillStyle = colour('--ink')
  if (activeFrom !== undefined) context.fillRect(xOf(activeFrom), 0, 1.5, barHeight)
  if (epochFrom !== undefined) {
    context.fillStyle = colour('--k3')
    context.fillRect(xOf(epochFrom), 0, 2, stripHeight)
  }
  if (chosen !== undefined) {
    context.strokeStyle = colour('--accent')
    context.lineWidth = 2
    context.strokeRect(xOf(chosen) - 1, 1, Math.max(3, xOf(chosen + 1) - xOf(chosen)) + 2, barHeight - 2)
  }
}
