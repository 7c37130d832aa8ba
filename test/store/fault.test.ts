/** The sentences of the faults of a store. */
import { expect, it } from 'vitest'
import { seconds, storeFaultText, type StoreFault } from '../../src/store/fault.ts'

const head = (size: number) => ({ size, root: 'ab'.repeat(32) })
const [one, two] = ['ab'.repeat(32), 'cd'.repeat(32)] as never[] as [never, never]
const corrupt = (code: number) => Object.assign(new Error('malformed'), { errcode: code })

it.each<readonly [StoreFault, string]>([
  [{ _tag: 'NoKey', id: 's', key: 'none', reason: 'use a plain store' }, '"s" is not encrypted: use a plain store'],
  [{ _tag: 'NoKey', id: 's', key: 'k', reason: 'no keys' }, '"s" is encrypted and can\'t be read: no keys'],
  [
    { _tag: 'BeyondEnd', id: 's', at: 5, size: 3 },
    '"s" has no position 5: it has 3 rows, and positions are whole numbers from 0',
  ],
  ...(['log', 'scope', 'operation', 'block', 'cursor'] as const).map((what): readonly [StoreFault, string] => [
    { _tag: 'InvalidId', what, reason: 'it is empty' },
    `invalid ${what === 'log' ? 'session or log' : what} id: it is empty${['block', 'cursor'].includes(what) ? '' : '; an id is 1 to 255 bytes of UTF-8 without control characters'}`,
  ]),
  [
    { _tag: 'LeaseHeld', id: 's', holder: 'ann', expires: 0, remaining: 1250 },
    '"s" is in use by "ann", whose lease expires in 1.3 s unless it is renewed; nothing was done: wait, or ask the holder to stop',
  ],
  [{ _tag: 'LogHeld', id: 's' }, '"s" is under a hold; nothing was erased or removed: release the hold first'],
  [
    { _tag: 'LogHeld', id: 's', by: 'ann', reason: 'case 14' },
    '"s" is under a hold by "ann" (case 14); nothing was erased or removed: release the hold first',
  ],
  [
    { _tag: 'InvalidMeta', path: [], reason: 'is not an object' },
    "the metadata can't be stored: it is not an object; nothing was changed",
  ],
  [
    { _tag: 'InvalidMeta', path: ['a', 1], reason: 'is a function' },
    "the metadata can't be stored: a[1] is a function; nothing was changed",
  ],
  [
    { _tag: 'MissingBlock', ids: [one] },
    `1 block is not in this scope of the store, the first ${one}; nothing was appended: store the missing blocks first`,
  ],
  [
    { _tag: 'MissingBlock', ids: [two, one] },
    `2 blocks are not in this scope of the store, the first ${two}; nothing was appended: store the missing blocks first`,
  ],
  [
    { _tag: 'DamagedBlock', ids: [one] },
    `1 stored block is altered, the first ${one}: restore the store from a backup`,
  ],
  [
    { _tag: 'DamagedBlock', ids: [one, two] },
    `2 stored blocks are altered, the first ${one}: restore the store from a backup`,
  ],
  [
    { _tag: 'DamagedLog', id: 's', position: 3, reason: 'a row is missing' },
    '"s" is damaged at row 3: a row is missing; the rows before it are intact: keep the store as it is, and restore the log from a backup',
  ],
  [
    { _tag: 'DamagedLog', id: 's', position: 3, reason: 'a row is missing', advice: 'run a repair' },
    '"s" is damaged at row 3: a row is missing; run a repair',
  ],
  [
    { _tag: 'ReadOnly', path: 'a.db' },
    'a.db is read-only: check the permissions of the file and of its folder, or those of the database role',
  ],
  [
    { _tag: 'ReadOnly', path: 'a.db', full: true },
    'a.db was opened read-only, because no disk space was left; nothing was changed: free space, and open the store again',
  ],
  [
    { _tag: 'Conflict', id: 's', expected: head(2), actual: head(3), missed: [] },
    'another writer appended to "s" first: it has 3 rows, and 2 were expected; nothing was appended: continue from its new end, or fork it at 2',
  ],
  [
    { _tag: 'Diverged', id: 's', expected: head(2), actual: head(3) },
    '"s" is not the record you read: its 3 rows don\'t continue the expected head of 2 rows; nothing was changed: verify it, and read it again',
  ],
  [{ _tag: 'Io', operation: 'read rows', cause: new Error('gone') }, 'the store failed to read rows: gone'],
  [
    { _tag: 'Io', operation: 'append', cause: 'gone', outcome: 'unknown' },
    'the store failed to append: gone; the change may have been made: try again (an append with the same operation id)',
  ],
  ...[11, 11 + 256].map((code): readonly [StoreFault, string] => [
    { _tag: 'Io', operation: 'read rows', cause: corrupt(code) },
    'the store failed to read rows: malformed; the file is damaged: restore it from a backup, or see what "indelible repair" can rebuild',
  ]),
  ...[10, 12, 256, Number.NaN].map((code): readonly [StoreFault, string] => [
    { _tag: 'Io', operation: 'read rows', cause: corrupt(code) },
    'the store failed to read rows: malformed',
  ]),
  [
    { _tag: 'Io', operation: 'open the store', cause: corrupt(11) },
    'the store failed to open the store: malformed; the file is damaged or cut off, so no command can open or repair it: restore it from a backup, and keep this file',
  ],
  [{ _tag: 'Io', operation: 'read rows', cause: null }, 'the store failed to read rows: null'],
])('a fault of a store says what happened, where, and what to do next: %o', (fault, text) => {
  expect(storeFaultText(fault)).toBe(text)
})

it('the fingerprint of an older store is in its sentence, if the store has one', () => {
  const fault = { _tag: 'OlderStore', path: 'a.db', found: 3 } as const
  expect(storeFaultText(fault)).toMatch(/\(format 3\), and this version can't read it; nothing was changed: /)
  expect(storeFaultText({ ...fault, fingerprint: 'f'.repeat(20) })).toMatch(/\(format 3, fingerprint "f{12}"\), and/)
})

it.each([
  [1500, '1.5 s'],
  [49, '0.0 s'],
  [-5000, '0.0 s'],
])('%d milliseconds are %s', (milliseconds, text) => {
  expect(seconds(milliseconds)).toBe(text)
})
