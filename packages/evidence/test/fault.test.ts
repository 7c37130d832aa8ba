/** The sentences of the faults of evidence. */
import { evidenceFaultMessage, type AnyEvidenceFault, type LedgerMismatch } from '@indelible/evidence'
import { mismatchText } from '../src/internal.ts'
import { expect, it } from 'vitest'

const expected = { size: 3, root: 'ab'.repeat(32) }
const recorded = 'the ledger records 3 rows with root abababababab…'
const mismatches: readonly (readonly [LedgerMismatch, string])[] = [
  [
    { id: 'a', what: 'missing', expected },
    `session "a" is not in the store, and its removal is not recorded: ${recorded}`,
  ],
  [{ id: 'a', what: 'cut', expected, found: { size: 2, root: '' } }, `session "a" has only 2 rows: ${recorded}`],
  [
    { id: 'a', what: 'replaced', expected, found: { size: 3, root: '' } },
    `session "a" has different rows than those recorded: ${recorded}`,
  ],
  [
    { id: 'a', what: 'altered', expected, position: 1, reason: 'its text is not its digest' },
    'session "a" is damaged at row 1: its text is not its digest',
  ],
  [{ id: 'a', what: 'present', expected }, 'session "a" is in the store, but the ledger records its removal'],
]

it.each(mismatches)('a session that differs from the ledger is described by what differs: $what', (mismatch, text) => {
  expect(mismatchText(mismatch)).toBe(text)
})

it.each<[AnyEvidenceFault, string]>([
  [{ _tag: 'BadNote', reason: 'it is empty' }, 'the text is not a signed note: it is empty'],
  [{ _tag: 'BadKey', reason: 'it is empty' }, 'the text is not a key: it is empty'],
  [{ _tag: 'BadTrust', reason: 'is empty' }, 'the trust file is empty'],
  [
    { _tag: 'BadSignature', name: 'a' },
    'the signature by "a" does not match the text: the text or the signature was changed',
  ],
  [
    { _tag: 'NotSigned', wanted: [], found: ['b', 'c'] },
    'no signature by a trusted key: the trust file has keys of none, and the signatures are by "b", "c"; if you trust that signer, add its key to the trust file',
  ],
  [{ _tag: 'BadCheckpoint', reason: 'it is empty' }, 'the note is not a valid checkpoint: it is empty'],
  [{ _tag: 'BadBundle', reason: 'it is empty' }, 'the bundle is not valid: it is empty'],
  [
    { _tag: 'TooFewWitnesses', wanted: 1, found: [] },
    '1 witness must have signed, found none: ask witnesses with "indelible ledger witness", or lower the quorum',
  ],
  [
    { _tag: 'TooFewWitnesses', wanted: 2, found: ['a'] },
    '2 witnesses must have signed, found "a": ask witnesses with "indelible ledger witness", or lower the quorum',
  ],
  [
    { _tag: 'WitnessRefused', url: 'https://w.example', reason: 'it could not be reached' },
    'the witness at https://w.example did not sign: it could not be reached',
  ],
  [
    { _tag: 'WitnessRefused', url: 'https://w.example', status: 404, reason: 'no such log' },
    'the witness at https://w.example did not sign (HTTP 404): no such log',
  ],
  [{ _tag: 'NoLedger', scope: 'default' }, 'scope "default" has no ledger: create it with "indelible ledger update"'],
  [
    { _tag: 'NoLedger', scope: 'default', missing: 'checkpoint' },
    'the ledger of scope "default" has no signed checkpoint: create one with "indelible ledger sign"',
  ],
  [
    { _tag: 'NotInLedger', id: 'a', rows: 0 },
    'the last signed checkpoint covers no row of session "a": update the ledger, sign a checkpoint, and try again',
  ],
  [
    { _tag: 'NotInLedger', id: 'a', rows: 2 },
    'the last signed checkpoint covers only the first 2 rows of session "a": update the ledger, sign a checkpoint, and try again',
  ],
  [
    { _tag: 'LedgerMismatch', mismatches: mismatches.slice(4).map(([one]) => one) },
    '1 session does not match the ledger: session "a" is in the store, but the ledger records its removal',
  ],
])('a fault of evidence says what failed and what to do next: %o', (fault, text) => {
  expect(evidenceFaultMessage(fault)).toBe(text)
})

it('the fault of a ledger describes at most three of its sessions', () => {
  const all = mismatches.map(([one]) => one)
  const [first, second, third] = mismatches.map(([, text]) => text)
  const textOf = (count: number): string =>
    evidenceFaultMessage({ _tag: 'LedgerMismatch', mismatches: all.slice(0, count) })
  expect(textOf(2)).toBe(`2 sessions do not match the ledger: ${first}; ${second}`)
  expect(textOf(3)).toBe(`3 sessions do not match the ledger: ${first}; ${second}; ${third}`)
  expect(textOf(4)).toBe(`4 sessions do not match the ledger: ${first}; ${second}; ${third}; …`)
})
