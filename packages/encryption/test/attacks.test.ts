/** What somebody without keys can do who can write to the store, and what is found of it. */
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  assistant,
  createSession,
  faultMessage,
  file,
  forkSession,
  listSessions,
  memoryStore,
  openSession,
  readSession,
  toolCall,
  toolResult,
  user,
  type Message,
  type Store,
} from 'indelible'
import { destroyKey, keyRing, newHostKey, rotateKeys, withKeys } from '@indelible/encryption'
import { copySession, describeSession, eraseMessages, exportSession, findMessages, readRange } from 'indelible/session'
import { searchStore } from 'indelible/search'
import type { Row } from 'indelible/store'
import { encryptedBody, encryptionKey, isEncrypted, ownStore, storeTask } from '../../../src/store/internal.ts'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import { fault, ok } from '../../../test/task-results.ts'
import { changed, restored, stolen, type Stolen, type StolenLog } from './stolen.ts'
import { rounds } from '../../../test/rounds.ts'

const host = newHostKey('one')
const ring = keyRing([host])
const long = 'a long text '.repeat(500)
const messages: readonly Message[] = [
  user('zero'),
  assistant('one', toolCall('call-1', 'look', '{}')),
  toolResult('call-1', long),
  user('three'),
]
const forgery = '{"page":"conversation","message":{"role":"user","content":[{"type":"text","text":"forged"}]}}'
const stub = (role: string): string =>
  `{"page":"conversation","message":{"role":"${role}","content":[{"type":"erased"}]}}`

const messagesOf = async (bare: Store, id: string, key = ring): Promise<readonly Message[]> => [
  ...(await ok(readSession(withKeys(bare, key), id))).view(),
]

/** A store with a session `s`, its fork `f` at 2, and another `o`. */
const family = async (): Promise<Store> => {
  const bare = memoryStore()
  const store = withKeys(bare, ring)
  await ok(createSession(store, { id: 's', messages: messages, metadata: { title: 'ours', clear: { user: 'ada' } } }))
  await ok((await ok(forkSession(store, 's', { id: 'f', at: 2 }))).append([user('fork 2'), user('fork 3')]))
  await ok(createSession(store, { id: 'o', messages: messages.toReversed() }))
  return bare
}

/** Where it is found that a log was changed. */
const damageOf = async (bare: Store, id: string): Promise<number> =>
  (await fault('DamagedLog', openSession(withKeys(bare, ring), id))).position

