/**
 * How long the path of a call is: files and functions of the library that one warm call enters, and how often, as V8 counts
 * them (precise coverage). Code of Node and of dependencies is not counted.
 *
 *     node --conditions=@indelible/source paths.ts [--list]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Session as Inspector } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assistant, createHistory, createSession, memoryStore, openSession, orThrow, toolCall, user } from 'indelible'
import { deriveContext, type DerivedContext } from 'indelible/context'
import { scriptedModel, tool, turn } from 'indelible/run'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { z } from 'zod'
import { session } from './messages.ts'

const inspector = new Inspector()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const isOurs = (url: string): boolean => url.startsWith('file:') && !/\/bench\/|\/node_modules\//.test(url)

/** A fifth call: the first four load modules and fill caches. `prepare` comes before each and is not counted. */
const measured = async <A>(
  name: string,
  call: (made: A) => unknown,
  prepare = (): A => undefined as A,
): Promise<void> => {
  for (let round = 0; round < 4; round++) await call(prepare())
  const made = prepare()
  await inspector.post('Profiler.takePreciseCoverage')
  await call(made)
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const counts = result
    .filter(({ url }) => isOurs(url))
    .flatMap(({ url, functions }) =>
      functions.map(({ functionName, ranges }) => ({ url, functionName, count: ranges[0]?.count ?? 0 })),
    )
    .filter(({ count }) => count > 0)
  const calls = counts.reduce((sum, { count }) => sum + count, 0)
  const files = new Set(counts.map(({ url }) => url)).size
  console.log(`| ${name} | ${files} | ${counts.length} | ${calls} |`)
  if (process.argv.includes('--list'))
    for (const { url, functionName, count } of counts.toSorted((a, b) => b.count - a.count))
      console.log(`    ${count} ${functionName || '(anonymous)'} ${url.replace(/.*\/(src|dist)\//, '')}`)
}

const schema = z.object({})

const paths = async (of: string, store: Store): Promise<void> => {
  const session = await createSession(store, {
    id: 's',
    messages: [user('a'), assistant('b'), user('c'), assistant('d')],
  })
  await measured(
    `append, ${of}`,
    (message) => session.append(message),
    () => user('Is it raining?'),
  )
  await createSession(store, { id: 'o', messages: [user('a'), assistant('b'), user('c'), assistant('d')] })
  await measured(`openSession of 4 messages, ${of}`, () => openSession(store, 'o'))
  const spoken = await createSession(store, { id: 't' })
  const model = scriptedModel(Array.from({ length: 5 }, () => assistant('Yes.')))
  await measured(`turn with one answer, ${of}`, () => turn(spoken, 'Is it raining?', { model }).result())
  const asked = await createSession(store, { id: 'c' })
  const calls = Array.from({ length: 5 }, (_, at) => [assistant(toolCall(`c${at}`, 'look', {})), assistant('Yes.')])
  const looking = {
    model: scriptedModel(calls.flat()),
    tools: [tool({ name: 'look', description: 'Look.', schema, run: () => 'rain' })],
  }
  await measured(`turn with one tool call, ${of}`, () => turn(asked, 'Is it raining?', looking).result())
}

/** A context of 240 messages: whole, and at a call that compacts it. Slicing the view is the caller's, and not counted. */
const contexts = async (): Promise<void> => {
  const history = createHistory({ from: session })
  const anew = createHistory({ from: session.slice(0, 240) })
  await measured(
    'deriveContext of 240 messages that fit',
    (view) => deriveContext(view, { budget: 200_000 }),
    () => anew.view(),
  )
  const budget = 24_000
  const at = (length: number): DerivedContext => orThrow(deriveContext(history.view().slice(0, length), { budget }))
  let length = 240
  while (at(length).epoch === at(length + 1).epoch) length += 1
  await measured(
    `deriveContext with one compaction of ${length + 1} messages`,
    ({ view, previous }) => deriveContext(view, { budget, previous }),
    () => ({ view: history.view().slice(0, length + 1), previous: at(length) }),
  )
}

console.log('| call | files | functions | calls |\n|---|--:|--:|--:|')
await paths('memory', memoryStore())
const folder = mkdtempSync(join(tmpdir(), 'indelible-paths-'))
const store = await sqliteStore({ path: join(folder, 's.db'), durability: 'os' })
await paths('SQLite', store)
await store.close()
await contexts()
rmSync(folder, { recursive: true })
