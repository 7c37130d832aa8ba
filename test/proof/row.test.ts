/** The leaf of a row. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { portableSha256, rowLeaf } from '../../src/proof/internal.ts'

const hash = portableSha256

it("a row's leaf is the SHA-256 of its kind, time, salt and body, in the documented bytes", () => {
  const salt = '0123456789abcdef'.repeat(2)
  for (const at of [0, 1, 255, 0x1234_5678, 0x89ab_cdef, 2 ** 32, 1_764_291_909_123, -1, -1_764_291_909_123])
    for (const body of ['', 'a', 'ünï🙂', 'long '.repeat(20_000)])
      for (const [kind, salted, mark] of [
        ['entry', undefined, 2],
        ['note', undefined, 3],
        ['entry', salt, 6],
        ['note', salt, 7],
      ] as const) {
        const time = Buffer.alloc(8)
        time.writeBigInt64BE(BigInt(at))
        const bytes = Buffer.concat([Buffer.of(0, mark), time, Buffer.from(salted ?? '', 'hex'), Buffer.from(body)])
        const leaf = Buffer.from(rowLeaf({ kind, body, at, ...(salted !== undefined && { salt: salted }) }, hash))
        expect([at, kind, leaf.toString('hex')]).toEqual([at, kind, createHash('sha256').update(bytes).digest('hex')])
      }
})

it('hashing is loaded where there is no TextEncoder', async () => {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'TextEncoder') as PropertyDescriptor
  const apart = '../../src/proof/row.ts?sandbox'
  Reflect.deleteProperty(globalThis, 'TextEncoder')
  const module = import(apart) as Promise<{ readonly rowLeaf: typeof rowLeaf }>
  const loaded = await module.finally(() => Object.defineProperty(globalThis, 'TextEncoder', descriptor))
  expect(loaded.rowLeaf).toBeTypeOf('function')
})
