/** How fast the list of 10,000 sessions is. What is printed stands in bench/RESULTS.md; what is checked holds on a slow machine too. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assistant, createSession, user, type Store } from 'indelible'
import { indexStore } from 'indelible/search'
import type { Page } from 'playwright-core'
import { looking, type Looking } from './browser.ts'

const count = 10_000
const topics = ['parser', 'invoice', 'migration', 'cache', 'login', 'report', 'search', 'deploy', 'schema', 'queue']

const fill = async (store: Store): Promise<void> => {
  for (let index = 0; index < count; index++) {
    const topic = topics[index % topics.length]
    const session = await createSession(store, {
      id: `session-${String(index).padStart(5, '0')}`,
      metadata: { title: `Fix the ${topic} of customer ${index % 997}`, ...(index % 3 === 0 && { project: 'alpha' }) },
      messages: [
        user(`The ${topic} fails for customer ${index % 997} since yesterday. Look at needle${index}.`),
        assistant(`I look at the ${topic} first, then at the logs of customer ${index % 997}.`),
        user('And add a test.'),
        assistant(`Done: the ${topic} works again, with a test.`),
      ],
    })
    await session.note({
      type: 'receipt',
      len: 3,
      contextDigest: '0'.repeat(64),
      model: 'claude-opus-4-5',
      usage: { input: 1000 + count - index, output: 100 },
    })
    await session.close()
  }
}

let here: Looking
beforeAll(async () => {
  here = await looking(fill)
}, 600_000)
afterAll(() => here?.end())

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const middle = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0

/** Milliseconds from each key of a text to the frame after it. */
const typed = (page: Page, text: string): Promise<readonly number[]> =>
  page.evaluate(async (letters) => {
    const field = document.querySelector('input[type=search]') as HTMLInputElement
    const times: number[] = []
    for (let end = 1; end <= letters.length; end++) {
      const from = performance.now()
      field.value = letters.slice(0, end)
      field.dispatchEvent(new Event('input', { bubbles: true }))
      await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))
      times.push(performance.now() - from)
      await new Promise((pause) => setTimeout(pause, 60))
    }
    return times
  }, text)

describe('10,000 sessions', () => {
  it('are listed, filtered, searched and ordered', async () => {
    const times: number[] = []
    for (let round = 0; round < 5; round++) {
      const page = await here.at('#/')
      await page.locator('.session').first().waitFor()
      const base = page.url().replace(/#.*/, '')
      await page.goto('about:blank')
      const from = performance.now()
      await page.goto(`${base}#/`, { waitUntil: 'commit' })
      await page.locator('.session').first().waitFor()
      times.push(performance.now() - from)
      await page.close()
    }
    say(
      `first view of ${count} sessions: median ${middle(times).toFixed(0)} ms, best ${Math.min(...times).toFixed(0)} ms of 5`,
    )
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    await page.getByText('10,000 sessions').waitFor()
    const keys = await typed(page, 'customer 42')
    say(
      `a key of the search to its frame: median ${middle(keys).toFixed(0)} ms, worst ${Math.max(...keys).toFixed(0)} ms of ${keys.length}`,
    )
    expect(await page.locator('.session').first().textContent()).toMatch(/customer.*42/)
    const found = async (words: string, mark: string): Promise<string> => {
      await page.getByRole('searchbox').fill(words)
      const from = performance.now()
      await page.locator('.hit mark', { hasText: mark }).first().waitFor({ timeout: 60_000 })
      return (performance.now() - from).toFixed(0)
    }
    say(`words of one message found among 40,000, without an index: ${await found('needle4711', 'needle4711')} ms`)
    await indexStore(here.store)
    say(`with one: ${await found('needle1174', 'needle1174')} ms`)
    say(`words of 10,000 messages, with one: the first page after ${await found('works again', 'works')} ms`)
    await page.getByRole('searchbox').fill('')
    await page.getByText('10,000 sessions').waitFor()
    await page.locator('.session').nth(10).waitFor()
    let asked = 0
    page.on('request', (request) => {
      if (new URL(request.url()).pathname !== '/api/overviews') return
      asked += (request.postDataJSON() as readonly string[]).length
    })
    const ordered = await page.evaluate(async () => {
      const field = document.querySelector('select') as HTMLSelectElement
      const from = performance.now()
      field.value = 'tokens'
      field.dispatchEvent(new Event('change', { bubbles: true }))
      await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))
      return performance.now() - from
    })
    say(`ordered by tokens: ${ordered.toFixed(0)} ms`)
    expect(await page.locator('.session').first().getAttribute('href')).toBe('#/s/session-00000')
    await expect.poll(() => asked).toBeGreaterThan(0)
    expect(asked).toBeLessThan(100) // of the sessions in sight only
    expect(await page.locator('.session').count()).toBeLessThan(80)
    expect(here.complaints()).toEqual([])
    await page.close()
  })
})
