/** Opening a session that may not be there: also where several ask for it at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, memoryStore, openOrCreateSession, openSession, user } from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { storeTask } from '../../src/store/internal.ts'
import { programUrl } from '../programs.ts'
import { fault } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-open-or-create-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('openOrCreateSession', () => {
  const beginning = { metadata: { user: 'ada' }, messages: [user('hello')] }
  it('creates a missing session with the given options', async () => {
    const store = memoryStore()
    const session = await openOrCreateSession(store, 's', beginning)
    expect([session.id, session.metadata(), session.view().toArray()]).toEqual(['s', { user: 'ada' }, [user('hello')]])
  })
  it('opens an existing session unchanged', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', metadata: { user: 'grace' } })
    const session = await openOrCreateSession(store, 's', { ...beginning, messages: [{ role: 'user' } as never] })
    expect([session.metadata(), session.len]).toEqual([{ user: 'grace' }, 0])
  })
  it('accepts keys and redaction rules in either case', async () => {
    const store = memoryStore()
    const key = keyRing([newHostKey('a')])
    const secret = `sk-or-v1-${'0123456789abcdef'.repeat(4)}`
    for (const len of [1, 2]) {
      const session = await openOrCreateSession(withKeys(store, key), 's', { redact: true })
      await session.append(user(`the key is ${secret}`))
      expect([session.len, JSON.stringify(session.view().toArray()).includes(secret)]).toEqual([len, false])
    }
    await fault('NoKey', openSession(store, 's'))
  })
  it('returns every other fault of opening and creating', async () => {
    const store = memoryStore()
    await (await openOrCreateSession(store, 's')).seal()
    await fault('SessionSealed', openOrCreateSession(store, 's'))
    await fault('InvalidMessage', openOrCreateSession(store, 'other', { messages: [{ role: 'user' } as never] }))
    await fault('InvalidId', openOrCreateSession(store, ''))
    expect(() => openOrCreateSession(store, 's', { meta: {} } as never)).toThrow(
      /openOrCreateSession has no option "meta"/,
    )
    expect(() => openOrCreateSession(null as never, 's')).toThrow(TypeError)
  })
  it('creates again if the session is removed meanwhile', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('old'), user('old')] })
    let removals = 0
    const removing: typeof store = {
      ...store,
      info: (id) =>
        storeTask(async () => {
          const there = await store.info(id)()
          if (removals++ === 0) await store.remove(id)
          return there
        }, 'store.info'),
    }
    expect((await openOrCreateSession(removing, 's', beginning)).len).toBe(1)
    expect(removals).toBe(1)
  })
  it('returns one session to concurrent callers', async () => {
    const path = join(folder, 'handles.db')
    const stores = [await sqliteStore({ path }), await sqliteStore({ path })]
    const sessions = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        openOrCreateSession(stores[n % 2] ?? memoryStore(), 's', { metadata: { n }, messages: [user(`${n}`)] }),
      ),
    )
    expect(new Set(sessions.map(({ len }) => len))).toEqual(new Set([1]))
    expect(new Set(sessions.map((session) => JSON.stringify([session.metadata(), session.head()]))).size).toBe(1)
    for (const store of stores) await store.close()
  })
  it('returns one session to concurrent processes', async () => {
    const path = join(folder, 'processes.db')
    await (await sqliteStore({ path })).close()
    const script = `
      import { openOrCreateSession, sqliteStore } from ${JSON.stringify(programUrl('test/library.ts'))}
      const store = await sqliteStore({ path: ${JSON.stringify(path)} })
      process.stdout.write('ready ')
      await new Promise((resolve) => process.stdin.once('data', resolve))
      for (let n = 0; n < 50; n++) {
        const session = await openOrCreateSession(store, \`s\${n}\`, { metadata: { by: process.pid } })
        process.stdout.write(\`\${session.metadata().by} \`)
      }
      process.exit()`
    const processes = [0, 1].map(() => spawn(process.execPath, ['--input-type=module', '--eval', script]))
    const outputs = await Promise.all(
      processes.map(async ({ stdout }) => {
        await once(stdout, 'data')
        return stdout.setEncoding('utf8').toArray.bind(stdout)
      }),
    )
    for (const { stdin } of processes) stdin.write('go')
    const [a, b] = await Promise.all(outputs.map(async (read) => (await read()).join('')))
    expect(a?.split(' ').length).toBe(51)
    expect(b).toBe(a)
  })
})
