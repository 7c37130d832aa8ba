/** The option names of a session's methods. */

export const appendOptions = {
  page: true,
  operation: true,
  expectedLen: true,
  expectedConversation: true,
  expectedHead: true,
  respectLease: true,
} as const
export const rebaseOptions = { page: true, operation: true, respectLease: true } as const
export const noteOptions = { operation: true, expectedLen: true, expectedHead: true, respectLease: true } as const
export const retractOptions = { operation: true, expectedHead: true, respectLease: true } as const
export const rewindOptions = {
  instead: true,
  page: true,
  operation: true,
  expectedHead: true,
  respectLease: true,
} as const
export const leaseRespect = { respectLease: true } as const
export const leaseOptions = { holder: true, ttl: true, wait: true, clock: true } as const
