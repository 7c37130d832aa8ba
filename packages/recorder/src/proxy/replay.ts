/** The reader of frames: passes the events of calls to recorders, live or from a spool that a crash left. */
import { isLeft, isObject } from 'indelible/json/kit'
import { openSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { reasonOf } from 'indelible/task/kit'
import { problem } from '../conversation.ts'
import type { ObservedCall } from '../observed-call.ts'
import type { Recorder } from '../recorder.ts'
import { jsonIn, kinds, textIn, type Frame } from './frames.ts'
import { appendFrame, leftSpools, openSegment, setAside, type OpenedSegment, type SpoolKeys } from './spool.ts'
import type { AnsweredFrame, AskedFrame } from './spooling.ts'

/** The recorder of a scope; undefined: there can be no scope of that name. */
export type RecorderOfScope = (scope: string) => Pick<Recorder, 'observe'> | undefined

interface OpenCall {
  readonly call: ObservedCall
  /** Bytes of its body that did not come yet, if it said how many there are. */
  missing: number
  isSent: boolean
  isOver: boolean
}

/** Tells recorders what frames say. */
export class FrameReader {
  readonly #recorderOf: RecorderOfScope
  readonly #over: (call: number) => void
  readonly #open = new Map<number, OpenCall>()
  /** The time of the frame that is read: the clock of its recorder. */
  readonly now: () => number
  #at = 0

  /** @param over called for each call that is recorded, or never will be */
  constructor(recorderOf: RecorderOfScope, over: (call: number) => void) {
    this.#recorderOf = recorderOf
    this.#over = over
    this.now = () => this.#at
  }

  /** Read a frame. `segment` is the file of its call, if it begins one. */
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
        const { status, headers } = jsonIn(frame) as AnsweredFrame
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

  /** Nothing more comes. A call whose request is not whole was never made. Resolves to the number of the others, once they are recorded. */
  async cut(): Promise<number> {
    const made = [...this.#open.values()].filter(({ isSent, missing }) => isSent || missing === 0)
    for (const { call, isSent, isOver } of made) {
      if (!isSent) call.sent() // the provider got it, but its end was not seen
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
    const { scope, method, url, headers } = jsonIn(frame) as AskedFrame
    const place = (session: string): void => {
      if (segment === undefined) return
      try {
        appendFrame(segment, { kind: kinds.place, call: frame.call, at: frame.at, bytes: Buffer.from(session) })
      } catch {
        // The disk is full. Without it, a kill at this moment records the call twice.
      }
    }
    const call = this.#recorderOf(scope)?.observe({ method, url, header: (name) => headers[name] }, place)
    if (call === undefined) return this.#over(frame.call)
    const missing = Number(headers['content-length'])
    this.#open.set(frame.call, { call, missing, isSent: false, isOver: false })
    void this.#ended(frame.call, call)
  }
}

/** Records the calls of spools that were left. */
export interface ReplayOptions {
  /** The path that the files begin with. */
  readonly near: string
  /** The keys of encrypted files. */
  readonly keys: SpoolKeys | undefined
  /** The store of a scope, in which it looks for receipts; undefined: there can be no scope of that name. */
  readonly storeOf: (scope: string) => Store | undefined
  /** The recorder of a scope, whose clock is `now`. */
  readonly recorderOf: (scope: string, now: () => number) => Pick<Recorder, 'observe'> | undefined
  /** Told of each file before it is read, and of undefined behind the last. */
  readonly onFile?: (path: string | undefined) => void
  /** Told, in words, of a file that can't be recorded. It stays. */
  readonly onNotice: (reason: string) => void
}

/**
 * Record the calls that are in the spools of recorders that are gone, as if they went by now.
 *
 * @returns how many calls they had that were not recorded
 */
export const replayLeft = async (options: ReplayOptions): Promise<number> => {
  let calls = 0
  for (const { paths, close } of leftSpools(options.near, options.onNotice)) {
    let recorded = true
    for (const path of paths) {
      try {
        options.onFile?.(path)
        calls += await replayFile(path, options)
      } catch (cause) {
        recorded = false
        options.onNotice(`${path} has calls of a recorder that was killed, and can't be recorded: ${reasonOf(cause)}`)
      }
    }
    close(recorded)
  }
  options.onFile?.(undefined)
  return calls
}

const replayFile = async (path: string, { keys, storeOf, recorderOf }: ReplayOptions): Promise<number> => {
  if (path.endsWith(setAside)) throw new Error('it ended the recorder that tried')
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

/** The calls of a file that are recorded; undefined: all of them are. */
const recordedIn = async (
  segment: OpenedSegment,
  storeOf: ReplayOptions['storeOf'],
): Promise<ReadonlySet<number> | undefined> => {
  const asked = new Map<number, { readonly scope: string; readonly at: number }>()
  const places: { readonly call: number; readonly session: string }[] = []
  const over = new Set<number>()
  for (const frame of segment.frames()) {
    if (frame.kind === kinds.asked) asked.set(frame.call, { scope: (jsonIn(frame) as AskedFrame).scope, at: frame.at })
    if (frame.kind === kinds.place) places.push({ call: frame.call, session: textIn(frame) })
    if (frame.kind === kinds.over) over.add(frame.call)
  }
  const nameOf = ({ call, session }: (typeof places)[number]): string =>
    JSON.stringify([asked.get(call)?.scope, session])
  const unsure = new Set(places.filter(({ call }) => !over.has(call)).map(nameOf))
  /** The times of receipts that are of no call yet; undefined: the session is gone. */
  const receipts = new Map<string, number[] | undefined>()
  const seen = new Set<number>()
  // One receipt is of one call, and they were appended in this order.
  for (const place of places) {
    const { scope = '', at = Number.NaN } = asked.get(place.call) ?? {}
    const [name, store] = [nameOf(place), storeOf(scope)]
    if (store === undefined || seen.has(place.call) || !unsure.has(name)) continue
    if (!receipts.has(name)) receipts.set(name, await receiptTimes(store, place.session))
    const times = receipts.get(name)
    if (times?.includes(at) === false) continue
    times?.splice(times.indexOf(at), 1)
    seen.add(place.call)
    over.add(place.call)
  }
  return [...asked.keys()].every((call) => over.has(call)) ? undefined : over
}

/** When the calls were made whose receipts are in a session; undefined: it was removed, or its key destroyed. Throws Error, if it can't be told. */
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
