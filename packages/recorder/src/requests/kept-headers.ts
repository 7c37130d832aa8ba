/**
 * The headers that the recorder keeps of a call: no others go into a spool file or to the worker that records. A session gets
 * only two of them, the client's name for the conversation and `retry-after` of an error.
 *
 * Credentials are kept only as a digest, to see which calls are of one caller. The proxy's digest, which goes into the spool, is
 * keyed with a secret that is in no file, so that nobody can confirm a guessed key.
 */
import { digestOf } from 'indelible/internal/proof'
import { isIdentity } from '../answers/body.ts'

/** A header by its lower-case name. */
type ReadHeader = (name: string) => string | undefined

/** The kept headers by name. */
interface KeptHeaders {
  readonly [name: string]: string
}

/** Headers that identify the caller. */
const credentials = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie'] as const

/** Headers in which clients name their conversation. */
export const namesInHeaders = ['thread-id', 'session-id', 'session_id', 'x-session-id'] as const

/** The headers of an answer that say how to read its body, and when to try again. */
const answerHeaders = ['content-type', 'content-encoding', 'retry-after'] as const

/** The caller, as a digest of the request's credentials. It is compared and never stored. */
export const callerDigest = (header: ReadHeader): string => digestOf(credentialsText(header))

/** The credentials of a request as one text, from which only a digest may be kept. */
const credentialsText = (header: ReadHeader): string => JSON.stringify(credentials.map((name) => header(name) ?? null))

/**
 * The kept headers of a request: its name for the conversation, the length and the compression of its body, and the caller.
 *
 * @param digest a keyed digest of the credentials, which takes their place as `authorization`
 */
export const keptRequestHeaders = (header: ReadHeader, digest: (credentials: string) => string): KeptHeaders => {
  const encoding = header('content-encoding')
  return {
    ...pick([...namesInHeaders, 'content-length'], header),
    ...(!isIdentity(encoding) && { 'content-encoding': encoding as string }),
    authorization: digest(credentialsText(header)),
  }
}

/** The kept headers of an answer. */
export const keptAnswerHeaders = (header: ReadHeader): KeptHeaders => pick(answerHeaders, header)

const pick = (names: readonly string[], header: ReadHeader): KeptHeaders =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = header(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
