/**
 * The recorder in the process that forwards: traffic is written to the spool and handed to a worker, which parses it. Forwarding
 * waits for neither, and the cost does not depend on the content.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { joinBytes } from 'indelible/json/kit'
import { isIdentity, mostWaiting } from '../body.ts'
import { beforeBegin, type ObservedCall } from '../observed-call.ts'
import { reasonOf } from 'indelible/task/kit'
import { credentials, namesInHeaders, shownUrl, type ObservedRequest } from '../wire.ts'
import { jsonBytes, kinds, lengthOf, recordOf, type FrameRecord } from './frames.ts'
import type { Segment, Spool } from './spool.ts'

/** How frames get to a worker. */
export interface FramesOptions {
  /** The spool for calls; undefined: a kill loses the open calls. */
  readonly spool: Spool | undefined
  /** Hands records to the worker, with the file in which their new calls are. */
  readonly post: (records: Uint8Array, segment: Segment | undefined) => void
  /** Milliseconds. Default: the system's clock. */
  readonly now?: () => number
}

/** A request without its body. It has only the headers that a recorder asks for, without credentials. */
export interface AskedFrame {
  readonly scope: string
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
}

/** The status and headers of an answer. */
export interface AnsweredFrame {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
}

/** A call that the worker has not recorded. */
interface OpenCall {
  readonly segment: Segment | undefined
  /** Its request went by whole. */
  isSent: boolean
  readonly resolve: () => void
}

/** Makes frames of what goes by. */
export class Frames {
  readonly #options: FramesOptions
  /** The caller's digest is compared and never written: it is keyed with a secret that is in no file. */
  readonly #secret = randomBytes(32)
  /** The last one, who calls again and again. */
  #caller = { who: '', digest: '' }
  readonly #open = new Map<number, OpenCall>()
  #calls = 0
  /** Records for the worker, and the file of their new calls. */
  #pending: FrameRecord[] = []
  #bytes = 0
  #segment: Segment | undefined
  #flushing: NodeJS.Immediate | undefined
  #waitingFor: NodeJS.Timeout | undefined
  /** Bytes that the worker has not taken. */
  #waiting = 0
  #unanswered = 0
  #hasEnded = false

  constructor(options: FramesOptions) {
    this.#options = options
  }

  /** How many calls have their request recorded and not their answer: the worker could not take it in time. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** How many calls are not recorded yet. */
  get open(): number {
    return this.#open.size
  }

  /** Begin to observe a call. Chunks that are passed to it are not copied at once, so they must not change. */
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
    /** Bytes of its body that did not come yet, if it said how many there are. */
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
        else this.#hand(kinds.sent, recordOf({ kind: kinds.sent, call, at: this.#now(), bytes: slow }))
        this.#hand(kinds.fail, recordOf({ kind: kinds.fail, call, at: this.#now(), bytes: slow }))
        return
      }
      const record = recordOf({ kind, call, at: this.#now(), bytes })
      if (kind === kinds.body) missing -= bytes.length
      if (kind === kinds.sent) known.isSent = true
      // Nothing was forwarded of a request without a piece of its body or its end, nor of an answer without one.
      const isWhole = kind === kinds.sent && missing === 0 && bytes.length === 0 && unwritten.length === 0
      write(record, kind === kinds.asked || kind === kinds.answered || isWhole)
      this.#hand(kind, record)
    }
    const asked: AskedFrame = {
      scope,
      method: request.method,
      url: shownUrl(request.url),
      headers: this.#headers(request),
    }
    add(kinds.asked, jsonBytes(asked))
    return {
      piece: (bytes) => add(kinds.body, bytes),
      sent: (body) => {
        if (body !== undefined && !(body instanceof Error)) add(kinds.body, Buffer.from(body))
        add(kinds.sent, body instanceof Error ? Buffer.from(reasonOf(body)) : none)
      },
      answered: (status, header) => {
        const answered: AnsweredFrame = { status, headers: namedHeaders(['content-type', 'content-encoding'], header) }
        add(kinds.answered, jsonBytes(answered))
      },
      chunk: (bytes) => add(kinds.chunk, bytes),
      end: () => add(kinds.end, none),
      fail: (reason) => add(kinds.fail, Buffer.from(reasonOf(reason ?? 'the client gave up').slice(0, 500))),
      over,
    }
  }

  /** The worker takes nothing more. What goes by is written to the spool alone. */
  ended(): void {
    this.#hasEnded = true
    this.#waiting = 0
    this.flush()
  }

  /** The worker has taken so many bytes. */
  taken(bytes: number): void {
    this.#waiting -= bytes
  }

  /** The worker has recorded a call, or it never will be. */
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
    const records = joinBytes(this.#pending.flat()) // of its own memory, so that it can be given away
    this.#pending = []
    this.#waiting += this.#bytes
    this.#bytes = 0
    this.#options.post(records, this.#segment)
  }

  /** After the traffic was forwarded: a request is passed on together with its answer, unless the answer takes long. */
  #hand(kind: number, record: FrameRecord): void {
    this.#pending.push(record)
    this.#bytes += lengthOf(record)
    const isMuch = this.#bytes > mostBytes || this.#pending.length > mostRecords
    if (kind === kinds.end || kind === kinds.fail || isMuch) this.#flushing ??= setImmediate(() => this.flush())
    else if (kind === kinds.sent) this.#waitingFor ??= setTimeout(() => this.flush(), beforeBegin)
  }

  #now(): number {
    return this.#options.now === undefined ? Date.now() : this.#options.now()
  }

  #headers({ header }: ObservedRequest): { readonly [name: string]: string } {
    const who = JSON.stringify(credentials.map((name) => header(name) ?? null))
    if (who !== this.#caller.who)
      this.#caller = { who, digest: createHmac('sha256', this.#secret).update(who).digest('base64') }
    const encoding = header('content-encoding')
    return {
      ...namedHeaders(namesInHeaders, header),
      ...namedHeaders(['content-length'], header),
      ...(!isIdentity(encoding) && { 'content-encoding': encoding as string }),
      authorization: this.#caller.digest,
    }
  }
}

const none = new Uint8Array(0)

/** The amount that is passed on early: it takes a millisecond at most. */
const mostBytes = 2 ** 22
const mostRecords = 500

const slow = Buffer.from(`the recorder could not keep up: ${mostWaiting} bytes waited for it`)

const namedHeaders = (
  names: readonly string[],
  header: (name: string) => string | undefined,
): { readonly [name: string]: string } =>
  Object.fromEntries(names.map((name) => [name, header(name)]).filter(([, value]) => value !== undefined)) as {
    readonly [name: string]: string
  }
