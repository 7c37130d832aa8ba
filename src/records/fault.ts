/** What can go wrong with kept content, as data. */
export type ContentFault =
  /** `removed`: it had expired, or made room for others. `unknown`: it was never here. */
  | { readonly _tag: 'ContentMiss'; readonly ref: string; readonly reason: 'removed' | 'unknown' }
  /** The most bytes that the store takes for one value. */
  | { readonly _tag: 'ContentTooLarge'; readonly limit: number }

/** A content fault as a sentence for people. */
export const contentFaultText = (fault: ContentFault): string =>
  fault._tag === 'ContentTooLarge'
    ? `the value takes more than the ${fault.limit} bytes that the content store may hold; it was not kept`
    : fault.reason === 'removed'
      ? `the content ${fault.ref} is no longer here: it expired, or made room for others; make the call again if you need it`
      : `the content ${fault.ref} was never in this store; it may be of another process`
