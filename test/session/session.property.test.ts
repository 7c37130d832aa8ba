/** The laws of sessions, against a model that is plain arrays: several handles on several sessions, in any order of steps. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import {
  createSession,
  forkSession,
  memoryStore,
  openSession,
  user,
  verifySession,
  type Message,
  type PageKind,
  type Session,
  type Store,
  type View,
} from 'indelible'
import { readRange } from 'indelible/session'
import { classify, pageKinds } from 'indelible/pages'
import { sqliteStore } from 'indelible/store/sqlite'
import { rounds } from '../rounds.ts'
import { fault, ok } from '../task-results.ts'
import type { Head } from '../../src/store/port/row.ts'

interface Model {
  readonly messages: Message[]
  readonly pages: PageKind[]
  /** What the notes say of pages: the effective kinds. */
  readonly tags: { readonly len: number; readonly position: number; readonly kind: PageKind }[]
  readonly operations: Map<string, { readonly from: number; readonly messages: readonly Message[] }>
  readonly heads: Head[]
}

interface World {
  readonly store: Store
  readonly models: Map<string, Model>
  handles: { readonly session: Session; known: number }[]
  readonly promises: { readonly view: View<Message>; readonly messages: readonly Message[] }[]
}

type Step = (world: World) => Promise<void>

const message = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => user(text)) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 4000, max: 4200 })
      .map((length) => user('long line '.repeat(length / 10).padEnd(length, '.'))),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Message>(
      { role: 'system', content: [] },
      { role: 'tool', content: [{ type: 'tool_result', callId: 'c', content: [] }] },
    ),
  },
)
const messages = fc.array(message, { minLength: 1, maxLength: 3 })
const page = fc.option(fc.constantFrom(...pageKinds), { nil: undefined })
const pick = fc.nat(1000)

const modelOf = (world: World, id: string): Model => world.models.get(id) as Model
const chosen = <T>(list: readonly T[], index: number): T => list[index % list.length] as T

