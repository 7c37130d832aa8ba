/** The law of conversations, against a model that is an array: several handles, any order of steps and conflicts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { afterAll, expect, it } from 'vitest'
import {
  createSession,
  faultMessage,
  forkSession,
  memoryStore,
  openSession,
  textOf,
  user,
  type Message,
  type Session,
  type Store,
} from 'indelible'
import { verifySession, type PopResult } from 'indelible/session'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { fault, ok } from '../task-results.ts'
import { startPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { rounds } from '../rounds.ts'

/** A message of the conversation, with its place in the record. */
interface ModelMessage {
  readonly message: Message
  readonly position: number
}

/** A session as an array is, after each row of its log: the last is how it is now. */
interface Model {
  readonly record: Message[]
  readonly rows: { readonly conversation: readonly ModelMessage[]; readonly len: number }[]
}

interface Handle {
  session: Session
  /** How many rows it has read. */
  known: number
}

interface World {
  readonly store: Store
  readonly models: Map<string, Model>
  readonly handles: Handle[]
  /** What views must say for ever. */
  readonly promises: (() => void)[]
}

type Step = (world: World) => Promise<void>

const modelOf = ({ models }: World, { session }: Handle): Model => models.get(session.id) as Model
const chosen = <T>(list: readonly T[], index: number): T => list[index % list.length] as T
const now = ({ rows }: Model) => rows.at(-1) as Model['rows'][number]

const retracted = (model: Model, from: number, to: number): void => {
  const { conversation, len } = now(model)
  model.rows.push({ conversation: conversation.filter(({ position }) => position < from || position >= to), len })
}

const applyAppend = (model: Model, messages: readonly Message[]): void => {
  for (const message of messages) {
    const { conversation, len } = now(model)
    model.record.push(message)
    model.rows.push({ conversation: [...conversation, { message, position: len }], len: len + 1 })
  }
}

const refreshHandle = (model: Model, handle: Handle): void => void (handle.known = model.rows.length - 1)

/** A step that is done to the record as the handle knows it: it conflicts if that is not how it is. */
const exact = async (
  world: World,
  which: number,
  plan: (known: Model['rows'][number]) => { readonly from: number; readonly instead: readonly Message[] },
  ask: (session: Session, from: number) => ReturnType<Session['rewind']>,
): Promise<void> => {
  const handle = chosen(world.handles, which)
  const model = modelOf(world, handle)
  const known = model.rows[handle.known] as Model['rows'][number]
  const { from, instead } = plan(known)
  const takes = known.conversation.some(({ position }) => position >= from)
  if (!takes && instead.length === 0) {
    expect(await ok(ask(handle.session, from))).toMatchObject({ from: known.len, to: known.len })
    return
  }
  if (handle.known < model.rows.length - 1) {
    const late = await fault('SessionConflict', ask(handle.session, from))
    expect(late.missed.toArray()).toEqual(model.record.slice(known.len))
  } else {
    const done = await ok(ask(handle.session, from))
    expect(done).toMatchObject({ from: known.len, to: known.len + instead.length })
    if (takes) retracted(model, from, known.len)
    applyAppend(model, instead)
  }
  refreshHandle(model, handle)
}

