/** The history of a session: positions at once, storage meanwhile, and nothing acknowledged before `flush`. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import {
  applyDelta,
  assistant,
  createSession,
  FaultError,
  memoryStore,
  openSession,
  toolCall,
  user,
  verifySession,
  type Message,
  type Session,
  type Store,
} from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { historyHandler, run, scriptedModel } from 'indelible/run'
import { settle } from 'indelible/message'
import { orThrow } from 'indelible'
import { fault, ok } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-session-history-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const texts = (messages: Iterable<Message | object>): readonly string[] =>
  [...messages].map((message) => JSON.stringify(message).match(/"text":"([^"]*)"/)?.[1] ?? '')

/** What an append to a history throws. */
const thrown = (append: () => unknown): unknown => {
  try {
    append()
  } catch (error) {
    return error instanceof FaultError ? error.fault : error
  }
  return undefined
}

it('answers positions at once; its view has what is pending, and the session has it after flush', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a')] })
  const history = session.history()
  expect([history.append(user('b')), history.append(user('c'), 'plan'), history.len]).toEqual([1, 2, 3])
  const view = history.view()
  expect([texts(view), view.pages.toArray(), session.len]).toEqual([
    ['a', 'b', 'c'],
    ['conversation', 'conversation', 'plan'],
    1,
  ])
  const head = await session.flush()
  expect([head, session.len, session.view().pages.at(2)]).toEqual([session.head(), 3, 'plan'])
  expect([texts(history.view()), session.history()]).toEqual([['a', 'b', 'c'], history])
  expect(texts((await openSession(store, 's')).view())).toEqual(['a', 'b', 'c'])
})

it('appends of one turn of the event loop are one append to the store', async () => {
  const inner = memoryStore()
  let appends = 0
  const store: Store = { ...inner, append: (id, append) => ((appends += 1), inner.append(id, append)) }
  const session = await createSession(store)
  for (let at = 0; at < 2500; at++) expect(session.history().append(user(String(at)))).toBe(at)
  await session.flush()
  expect([appends, session.len]).toEqual([3, 2500])
  expect(texts(session.view())).toEqual(Array.from({ length: 2500 }, (_, at) => String(at)))
})

it('keeps the order of its own appends and those of the session, with their positions', async () => {
  const session = await createSession(memoryStore())
  const history = session.history()
  history.append(user('0'))
  const direct = session.append([user('1'), user('2')], { page: 'evidence' })()
  expect([history.append(user('3')), texts(history.view())]).toEqual([3, ['0', '1', '2', '3']])
  const again = session.rewind(3, { instead: user('instead') })()
  expect([history.append(user('5')), texts(history.view())]).toEqual([5, ['0', '1', '2', '3', 'instead', '5']])
  const note = session.note({ type: 'pin', position: history.append(user('6')) })()
  for (const one of [direct, again, note]) expect((await one)._tag).toBe('Right')
  await session.flush()
  expect([texts(session.view()), texts(history.view())]).toEqual([
    ['0', '1', '2', '3', 'instead', '5', '6'],
    ['0', '1', '2', '3', 'instead', '5', '6'],
  ])
  expect(history.view().pages.toArray()).toEqual(session.view().pages.toArray())
})

it('shows what other writers appended, when the session has read it', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const history = session.history()
  await (await openSession(store, 's')).append(user('theirs'))
  expect(history.len).toBe(0)
  await session.refresh()
  expect([texts(history.view()), history.append(user('mine'))]).toEqual([['theirs'], 1])
  await session.flush()
  expect(texts(session.view())).toEqual(['theirs', 'mine'])
})

