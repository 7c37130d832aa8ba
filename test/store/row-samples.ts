/**
 * Rows as they are written now, one of each kind, as text: the part of a format that stands in no table. A change of one of
 * them changes what stores have, so the fingerprints of formats are of them too.
 */
import { assistant, image, toolCall, user, type Message } from 'indelible'
import { erasedBody, encodeRow } from '../../src/entry/internal.ts'
import { openMeta } from '../../packages/encryption/src/log-keys.ts'
import { decryptRow } from '../../packages/encryption/src/row-cipher.ts'
import { portableSha256 as hash } from '../../src/proof/internal.ts'
import { storedMeta } from '../../src/session/record/metadata.ts'
import type { StoredRow } from '../../src/store/index.ts'
import { ledgerRow, rowLeaf, stubLeaf } from '../../src/store/internal.ts'
import { placeOf } from '../../src/store/rules/rules.ts'
import { escapeBody } from '../../packages/postgres/src/rows.ts'
import * as postgresSum from '../../packages/postgres/src/sum.ts'
import { termsOf } from '../../packages/postgres/src/terms.ts'
import { metaSum, nameSum } from '../../src/store/sqlite/log.ts'
import { sumOf } from '../../src/store/sqlite/sum.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const at = 1_700_000_000_000
const salt = '0123456789abcdef'.repeat(2)
const head = { size: 2, root: 'ab'.repeat(32) }
const picture = Buffer.alloc(3000, 'picture').toString('base64')
const answer: Message = { ...assistant('on it', toolCall('c', 'read', { path: 'a.ts' })), meta: { app: { n: 1 } } }

const leaves = [
  { kind: 'entry', body: 'é\0', at },
  { kind: 'note', body: 'x', at: -1 },
  { kind: 'note', body: '', at, salt },
] as const

/** A row and metadata that this key encrypted. No text is encrypted to the same bytes twice, so they are opened here. */
const key = new Uint8Array(32).fill(7)
const cipher = 'L7/MKow2m3QWPaB5w6mVO7Fm/ztoPMRiaw8+Vw==zPmblXQ='
const encryptedRow: StoredRow = { position: 3, kind: 'entry', index: 2, body: `{"encrypted":"k.${cipher}"}`, at, salt }
const encryption = {
  keys: ['k'],
  from: [0],
  meta: 'fij0dr0ouPmskjdmnihGNEOn4xfa/rdk9JM6bw==JVi7yDdkMQNviC4f4A==',
}
const encryptedMeta = { clear: { user: 'ada' }, 'indelible.encryption': encryption }

export const rowSamples: readonly string[] = [
  ...leaves.map((row) => `leaf ${hex(rowLeaf(row, hash))}`),
  `stub leaf ${stubLeaf({ kind: 'entry', body: 'stub', at }, hash)}`,
  ...[
    encodeRow(user('hello'), 'conversation', false, hash),
    encodeRow(answer, 'evidence', true, hash),
    encodeRow(user(image({ type: 'base64', mediaType: 'image/png', data: picture })), 'conversation', false, hash),
  ].map(
    (encoded) =>
      `entry ${JSON.stringify(encoded, (_, value: unknown) => (value instanceof Uint8Array ? hex(value) : value))}`,
  ),
  `erased ${erasedBody(user('[erased]'), { page: 'plan', tagged: true })}`,
  `ledger ${JSON.stringify(ledgerRow({ type: 'held', id: 's', head, logs: [{ log: 'l', from: 0 }], by: 'b' }, at))}`,
  ...(['head', 'removed', 'released'] as const).map(
    (type) => `ledger ${JSON.stringify(ledgerRow({ type, id: 's', head, reason: 'r', by: 'b' }, at))}`,
  ),
  `ledger ${JSON.stringify(ledgerRow({ type: 'erased', id: 's', head, rows: [{ log: 'l', row: 1, kind: 'note', index: 0, leaf: 'l', stub: 's' }], copied: { at: 1, by: 'b' } }, at))}`,
  `ledger ${JSON.stringify(ledgerRow({ type: 'destroyed', id: 's', head, key: 'k' }, at))}`,
  `metadata ${JSON.stringify(storedMeta({ title: 't' }, { id: 'p', at: 1 }, true))}`,
  `places ${JSON.stringify([placeOf({ kind: 'entry', index: 3 }), placeOf({ kind: 'note', index: 3 })])}`,
  `SQLite sums ${JSON.stringify([
    sumOf('a', 1, null, new Uint8Array([1, 2])),
    metaSum(1, 'id', 2, '{}', 3),
    nameSum({ scope: 1, id: 'id', segment: 2 }),
  ])}`,
  `PostgreSQL text ${JSON.stringify(escapeBody('\0\u0001'))}`,
  `PostgreSQL sums ${JSON.stringify([
    postgresSum.metaSum('s', 'id', '{}', 1),
    postgresSum.createdSum('s', 'id', 1),
    termsOf('s', { a: { b: 'c' }, n: 1 }),
  ])}`,
  `encrypted row ${JSON.stringify(decryptRow(encryptedRow, key))}`,
  `encrypted metadata ${JSON.stringify(openMeta('s', key, encryption, encryptedMeta))}`,
]
