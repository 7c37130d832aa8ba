/** Shortens session ids on a terminal, keeping them unique in their store. */
import type { Terminal } from '../terminal/command.ts'
import { oneLine, widthOf } from '../terminal/screen.ts'

/** Shortens ids. `all` are the ids to stay distinct from. */
export const shortIds = (
  all: readonly string[],
  terminal: Pick<Terminal, 'shows' | 'columns'>,
): ((id: string) => string) => {
  const most = longestId(terminal)
  const isLong = isLongOn(terminal)
  const sorted = [...new Set(all)].toSorted()
  const short = new Map<string, string>()
  for (const [index, id] of sorted.entries()) {
    if (!isLong(id)) continue
    const unique = 1 + Math.max(sharedLength(id, sorted[index - 1]), sharedLength(id, sorted[index + 1]))
    const least = Math.max(unique, random.test(id) ? fewest : most - 1)
    if (least < id.length - 1 && least <= Math.max(most, fewest * 2)) short.set(id, `${id.slice(0, least)}…`)
    else short.set(id, abbreviatedId(id, sorted) ?? id)
  }
  return (id) => oneLine(short.get(id) ?? id)
}

const ellipsis = /…|\.{3}/

/** The beginning of the ids that a user's text means. */
export const idStart = (text: string): string => text.split(ellipsis, 1)[0] ?? ''

/** Whether a user's text means an id: by its beginning, or its beginning and end around an ellipsis. */
export const matchesIdPattern = (text: string, id: string): boolean => {
  const [start = '', end = ''] = text.split(ellipsis, 2)
  return id.length >= start.length + end.length && id.startsWith(start) && id.endsWith(end)
}

/** A fork's id begins with its parent's id, so its end is shown too. */
const abbreviatedId = (id: string, all: readonly string[]): string | undefined => {
  for (let length = 4; length < id.length - fewest; length++) {
    const text = `${id.slice(0, fewest)}…${id.slice(-length)}`
    if (all.every((other) => other === id || !matchesIdPattern(text, other))) return text
  }
  return undefined
}

/** The characters of an id that are always shown. */
const fewest = 8

const random = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

/** Whether an id is too long or too random to be shown whole on a terminal. */
export const isLongOn =
  (terminal: Pick<Terminal, 'shows' | 'columns'>) =>
  (id: string): boolean =>
    terminal.shows && (random.test(id) || widthOf(oneLine(id)) > longestId(terminal))

/** User-chosen ids get a quarter of the terminal. */
const longestId = ({ columns }: Pick<Terminal, 'columns'>): number => Math.max(12, columns >> 2)

const sharedLength = (a: string, b: string | undefined): number => {
  const end = Math.min(a.length, b?.length ?? 0)
  for (let length = 0; length < end; length++) if (a[length] !== b?.[length]) return length
  return end
}
