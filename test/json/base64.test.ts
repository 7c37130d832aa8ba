/** Base64 as text and as bytes. */
import { Buffer } from 'node:buffer'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { base64Of, bytesOfBase64 } from '../../src/json/index.ts'

it('law: bytes are given back, in the base64 that Node writes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = base64Of(bytes)
      expect(text).toBe(Buffer.from(bytes).toString('base64'))
      expect(bytesOfBase64(text)).toEqual(bytes)
    }),
  )
})

it.each(['a', 'aGk', 'aGk=aGk=', 'a-k=', 'aGl=', ' aGk', 'aGk\n'])('no bytes are read from %j', (text) => {
  expect(bytesOfBase64(text)).toBeUndefined()
})
