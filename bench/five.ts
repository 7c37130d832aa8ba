/**
 * Runs a bench five times and prints its tables once: each figure as the median of the runs, with the least and the most.
 *
 *     node five.ts [--expose-gc ...] BENCH.ts [ARGUMENT ...]
 */
import { execFileSync } from 'node:child_process'
import { argv, execPath } from 'node:process'

const runs = Array.from({ length: 5 }, () =>
  execFileSync(execPath, argv.slice(2), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).split('\n'),
)
const [first = []] = runs

/** A number in a text, with what stands around it: thousands have commas. */
const figure = /-?\d[\d,]*(?:\.\d+)?/

/** How many nanoseconds a unit of time has; 1 for what is no time. */
const scale = (text: string): number => {
  const unit = /(?:^|[\d ])(ns|µs|ms|s)\b/.exec(text)?.[1]
  return { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit ?? ''] ?? 1
}

const valueOf = (cell: string): number => Number(figure.exec(cell)?.[0].replaceAll(',', '') ?? NaN) * scale(cell)

/** The median cell of the runs, and between which the others are. */
const merged = (cells: readonly string[]): string => {
  const sorted = cells.toSorted((a, b) => valueOf(a) - valueOf(b)).map((cell) => cell.trim())
  const [least = '', most = ''] = [sorted[0], sorted.at(-1)]
  const median = sorted[sorted.length >> 1] ?? ''
  return least === most || Number.isNaN(valueOf(median)) ? median : `${median} [${least} to ${most}]`
}

for (const [index, line] of first.entries()) {
  const rows = runs.map((lines) => (lines[index] ?? '').split('|'))
  const isRow =
    line.startsWith('|') && !/^\|[-:| ]+$/.test(line) && rows.every(({ length }) => length === rows[0]?.length)
  console.log(
    isRow
      ? rows[0]
          ?.map((_, column) => merged(rows.map((row) => row[column] ?? '')))
          .join(' | ')
          .trim()
      : line,
  )
}
