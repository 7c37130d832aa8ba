/** The tree of a session's tool calls and sub-agents, and what the list shows of sub-agents and hosts. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createSession, user } from 'indelible'
import { withSubAgents } from '../agents.ts'
import { axeFindings, looking, type Looking } from './browser.ts'

let here: Looking
beforeAll(async () => {
  here = await looking(async (store) => {
    await withSubAgents(store)
    for (const [id, host, cost] of [
      ['cheap', 'laptop', 1000],
      ['dear', 'build-7', 900_000],
    ] as const) {
      const session = await createSession(store, {
        id,
        metadata: { keptFrom: [{ host, user: 'ada' }] },
        messages: [user(`a question of ${id}`)],
      })
      await session.note({
        type: 'receipt',
        len: 1,
        contextDigest: '0'.repeat(64),
        model: id === 'cheap' ? 'gpt-5.5' : 'claude-opus-4-5',
        usage: { input: cost, output: 10 },
      })
      await session.close()
    }
  })
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

describe('the trace of a session', () => {
  it('has sub-agents of sub-agents below the calls that started them, with the times of tools', async () => {
    const page = await here.at('#/s/main')
    await page.getByRole('link', { name: 'Trace' }).click()
    await page.locator('.traced').nth(10).waitFor()
    const lines = await page
      .locator('.traced')
      .evaluateAll((all) =>
        all.map((line) => [
          Math.round(parseFloat((line.querySelector('.traced-name') as HTMLElement).style.paddingLeft) / 1.5),
          line.querySelector('.tool-name, .traced-name > a')?.textContent?.slice(0, 12),
          line.querySelector('.traced-time')?.textContent,
        ]),
      )
    expect(lines).toEqual([
      [0, 'Add a test f', '67 min'],
      [1, 'Bash', '2.5 s'],
      [1, 'Task', '52 s'],
      [2, 'Find every p', '41 s'],
      [1, 'Task', '52 s'],
      [2, 'Find every p', '31 s'],
      [3, 'Grep', '1.0 s'],
      [3, 'Task', '12 s'],
      [4, 'Read the fil', '10 s'],
      [5, 'Read', 'failed · 1.0 s'],
      [1, 'Bash', 'no result'],
    ])
    expect(await page.locator('.trace-sums').textContent()).toBe(
      '7 tool calls · 1 failed · 3 sub-agents · 67 min · longer pauses are shortened to a minute',
    )
    // The bars of a call and of the sub-agent that it started stand below each other.
    const [task, agent] = await Promise.all([2, 3].map((line) => page.locator('.trace-bar i').nth(line).boundingBox()))
    expect(agent?.x).toBeGreaterThan(task?.x ?? 0)
    expect((agent?.x ?? 0) + (agent?.width ?? 0)).toBeLessThanOrEqual((task?.x ?? 0) + (task?.width ?? 0) + 1)
    await page.close()
  })
  it('is folded, and leads to messages and sessions', async () => {
    const page = await here.at('#/trace/main')
    await page.locator('.traced').nth(10).waitFor()
    await page.locator('.traced-agent .trace-toggle[aria-expanded]').nth(1).click()
    await page.locator('.traced').nth(7).waitFor({ state: 'detached' })
    expect(await page.locator('.traced').count()).toBe(7)
    await page.locator('.traced .tool-name').first().click()
    await page.locator('#m1.current').waitFor()
    await page.goBack()
    await page.locator('.traced-agent a').nth(1).click()
    await page.getByRole('link', { name: 'sub-agent of main' }).click()
    await page.locator('#m0').getByText('Add a test for leap years').waitFor()
    await page.close()
  })
  it('is where a call in the conversation leads: to the session of its sub-agent', async () => {
    const page = await here.at('#/s/main')
    const links = page.locator('.call-agent')
    await links.nth(1).waitFor()
    expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
      '#/s/main.agent-a33',
      '#/s/main.agent-a11',
    ])
    await links.nth(1).click()
    await page.locator('.call-agent').getByText('Sub-agent: Read the file with the rules').click()
    await page.locator('#m0').getByText('Read the file with the rules').waitFor()
    expect(await page.locator('.call-agent').count()).toBe(0)
    await page.close()
  })
  it.each([
    [1280, false],
    [390, true],
  ])('at %i pixels, dark: %s, has nothing that axe finds, and fits the window', async (width, dark) => {
    const page = await here.at('#/trace/main', { width, dark })
    await page.locator('.traced').nth(8).waitFor()
    expect(await axeFindings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    await page.close()
  })
})

describe('the list of sessions', () => {
  it('has sub-agents below their sessions, as a tree', async () => {
    const page = await here.at('#/')
    await page.getByRole('combobox', { name: 'groups' }).selectOption('As a tree')
    await page.locator('.depth1').nth(2).waitFor()
    await page.getByRole('combobox', { name: 'groups' }).selectOption('No groups')
    await page.close()
  })
  it('filters by host, cost and model', async () => {
    const page = await here.at('#/')
    await page.locator('.session').first().waitFor()
    await page.getByRole('button', { name: 'Filters' }).click()
    await page.getByRole('combobox', { name: 'host' }).selectOption('laptop')
    await page.getByText('1 session of 6').waitFor()
    expect(await page.locator('.session').getAttribute('href')).toBe('#/s/cheap')
    await page.getByRole('combobox', { name: 'host' }).selectOption('Any host')
    await page.getByRole('combobox', { name: 'cost' }).selectOption('$1 or more')
    await page.getByText('1 session of 6').waitFor()
    expect(await page.locator('.session').getAttribute('href')).toBe('#/s/dear')
    await page.getByRole('combobox', { name: 'cost' }).selectOption('Any cost')
    await page.getByRole('combobox', { name: 'model' }).selectOption('claude-opus-4-5')
    await page.getByText('5 sessions of 6').waitFor()
    await page.getByRole('button', { name: '1 filter' }).waitFor()
    await page.close()
  })
})
