/** Records that want to do harm: what they say is shown, and nothing happens. */
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { assistant, createSession, orThrow, text, toolCall, toolResult, user, type Store } from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { eraseMessages } from 'indelible/session'
import { readTranscript, importTranscript } from '@indelible/transcripts'
import { htmlOf, startView } from '@indelible/view'
import { looking, type Looking } from './browser.ts'

const scripts = [
  '<script>window.harmed = 1</script>',
  '<img src=x onerror="window.harmed = 2">',
  '<svg onload="window.harmed = 3"><a xlink:href="javascript:window.harmed=4">x</a></svg>',
  '<iframe srcdoc="<script>parent.harmed = 5</script>"></iframe>',
  '<style>body { display: none }</style><base href="https://hostile.example/"><meta http-equiv="refresh" content="0;url=https://hostile.example/">',
  '[click](javascript:window.harmed=6) [data](data:text/html,<script>window.harmed=7</script>) [tab](java\tscript:alert(1)) [vb](vbscript:x) [web](https://example.com/ok)',
  '![picture](https://hostile.example/track.png) ![x](javascript:window.harmed=8)',
  '<https://example.com/auto> <javascript:window.harmed=9>',
  '```js\n</code></pre><script>window.harmed = 10</script>\n```',
  '| <b onclick=alert(1)>x</b> |\n|---|\n| <script>window.harmed = 11</script> |',
]
const escapes = '"\\"<context> \\(x\\) and\\\nmore\n\n[a]: https://example.com/a "a title"'
const terminal = '\u001b[2J\u001b[31mred\u001b[0m \u001b]0;title\u0007 bell\u0007 back\b\b \u009b31m nul\0 \r line'
const nested = ['>'.repeat(1000), '- '.repeat(1000), '1. '.repeat(1000), `${'*'.repeat(1000)}a${'*'.repeat(1000)}`]
const turned = 'user\u202etxt.exe\u202c \u2066hidden\u2069 zero\u200bwidth'
const line = 'x'.repeat(5_000_000)
const id = 'hostile" onload="alert(1)</title><script>window.harmed=12</script>'

const fill = async (store: Store): Promise<void> => {
  const session = await createSession(store, { id, metadata: { title: `${scripts[0]}${turned}` } })
  await session.append([
    user(scripts.join('\n\n')),
    assistant(scripts.join('\n\n')),
    {
      role: 'assistant',
      name: '<b>name</b>',
      content: [
        text(`${terminal}\n\n${turned}`),
        toolCall(
          'c1',
          '<img src=x onerror=alert(1)>',
          JSON.stringify({ command: scripts[0], __proto__: 1, url: 'javascript:alert(1)' }),
        ),
        toolCall('c2', 'read', '{"broken": '),
        toolCall('c3', 'patch', `--- a\n+++ b\n@@ -1 +1 @@\n-${scripts[1]}\n+${terminal}`),
      ],
    },
    toolResult('c1', `{"a":${JSON.stringify(scripts[1])},"b":${'['.repeat(500)}${']'.repeat(500)}}`),
    toolResult('c2', terminal),
    toolResult('c3', line),
    user(line),
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'url', url: 'https://hostile.example/pixel.png' } },
        {
          type: 'image',
          source: {
            type: 'base64',
            mediaType: 'image/svg+xml',
            data: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="window.harmed=13"/>').toString('base64'),
          },
        },
        { type: 'file', name: '../../x.html', source: { type: 'url', url: 'javascript:alert(1)' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'provider', provider: '<i>hostile</i>', raw: { html: scripts[0] as string, constructor: 'x' } },
      ],
    },
  ])
  await session.note({ type: 'application', namespace: '<b>x</b>', content: scripts as string[] })
  await session.close()
  const escaped = await createSession(store, { id: 'escaped' })
  await escaped.append([user(escapes), assistant(escapes)])
  await escaped.close()
  const deep = await createSession(store, { id: 'deep' })
  await deep.append([...nested.map((output) => user(`${output} nested`)), assistant('the last one')])
  await deep.close()
  const sound = await createSession(store, { id: 'sound' })
  for (let turn = 0; turn < 40; turn++) await sound.append([user(`question ${turn}`), assistant(`answer ${turn}`)])
  await sound.append(user(`a long one: ${'word '.repeat(1500)}`))
  await sound.close()
}

