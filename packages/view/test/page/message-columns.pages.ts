/** Why a call cost what it cost: what it was sent beside the record, and beside what the call before it was sent. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { assistant, createSession, system, user } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { scriptedModel, turn } from 'indelible/run'
import { looking, type How, type Looking } from './browser.ts'
import { fourteenCalls, recordCalls } from './recorded.ts'

let here: Looking
let id = ''
/** The messages of a recorded session, as many as a recorder takes, and of one whose contexts are derived. */
const [many, few] = [20_000, 2000]
let [huge, retooled, instructed] = ['', '', '']
/** A system message of one long line, which changes in the middle. */
const instructions = (now: string): string =>
  `${'Be kind and brief. '.repeat(600)}It is ${now}.${' Follow the rules.'.repeat(600)}`
const words = 'The quick brown fox jumps over the lazy dog and reads another file before it answers. '

const conversation = (length: number): readonly { readonly role: string; readonly content: string }[] =>
  Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index % 2 === 0 ? 'question' : 'answer'} ${index >> 1}: ${words}`,
  }))

beforeAll(async () => {
  here = await looking(async (store) => {
    id = await recordCalls(store, fourteenCalls)
    const large = await createSession(store, { id: 'large' })
    await large.append(
      conversation(few).map(({ role, content }) => (role === 'user' ? user(content) : assistant(content))),
    )
    await large.close()
    const answered = (): Promise<Response> =>
      Promise.resolve(
        Response.json({
          id: 'chatcmpl-1',
          object: 'chat.completion',
          model: 'gpt-5.5',
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'heard' } }],
          usage: { prompt_tokens: 900_000, completion_tokens: 1, total_tokens: 900_001 },
        }),
      )
    const fetch = recordingFetch({ store, fetch: answered })
    const sent: object[] = [...conversation(many - 2), { role: 'user', content: 'go on' }]
    for (let call = 0; call < 2; call++) {
      const body = JSON.stringify({ model: 'gpt-5.5', messages: sent })
      await (await fetch('http://127.0.0.1/chat/completions', { method: 'POST', body })).text()
      await fetch.settled()
      sent.push({ role: 'assistant', content: 'heard' }, { role: 'user', content: 'and on' })
    }
    huge = fetch.summary().sessions[0] ?? ''
    const retooling = recordingFetch({ store, fetch: answered })
    const asked: object[] = [{ role: 'user', content: 'use a tool' }]
    for (const type of ['string', 'number']) {
      const tools = Array.from({ length: 40 }, (_, index) => ({
        type: 'function',
        function: {
          name: `tool_${index}`,
          description: words.repeat(5),
          parameters: { properties: { path: { description: words, type: index === 22 ? type : 'string' } } },
        },
      }))
      const body = JSON.stringify({ model: 'gpt-5.5', messages: asked, tools })
      await (await retooling('http://127.0.0.1/chat/completions', { method: 'POST', body })).text()
      await retooling.settled()
      asked.push({ role: 'assistant', content: 'heard' }, { role: 'user', content: 'and another' })
    }
    retooled = retooling.summary().sessions[0] ?? ''
    const instructing = recordingFetch({ store, fetch: answered })
    const told: object[] = [{ role: 'user', content: 'hello' }]
    for (const now of ['Monday', 'Tuesday']) {
      const sent = [{ role: 'system', content: instructions(now) }, ...told]
      const body = JSON.stringify({ model: 'gpt-5.5', messages: sent })
      await (await instructing('http://127.0.0.1/chat/completions', { method: 'POST', body })).text()
      await instructing.settled()
      told.push({ role: 'assistant', content: 'heard' }, { role: 'user', content: 'more' })
    }
    instructed = instructing.summary().sessions[0] ?? ''
    const own = await createSession(store, { id: 'own', messages: [system('Answer briefly.')] })
    const answers = Array.from({ length: 12 }, (_, index) => assistant(`answer ${index}: ${words.repeat(3)}`))
    const model = scriptedModel(answers)
    for (let index = 0; index < 10; index++)
      await turn(own, `question ${index}: ${words.repeat(3)}`, { model, budget: 700 }).result()
    const context = (view: Parameters<NonNullable<Parameters<typeof turn>[2]['context']>>[0]) =>
      ({ _tag: 'Right', right: { messages: view.slice(-1), stablePrefix: 0 } }) as never
    await turn(own, 'And now by a context of my own.', { model, context }).result()
    await own.close()
  })
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

const grouped = (count: number): string => count.toLocaleString('en')

const shots = process.env['SHOTS']
const shoot = async (page: Page, name: string): Promise<void> => {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png` })
}

