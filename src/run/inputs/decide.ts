/**
 * What whoever holds a session does next, of the inputs that the record has. It is decided anew after each conflict, because
 * others queue inputs without holding the session.
 */
import type { Input } from './input.ts'

/** The input of a turn, as its caller asks it. */
export interface AskedInput {
  /** Undefined: it has no notes, so it comes after every input that waits. */
  readonly id: string | undefined
  /** Whether saying it decides against the calls that wait for an approval. False: it waits behind them. */
  readonly denies: boolean
}

/**
 * `report` what became of the own input; `answer` another one first; `queue` the own one behind it; `withdraw` one that waits
 * for an approval; `take` the own one, which was not taken before (`known` undefined or queued) or is gone on with; `leave` the
 * own one in the queue, because one before it waits for an approval.
 */
export type Decision =
  | { readonly type: 'report'; readonly input: Input }
  | { readonly type: 'answer'; readonly input: Input }
  | { readonly type: 'queue' }
  | { readonly type: 'withdraw'; readonly input: Input }
  | { readonly type: 'take'; readonly known: Input | undefined }
  | { readonly type: 'leave' }

/** The input that comes next where nobody asks: the one that was taken, then the first of the queue; none behind one that waits. */
export const nextOf = (inputs: readonly Input[]): Input | undefined =>
  inputs.find(({ state }) => state === 'taken') ??
  (inputs.some(({ state }) => state === 'waiting') ? undefined : inputs.find(({ state }) => state === 'queued'))

export const decide = (inputs: readonly Input[], { id, denies }: AskedInput): Decision => {
  const own = id === undefined ? undefined : inputs.find((input) => input.id === id)
  if (own?.state === 'answered' || own?.state === 'cancelled' || own?.state === 'waiting')
    return { type: 'report', input: own }
  const isQueued = own?.state === 'queued' || own?.state === 'taken'
  const waiting = inputs.find(({ state }) => state === 'waiting')
  const taken = inputs.some(({ state }) => state === 'taken')
  if (waiting !== undefined && !taken) {
    if (denies) return { type: 'withdraw', input: waiting }
    return isQueued ? { type: 'leave' } : { type: 'queue' }
  }
  // One that failed and is asked again has its old place.
  const asked = inputs.map((input): Input => (input === own && !isQueued ? { ...own, state: 'queued' } : input))
  const first = nextOf(asked)
  if (first === undefined || first.id === id) return { type: 'take', known: own }
  return id === undefined || own !== undefined ? { type: 'answer', input: first } : { type: 'queue' }
}
