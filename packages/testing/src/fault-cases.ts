/**
 * Cases for a failing medium: a change is stored completely or not at all, an acknowledged change
 * is stored, a retry duplicates nothing, and later reads return what is stored, in every scope.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight } from 'indelible/internal/json'
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import { storeFaultText } from 'indelible/internal/store'
import { verifyLog, type Row, type Store, type StoreFault } from 'indelible/store'
import { bytes } from './block-contract.ts'
import { valueOrThrow, mustHold, mustEqual } from './check.ts'
import { injectFaults, randomFrom, type Faults, type Strike } from './faults.ts'
import type { StorePlace } from './place.ts'
import { canErase, entry, storeInScope, note } from './rows.ts'

/** A change and its expected result. */
interface Change {
  readonly name: string
  readonly scope: string
  /** The id of the log, or of another object, that it changes. */
  readonly id: string
  readonly run: (store: Store) => Promise<Either<StoreFault, unknown>>
  /** Reads the current state of the changed object. */
  readonly look: (store: Store) => Promise<string>
  readonly after: string
  /** Whether repeating it returns the first result and changes nothing. */
  readonly repeats: boolean
}

/** Creates changes that start at the same time. Called when the previous turn's changes are done. */
type Turn = (world: World) => Promise<readonly Change[]>

/** Every step of every turn fails once; it is also lost, torn or crashed. */
export const everyFault = async (place: StorePlace): Promise<void> => {
  if (place.openFaulty === undefined) return
  const healthy = await place.open()
  const { faultEvery = 1 } = place
  let count = 0
  for (const [index, turn] of course.entries()) {
    const counting = injectFaults({ at: -1, strike: 'delay' })
    await play(place, healthy, counting, `turn ${index}, counted`, [turn])
    for (const [at, step] of counting.steps.entries())
      for (const strike of strikesFor(step, at))
        if (count++ % faultEvery === 0)
          await play(place, healthy, injectFaults({ at, strike }), `turn ${index}, step ${at}, ${strike}`, [turn])
  }
}

/** The strikes to try at a step. A commit fails in every way; other steps take turns with the ways, to save time. */
const strikesFor = (step: string, at: number): readonly Strike[] => {
  const others = ['fail after', 'crash before', 'crash after', 'tear', 'outage'] as const
  return ['fail before', ...(/commit|sync/i.test(step) ? others : others.slice(at % others.length).slice(0, 1))]
}

/** Random steps of random courses fail, determined by a seed. */
export const anyFault = async (place: StorePlace): Promise<void> => {
  if (place.openFaulty === undefined) return
  const healthy = await place.open()
  const seeds = place.faultEvery === undefined || place.faultEvery === 1 ? 10 : 3
  for (let seed = 0; seed < seeds; seed++) {
    const pick = randomFrom(1000 + seed)
    const turns = Array.from({ length: 6 }, (): Turn => course[Math.floor(pick() * course.length)] as Turn) // in range
    await play(place, healthy, injectFaults({ seed, every: 8 }), `seed ${seed}`, turns)
  }
}

class World {
  readonly healthy: Store
  /** The scopes that only this run uses. */
  readonly scopes: readonly [string, string]
  count = 0
  readonly looks = new Map<string, Change>()

  constructor(healthy: Store, name: string) {
    this.healthy = healthy
    this.scopes = [`${name} / one`, `${name} / other`]
  }

  /** A change to a log. `become` maps its rows to the expected ones; undefined: no log. */
  async onLog(
    name: string,
    scope: string,
    id: string,
    become: (state: LogState) => LogState | undefined,
    run: Change['run'],
    repeats = false,
  ): Promise<Change> {
    const look = (store: Store): Promise<string> => lookAt(store, id)
    const before = await look(storeInScope(this.healthy, scope))
    const after = become(before === none ? { meta: {}, bodies: [] } : (JSON.parse(before) as LogState))
    return {
      name: `${name} ${id}`,
      scope,
      id,
      run,
      look,
      repeats,
      after: after === undefined ? none : JSON.stringify(after),
    }
  }
}

interface LogState {
  readonly meta: unknown
  readonly bodies: readonly string[]
}

const none = 'no log'

const lookAt = async (store: Store, id: string): Promise<string> => {
  const info = await store.info(id)()
  if (isLeft(info) && info.left._tag === 'NoSuchLog') return none
  const { meta, head } = isLeft(info) ? await valueOrThrow(store.info(id)) : info.right
  const bodies = (await valueOrThrow(store.read(id))).map(({ body }) => body)
  mustEqual(bodies.length, head.size, `the number of rows of ${id}`)
  return JSON.stringify({ meta, bodies } satisfies LogState)
}

