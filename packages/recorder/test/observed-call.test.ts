/** Calls as a proxy reports them, piece by piece and in any order: what is recorded of each. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { listSessions, memoryStore, openSession, textOf, type Message } from 'indelible'
import { createRecorder, detailsOf, type CallDetails } from '@indelible/recorder'
import { decompress } from '../src/proxy/internal.ts'

const url = 'http://x/v1/chat/completions'
const asked = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
const answer = JSON.stringify({ model: 'm', choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }) // oxfmt-ignore
const events = ['he', 'y'].map((content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`) // oxfmt-ignore
const ended = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const headers =
  (given: { readonly [name: string]: string } = {}) =>
  (name: string) =>
    given[name]

type Call = Exclude<ReturnType<ReturnType<typeof createRecorder>['observe']>, undefined>

/** What is recorded of a call: the texts of its messages, its receipt, and the notices. */
const record = async (report: (call: Call) => void, requestHeaders = {}) => {
  const store = memoryStore()
  const notices: string[] = []
  let time = 1000
  const recorder = createRecorder({
    ...{ store, decompress, now: () => (time += 10) },
    onNotice: ({ reason }) => void notices.push(reason),
  })
  const call = recorder.observe({ method: 'POST', url, header: headers(requestHeaders) }) as Call
  report(call)
  await call.over
  await recorder.settled()
  const { calls, failed, lost, unanswered } = recorder.summary()
  const [found] = (await listSessions(store)).sessions
  const session = found && (await openSession(store, found.id))
  const receipts = [...(session?.notes() ?? [])].filter(({ type }) => type === 'receipt')
  const details = receipts.map((note) => detailsOf(note as never, session as never) as CallDetails)
  return {
    texts: session && [...session.view()].map((message) => textOf(message as Message)),
    details: details.map(({ status, error, cut, stop }) => ({ status, error, cut, stop })),
    ...{ notices, counts: { calls, failed, lost, unanswered } },
  }
}
const good = {
  ...{ texts: ['hello', 'hi'], details: [{ status: 200, error: undefined, cut: undefined, stop: 'stop' }] },
  ...{ notices: [], counts: { calls: 1, failed: 0, lost: 0, unanswered: 0 } },
}

describe('an observed call', () => {
  const gzip = { 'content-encoding': 'gzip' }
  const inPieces = (bytes: Uint8Array, take: (piece: Uint8Array) => void): void => {
    for (let from = 0; from < bytes.length; from += 7) {
      const piece = bytes.slice(from, from + 7)
      take(piece)
      piece.fill(0) // the caller uses its bytes again
    }
  }

  it.each<readonly [string, object, (call: Call) => void]>([
    [
      'whole',
      {},
      (call) => {
        call.sent(asked)
        call.answered(200, headers())
        call.chunk(utf8(answer))
        call.end()
      },
    ],
    [
      'in pieces that are used again',
      {},
      (call) => {
        inPieces(utf8(asked), call.piece)
        call.sent()
        call.answered(200, headers({ 'content-encoding': 'identity' }))
        inPieces(utf8(answer), call.chunk)
        call.end()
      },
    ],
    [
      'compressed, in pieces',
      gzip,
      (call) => {
        inPieces(gzipSync(asked), call.piece)
        call.sent()
        call.answered(200, headers(gzip))
        inPieces(gzipSync(answer), call.chunk)
        call.end()
      },
    ],
    [
      'with its end before its request',
      {},
      (call) => {
        call.answered(200, headers())
        call.chunk(utf8(answer))
        call.end()
        call.sent(utf8(asked))
      },
    ],
    [
      'with another end after its end',
      {},
      (call) => {
        call.sent(asked)
        call.answered(200, headers())
        call.chunk(utf8(answer))
        call.end()
        call.fail('gone')
        call.end()
      },
    ],
  ])('%s is recorded once', async (_, requestHeaders, report) => {
    expect(await record(report, requestHeaders)).toEqual(good)
  })

  const stream = (call: Call, ...chunks: readonly string[]): void => {
    call.sent(asked)
    call.answered(200, headers({ 'content-type': 'text/event-stream' }))
    for (const chunk of chunks) call.chunk(utf8(chunk))
  }

  it('that breaks off after its last event is whole, and before it is recorded as far as it came', async () => {
    expect(await record((call) => (stream(call, ...events, ended), call.fail('gone')))).toEqual({
      ...{ ...good, texts: ['hello', 'hey'] },
    })
    expect(await record((call) => (stream(call, ...events), call.fail(new Error('gone'))))).toEqual({
      ...{ texts: ['hello', 'hey'], details: [{ status: 200, error: 'gone', cut: true, stop: undefined }] },
      ...{ notices: [], counts: { calls: 1, failed: 1, lost: 0, unanswered: 0 } },
    })
  })

  it('that the client gave up before an answer came has its question and that error', async () => {
    const given = await record((call) => (call.sent(asked), call.fail(undefined)))
    expect(given).toMatchObject({ texts: ['hello'], details: [{ status: undefined, error: 'the client gave up' }] })
  })

  it('whose compressed answer broke off has its question', async () => {
    const cut = await record((call) => {
      call.sent(asked)
      call.answered(200, headers(gzip))
      call.chunk(gzipSync(answer).subarray(0, 20))
      call.fail('gone')
    })
    expect(cut).toMatchObject({ texts: ['hello'], details: [{ status: 200, error: 'gone' }], notices: [] })
  })

  it('whose answer can not be decompressed is reported', async () => {
    const { counts, notices } = await record((call) => {
      call.sent(asked)
      call.answered(200, headers({ 'content-encoding': 'zip' }))
      call.chunk(utf8(answer))
      call.end()
    })
    expect([counts.lost, counts.unanswered]).toEqual([1, 1])
    expect(notices).toEqual([expect.stringContaining(`the encoding "zip" can't be read`)])
  })

  it.each<readonly [string, string | Uint8Array | Error, RegExp]>([
    ['that can not be seen', new Error('the body is a stream'), /the body is a stream/],
    ['that is not JSON', '{', /the request is not JSON at line 1, column 2/],
    ['that is no object', '[]', /the request is not a JSON object/],
    ['without readable messages', '{"messages":5}', /its messages can't be read/],
  ])('of a request %s is reported, and not recorded', async (_, body, reason) => {
    const { texts, counts, notices } = await record((call) => {
      call.sent(body)
      call.answered(200, headers())
      call.chunk(utf8(answer))
      call.end()
    })
    expect([texts, counts]).toEqual([undefined, { calls: 0, failed: 0, lost: 1, unanswered: 0 }])
    expect(notices).toEqual([expect.stringMatching(reason)])
  })

  it('has the time to its first byte, and to its end', async () => {
    const store = memoryStore()
    let time = 1000
    const recorder = createRecorder({ store, now: () => time })
    const call = recorder.observe({ method: 'POST', url, header: headers() }) as Call
    call.sent(asked)
    call.answered(200, headers())
    time = 1025
    call.chunk(utf8(answer.slice(0, 5)))
    time = 1050
    call.chunk(utf8(answer.slice(5)))
    time = 1070
    call.end()
    await recorder.settled()
    const [found] = (await listSessions(store)).sessions
    const session = await openSession(store, found?.id as string)
    const receipt = [...session.notes()].find(({ type }) => type === 'receipt')
    expect(detailsOf(receipt as never, session)).toMatchObject({ at: 1000, firstByte: 25, duration: 70 })
  })
})
