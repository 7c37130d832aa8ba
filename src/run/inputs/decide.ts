/**
 * What whoever holds a session does next, of the inputs that the record has. It is decided anew after each conflict, because
 * others queue inputs without holding the session.
 */
import type { Input } from './input.ts'

/** The input of a turn, as its caller asks it. */
export interface AskedInput {
  /** Undefined for an input without notes: it comes after every waiting input. */
  readonly id: string | undefined
  /** Whether the input denies the calls that wait for approval. False: it waits until they are decided. */
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

/** The next input of the session: the one that was taken, then the first in the queue; none while one waits for approval. */
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
