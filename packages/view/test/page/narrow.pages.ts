/** What a narrow window must not cut or cover, and figures that a file has too low. */
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { assistant, createSession, orThrow, user } from 'indelible'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import { looking, type Looking } from './browser.ts'
import { recordCalls } from './recorded.ts'

let here: Looking
let many = ''
beforeAll(async () => {
  here = await looking(async (store) => {
    const calls = Array.from({ length: 100 }, (_, index) => ({ input: 10_000 + index, cached: index === 0 ? 0 : 9000 }))
    many = await recordCalls(store, [...calls, { input: 40_000, cached: 0 }, { input: 41_000, cached: 40_000 }])
    const session = await createSession(store, { id: 'altered', metadata: { title: 'A test for leap years, please' } })
    await session.append([user('Add it.'), assistant('Done, my friend.')])
    await session.close()
    const told = { sessionId: 's', version: '2.1.0', timestamp: '2026-01-01T00:00:00.000Z' }
    const message = {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-5', stop_reason: null },
      content: [{ type: 'text', text: 'said '.repeat(40) }],
      usage: { input_tokens: 1_000_000, output_tokens: 1 },
    }
    const lines = [
      { ...told, uuid: 'u', parentUuid: null, type: 'user', message: { role: 'user', content: 'Say it.' } },
      { ...told, uuid: 'a', parentUuid: 'u', type: 'assistant', message },
    ].map((line) => JSON.stringify(line))
    const file = orThrow(readTranscript(new TextEncoder().encode(`${lines.join('\n')}\n`)))
    await importTranscript(store, file, { id: 'undercounted' })
  })
  const db = new DatabaseSync(here.path)
  db.exec(`update row set body = replace(body, 'my friend', 'my enemy')`)
  db.close()
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

it('a long verdict leaves the title its words', async () => {
  const page = await here.at('#/s/altered', { width: 390 })
  await page.locator('.verified.bad').waitFor()
  expect(await page.locator('h1').evaluate((title) => title.clientWidth)).toBeGreaterThan(130)
  await page.close()
})

it('the strip of calls shows that it hides others, and keeps its marks above a scrollbar', async () => {
  const page = await here.at(`#/s/${encodeURIComponent(many)}`, { width: 390 })
  const strip = page.locator('.glance-bars')
  await page.locator('.glance-bars.hidden-before').waitFor()
  await page.locator('.glance-bars:not(.hidden-after)').waitFor()
  await strip.evaluate((element) => (element.scrollLeft = 0))
  await page.locator('.glance-bars.hidden-after:not(.hidden-before)').waitFor()
  const room = await strip.evaluate(
    (element) =>
      element.getBoundingClientRect().bottom - (element.firstElementChild?.getBoundingClientRect().bottom ?? 0),
  )
  expect(room).toBeGreaterThanOrEqual(8)
  await page.close()
})

it('no line of facts ends with a dot between two', async () => {
  const page = await here.at(`#/s/${encodeURIComponent(many)}`, { width: 390 })
  await page.locator('.glance-sums').waitFor()
  const dots = await page
    .locator('.glance-sums .fact')
    .evaluateAll((facts) => facts.map((fact) => fact.getClientRects().length))
  expect(dots.length).toBeGreaterThan(3)
  expect(dots.every((lines) => lines === 1)).toBe(true)
  await page.close()
})

it('the filter and the fields show their words whole, and a call its messages', async () => {
  const page = await here.at(`#/s/${encodeURIComponent(many)}`, { width: 390 })
  const select = page.getByRole('combobox', { name: 'show' })
  expect(await select.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true)
  await page.locator('.verified.good').click()
  await page.getByPlaceholder('SIZE:ROOT', { exact: true }).waitFor()
  await page.goto(page.url().replace(/#.*/, `#/saw/${encodeURIComponent(many)}`))
  await page.locator('.figures').filter({ hasNotText: '…' }).waitFor()
  expect(await page.locator('.feed').evaluate((feed) => feed.getBoundingClientRect().top)).toBeLessThan(700)
  await page.close()
})

it('figures of a file that counts fewer tokens than its answers hold are at least those', async () => {
  const page = await here.at('#/s/undercounted')
  expect(await page.locator('.glance-sums').textContent()).toContain(
    '1M tokens in · 0 % cached · at least 1 out · at least $5.00',
  )
  expect(await page.locator('#m1 .receipt-figures').textContent()).toMatch(/^at least \$5\.00 .* at least 1 out/)
  await page.locator('.verified.good').waitFor()
  expect(await page.locator('.top .count').textContent()).toBe('2 messages · 1M tokens · at least $5.00')
  await page.goto(page.url().replace(/#.*/, '#/'))
  await page.locator('[href="#/s/undercounted"]').getByText('at least $5.00').waitFor()
  await page.close()
})
