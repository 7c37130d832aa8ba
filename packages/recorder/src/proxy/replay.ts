/** Reads frames, live or from a spool that a crash left, and passes the events of calls to recorders. */
import { isLeft, isObject } from 'indelible/internal/json'
import { openSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { reasonOf } from 'indelible/internal/task'
import { problem } from '../conversations/conversation.ts'
import type { ObservedCall } from '../observed-call.ts'
import type { Recorder } from '../recorder.ts'
import { valueIn, kinds, textIn, type Frame } from './frames.ts'
import { appendFrame, leftSpools, openSegment, failedSuffix, type OpenedSegment, type SpoolKeys } from './spool.ts'
import type { AnsweredFrame, AskedFrame } from './spooling.ts'

/** The recorder of a scope; undefined if the scope's name is invalid. */
type RecorderOfScope = (scope: string) => Pick<Recorder, 'observe'> | undefined

interface OpenCall {
  readonly call: ObservedCall
  /** The bytes of its body still missing; NaN if its length is unknown. */
  missing: number
  isSent: boolean
  isOver: boolean
}

/** Passes the events in frames to recorders. */
export class FrameReader {
  readonly #recorderOf: RecorderOfScope
  readonly #over: (call: number) => void
  readonly #open = new Map<number, OpenCall>()
  /** The time of the frame being read: the clock of its recorder. */
  readonly now: () => number
  #at = 0

  /** @param over called for each call that is recorded, or never will be */
  constructor(recorderOf: RecorderOfScope, over: (call: number) => void) {
    this.#recorderOf = recorderOf
    this.#over = over
    this.now = () => this.#at
  }

  /** Read a frame. `segment` is the file with the call, if the frame begins one. */
  take(frame: Frame, segment?: Pick<OpenedSegment, 'fd' | 'key'>): void {
    this.#at = frame.at
    if (frame.kind === kinds.asked) return this.#begin(frame, segment)
    const known = this.#open.get(frame.call)
    if (known === undefined) return
    const { call } = known
    switch (frame.kind) {
      case kinds.body:
        known.missing -= frame.bytes.length
        return call.piece(frame.bytes)
      case kinds.sent:
        known.isSent = true
        return call.sent(frame.bytes.length === 0 ? undefined : new Error(textIn(frame)))
      case kinds.answered: {
        const { status, headers } = valueIn(frame) as AnsweredFrame
        return call.answered(status, (name) => headers[name])
      }
      case kinds.chunk:
        return call.chunk(frame.bytes)
      case kinds.end:
        known.isOver = true
        return call.end()
      case kinds.fail:
        known.isOver = true
        return call.fail(textIn(frame))
    }
  }

  /** End the input: calls with incomplete requests were never made. Resolves to the number of others, once recorded. */
  async cut(): Promise<number> {
    const made = [...this.#open.values()].filter(({ isSent, missing }) => isSent || missing === 0)
    for (const { call, isSent, isOver } of made) {
      if (!isSent) call.sent() // the provider received it, but its end was not seen
      if (!isOver) call.fail('the recorder was killed before the answer was whole')
    }
    await Promise.all(made.map(({ call }) => call.over))
    return made.length
  }

  async #ended(number: number, call: ObservedCall): Promise<void> {
    await call.over
    this.#open.delete(number)
    this.#over(number)
  }

  #begin(frame: Frame, segment: Pick<OpenedSegment, 'fd' | 'key'> | undefined): void {
    const { scope, headers, ...request } = valueIn(frame) as AskedFrame
    const place = (session: string): void => {
      if (segment === undefined) return
      try {
        appendFrame(segment, { kind: kinds.place, call: frame.call, at: frame.at, bytes: Buffer.from(session) })
      } catch {
        // The disk is full. If the recorder is killed right now, the call is recorded twice.
      }
    }
    const call = this.#recorderOf(scope)?.observe({ ...request, header: (name) => headers[name] }, place)
    if (call === undefined) return this.#over(frame.call)
    const missing = Number(headers['content-length'])
    this.#open.set(frame.call, { call, missing, isSent: false, isOver: false })
    void this.#ended(frame.call, call)
  }
}

