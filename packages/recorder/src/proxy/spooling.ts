/**
 * The recorder in the forwarding process: traffic is written to the spool and passed to a worker,
 * which parses it. Forwarding waits for neither, and its cost does not depend on the content.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { joinBytes, present } from 'indelible/internal/json'
import { mostWaiting } from '../answers/body.ts'
import { keptAnswerHeaders, keptRequestHeaders } from '../requests/kept-headers.ts'
import { recordDelayMs, type ObservedCall } from '../observed-call.ts'
import { reasonOf } from 'indelible/internal/task'
import { shownUrl, type ObservedRequest } from '../requests/wire.ts'
import { jsonBytes, kinds, lengthOf, recordOf, type FrameRecord } from './frames.ts'
import type { Segment, Spool } from './spool.ts'

/** The options of `Frames`. */
interface FramesOptions {
  /** The spool for calls; undefined: a kill loses the open calls. */
  readonly spool: Spool | undefined
  /** The working folder of the program that calls, if known. */
  readonly folder?: string | undefined
  /** Passes records to the worker, with the file that holds their new calls. */
  readonly post: (records: Uint8Array, segment: Segment | undefined) => void
  /** The clock, in milliseconds. Default: the system's. */
  readonly now?: () => number
}

/** A request without its body, and with only the headers that a recorder uses, without credentials. */
export interface AskedFrame {
  readonly scope: string
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly folder?: string
}

/** The status and headers of an answer. */
export interface AnsweredFrame {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
}

/** A call that the worker has not recorded yet. */
interface OpenCall {
  readonly segment: Segment | undefined
  /** Whether its request was forwarded completely. */
  isSent: boolean
  readonly resolve: () => void
}

/** Turns traffic into frames. */
export class Frames {
  readonly #options: FramesOptions
  /** The key of the callers' digests. It is never written to a file. */
  readonly #secret = randomBytes(32)
  readonly #open = new Map<number, OpenCall>()
  #calls = 0
  /** Records for the worker, and the file with their new calls. */
  #pending: FrameRecord[] = []
  #bytes = 0
  #segment: Segment | undefined
  #flushing: NodeJS.Immediate | undefined
  #waitingFor: NodeJS.Timeout | undefined
  /** Bytes that the worker has not processed. */
  #waiting = 0
  #unanswered = 0
  #hasEnded = false

  constructor(options: FramesOptions) {
    this.#options = options
  }

  /** The number of calls whose request is recorded but not their answer, because the worker could not keep up. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** The number of calls not recorded yet. */
  get open(): number {
    return this.#open.size
  }

  /** Begin to observe a call. Chunks passed to it are not copied at once, so they must not change. */
  observe(scope: string, request: ObservedRequest): ObservedCall {
    const call = (this.#calls = (this.#calls + 1) >>> 0)
    const segment = this.#options.spool?.begin()
    if (segment !== this.#segment) this.flush()
    this.#segment = segment
    let resolve = (): void => {}
    const over = new Promise<void>((resolved) => (resolve = resolved))
    const known: OpenCall = { segment, isSent: false, resolve }
    this.#open.set(call, known)
    let isWritten = segment !== undefined
    let isLost = false
    /** The bytes of its body still missing; NaN if its length is unknown. */
    let missing = Number(request.header('content-length'))
    let unwritten: FrameRecord[] = []
    const write = (record: FrameRecord, canWait: boolean): void => {
      if (segment === undefined || !isWritten) return
      unwritten.push(record)
      if (canWait) return
      isWritten = this.#options.spool?.write(segment, unwritten) === true
      unwritten = []
    }
    const add = (kind: number, bytes: Uint8Array): void => {
      if (isLost) return
      if (this.#waiting + this.#bytes + bytes.length > mostWaiting) {
        isLost = true
        if (known.isSent) this.#unanswered++
        else this.#hand(kinds.sent, recordOf({ kind: kinds.sent, call, at: this.#now(), bytes: overloadedText }))
        this.#hand(kinds.fail, recordOf({ kind: kinds.fail, call, at: this.#now(), bytes: overloadedText }))
        return
      }
      const record = recordOf({ kind, call, at: this.#now(), bytes })
      if (kind === kinds.body) missing -= bytes.length
      if (kind === kinds.sent) known.isSent = true
      // Until a request's body or end, or an answer's body, nothing is forwarded, so the record can wait.
      const isWhole = kind === kinds.sent && missing === 0 && bytes.length === 0 && unwritten.length === 0
      write(record, kind === kinds.asked || kind === kinds.answered || isWhole)
      this.#hand(kind, record)
    }
    const frame: AskedFrame = {
      scope,
      method: request.method,
      url: shownUrl(request.url),
      headers: keptRequestHeaders(request.header, (credentials) =>
        createHmac('sha256', this.#secret).update(credentials).digest('base64'),
      ),
      ...present({ folder: this.#options.folder }),
    }
    add(kinds.asked, jsonBytes(frame))
    return {
      piece: (bytes) => add(kinds.body, bytes),
      sent: (body) => {
        if (body !== undefined && !(body instanceof Error)) add(kinds.body, Buffer.from(body))
        add(kinds.sent, body instanceof Error ? Buffer.from(reasonOf(body)) : none)
      },
      answered: (status, header) => {
        const answered: AnsweredFrame = { status, headers: keptAnswerHeaders(header) }
        add(kinds.answered, jsonBytes(answered))
      },
      chunk: (bytes) => add(kinds.chunk, bytes),
      end: () => add(kinds.end, none),
      fail: (reason) => add(kinds.fail, Buffer.from(reasonOf(reason ?? 'the client gave up').slice(0, 500))),
      over,
    }
  }

  /** The worker accepts no more data. Further traffic is only written to the spool. */
  ended(): void {
    this.#hasEnded = true
    this.#waiting = 0
    this.flush()
  }

  /** The worker has processed this many bytes. */
  taken(bytes: number): void {
    this.#waiting -= bytes
  }

  /** The worker has recorded a call, or never will. */
  over(call: number): void {
    const known = this.#open.get(call)
    this.#open.delete(call)
    known?.resolve()
    if (known?.segment !== undefined) this.#options.spool?.over(known.segment, call)
  }

  /** Pass on the pending data. */
  flush(): void {
    clearImmediate(this.#flushing)
    clearTimeout(this.#waitingFor)
    this.#flushing = this.#waitingFor = undefined
    if (this.#hasEnded) this.#pending = []
    if (this.#pending.length === 0) {
      this.#bytes = 0
      return
    }
    const records = joinBytes(this.#pending.flat()) // a separate buffer, so that it can be transferred
    this.#pending = []
    this.#waiting += this.#bytes
    this.#bytes = 0
    this.#options.post(records, this.#segment)
  }

  /** Runs after forwarding: a request is passed on together with its answer, unless the answer takes long. */
  #hand(kind: number, record: FrameRecord): void {
    this.#pending.push(record)
    this.#bytes += lengthOf(record)
    const isMuch = this.#bytes > mostBytes || this.#pending.length > mostRecords
    if (kind === kinds.end || kind === kinds.fail || isMuch) this.#flushing ??= setImmediate(() => this.flush())
    else if (kind === kinds.sent) this.#waitingFor ??= setTimeout(() => this.flush(), recordDelayMs)
  }

  #now(): number {
    return this.#options.now === undefined ? Date.now() : this.#options.now()
  }
}

const none = new Uint8Array(0)

/** The amount that is passed on early, which takes at most a millisecond. */
const mostBytes = 2 ** 22
const mostRecords = 500

const overloadedText = Buffer.from(`the recorder could not keep up: ${mostWaiting} bytes waited for it`)