/** A call, with something beside it. */
const openCall = async (call: number, choice: string, how: How = {}): Promise<Page> => {
  const page = await here.at(`#/saw/${encodeURIComponent(id)}/${call}`, how)
  await page.locator('.strip').waitFor()
  await page.getByText(`${call} of 14`).waitFor()
  await page.getByRole('button', { name: choice }).click()
  return page
}

describe('a call compared with the previous call', () => {
  it('shows each changed tool under its name, and marks whole words', async () => {
    const page = await here.at(`#/saw/${encodeURIComponent(retooled)}/2`)
    await page.getByRole('button', { name: 'Beside the previous call' }).click()
    await page.getByText('39 unchanged tools').waitFor()
    expect((await page.locator('.pair .cell-name').allTextContents()).slice(0, 2)).toEqual([
      'tool_22 of the previous call ',
      'tool_22 ',
    ])
    expect(await page.locator('.pair del').allTextContents()).toEqual(['string'])
    expect(await page.locator('.pair ins').allTextContents()).toEqual(['number'])
    await page.close()
  })
  it.each(['Beside the previous call', 'Beside the record'])(
    '%s: shows a change in the middle of a long line, with the rest of the line left out',
    async (choice) => {
      const page = await here.at(`#/saw/${encodeURIComponent(instructed)}/2`)
      await page.getByRole('button', { name: choice }).click()
      const pair = page.locator('.pair').filter({ has: page.locator('del') })
      await pair.waitFor()
      expect(await pair.locator('del').allTextContents()).toEqual(['Monday'])
      expect(await pair.locator('ins').allTextContents()).toEqual(['Tuesday'])
      expect(await pair.locator('pre').first().textContent()).toMatch(
        /^ ⋯ 11,\d\d\d characters ⋯ .{160}Monday\. .{158} ⋯ 10,\d\d\d characters ⋯ $/,
      )
      expect(await pair.locator('pre').evaluateAll((all) => all.map((one) => one.scrollHeight > one.clientHeight))).toEqual([false, false]) // oxfmt-ignore
      await shoot(page, `long-line-${choice.split(' ').at(-1)}`)
      await page.close()
    },
  )
  it('shows an added tool as such', async () => {
    const page = await openCall(7, 'Beside the previous call')
    const part = page.locator('.pair').first()
    await part.locator('ins').first().waitFor()
    expect((await part.locator('ins').allTextContents()).join('')).toContain('"name": "search"')
    expect(await part.locator('del').count()).toBe(0)
    await page.getByText('10 unchanged messages').waitFor()
    await shoot(page, 'beside-call-1440')
    await page.close()
  })
  it('shows changes in a message to the word and unchanged content once', async () => {
    const page = await openCall(11, 'Beside the previous call')
    const changed = page.locator('.pair').filter({ has: page.locator('del') })
    await changed.first().waitFor()
    expect(await changed.count()).toBe(1)
    expect(await changed.locator('del').allTextContents()).toEqual([` ${'Mind the rules of the project. '.repeat(10)}`])
    expect(await changed.locator('ins').count()).toBe(0)
    expect(await changed.locator('.cell').nth(1).textContent()).toContain('Add a test for leap years')
    await page.getByText('16 unchanged messages').waitFor()
    await page.getByRole('button', { name: 'previous call', exact: true }).click()
    await page.getByText('10 of 14').waitFor()
    await page.locator('del').first().waitFor({ state: 'detached' })
    await page.getByText('16 unchanged messages').waitFor()
    await page.close()
  })
})

