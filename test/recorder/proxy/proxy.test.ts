/** The proxy and odd requests: what the provider parses is what the client meant, and no answer reaches another. */
import { describe, expect, it } from 'vitest'
import { oddRequests, tryOdd } from './odd-requests.ts'

describe('the proxy outlives, and forwards as it was meant or refuses:', () => {
  it.each(Object.entries(oddRequests))('%s', async (_, request) => {
    await expect(tryOdd(request)).resolves.toBeUndefined()
  })
})
