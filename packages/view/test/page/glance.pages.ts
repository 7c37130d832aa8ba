/** The calls of a session at a glance: which one cost most, and why. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { assistant, createSession, forkSession, orThrow, user } from 'indelible'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import { looking, type Looking } from './browser.ts'
import { fourteenCalls, recordCalls } from './recorded.ts'

let here: Looking
let id = ''
beforeAll(async () => {
  here = await looking(async (store) => {
    id = await recordCalls(store, fourteenCalls)
    const many = await createSession(store, { id: 'many' })
    for (let call = 0; call < 700; call++) {
      await many.append([user(`question ${call}`)])
      await many.note({
        type: 'receipt',
        len: call + 1,
        contextDigest: '0'.repeat(64),
        model: 'claude-opus-4-5',
        usage: { input: 2000 + call * 100, output: 50, cacheRead: call === 400 || call === 0 ? 0 : 1900 + call * 100 },
      })
    }
    await many.close()
    const call = { type: 'receipt', len: 3, contextDigest: '0'.repeat(64), model: 'claude-opus-4-5' } as const
    const base = await createSession(store, { id: 'base', messages: [user('a'), assistant('b'), user('c')] })
    await base.note({ ...call, usage: { input: 2000, output: 50, cacheRead: 0 } })
    await base.close()
    await new Promise((resolve) => setTimeout(resolve, 5)) // its call has an earlier time than the fork
    await (await forkSession(store, 'base', { id: 'untouched' })).close()
    const edited = await forkSession(store, 'base', { id: 'edited' })
    const broke = { where: 'messages', because: 'message 2: a result was edited' }
    await edited.note({
      ...call,
      usage: { input: 90_000, output: 50, cacheRead: 1000 },
      details: { api: 'anthropic', at: 1, duration: 1, sent: [[0, 3]], broke },
    })
    await edited.close()
    const one = await createSession(store, { id: 'one', messages: [user('a question')] })
    await one.note({
      type: 'receipt',
      len: 1,
      contextDigest: '0'.repeat(64),
      model: 'a-model-without-a-price',
      usage: { input: 3000, output: 50 },
    })
    await one.close()
    await createSession(store, {
      id: 'imported',
      metadata: { from: { models: ['claude-opus-4-5'], usage: { input: 50_000, output: 500 } } },
      messages: [user('a question'), assistant('an answer')],
    })
    const uses = [{ model: 'claude-opus-4-5', calls: 7, input: 50_000, cacheRead: 40_000, output: 500 }]
    await createSession(store, { id: 'together', metadata: { from: { uses } }, messages: [user('a'), assistant('b')] })
    const lines = [
      { type: 'session', id: 'from-a-file', timestamp: '2025-01-02T10:00:00.000Z', cwd: '/work' },
      ...[
        { content: '/mode' },
        { usage: { input: 2000, output: 20, cacheRead: 0, cacheWrite: 6000 } },
        { content: 'Look at the tests, please.' },
        { usage: { input: 10, output: 20, cacheRead: 8000, cacheWrite: 1000 } },
        { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
        { usage: { input: 10, output: 20, cacheRead: 0, cacheWrite: 9500 } },
        { usage: { input: 10, output: 20, cacheRead: 9500, cacheWrite: 200 } },
      ].map(({ content, usage }, index) => ({
        type: 'message',
        id: `${index}`,
        parentId: index === 0 ? null : `${index - 1}`,
        timestamp: `2025-01-02T10:${String(index * 4).padStart(2, '0')}:00.000Z`,
        message:
          usage === undefined
            ? { role: 'user', content }
            : {
                role: 'assistant',
                model: 'claude-sonnet-4-5',
                content: [{ type: 'text', text: `answer ${index}` }],
                usage,
              },
      })),
    ].map((line) => JSON.stringify(line))
    const file = orThrow(readTranscript(new TextEncoder().encode(`${lines.join('\n')}\n`)))
    await importTranscript(store, file, { id: 'from-a-file' })
    const unbroken = await createSession(store, { id: 'unbroken', messages: [user('a question'), assistant('answer')] })
    for (const cacheRead of [0, 2900])
      await unbroken.note({
        type: 'receipt',
        len: 1,
        contextDigest: '0'.repeat(64),
        model: 'claude-opus-4-5',
        usage: { input: 3000, output: 50, cacheRead },
      })
    await unbroken.close()
    await createSession(store, { id: 'no-calls', messages: [user('hello')] })
  })
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

const path = (): string => `#/s/${encodeURIComponent(id)}`
const shot = process.env['SHOTS']
const shoot = async (page: Page, name: string): Promise<void> => {
  if (shot !== undefined) await page.screenshot({ path: `${shot}/${name}.png` })
}

describe('the call bars of a session', () => {
  it('say of the first call of a fork that the call before it is in another session', async () => {
    const page = await here.at('#/s/edited')
    await page
      .locator('.glance-said')
      .getByText(/Message 2: a result was edited\. Mostly new content, 88,000 tokens\./)
      .waitFor()
    expect(await page.locator('.glance-sums').textContent()).toMatch(
      /^1 call · 90K tokens in · .* · 1 cache break · without 1 call shared with base$/,
    )
    await page.getByText(/3 messages · 90\.1K tokens/).waitFor()
    await page.close()
  })
  it('of a fork without calls of its own say nothing about breaks or the dearest', async () => {
    const page = await here.at('#/s/untouched')
    await page.getByText('0 calls · without 1 call shared with base').waitFor()
    expect(await page.locator('.glance').textContent()).not.toContain('cost most')
    await page.close()
  })
  it('beside the previous call, name a call of a fork’s original as the last shared one', async () => {
    const page = await here.at('#/')
    await page.locator('a.session[href*=".fork-"]').click()
    await page.getByRole('link', { name: 'What the model saw' }).click()
    await page.getByRole('button', { name: 'Beside the previous call' }).click()
    await page.getByText(/It is beside call 7, the last that the fork shares with/).waitFor()
    await page.getByText('sent with the last shared call').first().waitFor()
    await page.close()
  })
  it('show at once which call cost most and why', async () => {
    const page = await here.at(path())
    const glance = page.locator('.glance')
    await glance.waitFor()
    expect(await glance.locator('.glance-sums').textContent()).toMatch(
      /^13 calls · 403\.5K tokens in · 60 % cached · 4\.2K out · \$1\.05 · 3 cache breaks · 1 failed$/,
    )
    expect(await glance.locator('.glance-said').textContent()).toMatch(
      /^Call 13 cost most: \$0\.265, \d\d % of all\. Nothing was cached directly after the last answer; nothing changed, but the prefix was no longer in the provider’s cache\.$/,
    )
    await page.close()
  })
  it('have one bar per call: tokens as height, causes as colors, and a mark at each break', async () => {
    const page = await here.at(path())
    await page.locator('.beside-bar').waitFor()
    const bars = await page.locator('.glance-bars a').evaluateAll((all) =>
      all.map((bar) => ({
        states: bar.className.replace(/^bar ?/, ''),
        causes: [...bar.querySelectorAll('i')].map(({ className }) => className.replace('cause-', '')),
        broke: bar.querySelector('.broke') !== null,
        height: [...bar.querySelectorAll('i')].reduce((sum, part) => sum + part.getBoundingClientRect().height, 0),
      })),
    )
    expect(bars.map(({ states }) => states)).toEqual([
      '', '', '', '', 'glance-failed', '', '', 'beside-bar', '', '', '', '', '', 'dearest', '',
    ]) // prettier-ignore
    expect(bars.flatMap(({ broke }, index) => (broke ? [index] : []))).toEqual([6, 11, 13])
    expect(bars[6]?.causes).toEqual(['tools', 'new'])
    expect(bars[11]?.causes).toEqual(['compaction', 'read'])
    expect(bars[13]?.causes).toEqual(['missed', 'new'])
    const heights = bars.map(({ height }) => height)
    expect(Math.max(...heights)).toBeCloseTo(heights[14] as number, 1)
    expect((heights[14] as number) / (heights[0] as number)).toBeCloseTo(55 / 12, 0)
    expect(await page.locator('.glance .legend').textContent()).toMatch(
      /read again.*new content.*sent again, tools changed.*sent again, compaction.*sent again, lost by the provider.*cache break.*failed.*repeats a failed call.*sub-agent or fork/,
    )
    await page.close()
  })
  it("show a call's cost on hover or by keys, and open its context", async () => {
    const page = await here.at(path())
    await page.locator('.beside-bar').waitFor()
    const bar = (index: number) => page.locator('.glance-bars a').nth(index)
    const locator = page.locator('.glance-said')
    await bar(6).hover()
    expect(await locator.textContent()).toMatch(
      /^Call 7 · gpt-5\.5 · \$0\.135 · 26K tokens in, none cached · 150 out\. Nothing was cached directly after the last answer; the tool list changed: \+search\.$/,
    )
    expect(await bar(6).getAttribute('aria-label')).toBe(await locator.textContent())
    await bar(5).hover()
    expect(await locator.textContent()).toMatch(/repeats call 5/)
    // The dearest is what Tab leads to; the arrow keys move on.
    await bar(13).focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    expect(await locator.textContent()).toMatch(/^Call 2 · /)
    expect(await page.locator('.glance-bars a[tabindex="0"]').count()).toBe(1)
    await page.keyboard.press('Enter')
    await page.getByText('2 of 14').waitFor()
    await page.goBack()
    await bar(6).click()
    await page.getByText('Cache break: the tool list changed: +search.').waitFor()
    await page.getByText('7 of 14').waitFor()
    await page.goBack()
    expect(await page.locator('.beside-bar').getAttribute('aria-label')).toMatch(
      /^A fork starts here: Look into the git log\. · 9K tokens in · \$0\.0\d\d$/,
    )
    await page.locator('.beside-bar').click()
    await page.waitForURL(/\.fork-[0-9a-f]+$/)
    await page.getByRole('link', { name: 'Fork at' }).waitFor()
    await page.close()
  })
  it('show hundreds of calls, scrolling if wider than the page', async () => {
    const page = await here.at('#/s/many', { width: 390 })
    await page.locator('.glance').waitFor()
    expect(await page.locator('.glance-bars a').count()).toBe(700)
    expect(await page.locator('.glance-said').textContent()).toMatch(
      /^Call 401 cost most.*Nothing was cached; unknown; ruled out: a pause, another model\.$/,
    )
    const dearest = await page.locator('.bar.dearest').boundingBox()
    expect(dearest?.width).toBeGreaterThanOrEqual(2)
    expect(dearest?.x).toBeGreaterThan(0)
    expect(dearest?.x).toBeLessThan(390)
    await shoot(page, 'many-390')
    await page.setViewportSize({ width: 1440, height: 860 })
    await shoot(page, 'many-1440')
    const [inside, whole] = await page
      .locator('.glance-bars')
      .evaluate(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth] as const)
    expect(whole).toBe(inside)
    await page.setViewportSize({ width: 390, height: 860 })
    const place = async (): Promise<number> => (await page.locator('.bar.dearest').boundingBox())?.x ?? 0
    await expect.poll(place).toBeLessThan(390)
    await page.close()
  })
  it("show an imported file's counted calls and link to its messages", async () => {
    const page = await here.at('#/s/from-a-file')
    await page.getByRole('heading', { name: 'Look at the tests, please.' }).waitFor()
    const glance = page.locator('.glance')
    expect(await glance.locator('.glance-sums').textContent()).toMatch(
      /^5 calls · 36\.2K tokens in · 48 % cached · 80 out · at least \$\d\.\d+ · 1 cache break · 1 without token counts$/,
    )
    expect(await glance.locator('.glance-said').textContent()).toMatch(
      /^Call 4 cost most of those with token counts: \$0\.036\. Nothing was cached; sent more than 12 minutes after the last request, and the cache is kept for 5 minutes; likely\./,
    )
    expect(await glance.locator('.bar.empty').count()).toBe(1)
    await glance.locator('.legend').getByText('without token counts').waitFor()
    await page.locator('#m5 .marks').getByText('cache break: Sent more than 12 minutes after').waitFor()
    expect(await page.locator('#m5 .marks .receipt-figures').textContent()).toMatch(
      /^\$0\.0\d+ · 9\.5K in · 0 % cached · 20 out/,
    )
    expect(await page.locator('#m4 .marks .receipt-figures').count()).toBe(0)
    await glance.locator('.glance-said a').click()
    await page.waitForURL(/#\/s\/from-a-file\/5$/)
    await page.goto(page.url().replace(/#.*/, '#/saw/from-a-file'))
    await page.getByText('The messages of this call were not recorded: this is what paged would send.').waitFor()
    expect(await page.getByText('4 of 5').count()).toBe(1)
    await page.close()
  })
  it("link from a cache break to that call's context", async () => {
    for (const [hash, found, first, place] of [
      ['#/s/from-a-file', '1 message of 7', 'm5', '4 of 5'],
      [path(), '3 messages of 27', undefined, '7 of 14'],
    ] as const) {
      const page = await here.at(hash)
      await page.locator('.glance').waitFor()
      await page.getByRole('combobox', { name: 'show' }).selectOption('Cache breaks')
      await page.getByText(found).waitFor()
      const article = page.locator('article').first()
      if (first !== undefined) expect(await article.getAttribute('id')).toBe(first)
      await article.getByRole('link', { name: 'cache break:' }).click()
      await page.getByText(place).waitFor()
      await page.close()
    }
  })
  it('report no cache break if all cached tokens were counted', async () => {
    const page = await here.at('#/s/unbroken')
    expect(await page.locator('.glance-sums').textContent()).toMatch(/ · no cache breaks$/)
    await page.goto(page.url().replace(/#.*/, '#/s/one'))
    await page.getByText(/^1 call · /).waitFor()
    expect(await page.locator('.glance-sums').textContent()).not.toContain('cache break')
    await page.close()
  })
  it('are one sentence if the file has only totals', async () => {
    const page = await here.at('#/s/together')
    expect(await page.locator('.glance').textContent()).toBe(
      '7 calls · 50K tokens in · 80 % cached · 500 out · $0.083. The file has only totals: which call cost most is not recorded.',
    )
    await page.close()
  })
  it('are on the context view too, and mark the selected call', async () => {
    for (const width of [390, 1440]) {
      const page = await here.at(`#/saw/${encodeURIComponent(id)}`, { width })
      const bars = page.locator('.glance-bars a')
      await page.getByText('13 of 14').waitFor() // the one that cost most
      await page.locator('.beside-bar').waitFor()
      expect(await bars.count()).toBe(15)
      await page.keyboard.press('G')
      await page.getByText('14 of 14').waitFor()
      expect(await page.locator('.glance-said').textContent()).toMatch(/^Call 14 · .* Call 13 cost most\.$/)
      await bars.nth(6).click()
      await page.getByText('7 of 14').waitFor()
      await page.getByText('Cache break: the tool list changed: +search.').waitFor()
      await page.mouse.move(0, 0)
      expect(await page.locator('.bar.here').getAttribute('aria-label')).toMatch(/^Call 7 · /)
      expect(await page.locator('.bar[aria-current]').count()).toBe(1)
      await page.locator('.glance-said a').click()
      await page.getByText('13 of 14').waitFor()
      expect(await page.locator('.glance-said').textContent()).toMatch(
        /^Call 13 · .* no longer in the provider’s cache\. $/,
      )
      const widths = await page
        .locator('.controls > *')
        .evaluateAll((all) =>
          all.map((one) => [one.scrollWidth - one.clientWidth, one.getBoundingClientRect().right - innerWidth]),
        )
      for (const [hidden, beyond] of widths) expect([hidden, (beyond as number) <= 0]).toEqual([0, true])
      await page.close()
    }
  })
  it('open at the most expensive call, or at the call that answered the selected message, and lead back', async () => {
    const page = await here.at(path())
    await page.locator('.glance').waitFor()
    const saw = page.getByRole('link', { name: 'What the model saw' })
    await saw.first().click()
    await page.getByText('13 of 14').waitFor()
    await page.getByRole('link', { name: 'Conversation', exact: true }).click()
    await page.waitForURL(/\/24$/)
    for (const [position, call] of [
      [3, 2],
      [4, 2],
      [26, 14],
    ]) {
      await page.goto(page.url().replace(/#.*/, `${path()}/${position}`))
      await page.locator(`#m${position}.current`).waitFor()
      await saw.first().click()
      await page.getByText(`${call} of 14`, { exact: true }).waitFor()
    }
    await page.close()
  })
  it('are absent without receipts', async () => {
    const page = await here.at('#/s/no-calls')
    await page.locator('#m0').waitFor()
    expect(await page.locator('.glance').count()).toBe(0)
    await page.close()
  })
})

it('shows cost, calls, tokens and errors of two sessions aligned in columns', async () => {
  for (const width of [390, 1440]) {
    const page = await here.at(`#/diff/${encodeURIComponent(id)}/from-a-file`, { width })
    const rows = page.locator('.spent tbody tr')
    await rows.first().waitFor()
    const cells = (row: number) => rows.nth(row).locator('td').allTextContents()
    expect(await page.locator('.spent th').allTextContents()).toEqual(
      ['session', 'cost', 'calls', 'input', 'cached', 'output', 'errors'], // prettier-ignore
    )
    expect((await cells(0)).slice(1)).toEqual(['$1.05', '13', '403.5K', '60 %', '4.2K', '1'])
    expect((await cells(1)).slice(1)).toEqual(['≥ $0.075', '5', '≥ 36.2K', '48 %', '≥ 80', '0'])
    const { height, x, width: wide } = (await page.locator('.spent').boundingBox()) ?? { height: 0, x: 0, width: 0 }
    expect([height < 140, x + wide <= width]).toEqual([true, true])
    await page.close()
  }
})

describe('tokens and costs of a session', () => {
  it('are in its header, also if imported', async () => {
    const page = await here.at(path())
    await page.getByText('27 messages · 407.7K tokens · $1.05').waitFor()
    await page.locator('.verified.good').click()
    await page.getByText('42 hashed: 27 messages, 14 call records, 1 other note').waitFor()
    await page.goto(page.url().replace(/#.*/, '#/saw/imported'))
    await page.getByText('2 messages · 50.5K tokens · $0.263').waitFor()
    await page.goto(page.url().replace(/#.*/, '#/s/from-a-file'))
    await page.getByText('work · 7 messages').waitFor()
    await page.close()
  })
  it('are in the list, where titles are not repeated and a fork has its own words', async () => {
    const page = await here.at('#/')
    const row = page.locator(`[href="${path()}"]`)
    await row.getByText('407.7K tokens · $1.05 · 3 cache breaks').waitFor()
    await page.getByText('a-model-without-a-price · 3.1K tokens · price unknown').waitFor()
    await page.getByText(/^work · 7 messages · claude-sonnet-4-5/).waitFor()
    const order = page.getByRole('combobox', { name: 'order' })
    await order.selectOption('Cost')
    await page.locator('.session').first().click()
    await page.locator('.top h1').waitFor()
    await page.goBack()
    expect(await order.evaluate((one) => (one as HTMLSelectElement).selectedOptions[0]?.text)).toBe('Cost')
    await page.reload()
    expect(await order.evaluate((one) => (one as HTMLSelectElement).selectedOptions[0]?.text)).toBe('Cost')
    expect(await row.locator('.session-words').textContent()).toMatch(/^…\S+ · … (?!Add a test)/)
    expect(await page.locator('[href*=".fork-"] .session-words').textContent()).toMatch(
      /^….*\.fork-[0-9a-f]{8} · Look into the git log\.$/,
    )
    await page.locator('[href*=".fork-"]').getByText('9.2K tokens · $0.013').waitFor()
    await page.close()
  })
})

describe.each([390, 1440])('a page %i pixels wide', (width) => {
  it('has no accessibility violation and no overflow', async () => {
    for (const [name, hash] of [
      ['calls', path()],
      ['one', '#/s/one'],
      ['saw', `#/saw/${encodeURIComponent(id)}`],
      ['imported', '#/s/from-a-file'],
      ['imported-saw', '#/saw/from-a-file'],
    ] as const)
      for (const dark of [false, true]) {
        const page = await here.at(hash, { width, dark })
        await page.locator('.glance').waitFor()
        await page.waitForTimeout(150)
        await shoot(page, `${name}-${width}-${dark ? 'dark' : 'light'}`)
        await page.evaluate(axe.source)
        const found = await page.evaluate(async () => {
          const { violations } = await (window as unknown as { axe: typeof axe }).axe.run()
          return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))])
        })
        expect([dark, found]).toEqual([dark, []])
        const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
        expect(wide[0]).toBeLessThanOrEqual(wide[1] as number)
        await page.close()
      }
  })
})
