/** Abort signals, for programs with or without the types of a browser or of Node. */

/** The used part of an `AbortSignal`. */
export interface SignalLike {
  /** Whether it was aborted. */
  readonly aborted: boolean
  /** Why it was aborted. */
  readonly reason: unknown
  /** Calls a function when it is aborted. */
  readonly addEventListener: (type: 'abort', listener: () => void) => void
  /** Removes the function. */
  readonly removeEventListener: (type: 'abort', listener: () => void) => void
}

/** The `AbortSignal` of the program's own types, if it has one. */
export type Signal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer S } }
  ? S
  : SignalLike

/** A signal, with the function that aborts it. */
interface Abort {
  readonly signal: Signal
  readonly abort: (reason: unknown) => void
}

declare const AbortController: new () => { readonly signal: unknown; abort(reason: unknown): void }

/** A new `AbortController` with the signal's type. */
export const createAbort = (): Abort => {
  const controller = new AbortController()
  return { signal: controller.signal as Signal, abort: (reason) => controller.abort(reason) } // the same global
}
