/** The proof that the page computes: it names every altered row, counts what it hashed, and continues where it ended. */
import { expect, it } from 'vitest'
import { createSession, memoryStore, user } from 'indelible'
import { proofOf } from '../../page/src/proof/proof.ts'
import type { SessionRecord } from '../../page/src/data/record.ts'
import type { ViewedRow } from '../../src/protocol.ts'
import { nodesOf, rowsOf, sessionOf } from '../../src/server/read-view.ts'

/** As much of a record as the proof reads, of a session whose rows were changed on the way. */
const recordOf = async (length: number, change: (row: ViewedRow) => ViewedRow): Promise<SessionRecord> => {
  const store = memoryStore()
  const messages = Array.from({ length }, (_, index) => user(`line ${index}`))
  await createSession(store, { id: 's', messages })
  const rows = (await rowsOf(store, 's', 0, length)).map(change)
  const source = { nodes: (id: string, from: number, to: number) => nodesOf(store, id, from, to) }
  const [info, blocks] = [{ value: await sessionOf(store, 's') }, new Map()]
  return { id: 's', info, rows, source, entries: [], notes: [], blocks } as unknown as SessionRecord
}

const said = (row: ViewedRow): ViewedRow => ({ ...row, body: (row.body ?? '').replace('line', 'lie') })
const unread = ({ position, kind, index }: ViewedRow): ViewedRow => ({ position, kind, index })
const prove = (record: SessionRecord) => proofOf(record, undefined, () => {})

it('a session that was not changed has the stated head', async () => {
  const proof = await prove(await recordOf(21, (row) => row))
  expect([proof.damaged.size, proof.hashed, proof.computed]).toEqual([0, 21, proof.stated])
})

it('every altered row is named, and every row is counted', async () => {
  for (const altered of [[0], [20], [3, 4, 7], [0, 1, 2, 15, 16, 20]]) {
    const proof = await prove(await recordOf(21, (row) => (altered.includes(row.position) ? said(row) : row)))
    expect([...proof.damaged.keys()]).toEqual(altered)
    expect(
      [...proof.damaged.values()].every(
        (damagedRow) => damagedRow.altered && damagedRow.reason.includes('was altered'),
      ),
    ).toBe(true)
    expect([proof.hashed, proof.computed.size]).toEqual([21, 21])
    expect(proof.computed.root).not.toBe(proof.stated.root)
  }
})

it('a row that can not be read is named, and the rows behind it are compared', async () => {
  const record = await recordOf(21, (row) => (row.position === 5 ? unread(row) : row.position === 12 ? said(row) : row))
  const proof = await prove(record)
  expect([...proof.damaged].map(([row, { reason }]) => [row, reason])).toEqual([
    [5, 'the row could not be read'],
    [12, 'the row was altered after it was appended'],
  ])
  expect([proof.hashed, proof.computed.size]).toEqual([20, 5])
})

it('a proof of a longer record continues the one before it', async () => {
  for (const altered of [-1, 2, 9]) {
    const record = await recordOf(21, (row) => (row.position === altered ? said(row) : row))
    const { head } = record.info.value
    const shorter = await prove({ ...record, info: { value: { head: { ...head, size: 8 } } } } as SessionRecord)
    const proof = await proofOf(record, shorter, () => {})
    const whole = await prove(record)
    expect({ ...proof, range: 0, storedRange: 0 }).toEqual({ ...whole, range: 0, storedRange: 0 })
  }
})
