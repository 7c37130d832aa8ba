/** Opens the file of a replay, and records calls into it. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Either } from 'fp-ts/lib/Either.js'
import { bodyIn, hasAnswer, isEventText } from '../answers/answer.ts'
import type { Api } from '../apis/index.ts'
import { isIdentity } from '../answers/body.ts'
import { formsOf, type ContentOptions, type Forms } from '../requests/content.ts'
import type { ObservedCall } from '../observed-call.ts'
import { toSentMessage } from '../conversations/receipt.ts'
import { systemWithoutBookkeeping, withoutBookkeeping } from './bookkeeping.ts'
import { RequestReader } from '../requests/request-reader.ts'
import { apiOf, type ObservedRequest, type ParsedRequest } from '../requests/wire.ts'
import { isLeft, isObject, joinBytes, left, right, type Json, type JsonObject, present } from 'indelible/internal/json'
import { textOf, type Message } from 'indelible/message'
import { createRedactor } from 'indelible/redact'
import { reasonOf } from 'indelible/internal/task'
import { eventsOfStream, linesOfEvents, streamEvent } from '../answers/stream-lines.ts'
import { redactedEvents, redactedJson } from '../answers/redacted-events.ts'
import { readReplay, textOfReplay, type FileCall, type FileReply, type FileRequest } from './file.ts'
import { factsOf } from './replay.ts'
import { isWrapped } from './write-reply.ts'

/** The options of a replay file. */
export interface ReplayFileOptions {
  readonly file: string | URL
  /** Default: `fail`. */
  readonly onMiss?: 'fail' | 'record'
  /** Default: true. */
  readonly redact?: ContentOptions['redact']
}

/** An open replay file. */
export interface ReplayFile {
  /** Its name, for messages. */
  readonly name: string
  /** Its calls; none if it is recorded anew. */
  readonly calls: readonly FileCall[]
  /** Records the calls that it lacks; undefined if such a call fails. */
  readonly recording: FileRecording | undefined
}

/**
 * Open a replay file. `INDELIBLE_REPLAY=record` records it anew; `onMiss: 'record'` adds the calls that it lacks. Neither
 * is possible where `CI` is set.
 *
 * @returns the file, or a sentence that says why it can't be used and what to do
 */
export const openReplayFile = (
  { file, onMiss = 'fail', redact = true }: ReplayFileOptions,
  env: { readonly [name: string]: string | undefined } = process.env,
): Either<string, ReplayFile> => {
  const path = typeof file === 'string' ? file : fileURLToPath(file)
  const name = basename(path)
  const variable = env['INDELIBLE_REPLAY'] || undefined
  if (variable !== undefined && variable !== 'record')
    return left(`INDELIBLE_REPLAY is "${variable}"; the one value that it takes is "record"`)
  const isNew = variable === 'record'
  const records = isNew || onMiss === 'record'
  if (records && !['', '0', 'false', undefined].includes(env['CI']))
    return left(
      `${isNew ? 'INDELIBLE_REPLAY=record' : "onMiss: 'record'"} is refused where CI is set, because a test there must not call a provider: record ${name} on your machine and commit it`,
    )
  let text: string | undefined
  const recordingOf = (calls: readonly FileCall[]): FileRecording | undefined =>
    records ? new FileRecording(path, text, calls, redact) : undefined
  try {
    text = readFileSync(path, 'utf8')
    if (isNew) return right({ name, calls: [], recording: recordingOf([]) })
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    if (isMissing && records) return right({ name, calls: [], recording: recordingOf([]) })
    return left(
      isMissing
        ? `there is no file ${path}: record it with INDELIBLE_REPLAY=record`
        : `${path} can't be read: ${reasonOf(cause)}`,
    )
  }
  const calls = readReplay(text, name)
  return isLeft(calls) ? calls : right({ name, calls: calls.right, recording: recordingOf(calls.right) })
}

/** The form of requests in a file: redacted, without digests of what was removed, which would let a reader guess it. */
export const fileForms = (redact: ContentOptions['redact']): Forms => {
  const forms = formsOf(present({ redact }))
  return { ...forms, asked: (message) => withoutDigest(forms.asked(message)) }
}

const withoutDigest = (message: Message): Message => {
  const { indelible, ...meta } = message.meta ?? {}
  if (!isObject(indelible)) return message
  const { digest: _, redacted: __, ...ours } = indelible
  const all: JsonObject = Object.keys(ours).length === 0 ? meta : { ...meta, indelible: ours }
  const { meta: ___, ...rest } = message
  return Object.keys(all).length === 0 ? rest : { ...rest, meta: all }
}

const closedEarly = 'the replay was closed before the answer ended'

/** Records calls for a file. It is written as a whole, at the end. */
class FileRecording {
  readonly #path: string
  /** The file as it was opened; undefined if there was none. */
  readonly #opened: string | undefined
  readonly #before: readonly FileCall[]
  readonly #redact: ContentOptions['redact']
  readonly #reader: RequestReader
  readonly #calls: (FileCall | undefined)[] = []
  readonly #open = new Set<ObservedCall>()
  /** Why nothing is written. */
  #failure: string | undefined

