import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { after } from '../../src/task/index.ts'
import { longTimer, platformTimer } from '../../src/task/timer.ts'

const day = 24 * 3600 * 1000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it("a timer fires on time, also beyond the platform's longest timer", () => {
  const firedAt = (milliseconds: number, longest?: number): number => {
    const from = Date.now()
    const fired: number[] = []
    longTimer(platformTimer, longest)(milliseconds, () => fired.push(Date.now() - from))
    while (fired.length === 0) vi.advanceTimersToNextTimer()
    return fired[0] as number
  }
  expect(firedAt(30)).toBe(30)
  expect(firedAt(35, 10)).toBe(35)
  expect(firedAt(0)).toBe(0)
  expect(firedAt(30 * day)).toBe(30 * day)
  expect(firedAt(2 ** 31)).toBe(2 ** 31)
})

it('a 30-day timer does not fire at once, an Infinity timer never does, and both can be cancelled', () => {
  const fired: string[] = []
  const timers = [
    after(30 * day, () => fired.push('thirty days')),
    after(2 ** 31, () => fired.push('2^31')),
    after(Number.MAX_VALUE, () => fired.push('the most')),
    after(Infinity, () => fired.push('never')),
    after(20, () => fired.push('cancelled')),
    longTimer(platformTimer, 10)(25, () => fired.push('cancelled between two')),
  ]
  timers.at(-2)?.cancel()
  vi.advanceTimersByTime(12)
  timers.at(-1)?.cancel()
  vi.advanceTimersByTime(20 * day)
  expect(fired).toEqual([])
  for (const timer of timers) timer.cancel()
  expect(vi.getTimerCount()).toBe(0)
})

it.each([
  ['after(86_400_000, () => console.log("fired"), { keeps: false })', ['']],
  ['after(20, () => console.log("fired"))', ['fired', '']],
])('a process waits for its timers, but not for one that must not keep it alive: %s', (call, lines) => {
  const file = fileURLToPath(new URL('../../src/task/timer.ts', import.meta.url))
  const program = `const { after } = await import(${JSON.stringify(file)}); ${call}`
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 60_000 })
  expect([String(stdout).split('\n'), status]).toEqual([lines, 0])
})
