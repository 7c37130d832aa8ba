import { createSession, faultMessage, openSession, user } from 'indelible'
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { memoryStore, verifyLog, type Store, type StoreFault } from 'indelible/store'
import { storeTask } from '../../../src/store/internal.ts'
import {
  openCallLog,
  recordCall,
  startCall,
  type CallLogOptions,
  type RecordEvent,
  type StoredCallLog,
} from '@indelible/records'

const the = <T>(answer: Either<StoreFault, T>): T => {
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}
const open = async (store: Store, options: CallLogOptions = {}): Promise<StoredCallLog> =>
  the(await openCallLog({ store, id: 'calls', ...options })())
const bodies = async (store: Store): Promise<readonly string[]> =>
  the(await store.read('calls')()).map(({ body }) => body)
const names = ({ log }: StoredCallLog): readonly string[] =>
  log
    .view()
    .toArray()
    .map(({ methodName }) => methodName)

describe('a stored call log', () => {
  it('refuses another log’s id and leaves that log unchanged', async () => {
    const store = memoryStore()
    await createSession(store, { id: 'chat', messages: [user('hello')] })
    await store.create({ id: 'other', encrypt: false })
    for (const id of ['chat', 'other'])
      expect(await openCallLog({ store, id })()).toMatchObject({ left: { _tag: 'OtherLog', id } })
    expect(await openCallLog({ store, id: 'indelible.ledger' })()).toMatchObject({ left: { _tag: 'InvalidId' } })
    expect((await openSession(store, 'chat')).len).toBe(1)
    const calls = the(await openCallLog({ store, id: 'calls' })())
    await recordCall(calls.log, { methodName: 'a' }, () => 1)
    await calls.flush()
    expect(await createSession(store, { id: 'calls' })()).toMatchObject({ left: { _tag: 'LogExists' } })
    expect(await openSession(store, 'calls')()).toMatchObject({ left: { _tag: 'NotASession' } })
  })
  it('is written as it grows and can be reopened', async () => {
    const store = memoryStore()
    const first = await open(store)
    await Promise.all(
      ['a', 'b', 'c'].map((methodName) =>
        recordCall(first.log, { methodName }, (context) =>
          context.recordCall({ methodName: `${methodName}1` }, () => 1),
        ),
      ),
    )
    const head = the(await first.flush()())
    expect([head.size, first.pending]).toEqual([6, 0])
    expect(await bodies(store)).toEqual(
      first.log
        .view()
        .toArray()
        .map((record) => JSON.stringify(record)),
    )
    const again = await open(store)
    expect(again.log.view().toArray()).toEqual(first.log.view().toArray())
    expect(again.report).toMatchObject({ kept: 6, repaired: 0, dropped: 0 })
    await recordCall(again.log, { methodName: 'd' }, () => 1)
    expect(the(await again.flush()()).size).toBe(7)
    expect(the(await verifyLog(store, 'calls')()).head.size).toBe(7)
  })
  it('writes automatically and no row twice', async () => {
    const store = memoryStore()
    const opened = await open(store)
    for (let call = 0; call < 1200; call++) void recordCall(opened.log, { methodName: `f${call}` }, () => 1)
    while (opened.log.len < 1200 || opened.pending > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    await recordCall(opened.log, { methodName: 'later' }, () => 1)
    await expect.poll(() => opened.pending).toBe(0)
    expect((await bodies(store)).length).toBe(1201)
    expect(new Set(await bodies(store)).size).toBe(1201)
  })
  it('writes manually appended records', async () => {
    const store = memoryStore()
    const opened = await open(store)
    await recordCall(opened.log, { methodName: 'a' }, () => 1)
    opened.log.append({ ...(opened.log.view().at(0) as never as object), callId: 'mine', methodName: 'b' } as never)
    await opened.flush()()
    expect(names(await open(store))).toEqual(['a', 'b'])
  })
  it('knows recorded calls', async () => {
    const store = memoryStore()
    const first = await open(store)
    await recordCall(first.log, { methodName: 'a', callId: 'once' }, () => 1)
    await first.flush()()
    const again = await open(store)
    await recordCall(again.log, { methodName: 'a', callId: 'once' }, () => 2)
    expect(again.log.len).toBe(1)
  })
  it('reads other record versions and leaves them unchanged', async () => {
    const store = memoryStore()
    const { head } = the(await store.create({ id: 'calls', meta: { 'indelible.calls': 1 }, encrypt: false })())
    the(
      await store.append('calls', {
        expected: head,
        rows: [
          { kind: 'entry', body: '{"method_name":"old"}' },
          { kind: 'entry', body: 'no JSON' },
          { kind: 'note', body: '{}' },
        ],
      })(),
    )
    const opened = await open(store)
    expect(names(opened)).toEqual(['old'])
    expect(opened.report).toMatchObject({ kept: 0, repaired: 1, dropped: 1 })
    await recordCall(opened.log, { methodName: 'new' }, () => 1)
    expect(the(await opened.flush()()).size).toBe(4)
    expect((await bodies(store)).slice(0, 3)).toEqual(['{"method_name":"old"}', 'no JSON', '{}'])
  })
})

describe('a durable call log', () => {
  const durable = async (store: Store, writer?: string): Promise<StoredCallLog> =>
    the(await openCallLog({ store, id: 'calls', durable: true, ...(writer !== undefined && { writer }) })())
  it('stores the start before the body runs and the record before the call resolves', async () => {
    const real = memoryStore()
    const append: Store['append'] = (id, append) =>
      storeTask(async () => (await new Promise(setImmediate), real.append(id, append)()), 'store.append')
    const store = { ...real, append }
    const { log } = await durable(store)
    const kinds = async (): Promise<readonly string[]> => the(await store.read('calls')()).map(({ kind }) => kind)
    await recordCall(log, { methodName: 'a' }, async () => expect(await kinds()).toEqual(['note']))
    expect(await kinds()).toEqual(['note', 'entry'])
    await recordCall(log, { methodName: 'b' }, () => Promise.reject(new Error('no'))).catch(() => undefined)
    expect(await kinds()).toEqual(['note', 'entry', 'note', 'entry'])
  })
  it('is not opened by a store that cannot take the records of its unfinished calls', async () => {
    const store = memoryStore()
    const { log, flush } = await durable(store)
    startCall(log, { methodName: 'a' })
    await flush()()
    const busy = left({ _tag: 'Busy', waited: 1 } as const)
    const append: Store['append'] = () => storeTask(async () => busy, 'store.append')
    expect(await openCallLog({ store: { ...store, append }, id: 'calls', durable: true })()).toEqual(busy)
  })
  it('marks unfinished calls of its own name as interrupted, and no others', async () => {
    const store = memoryStore()
    const [a, b] = [await durable(store, 'a'), await durable(store, 'b')]
    const call = startCall(b.log, { methodName: 'of b', callId: 'b1' })
    startCall(a.log, { methodName: 'of a', callId: 'a1', args: [1], traceId: 't' })
    await Promise.all([a.flush()(), b.flush()()])
    const again = await durable(store, 'a')
    expect(again.log.view().toArray()).toMatchObject([
      {
        callId: 'a1',
        methodName: 'of a',
        args: [1],
        traceId: 't',
        depth: 0,
        outcomeSummary: { status: 'interrupted', ok: false, errorType: 'Interrupted', retriable: false },
      },
    ])
    call.finish({ value: 1 })
    await b.flush()()
    expect(names(await open(store))).toEqual(['of a', 'of b'])
  })
  it('is also continued by a log of that name that is not durable', async () => {
    const store = memoryStore()
    const { log, flush } = await durable(store)
    startCall(log, { methodName: 'charge' })
    await flush()()
    const events: RecordEvent[] = []
    const again = await open(store, { telemetry: (event) => events.push(event) })
    expect(again.log.view().toArray()).toMatchObject([{ outcomeSummary: { status: 'interrupted' } }])
    expect(events).toMatchObject([{ methodName: 'charge', record: again.log.view().at(0) }])
    await open(store, { telemetry: (event) => events.push(event) })
    expect(events.length).toBe(1)
    expect([again.pending, (await bodies(store)).length]).toEqual([0, 2])
  })
  it('makes calls even if the store fails', async () => {
    const store = memoryStore()
    const { log } = await durable(store)
    await store.close()()
    expect(await recordCall(log, { methodName: 'a' }, () => 7)).toBe(7)
    expect(log.len).toBe(1)
  })
})

describe('a call log on a failing store', () => {
  it('retries after a conflict', async () => {
    const store = memoryStore()
    const [first, second] = [await open(store), await open(store)]
    await recordCall(first.log, { methodName: 'a' }, () => 1)
    await first.flush()()
    expect(await recordCall(second.log, { methodName: 'b' }, () => 2)).toBe(2)
    expect(the(await second.flush()()).size).toBe(2)
    await recordCall(first.log, { methodName: 'c' }, () => 1)
    expect(the(await first.flush()()).size).toBe(3)
    expect([first.pending, second.pending]).toEqual([0, 0])
    expect(names(await open(store))).toEqual(['a', 'b', 'c'])
    await recordCall(first.log, { methodName: 'd' }, () => 1)
    expect((await first.flush()).size).toBe(4)
    await recordCall(first.log, { methodName: 'e' }, () => 1)
    expect((await first.flush()).size).toBe(5)
  })
  it('reports unwritten records to telemetry', async () => {
    const store = memoryStore()
    const events: RecordEvent[] = []
    const opened = await open(store, { telemetry: (event) => events.push(event) })
    the(await store.remove('calls')())
    expect(await recordCall(opened.log, { methodName: 'b', callId: 'late' }, () => 2)).toBe(2)
    expect(await opened.flush()()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
    expect([opened.log.len, opened.pending]).toEqual([1, 1])
    expect(events.find(({ reason }) => reason === 'unstored')).toMatchObject({
      callId: 'late',
      methodName: 'b',
      historyRecordAppended: true,
      conversationHistorySize: 1,
      error: { _tag: 'NoSuchLog' },
    })
  })
  it('batches appends of one turn', async () => {
    const real = memoryStore()
    const tries: number[] = []
    const store: Store = {
      ...real,
      append: (_, append) =>
        storeTask(async () => {
          tries.push(append.rows.length)
          return left({ _tag: 'Io', operation: 'append', cause: new Error('the disk is full') })
        }, 'store.append'),
    }
    const opened = await open(store)
    const calls = ['a', 'b', 'c'].map((methodName) => startCall(opened.log, { methodName }))
    for (const call of calls) call.finish({ value: 1 })
    await new Promise(setImmediate)
    expect(tries).toEqual([3])
  })
  it('does not store a write twice if its answer was lost', async () => {
    const real = memoryStore()
    let lost = 2
    const store: Store = {
      ...real,
      append: (id, append) =>
        storeTask(async () => {
          const answer = await real.append(id, append)()
          return lost-- > 0
            ? left({ _tag: 'Io', operation: 'append', cause: new Error('the connection was lost') })
            : answer
        }, 'store.append'),
    }
    const opened = await open(store, {
      telemetry: () => {
        throw new Error('no')
      },
    })
    await recordCall(opened.log, { methodName: 'a' }, () => 1)
    expect(isLeft(await opened.flush()())).toBe(true)
    await recordCall(opened.log, { methodName: 'b' }, () => 1)
    await opened.flush()()
    expect(await opened.flush()()).toEqual(right(expect.objectContaining({ size: 2 })))
    expect(names(await open(real))).toEqual(['a', 'b'])
  })
  it('reports an invalid id and a closed store as faults', async () => {
    expect(await openCallLog({ store: memoryStore(), id: '' })()).toMatchObject({ left: { _tag: 'InvalidId' } })
    const store = memoryStore()
    const opened = await open(store)
    await store.close()()
    expect(await openCallLog({ store, id: 'calls' })()).toMatchObject({ left: { _tag: 'Closed' } })
    expect(await recordCall(opened.log, { methodName: 'a' }, () => 1)).toBe(1)
    expect(await opened.flush()()).toMatchObject({ left: { _tag: 'Closed' } })
  })
  it('can be created by two openers at once', async () => {
    const store = memoryStore()
    const both = await Promise.all([openCallLog({ store, id: 'x' })(), openCallLog({ store, id: 'x' })()])
    expect(both.map(({ _tag }) => _tag)).toEqual(['Right', 'Right'])
  })
})
