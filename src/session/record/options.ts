/** The names of the options that a session's methods take. */

/** For `append`. */
export const appendOptions = {
  page: true,
  operation: true,
  expectedLen: true,
  expectedHead: true,
  respectLease: true,
} as const
/** For `rebase`. */
export const rebaseOptions = { page: true, operation: true, respectLease: true } as const
/** For `note`. */
export const noteOptions = { operation: true, expectedLen: true, expectedHead: true, respectLease: true } as const
/** Used by `pop`. */
export const retractOptions = { operation: true, expectedHead: true, respectLease: true } as const
/** For `rewind`. */
export const rewindOptions = {
  instead: true,
  page: true,
  operation: true,
  expectedHead: true,
  respectLease: true,
} as const
/** For `lease`. */
export const leaseOptions = { holder: true, ttl: true, wait: true, clock: true } as const
