import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, createSession, memoryStore, reasoning, text, user, type Message } from 'indelible'
import { provider } from 'indelible/message'
import { gemini } from 'indelible/codecs/gemini'
import { createRedactor, secretRules } from 'indelible/redact'
import { clipSpan, mergeSpans, replaceSpans, shiftSpan, spanOfBase64, spansInEscaped } from '../../src/redact/search.ts'
import { stringsOf } from '../../src/redact/strings.ts'
import type { JournalBlock } from '../../src/notes/internal.ts'
import { sessionHandler, type RunEvent } from 'indelible/run'
import { ok } from '../task-results.ts'
import { rounds } from '../rounds.ts'

const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG3hJ5kL7nP9rS1tV3xY5'
const secret = `ghp_${letters.slice(0, 36)}`
const mark = '[redacted github-token, 40 characters]'
const clean = (given: string): string => createRedactor().text(given)
const base64 = (given: string): string => Buffer.from(given).toString('base64')
const percent = (given: string): string =>
  [...given].map((letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
const units = (given: string): string =>
  [...given].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const escaped = (given: string): string => JSON.stringify(given).slice(1, -1)

describe('redaction finds a secret', () => {
  it('after an escaped line feed and with escapes in it: in truncated JSON, JSON lines and code', () => {
    expect(clean(`a\\n${secret}\\n`)).toBe(`a\\n${mark}\\n`)
    expect(clean(`{"a": "x\\n${secret}", "b": "cut`)).toBe(`{"a": "x\\n${mark}", "b": "cut`)
    expect(clean(`{"a":"${units(secret)}"}\n{"a":"${units(secret)}"}\n`)).not.toContain('\\u0067')
    expect(clean(`key = "\\x67hp_${secret.slice(4)}"`)).toBe('key = "[redacted github-token, 43 characters]"')
    const whole = JSON.stringify({ said: JSON.stringify({ deep: JSON.stringify({ a: `\n${secret}"` }) }) })
    expect(JSON.parse(JSON.parse(JSON.parse(clean(whole)).said).deep)).toEqual({ a: `\n${mark}"` })
    expect(clean(`said: ${whole}`)).toBe(`said: ${whole.replace(secret, mark)}`)
  })

  it('by the name of its JSON key', () => {
    const key = `${letters.slice(0, 38)}/+`
    const json = JSON.stringify({ AccessKeyId: 1, SecretAccessKey: key, after: key.slice(1) })
    expect(clean(json)).toBe(json.replace(key, '[redacted aws-secret-access-key, 40 characters]'))
    expect(createRedactor().json({ SecretAccessKey: key })).toEqual({
      SecretAccessKey: '[redacted aws-secret-access-key, 40 characters]',
    })
  })

  it('in percent-encoded URLs and base64 texts, but not in image bytes', () => {
    expect(clean(`data:text/plain,${percent(secret)}`)).toBe('data:text/plain,[redacted github-token, 120 characters]')
    expect(clean(`https://x.example/?key=${secret.replace('_', '%5F')}&n=1`)).toMatch(/\?key=\[redacted [^\]]*\]&n=1$/)
    const file = `data:text/plain;charset=utf-8;base64,${base64(`key: ${secret}\n`)}`
    const image = (data: string): Message => user({ type: 'image', source: { type: 'url', url: data } })
    for (const given of [file, `see ${file} there`, JSON.stringify({ a: [file] })])
      expect(clean(given)).toBe(given.replace(base64(`key: ${secret}\n`), base64(`key: ${mark}\n`)))
    expect(createRedactor().message(image(file)).content).toEqual([
      { type: 'image', source: { type: 'url', url: file.replace(/,.*/, `,${base64(`key: ${mark}\n`)}`) } },
    ])
    const bytes = Buffer.from(Array.from({ length: 300 }, (_, at) => 128 + ((at * 37) % 128))).toString('base64')
    const png = `data:image/png;base64,${bytes}AIzaSy${letters.slice(0, 33)}AKIAABCDEFGHJKMNPQRS${bytes}`
    expect(clean(png)).toBe(png)
    expect(createRedactor().message(image(png)).content).toEqual(image(png).content)
    const named = (data: string): Message =>
      user({ type: 'file', source: { type: 'base64', data, mediaType: 'text/plain' } })
    expect(createRedactor().message(named(base64(secret))).content).toEqual(named(base64(mark)).content)
  })

  it('in a provider part that is one text', () => {
    expect(createRedactor().message(user(provider('p', `key ${secret}`))).content).toEqual([
      provider('p', `key ${mark}`),
    ])
  })

  it('in keys of meta and provider parts, and keeps keys distinct', () => {
    const other = `ghp_${letters.slice(1, 37)}`
    const message: Message = {
      ...user(provider('p', { [secret]: { id: secret }, [other]: 1 })),
      meta: { app: { [secret]: 1 }, [secret]: 2 },
    }
    const redacted = createRedactor().message(message)
    expect(JSON.stringify(redacted).replaceAll(`"id":"${secret}"`, '')).not.toContain(secret)
    expect(redacted.content).toEqual([provider('p', { [mark]: { id: secret }, [`${mark} 2`]: 1 })])
    expect(redacted.meta).toEqual({
      app: { [mark]: 1 },
      [mark]: 2,
      indelible: { redacted: { 'github-token': 4 } },
    })
    const taken = `{"${secret}":1,"${mark}":2,"${other}":3}`
    expect(clean(taken)).toBe(`{"${mark}":1,"${mark} 2":2,"${mark} 3":3}`)
  })

  it('in the meta of a part, and adds none to others', () => {
    const part = text(`a ${secret}`)
    const meta = { app: { said: secret, id: secret } }
    const redacted = createRedactor().message(user(part, { ...text('b'), meta }, { ...text('c'), meta: { app: 1 } }))
    expect(redacted.content).toStrictEqual([
      text(`a ${mark}`),
      { ...text('b'), meta: { app: { said: mark, id: secret } } },
      { ...text('c'), meta: { app: 1 } },
    ])
  })

  it('in the end of a growing text, by up to 256 characters before it', () => {
    const { textFrom } = createRedactor({ rules: [{ name: 'r', pattern: /X-*(?<secret>s)/ }], secrets: false })
    const said = (count: number): string => `X${'-'.repeat(count)}s`
    expect([0, 1, 256].map((from) => textFrom(said(255), from))).toEqual([
      said(255).replace('s', '[redacted r, 1 characters]'),
      `${'-'.repeat(255)}[redacted r, 1 characters]`,
      '[redacted r, 1 characters]',
    ])
    expect(textFrom(said(256), 257)).toBe('s')
  })

  it('in Gemini arguments whose names elsewhere hold bytes or ids', () => {
    const args = { data: secret, id: secret, signature: secret, inlineData: { mimeType: 'image/png', data: secret } }
    const bytes = `${Buffer.alloc(200, 200).toString('base64')}`
    const decoded = gemini.decode({
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'x', args, more: 1 } as never, thoughtSignature: 'c2ln' },
            { executableCode: { code: 'x' }, functionCall: { name: 'y', args } } as never, // two at once: carried raw
            { inlineData: { mimeType: 'image/png', data: bytes } },
          ],
        },
      ],
    })
    if (decoded._tag === 'Left') throw new Error(decoded.left._tag)
    const messages = decoded.right.messages.map((message) => createRedactor().message(message))
    expect(JSON.stringify(messages)).not.toContain(secret)
    expect(JSON.stringify(messages)).toContain(bytes)
    expect(JSON.stringify(messages)).toContain('c2ln')
  })

  it("in an input's reason", async () => {
    const session = await ok(createSession(memoryStore(), { id: 's', redact: true }))
    await ok(session.note({ type: 'input', id: 'i', state: 'failed', at: 0, reason: `refused: ${secret}` }))
    expect(createRedactor().note({ type: 'input', id: 'i', state: 'failed', reason: secret })).toMatchObject({
      reason: mark,
    })
  })

  it('after a word, and directly after another secret', () => {
    expect(clean(`x${secret}`)).toBe(`x${mark}`)
    expect(clean(`x${secret}${secret}${secret}y`)).toMatch(/^x(\[redacted github-token, \d\d characters\]){3}$/)
    const jwt = `eyJ${letters.slice(0, 20)}.eyJ${letters.slice(0, 40)}.${letters.slice(0, 43)}`
    expect(clean(`token${jwt}${jwt}.`)).toBe(`token[redacted jwt, ${jwt.length * 2} characters].`)
    const tokens = [secret, `AKIA${'ABCDEFGHJKMNPQRS'}`, `npm_${letters.slice(0, 36)}`, `hf_${letters.slice(0, 34)}`]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tokens), { minLength: 1, maxLength: 6 }), (several) => {
        expect(clean(several.join(''))).toMatch(/^(\[redacted [a-z-]+, \d+ characters\])+$/)
      }),
    )
  })

  it('after a token that includes its first letters', () => {
    const [a, b] = ['a'.repeat(25), 'b'.repeat(25)]
    for (const between of ['', '/', '-', '.'])
      for (const begin of ['Bearer ', 'bearer ', 'Authorization: Basic ']) {
        const output = clean(`${begin}${a}${begin.includes(':') ? between.replace(/[-.]/, '/') : between}${begin}${b}`)
        expect(output).not.toContain(a)
        expect(output).not.toContain(b)
      }
  })

  it("in base64 of any length in JSON, beside a custom rule's match", () => {
    const redactor = createRedactor({ rules: [{ name: 'own', pattern: /orange/ }] })
    for (let spaces = 0; spaces < 40; spaces++) {
      const address = (given: string): string => `data:text/plain;base64,${base64(`${given}${' '.repeat(spaces)}`)}`
      for (const wrap of [
        (given: string): string => JSON.stringify({ url: given }),
        (given: string): string => JSON.stringify({ said: JSON.stringify([given]) }),
        (given: string): string => `x ${JSON.stringify({ url: given })}`,
      ]) {
        expect(clean(wrap(address(secret)))).toBe(wrap(address(mark)))
        expect(redactor.text(wrap(address(`orange ${secret}`)))).toBe(
          wrap(address(`[redacted own, 6 characters] ${mark}`)),
        )
      }
      expect(createRedactor().json({ url: address(secret) })).toEqual({ url: address(mark) })
    }
  })

  it('property: anywhere among escapes, every occurrence', () => {
    const hidden = fc.constantFrom<(given: string) => string>(
      (given) => given,
      escaped,
      (given) => escaped(escaped(`\n${given}`)),
      units,
      percent,
      (given) => `data:text/plain;base64,${base64(given)}.`,
      (given) => JSON.stringify({ [given]: [given] }),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(hidden, fc.string()), { maxLength: 5 }), (pieces) => {
        const redactor = createRedactor()
        const output = pieces.map(([hide, between]) => `${between} ${hide(secret)}`).join(' ')
        const result = redactor.text(output)
        for (const hide of [String, units, percent, base64]) expect(result).not.toContain(hide(secret))
        expect(redactor.text(result)).toBe(result)
      }),
      { numRuns: rounds(60, 200) },
    )
  })
})

