/** Little of the stack left: a call that has the items of a list as its arguments fails at 16,000 of them, not only at 130,000. */
import { expect } from 'vitest'

const padding = Array.from({ length: 1000 }, () => 0)

const nest = <T>(depth: number, run: () => T, ..._padding: readonly number[]): T =>
  depth === 0 ? run() : nest(depth - 1, run, ...padding)

/** How often `nest` can call itself from here. */
const mostDepth = (): number => {
  let depth = 0
  const count = (..._padding: readonly number[]): void => {
    depth += 1
    count(...padding)
  }
  expect(count).toThrow(RangeError)
  return depth
}

/** Run something with about 110 kB of stack, in which no call has as many arguments as `list` has items. */
export const withSmallStack = <T>(list: readonly unknown[], run: () => T): T =>
  nest(mostDepth() - 14, () => {
    expect(() => Math.max(...(list as readonly number[]))).toThrow(RangeError)
    return run()
  })
