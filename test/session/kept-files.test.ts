/** Files that are kept as notes with blocks: in memory and in SQLite. */
import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { memoryStore, orThrow, user } from 'indelible'
import {
  copySession,
  eraseMessages,
  exportSession,
  forkSession,
  importRecord,
  openSession,
  verifySession,
} from 'indelible/session'
import { appendRows } from 'indelible/internal/session'
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import type { KeptFileNote, Note } from 'indelible/internal/notes'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: join(mkdtempSync(join(tmpdir(), 'indelible-kept-')), 's.db') })],
]

const text = Buffer.from('{"type":"user","message":"My secret is a walrus."}\n')

/** A session with a kept file and one message. */
const keep = async (store: Store, id: string): Promise<BlockId> => {
  const block = zstdCompressSync(text)
  const blockId = blockIdOf(block, store.hash)
  const note: Note = {
    ...{ type: 'kept_file', program: 'p', file: 'a/b.jsonl', from: 0, to: text.length, size: text.length },
    digest: createHash('sha256').update(text).digest('hex'),
    blocks: [{ id: blockId }],
  }
  const blocks = new Map([[blockId, block]])
  const head = orThrow(
    await appendRows(store, id, { head: undefined, metadata: { m: 1 }, rows: [{ note, at: 5 }], blocks })(),
  )
  const message = user('My secret is a walrus.')
  orThrow(
    await appendRows(store, id, {
      ...{ head, metadata: undefined, blocks: new Map() },
      rows: [{ message, page: 'conversation', at: 6 }],
    })(),
  )
  return blockId
}

const bytesOf = async (store: Store, id: BlockId): Promise<string | undefined> => {
  const [found] = await store.getBlocks([id])
  return found && zstdDecompressSync(found).toString()
}

it.each(stores)(
  'a kept file is read back, copied, verified, and dropped with an erased message (%s)',
  async (_, open) => {
    const store = await open()
    const block = await keep(store, 's')
    const session = await openSession(store, 's')
    expect([session.len, [...session.notes()].length, session.metadata()]).toEqual([1, 1, { m: 1 }])
    expect(await bytesOf(store, block)).toBe(text.toString())
    expect((await verifySession(store, 's')).missing).toEqual([])

    const copy = await open()
    await copySession(store, copy, 's')
    expect(await bytesOf(copy, block)).toBe(text.toString())
    expect((await copy.info('s')).head).toEqual((await store.info('s')).head)

    // An export has no blocks: its rows are stored, and a verification names what is missing.
    const other = await open()
    const record = await exportSession(store, 's')
    const imported = await importRecord(other, record)
    expect(imported.head).toEqual((await store.info('s')).head)
    expect((await verifySession(other, 's')).missing).toEqual([block])

    await forkSession(store, 's', { id: 'f', at: 1 })
    const receipt = await eraseMessages(store, 's', [0])
    expect(receipt.rows.map(({ kind }) => kind).toSorted()).toEqual(['entry', 'note'])
    expect(await bytesOf(store, block)).toBeUndefined()
    const [stub] = [...(await openSession(store, 'f')).notes()]
    expect(stub).toEqual({ type: 'erased', was: 'kept_file' })
  },
)

it.each(stores)('kept files can be erased alone, and no caller writes their notes (%s)', async (_, open) => {
  const store = await open()
  const block = await keep(store, 's')
  const session = await openSession(store, 's')
  const [note] = [...session.notes()]
  expect(await session.note(note as KeptFileNote)()).toMatchObject({ left: { _tag: 'InvalidNote' } })
  await eraseMessages(store, 's', { files: true })
  expect(await bytesOf(store, block)).toBeUndefined()
  expect((await openSession(store, 's')).view().at(0)).toMatchObject({ role: 'user', content: [{ type: 'text' }] })
})
