/** The page's server and the command verify alike: the same findings in the same words. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { updateLedger } from '@indelible/evidence'
import { storeTask } from '../../../src/store/internal.ts'
import { createSession, memoryStore, user, type Message, type Store } from 'indelible'
import type { BlockId } from 'indelible/internal/proof'
import { sqliteStore } from 'indelible/store/sqlite'
import { overviewsOf } from '../src/server/overview.ts'
import { blocksOf, evidenceOf } from '../src/server/read-view.ts'
import { blocksInFrames, framedBlocks, type Verdict } from '../src/protocol.ts'
import { Verdicts, verifyStored } from '../src/server/verdict.ts'
import { folder, indelible } from '../../cli/test/indelible.ts'

const never = new AbortController().signal
const contentOf = (id: BlockId): string => `block = (select key from block where id = x'${id}')`
let files = 0

/** A recorded session, changed behind the store's back: what the command prints, and what the page's server finds. */
const altered = async (
  change: (blocks: readonly BlockId[]) => string,
  work: (found: {
    readonly store: Store
    readonly blocks: readonly BlockId[]
    readonly printed: string
    readonly verdict: Verdict
    readonly verdicts: Verdicts
  }) => Promise<void> | void,
): Promise<void> => {
  const path = join(folder, `sessions-${files++}.db`)
  const made = await sqliteStore({ path: `${path}.made` })
  const blocks = await made.putBlocks(['the tools', 'the system text'].map((text) => Buffer.from(text)))
  const [tools, system] = blocks as readonly string[]
  const session = await createSession(made, { id: 's', messages: [user('hello'), user('a '.repeat(5000))] })
  await session.note({
    type: 'receipt',
    len: 1,
    contextDigest: '0'.repeat(64),
    model: 'm',
    details: { tools: tools as string, system: system as string, sent: [[0, 1]] },
  })
  await made.close()
  copyFileSync(`${path}.made`, path)
  const db = new DatabaseSync(path)
  db.exec(change(blocks))
  db.close()
  const { stdout, stderr } = indelible(['verify', 's', '--store', path])
  const store = await sqliteStore({ path })
  const verdicts = new Verdicts(store)
  const verdict = await verdicts.verify('s', never)
  await work({ store, blocks, printed: `${stdout}${stderr}`, verdict, verdicts })
  await store.close()
}

it('a good session is good for both', () =>
  altered(
    () => '',
    ({ printed, verdict, verdicts }) => {
      expect(printed).toMatch(/^s: good, 2 messages/)
      expect(verdict).toEqual({ missing: [] })
      expect(verdicts.foundIn({ id: 's', created: 0 })).toEqual({})
    },
  ))

it('an altered block that a receipt names is damage of its row for both', () =>
  altered(
    ([tools]) => `update content set bytes = cast('other' as blob) where ${contentOf(tools as BlockId)}`,
    async ({ store, blocks, printed, verdict }) => {
      const reason = `block ${blocks[0]} is not what was appended`
      expect(verdict).toEqual({ missing: [], damaged: { row: 2, reason }, problem: `damaged at row 2: ${reason}` })
      expect(printed).toBe(`indelible: s: ${verdict.problem}\n`)
      const found = await blocksOf(store, blocks)
      expect(found).toEqual(['altered', Buffer.from('the system text')].map((one) => typeof one === 'string' ? one : new Uint8Array(one))) // oxfmt-ignore
      expect(blocksInFrames(framedBlocks([...found, undefined]))).toEqual([...found, undefined])
    },
  ))

it('a missing block that a receipt names is missing for both', () =>
  altered(
    ([, system]) => `delete from content where ${contentOf(system as BlockId)}`,
    async ({ store, blocks, printed, verdict }) => {
      expect(verdict).toEqual({
        missing: [blocks[1]],
        problem: expect.stringContaining('is missing, the first') as string,
      })
      expect(printed).toBe(`indelible: s: ${verdict.problem}\n`)
      expect((await blocksOf(store, blocks))[1]).toBeUndefined()
    },
  ))

