/** Imports of one id at once, by several processes and in one: what was acknowledged stays. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { copySession, describeSession, eraseMessages, listUnfinished, removeUnfinished } from 'indelible/session'
import { createSession, memoryStore, openSession, user, verifySession, type Store } from 'indelible'
import { postgresStore } from '@indelible/postgres'
import { storeTask } from '../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { rounds } from '../rounds.ts'
import { fault, ok } from '../task-results.ts'
import { startPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { transcriptOf } from './transcripts.ts'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-imports-'))
const server = await startPostgres()
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Place {
  /** For a process. */
  readonly path: string
  readonly store: Store
}

const places: { readonly [name: string]: () => Promise<Place> } = {
  SQLite: async () => {
    const path = join(folder, `${Math.random()}.db`)
    return { path, store: await ok(sqliteStore({ path, durability: 'os' })) }
  },
  ...(server !== undefined && {
    PostgreSQL: async () => {
      const address = new URL(server.url)
      const schema = `imports ${process.pid} ${Math.random()}`
      address.searchParams.set('schema', schema)
      return {
        path: address.href,
        store: await ok(postgresStore({ timeout: 600_000, connectionString: server.url, schema })),
      }
    },
  }),
}

/** Nothing but whole sessions, of these ids. */
const expectOnly = async (store: Store, ids: readonly string[]): Promise<void> => {
  const { logs } = await ok(store.list({ limit: 1000 }))
  expect(logs.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  for (const { id, head } of logs) await ok(verifySession(store, id, { head }))
}

interface Importer {
  readonly run: (id: string) => Promise<string>
  readonly end: () => Promise<void>
  readonly kill: () => Promise<void>
}

/** A process that imports under the ids that it is told. */
const importer = async (path: string, name: string): Promise<Importer> => {
  const child = spawn(process.execPath, [program('test/session/import-process.ts'), path, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async (): Promise<string> => String((await lines.next()).value)
  expect(await line()).toBe('ready')
  return {
    run: (id) => {
      child.stdin.write(`${id}\n`)
      return line()
    },
    end: () => {
      child.stdin.end()
      return ended
    },
    kill: () => {
      child.kill('SIGKILL')
      return ended
    },
  }
}

describe.each(Object.entries(places))('concurrent imports of one id, on %s', (_name, place) => {
  it('from three processes, one failing: an acknowledged import stays, and the others report it', async () => {
    const { path, store } = await place()
    const names = ['ada', 'bob', 'liar']
    const importers = await Promise.all(names.map((name) => importer(path, name)))
    const ids = Array.from({ length: rounds(2, 8) }, (_, number) => `of round ${number}`.replaceAll(' ', '-'))
    for (const id of ids) {
      const answers = await Promise.all(importers.map(({ run }) => run(id)))
      const { head } = await ok(describeSession(store, id))
      expect(answers.filter((answer) => answer.startsWith('ack '))).toEqual([`ack ${id} ${head.root}`])
      for (const answer of answers) expect(answer).toMatch(/^ack |^no \S+ (?:LogExists|OtherHead)$/)
    }
    await Promise.all(importers.map(({ end }) => end()))
    await expectOnly(store, ids)
    await ok(store.close())
  })

  it('after a killed import are not blocked by its leftovers', async () => {
    const { path, store } = await place()
    const first = await importer(path, 'ada')
    const answer = first.run('s')
    while ((await ok(store.list())).logs.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    await first.kill()
    await answer
    const left = await ok(listUnfinished(store))
    const info = await importTranscript(store, transcriptOf('bob'), { id: 's' })()
    if (isLeft(info)) expect(info.left._tag).toBe('LogExists') // it was whole before it died
    expect(await ok(listUnfinished(store))).toEqual(left)
    for (const { id, by } of left) {
      expect([by, id]).toEqual(['import', expect.stringMatching(/^indelible\.import\./)])
      await ok(removeUnfinished(store, id))
    }
    await expectOnly(store, ['s'])
    await ok(store.close())
  })
})

describe('concurrent imports in one process', () => {
  it('of one id: one is stored, and the others report that it exists', async () => {
    for (const names of [
      ['ada', 'ada', 'ada'],
      ['ada', 'bob', 'liar'],
      ['liar', 'liar', 'ada'],
    ]) {
      const store = memoryStore()
      const answers = await Promise.all(names.map((name) => importTranscript(store, transcriptOf(name), { id: 's' })()))
      const stored = answers.flatMap((answer) => (isLeft(answer) ? [] : [answer.right]))
      expect(stored).toEqual([await ok(describeSession(store, 's'))])
      await expectOnly(store, ['s'])
    }
  })

  it('beside an open session, a copy or a removal take nothing from them', async () => {
    const [from, store] = [memoryStore(), memoryStore()]
    await ok(importTranscript(from, transcriptOf('ada'), { id: 's' }))
    for (const pieces of [0, 1, 5]) {
      // Somebody starts a session of that id after so many pieces of the import.
      let seen = 0
      const slow: Store = {
        ...store,
        append: (id, append) =>
          storeTask(async () => {
            if (seen++ === pieces) {
              const session = await ok(createSession(store, { id: `begun ${pieces}` }))
              await ok(session.append(user('first')))
            }
            return store.append(id, append)()
          }, 'store.append'),
      }
      const answer = await importTranscript(slow, transcriptOf('bob'), { id: `begun ${pieces}` })()
      expect(isLeft(answer) ? answer.left._tag : answer.right.len).toBe(pieces < 5 ? 'LogExists' : 1100)
      if (pieces < 5) expect((await ok(openSession(store, `begun ${pieces}`))).len).toBe(1)
    }
    // A copy that is at it is not made an end of, and ends.
    let copied = 0
    const copying: Store = {
      ...store,
      append: (id, append) =>
        storeTask(async () => {
          if (copied++ === 1) await fault('UnfinishedSession', importTranscript(store, transcriptOf('bob'), { id }))
          return store.append(id, append)()
        }, 'store.append'),
    }
    const { head } = await ok(copySession(from, copying, 's'))
    expect(copied).toBe(5)
    await ok(verifySession(store, 's', { head }))
  })

  it('leave nothing under the id after a failure at any step, and another import works', async () => {
    for (const step of ['info', 'create', 'append', 'fork'] as const) {
      const store = memoryStore()
      const broken: Store = {
        ...store,
        [step]: () =>
          storeTask(async () => left({ _tag: 'Io', operation: step, cause: new Error('pulled') }), 'store.call'),
      }
      await fault('Io', importTranscript(broken, transcriptOf('ada'), { id: 's' }))
      await expectOnly(store, [])
      await ok(importTranscript(store, transcriptOf('bob'), { id: 's' }))
    }
    // What it began can't be removed: the session is whole, and its own.
    const store = memoryStore()
    const full: Store = {
      ...store,
      remove: () => storeTask(async () => left({ _tag: 'Full', path: '/' }), 'store.remove'),
    }
    const { head } = await ok(importTranscript(full, transcriptOf('ada'), { id: 's' }))
    await ok(verifySession(store, 's', { head }))
  })
})

it('redaction and erasure reach imported lines of unknown kinds', async () => {
  const secret = `sk-ant-api03-${'Ab1'.repeat(30)}`
  const output = `my key is ${secret}`
  const at = (uuid: string, parentUuid: string | null) => ({ uuid, parentUuid, sessionId: 's', timestamp: 't' })
  const lines = [
    { ...at('a', null), type: 'user', message: { role: 'user', content: output } },
    { type: 'api-request-shape', shape: { messages: [output] } },
    { type: 'api-request-blob', uuid: 'x', message: { role: 'user', content: output } },
    { type: 'prompt_snapshot', text: output },
    { ...at('b', 'a'), type: 'user', message: { role: 'user', content: 'and?' } },
  ]
  const read = readTranscript(lines.map((line) => JSON.stringify(line)).join('\n'))
  if (read._tag === 'Left') throw new Error('it is read')
  expect(read.right.notes).toHaveLength(3)
  const store = memoryStore()
  await importTranscript(store, read.right, { id: 'redacted', redact: {} })
  await importTranscript(store, read.right, { id: 'erased' })
  await eraseMessages(store, 'erased', [0])
  for (const id of ['redacted', 'erased']) expect(JSON.stringify(await store.read(id))).not.toContain(secret)
})
