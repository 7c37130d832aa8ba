/** What recorded calls were sent, as the page shows it beside the record. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { listSessions, type Store } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { htmlOf } from '@indelible/view'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { watchErrors, looking, type Looking } from './browser.ts'
import { providerServer } from '../../../../test/run/provider-server.ts'
import { provider, tool, type Chat } from './recorded.ts'

/** Four calls: the second continues the first; the third has a shortened message; the fourth has another tool. */
const record = async (store: Store): Promise<void> => {
  const { fetch, clientOf, close } = await provider(store, () => ({ input: 1000, cached: 400, output: 20 }))
  const openai = clientOf('one')
  const messages: Chat = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: `first question ${'and more '.repeat(20)}` },
  ]
  const call = async (sent: Chat, names: readonly string[]): Promise<void> => {
    const { choices } = await openai.chat.completions.create({
      model: 'gpt-5.5',
      messages: sent,
      tools: names.map(tool),
    })
    messages.push(choices[0]?.message as Chat[number])
  }
  await call(messages, ['read'])
  messages.push({ role: 'user', content: 'second question' })
  await call(messages, ['read'])
  messages.push({ role: 'user', content: 'third question' })
  const shortened = messages.with(1, { role: 'user', content: 'first question, shortened' })
  await call(shortened, ['read'])
  messages.push({ role: 'user', content: 'fourth question' })
  await call(messages.with(1, shortened[1] as Chat[number]), ['read', 'search'])
  await fetch.settled()
  await close()
}

/** Two calls with four tools, of which one gets another description. */
const recordTools = async (store: Store): Promise<void> => {
  const { fetch, clientOf, close } = await provider(store, () => ({ input: 3000, cached: 0, output: 20 }))
  const openai = clientOf('tools')
  const path = { type: 'string', description: 'the path of the file, from the root of the project' }
  for (const more of ['', 'Use it seldom. ']) {
    const tools = Array.from({ length: 4 }, (_, index) => ({
      type: 'function' as const,
      function: {
        name: `tool_${index}`,
        description: `Does the thing. ${index === 2 ? more : ''}It reads a file and returns its lines.`,
        parameters: { type: 'object', properties: { path, limit: path, offset: path }, required: ['path'] },
      },
    }))
    const messages: Chat = [{ role: 'user', content: 'What does it do?' }]
    await openai.chat.completions.create({ model: 'gpt-5.5', messages, tools })
    await fetch.settled()
  }
  await close()
}

let here: Looking
let id = ''
let ofTools = ''
beforeAll(async () => {
  here = await looking(async (store) => {
    await record(store)
    const { sessions } = await listSessions(store)
    expect(sessions).toHaveLength(1)
    id = sessions[0]?.id ?? ''
    await recordTools(store)
    ofTools = (await listSessions(store)).sessions.find((one) => one.id !== id)?.id ?? ''
  })
})
afterAll(() => here?.end())
const complaints: string[] = []
afterEach(() => expect([...complaints.splice(0), ...here.complaints()]).toEqual([]))

/** The figures, once the worker has added them up. */
const figures = async (page: Page): Promise<string> => {
  await page.locator('.figures').filter({ hasNotText: '…' }).waitFor()
  return (await page.locator('.figures').textContent()) ?? ''
}
const show = async (page: Page, call: number): Promise<void> => {
  await page.getByRole('slider', { name: 'call' }).fill(String(call - 1))
  await page.getByText(`${call} of 4`).waitFor()
}

it.each([
  [1440, 900],
  [390, 844],
])('shows a change of one tool at %i × %i without scrolling, and names the tool once', async (width, height) => {
  const page = await here.at(`#/saw/${ofTools}/2`)
  await page.setViewportSize({ width, height })
  await page.getByRole('button', { name: 'Beside the previous call' }).click()
  const came = page.locator('ins').getByText('Use it seldom.')
  await came.waitFor()
  const { y = Infinity } = (await came.boundingBox()) ?? {}
  expect(y).toBeLessThan(height - 20)
  expect(await page.locator('.cell-name').allTextContents()).toEqual(
    expect.arrayContaining(['tool_2 of the previous call ', 'tool_2 ']),
  )
  await page.close()
})

