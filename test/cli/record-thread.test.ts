/** The thread of `indelible record` that stores, when it dies, and when its disk is full: the traffic goes on. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, expect, it } from 'vitest'
import type { ObservedCall } from 'indelible/recorder'
import type { Call } from '../../src/cli/command.ts'
import { terminalOf } from '../../src/cli/output.ts'
import { summaryLines } from '../../src/cli/record.ts'
import { beginRecording, type Recording } from '../../src/cli/recording.ts'
import { leftOutIf } from '../left-out.ts'
import { smallDisk } from '../small-disk.ts'
import { indelible } from './indelible.ts'

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
const begun = async (store: string) => {
  const told: string[] = []
  const nowhere = { write: () => undefined }
  const stderr = { write: (text: string) => told.push(text) }
  const said = { stdin: process.stdin, stdout: nowhere, stderr, env: {}, cwd: '.', onInterrupt: () => () => {} }
  const call: Call = { values: { store }, positionals: [], terminal: terminalOf(said) }
  const threads: Worker[] = []
  const onThread = (one: Worker): void => void threads.push(one)
  process.on('worker', onThread)
  const recording = await beginRecording(call)
  process.off('worker', onThread)
  return { recording, told, thread: threads[0] as Worker }
}

/** A whole call, as the proxy tells it: it throws if the traffic does not go on. */
const goesBy = ({ recorderOf }: Recording, question: string): ObservedCall => {
  const request = { method: 'POST', url: 'http://x/chat/completions', header: () => undefined }
  const call = recorderOf({ headers: {} } as IncomingMessage).observe(request) as ObservedCall
  call.piece(Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: question }] })))
  call.sent()
  call.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
  call.chunk(Buffer.from(answer))
  call.end()
  return call
}

it('the thread dies: calls go on, are counted as not recorded, and the next start records them', async () => {
  const store = join(folder, 's.db')
  const { recording, told, thread } = await begun(store)
  await goesBy(recording, 'before').over
  const died = new Promise((resolve) => thread.on('exit', resolve))
  thread.postMessage({ records: 'no bytes' }) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has none
  await died
  for (let call = 0; call < 3; call++) goesBy(recording, `behind ${call}`)
  goesBy(recording, 'large'.repeat(2 ** 20))
  const summaries = await recording.settled()
  expect(told.join('')).toMatch(
    /the thread that records has ended \(.+\): nothing more is recorded until the next start/,
  )
  expect(summaryLines(summaries).join('\n')).toBe('4 calls not recorded')
  const left = readdirSync(folder).filter((name) => name.includes('-spool-'))
  expect(left).toHaveLength(2) // a file and its lock

  const again = await begun(store)
  const recorded = await again.recording.settled()
  expect(again.told.join('')).toContain('4 calls of a recorder that was killed: recorded')
  expect(recorded.reduce((sum, { lost }) => sum + lost, 0)).toBe(0)
  expect(indelible(['list', '--json', '--store', store]).lines.filter(Boolean)).toHaveLength(5)
  expect(readdirSync(folder).filter((name) => name.includes('-spool-'))).toEqual([])
})

it(
  'the disk is full: calls go on, and each is either recorded or counted as not',
  leftOutIf(disk === undefined, 'nothing can be mounted here'),
  async () => {
    const store = join(disk?.path ?? '', 's.db')
    const { recording, told } = await begun(store)
    const calls = 20
    for (let call = 0; call < calls; call++) await goesBy(recording, `${call} ${'x'.repeat(100_000)}`).over
    const summaries = await recording.settled()
    const [recorded, lost] = (['calls', 'lost'] as const).map((figure) =>
      summaries.reduce((sum, summary) => sum + summary[figure], 0),
    ) as [number, number]
    expect(recorded).toBeGreaterThan(0)
    expect(lost).toBeGreaterThan(0)
    expect(recorded + lost).toBe(calls)
    expect(told.join('')).toMatch(/not recorded: .*(?:full|space)/)
    expect(
      indelible(['list', '--json', '--store', store]).lines.filter((line) => line !== '').length,
    ).toBeGreaterThanOrEqual(recorded)
  },
)
