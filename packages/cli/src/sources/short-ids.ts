/** Shortens session ids on a terminal: the shortened id is unique in its store. */
import type { Terminal } from '../terminal/command.ts'
import { oneLine, widthOf } from '../terminal/screen.ts'

/** Shorten ids; `all` are the ids that one could be confused with. */
export const shortIds = (
  all: readonly string[],
  terminal: Pick<Terminal, 'shows' | 'columns'>,
): ((id: string) => string) => {
  const most = mostIn(terminal)
  const isLong = isLongOn(terminal)
  const sorted = [...new Set(all)].toSorted()
  const short = new Map<string, string>()
  for (const [index, id] of sorted.entries()) {
    if (!isLong(id)) continue
    const unique = 1 + Math.max(shared(id, sorted[index - 1]), shared(id, sorted[index + 1]))
    const least = Math.max(unique, random.test(id) ? fewest : most - 1)
    if (least < id.length - 1 && least <= Math.max(most, fewest * 2)) short.set(id, `${id.slice(0, least)}…`)
    else short.set(id, between(id, sorted) ?? id)
  }
  return (id) => oneLine(short.get(id) ?? id)
}

/** Whether a user's text means an id: its beginning, or its beginning and end with an ellipsis between them. */
export const isMeantBy = (given: string, id: string): boolean => {
  const [start = '', end = ''] = given.split(/…|\.{3}/, 2)
  return id.length >= start.length + end.length && id.startsWith(start) && id.endsWith(end)
}

/** The ids of forks begin with that of the session that they were forked from: their ends tell them apart. */
const between = (id: string, all: readonly string[]): string | undefined => {
  for (let length = 4; length < id.length - fewest; length++) {
    const given = `${id.slice(0, fewest)}…${id.slice(-length)}`
    if (all.every((other) => other === id || !isMeantBy(given, other))) return given
  }
  return undefined
}

/** Characters of an id that are always shown. */
const fewest = 8

const random = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

/** Whether a terminal would rather show something else than the whole of an id. */
export const isLongOn =
  (terminal: Pick<Terminal, 'shows' | 'columns'>) =>
  (id: string): boolean =>
    terminal.shows && (random.test(id) || widthOf(oneLine(id)) > mostIn(terminal))

/** A quarter of the terminal is enough for a user-chosen id. */
const mostIn = ({ columns }: Pick<Terminal, 'columns'>): number => Math.max(12, columns >> 2)

const shared = (a: string, b: string | undefined): number => {
  const end = Math.min(a.length, b?.length ?? 0)
  for (let length = 0; length < end; length++) if (a[length] !== b?.[length]) return length
  return end
}