it('an altered row is named with its message by both, and in the list once it is known', () =>
  altered(
    () => `update row set body = replace(body, 'hello', 'hullo')`,
    async ({ store, printed, verdict, verdicts }) => {
      const reason = 'the row was altered after it was appended'
      expect(verdict).toMatchObject({ damaged: { row: 0, position: 0, reason } })
      expect(printed).toBe(`indelible: s: damaged at row 0 (message 0): ${reason}\n`)
      const [before] = await overviewsOf(store)(['s'])
      expect(before).not.toHaveProperty('found')
      const [after] = await overviewsOf(store, verdicts)(['s'])
      expect(after).toMatchObject({ found: { problem: verdict.problem, damaged: { row: 0, position: 0 } } })
    },
  ))

it('no session is no damage', () =>
  altered(
    () => '',
    async ({ verdicts }) => {
      await expect(verdicts.verify('none', never)).rejects.toThrow('no session or log "none"')
    },
  ))

it('a verification that nobody waits for ends', () =>
  altered(
    () => '',
    async ({ verdicts }) => {
      await expect(verdicts.verify('s', AbortSignal.abort())).rejects.toThrow('abort')
    },
  ))

it('the cache breaks of an imported session are in the list', async () => {
  const store = memoryStore()
  const calls = [[0, 0, 0, 0, 9000], [0, 1000, 0, 0, 1000, 9000], [0, 1000, 0, 0, 11_000], [0, 1000, 0, 0, 1000, 11_000]] // oxfmt-ignore
  const from = { format: 'claude-code', calls: { models: ['m'], from: 1_767_225_600_000, calls } }
  await createSession(store, { id: 's', messages: [user('more')], metadata: { from } })
  expect(await overviewsOf(store)(['s'])).toMatchObject([{ breaks: 1 }])
})

it('an altered file of a message is damage of that message', async () => {
  const path = join(folder, 'image.db')
  const store = await sqliteStore({ path })
  const [image] = (await store.putBlocks([Buffer.from('an image')])) as readonly BlockId[]
  const source = { type: 'block', id: image as BlockId, mediaType: 'image/png' } as const
  const messages: readonly Message[] = [user('look'), { role: 'user', content: [{ type: 'image', source }] }]
  await createSession(store, { id: 's', messages })
  const db = new DatabaseSync(path)
  db.exec(`update content set bytes = cast('another' as blob) where ${contentOf(image as BlockId)}`)
  db.close()
  expect((await new Verdicts(store).verify('s', never)).problem).toBe(
    `damaged at row 1 (message 1): block ${image} is not what was appended`,
  )
  await store.close()
})

it('a session with a row that its keys open to no message is damaged, although its stored form is good', async () => {
  const store = withKeys(memoryStore(), keyRing([newHostKey()]))
  const session = await createSession(store, { id: 's', messages: [user('a')] })
  expect(await verifyStored(store, 's', {})).toMatchObject({ right: { unread: false } })
  await store.append('s', { expected: session.head(), rows: [{ kind: 'entry', body: '{}' }] })
  expect(await verifyStored(store, 's', {})).toMatchObject({ left: { _tag: 'DamagedLog', position: 1 } })
  expect(await verifyStored(store, 'gone', {})).toMatchObject({ left: { _tag: 'NoSuchLog' } })
})

it('a session has no evidence without a ledger, and otherwise the reason why there is none', async () => {
  const store = memoryStore()
  await createSession(store, { id: 's', messages: [user('a')] })
  expect(await evidenceOf(store, 's')).toBeUndefined()
  await updateLedger(store)
  expect(await evidenceOf(store, 's')).toEqual({ why: expect.stringContaining('no signed checkpoint') })
  const info: Store['info'] = () => storeTask(async () => left({ _tag: 'Io', operation: 'info', cause: 'gone' } as const), 'info') // oxfmt-ignore
  expect(await evidenceOf({ ...store, info }, 's')).toEqual({ why: expect.stringContaining('info') })
})
