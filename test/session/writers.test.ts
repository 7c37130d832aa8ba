/** Processes that append to one session at once. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, textOf, verifySession } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { ok } from '../task-results.ts'
import { rounds } from '../rounds.ts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-writers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const each = rounds(30, 500)
const names = ['a', 'b', 'c', 'd'].slice(0, rounds(3, 4))
/** Those that have opened the session. All of them begin then, so all but one meet a conflict. */
const ready = new Set<ChildProcessWithoutNullStreams>()

const write = (path: string, name: string): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [program('test/session/writer-process.ts'), 'rebase', path, 's', name, String(each)],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
      },
    )
    let out = ''
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      out += text.toString()
      if (!ready.has(child) && ready.add(child).size === names.length) for (const writer of ready) writer.stdin.end()
    })
    child.stderr.on('data', (text: Buffer) => (output += text.toString()))
    child.on('close', (code) =>
      code === 0 ? resolve(out.split('\n').filter((line) => line.startsWith('missed '))) : reject(new Error(output)),
    )
  })

it(`${names.length} × ${each} concurrent appends lose and double nothing, and each conflict carries the missed rows`, async () => {
  const path = join(folder, 'shared.db')
  const store = await ok(sqliteStore({ path }))
  await ok(createSession(store, { id: 's' }))
  const missed = await Promise.all(names.map((name) => write(path, name)))
  const session = await ok(openSession(store, 's'))
  const texts = session.view().toArray().map(textOf)
  for (const name of names)
    expect(texts.filter((text) => text.startsWith(`${name}:`))).toEqual(
      Array.from({ length: each }, (_, number) => `${name}:${number}`),
    )
  expect(texts.length).toBe(names.length * each)
  const conflicts = missed.flat()
  for (const line of conflicts) {
    const [, from, ...carried] = line.split(' ')
    expect(carried.length).toBeGreaterThan(0)
    expect(carried).toEqual(texts.slice(Number(from), Number(from) + carried.length))
  }
  expect(conflicts.length).toBeGreaterThan(0)
  await ok(verifySession(store, 's'))
  await ok(store.close())
})
