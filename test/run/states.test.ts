/** The state of a session's contexts between processes: what a turn keeps, who reads it, and when it is gone. */
import { describe, expect, it } from 'vitest'
import { assistant, createSession, memoryStore, openSession, toolCall, user, type Message, type Store } from 'indelible'
import { deriveContext, estimateTokens } from 'indelible/context'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { resume, run, scriptedModel, tool, turn, type ModelRequest } from 'indelible/run'
import { contextStates, eraseMessages, forkSession } from 'indelible/session'

const said: readonly Message[] = Array.from({ length: 160 }, (_, index) =>
  (index % 2 === 0 ? user : assistant)(`Message ${index}: Anna paid ${index * 7} euros for item ${index}.`),
)
const budget = 1000

/** A turn by a process that has just begun. Gives what was sent, and how many messages had to be counted for it. */
const turnIn = async (store: Store): Promise<{ readonly sent: string; readonly counted: number }> => {
  const session = await openSession(store, 's')
  const requests: ModelRequest[] = []
  let counted = 0
  const model = scriptedModel([(request) => (requests.push(request), assistant('Done.'))])
  const estimate = (message: Message): number => ((counted += 1), estimateTokens(message))
  await turn(session, 'And now?', { model, budget, derive: { estimate } }).result()
  await session.close()
  return { sent: JSON.stringify(requests[0]?.messages), counted }
}

const sessionIn = async (store: Store): Promise<void> => {
  const session = await createSession(store, { id: 's', messages: said, erasable: true })
  await session.close()
}

describe('the context state that a turn stores', () => {
  it('gives the next process the same context for a fraction of the work', async () => {
    const [store, without] = [memoryStore(), memoryStore()]
    for (const one of [store, without]) await sessionIn(one)
    const [first, other] = [await turnIn(store), await turnIn(without)]
    expect(first).toEqual(other)
    await without.states?.write('s', 'lost')
    const [second, anew] = [await turnIn(store), await turnIn(without)]
    expect(second.sent).toBe(anew.sent)
    expect(second.counted).toBeLessThan(anew.counted / 3)
  })
  it('is not written by reading operations', async () => {
    const store = memoryStore()
    await sessionIn(store)
    const session = await openSession(store, 's')
    const kept = contextStates(session)
    expect(await kept?.read()).toBeUndefined()
    const state = await kept?.read()
    deriveContext(session.conversation(), { budget, notes: session.notes(), state })
    expect(await store.states?.read('s')).toBeUndefined()
  })
  it('is stored in `states`, also by a resumed run', async () => {
    const store = memoryStore()
    await sessionIn(store)
    const session = await openSession(store, 's')
    await session.append(user('And now?'))
    const model = scriptedModel([() => assistant('Done.'), () => assistant('Done.')])
    const written: string[] = []
    const states = { read: async () => undefined, write: async (state: string) => void written.push(state) }
    const view = session.conversation() as never
    await run({ model, view, budget, derive: { states } }).result()
    expect(written).toHaveLength(1)
    await resume(session, { model, budget }).result()
    expect(await store.states?.read('s')).toContain('"segments":')
  })
  it('is written once for each compaction, and not before the first', async () => {
    const look = tool({ name: 'look', parameters: {}, run: () => 'ok' })
    for (const [budget, compacts] of [
      [1000, true],
      [100_000, false],
    ] as const) {
      const written: string[] = []
      const states = { read: async () => undefined, write: async (state: string) => void written.push(state) }
      const calls = Array.from({ length: 6 }, (_, index) => assistant(toolCall(`c${index}`, 'look', '{}')))
      const model = scriptedModel([...calls, assistant('Done.')])
      const view = [...said, user('And now?')] as never
      const { steps } = await run({ model, view, budget, tools: [look], derive: { states } }).result()
      expect([steps.length, written.length > 0, new Set(written).size]).toEqual([7, compacts, written.length])
    }
  })
  it('may be unreadable or unwritable without ending a run', async () => {
    const fails = async (): Promise<never> => Promise.reject(new Error('the disk is gone'))
    const model = scriptedModel([() => assistant('Done.')])
    const view = [...said, user('And now?')] as never
    const result = await run({ model, view, budget, derive: { states: { read: fails, write: fails } } }).result()
    expect(result.stopReason).toBe('end_turn')
  })
  it('is deleted by an erasure, also in a process that still holds the text', async () => {
    const store = memoryStore()
    await sessionIn(store)
    await turnIn(store)
    const before = await openSession(store, 's')
    const state = (await contextStates(before)?.read()) ?? ''
    expect(state).not.toBe('')
    await eraseMessages(store, 's', [5], { reason: 'asked to', by: 'ann' })
    expect(await store.states?.read('s')).toBeUndefined()
    await contextStates(before)?.write(state)
    expect(await contextStates(await openSession(store, 's'))?.read()).toBeUndefined()
  })
  it('is not copied to a fork', async () => {
    const store = memoryStore()
    await sessionIn(store)
    await turnIn(store)
    expect(await contextStates(await forkSession(store, 's', { id: 'fork' }))?.read()).toBeUndefined()
  })
  it('is encrypted with its session, and opens with its key only', async () => {
    const inner = memoryStore()
    const ring = keyRing([newHostKey()])
    const store = withKeys(inner, ring)
    await sessionIn(store)
    await turnIn(store)
    const stored = (await inner.states?.read('s')) ?? ''
    expect(stored).toMatch(/^[A-Za-z0-9+/=]{100,}$/)
    const state = await contextStates(await openSession(store, 's'))?.read()
    expect(state).toContain('"segments":')
    await inner.states?.write('s', `${stored.startsWith('A') ? 'B' : 'A'}${stored.slice(1)}`)
    expect(await contextStates(await openSession(store, 's'))?.read()).toBeUndefined()
  })
})
