/** Retries after another writer was first. */

/** The maximum number of attempts. */
const attempts = 50

/**
 * Repeat work until it returns a result, up to 50 times.
 *
 * @param work returns undefined to be repeated; the last time it must return a result
 */
export const retry = async <T>(work: (isLast: boolean) => Promise<T | undefined>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    const answer = await work(attempt >= attempts)
    if (answer !== undefined) return answer
  }
}