let here: Looking
beforeAll(async () => {
  here = await looking(fill)
})
afterAll(() => here?.end())
afterEach(() => expect(here.complaints()).toEqual([]))

describe('a hostile record', () => {
  it('is harmless and shown literally', async () => {
    const page = await here.at('#/')
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.locator('.session').first().waitFor()
    await page.goto(`${page.url().replace(/#.*/, '')}#/s/${encodeURIComponent(id)}`)
    await page.locator('#m2').waitFor()
    await page.getByRole('button', { name: 'Expand all' }).click()
    await page.locator('#m2 .call-body').first().waitFor()
    for (const key of ['j', 'j', 'j', 'j', 'j', 'j', 'j']) await page.keyboard.press(key)
    await page.waitForTimeout(300)
    expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined()
    expect(asked.filter((url) => !url.startsWith('http://127.0.0.1:') && !url.startsWith('blob:'))).toEqual([])
    await page.keyboard.press('g')
    await page.locator('#m1').waitFor()
    const links = await page.locator('.feed a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    expect(links.filter((href) => !/^(?:#|https:|blob:)/.test(href))).toEqual([])
    expect(links).toContain('https://example.com/ok')
    expect(
      await page
        .locator('.feed')
        .locator('script, iframe, style, base, meta, svg, [onclick], [onerror], [onload]')
        .count(),
    ).toBe(0)
    expect(await page.locator('#m0').textContent()).toContain('<script>window.harmed = 1</script>')
    expect(await page.locator('.feed img').count()).toBe(0)
    const shown = (await page.locator('#m2').textContent()) ?? ''
    expect(shown).toContain('red')
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(shown)).toBe(false) // oxlint-disable-line no-control-regex
    expect(shown).toContain('⟨U+202E⟩')
    expect(await page.title()).not.toMatch(/\u202e/)
    await page.close()
  })
  it('nested very deeply hides nothing after it', async () => {
    const page = await here.at(`#/s/deep/${nested.length}`) // the page has only what is near in its window
    await page.locator(`#m${nested.length}`).getByText('the last one').waitFor()
    await page.close()
  })
  it('shows its backslashes and link definitions', async () => {
    const page = await here.at('#/s/escaped')
    for (const message of ['#m0', '#m1']) {
      await page.locator(message).waitFor()
      const output = (await page.locator(`${message} .content`).textContent()) ?? ''
      for (const text of escapes.split('\n').filter((part) => part !== '')) expect(output).toContain(text)
    }
    await page.close()
  })
  it('with a 5 MB line is cut', async () => {
    const page = await here.at(`#/s/${encodeURIComponent(id)}/6`)
    await page.locator('#m6').waitFor()
    expect(((await page.locator('#m6').textContent()) ?? '').length).toBeLessThan(20_000)
    await page.locator('.verified.good').waitFor()
    await page.close()
  })
})

const tamper = (statement: string): void => {
  const db = new DatabaseSync(here.path)
  expect(db.prepare(statement).run().changes).toBeGreaterThan(0)
  db.close()
}

describe('a store changed by somebody', () => {
  it('is detected with row and message, and compared with a saved head', async () => {
    const { head } = (await here.store.info('sound')) as {
      readonly head: { readonly size: number; readonly root: string }
    }
    const good = await here.at('#/s/sound')
    await good.locator('.verified.good').click()
    await good.getByRole('textbox').last().fill(`${head.size}:${head.root}`)
    await good.getByText(`The first ${head.size} rows are exactly those of this head.`).waitFor()
    await good.getByRole('textbox').last().fill(`4:${head.root}`)
    await good.getByText('are not those of this head').waitFor()
    await good.close()
    tamper(`update row set body = replace(body, 'answer 20', 'answer 2O') where body like '%answer 20"%'`)
    const page = await here.at('#/s/sound')
    await page.getByText(/^Damaged at row 41( |$)/).click()
    await page.getByText('the row was altered after it was appended').waitFor()
    await page.getByRole('link', { name: 'message 41' }).click()
    await page.locator('#m41').waitFor()
    await page.close()
  })
})

