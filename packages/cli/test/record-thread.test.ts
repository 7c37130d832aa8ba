/** The thread of `indelible record` that stores, when it dies, and when its disk is full: the traffic goes on. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import type { ObservedCall } from '@indelible/recorder'
import { startProxy } from '@indelible/recorder/proxy'
import type { Call } from '../src/terminal/command.ts'
import { terminalOf } from '../src/terminal/output.ts'
import { summaryLines } from '../src/record/record.ts'
import { programUrl } from '../../../test/programs.ts'
import { rounds } from '../../../test/rounds.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { smallDisk } from '../../../test/small-disk.ts'
import { indelible } from './indelible.ts'
import type * as threads from './threads.ts'
import type { Recording } from './threads.ts'

const { beginRecording } = (await import(programUrl('packages/cli/test/threads.ts'))) as typeof threads

const folder = mkdtempSync(join(tmpdir(), 'indelible-record-thread-'))
const disk = smallDisk('3m')
afterAll(() => {
  disk?.remove()
  rmSync(folder, { recursive: true, force: true })
})

const answer = JSON.stringify({
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'heard' } }],
})

/** A recorder, its thread, and what it tells. */
const startRecorder = async (store: string) => {
  const output: string[] = []
  const nowhere = { write: () => undefined }
  const stderr = { write: (text: string) => output.push(text) }
  const said = { stdin: process.stdin, stdout: nowhere, stderr, env: {}, cwd: '.', onInterrupt: () => () => {} }
  const call: Call = { values: { store }, positionals: [], terminal: terminalOf(said) }
  const threads: Worker[] = []
  const onThread = (worker: Worker): void => void threads.push(worker)
  process.on('worker', onThread)
  const recording = await beginRecording(call)
  process.off('worker', onThread)
  return { recording, told: output, thread: threads[0] as Worker }
}

/** A whole call, as the proxy tells it: it throws if the traffic does not go on. */
const goesBy = ({ recorderOf }: Recording, question: string, before: readonly object[] = []): ObservedCall => {
  const request = { method: 'POST', url: 'http://x/chat/completions', header: () => undefined }
  const call = recorderOf({ headers: {} } as IncomingMessage).observe(request) as ObservedCall
  call.piece(Buffer.from(JSON.stringify({ model: 'm', messages: [...before, { role: 'user', content: question }] })))
  call.sent()
  call.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
  call.chunk(Buffer.from(answer))
  call.end()
  return call
}

it('clients are served while the recording thread is blocked: 350,000 messages in 26 kB each', async () => {
  const path = join(folder, 'busy.db')
  const { recording } = await startRecorder(path)
  const provider = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => outgoing.writeHead(200, { 'content-type': 'application/json' }).end(answer))
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  const upstreams = [{ name: 'openai', url: `http://127.0.0.1:${port}` }]
  const proxy = await startProxy({ host: '127.0.0.1', port: 0, token: '', upstreams, recorderOf: recording.recorderOf })
  const postBody = async (body: string | Uint8Array<ArrayBuffer>, encoding: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    const { status, text } = await fetch(`${proxy.urlOf('openai')}/chat/completions`, {
      method: 'POST',
      headers,
      body,
    }).then(async (response) => ({ status: response.status, text: await response.text() }))
    expect(text).toBe(answer)
    return status
  }
  const text = `{"messages":[${Array.from({ length: 350_000 }, () => '{"role":"user","content":"a"}').join(',')}]}`
  const bomb = new Uint8Array(gzipSync(text))
  const question = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'served' }] })
  const bombs = rounds(2, 5)
  const lock = new DatabaseSync(path)
  lock.exec('begin immediate')
  const all = [
    postBody(question, 'identity'),
    ...Array.from({ length: bombs }, () => postBody(bomb, 'gzip')),
    postBody(question, 'identity'),
  ]
  expect(await Promise.all(all)).toEqual(all.map(() => 200)) // the lock is held: nothing of it is stored
  lock.exec('rollback')
  lock.close()
  await proxy.close()
  const summaries = await recording.settled()
  const sum = (figure: 'calls' | 'lost'): number => summaries.reduce((total, summary) => total + summary[figure], 0)
  expect(sum('calls') + sum('lost')).toBe(bombs + 2)
  expect(sum('lost')).toBeGreaterThanOrEqual(bombs)
  await new Promise((resolve) => provider.close(resolve))
})

