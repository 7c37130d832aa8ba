/** With `redact`, no name that a caller chooses keeps a secret in the store's file: of notes, operations, leases, erasures. */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createSession, openSession, user } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { ok } from '../task-results.ts'

const secretOf = (letter: string): string => `ghp_${letter.repeat(20)}0123456789ABCDEF`
const secrets = ['a', 'b', 'c', 'd', 'e', 'f'].map(secretOf)
const [namespace = '', operation = '', holder = '', reason = '', by = '', model = ''] = secrets

it('a namespace, an operation, a lease holder, a reason and a model with a secret are stored without it', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'indelible-')), 's.db')
  const store = await ok(sqliteStore({ path }))
  const session = await ok(createSession(store, { id: 's', redact: true }))
  const lease = await ok(session.lease({ holder: `worker ${holder}` }))
  const first = await ok(session.append(user('hello'), { operation }))
  expect(await ok(session.append(user('hello'), { operation, expectedLen: 0 }))).toMatchObject({
    from: first.from,
    to: 1,
  })
  await ok(session.note({ type: 'application', namespace, content: 1 }))
  await ok(session.note({ type: 'receipt', len: 1, contextDigest: '0'.repeat(64), model }))
  await ok(eraseMessages(session, [0], { reason, by }))
  // Retries find the operation, also in another process, if it redacts.
  const again = await ok(openSession(store, 's', { redact: true }))
  expect(
    again.state === 'open' && (await ok(again.append(user('hello'), { operation, expectedLen: 0 }))),
  ).toMatchObject({ from: 0, to: 1 })
  expect(lease.held).toBe(true)
  await ok(session.close())
  await ok(store.close())
  const files = [path, `${path}-wal`].filter(existsSync).map((file) => readFileSync(file, 'latin1'))
  expect(secrets.filter((secret) => files.some((text) => text.includes(secret)))).toEqual([])
})
