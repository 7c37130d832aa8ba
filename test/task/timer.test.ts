import { expect, it } from 'vitest'
import { after } from '../../src/task/index.ts'

const done = (milliseconds: number, longest?: number): Promise<number> => {
  const from = performance.now()
  return new Promise((resolve) => after(milliseconds, () => resolve(performance.now() - from), { longest }))
}

it('a timer fires after its time, also where that is more than one timer holds', async () => {
  expect(await done(30)).toBeGreaterThanOrEqual(29)
  expect(await done(35, 10)).toBeGreaterThanOrEqual(34)
  expect(await done(0)).toBeLessThan(10_000)
})

it('one of thirty days does not fire at once, one of Infinity never, and both can be cancelled', async () => {
  const fired: string[] = []
  const timers = [
    after(30 * 24 * 3600 * 1000, () => fired.push('thirty days')),
    after(2 ** 31, () => fired.push('2^31')),
    after(Number.MAX_VALUE, () => fired.push('the most')),
    after(Infinity, () => fired.push('never')),
    after(20, () => fired.push('cancelled')),
    after(25, () => fired.push('cancelled between two'), { longest: 10 }),
  ]
  timers.at(-2)?.cancel()
  await done(12)
  timers.at(-1)?.cancel()
  await done(40)
  expect(fired).toEqual([])
  for (const timer of timers) timer.cancel()
})
