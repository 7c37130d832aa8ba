/** Every view of the page, as somebody meets it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { assistant, createSession, openSession, toolCall, toolResult, user, type Message } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { everything } from './conversation.ts'
import { axeFindings, looking, type Looking } from './browser.ts'

let here: Looking
beforeAll(async () => {
  here = await looking(everything)
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints().filter((text) => !text.includes('404'))).toEqual([]))

const text = async (page: Page, selector: string): Promise<string> =>
  (await page.locator(selector).first().textContent()) ?? ''

describe('the view of all sessions', () => {
  it('lists sessions with their facts and opens them', async () => {
    const page = await here.at('#/')
    await page.getByText('everything', { exact: true }).or(page.locator('[href="#/s/everything"]')).first().waitFor()
    await page.getByText('claude-opus-4-5').first().waitFor()
    expect(await page.locator('.session').count()).toBe(2)
    expect(await text(page, '[href="#/s/everything"] .session-facts')).toMatch(
      /12 messages · claude-opus-4-5 · 12\.3K tokens · \$/,
    )
    await page.locator('[href="#/s/everything"]').click()
    await page.getByRole('heading', { name: 'Leap years' }).waitFor()
    expect(page.url()).toMatch(/#\/s\/everything$/)
    await page.close()
  })
  it('shows first words without the marks of Markdown', async () => {
    const page = await here.at('#/')
    await page.locator('[href="#/s/everything"]').getByText('Add a test for leap years, please.').waitFor()
    await page.close()
  })
  it('searches sessions and messages while typing', async () => {
    const page = await here.at('#/')
    await page.getByRole('searchbox').fill('hundred')
    const hit = page.locator('.hit').first()
    await hit.waitFor()
    expect(await hit.locator('mark').first().textContent()).toBe('hundred')
    await hit.click()
    await page.locator('#m8.current').waitFor()
    await page.close()
  })
  it('shows forks as a tree', async () => {
    const page = await here.at('#/')
    await page.getByRole('combobox', { name: 'groups' }).selectOption('As a tree')
    await page.locator('.depth1').waitFor()
    expect(await page.locator('.session').nth(1).getAttribute('class')).toContain('depth1')
    await page.getByRole('combobox', { name: 'groups' }).selectOption('No groups')
    await page.close()
  })
  it('groups sessions, leads through them with keys, and is as it was after a session was looked at', async () => {
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    await page.getByRole('combobox', { name: 'groups' }).selectOption('By program')
    await page.locator('.list-heading').first().waitFor()
    await page.locator('h1').click()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const name = await page.locator('.session:focus .session-title').innerText()
    await page.keyboard.press('Enter')
    await page.locator('nav').waitFor()
    await page.goBack()
    await page.locator('.list-heading').first().waitFor()
    expect(await page.locator('.session .session-title').nth(1).innerText()).toBe(name)
    await page.getByRole('combobox', { name: 'groups' }).selectOption('No groups')
    await page.close()
  })
  it('shows a session that another process creates, and one that grows', async () => {
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    const session = await createSession(here.store, { id: 'came-later', metadata: { title: 'Came later' } })
    await page.locator('[href="#/s/came-later"]').getByText('0 messages').waitFor()
    await session.append([user('one'), assistant('two')])
    await page.locator('[href="#/s/came-later"]').getByText('2 messages').waitFor()
    await session.close()
    await page.close()
  })
})

describe('the view of a session', () => {
  it('joins calls with their results, folds reasoning, shows changes, JSON, tables, code and images', async () => {
    const page = await here.at('#/s/everything')
    await page.locator('#m8').waitFor()
    expect(await page.locator('article').evaluateAll((all) => all.map(({ id }) => id))).toEqual([
      'm0',
      'm1',
      'm2',
      'm5',
      'm7',
      'm8',
      'm9',
      'm10',
      'm11',
    ])
    expect(await page.getByText('First I look at what is there').isVisible()).toBe(true) // a line of it
    expect(await page.locator('.reasoning .markdown').count()).toBe(0)
    await page.locator('.reasoning button').click()
    await page.locator('.reasoning .markdown').waitFor()
    await page.locator('#m2 .call button').nth(0).click()
    expect(await text(page, '#m2 .call-body')).toMatch(/ls test.*Result.*3.*year\.test\.ts/s)
    await page.locator('#m2 .call button.line-button').nth(1).click()
    await page.locator('#m2 .json').first().waitFor()
    await page.locator('#m5 .call-failed button').click()
    expect(await text(page, '#m5 .diff .went .line, #m5 .diff .line.went')).toContain('year % 4 === 0')
    expect(await text(page, '#m5 .diff .line.came')).toContain('year % 100')
    await page.locator('#m7 img').waitFor()
    expect(
      await page.locator('#m7 img').evaluate((img: HTMLImageElement) => [img.naturalWidth, img.src.slice(0, 5)]),
    ).toEqual([8, 'blob:'])
    expect(await page.locator('#m8 table td').count()).toBe(4)
    expect(await page.locator('#m8 .hljs-keyword').count()).toBeGreaterThan(0)
    await page.close()
  })
  it('shows notes about a message in the margin', async () => {
    const page = await here.at('#/s/everything')
    await page.locator('#m8').waitFor()
    expect(await text(page, '#m1 .marks')).toContain('constraint')
    expect(await text(page, '#m0 .marks')).toContain('bootstrap')
    expect(await text(page, '#m8 .marks')).toMatch(/pins message 1.*claude-opus-4-5.*75 % cached/s)
    expect(await text(page, '#m9 .marks')).toContain('retracted')
    expect(await text(page, '.glance-said')).toMatch(/9K cached · 300 out\. The first call, 3,000 tokens\.$/)
    expect(await text(page, '#m10 .marks')).toMatch(/retracts messages 9–10/)
    await page.close()
  })
  it('supports j and k, search with /, and links to messages', async () => {
    const page = await here.at('#/s/everything/8')
    await page.locator('#m8.current').waitFor()
    await page.keyboard.press('k')
    await page.locator('#m7.current').waitFor()
    expect(page.url()).toMatch(/everything\/7$/)
    await page.keyboard.press('g')
    await page.locator('#m0.current').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.locator('#m2.current').waitFor()
    await page.keyboard.press('o')
    await page.locator('#m2 .call-body').first().waitFor()
    await page.keyboard.press('G')
    await page.locator('#m11.current').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('hundred')
    await page.locator('#m8.current').waitFor() // each letter leads to the next message that has them
    expect(await page.locator('.found-count').innerText()).toMatch(/^1 of 1 message with “hundred”/)
    expect(await page.evaluate(() => (CSS.highlights.get('found') as unknown as Set<unknown>).size)).toBe(2)
    await page.close()
    const result = await here.at('#/s/everything/3') // a result is shown with its call
    await result.locator('#m2.current').waitFor()
    await result.close()
  })
  it('leads from one found message to the next, and keeps those around it', async () => {
    const page = await here.at('#/s/everything')
    await page.locator('#m8').waitFor()
    const field = page.getByRole('searchbox')
    await field.fill('year')
    const found = page.locator('.found-count [role=status]')
    await expect.poll(() => found.innerText()).toMatch(/^1 of \d+ messages with “year”$/)
    const first = await page.locator('.current').getAttribute('id')
    await field.press('Enter')
    await expect.poll(() => found.innerText()).toMatch(/^2 of/)
    await field.press('Shift+Enter')
    await expect.poll(() => page.locator('.current').getAttribute('id')).toBe(first)
    await page.getByRole('button', { name: 'Previous' }).click() // round the start to the last one
    await expect.poll(() => found.innerText()).toMatch(/^(\d+) of \1 messages/)
    expect(await page.locator('article').count()).toBeGreaterThan(5)
    await page.close()
  })
  it("opens by the beginning of a session's id", async () => {
    const page = await here.at('#/s/everyth/8')
    await page.locator('#m8.current').waitFor()
    await page.close()
  })
  it('says how many messages are new to a reader who is not at the end, and stays at the end with one who is', async () => {
    const session = await createSession(here.store, { id: 'followed' })
    await session.append(Array.from({ length: 60 }, (_, index) => user(`message ${index} `.repeat(30))))
    const page = await here.at('#/s/followed')
    await page.locator('#m0').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await session.append([user('a new one'), user('another new one')])
    await page.getByRole('button', { name: '2 new messages' }).click()
    await page.locator('#m61.current').waitFor()
    await page.locator('.unseen-messages').waitFor({ state: 'detached' })
    await session.append([user('the newest')])
    await page.locator('#m62').waitFor()
    await page.getByText('the newest').waitFor()
    expect(await page.locator('.unseen-messages').count()).toBe(0)
    await session.close()
    await page.close()
  })
  it('leaves most of a low window to the messages: they scroll with what stands above them', async () => {
    const page = await here.at('#/s/everything', { width: 720 })
    await page.setViewportSize({ width: 720, height: 450 })
    await page.locator('#m0').waitFor()
    const height = await page.locator('header.top').evaluate((element) => element.clientHeight)
    expect(height).toBeLessThan(450 * 0.3)
    await page.keyboard.press('G')
    await page.locator('#m11.current').waitFor()
    expect((await page.locator('.glance').first().boundingBox())?.y ?? -1).toBeLessThan(0)
    await page.close()
  })
  it('shows only filtered messages', async () => {
    const page = await here.at('#/s/everything')
    await page.locator('#m8').waitFor()
    const expectOnly = async (choice: string, ids: readonly string[]): Promise<void> => {
      await page.getByRole('combobox', { name: 'show' }).selectOption(choice)
      const shown = (): Promise<readonly string[]> =>
        page.locator('article').evaluateAll((all) => all.map(({ id }) => id))
      await expect.poll(shown, { timeout: 60_000 }).toEqual(ids)
    }
    await expectOnly('user', ['m1', 'm7', 'm9', 'm11'])
    await expectOnly('errors', ['m5'])
    await expectOnly('prose', ['m0', 'm1', 'm2', 'm7', 'm8', 'm9', 'm10', 'm11'])
    await expectOnly('constraint', ['m1'])
    await page.close()
  })
  it("redraws a call's strip when the colors change", async () => {
    const page = await here.at('#/saw/everything')
    await choosePolicy(page)
    await page.locator('.strip').waitFor()
    const isDrawn = (): boolean => {
      const canvas = document.querySelector<HTMLCanvasElement>('.strip')
      const { data } = canvas?.getContext('2d')?.getImageData(0, 20, canvas.width, 1) ?? { data: [] }
      return data.some((value) => value > 0)
    }
    await page.waitForFunction(isDrawn)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.locator('.strip').evaluate((strip) => strip.setAttribute('data-before', ''))
      await page.emulateMedia({ colorScheme })
      await page.locator('.strip:not([data-before])').waitFor()
      // The size of an element is observed once in each frame.
      await page.evaluate(
        () => new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))),
      )
    }
    expect(await page.evaluate(isDrawn)).toBe(true)
    await page.close()
  })
  it('shows new messages while open and verifies again', async () => {
    const page = await here.at('#/s/a-fork')
    await page.locator('.live').waitFor()
    await page.locator('.verified.good').waitFor()
    const session = await openSession(here.store, 'a-fork')
    await session.append(user('Said while it is open.'))
    await page.getByText('Said while it is open.').waitFor()
    await page.locator('.verified.good').click()
    await page.getByText(`${session.head().size}:${session.head().root}`).first().waitFor()
    await session.close()
    await page.close()
  })
})

describe('the view of contexts', () => {
  it("derives each call's context by policy and budget, with reasons", async () => {
    const page = await here.at('#/saw/everything')
    // What was sent is not known: nothing is shown as if it were.
    await page.getByText('can’t be derived again from its receipt').waitFor()
    expect(await page.locator('.strip, .item').count()).toBe(0)
    await choosePolicy(page)
    await page.locator('.strip').waitFor()
    expect(await text(page, '.answered')).toMatch(/message 8 \(claude-opus-4-5\)/)
    expect(await text(page, '.figures')).toMatch(/messages\s*8 of 8/)
    await page.locator('.item').first().waitFor()
    expect(await text(page, '.item .marks')).toContain('the whole record fits the budget')
    await page.getByRole('slider', { name: 'budget' }).fill('0')
    await page.getByRole('combobox', { name: 'context' }).selectOption('window')
    await page.getByText('2K tokens', { exact: true }).waitFor()
    await page.getByText('Compare policies').click()
    await page.locator('.plots svg').nth(1).waitFor()
    expect(await page.locator('.compare tbody tr').count()).toBe(2)
    await page.close()
  })
})

it("explains a message count above the record's length", async () => {
  await createSession(here.store, {
    id: 'unanswered',
    messages: [user('a question'), assistant(toolCall('c1', 'read', '{}')), user('and now?'), assistant('an answer')],
  })
  const page = await here.at('#/saw/unanswered')
  await page.getByText('4 3 of 3 recorded + 1 result added to a call that has none').waitFor()
  await page.close()
})

describe('the message strip', () => {
  it('has one bar per message, as wide as its tokens', async () => {
    const texts = ['short', 'x '.repeat(3000), 'short', 'short', 'short', 'short']
    await createSession(here.store, {
      id: 'widths',
      messages: texts.map((text, at) => (at % 2 === 0 ? user(text) : assistant(text))),
    })
    const page = await here.at('#/saw/widths')
    const strip = page.locator('.strip')
    await strip.waitFor()
    const { width } = (await strip.boundingBox()) as { readonly width: number }
    for (const share of [0.1, 0.5, 0.8]) {
      await expect
        .poll(async () => {
          await strip.click({ position: { x: width * share, y: 20 } })
          return page.locator('.chosen a').textContent()
        })
        .toBe('Message 1')
    }
    await page.close()
  })
})

describe('the view of forks', () => {
  it('shows forks side by side from their divergence', async () => {
    const page = await here.at('#/diff/everything/a-fork')
    await page.getByText('Another way, please.').waitFor()
    expect(await text(page, '.count')).toMatch(/^8 messages in common, then 4 and \d/)
    expect(await page.getByText('The rule has three parts').first().isVisible()).toBe(true)
    expect(await page.getByText('They diverge here').count()).toBe(1)
    expect(await page.locator('.spent td').allTextContents()).toEqual([
      ...['Leap years', '$0.027', '1', '12K', '75 %', '300', '1'],
      ...['Leap years (fork, only its own calls)', '–', '0', '0', '–', '0', '1'],
    ])
    await page.close()
  })
  it('realigns after a difference and marks the divergence above', async () => {
    const output = ['one', 'two', 'three', 'four', 'five', 'six']
    const messages = output.map((text, at) => (at % 2 === 0 ? user(text) : assistant(text)))
    await createSession(here.store, { id: 'long-way', messages })
    await createSession(here.store, {
      id: 'short-way',
      messages: messages.flatMap((message, at) => (at === 1 ? [assistant('zwei')] : at === 4 ? [] : [message])),
    })
    for (const width of [390, 1280]) {
      const page = await here.at('#/diff/long-way/short-way', { width })
      await page.getByText('zwei').waitFor({ state: 'attached' })
      const rows = await page
        .locator('.item.pair')
        .evaluateAll((all) =>
          all.map((row) => [
            row.querySelector('.parts-here') !== null,
            ...[...row.querySelectorAll('.cell')].map((cell) => cell.querySelector('.content, .quiet')?.textContent),
          ]),
        )
      expect(rows).toEqual([
        [false, 'one', 'one'],
        [true, 'two', 'zwei'],
        [false, 'three', 'three'],
        [false, 'four', 'four'],
        [true, 'five', 'no message here'],
        [false, 'six', 'six'],
      ])
      const shown = page.getByText('zwei')
      expect(await shown.isVisible()).toBe(width > 390)
      if (width === 390) {
        await page.getByRole('button', { pressed: false }).filter({ hasText: 'one' }).click()
        await shown.waitFor()
      }
      await page.close()
    }
  })
  it('aligns rows after erased ones, and marks the words that differ, also in results', async () => {
    const messages = (year: string): readonly Message[] => [
      user('Which year?'),
      user('My name is Ada.'),
      assistant('I look.', toolCall(`call-${year}`, 'bash', '{"command":"cal"}')),
      toolResult(`call-${year}`, `the year is ${year}`),
      assistant('Fine.'),
      assistant(`The year ${year} is a leap year, because it is divisible by **four** but not by a hundred.`),
    ]
    await createSession(here.store, { id: 'year-2024', erasable: true, messages: messages('2024') })
    await createSession(here.store, { id: 'year-2028', messages: messages('2028') })
    await eraseMessages(here.store, 'year-2024', [1])
    const page = await here.at('#/diff/year-2024/year-2028')
    await page.locator('.item.pair').nth(4).waitFor()
    const rows = await page
      .locator('.item.pair')
      .evaluateAll((all) =>
        all.map((row) => [
          row.classList.contains('common'),
          ...[...row.querySelectorAll('.cell .anchor')].map(({ textContent }) => textContent),
        ]),
      )
    expect(rows).toEqual([
      [true, '0', '0'],
      [false, '1', '1'],
      [false, '2', '2'],
      [true, '4', '4'],
      [false, '5', '5'],
    ])
    const marked = (name: string): Promise<readonly string[]> =>
      page.evaluate((of) => [...(CSS.highlights.get(of) ?? [])].map(String).toSorted(), name)
    await expect.poll(() => marked('went')).toEqual(['2024', '2024'])
    expect(await marked('came')).toEqual(['2028', '2028'])
    await page.close()
  })
  it('copies messages and code, and counts matches also in folded text', async () => {
    const page = await here.at('#/s/everything')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('#m8').waitFor()
    const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText())
    await page.getByRole('button', { name: 'Copy: message 1', exact: true }).click()
    await page.getByRole('button', { name: 'Copied: message 1', exact: true }).waitFor()
    expect(await clipboard()).toBe('Use tabs.\n\nAdd a test for **leap years**, please.')
    await page.locator('#m8 .code .copy').click()
    await page.locator('#m8 .code .copy').getByText('Copied').waitFor()
    expect(await clipboard()).toBe('const isLeap = (year: number): boolean => year % 4 === 0')
    await page.getByRole('searchbox').fill('year.ts')
    await page.getByText('of 2 messages with “year.ts”').waitFor()
    expect(await page.locator('#m2 .hits').allTextContents()).toEqual(['1 found'])
    await page.close()
  })
  it('offers forks to compare with', async () => {
    const page = await here.at('#/s/everything')
    await page.getByRole('link', { name: 'Compare' }).click()
    await page.getByText('of the same root').click()
    await page.getByText('Another way, please.').waitFor()
    await page.close()
  })
})

const choosePolicy = async (page: Page): Promise<unknown> =>
  page.getByRole('combobox', { name: 'context' }).selectOption('paged')

type Opened = (page: Page) => Promise<void>
const opening =
  (name: string): Opened =>
  (page) =>
    page.getByRole('button', { name }).click()

describe('printing the page', () => {
  it('prints the whole session, not only the visible part', async () => {
    const session = await createSession(here.store, { id: 'printed' })
    for (let turn = 0; turn < 60; turn++) await session.append([user(`question ${turn}`), assistant(`answer ${turn}`)])
    await session.close()
    const page = await here.at('#/s/printed')
    await page.locator('#m0').waitFor()
    await page.locator('.verified.good').waitFor()
    expect(await page.locator('article').count()).toBeLessThan(100)
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
    await page.locator('#m119').waitFor()
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('article').count()).toBe(120)
    const heights = await page.evaluate(() => [document.body.scrollHeight, document.getElementById('m119')?.offsetTop])
    expect(heights[0]).toBeGreaterThan(heights[1] as number)
    await page.emulateMedia({ media: 'screen' })
    await page.evaluate(() => dispatchEvent(new Event('afterprint')))
    await page.locator('#m119').waitFor({ state: 'detached' })
    await page.close()
  })
})

const places: readonly (readonly [view: string, hash: string, ready: string, open?: Opened])[] = [
  ['all sessions', '#/', '.session'],
  ['messages that were found', '#/', '.session', (page) => page.getByRole('searchbox').fill('hundred')],
  [
    'a session',
    '#/s/everything',
    '#m8, #m2',
    async (page) => {
      await page.locator('.reasoning button').click()
      await page.locator('.line-button').nth(2).click()
    },
  ],
  ['its proof', '#/s/everything', '.verified.good', opening('Verified')],
  ['its export', '#/s/everything', '#m8, #m2', opening('Export')],
  ['the keys', '#/s/everything', '#m8, #m2', (page) => page.keyboard.press('?')],
  [
    'what the model saw',
    '#/saw/everything',
    '.answered',
    async (page) => {
      await choosePolicy(page)
      await page.locator('.item').first().waitFor()
    },
  ],
  [
    'the comparison of policies',
    '#/saw/everything',
    '.answered',
    async (page) => {
      await page.getByText('Compare policies').click()
      await page.locator('.compare tbody tr').nth(1).waitFor()
    },
  ],
  ['forks', '#/diff/everything/a-fork', '.parts-here'],
  ['what to compare with', '#/diff/everything/', '.offered .session'],
  ['a session that is not there', '#/s/none', '[role=alert]'],
]

describe.each([360, 1280])('a view %i pixels wide', (width) => {
  it.each(places.map((place) => [place[0], place] as const))(
    '%s has no accessibility violation and no overflow',
    async (_, [, hash, ready, open]) => {
      for (const dark of [false, true]) {
        const page = await here.at(hash, { width, dark })
        await page.locator(ready).first().waitFor()
        await open?.(page)
        await page.waitForTimeout(150)
        const found = await axeFindings(page)
        expect([dark, found]).toEqual([dark, []])
        const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
        expect(wide[0]).toBeLessThanOrEqual(wide[1] as number)
        await page.close()
      }
    },
  )
})
