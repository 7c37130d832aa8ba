/** What can go wrong with stored content, as data. */
export type ContentFault =
  /** `removed`: the content expired, or the store evicted it. `unknown`: it was never in this store. */
  | { readonly _tag: 'ContentMiss'; readonly ref: string; readonly reason: 'removed' | 'unknown' }
  /** The value is larger than the store takes: `limit` bytes. */
  | { readonly _tag: 'ContentTooLarge'; readonly limit: number }

/** The content faults with these tags. */
export type ContentFaultOf<Tag extends ContentFault['_tag']> = Extract<ContentFault, { readonly _tag: Tag }>

/**
 * A content fault as a sentence for people.
 *
 * @param fault the fault
 * @returns what happened, and what to do next
 */
export const contentFaultText = (fault: ContentFault): string =>
  fault._tag === 'ContentTooLarge'
    ? `the value is larger than the content store's limit of ${fault.limit} bytes; it was not stored`
    : fault.reason === 'removed'
      ? `the content ${fault.ref} is no longer stored: it expired, or the store evicted it to make room; make the call again if you need it`
      : `the content ${fault.ref} was never in this store; another process may have it`
