/** The chat on DBOS and PostgreSQL, with workers that are killed in the middle. */
import { DBOSClient } from '@dbos-inc/dbos-sdk'
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assistant, textOf, toolCall, user } from 'indelible'
import { eventsInStore, historyActivities, type ChatEnd, type ChatSignal } from '@indelible/workflows/activities'
import { hydrate, parseHistoryJson } from '@indelible/workflows/refs'
import { postgresStore } from '@indelible/postgres'
import type { Store } from 'indelible/store'
import { ok } from '../../../../test/task-results.ts'
import { startPostgres, noPostgres } from '../../../postgres/test/postgres-server.ts'
import { controlServer, type Control } from './control.ts'
import { leftOutIf } from '../../../../test/skipped-tests.ts'
import { program } from '../../../../test/programs.ts'

const server = await startPostgres()

describe('a chat on DBOS', leftOutIf(server === undefined, noPostgres), () => {
  const { url = '' } = server ?? {}
  let control: Control
  let store: Store
  let client: DBOSClient
  const workers: ChildProcess[] = []
  let tries = 0
  beforeAll(async () => {
    control = await controlServer()
    store = await postgresStore({ timeout: 600_000, connectionString: url, schema: 'content' })
  })
  afterAll(async () => {
    for (const worker of workers) worker.kill('SIGKILL')
    await client?.destroy()
    await store?.close()
    await control?.close()
    await server?.stop()
  })

  interface Worker {
    readonly kill: () => Promise<void>
    /** What the workflow came to. */
    readonly end: () => Promise<unknown>
  }
  const startWorker = async (workflowId: string): Promise<Worker> => {
    const child = spawn(
      process.execPath,
      [program('packages/workflows/test/engines/dbos-worker.ts'), url, control.url, workflowId],
      {
        stdio: ['ignore', 'pipe', process.env['INDELIBLE_LOUD'] === undefined ? 'ignore' : 'inherit'],
      },
    )
    workers.push(child)
    const lines = linesOf(createInterface({ input: child.stdout }))
    expect(await lines()).toBe('ready')
    const gone = new Promise((resolve) => child.once('exit', resolve))
    return {
      kill: async () => {
        child.kill('SIGKILL')
        await gone
      },
      end: async () => {
        const said = JSON.parse(await lines()) as unknown
        await gone
        return said
      },
    }
  }
  const tell = async (workflowId: string, signal: ChatSignal): Promise<void> => {
    client ??= await DBOSClient.create({ systemDatabaseUrl: url })
    await client.send(workflowId, signal, 'chat')
  }
  const say = async (workflowId: string, text: string): Promise<void> => {
    const host = historyActivities({ store, registry: {} })
    const { ref } = await host.appendMessage({ action: `${workflowId} ${text}`, message: user(text) })
    await tell(workflowId, { type: 'message', ref })
  }

  it('survives kill -9 in a stream and in a tool, retries a 503, and leaves no content with the engine', async () => {
    const id = `killed-${++tries}` // a test that is tried again needs a workflow of its own
    const before = control.asked.length
    const first = await startWorker(id)
    const calling = assistant('SECRET one two', toolCall('c1', 'lookup', { path: 'SECRET' }))
    control.say({ status: 503 }, { status: 429, headers: { 'retry-after': '1' } }, { line: calling, hold: true })
    await say(id, 'SECRET question')
    const stream = await control.held('model')
    await say(id, 'SECRET meanwhile')
    await first.kill()
    stream.release()
    const [, overloaded = 0, again = 0] = control.asked.slice(before)
    expect(again - overloaded).toBeGreaterThanOrEqual(1000)

    control.say({ line: calling })
    const second = await startWorker(id)
    await control.held('tool')
    await second.kill()

    const third = await startWorker(id)
    const tool = await control.held('tool')
    control.say({ line: assistant('SECRET done') })
    tool.release('SECRET found')
    await tell(id, { type: 'end' })
    const end = (await third.end()) as ChatEnd
    const parsed = parseHistoryJson(end.state.history)
    if (parsed._tag === 'Left' || parsed.right.kind !== 'refs') throw new Error('no refs')
    const view = (await ok(hydrate(store, parsed.right.history))).view()
    expect(view.toArray().map((message) => `${message.role}: ${textOf(message)}`)).toEqual([
      'user: SECRET question',
      'assistant: SECRET one two',
      'tool: SECRET found',
      'user: SECRET meanwhile',
      'assistant: SECRET done',
    ])
    const ends: string[] = []
    for await (const { event } of eventsInStore(store).read(id)) {
      if (event.type === 'stream_end') ends.push(`${event.action} ${event.outcome}`)
      if (ends.length === 2) break
    }
    expect(ends).toEqual([`${id}/1.1 answered`, `${id}/1.2 answered`])
    const engine = await tablesOf(url, 'dbos')
    expect(engine).toContain(id)
    expect(engine).toContain('blockIds')
    expect(engine).not.toContain('SECRET')
    expect(await tablesOf(url, 'content')).toContain('SECRET')
  })

  it('gives the workflow the cause of a permanent failure, after one attempt', async () => {
    const id = `refused-${++tries}`
    const before = control.asked.length
    const worker = await startWorker(id)
    control.say({ status: 401 })
    await say(id, 'question')
    expect(await worker.end()).toEqual({
      failed: {
        name: 'PermanentFailure',
        message: 'ModelFailed: remote failed with HTTP 401',
        tag: 'ModelFailed',
        status: 401,
      },
    })
    expect(control.asked.length - before).toBe(1)
  })
})

/** One line after the other, however they come. */
const linesOf = (source: Interface): (() => Promise<string>) => {
  const lines = source[Symbol.asyncIterator]()
  return async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the worker ended before it said anything')
    return value
  }
}

/** Everything in the tables of a schema, as text; bytes as they are. */
const tablesOf = async (url: string, schema: string): Promise<string> => {
  const pg = new Client({ connectionString: url })
  await pg.connect()
  const tables = await pg.query<{ name: string }>(
    'select table_name as name from information_schema.tables where table_schema = $1',
    [schema],
  )
  const all: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await pg.query(`select * from "${schema}"."${name}"`)
    for (const row of rows as readonly object[])
      for (const value of Object.values(row))
        all.push(value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : (JSON.stringify(value) ?? ''))
  }
  await pg.end()
  return all.join('\n')
}