describe('the stub of an erased row', () => {
  it('cannot be written without keys', async () => {
    for (const text of [forgery, stub('assistant'), stub('user')]) {
      const bare = await family()
      const { head } = await ok(bare.info('s'))
      await ok(bare.erase({ logs: [{ id: 's', expected: head, rows: [{ position: 0, stub: text }] }] }))
      expect(await damageOf(bare, 's')).toBe(0)
    }
    // Nor by what was encrypted for something else: the row itself, or what stands for another one.
    for (const from of [0, 1, 3]) {
      const bare = await family()
      await ok(eraseMessages(withKeys(bare, ring), 's', [1]))
      const { head } = await ok(bare.info('s'))
      const text = (await ok(bare.read('s')))[from]?.body ?? ''
      await ok(bare.erase({ logs: [{ id: 's', expected: head, rows: [{ position: 0, stub: text }] }] }))
      expect(await damageOf(bare, 's')).toBe(0)
    }
  })

  it('contains nothing else, with and without keys', async () => {
    const bare = await family()
    const store = withKeys(bare, ring)
    const { head } = await ok(store.info('s'))
    const more = [
      forgery,
      'anything',
      '{"encrypted":"a.b"}',
      '{"type":"erased","was":"seal"}',
      '{"page":"conversation","message":{"role":"user","content":[{"type":"erased","meta":{"x":"forged"}}]}}',
      '{"page":"conversation","message":{"role":"user","content":[{"type":"erased"}],"meta":{"x":1}}}',
    ]
    for (const text of more)
      await fault(
        'InvalidRow',
        store.erase({ logs: [{ id: 's', expected: head, rows: [{ position: 0, stub: text }] }] }),
      )
    expect(await messagesOf(bare, 's')).toEqual(messages)
    const plain = memoryStore()
    await ok(createSession(plain, { id: 'p', messages: messages }))
    const { head: expected } = await ok(plain.info('p'))
    await ok(plain.erase({ logs: [{ id: 'p', expected, rows: [{ position: 1, stub: forgery }] }] }))
    expect((await fault('DamagedLog', openSession(plain, 'p'))).position).toBe(1)
  })

  it('opens with the keys of every sharing session, whoever erased it', async () => {
    const bare = await family()
    const store = withKeys(bare, ring)
    await ok(eraseMessages(store, 'f', [1, 2]))
    expect(await ok(destroyKey(store, 'f', ring))).toBe(true)
    const [, second] = await messagesOf(bare, 's')
    expect(second?.content).toEqual([{ type: 'erased' }, { type: 'erased', id: 'call-1' }])
    // And who shares nothing of the parent but what was erased goes with it.
    const other = await family()
    await ok(eraseMessages(withKeys(other, ring), 's', [0]))
    await ok(destroyKey(other, 's', ring))
    await fault('NoKey', openSession(withKeys(other, ring), 'f'))
  })

  it('is encrypted on import', async () => {
    const plain = memoryStore()
    await ok(createSession(plain, { id: 'p', messages: messages }))
    await ok(eraseMessages(plain, 'p', [0]))
    const read = readTranscript([...exportLines(await exportSession(plain, 'p'))].join(''))
    if (read._tag === 'Left') throw new Error(read.left._tag)
    const bare = memoryStore()
    await ok(importTranscript(withKeys(bare, ring), read.right, { id: 'i' }))
    for (const { body } of await ok(bare.read('i'))) expect(isEncrypted(body)).toBe(true)
    expect(await messagesOf(bare, 'i')).toEqual([...(await ok(openSession(plain, 'p'))).view()])
  })

  it('names separately stored attachments', async () => {
    const store = withKeys(memoryStore(), ring)
    const [kept] = await ok(store.putBlocks([new TextEncoder().encode('an attachment')]))
    const attached = user(file({ type: 'block', id: kept as never, mediaType: 'text/plain' }))
    await ok(createSession(store, { id: 's', messages: [attached, user('more'), attached] }))
    const { remains } = await ok(eraseMessages(store, 's', [0]))
    expect(remains).toContainEqual(
      expect.objectContaining({ what: 'block', block: kept, rows: [{ id: 's', position: 2, message: 2 }], kept: true }),
    )
    // A text that is still in another row is named once, whether it is a block there or not.
    await ok(createSession(store, { id: 'a', messages: [user(long)] }))
    await ok(createSession(store, { id: 'b', messages: [user(long)] }))
    const block = (await ok(eraseMessages(store, 'a', [0]))).remains.find(({ what }) => what === 'block')
    expect(block).toMatchObject({ rows: [{ id: 'b', position: 0 }] })
  })
})