  constructor(path: string, opened: string | undefined, before: readonly FileCall[], redact: ContentOptions['redact']) {
    this.#path = path
    this.#opened = opened
    this.#before = before
    this.#redact = redact
    const forms = fileForms(redact)
    this.#reader = new RequestReader({
      ...forms,
      asked: (message) => toSentMessage(forms.asked(message)) as Message,
    })
  }

  /** Observe a call. Calls are in the file in the order in which this was called. */
  observe(request: ObservedRequest): ObservedCall | undefined {
    const api = apiOf(request)
    if (api === undefined) return undefined
    const index = this.#calls.push(undefined) - 1
    const [pieces, chunks]: [Uint8Array[], Uint8Array[]] = [[], []]
    let body: string | Error = ''
    let [status, type, retryAfter]: [number | undefined, string, string | undefined] = [undefined, '', undefined]
    let isOver = (): void => {}
    const over = new Promise<void>((resolve) => (isOver = resolve))
    const finish = (error: string | undefined): void => {
      if (!this.#open.delete(call)) return
      const parsed = body instanceof Error ? left(body.message) : this.#reader.parse(api, body, request)
      if (isLeft(parsed)) this.#failure ??= `call ${index + 1} can't be recorded: ${parsed.left}`
      else {
        const text = new TextDecoder().decode(joinBytes(chunks))
        const reply = this.#replyOf(api, { status, type, retryAfter, text, error, url: request.url })
        this.#calls[index] = { request: this.#requestOf(parsed.right), reply }
      }
      isOver()
    }
    const call: ObservedCall = {
      piece: (bytes) => void pieces.push(new Uint8Array(bytes)),
      sent: (whole) => {
        const encoding = request.header('content-encoding')
        const bytes = whole ?? joinBytes(pieces)
        body = !isIdentity(encoding)
          ? new Error(`its body is compressed (${encoding})`)
          : bytes instanceof Uint8Array
            ? new TextDecoder().decode(bytes)
            : bytes
      },
      answered: (code, header) => {
        status = code
        type = header('content-type') ?? ''
        retryAfter = header('retry-after')
      },
      chunk: (bytes) => void chunks.push(new Uint8Array(bytes)),
      end: () => finish(undefined),
      fail: (reason) => {
        const isAbort = reason === undefined || (isObject(reason) && /Abort|Timeout/.test(String(reason['name'])))
        if (status === undefined && !isAbort)
          this.#failure ??=
            reason === closedEarly
              ? `call ${index + 1} had no answer yet when the replay was closed`
              : `call ${index + 1} did not reach its provider: ${reasonOf(reason)}`
        finish(reason === undefined ? 'the client gave up' : reasonOf(reason))
      },
      over,
    }
    this.#open.add(call)
    return call
  }

  /**
   * Write the file: the whole of it, or nothing. Open calls are written as far as they came. A file stays as it is if no
   * call was recorded.
   *
   * @returns a sentence that says why nothing was written
   */
  save(): Either<string, void> {
    for (const call of this.#open) call.fail(closedEarly)
    if (this.#failure !== undefined) return left(`${this.#path} was not written: ${this.#failure}`)
    const calls = this.#calls.filter((call) => call !== undefined)
    if (calls.length === 0) return right(undefined)
    const part = `${this.#path}.${process.pid}.part`
    try {
      if (existsSync(this.#path) && readFileSync(this.#path, 'utf8') !== this.#opened)
        return left(
          `${this.#path} was not written: it has changed since it was opened; each replay needs a file of its own`,
        )
      mkdirSync(dirname(this.#path), { recursive: true })
      const file = openSync(part, 'w')
      try {
        writeFileSync(file, textOfReplay([...this.#before, ...calls]))
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(part, this.#path)
      return right(undefined)
    } catch (cause) {
      rmSync(part, { force: true })
      return left(`${this.#path} was not written: ${reasonOf(cause)}`)
    }
  }

  #requestOf(request: ParsedRequest): FileRequest {
    const facts = factsOf(this.#reader.recorded(request))
    return {
      ...facts,
      parameters: withoutBookkeeping(facts.parameters),
      system: systemWithoutBookkeeping(facts.system),
    }
  }

  #replyOf(api: Api, { status, type, retryAfter, text, error, url }: Received): FileReply {
    const redact = textRedactorOf(this.#redact)
    const unwrapped = <T extends Json>(value: T): T =>
      isWrapped(url) && isObject(value) ? ((value['response'] ?? value) as T) : value
    const body = bodyIn(text)
    const isFailure = status === undefined || status >= 400
    const isStream = type.includes('event-stream') || isEventText(text)
    const isList = /:stream\w+(?!.*[?&]alt=sse\b)/i.test(url) // of Gemini
    const chunks = isList && Array.isArray(body) ? (body as readonly Json[]) : []
    const list = chunks.some((chunk) => hasAnswer(api, unwrapped(chunk))) ? chunks : []
    const events = isFailure
      ? []
      : isStream
        ? eventsOfStream(text)
        : list.map((chunk) => streamEvent(undefined, JSON.stringify(chunk)))
    const inner = unwrapped(body)
    const whole = isFailure || !hasAnswer(api, inner) ? body : inner
    return {
      ...present({ status, retryAfter }),
      ...(events.some(({ data }) => isObject(data))
        ? { stream: linesOfEvents(events, (all) => redactedEvents(all.map(unwrapped), redact)) }
        : status !== undefined && { body: redactedJson(whole, redact) }),
      ...(error !== undefined && { error: redact(error) }),
    }
  }
}

interface Received {
  readonly status: number | undefined
  readonly type: string
  readonly retryAfter: string | undefined
  readonly text: string
  readonly error: string | undefined
  readonly url: string
}

/** Redacts texts as messages are. */
const textRedactorOf = (redact: ContentOptions['redact']): ((text: string) => string) => {
  if (typeof redact === 'function')
    return (text) => textOf(redact({ role: 'assistant', content: [{ type: 'text', text }] }))
  return redact === undefined ? (text) => text : createRedactor(redact).quiet.text
}
