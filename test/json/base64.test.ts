/** Base64 as text and as bytes. */
import { Buffer, isUtf8 } from 'node:buffer'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyCharacters } from '../any-characters.ts'
import type * as base64 from '../../src/json/base64.ts'
import { base64Of, bytesOfBase64, textOfUtf8, utf8Of } from '../../src/json/index.ts'

it('property: bytes round-trip through the base64 that Node writes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = base64Of(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64'))
      expect(bytesOfBase64(text)).toEqual(bytes)
    }),
  )
})

it("property: texts and their UTF-8 match Node's", () => {
  fc.assert(
    fc.property(anyCharacters(), fc.uint8Array(), (text, bytes) => {
      expect(Buffer.compare(utf8Of(text), Buffer.from(text))).toBe(0)
      expect(textOfUtf8(utf8Of(text))).toBe(text.toWellFormed())
      const isText = isUtf8(bytes)
      if (isText) expect(textOfUtf8(bytes)).toBe(Buffer.from(bytes).toString())
      else expect(() => textOfUtf8(bytes)).toThrow(TypeError)
    }),
  )
  expect(textOfUtf8(utf8Of('\ufeffa'))).toBe('\ufeffa')
})

it.each(['a', 'aGk', 'aGk=aGk=', 'a-k=', 'aGl=', ' aGk', 'aGk\n'])('%j is not decoded', (text) => {
  expect(bytesOfBase64(text)).toBeUndefined()
})

it('each function names the global that its sandbox lacks, when it is called and not before', async () => {
  const lacking = ['atob', 'btoa', 'TextEncoder', 'TextDecoder'].map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor] as const,
  )
  const apart = '../../src/json/base64.ts?sandbox'
  for (const [name] of lacking) Reflect.deleteProperty(globalThis, name)
  const module = import(apart) as Promise<typeof base64>
  const sandboxed = await module.finally(() => {
    for (const [name, descriptor] of lacking) Object.defineProperty(globalThis, name, descriptor)
  })
  const lacks = (name: string): TypeError => new TypeError(`${name} is needed, but this runtime has none`)
  expect(() => sandboxed.bytesOfBase64('AA==')).toThrow(lacks('atob'))
  expect(() => sandboxed.base64Of(new Uint8Array(1))).toThrow(lacks('btoa'))
  expect(() => sandboxed.utf8Of('a')).toThrow(lacks('TextEncoder'))
  expect(() => sandboxed.textOfUtf8(new Uint8Array(1))).toThrow(lacks('TextDecoder'))
})
