import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { createHistory, type History } from 'indelible'
import { createRedactor } from 'indelible/redact'
import {
  createCallLog,
  createContentStore,
  encodeValue,
  normalizeRecords,
  recordCall,
  startCall,
  type Call,
  type CallContext,
  type CallLogOptions,
  type CallRecord,
  type RecordEvent,
} from '@indelible/records'

/** A log whose time and ids are known. */
const logOf = (options: CallLogOptions = {}): History<CallRecord> => {
  let time = Date.UTC(2026, 0, 1) - 5
  let ids = 0
  return createCallLog({ now: () => (time += 5), newId: () => `call-${(ids += 1)}`, ...options })
}

const last = (log: History<CallRecord>): CallRecord => {
  const record = log.view().at(-1)
  if (record === undefined) throw new Error('there is no record')
  return record
}

/** What is thrown, also where that is nothing. */
const errorOf = async (work: Promise<unknown>): Promise<{ readonly error: unknown }> => {
  try {
    await work
  } catch (error) {
    return { error }
  }
  throw new Error('nothing was thrown')
}

describe('a call record', () => {
  it("has the call's name, arguments and outcome", async () => {
    const log = logOf()
    const value = await recordCall(log, { methodName: 'add', args: [1, 2], kwargs: { exact: true } }, () => 3)
    expect(value).toBe(3)
    expect(log.view().toArray()).toStrictEqual([
      {
        callId: 'call-1',
        timestamp: '2026-01-01T00:00:00.005Z',
        speaker: 'user',
        methodName: 'add',
        args: [1, 2],
        kwargs: { exact: true },
        outcomeSummary: { status: 'ok', ok: true, errorType: null, retriable: false, valueClass: 'number' },
        depth: 0,
        startedAt: '2026-01-01T00:00:00.000Z',
        durationMs: 5,
      },
    ])
    expect(log.view().pages.at(0)).toBe('evidence')
  })
  it('has the reason of a failure', async () => {
    const log = logOf()
    const { error } = await errorOf(
      recordCall(log, { methodName: 'f' }, () => {
        throw new RangeError('too far')
      }),
    )
    expect(error).toBeInstanceOf(RangeError)
    expect(last(log)).toMatchObject({
      outcomeSummary: { status: 'error', ok: false, errorType: 'RangeError', retriable: false },
      errorType: 'RangeError',
      errorMessage: 'too far',
    })
  })
  it('has optional fields and an application’s own', async () => {
    const log = logOf()
    await recordCall(
      log,
      {
        methodName: 'f',
        speaker: 'agent',
        callId: 'mine',
        traceId: 't1',
        programSource: 'f()',
        artifactHit: false,
        fields: { cost: 0.1, at: new Date(0), callId: 'no', gone: undefined },
      },
      () => null,
    )
    expect(last(log)).toMatchObject({
      callId: 'mine',
      speaker: 'agent',
      traceId: 't1',
      programSource: 'f()',
      artifactHit: false,
      cost: 0.1,
      at: '1970-01-01T00:00:00.000Z',
    })
    expect(last(log)).not.toHaveProperty('gone')
  })
  it.each<readonly [string, unknown, string | undefined]>([
    ['undefined', undefined, undefined],
    ['null', null, 'null'],
    ['text', 'a', 'string'],
    ['a list', [], 'Array'],
    ['an object', {}, 'Object'],
    ['an instance', new Map(), 'Map'],
    ['a function', () => 1, 'function'],
    ['no prototype', Object.create(null), 'Object'],
  ])('has the class of a value: %s', async (_name, value, expected) => {
    const log = logOf()
    await recordCall(log, { methodName: 'f' }, () => value)
    expect(last(log).outcomeSummary.valueClass).toBe(expected)
    expect(JSON.stringify(last(log))).not.toContain('"value"')
  })
  it('has the arguments as they were when the call began', async () => {
    const log = logOf()
    const args = [{ list: [1] }]
    await recordCall(log, { methodName: 'f', args }, () => void args[0]?.list.push(2))
    expect(last(log).args).toEqual([{ list: [1] }])
  })
  it('is appended for any arguments', async () => {
    const log = logOf()
    const cycle: unknown[] = [10n, NaN]
    cycle.push(cycle)
    await recordCall(
      log,
      {
        methodName: '\ud800',
        callId: 'c\udfff',
        args: cycle,
        kwargs: {
          get bad() {
            throw new Error('no')
          },
        },
      },
      () => 1,
    )
    expect(last(log)).toMatchObject({
      callId: 'c\ufffd',
      methodName: '\ufffd',
      args: ['10n', 'NaN', '[circular: args]'],
      kwargs: { bad: '[unreadable: Error: no]' },
    })
  })
  it('does not prevent a call whose fields are unreadable', async () => {
    const log = logOf()
    expect(
      await recordCall(
        log,
        {
          methodName: 'f',
          fields: {
            get bad() {
              throw new Error('no')
            },
            good: 1,
          },
        },
        () => 7,
      ),
    ).toBe(7)
    expect(last(log)).toMatchObject({ bad: '[unreadable: Error: no]', good: 1 })
  })
  it('counts a returned value as failure if the caller says so, and as unknown if that fails', async () => {
    const events: RecordEvent[] = []
    const log = logOf({ telemetry: (event) => events.push(event) })
    const summarize = (value: { readonly _tag: string }) =>
      value._tag === 'Left'
        ? { ok: false, errorType: 'Conflict', errorMessage: 'late', retriable: true, source: 'db' }
        : {}
    expect(await recordCall(log, { methodName: 'f', summarize }, () => ({ _tag: 'Left' }))).toEqual({ _tag: 'Left' })
    expect(last(log)).toMatchObject({
      outcomeSummary: {
        status: 'error',
        ok: false,
        errorType: 'Conflict',
        retriable: true,
        valueClass: 'Object',
        source: 'db',
      },
      errorType: 'Conflict',
      errorMessage: 'late',
    })
    await recordCall(
      log,
      {
        methodName: 'g',
        summarize: () => {
          throw new Error('no')
        },
      },
      () => 1,
    )
    expect(last(log).outcomeSummary).toMatchObject({ status: 'unknown', ok: false, errorType: null })
    expect(events.at(-1)).toMatchObject({ historyRecordAppended: true, error: new Error('no') })
    await recordCall(log, { methodName: 'h', summarize: (() => 7) as never }, () => 1)
    expect(last(log).outcomeSummary).toEqual({
      status: 'ok',
      ok: true,
      errorType: null,
      retriable: false,
      valueClass: 'number',
    })
  })
  it('marks retriable failures', async () => {
    const log = logOf()
    await errorOf(
      recordCall(log, { methodName: 'f' }, () => {
        throw Object.assign(new Error(), { retriable: true })
      }),
    )
    expect(last(log).outcomeSummary.retriable).toBe(true)
    await errorOf(
      recordCall(log, { methodName: 'f', retriable: (error) => error === 'busy' }, () => {
        throw 'busy'
      }),
    ) // oxlint-disable-line no-throw-literal
    expect(last(log).outcomeSummary).toMatchObject({ retriable: true, errorType: 'string' })
    await errorOf(
      recordCall(
        log,
        {
          methodName: 'f',
          retriable: () => {
            throw new Error('no')
          },
        },
        () => {
          throw new Error()
        },
      ),
    )
    expect(last(log).outcomeSummary.retriable).toBe(false)
  })
})