describe('unreadable content', () => {
  it('is reported: an erased message is marked as such, and the record is verified', async () => {
    const session = await createSession(here.store, { id: 'erased', erasable: true })
    await session.append([user('keep this'), user('my number is 4711'), assistant('noted')])
    await session.close()
    await eraseMessages(here.store, 'erased', [1], { reason: 'a request' })
    const page = await here.at('#/s/erased')
    await page.locator('#m1').getByText('Erased: this message has no content any more.').waitFor()
    await page.locator('.verified.good').click()
    await page.getByText('by their leaf hash alone: 1 erased').waitFor()
    expect(await page.content()).not.toContain('number is 4711')
    await page.close()
  })
  it('marks a message of several parts as erased once', async () => {
    await createSession(here.store, {
      id: 'erased-parts',
      erasable: true,
      messages: [user('look'), assistant(text('I look.'), toolCall('c1', 'read', '{}')), toolResult('c1', 'found')],
    })
    await eraseMessages(here.store, 'erased-parts', [1], {})
    const page = await here.at('#/s/erased-parts')
    await page.locator('#m1').getByText('Erased: this message has no content any more.').waitFor()
    expect(await page.locator('#m1 .gap').count()).toBe(1)
    await page.close()
  })
  it('shows a damaged tool result as such, also at its call, and no role for an unreadable row', async () => {
    await createSession(here.store, {
      id: 'damaged-results',
      messages: [
        user('look'),
        assistant(toolCall('c1', 'read', '{}'), toolCall('c2', 'read', '{}')),
        toolResult('c1', 'long '.repeat(2000)),
        toolResult('c2', 'a result that is overwritten'),
      ],
    })
    tamper('delete from block')
    tamper(`update row set body = '{' where body like '%a result that is overwritten%'`)
    const page = await here.at('#/s/damaged-results')
    await page
      .locator('#m2.item')
      .getByText(/^This tool result is damaged\. Block [0-9a-f]{64} is missing/)
      .waitFor()
    expect(await page.locator('.role').allTextContents()).toEqual(['user', 'assistant', 'tool', 'damaged'])
    expect(await page.locator('#m1 .tool-answer').allTextContents()).toEqual(['damaged', 'no result'])
    await page.close()
  })
  it('does not give an erased message the import time, nor its call a missing result', async () => {
    const line = (minute: number, message: object): string =>
      JSON.stringify({ type: 'message', timestamp: `2025-01-02T10:0${minute}:00.000Z`, message })
    const file = [
      JSON.stringify({ type: 'session', id: 'erased-import', timestamp: '2025-01-02T10:00:00.000Z', cwd: '/' }),
      line(1, { role: 'user', content: [{ type: 'text', text: 'look' }] }),
      line(2, { role: 'assistant', content: [{ type: 'toolCall', id: 'c1', name: 'read', arguments: {} }] }),
      line(3, {
        role: 'toolResult',
        toolCallId: 'c1',
        toolName: 'read',
        content: [{ type: 'text', text: '4711' }],
      }),
      line(4, { role: 'assistant', content: [{ type: 'text', text: 'seen' }] }),
    ].join('\n')
    await importTranscript(here.store, orThrow(readTranscript(file)), { id: 'erased-import' })
    await eraseMessages(here.store, 'erased-import', [2], { reason: 'a request' })
    const page = await here.at('#/s/erased-import')
    await page.locator('#m3').getByText('seen').waitFor()
    expect(await page.locator('.day').allTextContents()).toEqual(['Jan 2, 2025'])
    expect(await page.locator('#m1 .tool-answer').textContent()).toBe('erased')
    expect(await page.locator('#m2 time').textContent()).toMatch(/^appended .*20\d\d.*\d\d:\d\d/)
    expect(await page.locator('#m3 time').textContent()).toMatch(/^\d\d:04$/)
    await page.close()
  })
})

describe('an encrypted session', () => {
  it('is shown and verified if the view has its keys', async () => {
    const keyed = withKeys(here.store, keyRing([newHostKey('now')]))
    const session = await createSession(keyed, { id: 'encrypted' })
    await session.append([user('a secret question'), assistant(`a long answer ${'and more '.repeat(1000)}`)])
    await session.close()
    const view = await startView({ store: keyed, name: 'keyed', version: '0.0.0' })
    const page = await here.browser.newPage()
    await page.goto(view.open('s/encrypted'))
    await page.locator('#m0').getByText('a secret question').waitFor()
    await page.locator('#m1').getByText('a long answer').waitFor()
    await page.locator('.verified.good').waitFor()
    const file = (await htmlOf(keyed, 'encrypted', { version: '0.0.0' })).join('\n')
    expect(file.includes('a secret question')).toBe(true)
    await page.close()
    await view.close()
  })
})
