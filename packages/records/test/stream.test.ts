/** Bodies that return a stream: the call has ended when the stream has. */
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createCallLog, createContentStore, recordCall, type RecordEvent } from '@indelible/records'

const chunks = async function* (fail = false): AsyncGenerator<number, string> {
  yield 1
  yield 2
  if (fail) throw new RangeError('broken off')
  return 'whole'
}

const web = (fail = false): ReadableStream<number> =>
  new ReadableStream<number>({
    pull: (() => {
      let count = 0
      return (controller: ReadableStreamDefaultController<number>) => {
        if (++count < 3) controller.enqueue(count)
        else if (fail) controller.error(new RangeError('broken off'))
        else controller.close()
      }
    })(),
  })

const node = (fail = false): Readable => Readable.from(chunks(fail))

const iterable = (fail = false): AsyncIterable<number> => ({ [Symbol.asyncIterator]: () => chunks(fail) })

const kinds: readonly (readonly [string, (fail?: boolean) => AsyncIterable<number>])[] = [
  ['an async generator', chunks],
  ['an async iterable', iterable],
  ['a web stream', web],
  ['a stream of Node', node],
]

describe.each(kinds)('a recorded stream: %s', (_name, make) => {
  it('is recorded when it ends', async () => {
    const log = createCallLog()
    const stream = await recordCall(log, { methodName: 'f' }, () => make())
    expect(log.len).toBe(0)
    const read: number[] = []
    for await (const chunk of stream) {
      expect(log.len).toBe(0)
      read.push(chunk)
      await sleep(2)
    }
    await expect.poll(() => log.len).toBe(1)
    expect(read).toEqual([1, 2])
    expect(log.len).toBe(1)
    expect(log.view().at(0)?.outcomeSummary.status).toBe('ok')
    expect(log.view().at(0)?.durationMs).toBeGreaterThanOrEqual(3)
  })
  it('is recorded with its error, which its reader gets', async () => {
    const log = createCallLog()
    const stream = await recordCall(log, { methodName: 'f' }, async () => make(true))
    const read = async (): Promise<void> => {
      for await (const chunk of stream) void chunk
    }
    await expect(read()).rejects.toThrow('broken off')
    await expect.poll(() => log.len).toBe(1)
    expect(log.view().toArray()).toMatchObject([{ outcomeSummary: { status: 'error' }, errorType: 'RangeError' }])
  })
  it('is recorded as aborted if its reader stops', async () => {
    const log = createCallLog()
    for await (const chunk of await recordCall(log, { methodName: 'f' }, () => make())) {
      expect(chunk).toBe(1)
      break
    }
    await expect.poll(() => log.len).toBe(1)
    expect(log.view().toArray()).toMatchObject([{ outcomeSummary: { status: 'aborted', ok: false } }])
  })
  it("is recorded as aborted when the call's signal aborts", async () => {
    const log = createCallLog()
    const stop = new AbortController()
    const stream = await recordCall(log, { methodName: 'f', signal: stop.signal }, () => make())
    stop.abort()
    const read = async (): Promise<void> => {
      for await (const chunk of stream) void chunk
    }
    await expect(read()).rejects.toBe(stop.signal.reason)
    expect(log.view().toArray()).toMatchObject([{ outcomeSummary: { status: 'aborted' } }])
  })
  it('ends with the reason when the signal aborts between its values or before the next one comes', async () => {
    const events: RecordEvent[] = []
    const log = createCallLog({ telemetry: (event) => events.push(event) })
    for (const later of [false, true]) {
      const stop = new AbortController()
      const reason = new DOMException('too slow', 'TimeoutError')
      const stream = await recordCall(log, { methodName: 'f', signal: stop.signal }, () => make())
      const reader = stream[Symbol.asyncIterator]()
      expect(await reader.next()).toEqual({ done: false, value: 1 })
      const next = later ? reader.next() : undefined
      stop.abort(reason)
      await expect(Promise.all([next, reader.next()])).rejects.toBe(reason)
      expect(log.view().at(-1)?.outcomeSummary).toMatchObject({ status: 'timeout', ok: false })
    }
    expect([log.len, events.length]).toEqual([2, 2])
  })
})

