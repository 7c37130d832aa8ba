/** A `fetch` and a model that answer from a record, for tests. */
import { isLeft, optionsOf, right, utf8Of, type OptionNames } from 'indelible/internal/json'
import { checkStore } from 'indelible/internal/session'
import { FaultError } from 'indelible/internal/task'
import type { Store } from 'indelible/store'
import type { ContentOptions } from '../requests/content.ts'
import { observedFetch, type Fetch } from '../fetch.ts'
import { fileForms, openReplayFile } from './file-recording.ts'
import { recordedCallsOf, recordFileAnew } from './file.ts'
import { ignorable, type Ignored } from './matching.ts'
import type { ReplayFault } from './replay-calls.ts'
import { Replay, type ReplayOutcome, type ReplaySource, type ReplaySummary } from './replay.ts'
import { callsOfSessions } from './session-calls.ts'
import { writeReply, type WrittenReply } from './write-reply.ts'

/** The options of a replay: the record, and how requests are compared with it. */
export type ReplayOptions = (
  | {
      /** The store with the recorded sessions. It is only read. */
      readonly store: Store
      /** The ids of the sessions that have the calls. */
      readonly sessions: string | readonly string[]
    }
  | {
      /**
       * The path of a replay file. With the variable `INDELIBLE_REPLAY=record` the calls go to their provider, and `close`
       * writes the file anew. Each replay needs a file of its own.
       */
      readonly file: string | URL
      /**
       * `record`: calls that the file lacks go to their provider, and `close` adds them. Refused, as is
       * `INDELIBLE_REPLAY=record`, where the variable `CI` is set. Default: `fail`.
       */
      readonly onMiss?: 'fail' | 'record'
      /** Makes the requests that are recorded. Default: the platform's `fetch`. */
      readonly fetch?: Fetch
    }
) & {
  /**
   * What is not compared: the `results` of tools, the `system` prompt, the `tools`, the `model`, the other `parameters`,
   * `dates` in texts, or the `folder` that the request names as the agent's own. Default: everything is compared.
   */
  readonly ignore?: readonly Ignored[]
  /** `recorded`: answers of a session take as long as they took. Default: `instant`. */
  readonly pace?: 'instant' | 'recorded'
  /**
   * The `redact` of the recording, if it had one: requests are compared in their redacted form. Default: none for sessions;
   * for a file true, and its answers are redacted, too.
   */
  readonly redact?: ContentOptions['redact']
}

/** A `fetch` that answers from a record and contacts no server. */
export interface ReplayingFetch extends Fetch {
  /**
   * Ends the replay. Rejects with a `FaultError` if a request was not in the record (`NotRecorded`), if an answer could
   * not be given again (`NotReplayable`), if a recorded call was never asked for (`NotAsked`), or if the record could not
   * be read (`UnreadRecord`).
   */
  readonly close: () => Promise<void>
  /** The counts so far. */
  readonly summary: () => ReplaySummary
}

/**
 * A `fetch` for clients of OpenAI, Anthropic and Gemini that answers from recorded sessions, or from a file, and contacts
 * no server.
 *
 * A request gets the answer of the recorded call that is equal to it: the same API, model, system prompt, tools, parameters and
 * messages. The second equal request gets the second such answer. Ids and times that clients make up by themselves are
 * not compared. A request that is not in the record is answered with HTTP 400, which clients do not try again; its text
 * names the nearest call and the line that differs. Any other URL is refused with 400.
 *
 * Cost    O(what is new in a request), beside parsing it
 * @throws TypeError for anything but a store with sessions, or a file, and these options
 * @example
 * const fetch = replayingFetch({ file: 'chat.json' }) // or { store, sessions: 'chat-1' }
 * const client = new OpenAI({ fetch, apiKey: 'none' })
 * await fetch.close() // rejects unless all was as recorded
 */
