/** How fast the page is. What is printed stands in bench/RESULTS.md; what is checked holds on a slow machine too. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assistant, createSession, toolCall, toolResult, user, type Message, type Store } from 'indelible'
import type { Page } from 'playwright-core'
import { looking, type Looking } from './browser.ts'

const words = 'The quick brown fox jumps over the lazy dog and reads another file of the project before it answers. '

const turn = (index: number): readonly Message[] => [
  user(`Question ${index}: ${words}`),
  assistant(
    `I look at **file ${index}**.\n\n- ${words}\n- \`code ${index}\``,
    toolCall(`c${index}`, 'bash', JSON.stringify({ command: `cat file-${index}.ts` })),
  ),
  toolResult(`c${index}`, `export const value${index} = ${index}\n${words.repeat(1 + (index % 7))}`),
  assistant(`Done with ${index}. ${words.repeat(1 + (index % 5))}`),
]

const fill = async (store: Store): Promise<void> => {
  for (const [id, messages] of [
    ['large', 100_000],
    ['middle', 1000],
  ] as const) {
    const session = await createSession(store, { id })
    for (let index = 0; index < messages / 4; index += 250)
      await session.append(
        Array.from({ length: Math.min(250, messages / 4 - index) }, (_, offset) => turn(index + offset)).flat(),
      )
    await session.close()
  }
}

let here: Looking
beforeAll(async () => {
  here = await looking(fill)
}, 300_000)
afterAll(() => here?.end())

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** The time between frames while it scrolls, without pause, by about one message a frame. */
const scrolled = async (page: Page): Promise<string> => {
  const frames = await page.evaluate(
    () =>
      new Promise<readonly number[]>((resolve) => {
        const scroller = document.querySelector('.scroll') as HTMLElement
        const times: number[] = []
        let last = performance.now()
        const step = (): void => {
          const now = performance.now()
          times.push(now - last)
          last = now
          scroller.scrollTop += 120
          if (times.length < 200) requestAnimationFrame(step)
          else resolve(times.slice(10))
        }
        requestAnimationFrame(step)
      }),
  )
  const sorted = frames.toSorted((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0)
  return `a frame while scrolling takes ${at(0.5)} ms (median), ${at(0.95)} ms (p95), ${at(0.99)} ms (p99)`
}

describe('page speed', () => {
  it('for the first view of 1,000 messages', async () => {
    const times: number[] = []
    for (let round = 0; round < 5; round++) {
      const page = await here.at('#/')
      await page.locator('.session').first().waitFor()
      const base = page.url().replace(/#.*/, '')
      await page.goto('about:blank')
      const from = performance.now()
      await page.goto(`${base}#/s/middle`, { waitUntil: 'commit' })
      await page.locator('#m0').waitFor()
      times.push(performance.now() - from)
      await page.locator('.verified.good').waitFor()
      if (round === 4) say(`1,000 messages: ${await scrolled(page)}`)
      await page.close()
    }
    const [best, median] = [Math.min(...times), times.toSorted((a, b) => a - b)[2] as number]
    say(`first view of 1,000 messages: median ${median.toFixed(0)} ms, best ${best.toFixed(0)} ms of 5`)
  })
  it('for reading, verifying and scrolling 100,000 messages', async () => {
    const page = await here.at('#/s/large')
    const from = performance.now()
    await page.locator('#m0').waitFor()
    say(`first view of 100,000 messages: ${(performance.now() - from).toFixed(0)} ms`)
    await page.getByText('100,000 messages', { exact: true }).waitFor()
    say(`all of them read: ${((performance.now() - from) / 1000).toFixed(1)} s`)
    await page.locator('.verified.good').waitFor()
    say(`verified: ${((performance.now() - from) / 1000).toFixed(1)} s`)
    say(`100,000 messages: ${await scrolled(page)}`)
    expect(await page.locator('article').count()).toBeLessThan(80)
    const jump = performance.now()
    await page.keyboard.press('G')
    await page.locator('#m99999.current').waitFor()
    say(`jump to the last: ${(performance.now() - jump).toFixed(0)} ms`)
    await page.keyboard.press('k')
    await page.locator('#m99997.current').waitFor()
    const search = performance.now()
    await page.keyboard.press('/')
    await page.keyboard.insertText('Question 24999')
    await page.locator('#m99996.current').waitFor()
    await page.getByText('1 of 1 message with').waitFor()
    say(`search in the session: ${(performance.now() - search).toFixed(0)} ms`)
    expect(here.complaints()).toEqual([])
    await page.close()
    const linked = await here.at('#/s/large/80000')
    const link = performance.now()
    await linked.locator('#m80000.current').waitFor()
    say(`link to message 80,000: ${((performance.now() - link) / 1000).toFixed(1)} s`)
    await linked.close()
  })
})