const shared = bytes(3000, 1)

/** Appends rows, some with a block that others reference too. */
const appendTo = async (world: World, scope: string, id: string, operation: boolean): Promise<Change> => {
  const found = await storeInScope(world.healthy, scope).info(id)()
  const number = world.count++
  const block = bytes(2000, number + 2)
  const bodies = [0, 1, 2].map((index) => `${id} ${number}.${index}`)
  return world.onLog(
    'append to',
    scope,
    id,
    (state) => (isLeft(found) ? undefined : { ...state, bodies: [...state.bodies, ...bodies] }),
    async (store) => {
      if (isLeft(found)) return found
      const [a = '', b = '', last = ''] = bodies
      const rows: readonly Row[] = [
        entry(a),
        { ...note(b), blocks: [blockIdOf(shared, store.hash)] },
        { ...entry(last), blocks: [blockIdOf(block, store.hash)] },
      ]
      const expected = found.right.head
      return store.append(id, {
        expected,
        rows,
        blocks: [shared, block],
        ...(operation && { operation: `op ${number}` }),
      })()
    },
    operation,
  )
}

const createChange = async (world: World, scope: string, id: string): Promise<Change> =>
  world.onLog(
    'create',
    scope,
    id,
    () => ({ meta: { made: id }, bodies: [] }),
    (store) => store.create({ id, meta: { made: id }, encrypt: false })(),
  )

const forkChange = async (
  world: World,
  scope: string,
  from: string,
  id: string,
  at: number,
  of?: Change,
): Promise<Change> => {
  const source = of?.after ?? (await lookAt(storeInScope(world.healthy, scope), from))
  const { bodies } = source === none ? { bodies: [] } : (JSON.parse(source) as LogState)
  return world.onLog(
    'fork',
    scope,
    id,
    () => ({ meta: { fork: id }, bodies: bodies.slice(0, at) }),
    (store) => store.fork(from, { id, at, meta: { fork: id } })(),
  )
}

const removeChange = async (world: World, scope: string, id: string): Promise<Change> =>
  world.onLog(
    'remove',
    scope,
    id,
    () => undefined,
    (store) => store.remove(id)(),
  )

/** Erases a row in the middle of a log whose text is unique. */
const eraseChange = async (world: World, scope: string, id: string): Promise<Change> => {
  const healthy = storeInScope(world.healthy, scope)
  const { head } = await valueOrThrow(healthy.info(id))
  const position =
    (await valueOrThrow(healthy.read(id))).find((row) => row.erased === undefined && row.position > 1)?.position ?? 0
  const stub = `gone ${position}`
  return world.onLog(
    'erase a row of',
    scope,
    id,
    (state) => ({ ...state, bodies: state.bodies.with(position, stub) }),
    (store) => store.erase({ logs: [{ id, expected: head, rows: [{ position, stub }] }] })(),
  )
}

/** Turns that can run in any order: each creates its own logs besides the initial ones. */
const course: readonly Turn[] = [
  // Forks of a fork that does not exist yet: what the second reads of the first is not committed.
  async (world) => {
    const [scope] = world.scopes
    const number = world.count++
    const first = await forkChange(world, scope, 's', `f${number}`, 3)
    return [first, await forkChange(world, scope, `f${number}`, `g${number}`, 2, first)]
  },
  async (world) => [
    await createChange(world, world.scopes[1], `n${world.count++}`),
    await appendTo(world, world.scopes[1], 's', true),
  ],
  async (world) => [
    await appendTo(world, world.scopes[0], 's', true),
    await appendTo(world, world.scopes[0], 't', false),
  ],
  async (world) => {
    const [, scope] = world.scopes
    const title = `title ${world.count++}`
    const { version } = await valueOrThrow(storeInScope(world.healthy, scope).info('s'))
    const named = await world.onLog(
      'update',
      scope,
      's',
      (state) => ({ ...state, meta: { title } }),
      (store) => store.update('s', { expected: version, meta: { title } })(),
    )
    const block = bytes(500, world.count++)
    const look = async (store: Store): Promise<string> =>
      String((await valueOrThrow(store.hasBlocks([blockIdOf(block, store.hash)])))[0])
    const run: Change['run'] = (store) => store.putBlocks([block])()
    return [named, { name: 'put a block', scope, id: 'block', run, look, after: 'true', repeats: true }]
  },
  async (world) => {
    const [scope] = world.scopes
    const id = `r${world.count++}`
    await valueOrThrow(storeInScope(world.healthy, scope).fork('t', { id, at: 1 }))
    return [await removeChange(world, scope, id), await createChange(world, world.scopes[1], `m${world.count++}`)]
  },
  async (world) => {
    return (await canErase(world.healthy)) ? [await eraseChange(world, world.scopes[0], 't')] : []
  },
]

