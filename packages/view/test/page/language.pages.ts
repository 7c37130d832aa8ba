/** A browser can have a language that no `Intl` function accepts: Chromium in a container says `en-US@posix`. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { everything } from './conversation.ts'
import { watchErrors, looking, type Looking } from './browser.ts'

let here: Looking
beforeAll(async () => {
  here = await looking(everything)
})
afterAll(() => here?.end())

it('every view works in a browser with the language en-US@posix', async () => {
  const complaints: string[] = []
  const page = watchErrors(await (await here.browser.newContext({ locale: 'en-US@posix' })).newPage(), complaints)
  page.setDefaultTimeout(10_000)
  await page.goto(here.view.open())
  expect(await page.evaluate(() => navigator.language)).toBe('en-US@posix')
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.locator('[href="#/s/everything"]').click()
  await page.locator('.glance').waitFor()
  await page.locator('#m1, #m2').first().waitFor()
  await page.getByRole('link', { name: 'What the model saw' }).click()
  await page.getByText('Compare policies').click()
  await page.locator('.plot [data-line]').nth(1).waitFor({ state: 'attached' })
  expect(complaints).toEqual([])
  await page.context().close()
})

it('a failing part shows its error in place, and the rest is shown', async () => {
  const page = await (await here.browser.newContext()).newPage()
  page.setDefaultTimeout(10_000)
  await page.goto(here.view.open('s/everything'))
  await page.locator('#m1, #m2').first().waitFor()
  // Whatever the browser lacks: here, the lines of a figure.
  await page.evaluate(() => {
    const create = document.createElementNS.bind(document)
    document.createElementNS = ((space: string, name: string) => {
      if (name === 'path') throw new TypeError('there are no lines')
      return create(space, name)
    }) as typeof document.createElementNS
  })
  await page.getByRole('link', { name: 'What the model saw' }).click()
  await page.getByText('Compare policies').click()
  await page.getByText('“tokens of each call” can’t be shown: There are no lines.').waitFor()
  expect(await page.locator('.compare tbody tr').count()).toBe(2)
  await page.getByRole('combobox', { name: 'context' }).selectOption('paged')
  await page.locator('.strip').waitFor()
  await page.context().close()
})

it('a script that fails to start leaves a sentence instead of a blank page', async () => {
  const page = await (await here.browser.newContext()).newPage()
  await page.route('**/page.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: 'throw new Error("x")' }),
  )
  await page.goto(here.view.open())
  await page.getByText('The page did not start').waitFor()
  await expect
    .poll(() => page.getByText('The page did not start').evaluate((element) => getComputedStyle(element).opacity), {
      timeout: 10_000,
    })
    .toBe('1')
  await page.context().close()
})
