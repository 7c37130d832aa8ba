/** A recording `fetch`, for any client that accepts one. */
import { reasonOf } from 'indelible/internal/task'
import type { ObservedCall } from './observed-call.ts'
import { createRecorder, type Recorder, type RecorderOptions } from './recorder.ts'
import type { RecorderSummary } from './summary.ts'

/** The signature of the platform's `fetch`. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** The options of a recording `fetch`. */
export interface RecordingFetchOptions extends RecorderOptions {
  /** The function that makes the requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch
}

/** A `fetch` that records. */
export interface RecordingFetch extends Fetch {
  /** Resolves when every answer that was read to its end so far is stored. */
  readonly settled: () => Promise<void>
  /**
   * Resolves when every call so far is stored. Answers that are still open are recorded as far as they were read, and
   * marked as interrupted; the caller can still read the rest. Await it before the process ends.
   */
  readonly close: () => Promise<void>
  /** The recordings so far. */
  readonly summary: () => RecorderSummary
}

/**
 * A `fetch` for clients of OpenAI, Anthropic and Gemini that records their conversations.
 *
 * Requests and answers pass through unchanged and without delay: nothing is buffered, and the caller's backpressure
 * and aborts reach the provider. If a call can't be recorded, `onNotice` is called and the traffic continues.
 *
 * Cost    after the request is forwarded, CPU linear in its body; two appends to the store for each
 *         call, and one to the index for each new message
 * @example
 * const fetch = recordingFetch({ store })
 * const client = new OpenAI({ fetch })
 * await fetch.close()
 */
export const recordingFetch = ({
  fetch: send = globalThis.fetch,
  ...options
}: RecordingFetchOptions): RecordingFetch => {
  const recorder: Recorder = createRecorder(options)
  const { settled, close, summary } = recorder
  return Object.assign(observedFetch(recorder, send), { settled, close, summary })
}

/** A `fetch` whose calls are observed. */
export const observedFetch =
  (recorder: Pick<Recorder, 'observe'>, send: Fetch): Fetch =>
  async (input, init) => {
    const request = input instanceof Request ? input : undefined
    const headers = new Headers(init?.headers ?? request?.headers)
    const call = recorder.observe({
      method: init?.method ?? request?.method ?? 'GET',
      url: request?.url ?? String(input),
      header: (name) => headers.get(name) ?? undefined,
    })
    if (call === undefined) return send(input, init)
    const body = bodyOf(init?.body ?? undefined, request).catch((cause: unknown) => new Error(reasonOf(cause)))
    let response: Response
    try {
      const answer = (async () => send(input, init))() // a throw must not skip `sent`
      void body.then(call.sent) // after forwarding
      response = await answer
    } catch (cause) {
      void body.then(() => call.fail(cause))
      throw cause
    }
    call.answered(response.status, (name) =>
      name === 'content-encoding' ? undefined : (response.headers.get(name) ?? undefined),
    )
    if (response.body === null) {
      call.end()
      return response
    }
    return observeResponse(response, response.body, call)
  }

/** The body of a request. A one-shot stream can't be recorded. */
const bodyOf = async (
  body: RequestInit['body'] | undefined,
  request: Request | undefined,
): Promise<string | Uint8Array> => {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new Uint8Array(body) // the caller may change its own
  if (body instanceof ArrayBuffer) return new Uint8Array(body.slice(0))
  if (body instanceof Blob) return new Uint8Array(await body.arrayBuffer())
  if (body === undefined && request !== undefined) return new Uint8Array(await request.clone().arrayBuffer())
  throw new Error('the body of the request is a stream, which is not recorded; pass it as text or bytes')
}

/** The most of a discarded error to read, and the longest time to wait for it. */
const mostErrorBytes = 2 ** 16
const mostErrorMs = 1000

/** The same response. The recorder sees its chunks as the caller reads them. */
const observeResponse = (response: Response, source: ReadableStream<Uint8Array>, call: ObservedCall): Response => {
  const reader = source.getReader()
  /** Reads the provider's error, which clients discard before they try again. */
  const readError = async (): Promise<void> => {
    const timer = setTimeout(() => void reader.cancel(), mostErrorMs)
    try {
      for (let length = 0; length < mostErrorBytes;) {
        const { done, value } = await reader.read()
        if (done) break
        length += value.length
        call.chunk(value)
      }
      call.end()
    } catch (cause) {
      call.fail(cause)
    }
    clearTimeout(timer)
    await reader.cancel().catch(() => {})
  }
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read()
          if (done) {
            call.end()
            controller.close()
          } else {
            call.chunk(value)
            controller.enqueue(value)
          }
        } catch (cause) {
          call.fail(cause)
          controller.error(cause)
        }
      },
      cancel: async (reason) => {
        if (!response.ok) return void readError()
        call.fail(reason)
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers, url, redirected } = response
  const same = new Response(body, { status, statusText, headers })
  return Object.defineProperties(same, { url: { value: url }, redirected: { value: redirected } })
}