describe('a changed encrypted row', () => {
  const cases: readonly (readonly [string, string, (log: StolenLog, all: Stolen) => void, number])[] = [
    ['two rows change places', 's', ({ rows }) => rows.splice(1, 2, rows[2] as Row, rows[1] as Row), 1],
    ['a row is repeated', 's', ({ rows }) => rows.push(rows[0] as Row), 4],
    ['a row is left out', 's', ({ rows }) => rows.splice(1, 1), 1],
    ['a row of another session', 's', ({ rows }, all) => rows.splice(0, 1, rowOf(all, 'o', 0)), 0],
    ['a row of the parent behind the fork', 'f', ({ rows }, all) => rows.splice(3, 1, rowOf(all, 's', 3)), 3],
    ['a row of the fork in the parent', 's', ({ rows }, all) => rows.splice(3, 1, rowOf(all, 'f', 3)), 3],
    ['another time', 's', ({ rows }) => rows.splice(1, 1, { ...(rows[1] as Row), at: 5 }), 1],
    ['a salt', 's', ({ rows }) => rows.splice(1, 1, { ...(rows[1] as Row), salt: 'ab'.repeat(16) }), 1],
    ['a note', 's', ({ rows }) => rows.splice(1, 1, { ...(rows[1] as Row), kind: 'note' }), 1],
    ['a plain row', 's', ({ rows }) => rows.push({ kind: 'entry', body: forgery }), 4],
    ['other blocks', 's', ({ rows }) => rows.splice(2, 1, { ...(rows[2] as Row), body: withoutBlocks(rows[2]) }), 2],
    ['another member', 's', ({ rows }) => rows.splice(2, 1, { ...(rows[2] as Row), body: withMember(rows[2]) }), 2],
  ]
  it.each(cases)('is damage at its position: %s', async (_, id, change, position) => {
    const bare = await changed(await family(), id, (log, all) => void change(log, all))
    expect(await damageOf(bare, id)).toBe(position)
    await ok(openSession(withKeys(bare, ring), 'o'))
  })

  it('is not part of a conflict or a retry', async () => {
    const bare = await family()
    const session = await ok(openSession(withKeys(bare, ring), 's'))
    const { head } = await ok(bare.info('s'))
    const [row] = await ok(bare.read('s'))
    await ok(bare.append('s', { expected: head, rows: [{ kind: 'entry', body: row?.body ?? '' }] }))
    await fault('DamagedLog', session.append(user('more')))
  })

  it('does not exist in an unencrypted log', async () => {
    const bare = await changed(await family(), 's', (log) => {
      log.meta = Object.fromEntries(Object.entries(log.meta).filter(([key]) => key !== encryptionKey))
      log.rows.push({ kind: 'entry', body: forgery })
    })
    expect(await damageOf(bare, 's')).toBe(messages.length + 1) // the ring knows that it was encrypted
  })
})

const rowOf = ({ logs }: Stolen, id: string, position: number): Row =>
  logs.find((log) => log.id === id)?.rows[position] as Row
const withoutBlocks = (row: Row | undefined): string => `${row?.body.split('","blocks"')[0] ?? ''}"}`
const withMember = (row: Row | undefined): string => `${row?.body.slice(0, -1) ?? ''},"x":1}`

describe('a session moved into another scope', () => {
  const scopedOf = (store: Store, name: string): Store => {
    const scoped = store.scoped(name)
    if (scoped._tag === 'Left') throw new Error(scoped.left._tag)
    return scoped.right
  }

  it('is not readable there, neither rows nor other data under its keys', async () => {
    const medium = memoryStore()
    await ok(createSession(withKeys(scopedOf(medium, 'a'), ring), { id: 's', messages: messages }))
    const { logs, blocks } = await stolen(scopedOf(medium, 'a'))
    const there = scopedOf(medium, 'b')
    await ok(there.putBlocks(blocks))
    for (const { identities: _, ...log } of logs) await ok(ownStore(there).create({ ...log, encrypt: false }))
    const ids = logs.filter(({ id }) => id.startsWith('indelible.key.'))
    expect(ids.length).toBe(2) // that of the session, and that of the scope
    for (const scope of ['a', 'b', undefined]) {
      for (const { id, meta } of ids) {
        const { version } = await ok(there.info(id))
        const { scope: _, ...rest } = meta
        await ok(
          ownStore(there).update(id, { expected: version, meta: { ...rest, ...(scope !== undefined && { scope }) } }),
        )
      }
      await fault('NoKey', openSession(withKeys(there, ring), 's'))
      await fault('NoKey', createSession(withKeys(there, ring), { id: 'new' }))
    }
    expect(await messagesOf(scopedOf(medium, 'a'), 's')).toEqual(messages)
  })

  it('is readable there if copied with its keys', async () => {
    const medium = memoryStore()
    const [here, there] = [scopedOf(medium, 'a'), scopedOf(medium, 'b')]
    const keyed = withKeys(here, ring)
    await ok(createSession(keyed, { id: 's', messages: messages }))
    await ok((await ok(forkSession(keyed, 's', { id: 'f' }))).append(user('more')))
    const refused = await fault('NoKey', copySession(here, there, 's'))
    expect(faultMessage(refused)).toMatch(
      /wrapped for the scope "a": to copy it into "b", open the source store with its key ring/,
    )
    for (const id of ['s', 'f']) await ok(copySession(keyed, there, id))
    expect(await messagesOf(there, 'f')).toEqual([...messages, user('more')])
    await ok((await ok(openSession(withKeys(there, ring), 's'))).append(user('on')))
    expect(await ok(destroyKey(there, 's', ring))).toBe(true)
    expect(await messagesOf(here, 's')).toEqual(messages)
  })
})

