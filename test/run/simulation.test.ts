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

const schedules = rounds(24, 1000)

// The waits of a lease are drawn at random: the same schedule is the same run.
const { random } = Math
beforeAll(() => void (Math.random = () => 0.5))
afterAll(() => void (Math.random = random))

/** How often an answer was kept that a journal's timer had written and a process that died had not finished. */
let marked = 0

const follows = async (ways: readonly ('wait' | 'queue')[], schedule: readonly number[]): Promise<void> => {
  const world = new World(ways)
  await world.begin()
  for (const number of schedule) await world.choose(number)
  expect(await world.fairly(4000), 'rounds until every waiter got on').toBeLessThan(Infinity)

  // Each turn that gave an answer gave the one to its own input; none was cancelled.
  for (const { id, answer } of world.ended)
    if (!isLeft(answer)) {
      expect(['end_turn', 'answered']).toContain(answer.right.stopReason)
      if (answer.right.response !== undefined) expect([id, textOf(answer.right.response)]).toEqual([id, `re: ${id}`])
    }

  const session = await world.session()
  const ids = [...ways.keys()].map((index) => String.fromCharCode(97 + index))
  const said = session.view().toArray()
  const texts = (role: Message['role']): readonly string[] =>
    said
      .filter((message) => message.role === role)
      .map(textOf)
      .toSorted()
  // What a process that died had written of an answer stays, with a mark, before the whole answer of another.
  const answers = texts('assistant').filter((said) => said !== 're [interrupted]')
  expect([texts('user'), answers]).toEqual([ids, ids.map((id) => `re: ${id}`)])
  marked += texts('assistant').length - answers.length
  expect(inputsIn(session.notes()).map(({ state }) => state)).toEqual(ids.map(() => 'answered'))
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

it('some of the answers were interrupted after a part of them was written, in enough schedules', () =>
  expect(marked > 0 || schedules < 500).toBe(true))
