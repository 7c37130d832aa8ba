/** Retrying when another writer was first. */

/** How many attempts are made. */
const attempts = 50

/**
 * Do something until it gives an answer, up to 50 times.
 *
 * @param work gives undefined to be tried again; the last time it has to answer
 * @returns its answer
 */
export const retry = async <T>(work: (isLast: boolean) => Promise<T | undefined>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    const answer = await work(attempt >= attempts)
    if (answer !== undefined) return answer
  }
}
