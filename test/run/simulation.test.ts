/**
 * The real code of turns and leases under schedules of a simulated world. A schedule is an array of naturals, each of which
 * chooses the next event.
 */
import { array, assert, asyncProperty, nat } from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settle, textOf, verifySession, type Message } from 'indelible'
import { inputOfStep, inputsIn, stepInput, type Input } from '../../src/run/turns/input.ts'
import { rounds } from '../rounds.ts'
import { World, type WorldKind } from './simulated-world.ts'
import { pending } from '../../src/session/index.ts'

const schedules = rounds(100, 5000)

// The waits of a lease are drawn at random: the same schedule is the same run.
const { random } = Math
beforeAll(() => void (Math.random = () => 0.5))
afterAll(() => void (Math.random = random))

/** How often an answer was kept that a journal's timer had written and a process that died had not finished. */
let marked = 0
/** How often a turn lost the session to another process while it worked. */
let losses = 0
/** How many inputs were not answered, because somebody asked their run to stop. */
let cancelled = 0
/** How many calls with an approval had an effect, and of how many of them no process lived to record it. */
const paid = { all: 0, untold: 0 }

const follows = async (
  ways: readonly ('wait' | 'queue')[],
  kind: WorldKind,
  schedule: readonly number[],
): Promise<void> => {
  const world = new World(ways, kind)
  await world.begin()
  for (const number of schedule) await world.choose(number)
  expect(await world.fairly(4000), 'rounds until every waiter got on').toBeLessThan(Infinity)

  const ids = [...ways.keys()].map((index) => String.fromCharCode(97 + index))
  // Each turn that gave an answer gave the one to its own input; none was cancelled without a request to stop, but by a
  // question that does not queue, which takes the place of one that waits for an approval.
  const pays = kind === 'pays'
  const isErased = (id: string): boolean => world.erased.has(id)
  const mayBeCancelled = world.stops > 0 || world.erased.size > 0 || (pays && ways.includes('wait'))
  const mayEnd = [
    'end_turn',
    'answered',
    ...(pays ? ['approval', 'queued'] : []), // queued: behind one that waits for an approval
    ...(mayBeCancelled ? ['cancelled', 'queued'] : []), // queued: another had taken its input
  ]
  // It ended without one because the provider or the store failed, or because another process had been granted the session.
  for (const { id, answer, granted } of world.ended)
    if (!isLeft(answer)) {
      expect(mayEnd).toContain(answer.right.stopReason)
      if (answer.right.stopReason === 'end_turn' || answer.right.stopReason === 'answered')
        if (!isErased(id)) expect([id, textOf(answer.right.response as Message)]).toEqual([id, `re: ${id}`])
        else
          for (const other of ids)
            if (other !== id) expect(textOf(answer.right.response as Message)).not.toBe(`re: ${other}`)
    } else if (answer.left._tag === 'LeaseLost') {
      expect(answer.left.number).toBeLessThan(granted)
      losses += 1
    } else
      expect(['Io', 'ModelFailed']).toContain(
        answer.left._tag === 'HandlerFailed' ? (answer.left.cause as { _tag?: string })._tag : answer.left._tag,
      )

  const session = await world.session()
  const messages = session.view().toArray()
  const texts = (role: Message['role']): readonly string[] =>
    messages
      .filter((message) => message.role === role)
      .map(textOf)
      .toSorted()
  // What a process that died had written of an answer stays, with a mark, before the whole answer of another.
  const answers = texts('assistant').filter((text) => text !== '' && !text.endsWith('[interrupted]'))
  const states = new Map(inputsIn(session.notes()).map(({ id, state }) => [id, state]))
  const answered = ids.filter((id) => states.get(id) === 'answered')
  // One whose turn was stopped has no notes yet, or the end that another holder's run gave it.
  const stopped = world.stops > 0 ? ['cancelled', 'failed', 'waiting', undefined] : mayBeCancelled ? ['cancelled'] : []
  const mayBe = ['answered', ...stopped]
  for (const id of ids) if (!isErased(id)) expect(mayBe).toContain(states.get(id))
  const whole = answered.filter((id) => !isErased(id))
  expect(answers.filter((answer) => whole.some((id) => answer === `re: ${id}`))).toEqual(whole.map((id) => `re: ${id}`))
  if (world.erased.size === 0) expect(answers.length).toBe(answered.length)
  const asked = texts('user').filter((text) => ids.includes(text))
  expect(asked.filter((id) => whole.includes(id))).toEqual(whole)
  expect(new Set(asked).size).toBe(asked.length)
  marked += texts('assistant').filter((text) => text.endsWith('[interrupted]')).length
  cancelled += ids.length - answered.length
  const openStates = pending(session).steps.map(({ step }) => inputOfStep(session.notes(), step)?.state)
  expect(isRight(settle(messages))).toBe(true)
  // Whoever was stopped left its question, which the next run settles.
  for (const state of openStates) expect(['cancelled', 'waiting']).toContain(state)

  // Each call ran at most once, and only after somebody's word; what the record says was paid was paid.
  expect(new Set(world.paid).size).toBe(world.paid.length)
  for (const id of world.paid) expect(world.decided).toContain(id)
  const output = messages.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === 'tool_result' && part.isError !== true ? [part.callId] : [])),
  )
  for (const id of output) expect(world.paid).toContain(id)
  paid.all += world.paid.length
  paid.untold += world.paid.length - output.length

  // At most one input was taken at any time, and only by the holder of the session.
  expect(world.unfenced).toBe(0)
  const inputs = new Map<string, Input>()
  for (const note of session.notes()) {
    if (note.type !== 'input') continue
    const next = stepInput(inputs.get(note.id), note)
    if (next !== undefined) inputs.set(note.id, next)
    expect([...inputs.values()].filter(({ state }) => state === 'taken').length).toBeLessThanOrEqual(1)
  }
  // No process renews a lease that it has forgotten.
  await world.rest()
  expect(await world.store.leaseOf('s')).toBeUndefined()
  expect(isRight(await verifySession(world.store, 's')())).toBe(true)
}

describe.each([
  ['', 'plain'],
  [', and runs what needs an approval at most once', 'pays'],
  [', also while questions are erased', 'erases'],
] as const)('under random faults of store, clock and processes', (also, kind) => {
  it.each([[['wait', 'wait']], [['queue', 'queue']], [['wait', 'queue']], [['queue', 'wait', 'queue']]] as const)(
    `each input is answered once and every waiter proceeds${also} (%s)`,
    async (ways) => {
      await assert(
        asyncProperty(
          array(nat(), { minLength: 20, maxLength: kind === 'pays' ? 240 : 120, size: 'max' }),
          (schedule) => follows(ways, kind, schedule),
        ),
        { numRuns: Math.ceil(schedules / 4), endOnFailure: true }, // to make a schedule smaller takes minutes: run it without
      )
    },
    3_600_000,
  )
})

it('in enough schedules answers were interrupted, inputs cancelled, sessions lost, and approved calls had an effect that no process recorded', () => {
  if (schedules < 500) return
  for (const count of [marked, losses, cancelled, paid.all]) expect(count).toBeGreaterThan(schedules / 100)
  expect(paid.untold).toBeGreaterThan(schedules / 1000)
})
