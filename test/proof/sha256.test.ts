import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digestOf, portableSha256 } from '../../src/proof/kit.ts'

describe('SHA-256 without Node', () => {
  it('gives what Node gives, for any bytes and any text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: 'binary' }), (bytes, text) => {
        expect([...portableSha256(bytes)]).toEqual([...createHash('sha256').update(bytes).digest()])
        expect(digestOf(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'))
        expect(digestOf(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
      }),
    )
  })
})