/** The options for recording the calls of left spools. */
interface ReplayOptions {
  /** The path that the spool files' names begin with. */
  readonly near: string
  readonly keys: SpoolKeys | undefined
  /** The store of a scope, to look for receipts; undefined if the scope's name is invalid. */
  readonly storeOf: (scope: string) => Store | undefined
  /** The recorder of a scope, whose clock is `now`. */
  readonly recorderOf: (scope: string, now: () => number) => Pick<Recorder, 'observe'> | undefined
  /** Receives the path of each file before it is read, and undefined at the end. */
  readonly onFile?: (path: string | undefined) => void
  /** Receives a sentence for each file that can't be recorded. The file stays. */
  readonly onNotice: (reason: string) => void
}

/**
 * Record the calls in the spools of recorders that are gone.
 *
 * @returns the number of calls that had not been recorded
 */
export const replayLeftSpools = async (options: ReplayOptions): Promise<number> => {
  let calls = 0
  for (const { paths, close } of leftSpools(options.near, options.onNotice)) {
    let recorded = true
    for (const path of paths) {
      try {
        options.onFile?.(path)
        calls += await replayFile(path, options)
      } catch (cause) {
        recorded = false
        options.onNotice(`${path} has calls of a killed recorder that can't be recorded: ${reasonOf(cause)}`)
      }
    }
    close(recorded)
  }
  options.onFile?.(undefined)
  return calls
}

const replayFile = async (path: string, { keys, storeOf, recorderOf }: ReplayOptions): Promise<number> => {
  if (path.endsWith(failedSuffix)) throw new Error('an earlier attempt crashed the recorder')
  const segment = await openSegment(path, keys)
  try {
    const over = await recordedIn(segment, storeOf)
    if (over === undefined) return 0
    const reader: FrameReader = new FrameReader(
      (scope) => recorderOf(scope, reader.now),
      (call) => appendFrame(segment, { kind: kinds.over, call, at: Date.now(), bytes: new Uint8Array(0) }),
    )
    for (const frame of segment.frames()) {
      if (over.has(frame.call) || frame.kind >= kinds.place) continue
      reader.take(frame, segment)
    }
    return await reader.cut()
  } finally {
    segment.close()
  }
}

/** The recorded calls of a file; undefined if all of them are. */
const recordedIn = async (
  segment: OpenedSegment,
  storeOf: ReplayOptions['storeOf'],
): Promise<ReadonlySet<number> | undefined> => {
  const wanted = new Map<number, { readonly scope: string; readonly at: number }>()
  const places: { readonly call: number; readonly session: string }[] = []
  const over = new Set<number>()
  for (const frame of segment.frames()) {
    if (frame.kind === kinds.asked)
      wanted.set(frame.call, { scope: (valueIn(frame) as AskedFrame).scope, at: frame.at })
    if (frame.kind === kinds.place) places.push({ call: frame.call, session: textIn(frame) })
    if (frame.kind === kinds.over) over.add(frame.call)
  }
  const nameOf = ({ call, session }: (typeof places)[number]): string =>
    JSON.stringify([wanted.get(call)?.scope, session])
  const unsure = new Set(places.filter(({ call }) => !over.has(call)).map(nameOf))
  /** The times of receipts not yet matched to a call; undefined if the session is gone. */
  const receipts = new Map<string, number[] | undefined>()
  const seen = new Set<number>()
  // Each receipt belongs to one call, and they were appended in this order.
  for (const place of places) {
    const { scope = '', at = Number.NaN } = wanted.get(place.call) ?? {}
    const [name, store] = [nameOf(place), storeOf(scope)]
    if (store === undefined || seen.has(place.call) || !unsure.has(name)) continue
    if (!receipts.has(name)) receipts.set(name, await receiptTimes(store, place.session))
    const times = receipts.get(name)
    // A recorder adds a part of a millisecond to the time of a call that began in the same one as the call before.
    const index = times?.findIndex((time) => Math.floor(time) === at)
    if (index === -1) continue
    if (index !== undefined) times?.splice(index, 1)
    seen.add(place.call)
    over.add(place.call)
  }
  return [...wanted.keys()].every((call) => over.has(call)) ? undefined : over
}

/** The times of calls with receipts in a session; undefined if it or its key is gone. Throws Error if unreadable. */
const receiptTimes = async (store: Store, id: string): Promise<number[] | undefined> => {
  const opened = await openSession(store, id)()
  if (isLeft(opened)) {
    if (opened.left._tag === 'NoSuchLog' || opened.left._tag === 'NoKey') return undefined
    throw problem('look for receipts in', id, opened.left)
  }
  const session = opened.right
  const times = [...session.notes()].flatMap((note) =>
    note.type === 'receipt' && isObject(note.details) ? [note.details['at'] as number] : [],
  )
  await session.close()()
  return times
}
