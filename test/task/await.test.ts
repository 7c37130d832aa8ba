/** What a person meets who awaits a task, or forgets to. */
import { describe, expect, it } from 'vitest'
import { createSession, memoryStore, openSession, pending, textOf, toolResult, user, type FaultError } from 'indelible'
import { inputsOf, resume, scriptedModel, turn } from 'indelible/run'

const stackOf = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    return (error as FaultError).stack ?? ''
  }
  throw new Error('expected a fault')
}

describe('the stack of an awaited fault', () => {
  const store = memoryStore()

  it('names the functions that await it, the innermost first', async () => {
    const loadsChat = async (): Promise<unknown> => {
      const session = await openSession(store, 'missing')
      return session.len
    }
    const handlesRequest = async (): Promise<unknown> => {
      const found = await loadsChat()
      return found
    }
    const stack = await stackOf(handlesRequest)
    expect(stack.indexOf('loadsChat')).toBeGreaterThan(0)
    expect(stack.indexOf('handlesRequest')).toBeGreaterThan(stack.indexOf('loadsChat'))
    expect(stack).toContain('await.test.ts')
  })

  it('names them for a task that is awaited after it has failed, and for each that awaits it', async () => {
    const task = openSession(store, 'missing')
    await task()
    const first = async (): Promise<unknown> => {
      const session = await task
      return session
    }
    const second = async (): Promise<unknown> => {
      const session = await task
      return session
    }
    expect(await stackOf(first)).toContain('first')
    expect(await stackOf(second)).toContain('second')
  })
})

describe('a forgotten await', () => {
  it('is what the error says first, wherever a session or a store is taken', () => {
    const store = memoryStore()
    const session = createSession(store) as never
    for (const call of [
      () => turn(session, 'hi', { model: scriptedModel([]) }),
      () => resume(session, { model: scriptedModel([]) }),
      () => pending(session),
      () => inputsOf(session),
      () => openSession((async () => store)() as never, 's'),
    ])
      expect(call).toThrow(/, found a task: await it first/)
  })
})

it('textOf of a tool message is the text of its results', () => {
  expect(textOf(toolResult('c1', 'it rains'))).toBe('it rains')
  expect(textOf(user('a'))).toBe('a')
})