it("a streaming call returns the body's own stream", async () => {
  for (const make of [chunks, iterable, node]) {
    const value = make()
    expect(await recordCall(createCallLog(), { methodName: 'f' }, () => value)).toBe(value)
  }
  const log = createCallLog()
  const response = new Response(await recordCall(log, { methodName: 'f' }, () => new Response('text').body))
  expect(await response.text()).toBe('text')
  await expect.poll(() => log.len).toBe(1) // also if it is not iterated
})

it("a generator's return value is the call's value", async () => {
  const log = createCallLog()
  const stream = await recordCall(log, { methodName: 'f' }, () => chunks())
  while ((await stream.next()).done !== true);
  expect(log.view().at(0)?.outcomeSummary).toMatchObject({ status: 'ok', valueClass: 'string' })
})

it('a reader past the end of a stream adds no event, and the stream is no content', async () => {
  const events: RecordEvent[] = []
  const content = createContentStore()
  const log = createCallLog({ content, telemetry: (event) => events.push(event) })
  const stream = await recordCall(log, { methodName: 'f' }, async function* () {
    yield 1
  })
  for (let time = 0; time < 2; time++) for await (const chunk of stream) void chunk
  expect(events.map(({ record }) => record)).toEqual(log.view().toArray())
  expect([log.view().at(0)?.contentRef, content.entries]).toEqual([undefined, 0])
})

it('a stream that hangs is stopped when the signal aborts, and its source ends', { timeout: 20_000 }, async () => {
  const ended: string[] = []
  const hanging = async function* (): AsyncGenerator<number> {
    try {
      yield 1
      await new Promise(() => undefined)
    } finally {
      ended.push('generator')
    }
  }
  const source = new ReadableStream<number>({
    pull: () => new Promise(() => undefined),
    cancel: (reason) => void ended.push(String(reason)),
  })
  for (const [make, reads] of [
    [hanging, false],
    [hanging, true],
    [() => source, true],
  ] as const) {
    // oxfmt-ignore
    const stop = new AbortController()
    const stream: AsyncIterable<number> = await recordCall<AsyncIterable<number>>(
      createCallLog(),
      { methodName: 'f', signal: stop.signal },
      make,
    )
    const reader = stream[Symbol.asyncIterator]()
    if (make === hanging) await reader.next()
    const next = reads ? reader.next() : undefined
    stop.abort('enough')
    await expect(next ?? reader.next()).rejects.toBe('enough')
  }
  await expect.poll(() => ended).toEqual(['generator', 'enough']) // a generator ends when it is not waiting
})

it('a Node stream is recorded when it ends, also if read by events', async () => {
  const log = createCallLog()
  const stream = await recordCall(log, { methodName: 'f' }, () => node())
  expect(log.len).toBe(0)
  await finished(stream.resume())
  expect(log.view().toArray()).toMatchObject([{ outcomeSummary: { status: 'ok' } }])
})

it('an event emitter is not a stream and is recorded at once', async () => {
  const log = createCallLog()
  await recordCall(log, { methodName: 'f' }, () => new EventEmitter())
  expect(log.len).toBe(1)
})

it('a stream that cannot be watched is recorded at once', async () => {
  const log = createCallLog()
  const value = Object.freeze(iterable())
  expect(await recordCall(log, { methodName: 'f' }, () => value)).toBe(value)
  const trap = new Proxy({}, { has: () => { throw new Error('no') }, getPrototypeOf: () => { throw new Error('no') } }) // oxfmt-ignore
  expect(await recordCall(log, { methodName: 'g' }, () => [trap])).toHaveLength(1)
  expect(log.len).toBe(2)
})
