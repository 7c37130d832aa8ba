import { expect, it } from 'vitest'
import { createSession, memoryStore } from 'indelible'

it('waiting for a lease for NaN or negative milliseconds is an error at once', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  for (const wait of [NaN, -1, '5' as never]) expect(() => session.lease({ holder: 'h', wait })).toThrow('wait is ')
})
