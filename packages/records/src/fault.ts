/** The faults of stored content, as data. */
import { sentencesOf, type Sentences } from 'indelible/internal/task'

/** Why content could not be read or stored. */
export type ContentFault =
  /** `removed`: the content expired, or the store evicted it. `unknown`: it was never in this store. */
  | { readonly _tag: 'ContentMiss'; readonly ref: string; readonly reason: 'removed' | 'unknown' }
  /** The value is larger than the store's limit of `limit` bytes. */
  | { readonly _tag: 'ContentTooLarge'; readonly limit: number }

/** The content fault with a tag. */
export type ContentFaultOf<Tag extends ContentFault['_tag']> = Extract<ContentFault, { readonly _tag: Tag }>

const contentSentences: Sentences<ContentFault> = {
  ContentMiss: ({ ref, reason }) =>
    reason === 'removed'
      ? `the content ${ref} is no longer stored: it expired, or the store evicted it to make room; make the call again if you need it`
      : `the content ${ref} was never in this store; another process may have it`,
  ContentTooLarge: ({ limit }) =>
    `the value is larger than the content store's limit of ${limit} bytes; it was not stored`,
}

/**
 * Describe a content fault in a sentence for people.
 *
 * @returns what happened, and what to do next
 */
export const contentFaultMessage: (fault: ContentFault) => string = sentencesOf(contentSentences)