describe('thrown values pass through unchanged', () => {
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  it.each<readonly [string, unknown, string, string | undefined]>([
    ['undefined', undefined, 'undefined', undefined],
    ['null', null, 'null', 'null'],
    ['zero', 0, 'number', '0'],
    ['text', 'no', 'string', 'no'],
    ['a symbol', Symbol('s'), 'symbol', 'Symbol(s)'],
    ['a fault', Object.freeze({ _tag: 'Conflict', expected: 1 }), 'Conflict', '{"_tag":"Conflict","expected":1}'],
    ['an object', { code: 'E7', detail: [1n] }, 'Object', '{"code":"E7","detail":["1n"]}'],
    ['an object with a message', { message: 'no' }, 'Object', 'no'],
    ['an object with a name', { name: 'x' }, 'Object', '{"name":"x"}'],
    ['a revoked proxy', revoked.proxy, 'unreadable', undefined],
  ])('%s', async (_name, value, errorType, errorMessage) => {
    for (const body of [
      () => {
        throw value
      },
      async () => {
        throw value
      },
    ]) {
      const log = logOf()
      const { error } = await errorOf(recordCall(log, { methodName: 'f' }, body))
      expect(Object.is(error, value)).toBe(true)
      expect(log.len).toBe(1)
      expect(last(log).outcomeSummary).toEqual({ status: 'error', ok: false, errorType, retriable: false })
      expect(last(log).errorMessage).toBe(errorMessage)
    }
  })
})

