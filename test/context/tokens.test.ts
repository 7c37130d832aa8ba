/** Counting tokens: the estimate beside an exact tokenizer, and images and files beside what providers count. */
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { createHistory, file, image, system, textOf, user, type Message } from 'indelible'
import { deriveContext, estimateTokens } from 'indelible/context'
import { estimatorOf, imageTokens, textTokens } from '../../src/context/internal.ts'
import { cl100k, o200k } from 'indelible/context/gpt-tokenizer'
import { recordOf } from './conversations.ts'

const exact = estimatorOf(o200k)

describe('the token estimate', () => {
  it('is at most 15 % above the exact count on prose', () => {
    for (const path of ['README.md', 'docs/contexts.md', 'docs/run.md', 'docs/sessions.md']) {
      const prose = readFileSync(path, 'utf8').replaceAll(/```[\s\S]*?```/g, '')
      expect(textTokens(prose)).toBeGreaterThan(o200k(prose))
      expect(textTokens(prose)).toBeLessThan(1.15 * o200k(prose))
    }
  })
  it('is not too low on numbers, paths, data and other scripts', () => {
    const rows = Array.from({ length: 300 }, (_, row) => row)
    const texts = {
      numbers: rows.map((row) => `${row * 7.31}, ${row ** 3}, -${row / 7}`).join('\n'),
      paths: rows.map((row) => `/usr/lib/node_modules/pkg-${row}/dist/esm/index_${row * 31}.d.ts`).join('\n'),
      json: JSON.stringify(rows.map((row) => ({ id: row, name: `item ${row}`, ok: row % 2 === 0 }))),
      hex: rows.map((row) => (row * 2_654_435_761).toString(16)).join(''),
      chinese: '请修复构建失败的问题，并在提交之前运行所有测试。'.repeat(20),
      russian: 'Исправьте ошибку сборки и запустите все тесты перед коммитом. '.repeat(20),
    }
    for (const [name, text] of Object.entries(texts)) {
      expect([name, textTokens(text) >= 0.97 * o200k(text)]).toEqual([name, true])
      expect([name, textTokens(text) <= 1.6 * o200k(text)]).toEqual([name, true])
    }
  })
})

describe('gpt-tokenizer', () => {
  it('counts like the model, with special tokens as plain text', () => {
    expect(o200k('hello world')).toBe(2)
    expect(cl100k('hello world')).toBe(2)
    expect(o200k('<|endoftext|>')).toBeGreaterThan(1)
  })
  it('can be used as the estimator, and contexts stay within its budget', () => {
    const view = createHistory<Message>({
      from: [system('Be brief.'), ...Array.from({ length: 50 }, (_, n) => user(`Question ${n}: ${'why '.repeat(50)}`))],
    }).view()
    const derived = deriveContext(view, { budget: 1000, tokenizer: o200k })
    if (isLeft(derived)) throw new Error(derived.left._tag)
    const tokens = [...derived.right.messages].reduce((sum, message) => sum + exact(message), 0)
    expect(tokens).toBe(derived.right.tokens)
    expect(tokens).toBeLessThanOrEqual(1000)
    expect(estimatorOf(o200k)).toBe(exact)
  })
})

