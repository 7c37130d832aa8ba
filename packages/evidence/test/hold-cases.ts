/** Holds against removals and erasures at the same moment, by two handles of a store. */
import { createSession, user } from 'indelible'
import { holdSession, readLedger, releaseSession } from '@indelible/evidence'
import { describeSession, eraseMessages } from 'indelible/session'
import type { Store } from 'indelible/store'
import { expect, it } from 'vitest'
import { rounds } from '../../../test/rounds.ts'

/** So often, each time at another moment: the later of two begins some turns of the queue of promises after the other. */
const times = rounds(16, 400)
const later = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn++) await undefined
}

/** In the first rounds one ends before the other begins, so each order is there however fast the store is. */
const raced = async <A, B>(
  round: number,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<readonly [A, B]> => {
  if (round === 0) return [await first(), await second()]
  if (round === 1) {
    const ended = await second()
    return [await first(), ended]
  }
  const turns = round * 2
  return Promise.all([later(round % 2 === 0 ? 0 : turns).then(first), later(round % 2 === 0 ? turns : 0).then(second)])
}

export const holdCases = (name: string, open: () => Promise<readonly [Store, Store]>): void => {
  it(`${name}: a session is held or removed, never both`, async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < times; round++) {
      const [a, b] = await open() // the first row makes the ledger
      if (round % 5 > 0) {
        await createSession(a, { id: 'another' })
        await holdSession(b, 'another')
      }
      await createSession(a, { id: 's', messages: [user('hello')] })
      const remove = () => a.remove('s')()
      const hold = () => holdSession(b, 's', { reason: 'case 14' })()
      const [removed, held] = await raced(round, remove, hold)
      const there = await describeSession(a, 's')()
      outcomes.add(there._tag)
      expect([removed._tag, held._tag]).toEqual(there._tag === 'Left' ? ['Right', 'Left'] : ['Left', 'Right'])
      if (removed._tag === 'Left') expect(removed.left).toMatchObject({ _tag: 'LogHeld', reason: 'case 14' })
      if (held._tag === 'Left') expect(held.left).toMatchObject({ _tag: 'NoSuchLog' })
      if (there._tag === 'Left') expect(heldIn(await readLedger(a)())).not.toContain('s')
      await b.close()
      await a.close()
    }
    expect([...outcomes].toSorted()).toEqual(['Left', 'Right'])
  })

  it(`${name}: a message is held or erased, never both`, async () => {
    const [a, b] = await open()
    for (let round = 0; round < times; round++) {
      const id = `s${round}`
      await createSession(a, { id, messages: [user('hello')] })
      const [erased, held] = await Promise.all([
        later(round % 2 === 0 ? 0 : round).then(() => eraseMessages(a, id, [0])()),
        later(round % 2 === 0 ? round : 0).then(() => holdSession(b, id)),
      ])
      const content = await readLedger(a)
      const before = content.erasures.find((erasure) => erasure.id === id)
      const row = content.held.get(id)?.row ?? -1
      expect(held.size).toBeGreaterThan(row)
      if (erased._tag === 'Left') expect([before, erased.left._tag]).toEqual([undefined, 'LogHeld'])
      else expect(before?.row ?? Infinity).toBeLessThan(row)
      await releaseSession(b, id)
    }
    await b.close()
    await a.close()
  })
}

const heldIn = (read: Awaited<ReturnType<ReturnType<typeof readLedger>>>): readonly string[] =>
  read._tag === 'Left' ? [] : [...read.right.held.keys()]