describe('changed metadata of an encrypted session', () => {
  const encryption = (log: StolenLog): { [key: string]: unknown } => log.meta[encryptionKey] as never
  const cases: readonly (readonly [string, (log: StolenLog, all: Stolen) => void])[] = [
    ['clear metadata', ({ meta }) => Object.assign(meta, { clear: { user: 'eve' } })],
    ['metadata of the library', ({ meta }) => Object.assign(meta, { 'indelible.fork': { id: 'x', at: 1 } })],
    ['that of another session', (log, all) => (log.meta = all.logs.find(({ id }) => id === 'o')?.meta ?? {})],
    ['where a key begins', (log) => Object.assign(encryption(log), { from: [1] })],
    ['no place for its key', (log) => Object.assign(encryption(log), { from: undefined })],
    ['no keys', (log) => Object.assign(encryption(log), { keys: [] })],
    ['no text', (log) => Object.assign(encryption(log), { meta: 1 })],
    ['another text', (log) => Object.assign(encryption(log), { meta: 'AAAA' })],
  ]
  it.each(cases)('is detected: %s', async (_, change) => {
    const bare = await changed(await family(), 's', (log, all) => {
      change(log, all)
      log.meta = JSON.parse(JSON.stringify(log.meta))
    })
    const store = withKeys(bare, ring)
    await fault('DamagedLog', openSession(store, 's'))
    await fault('DamagedLog', describeSession(store, 's'))
    await fault('DamagedLog', forkSession(store, 's', { id: 'g' }))
    const page = await ok(store.list({ limit: 1000 }))
    expect([page.logs.some(({ id }) => id === 's'), page.damaged?.map(({ id }) => id)]).toEqual([false, ['s']])
    await ok(openSession(store, 'f'))
  })

  it('ends the appends of a session that was opened before', async () => {
    const bare = await family()
    const store = withKeys(bare, ring)
    const session = await ok(openSession(store, 's'))
    const { meta, version, head } = await ok(bare.info('s'))
    await ok(ownStore(bare).update('s', { expected: version, meta: { ...meta, clear: { user: 'eve' } } }))
    await fault('DamagedLog', describeSession(store, 's'))
    await fault('NoKey', session.append(user('more')))
    expect((await ok(bare.info('s'))).head).toEqual(head)
  })

  it('is not trusted if added in plain', async () => {
    const bare = await changed(await family(), 's', ({ meta }) => Object.assign(meta, { title: 'forged', more: 1 }))
    const store = withKeys(bare, ring)
    const metadata = { title: 'ours', clear: { user: 'ada' } }
    expect((await ok(openSession(store, 's'))).metadata()).toEqual(metadata)
    expect((await ok(listSessions(store))).sessions.find(({ id }) => id === 's')?.metadata).toEqual(metadata)
    for (const read of [bare, withKeys(bare, keyRing([newHostKey('two')]))])
      expect((await ok(describeSession(read, 's'))).metadata).toEqual({ clear: { user: 'ada' } })
  })
})

