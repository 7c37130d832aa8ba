/** The strip of residency: every message of the record in a row, by how much of it the call was sent. */
import type { ResidencyLevel } from 'indelible/pages'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

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
  }, [])
  useEffect(() => {
    const { current } = canvas
    if (current !== null && width > 0)
      draw(current, width, { total, len, levelOf, cachedTo, activeFrom, epochFrom, chosen })
  })
  const positionAt = (x: number): number =>
    Math.min(total - 1, Math.max(0, Math.floor((x / Math.max(1, width)) * total)))
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
  readonly levelOf: (position: number) => ResidencyLevel
  /** The first position that the cached prefix does not hold. */
  readonly cachedTo: number
  readonly activeFrom: number | undefined
  readonly epochFrom: number | undefined
  readonly chosen: number | undefined
}

const barHeight = 44
const cacheTop = barHeight + 5
const stripHeight = 56

const draw = (
  canvas: HTMLCanvasElement,
  width: number,
  { total, len, levelOf, cachedTo, activeFrom, epochFrom, chosen }: Drawn,
): void => {
  const ratio = devicePixelRatio
  canvas.width = width * ratio
  canvas.height = stripHeight * ratio
  const context = canvas.getContext('2d')
  if (context === null || total === 0) return
  const style = getComputedStyle(canvas)
  const colour = (name: string): string => style.getPropertyValue(name)
  context.scale(ratio, ratio)
  const xOf = (position: number): number => (position / total) * width
  context.fillStyle = colour('--sunken')
  context.fillRect(0, 0, width, barHeight)
  // One bar for each message, or for each pixel the fullest of its messages.
  const step = Math.max(1, Math.floor(total / width))
  for (let from = 0; from < len; from += step) {
    let level: ResidencyLevel = 'pointer'
    for (let position = from; position < Math.min(len, from + step); position++) {
      const own = levelOf(position)
      if (heights[own] > heights[level]) level = own
    }
    const height = heights[level] * barHeight
    const left = xOf(from)
    const right = xOf(Math.min(len, from + step))
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
    context.strokeRect(xOf(chosen) - 1, 1, Math.max(3, width / total) + 2, barHeight - 2)
  }
}