const added = (model: Model, messages: readonly Message[], page: PageKind | undefined): void => {
  for (const message of messages) {
    model.messages.push(message)
    model.pages.push(page ?? classify(message))
  }
}

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(pick, messages, page).map(([which, messages, page]): Step => async (world) => {
    const handle = chosen(world.handles, which)
    const model = modelOf(world, handle.session.id)
    const task = handle.session.append(messages, page === undefined ? {} : { page })
    if (handle.known < model.messages.length) {
      const late = await fault('SessionConflict', task)
      expect(late.missed.toArray()).toEqual(model.messages.slice(handle.known))
    } else {
      expect(await ok(task)).toMatchObject({ from: handle.known })
      added(model, messages, page)
    }
    handle.known = model.messages.length
    model.heads.push(handle.session.head())
  }),
  fc.tuple(pick, fc.array(messages, { minLength: 2, maxLength: 4 })).map(([which, batches]): Step => async (world) => {
    const handle = chosen(world.handles, which)
    const model = modelOf(world, handle.session.id)
    const late = handle.known < model.messages.length
    const answers = await Promise.all(batches.map((batch) => handle.session.append(batch)()))
    expect(answers.map(isRight)).toEqual(batches.map(() => !late))
    if (!late) for (const batch of batches) added(model, batch, undefined)
    handle.known = model.messages.length
  }),
  fc.tuple(pick, messages, fc.constantFrom('o1', 'o2')).map(([which, messages, operation]): Step => async (world) => {
    const handle = chosen(world.handles, which)
    const model = modelOf(world, handle.session.id)
    const before = model.operations.get(operation)
    const task = handle.session.append(messages, { operation })
    if (before !== undefined && JSON.stringify(before.messages) === JSON.stringify(messages))
      expect(await ok(task)).toMatchObject({ from: before.from, to: before.from + messages.length })
    else if (before !== undefined) await fault('OperationMismatch', task)
    else if (handle.known < model.messages.length) await fault('SessionConflict', task)
    else {
      model.operations.set(operation, { from: handle.known, messages: messages })
      await ok(task)
      added(model, messages, undefined)
    }
    handle.known = model.messages.length
  }),
  fc.tuple(pick, pick, fc.constantFrom(...pageKinds)).map(([which, where, kind]): Step => async (world) => {
    const handle = chosen(world.handles, which)
    const model = modelOf(world, handle.session.id)
    if (handle.known === 0)
      return void (await fault('InvalidNote', handle.session.note({ type: 'page', position: 0, kind })))
    const position = where % handle.known
    await ok(handle.session.note({ type: 'page', position, kind }))
    model.tags.push({ len: model.messages.length, position, kind })
    handle.known = handle.session.len // all there is, if the note came behind what somebody else had written
  }),
  fc.tuple(pick, pick).map(([which, where]): Step => async (world) => {
    const { session } = chosen(world.handles, which)
    const model = modelOf(world, session.id)
    const at = where % (model.messages.length + 1)
    const id = `fork ${world.models.size}`
    await ok(forkSession(world.store, session.id, { id, at }))
    // The notes that go along are those written before the message at the fork point.
    const tags = model.tags.filter(({ len }) => len <= at)
    world.models.set(id, {
      messages: model.messages.slice(0, at),
      pages: model.pages.slice(0, at),
      tags,
      operations: new Map(),
      heads: [],
    })
    const fork = await ok(openSession(world.store, id))
    world.handles.push({ session: fork, known: fork.len })
  }),
  pick.map((which): Step => async (world) => {
    const handle = chosen(world.handles, which) // dropped without a word: a crash
    const session = await ok(openSession(world.store, handle.session.id))
    world.handles = world.handles.map((known) => (known === handle ? { session, known: session.len } : known))
  }),
  pick.map((which): Step => async (world) => {
    const { session } = chosen(world.handles, which)
    world.handles.push({
      session: await ok(openSession(world.store, session.id)),
      known: modelOf(world, session.id).messages.length,
    })
  }),
  pick.map((which): Step => async (world) => {
    const { session } = chosen(world.handles, which)
    world.promises.push({ view: session.view(), messages: structuredClone(session.view().toArray()) as Message[] })
  }),
  fc
    .tuple(pick, fc.integer({ min: -8, max: 8 }), fc.integer({ min: -8, max: 8 }))
    .map(([which, from, to]): Step => async (world) => {
      const { session } = chosen(world.handles, which)
      expect((await ok(readRange(world.store, session.id, from, to))).view.toArray()).toEqual(
        modelOf(world, session.id).messages.slice(from, to),
      )
    }),
)

const folder = mkdtempSync(join(tmpdir(), 'indelible-laws-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

it.each([
  ['memory', rounds(50, 150), async (): Promise<Store> => memoryStore()],
  ['SQLite', rounds(13, 40), () => ok(sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' }))],
] as const)(
  'sessions match their model, views never change, and heads hold after any operations: in %s',
  async (_name, numRuns, open) => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 25 }), async (done) => {
        const store = await open()
        const session = await ok(createSession(store, { id: 'first' }))
        const world: World = {
          store,
          models: new Map([['first', { messages: [], pages: [], tags: [], operations: new Map(), heads: [] }]]),
          handles: [{ session, known: 0 }],
          promises: [],
        }
        for (const step of done) await step(world)
        for (const [id, model] of world.models) {
          const { head } = await ok(verifySession(store, id))
          for (const older of model.heads) await ok(verifySession(store, id, { head: older }))
          const again = await ok(openSession(store, id))
          expect(again.head()).toEqual(head)
          expect(JSON.stringify(again.view())).toBe(JSON.stringify(model.messages))
          expect(again.view().pages.toArray()).toEqual(model.pages)
          const effective = [...model.pages]
          for (const { position, kind } of model.tags) effective[position] = kind
          expect(again.at().pages).toEqual(effective)
        }
        for (const { session } of world.handles) {
          const { messages } = modelOf(world, session.id)
          expect(session.view().toArray()).toEqual(messages.slice(0, session.len))
          expect(session.view().pages.length).toBe(session.len)
        }
        for (const { view, messages } of world.promises) expect(view.toArray()).toEqual(messages)
        await ok(store.close())
      }),
      { numRuns },
    )
  },
)
