/** Sums by day and cause as bars: a bar for each day from the first to the last, with a band for each kind of cause. */
import type { UsageCause } from 'indelible/internal/usage'
import type { SpendingRow, SpendingSum } from '../../../src/protocol.ts'

/** Causes that have one colour. */
interface Band {
  /** The cause whose colour it has. */
  readonly colour: UsageCause
  readonly text: string
  readonly causes: ReadonlySet<string>
}

const band = (text: string, colour: UsageCause, ...others: readonly UsageCause[]): Band => ({
  ...{ text, colour, causes: new Set([colour, ...others]) },
})

/** The bands of a bar, from its foot. */
export const chartBands: readonly Band[] = [
  band('read again', 'read'),
  band('new content', 'new', 'first', 'agent'),
  band('answers', 'answer'),
  band('block ends, not cached', 'uncounted', 'ends', 'uncached'),
  band('sent again, tools changed', 'tools'),
  band('sent again, system or effort changed', 'system', 'effort'),
  band('sent again, messages changed', 'messages', 'compaction', 'rewind', 'shortened'),
  band('sent again, another model', 'model'),
  band('sent again, expired', 'expired'),
  band('sent again, lost or unknown', 'missed', 'unknown'),
]

export interface ChartDay {
  /** ISO 8601, UTC. */
  readonly day: string
  readonly value: number
  /** The value of each band. */
  readonly parts: readonly number[]
}

/** The most days without calls that are shown between two with calls. */
const longestGap = 366

/** The days, and the value of rows without a day. Cost: O(rows + days) */
export const chartDays = (
  rows: readonly SpendingRow[],
  valueOf: (sum: SpendingSum) => number,
): { readonly days: readonly ChartDay[]; readonly undated: number } => {
  const byDay = new Map<string, number[]>()
  let undated = 0
  for (const {
    keys: [day = '', cause = ''],
    sum,
  } of rows) {
    const at = chartBands.findIndex(({ causes }) => causes.has(cause))
    if (at === -1) continue
    if (Number.isNaN(Date.parse(day))) undated += valueOf(sum)
    else {
      const parts = byDay.get(day) ?? chartBands.map(() => 0)
      parts[at] = (parts[at] ?? 0) + valueOf(sum)
      byDay.set(day, parts)
    }
  }
  const days: ChartDay[] = []
  for (const day of [...byDay.keys()].toSorted()) {
    const last = days.at(-1)?.day
    if (last !== undefined && Date.parse(day) - Date.parse(last) <= longestGap * dayMs)
      for (let next = addDays(last, 1); next < day; next = addDays(next, 1))
        days.push({ day: next, value: 0, parts: [] })
    const parts = byDay.get(day) ?? []
    days.push({ day, parts, value: parts.reduce((sum, part) => sum + part, 0) })
  }
  return { days, undated }
}

const dayMs = 86_400_000

/** A day so many days later, in ISO 8601. */
export const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10)
