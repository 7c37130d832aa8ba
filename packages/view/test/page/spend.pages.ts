/** What all sessions cost: the sums of `indelible spend`, by day and cause, and the calls that cost most. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { createSession, user } from 'indelible'
import { addStore, Spending } from '@indelible/view/internal'
import { withSubAgents } from '../agents.ts'
import { axeFindings, looking, type Looking } from './browser.ts'
import { fourteenCalls, recordCalls } from './recorded.ts'

let here: Looking
let recorded: string
beforeAll(async () => {
  here = await looking(async (store) => {
    await withSubAgents(store)
    recorded = await recordCalls(store, fourteenCalls)
  })
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

const opened = async (width = 1280, dark = false): Promise<Page> => {
  const page = await here.at('#/spend', { width, dark })
  await page.locator('.day-bar i').first().waitFor()
  return page
}

describe('the costs of all sessions', () => {
  it('are those that the command adds up', async () => {
    const spending = new Spending()
    await addStore(spending, here.store)
    const page = await opened()
    expect(await page.locator('.account-sum strong').textContent()).toBe(`$${spending.total.dollars.toFixed(2)}`)
    expect(await page.locator('.top .count').textContent()).toBe(`6 sessions, ${spending.total.calls} calls`)
    const causes = await page.getByRole('region', { name: 'By cause' }).locator('tbody th').allTextContents()
    expect(causes.length).toBe(spending.causes.length)
    expect(causes).toEqual(expect.arrayContaining(['read again', 'sent again, tools changed', 'answers']))
    expect(await page.getByRole('region', { name: 'By project' }).locator('tbody th').allTextContents()).toEqual([
      'not known',
      'calendar',
    ])
    await page.close()
  })
  it('have a bar for each day, whose parts are the causes; keys move between the days', async () => {
    const page = await opened()
    const heights = await page
      .locator('.day-bar')
      .evaluateAll((all) =>
        all.map((bar) => [...bar.children].reduce((sum, part) => sum + part.getBoundingClientRect().height, 0)),
      )
    const high = heights.indexOf(Math.max(...heights))
    await page.locator('.day-bars').focus()
    await page.keyboard.press('Home')
    for (let at = 0; at < high; at++) await page.keyboard.press('ArrowRight')
    await page.locator(`.day-bar.pointed:nth-child(${high + 1})`).waitFor()
    expect(await page.locator('.account .glance-said').textContent()).toMatch(
      /\(UTC\): \$1\.\d\d · read again \$.* · new content \$.* · answers \$.* · sent again, tools changed \$/,
    )
    await page.getByRole('button', { name: 'Tokens' }).click()
    await page
      .locator('.account .glance-said')
      .getByText(/with calls \(UTC\)/)
      .waitFor()
    await page.close()
  })
  it('have a bar for a lone day of many months, as wide as can be seen', async () => {
    const far = await createSession(here.store, { id: 'far', messages: [user('a question')] })
    await far.note({
      type: 'receipt',
      len: 1,
      contextDigest: '0'.repeat(64),
      model: 'claude-opus-4-5',
      usage: { input: 400_000, output: 50 },
      details: { at: Date.now() - 280 * 86_400_000 },
    })
    await far.close()
    for (const width of [390, 1440]) {
      const page = await opened(width)
      const bars = page.locator('.day-bar')
      await bars.nth(280).waitFor()
      expect((await bars.nth(0).locator('i').first().boundingBox())?.width).toBeGreaterThanOrEqual(2)
      const { x = 0, width: wide = 0 } = (await bars.last().boundingBox()) ?? {}
      expect(x + wide).toBeLessThanOrEqual(width) // all days are in sight
      await page.close()
    }
    await here.store.remove('far')
  })
  it('lead from a call that cost most to what it saw, or to its answer', async () => {
    const page = await opened()
    const calls = page.locator('.dearest-calls li')
    expect(await calls.count()).toBe(10)
    expect(await calls.first().textContent()).toMatch(
      /^Call 13 of Add a test for leap years.*: \$0\.265\. Nothing was cached/,
    )
    await calls.first().getByRole('link').click()
    await page.getByText('13 of 14').or(page.locator('.item.current')).first().waitFor()
    expect(decodeURIComponent(page.url())).toContain(recorded)
    await page.close()
  })
  it('are one step from the list', async () => {
    const page = await here.at('#/')
    await page.getByRole('link', { name: 'Spend' }).click()
    await page.locator('.account-sum').waitFor()
    await page.getByRole('link', { name: 'all sessions' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.close()
  })
  it.each([
    [1280, false],
    [390, true],
  ])('at %i pixels, dark: %s, have nothing that axe finds, and fit the window', async (width, dark) => {
    const page = await opened(width, dark)
    expect(await axeFindings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    await page.close()
  })
})