it('a comparison ends with its session, and what a policy derives is not called sent', async () => {
  const page = await openCall(7, 'Beside the previous call')
  await page.locator('.pair').first().waitFor()
  await page.getByRole('button', { name: 'next call' }).click()
  await page.getByText('8 of 14').waitFor()
  expect(await page.getByRole('button', { name: 'Beside the previous call' }).getAttribute('aria-pressed')).toBe('true')
  await page.goto(page.url().replace(/#.*/, '#/saw/large/3'))
  await page.getByText('3 of 1,000').waitFor()
  expect(await page.getByRole('button', { name: 'Alone' }).getAttribute('aria-pressed')).toBe('true')
  await page.getByRole('button', { name: 'Beside the previous call' }).click()
  await page.locator('.cell').first().waitFor()
  expect(new Set(await page.locator('.cell').evaluateAll((cells) => cells.map((cell) => cell.ariaLabel)))).toEqual(
    new Set(['derived for the previous call', 'derived']),
  )
  await page.close()
})

it('a call beside the record shows each message beside its own, lists unsent ones, and folds unchanged ones', async () => {
  const page = await openCall(11, 'Beside the record')
  const pairs = page.locator('.pair')
  expect(await pairs.count()).toBe(2)
  expect(await pairs.nth(1).locator('.cell-name').allTextContents()).toEqual(['record 1', 'sent '])
  expect(await pairs.nth(1).locator('del').allTextContents()).toEqual([
    ` ${'Mind the rules of the project. '.repeat(10)}`,
  ])
  const folded = page.locator('.item').filter({ hasText: '18 unchanged messages' })
  await folded.getByRole('button', { name: 'Show' }).click()
  await folded.getByText('Go on: step 0.').waitFor()
  await folded.getByRole('button', { name: 'Hide' }).click()
  expect(await pairs.nth(0).locator('.cell').allTextContents()).toEqual([
    'record 0systemYou are a coding agent. Be brief.',
    'sent systemYou are a coding agent. Be brief.',
  ])
  await page.close()
})

describe('at 390 pixels wide', () => {
  it.each(['Beside the record', 'Beside the previous call'])('nothing overflows: %s', async (choice) => {
    for (const dark of [false, true]) {
      const page = await openCall(11, choice, { width: 390, dark })
      await page.locator('.pair').first().waitFor()
      const out = await page.evaluate(() =>
        [...document.querySelectorAll('.saw .scroll *, .controls *')]
          .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
          .map((element) => element.outerHTML.slice(0, 100)),
      )
      expect(out).toEqual([])
      await shoot(page, `beside-390-${choice.split(' ').at(-1)}-${dark ? 'dark' : 'light'}`)
      await page.close()
    }
  })
  it('only one element scrolls, and the message list follows it', async () => {
    for (const hash of [`#/saw/${encodeURIComponent(huge)}`, `#/s/${encodeURIComponent(huge)}`]) {
      const page = await here.at(hash, { width: 390 })
      await page.locator('.item').first().waitFor({ timeout: 300_000 })
      const scrolling = (): Promise<readonly string[]> =>
        page.evaluate(() =>
          [...document.querySelectorAll<HTMLElement>('body *')]
            .filter(
              (hTMLElement) =>
                hTMLElement.scrollHeight > hTMLElement.clientHeight + 1 &&
                /auto|scroll/.test(getComputedStyle(hTMLElement).overflowY),
            )
            .map(({ className }) => className),
        )
      await expect.poll(scrolling).toEqual([hash.startsWith('#/saw') ? 'saw' : 'rest'])
      await page.locator('.saw, .rest').evaluate((one) => (one.scrollTop = one.scrollHeight / 2))
      await expect
        .poll(() =>
          page
            .locator('.item')
            .evaluateAll((all) => all.some((one) => one.getBoundingClientRect().top > innerHeight / 2)),
        )
        .toBe(true)
      await page.close()
    }
  })
  it("a call's model and figures do not overlap", async () => {
    const page = await here.at(`#/s/${encodeURIComponent(id)}`, { width: 390 })
    const receipt = page.locator('.receipt').first()
    await receipt.waitFor()
    const between = await receipt.evaluate((link) => {
      const figures = link.querySelector('.receipt-figures') as HTMLElement
      return getComputedStyle(figures, '::before').content
    })
    expect(between).toMatch(/^" ·\s"$/) // what follows may not be broken off
    await page.close()
  })
})

/** What the page gave its worker: counted where it is given. */
const workerMessages = async (page: Page): Promise<{ readonly messages: number; readonly asked: readonly string[] }> =>
  page.evaluate(() => (globalThis as unknown as { given: { messages: number; asked: string[] } }).given)

/** A page whose messages to its worker are counted. */
const counting = async (hash: string): Promise<Page> => {
  const page = await here.at('#/')
  const base = page.url().replace(/#.*/, '')
  await page.addInitScript(() => {
    const given = { messages: 0, asked: [] as string[] }
    Object.assign(globalThis, { given })
    const post = Worker.prototype.postMessage
    Worker.prototype.postMessage = function (this: Worker, said: { messages?: unknown[]; name?: string }) {
      given.messages += said.messages?.length ?? 0
      if (said.name !== undefined) given.asked.push(said.name)
      post.call(this, said)
    } as typeof post
  })
  await page.goto('about:blank')
  await page.goto(base + hash)
  return page
}

describe('the page worker', () => {
  it('derives nothing on the first view of a recorded call of 20,000 messages', async () => {
    const page = await counting(`#/s/${encodeURIComponent(huge)}`)
    await page.getByText(/^20,00\d messages/).waitFor({ timeout: 300_000 })
    await page.locator('.verified.good').waitFor({ timeout: 300_000 })
    const began = performance.now()
    await page.getByRole('link', { name: 'What the model saw' }).click()
    await page.locator('.strip').waitFor()
    await page.locator('.item').first().waitFor()
    process.stdout.write(`first look at a call of 20,000 messages: ${(performance.now() - began).toFixed(0)} ms\n`)
    expect((await workerMessages(page)).asked.filter((name) => name !== 'sums' && name !== 'ends')).toEqual([])
    await page.locator('.figures').filter({ hasNotText: '…' }).waitFor({ timeout: 300_000 })
    expect((await workerMessages(page)).messages).toBeLessThanOrEqual(many + 1)
    await page.close()
  })
  it('gets each message once up to the selected call, and derives it during comparisons', async () => {
    const page = await counting(`#/saw/large/${few / 4 + 1}`)
    await page.getByText(`${grouped(few / 4 + 1)} of`).waitFor()
    await page.locator('.strip').waitFor()
    const first = await workerMessages(page)
    expect(first.messages).toBe(few / 2 + 1)
    expect(first.asked.filter((name) => name === 'context')).toHaveLength(1)
    await page.getByText('Compare policies').click()
    await expect.poll(async () => (await workerMessages(page)).asked).toContain('compare')
    // Another call is looked at while all of them are compared.
    await page.getByRole('button', { name: 'next call' }).click()
    await page.getByText(`${grouped(few / 4 + 2)} of`).waitFor()
    await page.locator('.strip').waitFor()
    const then = await workerMessages(page)
    expect(then.messages).toBeLessThanOrEqual(few)
    expect(then.asked.filter((name) => name === 'context')).toHaveLength(2)
    await page.close()
  })
})

describe('a run recorded by this library', () => {
  it('with a compacted context is shown as sent, derived again to the byte', async () => {
    const page = await here.at('#/saw/own')
    await page.getByText('of 11', { exact: false }).first().waitFor()
    await page.keyboard.press('G')
    await page.getByText('11 of 11').waitFor()
    // The program derived this one by itself: nothing is shown as if it were what was sent.
    await page.getByText('can’t be derived again from its receipt').waitFor()
    expect(await page.locator('.item, .strip').count()).toBe(0)
    await page.getByRole('button', { name: 'previous call', exact: true }).click()
    await page.getByText('10 of 11').waitFor()
    await page.getByText('derived again').waitFor()
    expect(await page.locator('.figures').textContent()).toMatch(/compactions[1-9]\d*.*derived againexact/)
    expect(await page.getByRole('combobox', { name: 'context' }).inputValue()).toBe('as sent')
    await page.getByRole('button', { name: 'Beside the record' }).click()
    await page.locator('.pair').first().waitFor()
    await page.close()
  })
})

it('an untitled session is named by its first words everywhere', async () => {
  const page = await here.at('#/')
  const title = page.locator('.session-title').filter({ hasText: 'Add a test for leap years' })
  await title.first().waitFor()
  await page.getByRole('searchbox').fill('question 0')
  await page.locator('.hit .session-words').first().waitFor()
  await page.locator('.hit .session-words').filter({ hasText: 'question 0: The quick brown fox' }).first().waitFor()
  await page.goto(`${page.url().replace(/#.*/, '')}#/diff/large/`)
  await page.locator('.offered .session-title').filter({ hasText: 'Add a test for leap years' }).first().waitFor()
  await page.getByRole('heading', { name: /^Compare question 0: The quick/ }).waitFor()
  await page.close()
})