describe('redaction leaves unchanged', () => {
  it('each reasoning summary and each text of a list', () => {
    const message = assistant(reasoning('why', { summary: ['first', 'second', 'third'] }))
    expect(createRedactor().message(message)).toBe(message)
    expect(['first', 'second', `x ${secret}`].map(createRedactor().text)).toEqual(['first', 'second', `x ${mark}`])
  })

  it('a word that looks like the start of a key', () => {
    for (const harmless of [
      'task-admin-panel-for-the-new-customers and disk-proj-settings-of-the-department',
      `task-${'0123456789abcdef'.repeat(4)}`,
      'task_test_configurationfile and risk_live_evaluationresults',
      'npm_config_user_agent_of_the_first_run_in_this_folder',
      '%7B%22a%22%3A1%7D and C:\\new\\table',
      'data:text/plain;base64,aGVsbG8gd29ybGQ=',
      `{"a": "b\\u0041", "n": 12345678901234567890, "c": [1e3, {"d": null}]}`,
    ])
      expect(clean(harmless)).toBe(harmless)
  })

  it('the validity of JSON at any depth', () => {
    for (const depth of [5_000, rounds(40_000, 200_000)]) {
      const nested = `${'{"a":['.repeat(depth)}"${secret}"${']}'.repeat(depth)}`
      expect(clean(nested)).toBe(nested.replace(secret, mark))
    }
  })

  it('all keys that redact to the same text, kept distinct', () => {
    const half = rounds(2_000, 10_000)
    const keys = Array.from({ length: 2 * half }, (_, at) => `ghp_${String(at).padStart(36, 'x')}`)
    const json = [...keys.slice(0, half), `${mark} 5`, mark, ...keys.slice(half)].map((key) => `"${key}":1`)
    const written = Object.keys(JSON.parse(clean(`{${json.join(',')}}`)) as object)
    expect(written).toHaveLength(2 * half + 2)
    expect(written.slice(0, 3)).toEqual([mark, `${mark} 2`, `${mark} 3`])
    expect(written.slice(half, half + 3)).toEqual([`${mark} 5 2`, `${mark} ${half + 1}`, `${mark} ${half + 2}`])
  })

  it('the validity of JSON when a key spans several strings', () => {
    const parts = ['-----BEGIN PRIVATE KEY-----', letters, `["${letters}"]`, '-----END PRIVATE KEY-----']
    const redacted = clean(JSON.stringify(parts))
    expect(JSON.parse(redacted)).toEqual(parts.map(({ length }) => `[redacted private-key, ${length} characters]`))
    const over = JSON.stringify([parts[0], JSON.stringify([parts[3], 'after'])])
    expect(JSON.parse((JSON.parse(clean(over)) as string[])[1] as string)).toContain('after')
  })
})

