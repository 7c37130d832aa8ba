/** The writer of a session: what is sent behind what, leases, stores that throw or never answer. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { assistant, createSession, memoryStore, openSession, textOf, user, type Session, type Store } from 'indelible'
import { left } from 'fp-ts/lib/Either.js'
import { storeTask } from '../../src/store/internal.ts'
import { rangeDigest } from '../../src/notes/internal.ts'
import { fault, ok } from '../task-results.ts'
import { createPace, type Pace } from '../../src/session/writing/pace.ts'
import { writerTable, type WriterState } from '../../src/session/writing/writer.ts'

const texts = (session: Session): readonly string[] => session.view().toArray().map(textOf)

it('the writer returns from every state to the sending state', () => {
  const states = Object.keys(writerTable) as WriterState[]
  const reached = (from: WriterState): ReadonlySet<WriterState> => {
    const found = new Set<WriterState>([from])
    for (const state of found) for (const next of Object.values(writerTable[state])) found.add(next)
    return found
  }
  expect(states.filter((state) => !reached(state).has('idle'))).toEqual([])
  expect([...reached('idle')].toSorted()).toEqual(states.toSorted())
})

describe('one mechanism for every append', () => {
  it('sends appends after a retraction without waiting for it', async () => {
    let most = 0
    let going = 0
    const memory = memoryStore()
    const store: Store = {
      ...memory,
      append: (id, append) => {
        const task = memory.append(id, append)
        const call = async (): ReturnType<typeof task> => {
          going += 1
          most = Math.max(most, going)
          await new Promise((resolve) => setTimeout(resolve, 5))
          going -= 1
          return task()
        }
        return call as unknown as typeof task // a task is more than a function, and this one is only called
      },
    }
    const session = await createSession(store, { messages: [user('a'), user('b')] })
    await Promise.all([session.pop()(), session.append(user('c'))(), session.append(user('d'))()])
    expect(most).toBe(3)
    expect(session.conversation().toArray().map(textOf)).toEqual(['a', 'c', 'd'])
  })

  it('answers a repeated operation, also with a length, without making later calls late', async () => {
    const session = await createSession(memoryStore(), { messages: [user('a'), user('b')] })
    const before = session.head()
    const step = { operation: 'o', expectedLen: 2 }
    await session.append(user('c'), step)
    await session.append(user('d'))
    const both = await Promise.all([session.append(user('c'), step)(), session.append(user('e'))()])
    expect(both.map(({ _tag }) => _tag)).toEqual(['Right', 'Right'])
    const exact = { operation: 'p', expectedHead: session.head() }
    await session.append(user('f'), exact)
    const again = await Promise.all([session.append(user('f'), exact)(), session.append(user('g'))()])
    expect(again.map(({ _tag }) => _tag)).toEqual(['Right', 'Right'])
    expect(texts(session)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
    await fault('SessionConflict', session.append(user('x'), { expectedHead: before }))
  })

  it('learns of an operation that another process has since applied', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('a')] })
    const other = await openSession(store, 's')
    const step = { operation: 'o', expectedHead: session.head() }
    await other.append([user('b'), user('c')], step)
    await other.append(user('d'))
    expect(await session.append([user('b'), user('c')], step)).toMatchObject({ from: 1, to: 3 })
    expect(texts(session).slice(0, 3)).toEqual(['a', 'b', 'c'])
    await session.refresh()
    expect(texts(session)).toEqual(['a', 'b', 'c', 'd'])
  })

  it("respects another holder's lease for every kind of append", async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
    const holder = await openSession(store, 's')
    const lease = await holder.lease({ holder: 'worker' })
    const respectLease = true
    const expectedHead = session.head()
    for (const call of [
      () => session.append(user('x'), { respectLease }),
      () => session.append(user('x'), { respectLease, expectedHead }),
      () => session.append({ notes: [{ type: 'pin', position: 0 }] }, { respectLease }),
      () => session.rebase(() => user('x'), { respectLease }),
      () => session.pop({ respectLease }),
      () => session.pop({ respectLease, expectedHead }),
      () => session.rewind(1, { respectLease }),
      () => session.rewind(1, { instead: user('x'), respectLease }),
      () => session.rewind(0, { respectLease }),
      () => session.note({ type: 'pin', position: 0 }, { respectLease }),
      () => session.note({ type: 'pin', position: 0 }, { respectLease, expectedHead }),
    ]) {
      const busy = await fault('SessionBusy', call())
      expect(busy.holder).toBe('worker')
    }
    expect(session.head()).toEqual(expectedHead)
    await lease.release()
    await session.pop({ respectLease })
    expect(texts(session)).toEqual(['a', 'b'])
  })
})

it('an operation that was never appended has the fault of its place, whether it expects too much or too little', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a')] })
  const expectedHead = session.head()
  await session.append(user('b'))
  for (const [options, tag] of [
    [{ expectedLen: 3 }, 'SessionGap'],
    [{ expectedLen: 1 }, 'SessionConflict'],
    [{ expectedLen: 2, expectedConversation: 1 }, 'SessionConflict'],
    [{ expectedHead }, 'SessionConflict'],
  ] as const)
    await fault(tag, session.append(user('c'), { operation: 'o', ...options }))
  expect(texts(await openSession(store, 's'))).toEqual(['a', 'b'])
  await ok(session.append(user('c'), { operation: 'o', expectedLen: 2, expectedConversation: 2 }))
  expect(texts(await openSession(store, 's'))).toEqual(['a', 'b', 'c'])
})

it('an append after a retraction that it does not know has the note of it, and those since', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
  await session.note({ type: 'pin', position: 0 })
  await session.pop()
  await session.note({ type: 'pin', position: 0 })
  const found = await fault('SessionConflict', session.append(user('c'), { expectedLen: 2, expectedConversation: 2 }))
  expect([found.len, found.expectedLen, found.missed.toArray()]).toEqual([2, 2, []])
  expect([...found.notes].map(({ type }) => type)).toEqual(['retraction', 'pin'])
})

it('notes of an append are checked with its messages: what they reach, and the digest of a summary', async () => {
  const session = await createSession(memoryStore(), { id: 's', messages: [user('a')] })
  const summary = { type: 'summary', from: 0, to: 1, text: 'all', sourceDigest: rangeDigest([user('a')]) } as const
  const refused = [
    [{ type: 'pin', position: 2 }, 'the note needs 3 messages, and the session has 2'],
    [{ type: 'retraction', from: 0, to: 3 }, 'the note needs 3 messages, and the session has 2'],
    [{ ...summary, to: 2 }, 'the note needs 2 messages, and the session has 1'],
    [
      { ...summary, sourceDigest: '0'.repeat(64) },
      'the sourceDigest of the summary is not that of the messages from 0 to 1',
    ],
    [{ type: 'seal' }, 'use seal() to seal a session'],
  ] as const
  for (const [note, reason] of refused) {
    const given = { messages: [user('b')], notes: [note] } as never
    expect((await fault('InvalidNote', session.append(given))).reason).toBe(reason)
  }
  expect([session.len, session.notes().length]).toEqual([1, 0])
  await ok(session.append({ messages: [user('b')], notes: [{ type: 'pin', position: 1 }, summary] }))
  await session.pop()
  const [last] = [{ ...summary, from: 1, to: 2 }]
  expect((await fault('InvalidNote', session.append({ messages: [], notes: [last] }))).reason).toBe(
    'the messages from 1 to 2 were all retracted',
  )
  expect([...session.notes()].map(({ type }) => type)).toEqual(['pin', 'summary', 'retraction'])
})

describe('a rebase whose callback appends to the same session', () => {
  it('is a fault, not an endless loop', async () => {
    const session = await createSession(memoryStore(), { messages: [user('a')] })
    let calls = 0
    const found = await fault(
      'CallbackThrew',
      session.rebase(() => {
        calls += 1
        void session.append(user('inside'))()
        return user('given')
      }),
    )
    expect([found.callback, calls]).toEqual(['make', 1])
    expect(String(found.cause)).toContain('return the messages instead')
    await session.refresh()
    expect(texts(session)).toEqual(['a', 'inside'])
  })
})

describe('a writer that rebases without a pause', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  const advanceUntil = async (settled: Promise<unknown>): Promise<void> => {
    const state = { isDone: false }
    void settled.then(() => (state.isDone = true))
    while (!state.isDone) await vi.advanceTimersByTimeAsync(1)
  }

  /** Appends of a millisecond each, until the pace asks for a pause: how long they took, and how long the pause is. */
  const untilPause = async (pace: Pace): Promise<readonly [worked: number, paused: number]> => {
    const began = performance.now()
    for (;;) {
      const called = performance.now()
      const pause = pace.begin()
      if (pause === undefined) {
        await vi.advanceTimersByTimeAsync(1)
        pace.done(called, called)
        continue
      }
      await advanceUntil(pause)
      return [called - began, performance.now() - called]
    }
  }

  it('pauses seldom while it is alone; after it met others, for a time that it fits to its waits', async () => {
    vi.useFakeTimers()
    let rows = 0
    const pace = createPace(
      () => rows,
      undefined,
      () => 0.5,
    )
    expect([await untilPause(pace), await untilPause(pace)]).toEqual([
      [100, 8],
      [100, 8],
    ])
    const meetOthers = (waited: number): void => {
      rows += 1
      pace.done(performance.now() - waited, performance.now() - 1)
    }
    meetOthers(100)
    expect(await untilPause(pace)).toEqual([4, 48]) // half of what the wait was above 4 round trips
    meetOthers(24)
    expect(await untilPause(pace)).toEqual([4, 58])
    meetOthers(2)
    expect(await untilPause(pace)).toEqual([4, 57])
    expect([await untilPause(pace), await untilPause(pace)]).toEqual([
      [4, 28], // it met nobody: half
      [4, 14],
    ])
    await vi.advanceTimersByTimeAsync(15) // a pause of its own takes their place
    expect(pace.begin()).toBeUndefined()
    for (let count = 0; count < 4; count++) await untilPause(pace)
    expect(await untilPause(pace)).toEqual([100, 8])
    meetOthers(9000)
    expect(await untilPause(pace)).toEqual([4, 1000])
  })

  it('retries at once after the first refusal, and after a pause that others can use after the second', async () => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const memory = memoryStore()
    const slow: Store = {
      ...memory,
      append: (id, append) => {
        const late = async (): ReturnType<ReturnType<Store['append']>> => {
          await new Promise((resolve) => setTimeout(resolve, 100))
          return memory.append(id, append)()
        }
        return late as unknown as ReturnType<Store['append']>
      },
    }
    const other = await createSession(memory, { id: 's' })
    const session = await openSession(slow, 's')
    const calls: number[] = []
    const began = performance.now()
    const rebase = async (refusals: number): Promise<void> => {
      const done = session.rebase(() => {
        calls.push(performance.now() - began)
        if (refusals-- > 0) void other.rebase(() => user('other'))()
        return user('own')
      })()
      await advanceUntil(done)
      expect((await done)._tag).toBe('Right')
    }
    await rebase(0)
    await rebase(3)
    expect(calls).toEqual([0, 100, 200, 500, 600])
    expect(texts(session)).toEqual(['own', 'other', 'other', 'other', 'own'])
  })
})

