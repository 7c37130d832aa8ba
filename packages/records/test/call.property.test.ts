/** The law of recording: n calls, nested and concurrent in whatever way, however they end, are n records. */
import { AsyncLocalStorage } from 'node:async_hooks'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createCallLog, recordCall, type CallContext, type CallRecord } from '@indelible/records'
import { rounds } from '../../../test/rounds.ts'

interface Tree {
  readonly turns: number
  readonly ends: 'value' | 'throw' | 'abort'
  readonly parallel: boolean
  readonly inner: readonly Tree[]
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    turns: fc.nat({ max: 3 }),
    ends: fc.constantFrom('value', 'throw', 'abort'),
    parallel: fc.boolean(),
    inner: fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(tie('tree'), { maxLength: 3 })),
  }),
}))

interface Expected {
  readonly name: string
  readonly parent: string | undefined
  readonly depth: number
  readonly ok: boolean
}

const expectedOf = (trees: readonly Tree[], parent: string | undefined, depth: number): readonly Expected[] =>
  trees.flatMap((each, index) => {
    const name = `${parent ?? ''}/${index}`
    return [{ name, parent, depth, ok: each.ends === 'value' }, ...expectedOf(each.inner, name, depth + 1)]
  })

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await undefined
}

it.each([
  ['parents are given', false],
  ['the log has a scope', true],
])('n calls give n records: %s', async (_name, scoped) => {
  await fc.assert(
    fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 4 }), async (trees) => {
      const log = createCallLog(scoped ? { scope: new AsyncLocalStorage<CallContext>() } : {})
      const make = async (
        trees: readonly Tree[],
        parent: CallContext | undefined,
        path: string,
        parallel: boolean,
      ): Promise<void> => {
        const all: Promise<unknown>[] = []
        for (const [index, each] of trees.entries()) {
          const name = `${path}/${index}`
          const stop = new AbortController()
          const call = {
            methodName: name,
            callId: name,
            signal: stop.signal,
            ...(!scoped && parent !== undefined && { parent }),
          }
          const done = recordCall(log, call, async (context) => {
            await turns(each.turns)
            await make(each.inner, context, name, each.parallel)
            if (each.ends === 'abort') stop.abort()
            if (each.ends !== 'value') throw new Error(name)
          }).catch(() => undefined)
          if (parallel) all.push(done)
          else await done
        }
        await Promise.all(all)
      }
      await make(trees, undefined, '', true)
      const expected = expectedOf(trees, undefined, 0)
      const records: readonly CallRecord[] = log.view().toArray()
      expect(records.length).toBe(expected.length)
      expect(
        records
          .map(({ callId, parentCallId, depth, outcomeSummary }) => ({
            name: callId,
            parent: parentCallId,
            depth,
            ok: outcomeSummary.ok,
          }))
          .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      ).toEqual(expected.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
      // A call ends after those in it.
      for (const [position, { callId }] of records.entries())
        for (const inner of records.slice(position)) expect(inner.parentCallId === callId).toBe(false)
    }),
    { numRuns: rounds(50, 150) },
  )
})
