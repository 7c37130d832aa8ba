/**
 * Lists of logs against a sort of all of them: random logs, orders, pages and filters, while logs are created, grown,
 * removed and created again between two pages.
 */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it, type TestOptions } from 'vitest'
import { orThrow } from 'indelible'
import type { ListQuery, LogInfo, Store } from 'indelible/store'
import { rounds } from '../rounds.ts'

const orders = ['created', 'appended', 'entries', 'tokens', 'id'] as const
const ids = ['a', 'b', 'B', 'a b', 'aa', 'é', '\u{1f642}', '\uffee', 'x.5', '7', '-1.3', 'z'.repeat(200)]

/** A step: a log is created or forked, gets rows at a time, or is removed. */
const aStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ create: fc.constantFrom(...ids), kind: fc.constantFrom(1, 2, '1') }) },
  {
    weight: 6,
    arbitrary: fc.record({
      grow: fc.constantFrom(...ids),
      entries: fc.constantFrom(0, 1, 2, 7, 8, 9, 10, 20),
      at: fc.constantFrom(-1500, -1, 0, 99, 100, 999, 1000, 1001, 1_700_000_000_000, 1_700_000_000_050),
    }),
  },
  { weight: 1, arbitrary: fc.record({ fork: fc.constantFrom(...ids), to: fc.constantFrom(...ids) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.constantFrom(...ids) }) },
)
type Step = typeof aStep extends fc.Arbitrary<infer S> ? S : never

/** The order in which logs were created, by their ids. */
type Created = Map<string, number>

const take = async (store: Store, created: Created, step: Step): Promise<void> => {
  const added = (id: string, answer: { readonly _tag: string }): void => {
    if (answer._tag === 'Right') created.set(id, (created.get('') ?? 0) + 1).set('', (created.get('') ?? 0) + 1)
  }
  if ('create' in step)
    added(step.create, await store.create({ id: step.create, meta: { kind: step.kind }, encrypt: false })())
  else if ('fork' in step) added(step.to, await store.fork(step.fork, { id: step.to, at: 0, meta: { kind: 1 } })())
  else if ('remove' in step) {
    if (!isLeft(await store.remove(step.remove)())) created.delete(step.remove)
  } else {
    const found = await store.info(step.grow)()
    if (isLeft(found)) return
    const rows = Array.from({ length: step.entries || 1 }, () => ({
      kind: step.entries === 0 ? ('note' as const) : ('entry' as const),
      body: JSON.stringify({ type: 'receipt', usage: { input: step.at % 7 < 0 ? 0 : step.at % 7, output: 1 } }),
      at: step.at,
    }))
    orThrow(await store.append(step.grow, { expected: found.right.head, rows })())
  }
}

const bytes = (text: string): Buffer => Buffer.from(text)

/** All logs that a query is for, sorted here. */
const sorted = async (
  store: Store,
  created: Created,
  { by = 'created', where }: ListQuery,
): Promise<readonly LogInfo[]> => {
  const infos = await Promise.all([...created.keys()].filter((id) => id !== '').map(async (id) => await store.info(id)))
  const age = ({ id }: LogInfo): number => created.get(id) as number
  const compare: { readonly [By in NonNullable<ListQuery['by']>]: (a: LogInfo, b: LogInfo) => number } = {
    created: (a, b) => age(b) - age(a),
    appended: (a, b) => b.appended - a.appended || age(b) - age(a),
    entries: (a, b) => b.entries - a.entries || age(b) - age(a),
    tokens: (a, b) => b.tokens - a.tokens || age(b) - age(a),
    id: (a, b) => Buffer.compare(bytes(a.id), bytes(b.id)),
  }
  return infos.filter(({ meta }) => where === undefined || meta['kind'] === where['kind']).toSorted(compare[by])
}

const aQuery = fc.record({
  by: fc.constantFrom(...orders),
  limit: fc.constantFrom(1, 2, 3, 5, 1000),
  where: fc.option(fc.constant({ kind: 1 }), { nil: undefined }),
})

/** @param open gives a store, or another scope of one, without logs */
export const listProperties = (name: string, open: () => Promise<Store>, options: TestOptions = {}): void => {
  describe(`lists of logs in ${name}`, options, () => {
    it('return all logs in order, whatever happens to other logs between two pages', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(aStep, { minLength: 5, maxLength: 25 }),
          aQuery,
          fc.array(fc.array(aStep, { maxLength: 2 }), { maxLength: 4 }),
          async (steps, { where, ...asked }, between) => {
            const store = await open()
            const other = orThrow(store.scoped(`${store.scope} other`))
            await other.create({ id: 'a', meta: { kind: 1 }, encrypt: false })
            const query = { ...asked, ...(where !== undefined && { where }) }
            const created: Created = new Map()
            for (const step of steps) await take(store, created, step)
            const before = await sorted(store, created, query)
            // Whatever is created again, grows or goes may have another place.
            const moved = new Set<string>()
            const listed: string[] = []
            let after: string | undefined
            for (let page = 0; ; page++) {
              const { logs, next } = await store.list({ ...query, ...(after !== undefined && { after }) })
              for (const log of logs) expect(log).toEqual(await store.info(log.id))
              listed.push(...logs.map(({ id }) => id))
              if (next === undefined) break
              expect(logs.length).toBe(query.limit)
              after = next
              for (const step of between[page] ?? []) {
                await take(store, created, step)
                for (const id of Object.values(step)) moved.add(id as string)
              }
            }
            const still = (id: string): boolean => !moved.has(id)
            expect(listed.filter(still)).toEqual(before.map(({ id }) => id).filter(still))
            if (moved.size === 0) expect(listed).toEqual(before.map(({ id }) => id))
            const again = await sorted(store, created, query)
            const whole = await store.list({ ...query, limit: 1000 })
            expect([whole.logs.map(({ id }) => id), whole.next]).toEqual([again.map(({ id }) => id), undefined])
          },
        ),
        { numRuns: rounds(40, 1000) },
      )
    })
  })
}
