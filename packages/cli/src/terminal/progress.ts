/** Progress of long work on standard error: a bar if a person watches, otherwise occasional lines. */
import { fitColumns, groupedNumber, padStart } from './screen.ts'

export interface Progress {
  /** Report how much is done. Cheap: it draws at most ten times a second, and prints a line at most every 5 seconds. */
  readonly at: (done: number) => void
  /** Hide the bar until the next step, so that lines can be printed. */
  readonly pause: () => void
  readonly end: () => void
}

/** The stream for the bar: standard error, or a replacement in tests. */
export interface Drawing {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string) => unknown
}

/** In milliseconds: the delay before a bar appears, and between redraws. */
const showAfterMs = 400
const redrawMs = 100
/** The same for lines without a terminal. */
const betweenLines = 5000
/** The milliseconds before the remaining time is shown: any earlier it would be a guess. */
const timeLeftAfterMs = 2000

/**
 * A bar for `total` units; without a total (a pipe), a count. If `drawing` is not a terminal, a line every 5 seconds.
 *
 * @param now the time in milliseconds. Default: the clock
 * @param unit the unit if not bytes, such as `rows`
 */
export const createProgress = (
  label: string,
  total: number | undefined,
  drawing: Drawing,
  now: () => number = Date.now,
  unit?: string,
): Progress => {
  const began = now()
  const isBar = drawing.isTTY === true
  let next = began + (isBar ? showAfterMs : betweenLines)
  let drawn = false
  return {
    at: (done) => {
      const time = now()
      if (time < next) return
      next = time + (isBar ? redrawMs : betweenLines)
      const facts = factsOf(done, total, unit, time - began)
      if (!isBar) return void drawing.write(`${label}: ${facts.join(', ')}\n`)
      drawn = true
      drawing.write(`\r${fitColumns(barOf(label, done, total, facts), (drawing.columns || 80) - 1)}\u001b[K`)
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

/** The amount done, the total, and the estimated time left. */
const factsOf = (
  done: number,
  total: number | undefined,
  unit: string | undefined,
  elapsed: number,
): readonly string[] => {
  const progressAmount = (count: number): string =>
    unit === undefined ? sizeText(count) : `${groupedNumber(count)} ${unit}`
  if (total === undefined || total === 0) return [progressAmount(done)]
  const left = (elapsed * (total - done)) / done
  const isKnown = elapsed >= timeLeftAfterMs && done > 0 && done < total
  return [
    `${Math.floor(shareOf(done, total) * 100)} %`,
    `${progressAmount(done)} of ${progressAmount(total)}`,
    ...(isKnown ? [`${duration(left)} left`] : []),
  ]
}

const shareOf = (done: number, total: number): number => Math.min(1, done / total)

const barOf = (
  label: string,
  done: number,
  total: number | undefined,
  [first = '', ...rest]: readonly string[],
): string => {
  if (total === undefined || total === 0) return `${label}  ${first}`
  const full = Math.floor(shareOf(done, total) * width)
  return `${label}  ${'█'.repeat(full)}${'░'.repeat(width - full)} ${padStart(first, 5)}  ${rest.join('  ')}`
}

/** A duration for people: 40 s, 12 min, 2.5 h. */
const duration = (time: number): string => {
  const seconds = Math.ceil(time / 1000)
  if (seconds < 100) return `${seconds} s`
  return seconds < 6000 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}

const width = 24

/** A size for people: 1.2 MB. */
export const sizeText = (count: number): string => {
  if (count < 1000) return `${count} B`
  const power = Math.min(4, Math.floor(Math.log10(count) / 3))
  const value = count / 1000 ** power
  return `${value < 10 ? value.toFixed(1) : Math.floor(value)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}
