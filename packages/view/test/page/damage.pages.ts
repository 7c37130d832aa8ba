/** What the page says of sessions that were altered behind the store's back, lack blocks, or had messages erased. */
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { assistant, createSession, toolCall, toolResult, user, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { looking, type Looking } from './browser.ts'

let here: Looking

/** A session of two calls, whose first receipt names tools of its own. */
const recorded = async (store: Store, id: string): Promise<string> => {
  const [tools] = (await store.putBlocks([Buffer.from(`["tools of ${id}"]`)])) as readonly string[]
  const session = await createSession(store, { id, erasable: true, messages: [user(`hello, ${id}`)] })
  for (const len of [1, 3]) {
    await session.append([assistant(`the answer to ${len}`), user('go on')])
    await session.note({
      type: 'receipt',
      len,
      contextDigest: '0'.repeat(64),
      model: 'gpt-5.5',
      usage: { input: 1000 * len, output: 10, cacheRead: 0 },
      details: {
        api: 'openai-chat',
        at: 1,
        duration: 1,
        sent: [[0, len]],
        ...(len === 1 && { tools: tools as string }),
      },
    })
  }
  await session.close()
  return tools as string
}

beforeAll(async () => {
  const tools = new Map<string, string>()
  here = await looking(async (store) => {
    for (const id of ['block', 'lost', 'row', 'receipt', 'erased', 'good']) tools.set(id, await recorded(store, id))
    await createSession(store, {
      id: 'result',
      messages: [
        user('go'),
        assistant(toolCall('c1', 'look', '{}')),
        toolResult('c1', 'it is fine'),
        assistant('done'),
      ],
    })
    await createSession(store, {
      id: 'long',
      messages: Array.from({ length: 60 }, (_, turn) => [
        user(`question ${turn}: ${turn === 1 ? 'the tower is blue' : 'which colour?'} ${'Please look. '.repeat(20)}`),
        assistant(`answer ${turn}: green. ${'It was seen. '.repeat(20)}`),
      ]).flat(),
    })
    await eraseMessages(store, 'erased', [1], { by: 'bob', reason: 'a request' })
  })
  const db = new DatabaseSync(here.path)
  const contentOf = (id: string): string => `block = (select key from block where id = x'${tools.get(id)}')`
  db.exec(`update content set bytes = cast('["other"]' as blob) where ${contentOf('block')}`)
  db.exec(`delete from content where ${contentOf('lost')}`)
  db.exec(`update row set body = replace(body, 'hello, row', 'HELLO, row')`)
  db.exec(`update row set body = replace(body, 'the tower is blue', 'the tower is gone')`)
  db.exec(`update row set body = replace(body, 'it is fine', 'it is bad')`)
  db.exec(
    `update row set body = replace(body, '"input":1000', '"input":9000') where body like '%${tools.get('receipt')}%'`,
  )
  db.close()
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

const proofOf = async (page: Page, badge: string): Promise<string> => {
  await page.getByRole('button', { name: badge, exact: true }).click()
  return (await page.locator('dialog.proof').textContent()) ?? ''
}

describe('an altered block of a receipt', () => {
  it('is damage of the row that names it, in the words of the command', async () => {
    const page = await here.at('#/s/block')
    const text = await proofOf(page, 'Damaged at row 3')
    expect(text).toMatch(/row 3: block [0-9a-f]{64} is not what was appended/)
    expect(text).toContain('7 hashed: 5 messages, 2 call records')
    expect(text).toContain('1 block: 1 altered')
    expect(text).not.toContain('Without one')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.locator('#m2 .marks').getByText('damaged', { exact: true }).waitFor()
    await page.goto(`${page.url().replace(/#.*/, '')}#/saw/block/1`)
    await page.getByText('altered: the stored bytes are not what was recorded').first().waitFor()
    await page.close()
  })
  it('that is missing is missing, and the record is good', async () => {
    const page = await here.at('#/s/lost')
    const text = await proofOf(page, '1 block missing')
    expect(text).toContain('Its record is good, but 1 block that its receipts reference is missing')
    expect(text).toContain('1 block: 1 missing')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.goto(`${page.url().replace(/#.*/, '')}#/saw/lost/1`)
    await page.getByText('missing from the store').first().waitFor()
    await page.close()
  })
})

describe('an altered row', () => {
  it.each([
    ['row', 'Damaged at row 0 (message 0)', 'm0', 'HELLO'],
    ['result', 'Damaged at row 2 (message 2)', 'm2', 'it is bad'],
  ])('marks its message, which the filter finds, and hides the text: %s', async (id, badge, message, text) => {
    const page = await here.at(`#/s/${id}`)
    await page.getByRole('button', { name: badge, exact: true }).waitFor()
    await page.locator(`#${message} .badge`).getByText('damaged').waitFor()
    await page.getByRole('combobox', { name: 'show' }).selectOption('Erased or damaged')
    await page.getByText(/^1 message of /).waitFor()
    await page.locator(`#${message}`).getByText('The row was altered after it was appended.').waitFor()
    expect(await page.locator('article').allTextContents()).not.toContain(text)
    await page.close()
  })
  it('is in no context that a policy derives', async () => {
    const page = await here.at('#/saw/long')
    await page.getByRole('combobox', { name: 'context' }).selectOption('paged')
    await page.getByRole('slider', { name: 'budget' }).fill('1')
    await page.getByText('2 user: …').waitFor()
    expect(await page.locator('main.saw').textContent()).not.toContain('the tower')
    await page.close()
  })
  it('of a call takes the call out of the figures', async () => {
    const page = await here.at('#/s/receipt')
    await page.getByRole('button', { name: 'Damaged at row 3', exact: true }).waitFor()
    await page.locator('#m2 .marks').getByText('row 3: the row was altered after it was appended').waitFor()
    await page
      .locator('.count')
      .getByText(/ · 3K tokens/)
      .waitFor()
    await page.getByRole('combobox', { name: 'show' }).selectOption('Erased or damaged')
    await page.getByText(/^1 message of /).waitFor()
    await page.close()
  })
  it('is marked in the list once the session was verified', async () => {
    for (const id of ['good', 'row', 'lost']) {
      const opened = await here.at(`#/s/${id}`)
      await opened.locator('.verified:not(.busy)').waitFor()
      await opened.close()
    }
    const page = await here.at('#/')
    await page.locator('[href="#/s/row"] .badge.bad').getByText('damaged').waitFor()
    await page.locator('[href="#/s/lost"] .badge').getByText('blocks missing').waitFor()
    expect(await page.locator('[href="#/s/good"] .badge').count()).toBe(0)
    await page.close()
  })
})

describe('an erased message', () => {
  it('is named where the session is verified: when, by whom and why', async () => {
    const page = await here.at('#/s/erased')
    await page.locator('.verified.good').click()
    await page
      .locator('dialog.proof')
      .getByText(/^message 1: erased .* by bob: a request$/)
      .waitFor()
    const text = await page.locator('dialog.proof').textContent()
    expect(text).toContain('The text of 1 message was erased. Nothing else was changed after it was appended.')
    expect(text).toContain('7 hashed: 5 messages, 2 call records; by their leaf hash alone: 1 erased')
    await page.close()
  })
  it('is shown as erased among the messages that a call was sent', async () => {
    const page = await here.at('#/saw/erased/2')
    await page.getByText('1 message of this context is erased').waitFor()
    await page.locator('.legend').getByText('erased').waitFor()
    expect(await page.locator('main.saw .message header').nth(1).textContent()).toMatch(/^assistanterased 1$/)
    await page.close()
  })
})