it('a call that ended just before the recorder is recorded', async () => {
  const { recording } = await startRecorder(join(folder, 'last.db'))
  void goesBy(recording, 'the last word')
  const summaries = await recording.settled()
  expect(summaries.map(({ calls, lost }) => [calls, lost])).toEqual([
    [1, 0],
    [0, 0],
  ])
})

it('when the recording thread dies, calls continue, are counted as unrecorded, and recorded at the next start', async () => {
  const store = join(folder, 's.db')
  const { recording, told: output, thread } = await startRecorder(store)
  for (const question of ['before', 'and again']) await goesBy(recording, question).over
  const died = new Promise((resolve) => thread.on('exit', resolve))
  thread.postMessage({ records: 'no bytes' }) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has none
  await died
  for (let call = 0; call < 3; call++) goesBy(recording, `behind ${call}`)
  goesBy(recording, 'large'.repeat(2 ** 20))
  const summaries = await recording.settled()
  expect(output.join('')).toMatch(
    /the thread that records has ended \(.+\): nothing is recorded any more until the next start/,
  )
  const none = { sessions: [], moreSessions: 0, calls: 0, failed: 0, silent: 0, passed: 0, breaks: [], moreBreaks: 0 }
  const free = {
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    models: new Map(),
    causes: new Map(),
    dollars: 0,
    unpriced: 0,
  }
  expect(summaries).toEqual([{ ...none, ...free, lost: 4, unanswered: 0 }])
  expect(summaryLines(summaries).join('\n')).toBe('4 calls not recorded')
  const left = readdirSync(folder).filter((name) => name.includes('-spool-'))
  expect(left).toHaveLength(2) // a file and its lock

  const again = await startRecorder(store)
  // It comes at once, and continues a call that is still in the spool.
  goesBy(again.recording, 'and on', [
    { role: 'user', content: 'behind 0' },
    { role: 'assistant', content: 'heard' },
  ])
  const recorded = await again.recording.settled()
  expect(again.told.join('')).toContain('4 calls of a recorder that was killed: recorded')
  expect(recorded.reduce((sum, { lost }) => sum + lost, 0)).toBe(0)
  expect(indelible(['list', '--json', '--store', store]).lines.filter(Boolean)).toHaveLength(6)
  expect(readdirSync(folder).filter((name) => name.includes('-spool-'))).toEqual([])
})

it(
  'on a full disk, calls continue and each is recorded or counted as not',
  leftOutIf(disk === undefined, 'nothing can be mounted here'),
  async () => {
    const store = join(disk?.path ?? '', 's.db')
    const { recording, told: output } = await startRecorder(store)
    const calls = 20
    for (let call = 0; call < calls; call++) await goesBy(recording, `${call} ${'x'.repeat(100_000)}`).over
    const summaries = await recording.settled()
    const [recorded, lost] = (['calls', 'lost'] as const).map((figure) =>
      summaries.reduce((sum, summary) => sum + summary[figure], 0),
    ) as [number, number]
    expect(recorded).toBeGreaterThan(0)
    expect(lost).toBeGreaterThan(0)
    expect(recorded + lost).toBe(calls)
    expect(output.join('')).toMatch(/not recorded: .*(?:full|space)/)
    expect(
      indelible(['list', '--json', '--store', store]).lines.filter((line) => line !== '').length,
    ).toBeGreaterThanOrEqual(recorded)
  },
)