describe('attachment tokens', () => {
  const base64 = (bytes: readonly number[]): string => Buffer.from(bytes).toString('base64')
  const png = (width: number, height: number): string => {
    const header = Buffer.alloc(33)
    header.write('\x89PNG\r\n\x1a\n', 'latin1')
    header.write('IHDR', 12, 'latin1')
    header.writeUInt32BE(width, 16)
    header.writeUInt32BE(height, 20)
    return header.toString('base64')
  }
  const tokensOf = (data: string, mediaType: string): number =>
    estimateTokens(user(image({ type: 'base64', data, mediaType }))) - estimateTokens(user(''))

  it("follow each provider's rules", () => {
    expect([200, 1000, 1092].map((side) => imageTokens(side, side, 'anthropic'))).toEqual([64, 1296, 1521])
    expect(imageTokens(8000, 8000, 'anthropic')).toBe(4784)
    expect([2576, 2577, 3000].map((width) => imageTokens(width, 20, 'anthropic'))).toEqual([92, 92, 92]) // scaled to 2,576
    expect([imageTokens(1024, 1024, 'openai'), imageTokens(2048, 4096, 'openai')]).toEqual([765, 1105])
    expect([imageTokens(2048, 1536, 'openai'), imageTokens(769, 768, 'google')]).toEqual([765, 516])
    expect([imageTokens(300, 300, 'google'), imageTokens(1536, 768, 'google')]).toEqual([258, 516])
  })
  it('are counted by the pixels in the image header, not by base64 length', () => {
    expect(tokensOf(png(1000, 1000), 'image/png')).toBe(imageTokens(1000, 1000))
    const gif = base64([...Buffer.from('GIF89a'), 0x90, 0x01, 0x2c, 0x01])
    expect(tokensOf(gif, 'image/gif')).toBe(imageTokens(400, 300))
    const jpeg = base64([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc0, 0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3, 1, 1])
    expect(tokensOf(jpeg, 'image/jpeg')).toBe(imageTokens(800, 600))
    const torn = base64([0xff, 0xd8, 0, 0xc0, 0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3, 1, 1, 0, 0]) // no marker where one must be
    expect(tokensOf(torn, 'image/jpeg')).toBe(tokensOf(base64([0xff, 0xd8]), 'image/jpeg'))
    const webp = (kind: string, ...bytes: readonly number[]): string =>
      base64([...Buffer.from(`RIFF....WEBP${kind}`), ...bytes])
    const zeros = (count: number): readonly number[] => Array.from({ length: count }, () => 0)
    const lossy = webp('VP8 ', ...zeros(10), 0xe8, 0x43, 0x20, 0x83)
    expect(tokensOf(lossy, 'image/webp')).toBe(imageTokens(1000, 800))
    const lossless = webp('VP8L', ...zeros(5), 0xe7, 0xc3, 0xc7, 0x10)
    expect(tokensOf(lossless, 'image/webp')).toBe(imageTokens(1000, 800))
    const extended = webp('VP8X', ...zeros(8), 0x6f, 0x11, 0x01, 0x1f, 0x03, 0x02)
    expect(tokensOf(extended, 'image/webp')).toBe(imageTokens(70_000, 131_872))
    expect(tokensOf(png(70_000, 131_872), 'image/png')).toBe(imageTokens(70_000, 131_872))
    for (const [width, height] of [[0, 5], [5, 0]] as const) expect(tokensOf(png(width, height), 'image/png')).toBe(1600) // oxfmt-ignore
    expect(tokensOf(png(1, 1), 'image/png')).toBe(imageTokens(1, 1))
    const large = `${png(100, 100)}${'A'.repeat(4_000_000)}`
    expect(tokensOf(large, 'image/png')).toBe(imageTokens(100, 100))
    expect(tokensOf('bm90IGFuIGltYWdl', 'image/png')).toBe(1600)
  })
  it('are counted by size for audio and video: 32 and 263 tokens a second, of 64 kbit and 1 Mbit', () => {
    const frame = estimateTokens(user(''))
    const tokensOfFile = (characters: number, mediaType: string): number =>
      estimateTokens(user(file({ type: 'base64', data: 'A'.repeat(characters), mediaType }))) - frame
    expect([tokensOfFile(4436, 'video/mp4'), tokensOfFile(4436 - 4, 'video/mp4')]).toEqual([8, 7])
    expect([tokensOfFile(10_668, 'audio/mpeg'), tokensOfFile(10_668 - 4, 'audio/mpeg')]).toEqual([33, 32])
  })
  it('are counted by pages for a PDF and by characters for text', () => {
    const pdf = Buffer.from(`%PDF-1.7 ${'<< /Type /Page >> '.repeat(3)} << /Type /Pages >>`).toString('base64')
    const frame = estimateTokens(user(''))
    expect(estimateTokens(user(file({ type: 'base64', data: pdf, mediaType: 'application/pdf' }))) - frame).toBe(9000)
    const words = 'plain words of a file '.repeat(100)
    const plain = { type: 'base64', data: Buffer.from(words).toString('base64'), mediaType: 'text/plain' } as const
    expect(estimateTokens(user(file(plain))) - frame).toBe(textTokens(words))
  })
})

it('a JPEG has the size of its first frame, whichever kind, after the blocks before it', () => {
  const sizeOf = (marker: number): number => {
    const frame = [0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3, 1, 1]
    const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe1, 1, 2, ...Buffer.alloc(256), 0xff, marker, ...frame])
    const part = image({ type: 'base64', data: jpeg.toString('base64'), mediaType: 'image/jpeg' })
    return estimateTokens(user(part)) - estimateTokens(user(''))
  }
  const frames = [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc7, 0xc9, 0xcb, 0xcd, 0xcf]
  expect(frames.map(sizeOf)).toEqual(frames.map(() => imageTokens(800, 600)))
  const others = [0xbf, 0xc4, 0xc8, 0xcc, 0xd0]
  expect(others.map(sizeOf)).toEqual(others.map(() => 1600))
})

describe('an estimator or tokenizer that returns no number of tokens', () => {
  const view = recordOf(Array.from({ length: 40 }, (_, index) => user(`message ${index}`)))
  it.each([
    [Number.NaN, 'NaN'],
    [-1, '-1'],
    [Infinity, 'Infinity'],
    ['7', '"7"'],
  ])('is refused with its result, %s', (found, output) => {
    const only = (at: number) => (message: Message) => (textOf(message) === `message ${at}` ? (found as number) : 10)
    expect(() => deriveContext(view, { budget: 500, estimate: only(3) })).toThrow(
      `the estimator returned ${output} for position 3; expected a number of tokens: finite, at least 0`,
    )
    expect(() => deriveContext(view, { budget: 500, tokenizer: () => found as number })).toThrow(
      `the tokenizer returned ${output} for the text "message 0"; expected a number of tokens`,
    )
  })
  it('is not what returns a fraction: that is rounded up, and each message is counted once', () => {
    const calls = new Map<Message, number>()
    const estimate = (message: Message): number => {
      calls.set(message, (calls.get(message) ?? 0) + 1)
      return 9.5
    }
    const derived = deriveContext(view, { budget: 500, estimate })
    expect(derived).toMatchObject({ right: { tokens: 400 } })
    expect([...view].map((message) => calls.get(message))).toEqual([...view].map(() => 1))
  })
})
