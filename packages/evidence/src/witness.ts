/**
 * Witnesses: third parties that see every checkpoint of a log, and sign it if it continues the previous one.
 *
 * Source  https://c2sp.org/tlog-witness@v1.0.0, `add-checkpoint`
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, isLeft, left, right, utf8Of } from 'indelible/internal/json'
import { after, reasonOf } from 'indelible/internal/task'
import type { AnyEvidenceFault, EvidenceFault } from './fault.ts'
import type { Head } from 'indelible/store'
import type { NoteVerifier } from './keys.ts'
import { parseNote, parseSignatures, type NoteSignature } from './signed-note.ts'

/** A witness. */
export interface Witness {
  /** Its submission prefix: requests go to `<url>/add-checkpoint`. */
  readonly url: string
  /** Its public key as text. Signatures by other keys are ignored. */
  readonly vkey: string
}

/** The options of a witness over HTTP. */
export interface WitnessOptions {
  /** Default: the platform's `fetch`. */
  readonly fetch?: (url: string, request: WitnessRequest) => Promise<WitnessResponse>
  /** Milliseconds until a request is abandoned, even if `fetch` ignores the signal. Default: 10,000. */
  readonly timeout?: number
}

/** A request in the form that `fetch` accepts. */
export interface WitnessRequest {
  /** Always `POST`. */
  readonly method: 'POST'
  /** The old size, the consistency proof and the checkpoint, as specified. */
  readonly body: string
  /** Aborts the request. */
  readonly signal: AbortSignal
}

/** The part of a response that is used; any `fetch` returns it. */
export interface WitnessResponse {
  /** The HTTP status. */
  readonly status: number
  /** The body as a stream, of which at most 100,000 bytes are read. If absent, `text` is called. */
  readonly body?: ReadableStream<Uint8Array> | null
  /** The body. */
  readonly text: () => Promise<string>
}

declare const fetch: (url: string, request: WitnessRequest) => Promise<WitnessResponse>

/** The request to a witness. */
interface Question {
  readonly last: { readonly note: string; readonly head: Head }
  /** The size that the witness last signed, as far as known here. */
  readonly oldSize: number
  readonly proofFrom: (oldSize: number) => Promise<Either<AnyEvidenceFault, readonly Uint8Array[]>>
}

/** Ask a witness for its signature. If it last signed a different size than assumed, ask once more. */
export const askWitness = async (
  { url }: Witness,
  verifier: NoteVerifier,
  { last, oldSize, proofFrom }: Question,
  { fetch: send = fetch, timeout = 10_000 }: WitnessOptions,
): Promise<Either<EvidenceFault, NoteSignature>> => {
  const refusedFault = (reason: string, status?: number): Either<EvidenceFault, never> =>
    left({ _tag: 'WitnessRefused', url, reason, ...(status !== undefined && { status }) })
  const note = parseNote(last.note)
  if (isLeft(note)) return note
  for (let size = oldSize, attempt = 1; ; attempt++) {
    const proof = await proofFrom(size)
    if (isLeft(proof)) return refusedFault(`could not prove that the log continues its first ${size} rows`)
    const body = [`old ${size}`, ...proof.right.map(base64Of), '', last.note].join('\n')
    let status: number
    let text: string
    try {
      ;[status, text] = await withTimeout(timeout, async (signal) => {
        const response = await send(`${url.replace(/\/+$/, '')}/add-checkpoint`, { method: 'POST', body, signal })
        return [response.status, await beginningOf(response)] as const
      })
    } catch (cause) {
      return refusedFault(`it could not be reached: ${reasonOf(cause)}`)
    }
    if (status === 409 && attempt === 1) {
      const stated = /^(0|[1-9]\d{0,15})\n?$/.exec(text)?.[1]
      const its = Number(stated)
      if (stated === undefined) return refusedFault('it did not report the size that it signed last', status)
      if (its > last.head.size)
        return refusedFault(`it has signed ${its} rows already, and this checkpoint has ${last.head.size}`, status)
      size = its
      continue
    }
    if (status !== 200) return refusedFault(text.trim().slice(0, 200) || 'it gave no reason', status)
    const signatures = parseSignatures(text)
    if (isLeft(signatures)) return refusedFault('it did not answer with signature lines', status)
    const own = signatures.right.find(({ name, keyId }) => name === verifier.name && keyId === verifier.keyId)
    if (own === undefined) return refusedFault(`none of its signatures is by ${JSON.stringify(verifier.name)}`, status)
    return verifier.verify(utf8Of(note.right.text), own.signature) === undefined
      ? refusedFault(`its signature does not match the checkpoint: it signed a different history`, status)
      : right(own)
  }
}

/** The most bytes to read of a witness's answer. */
const mostBytes = 100_000

/** The beginning of an answer; the rest is not read. */
const beginningOf = async (response: WitnessResponse): Promise<string> => {
  const { body } = response
  if (body === undefined || body === null) return (await response.text()).slice(0, mostBytes)
  const reader = body.getReader()
  const bytes = new Uint8Array(mostBytes)
  let length = 0
  while (length < mostBytes) {
    const { done, value } = await reader.read()
    if (done) break
    bytes.set(value.subarray(0, mostBytes - length), length)
    length = Math.min(mostBytes, length + value.length)
  }
  await reader.cancel()
  return new TextDecoder().decode(bytes.subarray(0, length)) // as `response.text()` decodes
}

/** The result of a request, or an error after the timeout, even if `fetch` ignores the signal. */
const withTimeout = <T>(milliseconds: number, request: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = new AbortController()
    const timer = after(milliseconds, () => {
      const late = new Error(`it did not answer within ${milliseconds} ms`)
      abort.abort(late)
      reject(late)
    })
    request(abort.signal)
      .then(resolve, reject)
      .finally(() => timer.cancel())
  })
