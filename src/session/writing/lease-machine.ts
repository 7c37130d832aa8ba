/**
 * The states of one claim to a lease, as a table. The store is the judge: a lease is lost when the store says so, and not
 * when a clock here does, because until somebody takes the next one nothing of what its holder knows is old.
 */

/** `asking`: a take is pending, or waits for another holder. `leaving`: the same, but the lease is no longer wanted. */
export type LeaseState = 'free' | 'asking' | 'leaving' | 'ours' | 'giving'

/**
 * What happens to a claim. `granted`, `refused` and `failed` answer a take: `failed` leaves open what became of it, and a
 * lease that was granted unseen expires, because nobody renews it. `renewed`, `silent` and `lost` answer a renewal: `silent`
 * is a store that gives no answer. `gone` answers a release.
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

/** The holder's next action. `tell`: the run learns that it should stop, or that the lease is lost. */
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

/** The next state, and what to do. An event that a state does not know changes nothing. */
export const leaseStep = (state: LeaseState, event: LeaseEvent): readonly [LeaseState, LeaseCommand] =>
  leaseTable[state][event] ?? [state, 'nothing']