it('property: recombined stored pieces give a prefix of what was written or a fault', async () => {
  const bare = await family()
  const store = withKeys(bare, ring)
  const session = await ok(openSession(store, 's'))
  await ok(session.update((metadata) => void (metadata['title'] = 'later')))
  await ok(session.append([user('four'), user('five')], { operation: 'turn' }))
  await ok(eraseMessages(store, 's', [1]))
  const ids = ['s', 'f', 'o'] as const
  const before = new Map<string, readonly Message[]>()
  for (const id of ids) before.set(id, await messagesOf(bare, id))
  const titles = ['ours', 'later', undefined]
  const pool = await stolen(bare)
  const rows = pool.logs.filter(({ id }) => ids.includes(id as never)).flatMap((log) => log.rows)
  const metas = pool.logs.map(({ meta }) => meta)
  const letter = fc.nat()
  const step = fc.record({
    do: fc.constantFrom('swap', 'put', 'cut', 'drop', 'flip', 'meta', 'flip meta', 'time', 'key', 'join'),
    log: fc.constantFrom(...ids),
    at: fc.nat(),
    from: letter,
  })
  const flipped = (text: string, at: number): string => {
    const place = at % Math.max(1, text.length)
    return `${text.slice(0, place)}${String.fromCharCode(text.charCodeAt(place) ^ (1 << (at % 7)))}${text.slice(place + 1)}`
  }
  let [opened, refused] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
      const all = structuredClone(pool) as Stolen
      for (const { do: what, log: id, at, from } of steps) {
        const log = all.logs.find((log) => log.id === id) as StolenLog
        const place = at % Math.max(1, log.rows.length)
        const row = log.rows[place]
        const other = rows[from % rows.length] as Row
        if (row === undefined) continue
        if (what === 'swap')
          [log.rows[place], log.rows[from % log.rows.length]] = [log.rows[from % log.rows.length] as Row, row]
        if (what === 'put') log.rows[place] = other
        if (what === 'join') log.rows.push(other)
        if (what === 'cut') log.rows.length = place
        if (what === 'drop') log.rows.splice(place, 1)
        if (what === 'flip') log.rows[place] = { ...row, body: flipped(row.body, from) }
        if (what === 'time') log.rows[place] = { ...row, at: from }
        if (what === 'meta') log.meta = metas[from % metas.length] ?? {}
        if (what === 'flip meta') {
          try {
            log.meta = JSON.parse(flipped(JSON.stringify(log.meta), from))
          } catch {
            continue
          }
        }
        if (what === 'key') {
          const keys = all.logs.filter((log) => log.id.startsWith('indelible.key.'))
          const [stolenLog, two] = [keys[at % keys.length] as StolenLog, keys[from % keys.length] as StolenLog]
          ;[stolenLog.meta, two.meta] = [two.meta, stolenLog.meta]
        }
      }
      const forged = await restored(all).catch(() => undefined) // a store refuses some of it
      if (forged === undefined) return
      for (const id of ids) {
        const read = await readSession(withKeys(forged, ring), id)()
        if (read._tag === 'Left') {
          refused += 1
          expect(['DamagedLog', 'NoKey', 'NotASession', 'NewerSession', 'UnfinishedSession']).toContain(read.left._tag)
          continue
        }
        opened += 1
        const marked = new Set(read.right.damaged.map(({ position }) => position))
        for (const [at, message] of read.right.view().toArray().entries()) {
          if (marked.has(at)) continue
          // A note in place of a message is a damaged note, and the messages behind it have earlier positions.
          if (marked.has(undefined)) expect(before.get(id)).toContainEqual(message)
          else expect(message).toEqual(before.get(id)?.[at])
        }
        if (marked.size > 0) expect((await openSession(withKeys(forged, ring), id)())._tag).toBe('Left')
        expect(titles).toContain(read.right.metadata()['title'])
        expect((await ok(describeSession(withKeys(forged, ring), id))).encrypted).toBe(true)
      }
    }),
    { numRuns: rounds(30, 5000) },
  )
  expect(Math.min(opened, refused)).toBeGreaterThan(0)
})

