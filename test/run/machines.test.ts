/**
 * The machines of leases and inputs under every schedule of a small world, and under random ones of a larger world:
 * `machine-world.ts` says what can happen, and which laws hold after each event.
 */
import { array, assert, nat, property } from 'fast-check'
import { expect, it } from 'vitest'
import { nextOf } from '../../src/run/turns/decide.ts'
import { stepInput } from '../../src/run/turns/input.ts'
import { leaseStep } from '../../src/session/writing/lease-machine.ts'
import { isFull, rounds } from '../rounds.ts'
import {
  BrokenLaw,
  eventsOf,
  fairRound,
  isDone,
  keyOf,
  machines,
  newWorld,
  realRules,
  type Rules,
  type Way,
  type World,
} from './machine-world.ts'

/** 53 bits of a text. */
const hash = (text: string): number => {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return 4294967296 * (2097151 & low) + (high >>> 0)
}

/** Fair rounds within which every waiter gets on, of two or three processes. */
const most = 80

/** The number of fair rounds until everything is over. */
const roundsFrom = (world: World, after: ReturnType<typeof machines>['after'], known?: Map<number, number>): number => {
  const path: number[] = []
  let now = world
  let rest = 0
  for (; !isDone(now); now = fairRound(now, after)) {
    const key = known === undefined ? 0 : hash(keyOf(now))
    const found = known?.get(key)
    if (found !== undefined) {
      rest = found
      break
    }
    path.push(key)
    if (path.length > most) throw new BrokenLaw(`somebody waits for more than ${most} rounds`)
  }
  if (known !== undefined) for (const [index, key] of path.entries()) known.set(key, rest + path.length - index)
  return rest + path.length
}

/** A schedule of a law that does not hold. */
const withSchedule = (error: unknown, path: readonly string[], world: World): unknown => {
  if (error instanceof BrokenLaw) error.message += ` after ${path.join(', ')} in ${JSON.stringify(world)}`
  return error
}

interface Explored {
  readonly states: number
  readonly schedules: number
  readonly longest: number
}

/** All schedules to a depth; each state once. */
const explored = (ways: readonly Way[], depth: number, rules: Rules = realRules): Explored => {
  const { after } = machines(rules)
  const seen = new Set<number>()
  const fair = new Map<number, number>()
  type Reached = readonly [world: World, path: Path | undefined]
  type Path = readonly [name: string, before: Path | undefined]
  const named = (path: Path | undefined): readonly string[] => (path === undefined ? [] : [...named(path[1]), path[0]])
  let level: readonly Reached[] = [[newWorld(ways), undefined]]
  let [schedules, longest] = [0, 0]
  for (let step = 1; step <= depth; step++) {
    const next: Reached[] = []
    for (const [world, path] of level)
      for (const event of eventsOf(world, false)) {
        schedules += 1
        const way = [`${event.process} ${event.name}`, path] as const
        try {
          const then = after(world, event)
          const key = hash(keyOf(then))
          if (seen.has(key)) continue
          seen.add(key)
          longest = Math.max(longest, roundsFrom(then, after, fair))
          if (step < depth) next.push([then, way])
        } catch (error) {
          throw withSchedule(error, named(way), world)
        }
      }
    level = next
  }
  return { states: seen.size, schedules, longest }
}

const depth = Number(process.env['INDELIBLE_DEPTH'] ?? (isFull ? 14 : 5))

it.each([[['wait', 'wait']], [['queue', 'queue']], [['wait', 'queue']]] as const)(
  `after every sequence of ${depth} events, all rules hold and every waiter proceeds (%s)`,
  (ways) => {
    const found = explored(ways, depth)
    expect(found.longest).toBeLessThanOrEqual(most)
    // oxlint-disable-next-line no-console -- figures of the soak
    if (isFull || depth > 6) console.log({ ways: ways.join(), depth, ...found })
  },
)

const random = (ways: readonly Way[], runs: number, rules: Rules = realRules): number => {
  const { after } = machines(rules)
  let longest = 0
  assert(
    property(array(nat(), { minLength: 20, maxLength: 80, size: 'max' }), (schedule) => {
      let world = newWorld(ways)
      const path: string[] = []
      for (const number of schedule) {
        // What goes well is likelier, so that schedules get far.
        const events = eventsOf(world, true).flatMap((event) =>
          /answer/.test(event.name) ? [event, event, event] : [event],
        )
        const event = events[number % events.length]
        if (event === undefined) break
        path.push(`${event.process} ${event.name}`)
        try {
          world = after(world, event)
        } catch (error) {
          throw withSchedule(error, path, world)
        }
      }
      try {
        longest = Math.max(longest, roundsFrom(world, after))
      } catch (error) {
        throw withSchedule(error, path, world)
      }
    }),
    { numRuns: runs },
  )
  return longest
}

const schedules = rounds(400, 120_000)

it.each([
  [['wait', 'wait']],
  [['queue', 'queue']],
  [['queue', 'wait']],
  [['wait', 'wait', 'wait']],
  [['queue', 'wait', 'queue']],
  [['queue', 'queue', 'queue']],
] as const)(
  `in ${schedules} random schedules with six participants, all rules hold and every waiter proceeds (%s)`,
  (ways) => {
    const longest = random(ways, Math.ceil(schedules / 6))
    // oxlint-disable-next-line no-console -- figures of the soak
    if (isFull) console.log({ ways: ways.join(), schedules: Math.ceil(schedules / 6), longest })
  },
)

/** Rules that are wrong in one way each. */
const wrong: { readonly [name: string]: Partial<Rules> } = {
  'the store does not compare the number of a lease': { fenced: false },
  'the store does not compare what a writer knows': { expecting: false, fenced: false },
  'what was taken does not come first': {
    decide: (inputs, { id }) => ({ type: 'take', known: inputs.find((input) => input.id === id) }),
  },
  'an input that failed is never asked again': {
    stepInput: (known, note) => (known?.state === 'failed' ? known : stepInput(known, note)),
  },
  'a queue is answered behind an input that waits': {
    nextOf: (inputs) => inputs.find(({ state }) => state === 'queued') ?? nextOf(inputs),
  },
  'a lease that the store does not answer for counts as granted': {
    leaseStep: (state, event) =>
      state === 'asking' && event === 'failed' ? ['ours', 'begin'] : leaseStep(state, event),
  },
  'a lease that is lost stays': {
    leaseStep: (state, event) => (state === 'ours' && event === 'lost' ? ['ours', 'nothing'] : leaseStep(state, event)),
  },
}

it.each(Object.keys(wrong))('the checker detects a broken rule: %s', (name) => {
  expect(() => explored(['wait', 'queue'], 9, { ...realRules, ...wrong[name] })).toThrow(BrokenLaw)
})
