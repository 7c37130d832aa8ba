/**
 * A digest of everything that a property was given: a change that no law forbids is seen, too. It does not say what has
 * changed. Read the change, then write the new digest down.
 */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { isShort } from './rounds.ts'

/** With other rounds or another seed a property draws other values. */
const isUsual = isShort && process.env['INDELIBLE_SEED'] === undefined

export class Outputs {
  readonly #hash = createHash('sha256')

  add(...values: readonly unknown[]): void {
    for (const value of values)
      this.#hash.update(JSON.stringify(value, (_, each: unknown) => (each instanceof Map ? [...each] : each)) ?? '-')
  }

  expectToBe(digest: string): void {
    const found = this.#hash.digest('hex').slice(0, 16)
    if (isUsual) expect(found).toBe(digest)
  }
}
