/** Observes a call in progress, and records it in the right order even if its events arrive out of order. */
import { isLeft, joinBytes, present } from 'indelible/internal/json'
import { reasonOf } from 'indelible/internal/task'
import { AnswerReader } from './answers/answer.ts'
import type { Api } from './apis/index.ts'
import { isIdentity, mostPlain, mostWaiting, type Decompress } from './answers/body.ts'
import type { Calls, OnPlace, RecordedRequest } from './call.ts'
import type { ParsedRequest, ObservedRequest } from './requests/wire.ts'

/** An observed call. Report its traffic here. None of these methods throws or waits. */
export interface ObservedCall {
  /** A chunk of the request's body. */
  readonly piece: (bytes: Uint8Array) => void
  /**
   * The request was forwarded: its whole body, or an Error that explains why it can't be seen.
   * Default: the chunks reported so far. The answer may have arrived before.
   */
  readonly sent: (body?: string | Uint8Array | Error) => void
  /** The status and headers of the answer arrived. */
  readonly answered: (status: number, header: (name: string) => string | undefined) => void
  /** A chunk of the answer's body. It is copied if it is kept. */
  readonly chunk: (bytes: Uint8Array) => void
  /** The answer is complete. */
  readonly end: () => void
  /** The connection broke, or the client gave up. */
  readonly fail: (reason: unknown) => void
  /** Resolves when the call is recorded, or is reported as not recorded. Never rejects. */
  readonly over: Promise<void>
}

/** The recorder's functions for one call. */
export interface Recording {
  readonly now: () => number
  /** The time now; a little more if another call began in the same millisecond, so that calls keep their order. */
  readonly startTime: () => number
  /** Queue a step after all earlier ones. Undefined if it failed, which has been reported. */
  readonly later: <T>(url: string, of: 'request' | 'answer', work: () => Promise<T>) => Promise<T | undefined>
  /** Reserve bytes for a waiting request; false if there is no room. `release` frees them. */
  readonly hold: (bytes: number) => boolean
  readonly release: (bytes: number) => void
  readonly plain: Decompress
  /** Whether the events of answers are recorded. */
  readonly wantsEvents: boolean
  readonly calls: Calls
  /** Record a request; undefined if it should not be recorded. */
  readonly begin: (parsed: ParsedRequest, request: ObservedRequest) => Promise<RecordedRequest | undefined>
}

/** The milliseconds to let the answer go first; then the request is recorded while the model thinks. */
export const recordDelayMs = 20

export const observeCall = (
  api: Api,
  request: ObservedRequest,
  recording: Recording,
  onPlace?: OnPlace,
): ObservedCall => {
  const at = recording.startTime()
  let begun: Promise<RecordedRequest | undefined> = Promise.resolve(undefined)
  let begin = (): void => {}
  let reader: AnswerReader | undefined
  let encoded: { readonly encoding: string; readonly chunks: Uint8Array[] } | undefined
  let status: number | undefined
  let retryAfter: string | undefined
  let firstByte: number | undefined
  let over = false
  let seen = false
  let finishing: (() => void) | undefined
  const pieces: Uint8Array[] = []
  let size = 0
  /** Why its body is not read. */
  let refused: Error | undefined
  let isRecorded = (): void => {}
  const recorded = new Promise<void>((resolve) => (isRecorded = resolve))
  /** Reserves room for more bytes of the body. */
  const hold = (length: number): boolean => {
    if (size + length > mostPlain) refused ??= new Error(`the request is longer than ${mostPlain} bytes`)
    else if (refused === undefined && !recording.hold(length))
      refused = new Error(`more than ${mostWaiting} bytes of other requests wait to be recorded`)
    if (refused === undefined) size += length
    else pieces.length = 0
    return refused === undefined
  }
  const finish = (reason?: unknown): void => {
    if (over) return
    over = true
    begin()
    const duration = Math.max(0, recording.now() - at)
    // After the request, even if reported before it: a provider may refuse a request before reading it.
    finishing = () => {
      const done = recording.later(request.url, 'answer', async () => {
        const call = await begun
        if (call === undefined) return
        if (encoded !== undefined) {
          const plain = recording.plain(encoded.encoding, joinBytes(encoded.chunks))
          // A compressed body that broke off can't be decompressed.
          reader?.take(await (reason === undefined ? plain : plain.catch(() => new Uint8Array(0))))
        }
        const answered = reader?.end(call.parsed.messages)
        // A client may stop reading once the stream has ended or reported the provider's error.
        const isSaid = answered?.whole === true || answered?.error !== undefined
        const failed = reason === undefined || isSaid ? undefined : reasonOf(reason)
        await recording.calls.finish(
          call,
          answered,
          {
            at,
            duration,
            ...present({ firstByte, status, retryAfter }),
            ...(failed !== undefined && { error: failed }),
          },
          onPlace,
        )
      })
      void done.then(isRecorded)
    }
    if (seen) finishing()
  }
  return {
    piece: (bytes) => {
      if (hold(bytes.length)) pieces.push(new Uint8Array(bytes)) // `slice` of a Buffer copies nothing
    },
    sent: (body) => {
      if (body instanceof Error) refused = body
      else if (body !== undefined) hold(body.length)
      const copy =
        refused !== undefined || body instanceof Error
          ? ''
          : body instanceof Uint8Array
            ? new Uint8Array(body)
            : (body ?? joinBytes(pieces))
      pieces.length = 0
      const work = async (): Promise<RecordedRequest | undefined> => {
        if (refused !== undefined) throw refused
        const encoding = request.header('content-encoding')
        const bytes =
          typeof copy === 'string' || isIdentity(encoding) ? copy : await recording.plain(encoding as string, copy)
        const parsed = recording.calls.reader.parse(
          api,
          typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes),
          request,
        )
        if (isLeft(parsed)) throw new Error(parsed.left)
        return recording.begin(parsed.right, request)
      }
      const timer = setTimeout(() => begin(), recordDelayMs)
      begin = () => {
        begin = () => {}
        clearTimeout(timer)
        begun = recording.later(request.url, 'request', work)
        void begun.finally(() => recording.release(size))
      }
      seen = true
      if (finishing === undefined) return
      begin()
      finishing()
    },
    answered: (input, header) => {
      status = input
      if (input >= 400) retryAfter = header('retry-after')?.slice(0, 100)
      const encoding = header('content-encoding')
      const { wantsEvents } = recording
      reader = new AnswerReader(api, header('content-type'), { isError: input >= 400, wantsEvents })
      if (!isIdentity(encoding)) encoded = { encoding: encoding as string, chunks: [] }
    },
    chunk: (bytes) => {
      if (firstByte === undefined) setTimeout(() => begin(), 0) // once the caller has it
      firstByte ??= Math.max(0, recording.now() - at)
      if (encoded !== undefined) encoded.chunks.push(new Uint8Array(bytes))
      else reader?.take(bytes)
    },
    end: () => finish(),
    fail: (reason) => finish(reason ?? 'the client gave up'),
    over: recorded,
  }
}

declare const setTimeout: (work: () => void, milliseconds: number) => number
declare const clearTimeout: (timer: number) => void
declare const TextDecoder: new () => { decode: (bytes: Uint8Array) => string }
