/**
 * The secrets of a scope that key the digests of erased texts in its ledger. They are in a log of the store: somebody with the
 * ledger alone can't confirm a guessed text. The first is the scope's own; others came with copies of sessions.
 */
import { isLeft, jsonIn } from 'indelible/internal/json'
import { ownStore } from 'indelible/internal/store'
import type { Store } from 'indelible/store'
import { faultText, valueOrUnreadable } from '../sources/place.ts'
import { Unreadable } from '../terminal/command.ts'

const secretLog = 'indelible.keep.secret'

/** The secrets; none if nothing was erased yet. */
export const digestSecrets = async (store: Store): Promise<readonly string[]> => {
  const found = await ownStore(store).read(secretLog)()
  if (isLeft(found)) {
    if (found.left._tag === 'NoSuchLog') return []
    throw new Unreadable(faultText(found.left))
  }
  return found.right.map(({ body }) => String(jsonIn(body)))
}

/** The scope's own secret. The first erasure makes it. */
export const ownSecret = async (store: Store): Promise<string> => {
  const [own] = await digestSecrets(store)
  if (own !== undefined) return own
  await addSecrets(store, [crypto.randomUUID() + crypto.randomUUID()])
  return ownSecret(store)
}

/** Bring the secrets of a scope to the one that its sessions are copied to: their digests are copied, too. */
export const copySecrets = async (from: Store, to: Store): Promise<void> => {
  const there = new Set(await digestSecrets(to))
  const news = (await digestSecrets(from)).filter((secret) => !there.has(secret))
  if (news.length === 0) return
  await addSecrets(to, news)
  return copySecrets(from, to)
}

/** Unless another process appends meanwhile. */
const addSecrets = async (store: Store, secrets: readonly string[]): Promise<void> => {
  const own = ownStore(store)
  const rows = secrets.map((secret) => ({ kind: 'note' as const, body: JSON.stringify(secret) }))
  const info = await own.info(secretLog)()
  const done = isLeft(info)
    ? await own.create({ id: secretLog, rows, encrypt: false })()
    : await own.append(secretLog, { expected: info.right.head, rows })()
  if (isLeft(done) && done.left._tag !== 'LogExists' && done.left._tag !== 'Conflict')
    await valueOrUnreadable(async () => done)
}
