/** Reads lists that come in pages. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from '../either/index.ts'
import { hasField } from '../json/index.ts'

/** A page, with the cursor of the next one if there is one. */
interface Page {
  readonly next?: string | undefined
}

/**
 * The pages of a list in order: the results of `read`, up to the last page or the first failure.
 *
 * @param read reads the page after a cursor. It resolves to a page, or to an Either of one
 */
export async function* pagesOf<Read extends Page | Either<unknown, Page>>(
  read: (from: { readonly after?: string }) => PromiseLike<Read>,
): AsyncGenerator<Read> {
  for (let from: { readonly after?: string } | undefined = {}; from !== undefined;) {
    const batch = await read(from)
    yield batch
    const answer: Page | Either<unknown, Page> = batch
    const page: Page = !hasField(answer, '_tag') ? answer : isLeft(answer) ? {} : answer.right
    from = page.next === undefined ? undefined : { after: page.next }
  }
}