const message = fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => user(text))
const messages = fc.array(message, { minLength: 1, maxLength: 3 })
const pick = fc.nat(1000)

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(pick, messages).map(([which, messages]): Step => async (world) => {
      const handle = chosen(world.handles, which)
      const model = modelOf(world, handle)
      const known = model.rows[handle.known] as Model['rows'][number]
      if (known.len < now(model).len) await fault('SessionConflict', handle.session.append(messages))
      else {
        await ok(handle.session.append(messages))
        applyAppend(model, messages)
      }
      refreshHandle(model, handle)
    }),
  },
  {
    weight: 3,
    arbitrary: pick.map((which): Step => async (world) => {
      const handle = chosen(world.handles, which)
      const last = (modelOf(world, handle).rows[handle.known] as Model['rows'][number]).conversation.at(-1)
      await exact(
        world,
        which,
        ({ len }) => ({ from: last?.position ?? len, instead: [] }),
        (session) =>
          TE.map((popped: PopResult) => {
            expect([popped.message, popped.position]).toEqual([last?.message, last?.position])
            return popped
          })(session.pop()) as ReturnType<Session['rewind']>,
      )
    }),
  },
  pick.map((which): Step => async (world) => {
    await exact(
      world,
      which,
      () => ({ from: 0, instead: [] }),
      (session) => session.rewind(0),
    )
  }),
  {
    weight: 2,
    arbitrary: fc.tuple(pick, pick).map(([which, to]): Step => async (world) => {
      await exact(
        world,
        which,
        ({ len }) => ({ from: to % (len + 1), instead: [] }),
        (session, from) => session.rewind(from),
      )
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(pick, pick, fc.array(message, { maxLength: 3 }))
      .map(([which, at, instead]): Step => async (world) => {
        await exact(
          world,
          which,
          ({ len }) => ({ from: at % (len + 1), instead }),
          (session, from) => session.rewind(from, { instead }),
        )
      }),
  },
  fc.tuple(pick, pick, pick).map(([which, at, count]): Step => async (world) => {
    // Any range, behind whatever somebody else has written.
    const handle = chosen(world.handles, which)
    const model = modelOf(world, handle)
    const known = model.rows[handle.known] as Model['rows'][number]
    if (known.len === 0) return
    const from = at % known.len
    const to = from + 1 + (count % (known.len - from))
    await ok(handle.session.note({ type: 'retraction', from, to }))
    retracted(model, from, to)
    refreshHandle(model, handle)
  }),
  fc
    .tuple(
      pick,
      fc.array(
        fc.oneof(
          messages.map((append) => ({ append })),
          messages.map((replace) => ({ replace })),
          fc.constantFrom('pop' as const, 'clear' as const),
        ),
        { maxLength: 5 },
      ),
    )
    .map(([which, calls]): Step => async (world) => {
      // Not waiting for each other: they keep their order, and see what those before have done.
      const handle = chosen(world.handles, which)
      const model = modelOf(world, handle)
      await ok(handle.session.refresh())
      refreshHandle(model, handle)
      const middle = Math.floor(handle.session.len / 2)
      const answers = calls.map((call) => {
        if (call === 'pop') return handle.session.pop()()
        if (call === 'clear') return handle.session.rewind(0)()
        return 'append' in call
          ? handle.session.append(call.append)()
          : handle.session.rewind(middle, { instead: call.replace })()
      })
      for (const [index, call] of calls.entries()) {
        expect((await answers[index])?._tag).toBe('Right')
        const { conversation, len } = now(model)
        const from =
          call === 'pop' ? conversation.at(-1)?.position : call === 'clear' ? 0 : 'append' in call ? undefined : middle
        if (from !== undefined && conversation.some(({ position }) => position >= from)) retracted(model, from, len)
        if (typeof call === 'object') applyAppend(model, 'append' in call ? call.append : call.replace)
      }
      refreshHandle(model, handle)
    }),
  fc.tuple(pick, pick).map(([which, where]): Step => async (world) => {
    const handle = chosen(world.handles, which)
    const model = modelOf(world, handle)
    const at = where % (model.record.length + 1)
    const id = `fork ${world.models.size}`
    await ok(forkSession(world.store, handle.session.id, { id, at }))
    // Up to the row of the message at the fork point: retractions before it go along, later ones do not.
    const end = model.rows.findIndex(({ len }) => len > at)
    world.models.set(id, { record: model.record.slice(0, at), rows: model.rows.slice(0, end === -1 ? undefined : end) })
    world.handles.push({
      session: await ok(openSession(world.store, id)),
      known: (end === -1 ? model.rows.length : end) - 1,
    })
  }),
  fc.tuple(pick, fc.boolean()).map(([which, replaces]): Step => async (world) => {
    const handle = chosen(world.handles, which) // if it is replaced, it is dropped without a word: a crash
    const model = modelOf(world, handle)
    const session = await ok(openSession(world.store, handle.session.id))
    if (!replaces) world.handles.push({ session, known: model.rows.length - 1 })
    else {
      handle.session = session
      refreshHandle(model, handle)
    }
  }),
  pick.map((which): Step => async (world) => {
    const { session } = chosen(world.handles, which)
    const [view, conversation] = [session.view(), session.conversation()]
    const [messages, said] = [structuredClone(view.toArray()), structuredClone(conversation.toArray())]
    world.promises.push(() => {
      expect(view.toArray()).toEqual(messages)
      expect(conversation.toArray()).toEqual(said)
    })
  }),
)

const folder = mkdtempSync(join(tmpdir(), 'indelible-conversation-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

const server = await startPostgres()
afterAll(async () => {
  await server?.stop()
})

it.each([
  ['memory', rounds(25, 10_000), async (): Promise<Store> => memoryStore()],
  ['SQLite', rounds(6, 2000), () => ok(sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' }))],
  [
    'PostgreSQL',
    server === undefined ? 0 : rounds(2, 300),
    () =>
      ok(
        postgresStore({
          timeout: 600_000,
          connectionString: server?.url ?? '',
          schema: `law ${process.pid} ${files++}`,
        }),
      ),
  ],
] as const)(
  'the conversation matches an array at every head, and the view keeps everything: in %s',
  async (_name, numRuns, open) => {
    if (numRuns === 0) return
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 25 }), async (done) => {
        const store = await open()
        const session = await ok(createSession(store, { id: 'first' }))
        const world: World = {
          store,
          models: new Map([['first', { record: [], rows: [{ conversation: [], len: 0 }] }]]),
          handles: [
            { session, known: 0 },
            { session: await ok(openSession(store, 'first')), known: 0 },
          ],
          promises: [],
        }
        for (const step of done) {
          await step(world)
          for (const handle of world.handles) {
            const { conversation } = modelOf(world, handle).rows[handle.known] as Model['rows'][number]
            const view = handle.session.conversation()
            expect(view.toArray()).toEqual(conversation.map(({ message }) => message))
            expect(Array.from(view, (_, index) => view.positionAt(index))).toEqual(
              conversation.map(({ position }) => position),
            )
            expect(view.positionAt(view.length)).toBe(handle.session.len)
          }
        }
        for (const [id, model] of world.models) {
          await ok(verifySession(store, id))
          const again = await ok(openSession(store, id))
          expect(again.view().toArray()).toEqual(model.record)
          expect(again.head().size).toBe(model.rows.length - 1)
          for (const [size, { conversation, len }] of model.rows.entries()) {
            const then = again.at({ size })
            expect(then?.conversation.toArray()).toEqual(conversation.map(({ message }) => message))
            expect(then?.view.length).toBe(len)
            expect(then?.notes.length).toBe(size - len)
          }
        }
        for (const kept of world.promises) kept()
        await ok(store.close())
      }),
      { numRuns },
    )
  },
)

it('two handles popping at once never pop one message twice', async () => {
  const store = memoryStore()
  const one = await ok(createSession(store, { id: 's' }))
  await ok(one.append(Array.from({ length: 60 }, (_, number) => user(`${number}`))))
  const other = await ok(openSession(store, 's'))
  const popped: string[] = []
  while (one.conversation().length > 0) {
    const answers = await Promise.all([one.pop()(), other.pop()()])
    expect(answers.filter(isLeft).length).toBe(1)
    for (const answer of answers)
      if (isLeft(answer)) expect(answer.left._tag).toBe('SessionConflict')
      else if (answer.right.message !== undefined) popped.push(textOf(answer.right.message))
    await ok(one.refresh())
    await ok(other.refresh())
  }
  expect(popped).toEqual(Array.from({ length: 60 }, (_, number) => `${59 - number}`))
})

it('an operation at a head is applied once, however often it is retried', async () => {
  const store = memoryStore()
  const session = await ok(createSession(store, { id: 's' }))
  await ok(session.append([user('a'), user('b'), user('c')]))
  const step = { operation: 'o1', expectedHead: session.head() }
  const first = await ok(session.pop(step))
  const { head } = await ok(session.rewind(1, { instead: user('d'), operation: 'o2' }))
  const elsewhere = await ok(openSession(store, 's'))
  for (const again of [session, elsewhere]) expect(await ok(again.pop(step))).toEqual(first)
  expect(session.conversation().toArray()).toEqual([user('a'), user('d')])
  expect(session.head()).toEqual(head)
  await fault('OperationMismatch', session.rewind(0, step))
  await fault('SessionConflict', session.pop({ expectedHead: step.expectedHead }))
  const beyond = await fault('InvalidNote', session.rewind(9))
  expect(faultMessage(beyond)).toBe(
    'nothing was written: a conversation can be rewound to a position from 0 to 4, found 9',
  )
  await fault('InvalidNote', session.rewind(-1))
  const nothing = await ok(session.rewind(session.len))
  expect(nothing).toEqual({ from: 4, to: 4, head })
  await ok(session.seal())
  await fault('SessionSealed', session.pop())
  await fault('SessionSealed', session.pop({ operation: 'late' }))
  expect(await ok(session.pop(step))).toEqual(first)
})

it("a rebase sees another writer's retractions even without new messages", async () => {
  const store = memoryStore()
  const one = await ok(createSession(store, { id: 's' }))
  await ok(one.append([user('a'), user('b')]))
  const other = await ok(openSession(store, 's'))
  await ok(one.pop())
  await ok(other.rebase((conversation) => user(`after ${conversation.length}`)))
  expect(other.conversation().toArray()).toEqual([user('a'), user('after 1')])
})
