/**
 * How long the path of a call is: functions of the library that one warm call enters, and how often, as V8 counts them
 * (precise coverage). Code of Node and of dependencies is not counted.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Session as Inspector } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assistant, createSession, memoryStore, openSession, user } from 'indelible'
import { scriptedModel, turn } from 'indelible/run'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'

const inspector = new Inspector()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const isOurs = (url: string): boolean => url.startsWith('file:') && !/\/bench\/|\/node_modules\//.test(url)

/** A fifth call: the first four load modules and fill caches. */
const measured = async (name: string, call: () => PromiseLike<unknown>): Promise<void> => {
  for (let round = 0; round < 4; round++) await call()
  await inspector.post('Profiler.takePreciseCoverage')
  await call()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const counts = result
    .filter(({ url }) => isOurs(url))
    .flatMap(({ url, functions }) =>
      functions.map(({ functionName, ranges }) => ({ url, functionName, count: ranges[0]?.count ?? 0 })),
    )
    .filter(({ count }) => count > 0)
  const calls = counts.reduce((sum, { count }) => sum + count, 0)
  console.log(`| ${name} | ${counts.length} | ${calls} |`)
  if (process.argv.includes('--list'))
    for (const { url, functionName, count } of counts.toSorted((a, b) => b.count - a.count))
      console.log(`    ${count} ${functionName || '(anonymous)'} ${url.replace(/.*\/(src|dist)\//, '')}`)
}

const paths = async (of: string, store: Store): Promise<void> => {
  const session = await createSession(store, {
    id: 's',
    messages: [user('a'), assistant('b'), user('c'), assistant('d')],
  })
  await measured(`append, ${of}`, () => session.append(user('Is it raining?')))
  await createSession(store, { id: 'o', messages: [user('a'), assistant('b'), user('c'), assistant('d')] })
  await measured(`openSession of 4 messages, ${of}`, () => openSession(store, 'o'))
  const spoken = await createSession(store, { id: 't' })
  const model = scriptedModel(Array.from({ length: 5 }, () => assistant('Yes.')))
  await measured(`turn with one answer, ${of}`, () => turn(spoken, 'Is it raining?', { model }).result())
}

console.log('| call | functions | calls |\n|---|--:|--:|')
await paths('memory', memoryStore())
const folder = mkdtempSync(join(tmpdir(), 'indelible-paths-'))
const store = await sqliteStore({ path: join(folder, 's.db'), durability: 'os' })
await paths('SQLite', store)
await store.close()
rmSync(folder, { recursive: true })
