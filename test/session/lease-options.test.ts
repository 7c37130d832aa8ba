import { expect, it } from 'vitest'
import { createSession, memoryStore } from 'indelible'

it('a lease that is waited for NaN or fewer than 0 milliseconds is an error at once: it was waited for without end', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  for (const wait of [NaN, -1, '5' as never]) expect(() => session.lease({ holder: 'h', wait })).toThrow('wait is ')
})
