/** A session as a file: opened from disk, without a network. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { htmlOf, type HtmlOptions } from '@indelible/view'
import { everything } from './conversation.ts'
import { watchErrors, looking, type Looking } from './browser.ts'

let here: Looking
const complaints: string[] = []
beforeAll(async () => {
  here = await looking(everything)
})
afterAll(() => here?.end())
afterEach(() => expect([...complaints.splice(0), ...here.complaints()]).toEqual([]))

const writePage = async (name: string, options: Partial<HtmlOptions> = {}): Promise<string> => {
  const path = join(here.folder, name)
  writeFileSync(path, `${(await htmlOf(here.store, 'everything', { version: '0.0.0', ...options })).join('\n')}\n`)
  return path
}

const fromDisk = async (path: string, hash = ''): Promise<Page> => {
  const context = await here.browser.newContext({ offline: true, viewport: { width: 1280, height: 1000 } })
  const page = watchErrors(await context.newPage(), complaints)
  await page.goto(pathToFileURL(path).href + hash)
  return page
}

describe('an exported session page', () => {
  it('opens offline, verifies itself, and matches the served page', async () => {
    const page = await fromDisk(await writePage('whole.html'))
    await page.locator('.verified.good').waitFor()
    expect(await page.locator('article').count()).toBe(9)
    await page.locator('#m7 img').waitFor()
    await page.getByRole('link', { name: 'What the model saw' }).click()
    await page.getByRole('combobox', { name: 'context' }).selectOption('paged')
    await page.locator('.strip').waitFor()
    await page.context().close()
  })
  it('opens at a linked message', async () => {
    const page = await fromDisk(await writePage('linked.html'), '#/s/everything/8')
    await page.locator('#m8.current').waitFor()
    await page.context().close()
  })
  it('of a part still proves that it belongs to the whole', async () => {
    const page = await fromDisk(await writePage('part.html', { from: 7, to: 9 }))
    await page.getByText('Messages 0 to 6 are not in this file').waitFor()
    await page.locator('.verified.good').click()
    await page.getByText('by their leaf hash alone').waitFor()
    expect(await page.locator('article').evaluateAll((all) => all.map(({ id }) => id))).toEqual([
      'm0',
      'm7',
      'm8',
      'm9',
    ])
    await page.context().close()
  })
  it('reports that it was changed', async () => {
    const path = await writePage('changed.html')
    const file = readFileSync(path, 'utf8')
    expect(file).toContain('Forgotten.')
    writeFileSync(path, file.replace('Forgotten.', 'Remembered.'))
    const page = await fromDisk(path)
    await page.getByText(/^Damaged at row \d+ \(message \d+\)$/).waitFor()
    await page.context().close()
  })
  it('can be made by the page from its current filter', async () => {
    const page = await here.at('#/s/everything')
    await page.locator('#m8').waitFor()
    await page.getByRole('combobox', { name: 'show' }).selectOption('user')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByText('The 4 filtered messages').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('everything.html')
    const path = join(here.folder, 'saved.html')
    await download.saveAs(path)
    await page.close()
    const opened = await fromDisk(path)
    await opened.locator('.verified.good').waitFor()
    expect(await opened.locator('article').evaluateAll((all) => all.map(({ id }) => id))).toEqual([
      'm0',
      'm1',
      'm2',
      'm7',
      'm8',
      'm9',
      'm10',
      'm11',
    ])
    await opened.context().close()
  })
})
