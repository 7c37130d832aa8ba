/** Messages with page kinds beside them: the form of a view that was spread or cloned. */
import { isArray, ownFields, ownItems, type Immutable } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import { listKinds, type PageKinds } from '../pages/internal.ts'

/** Messages with the page kind of each: `{ messages, pages }`, such as `{ ...view }`. */
export interface Paged<M> {
  /** The messages, in order. */
  readonly messages: readonly (M | Immutable<M>)[]
  /** The page kind of each. Default, also for the messages after the last kind: classified. */
  readonly pages?: PageKinds | undefined
}

/** Messages in order, and their page kinds, as far as the caller has named them. */
interface Listed<M> {
  readonly messages: Iterable<M | Immutable<M>>
  readonly pages: readonly (PageKind | undefined)[]
}

/**
 * Lists first messages and their page kinds: those of a view, of `{ messages, pages }`, or of anything else that can be
 * iterated, which has no kinds. Throws TypeError for `pages` that are no page kinds, or more than the messages.
 */
export const pagedOf = <M>(from: Paged<M> | Iterable<M>): Listed<M> => {
  if (isArray(from)) return { messages: ownItems(from as M[]) as M[], pages: [] }
  if (!Object.hasOwn(from, 'messages')) return { messages: from as Iterable<M>, pages: [] }
  const { messages, pages } = ownFields(from as Paged<M>)
  const listed = pagedOf((messages ?? []) as Iterable<M>)
  if (pages === undefined) return listed
  const [all, kinds] = [[...listed.messages], listKinds(pages)]
  if (kinds.length <= all.length) return { messages: all, pages: kinds }
  throw new TypeError(`\`pages\` has ${kinds.length} page kinds, and \`messages\` has ${all.length} messages`)
}
