/** A store on disk, a view of it, and a real browser that looks at it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { sqliteStore } from 'indelible/store/sqlite'
import { startView, type View } from '@indelible/view'
import type { Store } from 'indelible'

export interface Looking {
  readonly store: Store
  /** The path of the store, to tamper with. */
  readonly path: string
  readonly folder: string
  readonly view: View
  readonly browser: Browser
  /** A tab at an address of the page, in a browser that has its key. What the page complains of is thrown by `calm`. */
  readonly at: (hash: string, how?: How) => Promise<Page>
  /** Whatever pages have complained of since the last call: errors, and what a policy has refused. */
  readonly complaints: () => readonly string[]
  readonly end: () => Promise<void>
}

export interface How {
  readonly width?: number
  readonly dark?: boolean
}

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] })

export const watchErrors = (page: Page, complaints: string[]): Page => {
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return page
}

export const looking = async (fill: (store: Store) => Promise<void>): Promise<Looking> => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-page-'))
  const path = join(folder, 'sessions.db')
  const store = await sqliteStore({ path, durability: 'os' })
  await fill(store)
  const view = await startView({ store, name: path, version: '0.0.0' })
  const browser = await launch()
  const context: BrowserContext = await browser.newContext()
  const base = view.open().replace(/#.*/, '')
  const complaints: string[] = []
  const first = watchErrors(await context.newPage(), complaints)
  await first.goto(view.open())
  await first.getByRole('heading', { name: 'Sessions' }).waitFor()
  await first.close()
  return {
    store,
    path,
    folder,
    view,
    browser,
    at: async (hash, { width = 1280, dark = false } = {}) => {
      const page = watchErrors(await context.newPage(), complaints)
      await page.setViewportSize({ width, height: width < 500 ? 740 : 860 })
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
      await page.goto(base + hash)
      return page
    },
    complaints: () => complaints.splice(0),
    end: async () => {
      await browser.close()
      await view.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What axe finds on a page, each with the first elements. */
export const axeFindings = async (page: Page): Promise<readonly unknown[]> => {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run()
    return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))])
  })
}