describe('a log removed and recreated under its id', () => {
  const makes: readonly (readonly [string, (bare: Store, id: string) => Promise<unknown>])[] = [
    ['by other keys', async (bare, id) => ok(createSession(withKeys(bare, ring), { id }))],
    ['without keys', async (bare, id) => ok(createSession(bare, { id }))], // by somebody who has none: the ring knows the id
    ['as a fork', async (bare, id) => ok(forkSession(withKeys(bare, ring), 'p', { id, at: 2 }))],
  ]
  it.each([
    [0, 0],
    [0, 1],
    [1, 0],
    [2, 2],
  ])('gets nothing meant for its predecessor: %s, then %s', async (first, second) => {
    for (const pause of [0, 2000]) {
      const bare = memoryStore()
      await ok(createSession(withKeys(bare, ring), { id: 'p', messages: messages }))
      await makes[first]?.[1](bare, 's')
      const session = await ok(openSession(withKeys(bare, ring, { plain: 'continue' }), 's'))
      await ok(bare.remove('s'))
      await makes[second]?.[1](bare, 's')
      const before = await ok(bare.read('s'))
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + pause })
      for (const answer of await Promise.all([session.append(user('a'))(), session.append(user('b'))()]))
        expect(answer).toMatchObject({ _tag: 'Left' })
      expect(await session.append(user('c'))()).toMatchObject({
        left: { _tag: second === 1 ? 'DamagedLog' : 'Diverged' },
      })
      vi.useRealTimers()
      expect(await ok(bare.read('s'))).toEqual(before)
      if (second === 1) continue
      const again = await ok(openSession(withKeys(bare, ring), 's'))
      await ok(again.append(user('new')))
      expect((await messagesOf(bare, 's')).at(-1)).toEqual(user('new'))
    }
  })

  /** A store in which the log `s` becomes another one just before something is sent to it. */
  const replacing = (bare: Store, call: 'append' | 'update', by: () => Promise<unknown>): Store => {
    let times = 0
    const replaced = async (id: string): Promise<void> => {
      if (id !== 's' || times++ > 0) return
      await ok(bare.remove('s'))
      await by()
    }
    return {
      ...bare,
      append: (id, append) =>
        call === 'append'
          ? storeTask(async () => replaced(id).then(() => bare.append(id, append)()), 'store.append')
          : bare.append(id, append),
      update: (id, update) =>
        call === 'update'
          ? storeTask(async () => replaced(id).then(() => bare.update(id, update)()), 'store.update')
          : bare.update(id, update),
    }
  }
  it.each([
    [0, 0],
    [0, 1],
    [1, 0],
    [2, 2],
  ])('gets nothing even if recreated after the last read: %s, then %s', async (first, second) => {
    for (const call of ['append', 'update'] as const) {
      const bare = memoryStore()
      await ok(createSession(withKeys(bare, ring), { id: 'p', messages: messages }))
      await makes[first]?.[1](bare, 's')
      const store = replacing(bare, call, async () => makes[second]?.[1](bare, 's'))
      const session = await ok(openSession(withKeys(store, ring, { plain: 'continue' }), 's'))
      if (call === 'append') await fault('Diverged', session.append(user('Zanzibar')))
      else
        await fault(
          'NoSuchLog',
          session.update((metadata) => void (metadata['title'] = 'Zanzibar')),
        )
      expect(JSON.stringify([await ok(bare.info('s')), await ok(bare.read('s'))])).not.toContain('Zanzibar')
      if (second !== 1) await ok((await ok(openSession(withKeys(bare, ring), 's'))).append(user('new')))
    }
  })

  it.each([
    [0, 1],
    [1, 0],
  ])('gets nothing even if the store has seen the new one: %s, then %s', async (first, second) => {
    const bare = memoryStore()
    const store = withKeys(bare, ring, { plain: 'continue' })
    await makes[first]?.[1](bare, 's')
    const session = await ok(openSession(store, 's'))
    await ok(bare.remove('s'))
    await makes[second]?.[1](bare, 's')
    expect((await openSession(store, 's')())._tag).toBe(second === 1 ? 'Left' : 'Right')
    for (const change of [
      session.append(user('Zanzibar')),
      session.update((metadata) => void (metadata['title'] = 'Zanzibar')),
    ])
      expect(await change()).toMatchObject({
        left: { _tag: expect.stringMatching(/^(Diverged|NoSuchLog|DamagedLog|NoKey)$/) as string },
      })
    expect(JSON.stringify([await ok(bare.info('s')), await ok(bare.read('s'))])).not.toContain('Zanzibar')
  })

  it('gets nothing when recreated without keys', async () => {
    const bare = memoryStore()
    await makes[1]?.[1](bare, 's')
    const session = await ok(openSession(bare, 's'))
    await ok(bare.remove('s'))
    await makes[0]?.[1](bare, 's')
    await fault('Diverged', session.append(user('Zanzibar')))
    expect(await ok(bare.read('s'))).toEqual([])
  })

  it('gets no row encrypted for another log, also without keys', async () => {
    const bare = await family()
    const store = withKeys(bare, ring, { plain: 'continue' })
    const [row] = await ok(bare.read('o'))
    await ok(createSession(bare, { id: 'plain', messages: messages }))
    for (const id of ['s', 'plain']) {
      const { head } = await ok(store.info(id))
      await fault('Diverged', store.append(id, { expected: head, rows: [{ kind: 'entry', body: row?.body ?? '' }] }))
      expect((await ok(bare.info(id))).head).toEqual(head)
    }
  })
})

