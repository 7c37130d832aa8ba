/** What infers, and what must not compile. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expectTypeOf, it } from 'vitest'
import type { History, Json, View } from 'indelible'
import {
  createCallLog,
  createContentStore,
  encodeValue,
  recordCall,
  startCall,
  type CallContext,
  type CallRecord,
} from '@indelible/records'
import type { JsonArray } from 'indelible/internal/json'
import type { ContentFaultOf } from '../src/fault.ts'
import type { FinishResult } from '../src/call.ts'
import type { OutcomeSummary } from '../src/record.ts'

declare const log: History<CallRecord>
declare const view: View<CallRecord>
declare const record: CallRecord

describe('call log types', () => {
  it('make a log a history of call records', () => {
    expectTypeOf(createCallLog()).toEqualTypeOf<History<CallRecord>>()
    expectTypeOf(
      createCallLog({ from: view, scope: new AsyncLocalStorage<CallContext>(), content: createContentStore() }),
    ).toEqualTypeOf<History<CallRecord>>()
    const scope = new AsyncLocalStorage()
    createCallLog({ scope, redact: true })
    createCallLog({ scope, redact: (value, path) => (path.length > 1 ? value : undefined) })
    // @ts-expect-error neither true, options, a redactor nor a function
    createCallLog({ redact: 'yes' })
  })
  it('accept an application’s own fields', () => {
    log.append({ ...record, cost: 0.1, tags: ['a'], outcomeSummary: { ...record.outcomeSummary, source: 'db' } })
    expectTypeOf(record['cost']).toEqualTypeOf<Json | OutcomeSummary | undefined>()
    // @ts-expect-error a function is no JSON
    log.append({ ...record, run: () => 1 })
  })
  it('make a view read-only', () => {
    expectTypeOf(view.at(0)?.args).toEqualTypeOf<JsonArray | undefined>()
    // @ts-expect-error records are readonly
    record.callId = 'x'
    // @ts-expect-error args are readonly
    record.args.push(1)
    // @ts-expect-error a view has no append
    view.append(record)
  })
  it('require the required fields', () => {
    const { callId: _, ...rest } = record
    // @ts-expect-error a record has a call id
    const incomplete: CallRecord = { ...rest, callId: undefined }
    // @ts-expect-error nobody else speaks
    const other: CallRecord = { ...record, speaker: 'system' }
    void [incomplete, other]
  })
})

describe('recordCall types', () => {
  it('return what the body returns', () => {
    expectTypeOf(recordCall(log, { methodName: 'f' }, () => 1)).toEqualTypeOf<Promise<number>>()
    expectTypeOf(recordCall(log, { methodName: 'f', args: [new Map()] }, async () => 'x')).toEqualTypeOf<
      Promise<string>
    >()
    void recordCall(log, { methodName: 'f' }, (context) => {
      expectTypeOf(context).toEqualTypeOf<CallContext>()
      return context
        .recordCall({ methodName: 'g' }, () => true)
        .then((value) => expectTypeOf(value).toEqualTypeOf<boolean>())
    })
  })
  it('accept an AbortSignal and a summary of the value’s type', () => {
    void recordCall(
      log,
      {
        methodName: 'f',
        signal: AbortSignal.timeout(1),
        summarize: (value: Either<Error, number>) => ({ ok: value._tag === 'Right' }),
      },
      (): Either<Error, number> => ({ _tag: 'Right', right: 1 }),
    )
    // @ts-expect-error the body gives another type
    void recordCall(log, { methodName: 'f', summarize: (value: string) => ({ ok: value === '' }) }, () => 1)
    // @ts-expect-error a call has a name
    void recordCall(log, {}, () => 1)
  })
  it("set a nested call's parent", () => {
    void recordCall(log, { methodName: 'f' }, (context) =>
      // @ts-expect-error it is this one
      context.recordCall({ methodName: 'g', parent: context }, () => 1),
    )
  })
})

describe('other record types', () => {
  it('state what may fail', () => {
    expectTypeOf(startCall(log, { methodName: 'f' }).finish({ value: 1 })).toEqualTypeOf<FinishResult>()
    expectTypeOf(createContentStore().get('x')).toEqualTypeOf<Either<ContentFaultOf<'ContentMiss'>, Json>>()
    expectTypeOf(encodeValue(1n).value).toEqualTypeOf<Json>()
    // @ts-expect-error an outcome is a value or an error
    startCall(log, { methodName: 'f' }).finish({})
  })
})
