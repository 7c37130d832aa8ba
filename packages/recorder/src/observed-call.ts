/** A call in progress: it is recorded in the right order, even if its pieces are reported in another one. */
import { isLeft, joinBytes, present } from 'indelible/json/kit'
import { reasonOf } from 'indelible/task/kit'
import { AnswerReader, type RecordedAnswer } from './answer.ts'
import type { Api } from './apis/index.ts'
import { isIdentity, mostPlain, mostWaiting, type Decompress } from './body.ts'
import type { RecordedRequest, OnPlace, CallOutcome } from './call.ts'
import { readAsked, type ParsedRequest, type ObservedRequest } from './wire.ts'

/** A call that is observed: tell it what goes by. None of this throws or waits. */
export interface ObservedCall {
  /** A piece of the request's body. */
  readonly piece: (bytes: Uint8Array) => void
  /**
   * The body of the request, which was forwarded; or why it can't be seen. Default: the pieces that were told. The answer may
   * have come before.
   */
  readonly sent: (body?: string | Uint8Array | Error) => void
  /** The status and the headers of the answer came. */
  readonly answered: (status: number, header: (name: string) => string | undefined) => void
  /** A piece of the body of the answer. It is copied, if it is kept. */
  readonly chunk: (bytes: Uint8Array) => void
  /** The answer is whole. */
  readonly end: () => void
  /** The connection broke, or the client gave up. */
  readonly fail: (reason: unknown) => void
  /** Resolves once it is recorded, or was told to be none that is. It never rejects. */
  readonly over: Promise<void>
}

/** Records the call. */
export interface Recording {
  readonly now: () => number
  /** Queue a step after all earlier ones. Undefined: it failed, and the failure was reported. */
  readonly later: <T>(url: string, of: 'request' | 'answer', work: () => Promise<T>) => Promise<T | undefined>
  /** Whether so many bytes more may wait; they are released once they are read. */
  readonly hold: (bytes: number) => boolean
  readonly release: (bytes: number) => void
  readonly plain: Decompress
  /** Record a request; undefined: it is not to be recorded. */
  readonly begin: (asked: ParsedRequest, request: ObservedRequest) => Promise<RecordedRequest | undefined>
  /** Record its answer. */
  readonly finish: (
    begun: RecordedRequest,
    answered: RecordedAnswer | undefined,
    told: CallOutcome,
    onPlace?: OnPlace,
  ) => Promise<void>
}

/** Milliseconds after a request in which the answer goes first; then the request is recorded while its provider thinks. */
export const beforeBegin = 20

/** Observe a call. */
export const observeCall = (
  api: Api,
  request: ObservedRequest,
  recording: Recording,
  onPlace?: OnPlace,
): ObservedCall => {
  const at = recording.now()
  let begun: Promise<RecordedRequest | undefined> = Promise.resolve(undefined)
  let begin = (): void => {}
  let reader: AnswerReader | undefined
  let encoded: { readonly encoding: string; readonly chunks: Uint8Array[] } | undefined
  let status: number | undefined
  let firstByte: number | undefined
  let over = false
  let seen = false
  let finishing: (() => void) | undefined
  const pieces: Uint8Array[] = []
  let size = 0
  /** The reason why its body is not read. */
  let refused: Error | undefined
  let isRecorded = (): void => {}
  const recorded = new Promise<void>((resolve) => (isRecorded = resolve))
  /** Whether so many bytes of its body more may wait. */
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
    // After the request, even if it was reported first: a provider may refuse a request before it has read it.
    finishing = () => {
      const done = recording.later(request.url, 'answer', async () => {
        const call = await begun
        if (call === undefined) return
        if (encoded !== undefined) {
          const plain = recording.plain(encoded.encoding, joinBytes(encoded.chunks))
          // A compressed body that broke off can't be read.
          reader?.take(await (reason === undefined ? plain : plain.catch(() => new Uint8Array(0))))
        }
        const answered = reader?.end(call.asked.messages)
        // A client may stop reading when the stream has said that it is done, or what its provider's error is.
        const isSaid = answered?.whole === true || answered?.error !== undefined
        const failed = reason === undefined || isSaid ? undefined : reasonOf(reason)
        await recording.finish(
          call,
          answered,
          {
            at,
            duration,
            ...present({ firstByte, status }),
            ...(failed !== undefined && { error: failed.slice(0, 500).toWellFormed() }),
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
      if (hold(bytes.length)) pieces.push(bytes.slice())
    },
    sent: (body) => {
      if (body instanceof Error) refused = body
      else if (body !== undefined) hold(body.length)
      const copy =
        refused !== undefined || body instanceof Error
          ? ''
          : body instanceof Uint8Array
            ? body.slice()
            : (body ?? joinBytes(pieces))
      pieces.length = 0
      const work = async (): Promise<RecordedRequest | undefined> => {
        if (refused !== undefined) throw refused
        const encoding = request.header('content-encoding')
        const bytes =
          typeof copy === 'string' || isIdentity(encoding) ? copy : await recording.plain(encoding as string, copy)
        const asked = readAsked(api, typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes), request)
        if (isLeft(asked)) throw new Error(asked.left)
        return recording.begin(asked.right, request)
      }
      const timer = setTimeout(() => begin(), beforeBegin)
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
    answered: (given, header) => {
      status = given
      const encoding = header('content-encoding')
      reader = new AnswerReader(api, header('content-type'))
      if (!isIdentity(encoding)) encoded = { encoding: encoding as string, chunks: [] }
    },
    chunk: (bytes) => {
      if (firstByte === undefined) setTimeout(() => begin(), 0) // once the caller has it
      firstByte ??= Math.max(0, recording.now() - at)
      if (encoded !== undefined) encoded.chunks.push(bytes.slice())
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
