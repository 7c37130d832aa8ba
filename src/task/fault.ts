/** The error that awaiting a task throws, and the fault of a callback. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import { ownField } from '../json/index.ts'
import { reasonOf } from './sentences.ts'

/** A thrown fault: awaiting a task and `orThrow` throw it. Its message is the fault's sentence. */
export class FaultError<F = unknown> extends Error {
  override readonly name = 'FaultError'
  /** The fault, as calling the task returns it. */
  readonly fault: F

  constructor(fault: F, message: string) {
    const cause = causeOf(fault)
    super(message, cause === undefined ? undefined : { cause })
    this.fault = fault
  }
}

/** A copy of the fault for a call that failed only because an earlier one did. It causes no unhandled rejection. */
export const consequenceOf = <F extends object>(fault: F): F => {
  const own = { ...fault }
  consequences.add(own)
  return own
}

export const isConsequence = (fault: unknown): boolean => consequences.has(fault as object)

const consequences = new WeakSet<object>()

/** One of your functions threw. Nothing was changed. */
export interface CallbackThrew {
  readonly _tag: 'CallbackThrew'
  /** The name of the option, or of the method, that received the function. */
  readonly callback: string
  /** The thrown value. */
  readonly cause: unknown
}

/** Calls a caller's function. An exception becomes a fault. */
export const callCallback = <T>(callback: string, call: () => T): Either<CallbackThrew, T> => {
  try {
    return right(call())
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback, cause })
  }
}

/** The fault of a callback as a sentence for people. */
export const callbackFaultText = ({ callback, cause }: CallbackThrew): string =>
  `the function passed as \`${callback}\` threw: ${reasonOf(cause)}; nothing was changed`

const causeOf = (fault: unknown): unknown =>
  typeof fault === 'object' && fault !== null ? ownField(fault as { readonly cause?: unknown }, 'cause') : undefined
