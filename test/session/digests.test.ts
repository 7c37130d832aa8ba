/** How many digests a session costs when it is opened: counted, not timed. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createSession, memoryStore, openSession, user } from 'indelible'
import { ok } from '../task-results.ts'

describe('opening a session', () => {
  it('computes one SHA-256 per row and per node between the rows and the head', async () => {
    const lengths: number[] = []
    const hash = (bytes: Uint8Array): Uint8Array => {
      lengths.push(bytes.length)
      return createHash('sha256').update(bytes).digest()
    }
    const store = memoryStore({ hash })
    const session = await ok(createSession(store, { id: 's' }))
    const text = 'a text that is longer than two digests. '.repeat(4)
    for (const count of [1, 2, 5, 92]) {
      await ok(session.append(Array.from({ length: count }, (_, index) => user(`${text}${index}`))))
      const { size } = session.head()
      const peaks = size.toString(2).replaceAll('0', '').length
      lengths.length = 0
      await ok(openSession(store, 's'))
      const node = 65
      expect(lengths.filter((length) => length > node).length).toBe(size)
      // The nodes below the peaks, and those that join the peaks to the root.
      expect(lengths.filter((length) => length === node).length).toBe(size - peaks + (peaks - 1))
      expect(lengths.filter((length) => length < node).length).toBe(1) // the tree without rows
    }
  })
})
