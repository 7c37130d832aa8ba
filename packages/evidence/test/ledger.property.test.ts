/**
 * Updates of a ledger against a model of what it says: sessions that grow, are rewound, erased, removed with and without a
 * word, and made anew under the same id, by two handles of one store that both update it.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { createSession, memoryStore, openSession, orThrow, user, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { removeRecorded, updateLedger, verifyLedger, type LedgerMismatch } from '@indelible/evidence'
import { ok } from '../../../test/task-results.ts'
import { rounds } from '../../../test/rounds.ts'
import { postgresStore } from '@indelible/postgres'
import { startPostgres } from '../../postgres/test/postgres-server.ts'
import type { Head } from 'indelible/internal/store'

const ids = ['a', 'b', 'c'] as const
/** Every session continues it. */
const emptyRoot = createHash('sha256').digest('hex')
const anId = fc.constantFrom(...ids)
const aHandle = fc.constantFrom(0, 1)
const aStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('create' as const), id: anId, messages: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('grow', 'rewind', 'erase', 'remove' as const), id: anId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove and record' as const), id: anId }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('update' as const), handle: aHandle }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('update some' as const), handle: aHandle, some: fc.subarray([...ids]) }),
  },
)
type Step = typeof aStep extends fc.Arbitrary<infer S> ? S : never

/** A session that is there: every head that it has had, by size. */
type Live = Map<string, { readonly heads: Map<number, string>; head: Head }>
/** The last that the ledger says of each session. */
type Said = Map<string, { readonly head: Head; readonly removed: boolean }>

const whatIs = (live: Live, said: Said, id: string): LedgerMismatch['what'] | 'new' | undefined => {
  const [there, entry] = [live.get(id), said.get(id)]
  if (entry === undefined) return there && 'new'
  if (there === undefined) return entry.removed ? undefined : 'missing'
  const isSame = there.head.size === entry.head.size && there.head.root === entry.head.root
  if (entry.removed) return isSame ? 'present' : 'new'
  if (isSame) return undefined
  if (there.head.size < entry.head.size) return 'cut'
  return there.heads.get(entry.head.size) === entry.head.root ? 'new' : 'replaced'
}

const run = async (handles: readonly [Store, Store], steps: readonly Step[]): Promise<void> => {
  const [store] = handles
  const [live, said]: [Live, Said] = [new Map(), new Map()]
  let count = 0
  const seen = async (id: string, anew = false): Promise<void> => {
    const { head } = await store.info(id)
    const heads = (anew ? undefined : live.get(id)?.heads) ?? new Map([[0, emptyRoot]])
    live.set(id, { heads: heads.set(head.size, head.root), head })
  }
  for (const step of steps) {
    if (step.do === 'update' || step.do === 'update some') {
      const some: readonly string[] = step.do === 'update' ? [...new Set([...ids, ...said.keys()])] : step.some
      const found = some.map((id) => [id, whatIs(live, said, id)] as const)
      const updated = await updateLedger(handles[step.handle] as Store, step.do === 'update' ? undefined : step.some)
      const news = found.filter(([, what]) => what === 'new')
      const wrong = found.filter(([, what]) => what !== undefined && what !== 'new')
      expect(updated.recorded).toBe(news.length)
      expect(updated.mismatches.map(({ id, what }) => `${id} ${what}`).toSorted()).toEqual(
        wrong.map(([id, what]) => `${id} ${what}`).toSorted(),
      )
      for (const [id] of news) said.set(id, { head: live.get(id)?.head as Head, removed: false })
      continue
    }
    const { id } = step
    const there = live.get(id)
    if (step.do === 'create') {
      if (there !== undefined) continue
      const messages = Array.from({ length: step.messages }, () => user(`${id} ${count++}`))
      await ok(createSession(store, { id, messages }))
      await seen(id, true)
    } else if (there === undefined) continue
    else if (step.do === 'remove') {
      await ok(store.remove(id))
      live.delete(id)
    } else if (step.do === 'remove and record') {
      await ok(removeRecorded(store, id))
      said.set(id, { head: there.head, removed: true })
      live.delete(id)
    } else {
      const session = await ok(openSession(store, id))
      if (step.do === 'grow') await ok(session.append(user(`${id} ${count++}`)))
      else if (step.do === 'rewind') await ok(session.rewind(0))
      else if (session.len > 0) await ok(eraseMessages(store, id, [0]))
      await seen(id)
    }
  }
  const now = [...new Set([...ids, ...said.keys()])].map((id) => [id, whatIs(live, said, id)] as const)
  const wrong = now.filter(([, what]) => what !== undefined && what !== 'new').map(([id, what]) => `${id} ${what}`)
  const verified = await verifyLedger(store)()
  if (isLeft(verified)) {
    if (verified.left._tag === 'NoLedger') return
    if (verified.left._tag !== 'LedgerMismatch') throw new Error(verified.left._tag)
    expect(verified.left.mismatches.map(({ id, what }) => `${id} ${what}`).toSorted()).toEqual(wrong.toSorted())
  } else {
    expect(wrong).toEqual([])
    const isKnown = (id: string): boolean => said.get(id)?.removed === false
    expect(verified.right.unrecorded.toSorted()).toEqual([...live.keys()].filter((id) => !isKnown(id)).toSorted())
  }
}

const folder = mkdtempSync(join(tmpdir(), 'indelible-ledger-property-'))
const path = join(folder, 'ledger.db')
const inFile = { path, durability: 'os' } as const
const files = [await ok(sqliteStore(inFile)), await ok(sqliteStore(inFile))]
const server = await startPostgres()
const schema = `ledgers ${process.pid}`
const inTables = server && { connectionString: server.url, schema, timeout: 600_000 }
const tables = inTables && [await ok(postgresStore(inTables)), await ok(postgresStore(inTables))]
afterAll(async () => {
  for (const store of [...files, ...(tables ?? [])]) await ok(store.close())
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})
let scopes = 0
const inScope = (stores: readonly Store[]): readonly [Store, Store] => {
  const scope = `case ${scopes++}`
  const [a, b] = stores.map((store) => orThrow(store.scoped(scope)))
  return [a as Store, b as Store]
}
const places: { readonly [name: string]: () => Promise<readonly [Store, Store]> } = {
  memory: async () => {
    const store = memoryStore()
    return [store, orThrow(store.scoped(store.scope))]
  },
  SQLite: async () => inScope(files),
  ...(tables && { PostgreSQL: async () => inScope(tables) }),
}

describe.each(Object.entries(places))('a ledger in %s', (name, open) => {
  it('matches its model, whatever happens to the sessions between two updates', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 3, maxLength: 25 }), async (steps) => run(await open(), steps)),
      { numRuns: rounds(name === 'PostgreSQL' ? 8 : 20, 1000) },
    )
  })
})
