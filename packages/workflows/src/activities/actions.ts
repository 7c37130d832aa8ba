/**
 * What is known of actions, by their ids. An action that is tried again after its answer was lost gives that answer: it
 * calls no model and tells no second end. One that failed for good gives its first failure.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, type JsonObject } from 'indelible/json/kit'
import { digestOfName } from 'indelible/proof/kit'
import type { StoreFault } from 'indelible/store'
import type { FailureNote } from './failure-note.ts'
import type { ActivityFault } from './fault.ts'

/** What is known of an action. */
export interface KnownAction {
  /** The digest of its input; empty, where only its end is known. */
  readonly input: string
  /** How often it was begun: the last to begin is the one that counts. */
  readonly attempt: number
  readonly result?: JsonObject
  /** How the last attempt that failed did. */
  readonly failure?: FailureNote
  /** Whether the end of its stream was told. */
  readonly ended: boolean
}

/** What is to be known, given what is; or why it can't be. Called again, if another process was quicker. */
export type Change = (known: KnownAction | undefined) => Either<ActivityFault, KnownAction>

export interface Actions {
  readonly find: (action: string) => Promise<Either<StoreFault, KnownAction | undefined>>
  /** Note a change, unless it changes nothing. Gives what is known then. */
  readonly note: (action: string, change: Change) => Promise<Either<ActivityFault, KnownAction>>
  /** Forget the actions that began before this moment, in milliseconds since 1970. Gives how many. */
  readonly forget: (before: number) => Promise<Either<ActivityFault, number>>
}

/** The action begins, for the first time or again. One that has a result stays as it is. */
export const beginAction =
  (action: string, input: string, attempt: number): Change =>
  (known) => {
    if (known === undefined) return right({ input, attempt, ended: false })
    const refusal = whyRefused(action, input, known)
    if (refusal !== undefined) return left(refusal)
    return right(
      known.result !== undefined ? known : { ...known, input, attempt: Math.max(attempt, known.attempt + 1) },
    )
  }

/** The action has a result: this one, unless it had one before. `ended` says that there is no stream whose end is to be told. */
export const answerAction =
  (action: string, input: string, result: JsonObject, ended: boolean): Change =>
  (known) => {
    if (known === undefined) return right({ input, attempt: 1, result, ended })
    const refusal = whyRefused(action, input, known)
    if (refusal !== undefined) return left(refusal)
    return right(known.result !== undefined ? known : { ...known, input, result, ended: known.ended || ended })
  }

/** An attempt failed, and another may follow. */
export const failedOnce =
  (attempt: number, failure: FailureNote): Change =>
  (known) =>
    right(
      known === undefined
        ? { input: '', attempt, failure, ended: false }
        : known.ended || known.result !== undefined || known.attempt > attempt
          ? known
          : { ...known, failure },
    )

/** The end of the action's stream was told, by this attempt; with the failure, if that is what ended it. */
export const endStream =
  (attempt: number, failure?: FailureNote): Change =>
  (known) =>
    right(
      known?.ended === true
        ? known
        : {
            input: '',
            ...known,
            attempt: Math.max(attempt, known?.attempt ?? 0),
            ended: true,
            ...(failure !== undefined && { failure }),
          },
    )

/** Why an action can't be done with this input. */
export const whyRefused = (action: string, input: string, known: KnownAction): ActivityFault | undefined => {
  if (known.input !== '' && known.input !== input) return { _tag: 'OtherAction', action }
  if (!known.ended || known.result !== undefined) return undefined
  return known.failure === undefined
    ? { _tag: 'ActionEnded', action }
    : { _tag: 'FailedBefore', action, failure: known.failure }
}

/** Any text as a name that every store takes. */
export const nameOf = (action: string): string => digestOfName(action)

/** What was noted of an action, read back. Undefined, if it is something else. */
export const knownIn = (noted: { readonly [field: string]: unknown }): KnownAction | undefined => {
  const { input, attempt = 1, result, failure, ended: told } = noted
  if (typeof input !== 'string' || typeof attempt !== 'number' || typeof told !== 'boolean') return undefined
  return {
    input,
    attempt,
    ended: told,
    ...(typeof result === 'object' && result !== null && { result: result as JsonObject }),
    ...(isFailure(failure) && { failure }),
  }
}

const isFailure = (value: unknown): value is FailureNote => {
  if (typeof value !== 'object' || value === null) return false
  const { tag, message } = value as { readonly tag?: unknown; readonly message?: unknown }
  return typeof tag === 'string' && typeof message === 'string'
}
