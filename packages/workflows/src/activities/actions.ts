/**
 * The state of actions, by id. An action that is retried after its answer was lost returns that answer:
 * it calls no model and publishes no second end. One that failed permanently repeats its first failure.
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, type JsonObject } from 'indelible/internal/json'
import type { StoreFault } from 'indelible/store'
import type { ActivityFault, FailureNote } from './fault.ts'

export interface KnownAction {
  /** The digest of its input; empty if only its end is known. */
  readonly input: string
  /** The number of the latest attempt. Only that attempt counts. */
  readonly attempt: number
  readonly result?: JsonObject
  /** The last failed attempt's failure. */
  readonly failure?: FailureNote
  /** Whether the end of its stream was published. */
  readonly ended: boolean
}

/** Computes the next state from the current one, or a fault. Called again if another process wrote first. */
export type Change = (known: KnownAction | undefined) => Either<ActivityFault, KnownAction>

export interface Actions {
  readonly find: (action: string) => Promise<Either<StoreFault, KnownAction | undefined>>
  /** Store a change, if it changes anything. Returns the resulting state. */
  readonly note: (action: string, change: Change) => Promise<Either<ActivityFault, KnownAction>>
  /** Forget the actions that began before this time, in milliseconds since 1970. Returns their number. */
  readonly forget: (before: number) => Promise<Either<ActivityFault, number>>
}

/** Where the states of actions are kept. A place says where the state after the one that was read is written. */
interface ActionStates<Place> extends Pick<Actions, 'forget'> {
  readonly read: (
    action: string,
  ) => Promise<Either<StoreFault, { readonly known: KnownAction | undefined; readonly place: Place }>>
  /** False if another writer was faster. */
  readonly write: (action: string, known: KnownAction, place: Place) => Promise<Either<StoreFault, boolean>>
}

/** Actions over their states: a change is computed again until no other writer was faster. */
export const actionsIn = <Place>({ read, write, forget }: ActionStates<Place>): Actions => ({
  find: async (action) =>
    pipe(
      await read(action),
      E.map(({ known }) => known),
    ),
  note: async (action, change) => {
    for (;;) {
      const found = await read(action)
      if (isLeft(found)) return found
      const { known, place } = found.right
      const changed = change(known)
      if (isLeft(changed) || changed.right === known) return changed
      const written = await write(action, changed.right, place)
      if (isLeft(written)) return written
      if (written.right) return changed
    }
  },
  forget,
})

/** Begin the action, for the first time or again. An action that has a result stays unchanged. */
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

/** Store the action's result, unless it has one. `ended`: it has no stream whose end must be published. */
export const answerAction =
  (action: string, input: string, result: JsonObject, ended: boolean): Change =>
  (known) => {
    if (known === undefined) return right({ input, attempt: 1, result, ended })
    const refusal = whyRefused(action, input, known)
    if (refusal !== undefined) return left(refusal)
    return right(known.result !== undefined ? known : { ...known, input, result, ended: known.ended || ended })
  }

/** Record a failed attempt that another may follow. */
export const recordFailure =
  (attempt: number, failure: FailureNote): Change =>
  (known) =>
    right(
      known === undefined
        ? { input: '', attempt, failure, ended: false }
        : known.ended || known.result !== undefined || known.attempt > attempt
          ? known
          : { ...known, failure },
    )

/** Record that this attempt published the end of the stream, and the failure that caused it, if any. */
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

/** Why an action can't be done with this input; undefined if it can. */
export const whyRefused = (action: string, input: string, known: KnownAction): ActivityFault | undefined => {
  if (known.input !== '' && known.input !== input) return { _tag: 'OtherAction', action }
  if (!known.ended || known.result !== undefined) return undefined
  return known.failure === undefined
    ? { _tag: 'ActionEnded', action }
    : { _tag: 'FailedBefore', action, failure: known.failure }
}

/** Decodes a stored action. Undefined if it is something else. */
export const readKnownAction = (noted: { readonly [field: string]: unknown }): KnownAction | undefined => {
  const { input, attempt = 1, result, failure, ended: end } = noted
  if (typeof input !== 'string' || typeof attempt !== 'number' || typeof end !== 'boolean') return undefined
  return {
    input,
    attempt,
    ended: end,
    ...(typeof result === 'object' && result !== null && { result: result as JsonObject }),
    ...(isFailure(failure) && { failure }),
  }
}

const isFailure = (value: unknown): value is FailureNote => {
  if (typeof value !== 'object' || value === null) return false
  const { tag, message } = value as { readonly tag?: unknown; readonly message?: unknown }
  return typeof tag === 'string' && typeof message === 'string'
}