describe('the sent context', () => {
  const look = async (page: Page): Promise<void> => {
    await page.locator('.strip').waitFor()
    expect(await page.getByRole('combobox', { name: 'context' }).inputValue()).toBe('as sent')
    await show(page, 2)
    // All that the call before was sent is a prefix of what this one was sent.
    await page.locator('.prefix-end').waitFor()
    expect(await figures(page)).toMatch(
      /message tokens[\d,]+ by estimate.*cacheable\d+ % of these: first 2 messages unchangedcached40 % of all input, by the provider’s count/,
    )
    expect(await page.locator('.item').nth(2).getAttribute('class')).toContain('prefix-end')
    expect(await page.getByText('Cache break: ').count()).toBe(0)
    await show(page, 3)
    await page.getByText('Cache break: the client compacted the conversation.').waitFor()
    expect(await figures(page)).toMatch(/cacheable\d+ % of these: first 1 message unchanged/)
    expect(await figures(page)).toMatch(/messages6 5 of 6 recorded \+ 1 not in the record/)
    expect(await page.locator('.overview .legend').textContent()).toMatch(
      /^\s*full\s+not sent\s+after this call\s+cacheable$/,
    )
    const changed = page.locator('.item').nth(1)
    await changed.getByText('first question, shortened').waitFor()
    expect(await changed.getAttribute('class')).toContain('prefix-end')
    expect(await page.locator('.item').nth(2).textContent()).toMatch(/heard 2/)
    await page.locator('.beside summary').first().click()
    await page.locator('.beside').first().getByText('read').first().waitFor()
    await show(page, 4)
    await page.getByText('Cache break: the tool list changed: +search.').waitFor()
    expect(await figures(page)).toMatch(/cacheable0 % of thesecached/)
    expect(await page.locator('.prefix-end').count()).toBe(0)
  }
  it('has in its address the number that the page shows, and names a part that was not sent', async () => {
    const page = await here.at(`#/saw/${encodeURIComponent(id)}/3`)
    await page.getByText('3 of 4').waitFor()
    await page.locator('.figures').filter({ hasNotText: '…' }).waitFor()
    const strip = page.locator('.strip')
    await strip.click({ position: { x: ((await strip.boundingBox())?.width ?? 0) * 0.2, y: 20 } })
    expect(await page.locator('.chosen').first().textContent()).toMatch(/^Message 1 · \w+ · not sent$/)
    await page.keyboard.press('k')
    await page.waitForURL(/\/2$/)
    await page.getByText('2 of 4').waitFor()
    await page.close()
  })
  it("shows each recorded call's context beside the record and the end of its cached prefix", async () => {
    const page = await here.at(`#/saw/${encodeURIComponent(id)}`)
    await look(page)
    await page.close()
  })
  it('is in an exported file, too', async () => {
    const path = join(here.folder, 'sent.html')
    writeFileSync(path, (await htmlOf(here.store, id, { version: '0.0.0' })).join('\n'))
    const page = watchErrors(await (await here.browser.newContext({ offline: true })).newPage(), complaints)
    await page.goto(`${pathToFileURL(path).href}#/saw/${encodeURIComponent(id)}`)
    await look(page)
    await page.context().close()
  })
})

it('is absent for a call without an answer, also among others', async () => {
  const refused = recordingFetch({ store: here.store, fetch: () => Promise.reject(new Error('cut')) })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Is anybody there?' }] })
  await refused('http://127.0.0.1/chat/completions', { method: 'POST', body }).catch(() => {})
  await refused.settled()
  const page = await here.at(`#/saw/${encodeURIComponent(refused.summary().sessions[0] ?? '')}`)
  await page.locator('.strip').waitFor()
  expect(await page.locator('.answered').textContent()).toBe('no answer was recorded (m)')
  await page.close()
})

describe('costs in the context view', () => {
  it('use dated prices of the answering model or another for each policy', async () => {
    const page = await here.at(`#/saw/${encodeURIComponent(id)}`)
    await page.getByText('Compare policies').click()
    await page.locator('.plots svg').nth(2).waitFor()
    expect(await page.getByRole('combobox', { name: 'prices of' }).inputValue()).toBe('gpt-5.5')
    const table = page.locator('.compare table')
    expect(await table.locator('th').allTextContents()).toEqual([
      'policy',
      'cost in tokens',
      'cost in dollars',
      'cacheable',
      'compactions',
      'too small for',
    ])
    await page
      .getByText(
        /at the list prices of gpt-5\.5 of 2026-\d\d-\d\d \(source\)\. A million tokens: \$5 uncached input, \$0\.5 cached, \$5 cache write, \$30 output/,
      )
      .waitFor()
    const paid = async (): Promise<number> =>
      Number(/\$([\d.]+)/.exec((await table.locator('tbody td').nth(2).textContent()) ?? '')?.[1])
    // 80 tokens answered cost $0.0024: the rest is the input.
    expect(await paid()).toBeGreaterThan(0.0024)
    const dear = await paid()
    await page.getByRole('combobox', { name: 'prices of' }).selectOption('gpt-5-mini')
    await expect.poll(paid).toBeLessThan(dear)
    await page.getByRole('combobox', { name: 'prices of' }).selectOption('')
    await expect.poll(() => table.locator('th').count()).toBe(5)
    await page.close()
  })
})

it('a recorded answer that the program sends back as a text is the recorded message, and not a foreign one', async () => {
  const recorded = await looking(async (store) => {
    const server = await providerServer(({ body }) => ({
      body: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: body['model'],
        content: [{ type: 'text', text: `heard ${(body['messages'] as readonly unknown[]).length}` }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 2 },
      },
    }))
    const fetch = recordingFetch({ store })
    const messages: object[] = []
    const modelFor = (question: string): string => (question === 'three' ? 'claude-sonnet-4-5' : 'claude-opus-4-5')
    for (const question of ['one', 'two', 'three']) {
      messages.push({ role: 'user', content: question })
      const response = await fetch(`${server.url}/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({ model: modelFor(question), max_tokens: 100, system: 'Be brief.', messages }),
      })
      const { content } = (await response.json()) as { readonly content: readonly { readonly text: string }[] }
      messages.push({ role: 'assistant', content: content[0]?.text })
    }
    await fetch.settled()
    await server.close()
    id = (await listSessions(store)).sessions[0]?.id ?? ''
  })
  const page = await recorded.at(`#/saw/${encodeURIComponent(id)}/3`)
  await page.getByText('3 of 3').waitFor()
  expect(await figures(page)).toMatch(/messages5 of 5 recorded/)
  expect(await page.getByText('written by the program').count()).toBe(0)
  // The system text is beside the messages, and another model has nothing of them in its cache.
  await page.getByRole('button', { name: 'Beside the record' }).click()
  await page.getByText('not a message of the record').waitFor()
  await page.getByRole('group', { name: 'system' }).getByText('Be brief.').waitFor()
  expect(await figures(page)).toMatch(/cacheable0 % of these/)
  await page.getByRole('button', { name: 'Beside the previous call' }).click()
  await page.getByRole('group', { name: 'model of the previous call' }).getByText('claude-opus-4-5').waitFor()
  expect(await page.getByText('not a message of the record').count()).toBe(0)
  await page.close()
  await recorded.end()
})