it('throws the fault after a conflict; flush has it too, and a new handle continues the record', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const history = session.history()
  await (await openSession(store, 's')).append(user('theirs'))
  const before = (history.append(user('lost')), history.view())
  const conflict = await fault('SessionConflict', session.flush())
  expect(thrown(() => history.append(user('more')))).toEqual(conflict)
  expect(() => applyDelta(history, { id: 'd', expectedLen: 1, append: [user('more')] })).toThrow(FaultError)
  await fault('SessionConflict', session.flush())
  expect([texts(history.view()), texts(before), texts(session.view())]).toEqual([['theirs'], ['lost'], ['theirs']])
  const next = session.history()
  expect([next === history, next.append(user('mine'))]).toEqual([false, 1])
  await session.flush()
  expect(texts(session.view())).toEqual(['theirs', 'mine'])
  expect(thrown(() => history.append(user('more')))).toEqual(conflict)
})

it('flush returns the fault of a handle that was replaced before anybody saw the fault, once', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  await (await openSession(store, 's')).append(user('theirs'))
  session.history().append(user('lost'))
  await session.refresh() // waits for the append, and does not report its fault
  session.history().append(user('kept'))
  await fault('SessionConflict', session.flush())
  await session.flush()
  expect(texts(session.view())).toEqual(['theirs', 'kept'])
})

/** A session of one message, to which another handle has appended what this one has not read. */
const behind = async (change: (other: Session) => Promise<{ readonly _tag: string }>): Promise<Session> => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a')] })
  expect((await change(await openSession(store, 's')))._tag).toBe('Right')
  return session
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await undefined
}

it('whenever a handle fails, nothing is stored of what it accepted after the lost message', async () => {
  for (let after = 0; after <= 60; after++) {
    const session = await behind((other) => other.append(user('theirs'))())
    const history = session.history()
    history.append(user('lost'))
    await turns(after)
    const answers: unknown[] = []
    for (let turn = 0; turn < 60; turn++) {
      answers.push(thrown(() => history.append(user('more'))))
      await undefined
    }
    await fault('SessionConflict', session.flush())
    expect([after, texts(session.view()), texts(history.view())]).toEqual([after, ['a', 'theirs'], ['a', 'theirs']])
    expect(answers.at(-1)).toMatchObject({ _tag: 'SessionConflict' })
  }
})

it('whenever an append fails, what the history accepted behind it is not stored', async () => {
  for (let after = 0; after <= 60; after++) {
    const session = await behind((other) => other.append([user('theirs'), user('also')])())
    const history = session.history()
    const failed = session.append(user('lost'))()
    await turns(after)
    const position = history.append(user('mine'))
    await turns(5) // `flush` would queue the message at once
    const flushed = await session.flush()()
    expect((await failed)._tag).toBe('Left')
    const stored = texts(session.view())
    // Either it came before the failure was known, and is lost with a fault; or it is where its append said.
    if (flushed._tag === 'Left') expect([after, stored]).toEqual([after, ['a', 'theirs', 'also']])
    else expect([after, stored.indexOf('mine'), stored[1]]).toEqual([after, position, 'theirs'])
  }
})

it("another writer's notes never make this one's messages conflict with each other", async () => {
  const changes: ((other: Session) => Promise<{ readonly _tag: string }>)[] = [
    (other) => other.note({ type: 'pin', position: 0 })(),
    (other) => other.update((metadata) => void (metadata['title'] = 't'))(),
  ]
  for (const change of changes)
    for (let between = 0; between <= 60; between++) {
      const session = await behind(change)
      const first = session.append(user('m1'))()
      await turns(between)
      const second = await session.append(user('m2'))()
      expect([between, (await first)._tag, second._tag]).toEqual([between, 'Right', 'Right'])
      const linked = await behind(change)
      const positions = [linked.history().append(user('m1'))]
      await turns(between)
      positions.push(linked.history().append(user('m2')))
      expect([between, (await linked.flush()())._tag, positions]).toEqual([between, 'Right', [1, 2]])
      for (const one of [session, linked]) expect(texts(one.view())).toEqual(['a', 'm1', 'm2'])
    }
})

