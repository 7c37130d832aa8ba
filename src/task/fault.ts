/** What an await throws, and the fault of a callback. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, ownField, right } from '../json/index.ts'
import { reasonOf } from './sentences.ts'

/** A fault, thrown: by awaiting a task, and by `orThrow`. Its message is the fault's sentence. */
export class FaultError<F = unknown> extends Error {
  override readonly name = 'FaultError'
  /** The fault, as a call of the task gives it. */
  readonly fault: F

  constructor(fault: F, message: string) {
    const cause = causeOf(fault)
    super(message, cause === undefined ? undefined : { cause })
    this.fault = fault
  }
}

/** The same fault, of a call that failed only because an earlier one did: nobody hears of it unless they look. */
export const consequenceOf = <F extends object>(fault: F): F => {
  const own = { ...fault }
  consequences.add(own)
  return own
}

export const isConsequence = (fault: unknown): boolean => consequences.has(fault as object)

const consequences = new WeakSet<object>()

/** A function of yours threw. Nothing was changed. */
export interface CallbackThrew {
  readonly _tag: 'CallbackThrew'
  /** Which one: the name of the option or of the method it was given to. */
  readonly callback: string
  /** The thrown value. */
  readonly cause: unknown
}

/** Call a function of the caller's. What it throws is a fault. */
export const callCallback = <T>(callback: string, call: () => T): Either<CallbackThrew, T> => {
  try {
    return right(call())
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback, cause })
  }
}

/** The fault of a callback as a sentence for people. */
export const callbackFaultText = ({ callback, cause }: CallbackThrew): string =>
  `the function given as \`${callback}\` threw: ${reasonOf(cause)}; nothing was changed`

const causeOf = (fault: unknown): unknown =>
  typeof fault === 'object' && fault !== null ? ownField(fault as { readonly cause?: unknown }, 'cause') : undefined
