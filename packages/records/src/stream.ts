/** Watches results that end later: streams and async iterables. */
import type { Outcome, Signal } from './call-context.ts'
import { callQuietly, raceAbort } from './host-calls.ts'

interface WatchedStream {
  /** The stream for the reader. */
  readonly value: unknown
  /** Stops the source when the signal has aborted. May throw or reject. */
  readonly stop: (reason: unknown) => unknown
}

/**
 * Watch a value that is a stream, and report how it ended. Returns the same value, except for a
 * `ReadableStream`: it can't be watched from outside, so an equivalent one that reads from it is returned.
 * When the signal aborts, the reader gets its reason.
 *
 * @returns undefined if the value is not a stream or can't be watched: then it counts as ended
 */
export const watchStream = (
  value: unknown,
  ended: (outcome: Outcome) => void,
  signal: Signal | undefined,
): WatchedStream | undefined => {
  try {
    if (typeof value !== 'object' || value === null) return undefined
    if (isReadable(value)) return watchReadable(value, ended, signal)
    if (isEmitter(value)) return watchEmitter(value, ended)
    return Symbol.asyncIterator in value ? watchIterable(value as AsyncIterable<unknown>, ended, signal) : undefined
  } catch {
    return undefined
  }
}

/** Whether a value is a stream or an async iterable. May throw for a Proxy. */
export const isStream = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (isReadable(value) || isEmitter(value) || Symbol.asyncIterator in value)

/** The outcome if the reader stopped before the end. */
const stoppedOutcome = (): Outcome => ({
  error: Object.assign(new Error('the stream was not read to its end'), { name: 'AbortError' }),
})

/** The part of a web stream that is used here. */
interface Readable {
  readonly getReader: () => {
    readonly read: () => Promise<{ readonly done: boolean; readonly value?: unknown }>
    readonly cancel: (reason?: unknown) => Promise<void>
  }
  readonly locked: boolean
}

type ReadableConstructor = new (
  source: {
    readonly pull: (controller: Controller) => Promise<void>
    readonly cancel: (reason: unknown) => Promise<void>
  },
  strategy: { readonly highWaterMark: number },
) => Readable

interface Controller {
  readonly enqueue: (chunk: unknown) => void
  readonly close: () => void
}

const { ReadableStream } = globalThis as { readonly ReadableStream?: ReadableConstructor }

const isReadable = (value: object): value is Readable =>
  ReadableStream !== undefined && value instanceof (ReadableStream as unknown as new () => object)

const watchReadable = (
  stream: Readable,
  ended: (outcome: Outcome) => void,
  signal: Signal | undefined,
): WatchedStream => {
  const reader = stream.getReader()
  const value = new (ReadableStream as ReadableConstructor)(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await raceAbort(signal, () => reader.read())
          if (!done) return controller.enqueue(value)
        } catch (error) {
          ended({ error })
          throw error
        }
        ended({ value: stream })
        controller.close()
      },
      cancel: (reason) => {
        ended(stoppedOutcome())
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 }, // never read ahead
  )
  return { value, stop: reader.cancel.bind(reader) }
}

/** A Node.js stream. */
interface Emitter {
  readonly once: (event: string, listener: () => void) => unknown
  readonly pipe: unknown
  readonly readableEnded?: boolean
  readonly errored?: unknown
  readonly destroy?: (error: unknown) => unknown
}

const isEmitter = (value: object): value is Emitter =>
  typeof (value as Partial<Emitter>).once === 'function' && typeof (value as Partial<Emitter>).pipe === 'function'

/** Uses `close`, which comes last: a listener for `error` would keep an error from being thrown. */
const watchEmitter = (stream: Emitter, ended: (outcome: Outcome) => void): WatchedStream => {
  stream.once('end', () => ended({ value: stream }))
  stream.once('close', () => {
    const { errored } = stream
    ended(errored === null || errored === undefined ? stoppedOutcome() : { error: errored })
  })
  const stop = (reason: unknown): void => {
    stream.once('error', () => undefined) // an error that nobody listens for would end the process
    stream.destroy?.(reason)
  }
  return { value: stream, stop }
}

type Step = (...args: unknown[]) => Promise<{ readonly done?: boolean; readonly value?: unknown }>

/** The object stays the same; its methods are wrapped to report how they end. */
const watchIterable = (
  iterable: AsyncIterable<unknown>,
  ended: (outcome: Outcome) => void,
  signal: Signal | undefined,
): WatchedStream | undefined => {
  if (!Object.isExtensible(iterable)) return undefined
  const iterate = iterable[Symbol.asyncIterator] as () => AsyncIterator<unknown>
  if (typeof iterate !== 'function') return undefined
  const watchedIterators = new Set<object>()
  const watchIterator = (iterator: object): void => {
    if (watchedIterators.has(iterator)) return
    watchedIterators.add(iterator)
    for (const name of ['next', 'return', 'throw']) {
      const step = (iterator as { readonly [name: string]: unknown })[name]
      if (typeof step === 'function') define(iterator, name, watchStep(name, step as Step))
    }
  }
  const watchStep = (name: string, step: Step): Step =>
    async function (this: unknown, ...args) {
      try {
        const result = await raceAbort(name === 'next' ? signal : undefined, () => step.apply(this, args))
        if (result.done === true) ended(name === 'next' ? { value: result.value ?? iterable } : stoppedOutcome())
        return result
      } catch (error) {
        ended({ error })
        throw error
      }
    }
  define(iterable, Symbol.asyncIterator, function (this: unknown) {
    const iterator = iterate.call(iterable)
    watchIterator(iterator)
    return iterator
  })
  // A generator is its own iterator, so `next` may be called directly.
  if (typeof (iterable as { readonly next?: unknown }).next === 'function') watchIterator(iterable)
  const stop = (): void => {
    for (const iterator of watchedIterators) callQuietly(() => (iterator as Partial<AsyncIterator<unknown>>).return?.())
  }
  return { value: iterable, stop }
}

const define = (target: object, name: PropertyKey, value: unknown): void => {
  Object.defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true })
}
