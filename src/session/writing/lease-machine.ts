/**
 * The states of one claim to a lease, as a table. Only the store decides that a lease is lost, not a clock
 * in this process: until another process takes the lease, everything its holder knows is up to date.
 */

/** `asking`: a take is pending, or waits for another holder. `leaving`: the same, but the lease is no longer wanted. */
export type LeaseState = 'free' | 'asking' | 'leaving' | 'ours' | 'giving'

/**
 * The events of a claim. `granted`, `refused` and `failed` are results of a take. After `failed` the outcome is
 * unknown; a lease that was granted anyway expires, because nobody renews it. `renewed`, `silent` (the store
 * did not respond) and `lost` are results of a renewal. `gone` is the result of a release.
 */
export type LeaseEvent =
  | 'wanted'
  | 'granted'
  | 'refused'
  | 'failed'
  | 'renewed'
  | 'silent'
  | 'stopAsked'
  | 'lost'
  | 'unwanted'
  | 'gone'

/** The holder's next action. `tell` signals the run to stop, or that the lease is lost. */
export type LeaseCommand = 'nothing' | 'take' | 'wait' | 'begin' | 'renewLater' | 'renewSoon' | 'tell' | 'release'

type Moves = { readonly [E in LeaseEvent]?: readonly [LeaseState, LeaseCommand] }

export const leaseTable: { readonly [S in LeaseState]: Moves } = {
  free: { wanted: ['asking', 'take'] },
  asking: {
    granted: ['ours', 'begin'],
    refused: ['asking', 'wait'],
    failed: ['free', 'nothing'],
    unwanted: ['leaving', 'nothing'],
  },
  leaving: { granted: ['giving', 'release'], refused: ['free', 'nothing'], failed: ['free', 'nothing'] },
  ours: {
    renewed: ['ours', 'renewLater'],
    silent: ['ours', 'renewSoon'],
    stopAsked: ['ours', 'tell'],
    lost: ['free', 'tell'],
    unwanted: ['giving', 'release'],
  },
  giving: { gone: ['free', 'nothing'], lost: ['free', 'nothing'] },
}

/** The next state and action. A state ignores events that it does not list. */
export const leaseStep = (state: LeaseState, event: LeaseEvent): readonly [LeaseState, LeaseCommand] =>
  leaseTable[state][event] ?? [state, 'nothing']