it('a text that only looks encrypted is encrypted', async () => {
  const bare = memoryStore()
  const store = withKeys(bare, ring)
  const session = await ok(createSession(store, { id: 's' }))
  const body = encryptedBody({ key: 'a', cipher: 'secret', blocks: [] })
  await ok(store.append('s', { expected: session.head(), rows: [{ kind: 'note', body }] }))
  expect((await ok(bare.read('s')))[0]?.body).not.toContain('secret')
  expect((await ok(store.read('s')))[0]?.body).toBe(body)
})

describe('a destroyed key', () => {
  it('is no longer used from memory by any store of the process, or after the next read elsewhere', async () => {
    for (const elsewhere of [false, true]) {
      const [bare, keysIn] = [memoryStore(), memoryStore()]
      const apart = keyRing([newHostKey('one')], { keysIn })
      const [here, there] = [withKeys(bare, apart), withKeys(bare, apart)]
      const session = await ok(createSession(here, { id: 's', messages: messages, metadata: { title: 'ours' } }))
      const other = await ok(openSession(there, 's'))
      const key = (await ok(keysIn.list())).logs.find(({ id }) => /key\.[0-9a-f]{24}$/.test(id))
      if (elsewhere) await ok(ownStore(keysIn).remove(key?.id ?? '')) // as another process does it
      else await ok(destroyKey(bare, 's', apart))
      for (const store of [here, there]) {
        await fault('NoKey', openSession(store, 's'))
        await fault('NoKey', store.read('s'))
        await fault('NoKey', forkSession(store, 's', { id: 'g' }))
        expect((await ok(describeSession(store, 's'))).metadata).toEqual({})
        expect((await store.containing(['three'])).rows.length).toBe(0)
      }
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 }) // for a second nobody looks before an append
      const reason = elsewhere ? 'is not in the store of the key ring' : 'was destroyed at 20'
      for (const open of [session, other, session, other])
        expect(faultMessage(await fault('NoKey', open.append(user('more'))))).toContain(reason)
      vi.useRealTimers()
      expect((await ok(bare.info('s'))).head.size).toBe(messages.length)
    }
  })

  it('is missing even if nothing was encrypted yet', async () => {
    const bare = memoryStore()
    await ok(createSession(withKeys(bare, ring), { id: 's', metadata: { title: 'ours' } }))
    await fault('NoKey', openSession(withKeys(bare, keyRing([newHostKey('two')])), 's'))
    await ok(destroyKey(bare, 's', ring))
    await fault('NoKey', openSession(withKeys(bare, ring), 's'))
  })

  it('is not reported as destroyed by a key ring that never had it', async () => {
    const bare = await family()
    const elsewhere = keyRing([host], { keysIn: memoryStore() })
    const lacking = await fault('NoKey', destroyKey(bare, 's', elsewhere))
    expect(faultMessage(lacking)).toMatch(
      /not in the store of the key ring: the session was encrypted with another key ring or key file/,
    )
    expect(await messagesOf(bare, 's')).toEqual(messages)
  })

  it('does not return through a copy or a rotation', async () => {
    const bare = memoryStore()
    await ok(createSession(withKeys(bare, ring), { id: 's', messages: messages }))
    const backup = memoryStore()
    await ok(copySession(bare, backup, 's'))
    expect(await ok(destroyKey(bare, 's', ring))).toBe(true)
    expect(await ok(destroyKey(bare, 's', ring))).toBe(false)
    await ok(rotateKeys(bare, keyRing([newHostKey('two'), host])))
    await ok(bare.remove('s'))
    await ok(copySession(backup, bare, 's'))
    const ended = await fault('NoKey', openSession(withKeys(bare, ring), 's'))
    expect(faultMessage(ended)).toMatch(/^"s" is encrypted and can't be read: the key \w+ was destroyed at 20/)
  })

  it("of the parent is reported as the parent's", async () => {
    const bare = await family()
    await ok(destroyKey(bare, 's', ring))
    const ended = await fault('NoKey', openSession(withKeys(bare, ring), 'f'))
    expect(faultMessage(ended)).toMatch(
      /^"f" is encrypted.*first 2 messages with "s", and for those the key \w+ was destroyed at .*; its own messages, from 2 on/,
    )
    expect([...(await ok(readRange(withKeys(bare, ring), 'f', 2))).view]).toEqual([user('fork 2'), user('fork 3')])
    const bareFault = await fault('NoKey', openSession(bare, 'f'))
    expect(faultMessage(bareFault)).toBe(
      '"f" is encrypted and can\'t be read: it was opened without keys: pass the key ring',
    )
  })
})

it('no call silently skips a plain session that an encrypted store refuses', async () => {
  const store = memoryStore()
  const text = 'I am Grace Hopper of Arlington'
  await createSession(store, { id: 'plain', messages: [user(text)] })
  const keyed = withKeys(store, ring)
  await createSession(keyed, { id: 'secret', messages: [user(text)] })
  const found = await searchStore(keyed, 'grace')
  expect([found.hits.map(({ session }) => session), found.encrypted]).toEqual([['secret'], ['plain']])
  expect((await listSessions(keyed)).sessions.map(({ id, encrypted }) => [id, encrypted]).toSorted()).toEqual([
    ['plain', undefined],
    ['secret', true],
  ])
  expect((await eraseMessages(keyed, 'secret', [0])).remains).toEqual([
    { what: 'text', rows: [{ id: 'plain', position: 0, message: 0 }] },
  ])
  await fault('NoKey', findMessages(keyed, 'plain', {}))
})