/** Runs a course on a failing medium, in separate scopes. */
const play = async (
  place: StorePlace,
  healthy: Store,
  faults: Faults,
  name: string,
  turns: readonly Turn[],
): Promise<void> => {
  const open = (): Promise<Store> => (place.openFaulty as Required<StorePlace>['openFaulty'])(faults) // it exists
  const world = new World(healthy, name)
  for (const [scope, id] of [
    [world.scopes[0], 's'],
    [world.scopes[0], 't'],
    [world.scopes[1], 's'],
  ] as const) {
    const deed = await createChange(world, scope, id)
    await deed.run(storeInScope(healthy, scope))
    await (await appendTo(world, scope, id, false)).run(storeInScope(healthy, scope))
    world.looks.set(deed.name, deed)
  }
  let subject = await open()
  const reopen = async (): Promise<void> => {
    await subject.close()()
    faults.restart()
    subject = await open()
  }
  /** Reads through the handle that met the faults return what is stored, in every scope. */
  const checkReads = async (): Promise<void> => {
    for (const [key, { scope, look }] of world.looks)
      mustEqual(
        await look(storeInScope(subject, scope)),
        await look(storeInScope(healthy, scope)),
        `what is read of ${key}`,
      )
  }
  try {
    for (const turn of turns) {
      const deeds = await turn(world)
      const before = await Promise.all(deeds.map(({ look, scope }) => look(storeInScope(healthy, scope))))
      faults.arm()
      const answers = await Promise.all(deeds.map(({ run, scope }) => run(storeInScope(subject, scope))))
      faults.rest()
      for (const [index, deed] of deeds.entries()) {
        world.looks.set(`${deed.scope} ${deed.name}`, deed)
        const found = await deed.look(storeInScope(healthy, deed.scope))
        const answer = answers[index] as Either<StoreFault, unknown> // one answer for each change
        if (isRight(answer)) mustEqual(found, deed.after, `what is there after ${deed.name}, which was acknowledged`)
        else if (found !== before[index]) {
          mustEqual(
            found,
            deed.after,
            `what is there after ${deed.name}, which failed (${storeFaultText(answer.left)})`,
          )
          mustHold(
            answer.left._tag === 'Io' && answer.left.outcome === 'unknown',
            `${deed.name} failed, was done, and the fault said that it may have been: ${storeFaultText(answer.left)}`,
          )
        }
      }
      if (faults.crashed) await reopen()
      await checkReads()
      // Another writer comes before any retry. Released keys must not be remembered.
      const other = await createChange(world, world.scopes[1], `z${world.count++}`)
      const first = await other.run(storeInScope(subject, other.scope))
      if (isLeft(first)) {
        await reopen() // a handle may refuse to continue after some failures; a new one must not
        await other.run(storeInScope(subject, other.scope))
      }
      const filled = await appendTo(world, other.scope, other.id, false)
      await filled.run(storeInScope(subject, other.scope))
      mustEqual(await filled.look(storeInScope(subject, other.scope)), filled.after, `what is read of ${other.id}`)
      for (const [index, deed] of deeds.entries()) {
        const { run, look, scope, after, repeats } = deed
        const was = answers[index] as Either<StoreFault, unknown>
        if (!repeats && (isRight(was) || (await look(storeInScope(healthy, scope))) === after)) continue
        const again = await run(storeInScope(subject, scope))
        mustHold(
          isRight(again),
          `${deed.name} goes well once nothing fails: ${isLeft(again) ? storeFaultText(again.left) : ''}`,
        )
        if (isRight(was) && isRight(again)) mustEqual(again.right, was.right, `the answer to ${deed.name}, done again`)
        mustEqual(await look(storeInScope(healthy, scope)), after, `what is there after a retry of ${deed.name}`)
      }
      await checkReads()
    }
    for (const scope of world.scopes)
      for (const { id } of (await valueOrThrow(storeInScope(healthy, scope).list())).logs) {
        await valueOrThrow(verifyLog(storeInScope(subject, scope), id))
        const ids: readonly BlockId[] = [blockIdOf(shared, healthy.hash)]
        mustEqual(
          (await valueOrThrow(storeInScope(subject, scope).getBlocks(ids)))[0],
          shared,
          'the block that rows share',
        )
      }
  } catch (error) {
    const [struck] = faults.struck
    throw new Error(
      `${name}: ${struck === undefined ? 'nothing failed' : faults.struck.map((each) => `${each.strike} ${each.number} (${each.step})`).join(', ')}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  } finally {
    await subject.close()()
    faults.restart()
  }
}
