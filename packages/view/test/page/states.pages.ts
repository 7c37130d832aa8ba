/** What becomes of the page when a session can't be read, or is no longer what it was: it says so, and why. */
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { assistant, createSession, forkSession, openSession, user, type Message, type Store } from 'indelible'
import { destroyKey, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession } from '@indelible/evidence'
import { eraseMessages } from 'indelible/session'
import { startView } from '@indelible/view'
import { watchErrors, looking, type Looking } from './browser.ts'

const ring = keyRing([newHostKey('now')])

let here: Looking
let keyed: Store
beforeAll(async () => {
  here = await looking(async (store) => {
    const many = (count: number): readonly Message[] =>
      Array.from({ length: count }, (_, index) => user(`line ${index}`))
    for (const id of ['removed', 'replaced', 'lost']) await createSession(store, { id, messages: many(3) })
    await createSession(store, { id: 'long', messages: many(2500) })
    keyed = withKeys(store, ring)
    await createSession(keyed, { id: 'destroyed', messages: [user('a secret'), assistant('kept')] })
    await (await forkSession(keyed, 'destroyed', { id: 'its-fork' })).append(user('said in the fork'))
    await destroyKey(keyed, 'destroyed', ring)
    await createSession(keyed, { id: 'locked', messages: [user('another secret')] })
    const marked = await createSession(store, { id: 'marked', erasable: true })
    await marked.append([user('first words'), user('second'), assistant('third')])
    await marked.seal()
    await forkSession(store, 'marked', { at: 2, id: 'marked-fork' })
    await eraseMessages(store, 'marked', [1], { reason: 'a request', by: 'bob' })
    await holdSession(store, 'marked', { reason: 'case 7', by: 'ann' })
  })
  await createSession(here.store, { id: 'broken', messages: [user('x')] })
  const db = new DatabaseSync(here.path)
  db.prepare(`update row set body = '{' where body like '%"x"%'`).run()
  db.close()
})
afterAll(() => here?.end())
/** A failed request is what these tests are about: the browser logs each. */
afterEach(() => expect(here.complaints().filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]))

const marks = (page: Page, id: string): Promise<readonly string[]> =>
  page.locator(`[href="#/s/${id}"] .badge`).allTextContents()

describe('the session list', () => {
  it('marks encrypted, held, erased, forked, sealed and unreadable sessions without hiding others', async () => {
    const page = await here.at('#/')
    await page.locator('[href="#/s/marked"] .badge').first().waitFor()
    expect(await marks(page, 'marked')).toEqual(['held', '1 erased', 'sealed'])
    expect(await marks(page, 'marked-fork')).toEqual(['fork', '1 erased'])
    expect(await marks(page, 'locked')).toEqual(['no key'])
    expect(await marks(page, 'destroyed')).toEqual(['no key'])
    expect(await marks(page, 'broken')).toEqual(['unreadable'])
    expect(await marks(page, 'removed')).toEqual([])
    await page.locator('[href="#/s/removed"]').getByText('line 0').waitFor()
    expect(await page.locator('[href="#/s/marked"] .badge').first().getAttribute('title')).toContain('ann: case 7')
    const erased = page.locator('[href="#/s/marked"] .badge').nth(1)
    expect(await erased.getAttribute('title')).toMatch(/was erased\.\nerased .* by bob: a request$/)
    await page.close()
  })
  it('shows who erased a message and why', async () => {
    for (const id of ['marked', 'marked-fork']) {
      const page = await here.at(`#/s/${id}`)
      await page
        .locator('#m1 .marks')
        .getByText(/^erased .* by bob: a request$/)
        .waitFor()
      await page.close()
    }
  })
  it('can show only erased and damaged messages', async () => {
    for (const [id, lost] of [
      ['marked', 'm1'],
      ['broken', 'm0'],
    ] as const) {
      const page = await here.at(`#/s/${id}`)
      await page.locator(`#${lost}`).waitFor()
      await page.getByRole('combobox', { name: 'show' }).selectOption('Erased or damaged')
      await page.getByText(/^1 message of /).waitFor()
      expect(await page.locator('article').evaluateAll((all) => all.map((one) => one.id))).toEqual([lost])
      await page.close()
    }
  })
  it('shows an erasure made while it is open', async () => {
    const session = await createSession(here.store, {
      id: 'to-erase',
      erasable: true,
      messages: [user('my number is 4711')],
    })
    await session.close()
    const page = await here.at('#/')
    await page.locator('[href="#/s/to-erase"]').getByText('my number is 4711').waitFor()
    await eraseMessages(here.store, 'to-erase', [0], {})
    await page.reload()
    await page.locator('[href="#/s/to-erase"] .badge').getByText('1 erased').waitFor()
    expect(await page.content()).not.toContain('number is 4711')
    await page.close()
  })
})

describe('a session without its key', () => {
  it('is verified as stored and reported as unreadable', async () => {
    for (const store of [keyed, here.store]) {
      const view = await startView({ store, name: 'encrypted', version: '0.0.0' })
      const page = watchErrors(await here.browser.newPage(), [])
      await page.goto(view.open('s/destroyed'))
      await page.getByText('Messages 0 to 1 are encrypted, and this view has no key').waitFor()
      await page.locator('.verified.good').click()
      await page.getByText('2 as they are stored, encrypted').waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('link', { name: 'What the model saw' }).click()
      await page.getByText('The record is encrypted').waitFor()
      if (store === keyed) {
        await page.goto(`${page.url().replace(/#.*/, '')}#/s/its-fork`)
        await page.locator('article').getByText('said in the fork').waitFor()
        await page.getByText('Messages 0 to 1 are encrypted').waitFor()
        await page.locator('.verified.good').waitFor()
      }
      await page.close()
      await view.close()
    }
  })
})

