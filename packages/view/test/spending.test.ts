/** The costs of all sessions, as the page gets them, and their chart. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sqliteStore } from 'indelible/store/sqlite'
import { memoryStore } from 'indelible'
import { addStore, emptySum, Spending, type SpendingRow } from '@indelible/view/internal'
import { chartBands, chartDays } from '../page/src/spend/spend-chart.ts'
import { causeTexts } from '../src/texts/cause-text.ts'
import { spendingOf } from '../src/server/spending.ts'
import { withSubAgents } from './agents.ts'

it('the page gets the sums of the command, and writes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-spending-'))
  const path = join(folder, 'sessions.db')
  const store = await sqliteStore({ path })
  await withSubAgents(store)
  await store.close()
  const before = readFileSync(path)
  const opened = await sqliteStore({ path })
  const spending = await spendingOf(opened)()
  await opened.close()
  expect(readFileSync(path).equals(before)).toBe(true)
  const again = await sqliteStore({ path })
  const own = new Spending()
  await addStore(own, again)
  await again.close()
  expect(spending.total).toEqual(own.total)
  expect(spending.causes).toEqual(own.rows(['cause']))
  expect([spending.sessions, spending.unread, spending.dearest.length]).toEqual([4, 0, 9])
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})
it('an empty store costs nothing', async () => {
  const { total, days, dearest } = await spendingOf(memoryStore())()
  expect([total.calls, total.dollars, days, dearest]).toEqual([0, 0, [], []])
})

const row = (day: string, cause: string, dollars: number): SpendingRow => ({
  keys: [day, cause],
  sum: { ...emptySum(), dollars },
})
it('a chart has each day from the first to the last, and loses no value', () => {
  const rows = [
    row('2026-02-27', 'read', 1),
    row('2026-02-27', 'unknown', 2),
    row('2026-03-02', 'first', 3),
    row('2026-03-02', 'new', 4),
    row('', 'answer', 5),
  ]
  const { days, undated } = chartDays(rows, ({ dollars }) => dollars)
  expect(days.map(({ day, value }) => [day, value])).toEqual([
    ['2026-02-27', 3],
    ['2026-02-28', 0],
    ['2026-03-01', 0],
    ['2026-03-02', 7],
  ])
  expect(undated).toBe(5)
})
it('a wrong date far from the others does not make a chart of centuries', () => {
  const { days } = chartDays([row('0001-01-01', 'read', 1), row('2026-03-02', 'new', 4)], ({ dollars }) => dollars)
  expect(days.map(({ day }) => day)).toEqual(['0001-01-01', '2026-03-02'])
})
it('each cause has one band', () => {
  for (const cause of Object.keys(causeTexts))
    expect([cause, chartBands.filter(({ causes }) => causes.has(cause)).length]).toEqual([cause, 1])
})
