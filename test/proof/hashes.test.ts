/** SHA-256, by Node and by JavaScript. */
import crypto, { createHash } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, it, vi } from 'vitest'
import { digestOf, portableSha256 } from '../../src/proof/internal.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

/** Of each length around the blocks of 64 bytes, and every byte. */
const samples = Array.from({ length: 300 }, (_, length) =>
  Uint8Array.from({ length }, (_, at) => (at * 7 + length) % 256),
)
const expected = samples.map((bytes) => createHash('sha256').update(bytes).digest('hex'))
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

it('SHA-256 matches other implementations', () => {
  expect(samples.map((bytes) => hexOf(portableSha256(bytes)))).toEqual(expected)
  expect(samples.map(digestOf)).toEqual(expected)
  expect(digestOf('ä\u0000')).toBe(createHash('sha256').update('ä\u0000').digest('hex'))
  const [first, second] = [portableSha256(new Uint8Array(1)), portableSha256(new Uint8Array(2))]
  expect([first?.constructor, first.buffer.byteLength]).toEqual([Uint8Array, 32]) // bytes of its own, which no other call writes
  expect(hexOf(first)).not.toBe(hexOf(second))
})

it.each([
  ['no process', { process: undefined }],
  ['no built-in modules', { process: {} }],
  ['other built-in modules', { process: { getBuiltinModule: () => undefined } }],
  ['none that can be asked for', { process: { getBuiltinModule: () => { throw new Error('no') } } }], // oxfmt-ignore
])('SHA-256 is the same where there is %s', async (_, globals) => {
  vi.resetModules()
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  const { digestOf: digestInJavaScript, portableSha256: inJavaScript } = await import('../../src/proof/hashes.ts')
  vi.unstubAllGlobals()
  expect(inJavaScript).not.toBe(portableSha256)
  vi.spyOn(crypto, 'hash').mockImplementation(() => 'forged')
  expect(samples.map((bytes) => hexOf(inJavaScript(bytes)))).toEqual(expected)
  expect(digestInJavaScript('ä')).toBe(createHash('sha256').update('ä').digest('hex'))
})
