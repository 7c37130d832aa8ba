/**
 * Decides what the holder of a session does next, given its inputs. Decided again after each
 * conflict, because other processes queue inputs without holding the session.
 */
import type { Input } from './input.ts'

/** The input of the calling turn. */
interface RequestedInput {
  /** Undefined for an input without notes, which comes after all waiting inputs. */
  readonly id: string | undefined
  /** Whether the input denies calls that wait for approval. False: it waits for the decision. */
  readonly denies: boolean
}

/**
 * `answer` another input first; `queue` the own input; `withdraw` an input that waits for approval; `take` the own input,
 * which is new, queued (`known`) or continued; `leave` the own input in the queue, because an earlier one waits for approval.
 */
type Decision =
  | { readonly type: 'answer'; readonly input: Input }
  | { readonly type: 'queue' }
  | { readonly type: 'withdraw'; readonly input: Input }
  | { readonly type: 'take'; readonly known: Input | undefined }
  | { readonly type: 'leave' }

/** The session's next input: the one taken, otherwise the first in the queue; none while one waits for approval. */
export const nextOf = (inputs: readonly Input[]): Input | undefined =>
  inputs.find(({ state }) => state === 'taken') ??
  (inputs.some(({ state }) => state === 'waiting') ? undefined : inputs.find(({ state }) => state === 'queued'))

/** What the holder does next. Of the own input nobody has handled it, and no call of it waits. */
export const decide = (inputs: readonly Input[], { id, denies }: RequestedInput): Decision => {
  const own = id === undefined ? undefined : inputs.find((input) => input.id === id)
  const isQueued = own?.state === 'queued' || own?.state === 'taken'
  const waiting = inputs.find(({ state }) => state === 'waiting')
  const taken = inputs.some(({ state }) => state === 'taken')
  if (waiting !== undefined && !taken) {
    if (denies) return { type: 'withdraw', input: waiting }
    return isQueued ? { type: 'leave' } : { type: 'queue' }
  }
  // A failed input that is asked again keeps its place.
  const wanted = inputs.map((input): Input => (input === own && !isQueued ? { ...own, state: 'queued' } : input))
  const first = nextOf(wanted)
  if (first === undefined || first.id === id) return { type: 'take', known: own }
  return id === undefined || own !== undefined ? { type: 'answer', input: first } : { type: 'queue' }
}