describe('a custom redaction rule', () => {
  it('removes exactly its group `secret`, also when its text occurs twice', () => {
    const redactor = createRedactor({
      rules: [
        { name: 'pin', pattern: /pin (?<secret>\d+) of \d+/ },
        { name: 'before', pattern: /(?<=from (?<secret>\w+) )to/ },
      ],
      secrets: false,
    })
    expect(redactor.text('pin 12 of 12')).toBe('pin [redacted pin, 2 characters] of 12')
    expect(redactor.text('from here to there')).toBe('from [redacted before, 4 characters] to there')
  })

  it('matches everywhere, whatever its flags and lastIndex', () => {
    for (const flags of ['', 'g', 'y', 'gy', 'd', 'giy']) {
      const pattern = new RegExp('C-\\d+', flags)
      pattern.lastIndex = 7
      const redactor = createRedactor({ rules: [{ name: 'c', pattern }], secrets: false })
      for (let time = 0; time < 2; time++)
        expect(redactor.text('a C-1 b C-2')).toBe('a [redacted c, 3 characters] b [redacted c, 3 characters]')
      expect(pattern.lastIndex).toBe(7)
    }
  })

  it('finds numbers in JSON text, which stays JSON, and keeps those of data', () => {
    const redactor = createRedactor({ rules: [{ name: 'card', pattern: /\d{16}/ }] })
    const card = '"[redacted card, 16 characters]"'
    const json = (number: string): string => `{"card": ${number}, "list":[1,${number},-2.5e3],"n":{"":${number}}}`
    expect(redactor.text(json('4111111111111111'))).toBe(json(card))
    const nested = (number: string): string => JSON.stringify({ said: json(number) })
    expect(redactor.text(nested('4111111111111111'))).toBe(nested(card))
    expect(redactor.counts().get('card')).toBe(6)
    expect(redactor.json({ card: 4111111111111111 })).toEqual({ card: 4111111111111111 })
  })

  it('sees a value of JSON together with its key, and keeps the key', () => {
    const mark = '[redacted pin, 6 characters]'
    const rule = (pattern: RegExp): ReturnType<typeof createRedactor> =>
      createRedactor({ rules: [{ name: 'pin', pattern }], secrets: false })
    expect(rule(/"pin":\s*"(?<secret>\d+)"/).message(user('{"a":[1],"pin": "123456"}')).content).toEqual([
      text(`{"a":[1],"pin": "${mark}"}`),
    ])
    expect(rule(/"pin": \d+/).text('{"pin": 123456, "n": 1}')).toBe(`{"pin": "${mark}", "n": 1}`)
    expect(rule(/\S+@\S+/).text('{"to":"me@x.y","n":1}')).toBe(`{"to":"${mark}","n":1}`)
    expect(rule(/"hidden"/).text('["hidden", "hidden ones"]')).toBe(`["${mark}", "hidden ones"]`)
    const lines = JSON.stringify({ text: 'one\nsecret', more: 'x' })
    expect(rule(/secret.*/).text(lines)).toBe(lines.replace('secret', mark))
  })

  it.each<readonly [value: string, pattern: RegExp, redacted: string]>([
    ['code 12, 34', /"a":"code (?<secret>\d+)/, 'code [redacted pin, 2 characters], 34'],
    ['code 12, 34', /"a":"(?<secret>\w+)/, '[redacted pin, 4 characters] 12, 34'],
    ['code 12, 34', /"a":".* (?<secret>\d+)"/, 'code 12, [redacted pin, 2 characters]'],
    ['[12, 34]', /"a":"(?<secret>.*)"/, '[redacted pin, 8 characters]'],
    ['[12, 34]', /"a":"\[(?<secret>\d+)/, '[12, 34]'],
    ['[12, 34]', /"a":"(?<secret>\[\d+)/, '[12, 34]'],
    ['[12, 34]', /"a":".*(?<secret>34\])"/, '[12, 34]'],
  ])('takes any part of a text by its key, but all of JSON or nothing: %s by %s', (value, pattern, redacted) => {
    const redactor = createRedactor({ rules: [{ name: 'pin', pattern }], secrets: false })
    expect(JSON.parse(redactor.text(JSON.stringify({ a: value })))).toEqual({ a: redacted })
  })

  it('keeps binary data in the strings of JSON', () => {
    const redactor = createRedactor({ rules: [{ name: 'q', pattern: /Q{20}/ }] })
    const image = `data:image/jpeg;base64,/9j/${'Q'.repeat(20)}${letters}`
    expect(JSON.parse(redactor.text(JSON.stringify({ image, more: 'Q'.repeat(20) })))).toEqual({
      ...{ image, more: '[redacted q, 20 characters]' },
    })
  })

  it('finds its words in any case if its pattern ignores case', () => {
    const redactor = createRedactor({ rules: [{ name: 'pin', pattern: /pin \d+/i, words: ['Pin'] }] })
    expect(redactor.text('my PIN 1234')).toBe('my [redacted pin, 8 characters]')
    const other = createRedactor({ rules: [{ name: 'pin', pattern: /pin \d+/i, words: ['p.n', 'x'] }] })
    expect(other.text('my PIN 1234')).toBe('my PIN 1234')
  })

  it('is matched against each JSON string separately', () => {
    const redactor = createRedactor({ rules: [{ name: 'line', pattern: /^secret: .+$/ }], secrets: false })
    expect(redactor.text('{"a":"secret: x","b":"\\u0073ecret: \\"y\\"","c":"no"}')).toBe(
      '{"a":"[redacted line, 9 characters]","b":"[redacted line, 11 characters]","c":"no"}',
    )
    const across = createRedactor({ rules: [{ name: 'line', pattern: /one","two/ }], secrets: false })
    expect(across.text('["one","two"]')).toBe('["one","two"]')
    expect(across.text('"one","two"')).toBe('"[redacted line, 9 characters]"')
  })

  it('gives the length of what it removed, without the escapes of any JSON around it', () => {
    const redactor = createRedactor({ rules: [{ name: 'line', pattern: /^secret: .+$/ }], secrets: false })
    let [output, clean] = ['secret: "\t"', '[redacted line, 11 characters]']
    for (let depth = 0; depth < 3; depth++) {
      ;[output, clean] = [JSON.stringify({ a: output }), JSON.stringify({ a: clean })]
      expect(redactor.text(output)).toBe(clean)
    }
  })
})

describe('streamed text', () => {
  const said = (event: object, more: object = {}): [RunEvent, never] => [
    { type: 'model_event', seq: 1, step: 0, event } as RunEvent,
    { id: 'd1', together: false, events: [], ...more } as never,
  ]
  const journaled = async (whole: string, size: number): Promise<string> => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', redact: true }))
    const handler = sessionHandler(session, { journalEvery: { bytes: 1 }, lease: false })
    await handler({ type: 'step_start', seq: 0, step: 0, len: 0 }, { id: 'd1', together: false, events: [] })
    for (let at = 0; at < whole.length; at += size)
      await handler(...said({ type: 'text_delta', block: 'text', index: 0, text: whole.slice(at, at + size) }))
    await handler(...said({ type: 'block_end', index: 0, part: text(whole) }))
    const notes = (await ok(store.read('s'))).map(({ body }) => body)
    const pieces = notes.flatMap((body) => (JSON.parse(body) as { said?: readonly JournalBlock[] }).said ?? [])
    expect(pieces.map(({ text: piece, part }) => piece ?? part?.['text']).join('')).toBe(clean(whole))
    expect(pieces.length).toBeGreaterThan(1)
    return notes.join('\n')
  }

  it('property: the journal has no secret, and its pieces form the text', async () => {
    const token = 'abcdefghij0123456789abcdefghij'
    const key = ['-----BEGIN PRIVATE KEY-----', letters, letters, '-----END PRIVATE KEY-----'].join('\n')
    const piece = fc.constantFrom(`${secret}`, `Authorization: Bearer ${token}`, key, 'some words ', '\u{1f600}\n', 'x')
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 30 }),
        async (all, size) => {
          const notes = await journaled(`a ${all.join(' ')} z z`, size)
          for (const hidden of [secret, token, letters]) expect(notes).not.toContain(hidden)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('waits for the last white space and the end of a key', () => {
    const { ready } = createRedactor()
    expect([ready('a b'), ready('a b', 2), ready('a bcd e', 2), ready('abc')]).toEqual([2, 2, 6, 0])
    const key = 'x -----BEGIN PRIVATE KEY-----\nab\n-----END PRIVATE KEY-----'
    expect([ready(key.slice(0, 32)), ready(key, 2), ready(`${key} y`, 2)]).toEqual([2, 2, key.length + 1])
    expect(ready(`-----BEGIN${' no key'.repeat(20_000)} x`)).toBe(140_011)
  })

  it('is rescanned per proportional growth, not per chunk', async () => {
    let asked = 0
    const redactor = createRedactor()
    const counting = {
      ...redactor,
      quiet: { ...redactor.quiet, ready: (...given: [string, number?]) => (asked++, redactor.ready(...given)) },
    }
    const session = await ok(createSession(memoryStore(), { id: 's' }))
    const handler = sessionHandler(session, { journalEvery: { bytes: 1 }, lease: false, redact: counting })
    await handler({ type: 'step_start', seq: 0, step: 0, len: 0 }, { id: 'd1', together: false, events: [] })
    for (let count = 0; count < 4000; count++)
      await handler(...said({ type: 'text_delta', block: 'text', index: 0, text: 'abcdefghij' }))
    expect(asked).toBeLessThan(120)
  })
})

describe('the built-in rules', () => {
  it('repeat only single character classes without a bound', () => {
    for (const { name, pattern, words } of secretRules) {
      const shape = pattern.source.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'c')
      for (const [quantified] of shape.matchAll(/.(?:\*|\+|\{\d+,\})/g))
        expect([name, quantified]).toEqual([name, expect.stringMatching(/^[c=]/)])
      expect(words?.length).toBeGreaterThan(0)
    }
  })
})

describe('spans of a text', () => {
  const span = (start: number, end: number, rule?: string) => ({ start, end, ...(rule !== undefined && { rule }) })

  it('are merged so that none overlaps, and cover the same text', () => {
    expect(mergeSpans([])).toEqual([])
    const merged = mergeSpans([
      span(4, 8, 'b'),
      span(0, 2, 'a'),
      span(2, 4, 'x'),
      span(5, 7, 'inside'),
      span(4, 8, 'same'),
    ])
    expect(merged).toEqual([span(0, 2, 'a'), span(2, 4, 'x'), span(4, 8, 'b')])
    expect(mergeSpans([span(3, 6, 'b'), span(0, 4, 'a'), span(0, 3, 'short')])).toEqual([
      span(0, 3, 'a'),
      span(3, 6, 'b'),
    ])
  })
  it('are clipped and moved', () => {
    const one = span(2, 5, 'a')
    expect(clipSpan(one, 0, 9)).toBe(one)
    expect(shiftSpan(one, 0)).toBe(one)
    expect([clipSpan(one, 3, 9), clipSpan(one, 0, 4), clipSpan(one, 5, 9), clipSpan(one, 0, 2)]).toEqual([
      span(3, 5, 'a'),
      span(2, 4, 'a'),
      undefined,
      undefined,
    ])
    expect(shiftSpan(one, -2)).toEqual(span(0, 3, 'a'))
    const clean = { text: 'x', found: [{ rule: 'b', length: 9 }] }
    expect(clipSpan({ ...span(2, 5), clean }, 3, 9)).toEqual(span(3, 5, 'b'))
    expect(clipSpan(span(2, 5), 3, 9)).toEqual(span(3, 5))
  })
  it('are replaced by marks, by what they have become, or not at all', () => {
    const found = [{ rule: 'b', length: 9 }]
    const spans = [
      span(0, 1, 'a'),
      span(2, 3),
      { ...span(4, 5), clean: { text: 'X', found } },
      { ...span(5, 6, 'c'), length: 7 },
    ]
    expect(replaceSpans('0123456', spans)).toEqual({
      text: '[redacted a, 1 characters]123X[redacted c, 7 characters]6',
      found: [{ rule: 'a', length: 1 }, ...found, { rule: 'c', length: 7 }],
    })
    expect(replaceSpans('0123', [span(1, 2)])).toEqual({ text: '0123', found: [] })
  })
  it('of unescaped text are those of the escapes', () => {
    const at = (text: string, start: number, end: number): string | undefined => {
      const [found] = spansInEscaped([span(start, end)], text)
      return found && text.slice(found.start, found.end)
    }
    expect(at('a\\n\\u0041b', 1, 3)).toBe('\\n\\u0041')
    expect(at('\\u{41}%42\\x43d', 0, 3)).toBe('\\u{41}%42\\x43')
    expect(at('\\u{1F600}b', 2, 3)).toBe('b')
    expect(at('\\u{0001F600}b', 2, 3)).toBe('b')
    expect(at('\\u{0000041}b', 1, 2)).toBe('b')
    expect(at('ab', 1, 2)).toBe('b')
    expect(spansInEscaped([], 'a')).toEqual([])
  })
  it('of base64 are those that decode to text with a secret, and binary data', () => {
    const rules = [{ name: 'r', words: ['key'], pattern: /key-\d/g, overlap: 0 }]
    const of = (data: string) => spanOfBase64(data, rules)
    expect(of(base64('the key-1'))?.clean).toEqual({
      text: base64('the [redacted r, 5 characters]'),
      found: [{ rule: 'r', length: 5 }],
    })
    const safe = base64('key-1 \u07ff\u07fe?>').replaceAll('+', '-').replaceAll('/', '_')
    expect(safe).toMatch(/[-_]/)
    expect(of(safe)?.clean?.found).toHaveLength(1)
    expect([of(base64('nothing')), of('A'.repeat(63)), of(`${'A'.repeat(63)}=`)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect([of('A'.repeat(64)), of(`${'A'.repeat(66)}==`)]).toEqual([span(0, 64), span(0, 68)])
  })
  it('of the strings in JSON have their keys, and whose arguments they are in', () => {
    const strings = (text: string): unknown =>
      stringsOf(text, false)?.map(({ start, end, isKey, name, within }) => [
        text.slice(start, end),
        isKey ? 'key' : name,
        within.isForeign,
      ])
    expect(strings(' {"a" : "b\\"", "c":["d",{"e":"f"}], "g":1}')).toEqual([
      ['a', 'key', false],
      ['b\\"', 'a', false],
      ['c', 'key', false],
      ['d', undefined, false],
      ['e', 'key', false],
      ['f', 'e', false],
      ['g', 'key', false],
    ])
    expect(strings('{"args":{"id":["x",{"y":"z"}]},"input":"w","id":"v"}')).toEqual([
      ['args', 'key', false],
      ['id', 'key', true],
      ['x', undefined, true],
      ['y', 'key', true],
      ['z', 'y', true],
      ['input', 'key', false],
      ['w', 'input', false],
      ['id', 'key', false],
      ['v', 'id', false],
    ])
    expect([strings('"a"'), strings('{"a"'), strings('a {}'), strings('[]')]).toEqual([
      undefined,
      undefined,
      undefined,
      [],
    ])
  })
})
