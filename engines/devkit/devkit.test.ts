/** A chat step on Workflow DevKit's local world: its sandbox, a restart after kill -9, a retry, and a failure for good. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { eventsInStore, historyActivities } from '@indelible/workflows/activities'
import { assistant, textOf, user } from 'indelible/message'
import { hydrate, parseHistoryJson } from '@indelible/workflows/refs'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlServer, type Control } from '../../packages/workflows/test/engines/control.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'indelible-devkit-'))
const path = join(folder, 'content.db')
const data = join(folder, 'data')
let control: Control
const started: ChildProcess[] = []

beforeAll(async () => {
  const built = spawnSync(
    process.execPath,
    [join(here, '../node_modules/workflow/bin/run.js'), 'build', '-t', 'standalone'],
    { cwd: here, encoding: 'utf8' },
  )
  if (built.status !== 0) throw new Error(`${built.stdout}${built.stderr}`)
  writeFileSync(join(here, '.well-known/package.json'), '{"type":"commonjs"}\n')
  control = await controlServer()
})
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  await control?.close()
  rmSync(folder, { recursive: true, force: true })
})

const serve = (from: unknown, model: object, runId?: string) => {
  const child = spawn(process.execPath, [join(here, 'server.ts'), ...(runId === undefined ? [] : [runId])], {
    env: {
      ...process.env,
      STORE: path,
      CONTROL: control.url,
      WORKFLOW_LOCAL_DATA_DIR: data,
      FROM: JSON.stringify(from),
      MODEL: JSON.stringify(model),
    },
    stdio: ['ignore', 'pipe', process.env['INDELIBLE_LOUD'] === undefined ? 'ignore' : 'inherit'],
  })
  started.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const gone = new Promise((resolve) => child.once('exit', resolve))
  /** The next line that is ours: the runtime logs to the same place. */
  const line = async (ours: RegExp): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the server ended before it said anything')
      if (ours.test(value)) return value
    }
  }
  return {
    runId: () => line(/^wrun_/),
    end: async () =>
      JSON.parse(await line(/^\{"(?:history|failed)"/)) as { readonly history?: unknown; readonly failed?: object },
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}

const storeMessage = async (text: string) => {
  const store = await sqliteStore({ path })
  const { ref } = await historyActivities({ store, registry: {} }).appendMessage({ action: text, message: user(text) })
  await store.close()
  return ref
}

it('a DevKit workflow runs in its sandbox, survives kill -9 in a stream, and retries a 503', async () => {
  const ref = await storeMessage('SECRET question')
  control.say({ status: 503 }, { line: assistant('SECRET one two three'), hold: true })
  const first = serve(ref, { name: 'gpt-x' })
  const runId = await first.runId()
  await control.held('model')
  await first.kill()
  control.say({ line: assistant('SECRET one two three') }, { line: assistant('SECRET four') })
  const second = serve(ref, { name: 'gpt-x' }, runId)
  const { history } = await second.end()
  const parsed = parseHistoryJson(history)
  if (parsed._tag === 'Left' || parsed.right.kind !== 'refs') throw new Error(`no refs: ${JSON.stringify(history)}`)
  const store = await sqliteStore({ path })
  const view = (await hydrate(store, parsed.right.history)).view()
  expect(view.toArray().map(textOf)).toEqual(['SECRET question', 'SECRET one two three', 'SECRET four'])
  const ends: string[] = []
  for await (const { event } of eventsInStore(store).read(runId)) {
    if (event.type === 'stream_end') ends.push(`${event.action} ${event.outcome}`)
    if (ends.length === 2) break
  }
  await store.close()
  expect(ends).toEqual([`${runId}/1 answered`, `${runId}/2 answered`])
  expect(filesIn(data)).not.toContain('SECRET')
})

it('a DevKit workflow ends with the cause of a permanent failure after one attempt', async () => {
  const before = control.asked.length
  control.say({ status: 401 })
  const server = serve(await storeMessage('another question'), { name: 'gpt-x' })
  await server.runId()
  expect(JSON.stringify(await server.end())).toContain('ModelFailed: remote failed with HTTP 401')
  expect(control.asked.length - before).toBe(1)
})

const filesIn = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
