/** The page's example, as it stands: killed in the middle of an answer, started again, and read on from where a reader was. */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import type { StreamEvent } from '@indelible/workflows/activities'
import { startPostgres } from '../../packages/postgres/test/postgres-server.ts'

const server = await startPostgres()
const started: ChildProcess[] = []
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  await server?.stop()
})

const begin = async (): Promise<{ readonly base: string; readonly child: ChildProcess }> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'chat.mjs')], {
    env: { ...process.env, DATABASE_URL: server?.url ?? '', PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  started.push(child)
  for await (const line of createInterface({ input: child.stdout }))
    if (/^\d+$/.test(line)) return { base: `http://127.0.0.1:${line}`, child }
  throw new Error('the example has not started')
}

interface StreamedEvent {
  readonly id: number
  readonly event: StreamEvent
}

let tries = 0
const read = async (
  base: string,
  id: string,
  after: number,
  until: (told: StreamedEvent) => boolean,
): Promise<readonly StreamedEvent[]> => {
  const response = await fetch(`${base}/${id}/events`, { headers: { 'last-event-id': String(after) } })
  const all: StreamedEvent[] = []
  let text = ''
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream() as never,
  )) {
    text += String(chunk)
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const [, id, data = ''] = /^id: (\d+)\ndata: (.*)$/s.exec(text.slice(0, end)) ?? []
      text = text.slice(end + 2)
      all.push({ id: Number(id), event: JSON.parse(data) as StreamEvent })
      if (until(all.at(-1) as StreamedEvent)) return all
    }
  }
  throw new Error('the events ended')
}

it.skipIf(server === undefined)('the DBOS example survives kill -9', async () => {
  const id = `mine${++tries}`
  const first = await begin()
  await fetch(`${first.base}/${id}/say?text=hello`)
  const before = await read(first.base, id, -1, ({ event }) => event.type === 'model_event' && event.seq > 3)
  const gone = new Promise((resolve) => first.child.once('exit', resolve))
  first.child.kill('SIGKILL')
  await gone
  const second = await begin()
  const after = await read(second.base, id, before.at(-1)?.id ?? -1, ({ event }) => event.type === 'stream_end')
  expect(after.every(({ id }) => id > (before.at(-1)?.id ?? 0))).toBe(true)
  expect(after.at(-1)?.event).toMatchObject({ action: `${id}/1.1`, outcome: 'answered', attempt: 2 })
})
