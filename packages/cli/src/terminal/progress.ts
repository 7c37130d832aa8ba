/** A progress bar on standard error: for work that takes a while, where a person watches. */
import { fit, grouped, padStart } from './screen.ts'

export interface Progress {
  /** So much is done. Cheap: it draws at most ten times a second. */
  readonly at: (done: number) => void
  /** Take the bar away until the next step, so that lines can be printed. */
  readonly pause: () => void
  /** Take the bar away again. */
  readonly end: () => void
}

/** Where a bar is drawn: standard error, or what stands in for it. */
export interface Drawing {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => unknown
}

/** Work that is done before this many milliseconds shows no bar. */
const patience = 400
const between = 100

/**
 * A bar for `total` bytes; without a total (a pipe), a count. Nothing is drawn where `drawing` is no terminal.
 *
 * @param now milliseconds. Default: the clock
 * @param unit what is counted, if not bytes: `rows`
 */
export const createProgress = (
  label: string,
  total: number | undefined,
  drawing: Drawing,
  now: () => number = Date.now,
  unit?: string,
): Progress => {
  let next = now() + patience
  let drawn = false
  return {
    at: (done) => {
      if (drawing.isTTY !== true || now() < next) return
      next = now() + between
      drawn = true
      drawing.write(`\r${fit(barOf(label, done, total, unit), (drawing.columns || 80) - 1)}\u001b[K`)
    },
    pause: () => {
      if (drawn) drawing.write('\r\u001b[K')
      drawn = false
    },
    end: () => {
      if (drawn) drawing.write('\r\u001b[K')
      next = Infinity
    },
  }
}

const barOf = (label: string, done: number, total: number | undefined, unit: string | undefined): string => {
  const said = (count: number): string => (unit === undefined ? bytes(count) : `${grouped(count)} ${unit}`)
  if (total === undefined || total === 0) return `${label}  ${said(done)}`
  const share = Math.min(1, done / total)
  const full = Math.floor(share * width)
  return `${label}  ${'█'.repeat(full)}${'░'.repeat(width - full)} ${padStart(String(Math.floor(share * 100)), 3)} %  ${said(done)} of ${said(total)}`
}

const width = 24

/** A number of bytes as people say it: 1.2 MB. */
const bytes = (count: number): string => {
  if (count < 1000) return `${count} B`
  const power = Math.min(4, Math.floor(Math.log10(count) / 3))
  const value = count / 1000 ** power
  return `${value < 10 ? value.toFixed(1) : Math.floor(value)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}