describe('a custom store', () => {
  it('whose update never resolves does not block appends', async () => {
    const memory = memoryStore()
    const never = (() => new Promise(() => {})) as unknown as ReturnType<Store['update']>
    const session = await createSession({ ...memory, update: () => never }, { messages: [user('a')] })
    void session.update((draft) => void (draft['title'] = 'x'))()
    await session.append(user('b'))
    await session.pop()
    await session.refresh()
    expect(texts(session)).toEqual(['a', 'b'])
  })

  it('that reports another history once gets no more appends of this handle', async () => {
    const memory = memoryStore()
    const session = await createSession(memory, { id: 's', messages: [user('a')] })
    let reports = 1
    const diverged = left({ _tag: 'Diverged', id: 's', expected: session.head(), actual: session.head() } as const)
    const append: Store['append'] = (id, append) =>
      storeTask(async () => (reports-- > 0 ? diverged : memory.append(id, append)()), 'store.append') as never
    const other = await openSession({ ...memory, append }, 's')
    for (let call = 0; call < 2; call++) await fault('Diverged', other.append(user('b')))
    expect(texts(await openSession(memory, 's'))).toEqual(['a'])
  })

  it('whose clock throws is a fault that says so, and nothing is appended', async () => {
    const memory = memoryStore()
    let isBroken = true
    const now = (): number => {
      if (isBroken) throw new Error('no time')
      return memory.now()
    }
    await createSession(memory, { id: 's' })
    const session = await openSession({ ...memory, now }, 's')
    const found = await fault('Io', session.append(user('a')))
    expect([found.operation, found.cause]).toEqual(['read the clock', new Error('no time')])
    isBroken = false
    await ok(session.append(user('b')))
    expect(texts(session)).toEqual(['b'])
  })

  it('that has another record under the id is found when a handle is refreshed, however long that record is', async () => {
    for (const others of [['x'], ['x', 'y'], ['x', 'y', 'z']]) {
      let memory = memoryStore()
      const info: Store['info'] = (id) => memory.info(id)
      const nodes: Store['nodes'] = (...given) => memory.nodes(...given)
      const session = await createSession({ ...memory, info, nodes }, { id: 's', messages: [user('a'), user('b')] })
      const expected = session.head()
      memory = memoryStore()
      const other = await createSession(memory, { id: 's', messages: others.map((output) => user(output)) })
      expect(await fault('Diverged', session.refresh())).toEqual({ _tag: 'Diverged', id: 's', expected, actual: other.head() }) // oxfmt-ignore
      expect(texts(session)).toEqual(['a', 'b'])
    }
  })

  it('that does not give its tree to a refresh is that fault, and the next refresh reads on', async () => {
    const memory = memoryStore()
    let isBroken = true
    const nodes: Store['nodes'] = (...given) =>
      isBroken
        ? storeTask(async () => left({ _tag: 'Io', operation: 'nodes', cause: 'gone' } as const), 'store.nodes')
        : memory.nodes(...given)
    const session = await createSession(memory, { id: 's', messages: [user('a')] })
    const other = await openSession({ ...memory, nodes }, 's')
    await session.append(user('b'))
    expect((await fault('Io', other.refresh())).operation).toBe('nodes')
    isBroken = false
    await ok(other.refresh())
    expect(texts(other)).toEqual(['a', 'b'])
  })

  it('that throws fails only that call', async () => {
    const memory = memoryStore()
    let broken: 'append' | 'rejects' | 'info' | undefined
    const throwing = (): never => {
      throw new Error('not of ours')
    }
    const rejecting = (async () => throwing()) as unknown as ReturnType<Store['append']>
    const store: Store = {
      ...memory,
      append: (id, append) =>
        broken === 'append' ? throwing() : broken === 'rejects' ? rejecting : memory.append(id, append),
      info: (id) => (broken === 'info' ? throwing() : memory.info(id)),
    }
    const session = await createSession(store, { id: 's' })
    for (const how of ['append', 'rejects', 'info'] as const) {
      broken = how
      const call = how === 'info' ? session.refresh() : session.append(assistant(how))
      expect((await fault('Io', call)).cause).toEqual(new Error('not of ours'))
      broken = undefined
      await ok(session.append(user(`after ${how}`)))
    }
    expect(texts(session)).toEqual(['after append', 'after rejects', 'after info'])
    await session.close()
  })
})