it('what was appended behind a failed append is not stored', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const history = session.history()
  await (await openSession(store, 's')).append([user('theirs'), user('also theirs')])
  const first = session.append(user('fails'))()
  history.append(user('behind')) // position 1: one of theirs has it
  const last = session.append(user('last'), { expectedLen: 2 })()
  await fault('SessionConflict', session.flush())
  expect([(await first)._tag, (await last)._tag]).toEqual(['Left', 'Right'])
  expect(texts((await openSession(store, 's')).view())).toEqual(['theirs', 'also theirs', 'last'])
})

it('a message never gets another position than its append answered', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  await session.append(user('once'), { operation: 'o' })
  const other = await openSession(store, 's')
  const repeated = other.append(user('once'), { operation: 'o', expectedLen: 0 })()
  expect(other.history().append(user('next'))).toBe(2) // as if the operation were new
  await fault('SessionGap', other.flush())
  expect([(await repeated)._tag, other.len, texts(other.history().view())]).toEqual(['Right', 1, ['once']])
})

it('refuses what is no message, and records nothing of it', async () => {
  const session = await createSession(memoryStore())
  const history = session.history()
  for (const wrong of [{ role: 'sytem', content: [] }, { text: 'x' }, new Date(), undefined])
    expect(() => history.append(wrong as never)).toThrow(TypeError)
  expect(() => history.append(user('x'), 'gossip' as never)).toThrow(TypeError)
  const bad = { id: 'd', expectedLen: 0, append: [user('fine'), { role: 'nobody' } as never] }
  expect(applyDelta(history, bad)).toMatchObject({ left: { _tag: 'UnrecordableMessage', position: 1 } })
  expect([history.len, (await session.flush()).size]).toEqual([0, 0])
})

it('redacts before it shows', async () => {
  const session = await createSession(memoryStore(), { redact: { rules: [{ name: 'key', pattern: /sk-\w+/ }] } })
  const history = session.history()
  history.append(user('my key is sk-12345'))
  await session.flush()
  expect(JSON.stringify([history.view(), session.view()])).not.toContain('sk-12345')
})

it('is a history for all functions that take one', async () => {
  const session = await createSession(memoryStore())
  const history = session.history()
  expect(orThrow(applyDelta(history, { id: 'd', expectedLen: 0, append: [user('Hello.')] }))).toBe('applied')
  expect(orThrow(applyDelta(history, { id: 'd', expectedLen: 0, append: [user('Hello.')] }))).toBe('duplicate')
  const view = orThrow(settle(history.view()))
  const model = scriptedModel([assistant('Hi.', toolCall('c', 'look', {})), assistant('Done.')])
  await run({ model, view, handlers: [historyHandler(history)], tools: [] }).result()()
  await session.flush()
  expect(texts(session.view())).toEqual(texts(history.view()))
  expect(session.len).toBeGreaterThan(2)
})

it('a sealed or closed session takes no more', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const history = session.history()
  await session.seal()
  expect(thrown(() => history.append(user('x')))).toMatchObject({ _tag: 'SessionSealed' })
  const other = await createSession(store, { id: 't' })
  const open = other.history()
  open.append(user('before'))
  await other.close()
  expect(thrown(() => open.append(user('x')))).toMatchObject({ _tag: 'SessionClosed' })
  expect((await openSession(store, 't')).len).toBe(1)
})

it('in SQLite, a process that is killed loses at most what no flush had acknowledged', async () => {
  for (let round = 0; round < 2; round++) {
    const path = join(folder, `${round}.db`)
    const child = spawn(
      process.execPath,
      ['--conditions=@indelible/source', join(import.meta.dirname, 'session-history-process.ts'), path],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let acknowledged = 0
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged = Number(line)
      if (acknowledged > 50 + round * 77) child.kill('SIGKILL')
    }
    const store = await sqliteStore({ path })
    await verifySession(store, 's')
    const found = texts((await ok(openSession(store, 's'))).view())
    expect(found.length).toBeGreaterThanOrEqual(acknowledged)
    expect(found).toEqual(Array.from({ length: found.length }, (_, at) => String(at)))
    await store.close()
  }
}, 60_000)