export const replayingFetch = (options: ReplayOptions): ReplayingFetch => {
  const settings: AnyOptions = optionsOf('replayingFetch', options as AnyOptions, optionNames)
  const { file, ignore = [], pace = 'instant', redact } = settings
  checkIgnored('replayingFetch', ignore)
  if (pace !== 'instant' && pace !== 'recorded')
    throw new TypeError(`replayingFetch takes the pace instant or recorded, found ${JSON.stringify(pace)}`)
  if (file !== undefined) return fetchFromFile({ ...settings, file, ignore, pace })
  const { sessions } = settings
  const store = settings.store as Store
  checkStore('replayingFetch', store)
  const ids: readonly unknown[] =
    typeof sessions === 'string' ? [sessions] : Array.isArray(sessions) ? [...sessions] : []
  if (ids.length === 0 || ids.some((id) => typeof id !== 'string'))
    throw new TypeError(
      'replayingFetch needs `sessions`: the id of a recorded session, or a list of ids that is not empty',
    )
  for (const name of ['onMiss', 'fetch'] as const)
    if (settings[name] !== undefined) throw new TypeError(`replayingFetch takes \`${name}\` only with \`file\``)
  return fetchFrom(
    {
      calls: () => callsOfSessions(store, ids as readonly string[]),
      ignore: [...ignore],
      redact,
      recordAnew: 'record it anew: run the test with `recordingFetch` and name the new session',
    },
    pace,
  )
}

interface AnyOptions {
  readonly store?: Store
  readonly sessions?: string | readonly string[]
  readonly file?: string | URL
  readonly onMiss?: 'fail' | 'record'
  readonly fetch?: Fetch
  readonly ignore?: readonly Ignored[]
  readonly pace?: 'instant' | 'recorded'
  readonly redact?: ContentOptions['redact']
}

const optionNames: OptionNames<AnyOptions> = {
  ...{ store: true, sessions: true, file: true, onMiss: true, fetch: true },
  ...{ ignore: true, pace: true, redact: true },
}

/** A replaying `fetch` for a file, which records where that is asked for. */
const fetchFromFile = ({
  store,
  sessions,
  file,
  onMiss = 'fail',
  fetch: send = globalThis.fetch,
  ignore = [],
  pace = 'instant',
  redact = true,
}: AnyOptions & { readonly file: string | URL }): ReplayingFetch => {
  if (store !== undefined || sessions !== undefined)
    throw new TypeError('replayingFetch takes `file`, or `store` and `sessions`, not both')
  if ((typeof file !== 'string' || file === '') && !(file instanceof URL && file.protocol === 'file:'))
    throw new TypeError('replayingFetch needs `file` as a path or a file: URL')
  if (onMiss !== 'fail' && onMiss !== 'record')
    throw new TypeError(`replayingFetch takes the onMiss fail or record, found ${JSON.stringify(onMiss)}`)
  const opened = openReplayFile({ file, onMiss, redact })
  const { calls, name, recording } = isLeft(opened) ? { calls: [], name: '', recording: undefined } : opened.right
  const source: ReplaySource = {
    calls: async () => (isLeft(opened) ? opened : right(recordedCallsOf(calls, name))),
    ignore: [...ignore],
    redact,
    forms: fileForms(redact),
    recordAnew: recordFileAnew,
    ...(recording !== undefined && { isRecorded: true }),
  }
  const replaying = fetchFrom(source, pace, recording && observedFetch(recording, send))
  if (recording === undefined) return replaying
  return Object.assign((...args: Parameters<Fetch>) => replaying(...args), {
    summary: replaying.summary,
    close: async () => {
      const closed = replaying.close() // from here on, requests are refused
      closed.catch(() => {})
      const saved = recording.save()
      if (isLeft(saved)) throw new FaultError({ _tag: 'NotWritten', reason: saved.left } as const, saved.left)
      await closed
    },
  })
}

/** Throws TypeError for anything but a list of what may be ignored. */
export const checkIgnored = (name: string, ignore: unknown): void => {
  const other = Array.isArray(ignore)
    ? ignore.find((name) => !(ignorable as readonly unknown[]).includes(name))
    : ignore
  if (!Array.isArray(ignore) || other !== undefined)
    throw new TypeError(
      `${name} takes \`ignore\` as a list of ${ignorable.join(', ')}; found ${JSON.stringify(other) ?? typeof other}`,
    )
}

/**
 * A replaying `fetch` for any source of calls.
 *
 * @param record makes the requests that the source lacks, and records them
 */
