/** Runs on a conversation: what was retracted is neither sent nor continued, and positions stay those of the record. */
import { design } from '../../src/context/internal.ts'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  assistant,
  createSession,
  memoryStore,
  openSession,
  settle,
  system,
  toolCall,
  toolResult,
  user,
} from 'indelible'
import { deriveContext } from 'indelible/context'
import { run, scriptedModel, sessionHandler, turn } from 'indelible/run'
import { ok } from '../task-results.ts'
import { pending } from '../../src/session/index.ts'
import type { DerivedBy } from '../../src/context/deriving/context.ts'

it('a run continues the conversation, and a receipt names the head to derive its context from', async () => {
  const store = memoryStore()
  const session = await ok(createSession(store, { id: 's' }))
  await ok(session.append([system('Be brief.'), user('one'), assistant('eins'), user('two'), assistant('zwei')]))
  await ok(session.note({ type: 'pin', position: 1 }))
  await ok(session.rewind(3, { instead: user('three') }))
  await ok(session.pop())
  await ok(session.append(user('four')))

  const settled = settle(session.conversation())
  if (!isRight(settled)) throw new Error()
  const notes = session.notes()
  const stream = run({
    model: scriptedModel([assistant('vier')]),
    view: settled.right,
    context: (view) => deriveContext(view, { budget: 10_000, notes }),
    receipts: true,
    handlers: [sessionHandler(session)],
  })
  const result = await ok(stream.result())
  expect(result.messages).toEqual([
    system('Be brief.'),
    user('one'),
    assistant('eins'),
    user('four'),
    assistant('vier'),
  ])
  expect(session.conversation().toArray()).toEqual(result.messages)
  expect(session.view().length).toBe(8)
  const receipt = session.notes().at(-1)
  if (receipt?.type !== 'receipt' || receipt.head === undefined) throw new Error()
  expect(receipt.len).toBe(7)

  // Later retractions change nothing of what was sent.
  await ok(session.rewind(1))
  const later = await ok(openSession(store, 's'))
  const then = later.at(receipt.head)
  if (then === undefined) throw new Error()
  const again = deriveContext(then.conversation, { budget: 10_000, notes: then.notes })
  expect(isRight(again) && again.right.digest).toBe(receipt.contextDigest)
  expect(isRight(again) && [...again.right.sources].map((source) => 'position' in source && source.position)).toEqual([
    0, 1, 2, 6,
  ])
  const now = deriveContext(later.conversation(), { budget: 10_000, notes: later.notes() })
  expect(isRight(now) && now.right.digest).not.toBe(receipt.contextDigest)
})

it.each([true, false])(
  'receipts of turns with a budget tell how to derive each context again (recall: %s)',
  async (recall) => {
    const session = await ok(createSession(memoryStore(), { id: 's', messages: [system('Be brief.')] }))
    const answers = Array.from({ length: 12 }, (_, index) => assistant(`answer ${index} ${'and more '.repeat(60)}`))
    const model = scriptedModel(answers, { name: 'm' })
    for (let index = 0; index < 12; index++) {
      await ok(turn(session, `question ${index} ${'why '.repeat(60)}`, { model, budget: 900, recall }).result())
      if (index === 3) await ok(session.note({ type: 'pin', position: 1 }))
    }
    const receipts = [...session.notes()].filter((note) => note.type === 'receipt')
    const epochs = receipts.map(({ head, contextDigest, details, model: name }) => {
      const then = head && session.at(head)
      const { derived } = details as unknown as { readonly derived: DerivedBy }
      const { policy, version, budget, reserved, recall: isNamed } = derived
      expect([policy, version]).toEqual(['paged', design.version])
      const again = deriveContext(then?.conversation as never, {
        budget: budget + reserved,
        systemTokens: reserved,
        toolTokens: 0,
        model: name,
        notes: then?.notes ?? [],
        ...(!isNamed && { tools: [] }),
      })
      if (!isRight(again)) throw new Error()
      expect(again.right.digest).toBe(contextDigest)
      return again.right.epoch
    })
    expect(epochs).toHaveLength(12)
    expect(epochs.at(-1)).toBeGreaterThan(1)
  },
)

it('open calls, cut-off answers and interrupted() follow the conversation', async () => {
  const session = await ok(createSession(memoryStore(), { id: 's' }))
  await ok(session.append([user('go'), assistant(toolCall('a', 'read', {})), toolResult('a', 'done')]))
  await ok(session.append(assistant(toolCall('b', 'read', {}), toolCall('c', 'read', {}))))
  expect(pending(session).calls.map(({ id, position }) => `${id} ${position}`)).toEqual(['b 3', 'c 3'])

  await ok(session.pop())
  expect(pending(session).calls).toEqual([])
  expect(pending(session).started).toEqual([])
  expect(pending(session).messages).toEqual([])
  await ok(session.pop())
  expect(pending(session).calls.map(({ id, position }) => [id, position])).toEqual([['a', 1]])
  await ok(session.append(pending(session).messages))
  expect(isRight(settle(session.conversation()))).toBe(true)
  expect(pending(session).calls).toEqual([])
})
