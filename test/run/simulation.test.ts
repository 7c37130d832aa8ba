/**
 * The real code of turns and leases under schedules of a simulated world. A schedule is an array of naturals, each of which
 * chooses the next event.
 */
import { array, assert, asyncProperty, nat } from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settle, textOf, verifySession, type Message } from 'indelible'
import { inputsIn, stepInput, type Input } from '../../src/run/inputs/input.ts'
import { rounds } from '../rounds.ts'
import { World } from './simulated-world.ts'

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

const follows = async (ways: readonly ('wait' | 'queue')[], schedule: readonly number[]): Promise<void> => {
  const world = new World(ways)
  await world.begin()
  for (const number of schedule) await world.choose(number)
  expect(await world.fairly(4000), 'rounds until every waiter got on').toBeLessThan(Infinity)

  // Each turn that gave an answer gave the one to its own input; none was cancelled without a request to stop.
  const isStopped = world.stops > 0
  const mayEnd = ['end_turn', 'answered', ...(isStopped ? ['cancelled', 'queued'] : [])] // queued: another had taken its input
  // It ended without one because the provider or the store failed, or because another process had been granted the session.
  for (const { id, answer, granted } of world.ended)
    if (!isLeft(answer)) {
      expect(mayEnd).toContain(answer.right.stopReason)
      if (answer.right.response !== undefined) expect([id, textOf(answer.right.response)]).toEqual([id, `re: ${id}`])
    } else if (answer.left._tag === 'LeaseLost') {
      expect(answer.left.number).toBeLessThan(granted)
      losses += 1
    } else
      expect(['Io', 'ModelFailed']).toContain(
        answer.left._tag === 'HandlerFailed' ? (answer.left.cause as { _tag?: string })._tag : answer.left._tag,
      )

  const session = await world.session()
  const ids = [...ways.keys()].map((index) => String.fromCharCode(97 + index))
  const said = session.view().toArray()
  const texts = (role: Message['role']): readonly string[] =>
    said
      .filter((message) => message.role === role)
      .map(textOf)
      .toSorted()
  // What a process that died had written of an answer stays, with a mark, before the whole answer of another.
  const answers = texts('assistant').filter((said) => !said.endsWith('[interrupted]'))
  const states = new Map(inputsIn(session.notes()).map(({ id, state }) => [id, state]))
  const answered = ids.filter((id) => states.get(id) === 'answered')
  // One whose turn was stopped has no notes yet, or the end that another holder's run gave it.
  const mayBe = isStopped ? ['answered', 'cancelled', 'failed', undefined] : ['answered']
  for (const id of ids) expect(mayBe).toContain(states.get(id))
  expect(answers).toEqual(answered.map((id) => `re: ${id}`))
  const asked = texts('user')
  expect(asked.filter((id) => answered.includes(id))).toEqual(answered)
  expect(new Set(asked).size).toBe(asked.length)
  marked += texts('assistant').length - answers.length
  cancelled += ids.length - answered.length
  expect([isRight(settle(said)), session.openSteps()]).toEqual([true, []])

  // At most one input was taken at any time.
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

it.each([[['wait', 'wait']], [['queue', 'queue']], [['wait', 'queue']], [['queue', 'wait', 'queue']]] as const)(
  `with random store, clock and process faults each input is answered once and every waiter proceeds (%s)`,
  async (ways) => {
    await assert(
      asyncProperty(array(nat(), { minLength: 20, maxLength: 120, size: 'max' }), (schedule) =>
        follows(ways, schedule),
      ),
      { numRuns: Math.ceil(schedules / 4) },
    )
  },
  3_600_000,
)

it('some answers were interrupted after a part was written, some inputs cancelled, and some turns lost the session, in enough schedules', () => {
  if (schedules < 500) return
  for (const count of [marked, losses, cancelled]) expect(count).toBeGreaterThan(schedules / 100)
})
