/** Call logs on a real store: processes that are killed, and processes that write one log. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { sqliteStore } from 'indelible/store/sqlite'
import { openCallLog, type CallRecord } from '@indelible/records'
import { root } from '../../../scripts/run.ts'
import { ok } from '../../../test/task-results.ts'
import { program } from '../../../test/programs.ts'
import { rounds } from '../../../test/rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-calls-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const kills = rounds(3, 200)

const startCaller = (...words: readonly string[]): ChildProcess =>
  spawn(process.execPath, [program('packages/records/test/caller-process.ts'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
  })

/** What a process says until it ends; `line` is told of each line. */
const exitOf = (child: ChildProcess, line: (text: string) => void): Promise<NodeJS.Signals | null> =>
  new Promise((resolve, reject) => {
    let output = ''
    child.stderr?.on('data', (text: Buffer) => (output += text.toString()))
    createInterface(child.stdout as NonNullable<typeof child.stdout>).on('line', line)
    child.on('close', (code, signal) => (code === 0 || signal !== null ? resolve(signal) : reject(new Error(output))))
  })

const recordsOf = async (path: string): Promise<readonly CallRecord[]> => {
  const store = await ok(sqliteStore({ path }))
  const { log } = await ok(openCallLog({ store, id: 'calls', durable: true }))
  const records = log.view().toArray()
  await ok(store.close())
  return records
}

it('after kill -9, a finished call has its record and an unfinished one is interrupted', async () => {
  const path = join(folder, 'killed.db')
  const began: string[] = []
  const done = new Set<string>()
  for (let round = 0; round < kills; round++) {
    // In the first round a call is going on at the kill, however slow the machine is.
    const child = startCaller('kill', path, `r${round}`, ...(round === 0 ? ['3'] : []))
    const signal = await exitOf(child, (text) => {
      const [what, callId = ''] = text.split(' ')
      if (what === 'began') began.push(callId)
      else done.add(callId)
      if (callId === 'r0-3') child.kill('SIGKILL')
      if (what === 'began' && round > 0 && callId.endsWith('-0'))
        setTimeout(() => child.kill('SIGKILL'), 5 + Math.random() * 60)
    })
    expect(signal).toBe('SIGKILL')
  }
  const records = await recordsOf(path)
  const status = new Map(records.map(({ callId, outcomeSummary }) => [callId, outcomeSummary.status]))
  expect(status.size).toBe(records.length) // each once
  expect([...done].filter((callId) => status.get(callId) !== 'ok')).toEqual([])
  expect(began.filter((callId) => !['ok', 'interrupted'].includes(status.get(callId) ?? 'missing'))).toEqual([])
  expect([...status.values()].filter((each) => each === 'interrupted').length).toBeGreaterThan(0)
  const interrupted = records.find(({ outcomeSummary }) => outcomeSummary.status === 'interrupted')
  expect(interrupted).toMatchObject({
    methodName: 'charge',
    args: [Number(interrupted?.callId.split('-')[1])],
    outcomeSummary: { ok: false, errorType: 'Interrupted', retriable: false },
  })
  // Opening it once more interrupts nothing twice.
  expect((await recordsOf(path)).length).toBe(records.length)
})

it('two processes on one log lose nothing', async () => {
  const path = join(folder, 'shared.db')
  const names = ['a', 'b']
  const ends = names.map(async (name) => {
    const lines: string[] = []
    await exitOf(startCaller('share', path, name, '30'), (text) => lines.push(text))
    return lines.at(-1)
  })
  expect(await Promise.all(ends)).toEqual(['done', 'done'])
  const ids = (await recordsOf(path)).map(({ callId }) => callId)
  expect(ids.toSorted()).toEqual(
    names.flatMap((name) => Array.from({ length: 30 }, (_, call) => `${name}-${call}`)).toSorted(),
  )
  for (const name of names)
    expect(ids.filter((id) => id.startsWith(name))).toEqual(Array.from({ length: 30 }, (_, call) => `${name}-${call}`))
})
