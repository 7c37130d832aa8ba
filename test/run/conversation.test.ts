/** Runs on a conversation: what was retracted is neither sent nor continued, and positions stay those of the record. */
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
import { run, scriptedModel, sessionHandler } from 'indelible/run'
import { ok } from '../answers.ts'

it('a run goes on with the conversation, and a receipt names the head that its context can be derived from again', async () => {
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

it('open calls, what was cut off and what to append go by the conversation', async () => {
  const session = await ok(createSession(memoryStore(), { id: 's' }))
  await ok(session.append([user('go'), assistant(toolCall('a', 'read', {})), toolResult('a', 'done')]))
  await ok(session.append(assistant(toolCall('b', 'read', {}), toolCall('c', 'read', {}))))
  expect(session.openCalls().map(({ id, position }) => `${id} ${position}`)).toEqual(['b 3', 'c 3'])

  await ok(session.pop())
  expect(session.openCalls()).toEqual([])
  expect(session.unfinished()).toEqual([])
  expect(session.interrupted()).toEqual([])
  await ok(session.pop())
  expect(session.openCalls().map(({ id, position }) => [id, position])).toEqual([['a', 1]])
  await ok(session.append(session.interrupted()))
  expect(isRight(settle(session.conversation()))).toBe(true)
  expect(session.openCalls()).toEqual([])
})
