/** Timing: rounds that alternate between the contenders, so that what the machine does meanwhile hits all of them. */
import { cpus, totalmem } from 'node:os'

export interface Contender {
  readonly name: string
  /** Called before each round; gives the work to be timed, which does `operations` of what is compared. */
  readonly prepare: () => () => unknown | Promise<unknown>
  readonly operations: number
}

export interface Figure {
  readonly name: string
  /** Median over the rounds, in nanoseconds for one operation. */
  readonly nanoseconds: number
}

export const measure = async (contenders: readonly Contender[], rounds = 7): Promise<readonly Figure[]> => {
  const samples = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  for (let round = -1; round < rounds; round++)
    for (const { name, prepare, operations } of contenders) {
      const work = prepare()
      globalThis.gc?.()
      const from = process.hrtime.bigint()
      const result = work()
      if (result instanceof Promise) await result
      const spent = Number(process.hrtime.bigint() - from) / operations
      if (round >= 0) samples.get(name)?.push(spent) // the first round warms up
    }
  return [...samples].map(([name, values]) => ({
    name,
    nanoseconds: values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN,
  }))
}

/** A table with the first contender as the measure of the others. */
export const report = (
  title: string,
  rows: readonly (readonly [label: string, figures: readonly Figure[]])[],
): void => {
  const names = [...new Set(rows.flatMap(([, figures]) => figures.map(({ name }) => name)))]
  console.log(`\n### ${title}\n`)
  console.log(`| | ${names.join(' | ')} |`)
  console.log(`|---|${names.map(() => '---:').join('|')}|`)
  for (const [label, figures] of rows) {
    const base = figures[0]?.nanoseconds ?? NaN
    const cells = names.map((name) => {
      const found = figures.find((figure) => figure.name === name)
      return found === undefined ? '' : `${time(found.nanoseconds)} (${ratio(found.nanoseconds / base)})`
    })
    console.log(`| ${label} | ${cells.join(' | ')} |`)
  }
}

const time = (nanoseconds: number): string =>
  nanoseconds < 1000
    ? `${nanoseconds.toPrecision(3)} ns`
    : nanoseconds < 1e6
      ? `${(nanoseconds / 1000).toPrecision(3)} µs`
      : `${(nanoseconds / 1e6).toPrecision(3)} ms`

const ratio = (value: number): string => (value >= 99.5 ? `${Math.round(value)}×` : `${value.toPrecision(2)}×`)

export const machine = (): string =>
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB`