export const fetchFrom = (source: ReplaySource, pace: 'instant' | 'recorded', record?: Fetch): ReplayingFetch => {
  const replay = new Replay(source)
  const replayingFetch: Fetch = async (input, init) => {
    const request = input instanceof Request ? input : undefined
    const signal = init?.signal ?? request?.signal
    signal?.throwIfAborted()
    const headers = new Headers(init?.headers ?? request?.headers)
    const method = init?.method ?? request?.method ?? 'GET'
    const url = request?.url ?? String(input)
    const sent = method === 'GET' || method === 'HEAD' ? null : (init?.body ?? request?.clone().body ?? null)
    const body = typeof sent === 'string' ? sent : await new Response(sent).text()
    const outcome = await replay.ask({ method, url, header: (name) => headers.get(name) ?? undefined }, body)
    signal?.throwIfAborted()
    const isMissing = outcome._tag === 'NotRecorded' || outcome._tag === 'NotReplayable'
    if (record !== undefined && isMissing) return record(url, { method, headers, body, ...(signal && { signal }) })
    return responseTo(outcome, pace, signal ?? undefined)
  }
  return Object.assign(replayingFetch, {
    close: async () => {
      const fault = await replay.close()
      if (fault !== undefined) throw new FaultError(fault, replayFaultText(fault))
    },
    summary: () => replay.summary(),
  })
}

/** The body of an answer to a request that is not in the record, in a form that the clients of all providers show. */
const refusalBody = (outcome: Extract<ReplayOutcome, { readonly text: string }>): string =>
  JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', code: outcome._tag, message: outcome.text } })

/** Headers with which clients do not try again. */
export const refusalHeaders = { 'content-type': 'application/json', 'x-should-retry': 'false' } as const

const responseTo = async (
  outcome: ReplayOutcome,
  pace: 'instant' | 'recorded',
  signal: AbortSignal | undefined,
): Promise<Response> => {
  if (outcome._tag !== 'Replayed') return new Response(refusalBody(outcome), { status: 400, headers: refusalHeaders })
  const { reply, request } = outcome
  if (reply._tag === 'NoReply')
    throw new TypeError('fetch failed', { cause: new Error(`as it was recorded: ${reply.error}`) })
  const written = writeReply(reply, request)
  const waits = pace === 'recorded' ? { firstByte: reply.firstByte, duration: reply.duration } : undefined
  if (waits !== undefined) await pause(waits.firstByte, signal)
  const rest =
    waits === undefined ? 0 : Math.max(0, waits.duration - waits.firstByte) / Math.max(1, written.pieces.length)
  const { status, headers } = written
  const body = isBodiless(status) ? null : streamOf(written, rest, signal)
  return new Response(body, { status, headers })
}

/** Statuses whose responses must not have a body. */
const isBodiless = (status: number): boolean => [204, 205, 304].includes(status)

const streamOf = (
  { pieces, cut }: WrittenReply,
  rest: number,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          if (rest > 0) await pause(rest, signal)
          signal?.throwIfAborted()
        } catch (cause) {
          return controller.error(cause)
        }
        const piece = pieces[at++]
        if (piece !== undefined) controller.enqueue(utf8Of(piece))
        else if (cut === undefined) controller.close()
        else controller.error(new TypeError('terminated', { cause: new Error(`as it was recorded: ${cut}`) }))
      },
    },
    { highWaterMark: 0 },
  )
}

/** Wait, or throw when the signal is aborted. */
const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', onAbort, { once: true })
  })

/** The sentence of a fault of a replay. */
export const replayFaultText = (fault: ReplayFault): string => {
  switch (fault._tag) {
    case 'NotRecorded':
      return `${counted(fault.count)} not in the record.\n${fault.texts.join('\n\n')}`
    case 'NotReplayable':
      return `The answers of ${counted(fault.count)} not replayable.\n${fault.texts.join('\n')}`
    case 'NotAsked': {
      const { calls } = fault
      const more = calls.length > 10 ? ` and ${calls.length - 10} more` : ''
      return `${calls.length} recorded ${calls.length === 1 ? 'call was' : 'calls were'} never asked for: ${calls.slice(0, 10).join(', ')}${more}.`
    }
    case 'UnreadRecord':
      return `The record can't be read: ${fault.reason}`
    case 'NotWritten':
      return fault.reason
  }
}

const counted = (count: number): string => (count === 1 ? '1 request is' : `${count} requests are`)