it("the log's limits bound what is kept of a call", async () => {
  const log = logOf({ limits: { string: 20 } })
  const long = 'x'.repeat(1000)
  await errorOf(recordCall(log, { methodName: 'f', args: [long] }, () => { throw new Error(long) })) // oxfmt-ignore
  expect(JSON.stringify(last(log))).not.toContain('x'.repeat(21))
})

it("a program's source is whole up to 100,000 characters, whatever the log's limits", async () => {
  const log = logOf({ limits: { string: 20, size: 200 } })
  const whole = 'x'.repeat(100_000)
  for (const programSource of [whole, `${whole}y`]) await recordCall(log, { methodName: 'f', programSource }, () => 1)
  const [kept, shortened] = log
    .view()
    .toArray()
    .map((record) => record.programSource)
  expect(kept === whole).toBe(true)
  expect(shortened).toMatch(/^x+[^x]/)
  expect(shortened?.length).toBeLessThanOrEqual(100_000)
})

it('a thrown object without a message keeps its JSON as the message, bounded like every recorded value', async () => {
  const log = logOf()
  await errorOf(recordCall(log, { methodName: 'f' }, () => { throw { code: 'E7', detail: 'x'.repeat(1e6) } })) // oxfmt-ignore
  const { errorMessage = '' } = last(log)
  expect(errorMessage).toMatch(/^\{"code":"E7","detail":"x+/)
  expect(errorMessage.length).toBeLessThan(100_000)
})

describe('timeouts and aborts', () => {
  it('end the call by signal, whether or not its body ends', async () => {
    const log = logOf()
    const { error } = await errorOf(
      recordCall(log, { methodName: 'hang', signal: AbortSignal.timeout(10) }, () => new Promise(() => undefined)),
    )
    expect(error).toMatchObject({ name: 'TimeoutError' })
    expect(last(log).outcomeSummary).toEqual({
      status: 'timeout',
      ok: false,
      errorType: 'TimeoutError',
      retriable: false,
    })
  })
  it.each<readonly [string, unknown]>([
    ['the default', undefined],
    ['text', 'stopped by the user'],
    ['an error', new Error('enough')],
  ])('throw the reason unchanged: %s', async (_name, reason) => {
    const log = logOf()
    const stop = new AbortController()
    const running = recordCall(log, { methodName: 'f', signal: stop.signal }, (context) => {
      expect(context.signal).toBe(stop.signal)
      stop.abort(reason)
      return sleep(5, 'too late')
    })
    expect((await errorOf(running)).error).toBe(stop.signal.reason)
    expect(last(log).outcomeSummary.status).toBe('aborted')
    await sleep(15)
    expect(log.len).toBe(1)
  })
  it('record a call aborted before it began, without making it', async () => {
    const log = logOf()
    let made = false
    await errorOf(recordCall(log, { methodName: 'f', signal: AbortSignal.abort() }, () => (made = true)))
    expect([made, last(log).outcomeSummary.status]).toEqual([false, 'aborted'])
  })
  it('accept a body that stops by itself', async () => {
    const log = logOf()
    await errorOf(recordCall(log, { methodName: 'f' }, () => sleep(1000, 0, { signal: AbortSignal.timeout(5) })))
    expect(last(log).outcomeSummary.status).toBe('aborted') // what node:timers throws is an AbortError, whatever its cause
  })
  it('leave no listener after a body that finished in time', async () => {
    const log = logOf()
    const { signal } = new AbortController()
    let listeners = 0
    const counting = {
      aborted: false,
      reason: undefined,
      addEventListener: () => void (listeners += 1),
      removeEventListener: () => void (listeners -= 1),
    }
    expect(await recordCall(log, { methodName: 'f', signal }, () => 1)).toBe(1)
    expect(await recordCall(log, { methodName: 'f', signal: counting }, async () => 2)).toBe(2)
    await errorOf(
      recordCall(log, { methodName: 'f', signal: counting }, () => {
        throw new Error('no')
      }),
    )
    await sleep(0)
    expect(listeners).toBe(0)
    expect(
      log
        .view()
        .toArray()
        .map(({ outcomeSummary }) => outcomeSummary.status),
    ).toEqual(['ok', 'ok', 'error'])
  })
})

it('what is no log, no call, or has unknown options is refused before the body runs', async () => {
  const log = createCallLog()
  const body = vi.fn()
  for (const given of [{ log }, [], null, undefined]) {
    await expect(recordCall(given as never, { methodName: 'f' }, body)).rejects.toThrow(
      'recordCall takes a log, from createCallLog() or `opened.log` of openCallLog(…), found',
    )
    expect(() => startCall(given as never, { methodName: 'f' })).toThrow(TypeError)
  }
  for (const given of [{}, null, 'f', { methodName: undefined }])
    await expect(recordCall(log, given as never, body)).rejects.toThrow('recordCall takes a call with a methodName')
  const misspelt = { methodName: 'f', arg: [1] } as never
  await expect(recordCall(log, misspelt, body)).rejects.toThrow('no option "arg". Did you mean `args`?')
  expect(() => startCall(log, misspelt)).toThrow(TypeError)
  expect(() => normalizeRecords([], { limit: {} } as never)).toThrow('normalizeRecords has no option "limit"')
  expect([body.mock.calls.length, log.len]).toEqual([0, 0])
})

describe('one record per call', () => {
  it('however often the body retries', async () => {
    const log = logOf()
    let tries = 0
    await recordCall(log, { methodName: 'flaky' }, async () => {
      for (;;) {
        tries += 1
        try {
          if (tries < 5) throw new Error('busy')
          return tries
        } catch {
          await sleep(0)
        }
      }
    })
    expect([tries, log.len]).toEqual([5, 1])
  })
  it('with a new record for a retry after a failure, and none after a success', async () => {
    const log = logOf()
    const tries = [new Error('busy'), new Error('still busy'), undefined, undefined]
    for (const error of tries)
      await recordCall(log, { methodName: 'charge', callId: 'c' }, () => (error === undefined ? 1 : Promise.reject(error))).catch(() => undefined) // oxfmt-ignore
    expect(
      log
        .view()
        .toArray()
        .map(({ callId, retryOf, outcomeSummary }) => [callId, retryOf, outcomeSummary.ok]),
    ).toEqual([
      ['c', undefined, false],
      ['c#2', 'c', false],
      ['c#3', 'c', true],
    ])
  })
  it('by call id, also in another call and for earlier records', () => {
    const events: RecordEvent[] = []
    const log = logOf({ telemetry: (event) => events.push(event) })
    const call = startCall(log, { methodName: 'f', callId: 'once' })
    expect(call.finish({ value: 1 })).toEqual({ appended: true, position: 0 })
    expect(call.finish({ error: new Error('later') })).toEqual({ appended: false, reason: 'duplicate', position: 0 })
    expect(startCall(log, { methodName: 'f', callId: 'once' }).finish({ value: 2 })).toEqual({
      appended: false,
      reason: 'duplicate',
      position: 0,
    })
    const again = createCallLog({ from: log.view() })
    expect(startCall(again, { methodName: 'f', callId: 'once' }).finish({ value: 3 })).toMatchObject({
      reason: 'duplicate',
    })
    log.append({ ...last(log), callId: 'by hand' })
    expect(startCall(log, { methodName: 'f', callId: 'by hand' }).finish({ value: 3 })).toMatchObject({
      reason: 'duplicate',
      position: 1,
    })
    expect([log.len, again.len]).toEqual([2, 1])
    expect(last(log).outcomeSummary.ok).toBe(true)
    expect(
      events.map(({ historyRecordAppended, conversationHistorySize, reason }) => [
        historyRecordAppended,
        conversationHistorySize,
        reason,
      ]),
    ).toEqual([
      [true, 1, undefined],
      [false, 1, 'duplicate'],
      [false, 1, 'duplicate'],
      [false, 2, 'duplicate'],
    ])
    log.append(last(log)) // a second one of the same id
    expect(startCall(log, { methodName: 'f', callId: 'by hand' }).finish({ value: 3 })).toMatchObject({ position: 1 })
  })
})

describe('parents of nested and concurrent calls', () => {
  const tree = (log: History<CallRecord>): readonly unknown[] =>
    log
      .view()
      .toArray()
      .map(({ methodName, parentCallId, depth, speaker, traceId }) => {
        const parent = log
          .view()
          .toArray()
          .find(({ callId }) => callId === parentCallId)
        return [methodName, parent?.methodName, depth, speaker, traceId]
      })
      .toSorted()
  const expected = [
    ['a', undefined, 0, 'user', 't'],
    ['a1', 'a', 1, 'tool', 't'],
    ['a1x', 'a1', 2, 'tool', 't'],
    ['a2', 'a', 1, 'agent', 't'],
    ['b', undefined, 0, 'user', undefined],
    ['b1', 'b', 1, 'tool', undefined],
  ]
  it('are recorded if passed explicitly', async () => {
    const log = logOf()
    await Promise.all([
      recordCall(log, { methodName: 'a', traceId: 't' }, async (a) => {
        await sleep(2)
        await Promise.all([
          a.recordCall({ methodName: 'a1' }, async (a1) => {
            await sleep(3)
            await a1.recordCall({ methodName: 'a1x' }, () => 1)
          }),
          a.recordCall({ methodName: 'a2', speaker: 'agent' }, () => sleep(1)),
        ])
      }),
      recordCall(log, { methodName: 'b' }, async (b) => {
        await sleep(1)
        await recordCall(log, { methodName: 'b1', parent: b }, () => sleep(2))
      }),
    ])
    expect(tree(log)).toEqual(expected)
    const ended = log
      .view()
      .toArray()
      .map(({ methodName }) => methodName)
    expect(ended.findLast((name) => name.startsWith('a'))).toBe('a') // after the calls in it
  })
  it('are found automatically if the log has a scope', async () => {
    const log = logOf({ scope: new AsyncLocalStorage<CallContext>() })
    const call = <T>(methodName: string, body: () => T | Promise<T>, more: Partial<Call<T>> = {}): Promise<T> =>
      recordCall<T>(log, { methodName, ...more }, body)
    await Promise.all([
      call(
        'a',
        async () => {
          await sleep(2)
          await Promise.all([
            call('a1', async () => {
              await sleep(3)
              await call('a1x', () => 1)
            }),
            call('a2', () => sleep(1), { speaker: 'agent' }),
          ])
        },
        { traceId: 't' },
      ),
      call('b', async () => {
        await sleep(1)
        await call('b1', () => sleep(2))
      }),
    ])
    expect(tree(log)).toEqual(expected)
    await call('after', () => 1)
    expect(last(log).parentCallId).toBeUndefined()
  })
})

describe('a recording failure', () => {
  const failingHistory = (): History<CallRecord> =>
    createHistory<CallRecord>({
      classify: () => {
        throw new Error('no room')
      },
    })
  it("does not change the caller's result", async () => {
    const log = failingHistory()
    expect(await recordCall(log, { methodName: 'f' }, () => 7)).toBe(7)
    expect(
      (
        await errorOf(
          recordCall(log, { methodName: 'f' }, () => {
            throw 'x'
          }),
        )
      ).error,
    ).toBe('x') // oxlint-disable-line no-throw-literal
    expect(startCall(log, { methodName: 'f' }).finish({ value: 1 })).toMatchObject({
      appended: false,
      reason: 'failed',
      error: new Error('no room'),
    })
    expect(log.len).toBe(0)
  })
  it('is reported to telemetry', async () => {
    const events: RecordEvent[] = []
    const log = createCallLog({ telemetry: (event) => events.push(event) })
    const failingHistory = vi.spyOn(Date.prototype, 'toISOString')
    const breaking = (): number => {
      failingHistory.mockImplementation(() => {
        throw new RangeError('no room')
      })
      return 7
    }
    expect(await recordCall(log, { methodName: 'f', callId: 'c1' }, breaking)).toBe(7)
    failingHistory.mockRestore()
    expect(events).toMatchObject([
      {
        callId: 'c1',
        methodName: 'f',
        historyRecordAppended: false,
        conversationHistorySize: 0,
        reason: 'failed',
        error: { name: 'RangeError' },
      },
    ])
  })
  it('is harmless with throwing telemetry', async () => {
    const log = createCallLog({
      telemetry: () => {
        throw new Error('no')
      },
    })
    expect(await recordCall(log, { methodName: 'f' }, () => 7)).toBe(7)
    expect(log.len).toBe(1)
  })
  it('does not occur for a history created elsewhere', async () => {
    const log = createHistory<CallRecord>()
    await recordCall(log, { methodName: 'f' }, (context) => context.recordCall({ methodName: 'g' }, () => 1))
    expect(
      log
        .view()
        .toArray()
        .map(({ callId, depth }) => [/^[\da-f-]{36}$/.test(callId), depth]),
    ).toEqual([
      [true, 1],
      [true, 0],
    ])
    expect(last(log).timestamp).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })
})

describe('redaction of call records', () => {
  it('sees every external value', async () => {
    const secret = 'hunter2'
    const content = createContentStore()
    const log = logOf({
      content,
      redact: (value, path) =>
        path.includes('password') || (typeof value === 'string' && value.includes(secret)) ? '***' : value,
    })
    await recordCall(
      log,
      {
        methodName: 'login',
        args: [secret],
        kwargs: { password: { deep: 1 } },
        programSource: `login('${secret}')`,
        fields: { note: secret },
      },
      () => ({ token: secret }),
    )
    await errorOf(
      recordCall(log, { methodName: 'login', args: [] }, () => {
        throw new Error(`bad ${secret}`)
      }),
    )
    expect(JSON.stringify(log.view())).not.toContain(secret)
    expect(log.view().at(0)).toMatchObject({
      args: ['***'],
      kwargs: { password: '***' },
      programSource: '***',
      note: '***',
    })
    expect(last(log).errorMessage).toBe('***')
    expect(content.get(log.view().at(0)?.contentRef ?? '')).toMatchObject({ right: { token: '***' } })
  })
  it('means the same as everywhere: true, options or a redactor, for texts, keys and summaries', async () => {
    const secret = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
    const redactor = createRedactor()
    for (const redact of [true, { secrets: true }, redactor] as const) {
      const content = createContentStore()
      const log = logOf({ content, redact, limits: { string: 40 } })
      await recordCall(
        log,
        {
          methodName: 'f',
          args: [`use ${secret}`, 7, Buffer.from(secret), new TextEncoder().encode(secret).buffer],
          kwargs: { [secret]: { deep: true } },
          fields: { [secret]: 1, cost: 0.5 },
          summarize: () => ({ note: secret, [secret]: 1, errorMessage: secret }),
        },
        () => ({ [secret]: [secret] }),
      )
      const record = last(log)
      expect(JSON.stringify([record, content.get(record.contentRef ?? '')])).not.toMatch(/aB3dE|6142336445/)
      expect(record).toMatchObject({ cost: 0.5, outcomeSummary: { status: 'ok', ok: true } })
      expect(record.args.slice(1)).toEqual([7, '[Buffer(40)]', '[ArrayBuffer(40)]'])
      expect(Object.values(record.kwargs)).toEqual([{ deep: true }])
      expect(Object.isFrozen(encodeValue({ [secret]: { a: 1 } }, { redact }).value)).toBe(true)
    }
    expect(redactor.counts().get('github-token')).toBeGreaterThan(5)
    expect(() => createCallLog({ redact: 'yes' as never })).toThrow('redact takes true, options')
  })
  it("fails closed and keeps the record's shape", async () => {
    const log = logOf({
      redact: () => {
        throw new Error('no')
      },
    })
    await recordCall(log, { methodName: 'f', args: [1], kwargs: { a: 1 }, programSource: 'x' }, () => 1)
    expect(last(log)).toMatchObject({
      args: ['[redacted]'],
      kwargs: { value: '[redacted]' },
      programSource: '[redacted]',
    })
  })
})

it.each([5, null, {}, { toWellFormed: Number }, ''])(
  'an id of %j from newId is replaced by a random one',
  async (id) => {
    const log = createCallLog({ newId: () => id as never })
    await recordCall(log, { methodName: 'f' }, () => 1)
    expect(last(log).callId).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  },
)