describe('a session that changes while it is open', () => {
  it('keeps its content and reports if it is removed', async () => {
    const page = await here.at('#/s/removed')
    await page.locator('.verified.good').waitFor()
    await page.locator('.live').waitFor()
    await here.store.remove('removed')
    await page.getByRole('alert').getByText('The session is no longer in the store').waitFor()
    expect(await page.locator('article').count()).toBe(3)
    await page.reload()
    await page.getByText('There is no session or log "removed" in this scope of the store').waitFor()
    await page.getByRole('link', { name: 'All sessions' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.close()
  })
  it.each([1, 3, 5])('reports if it is replaced by one of %i messages, and shows that on request', async (count) => {
    const page = await here.at('#/s/replaced')
    await page.locator('.verified.good').waitFor()
    await page.locator('.live').waitFor()
    await here.store.remove('replaced')
    await createSession(here.store, {
      id: 'replaced',
      messages: Array.from({ length: count }, (_, index) => user(`another ${count}.${index}`)),
    })
    await page.locator('.fault').waitFor()
    if ((await page.getByText('no longer in the store').count()) > 0) await page.reload() // it was looked at in between
    else {
      await page.getByText('Another session is in the store under this id').waitFor()
      await page.getByRole('button', { name: 'Show the new one' }).click()
    }
    await page.locator('article').getByText(`another ${count}.0`).waitFor()
    expect(await page.locator('article').count()).toBe(count)
    await page.locator('.verified.good').waitFor()
    await page.close()
  })
})

describe('a server that does not answer', () => {
  it('is retried while a session is read, with a notice', async () => {
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    await page.route('**/api/rows?*from=1120*', (route) => route.abort())
    await page.goto(`${page.url().replace(/#.*/, '')}#/s/long`)
    await page.getByText('connection lost').waitFor()
    await page.getByRole('button', { name: 'Not verified' }).click()
    await page.getByText('1,120 rows of 2,500 could be read').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.unroute('**/api/rows?*from=1120*')
    await page.getByText('2,500 messages', { exact: true }).waitFor()
    await page.locator('.verified.good').waitFor()
    expect(await page.locator('.fault').count()).toBe(0)
    await page.close()
  })
  it('is retried during verification', async () => {
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    await page.route('**/api/nodes?*', (route) => route.abort())
    await page.goto(`${page.url().replace(/#.*/, '')}#/s/long`)
    await page.getByRole('button', { name: 'Not verified' }).waitFor()
    await page.unroute('**/api/nodes?*')
    await page.locator('.verified.good').waitFor()
    await page.close()
  })
  it('is reported where a list, a comparison or a search needs it', async () => {
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    await page.route('**/api/search?*', (route) => route.abort())
    await page.getByRole('searchbox').fill('line')
    await page.getByText('The messages could not be searched: the server does not answer').waitFor()
    await page.route('**/api/sessions?*', (route) => route.abort())
    const base = page.url().replace(/#.*/, '')
    await page.goto(`${base}#/diff/long/`)
    await page.getByText('The server does not answer').waitFor()
    await page.unroute('**/api/sessions?*')
    await page.locator('.offered .session').first().waitFor()
    await page.goto(`${base}#/diff/long/nothing`)
    await page.getByText('no session or log "nothing"').waitFor()
    await page.close()
  })
  it('that ended is looked for; opening a new address in another tab is enough', async () => {
    const first = await startView({ store: here.store, name: 'first', version: '0.0.0' })
    const context = await here.browser.newContext()
    const page = await context.newPage()
    await page.goto(first.open('s/lost'))
    await page.locator('.live').waitFor()
    await first.close()
    await page.getByRole('alert').getByText('The server does not answer').waitFor()
    expect(await page.locator('article').count()).toBe(3)
    const second = await startView({ store: here.store, name: 'second', version: '0.0.0', port: first.port })
    await page.getByRole('alert').getByText('This page may not read the store').waitFor()
    const other = await context.newPage()
    await other.goto(second.open())
    await other.locator('.session').first().waitFor()
    await page.locator('.live').waitFor()
    const session = await openSession(here.store, 'lost')
    await session.append(user('said afterwards'))
    await session.close()
    await page.getByText('said afterwards').waitFor()
    await page.locator('.verified.good').waitFor()
    await context.close()
    await second.close()
  })
  it('reports how to get a valid token', async () => {
    const page = await here.browser.newPage()
    await page.goto(here.view.open().replace(/token=.*/, 'token=wrong'))
    await page.getByText('Open the address that "indelible view" prints', { exact: false }).waitFor()
    const address = here.view.open()
    await page.evaluate((given) => location.assign(given), address) // in this tab, as a user pastes it
    await page.locator('.session').first().waitFor()
    await page.close()
  })
})

describe('an unreadable session', () => {
  it('shows which message was altered', async () => {
    const page = await here.at('#/s/broken')
    await page.getByText('This message is damaged.').waitFor()
    await page.getByText('Damaged at row 0 (message 0)').waitFor()
    await page.close()
  })
})
