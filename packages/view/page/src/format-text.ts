/** Text as the page shows it: figures, times and sizes. */
import { countText } from '../../src/texts/format-text.ts'

export {
  atLeast,
  compactNumber,
  costText,
  countText,
  dollarsText,
  dotted,
  groupedNumber,
  oneLine,
  sentence,
  share,
  spanText,
  tokensText,
  visibleText,
} from '../../src/texts/format-text.ts'

const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const fullDate = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })

export const dayText = (at: number): string => day.format(at)
export const clockText = (at: number): string => clock.format(at)
export const timeText = (at: number): string => fullDate.format(at)

/** How long ago, as people say it. */
export const agoText = (at: number, now: number = Date.now()): string => {
  const seconds = Math.max(0, (now - at) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  if (seconds < 7 * 86_400) return countText(Math.floor(seconds / 86_400), 'day') + ' ago'
  return dayText(at)
}

/** A size of bytes, or of characters, which are about as many. */
export const sizeText = (bytes: number): string =>
  bytes < 1000
    ? `${bytes} B`
    : bytes < 1e6
      ? `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`
      : `${(bytes / 1e6).toFixed(1)} MB`
