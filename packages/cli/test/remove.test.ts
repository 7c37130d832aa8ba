/** `indelible remove`, as a person runs it, also in a real terminal. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from '@lydell/node-pty'
import { ownStore } from '../../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { ok } from '../../../test/task-results.ts'
import { runCommand } from './command-run.ts'
import { indelible, main } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-remove-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let stores = 0
/** A store with the sessions a, b, and c, a fork of a. */
const filled = (): readonly string[] => {
  const store = ['--store', join(folder, `${stores++}.db`)]
  for (const id of ['a', 'b']) indelible(['import', join(root, 'examples/coding-agent.json'), '--id', id, ...store])
  indelible(['fork', 'a', '--at', '3', '--id', 'c', ...store])
  return store
}
const idsIn = (store: readonly string[]): readonly string[] =>
  indelible(['list', '--json', ...store])
    .lines.flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { readonly id: string }).id]))
    .toSorted()

describe('indelible remove', () => {
  it('removes sessions and reports what forks keep', () => {
    const store = filled()
    expect(indelible(['remove', 'a', 'b', 'a', '--yes', ...store])).toMatchObject({
      status: 0,
      stdout: 'a: removed, 19 messages\n  c keeps the 3 messages that it shares\nb: removed, 19 messages\n',
    })
    expect(idsIn(store)).toEqual(['c'])
    expect(indelible(['verify', 'c', ...store]).stdout).toMatch(/^c: good, 3 messages/)
  })
  it('does not mention forks removed by the same call', () => {
    const store = filled()
    expect(indelible(['remove', 'a', 'c', '--yes', ...store]).stdout).toBe(
      'a: removed, 19 messages\nc: removed, 3 messages\n',
    )
  })
  it('removes only the leftovers of a killed import', async () => {
    const store = filled()
    const opened = await ok(sqliteStore({ path: String(store[1]) }))
    const id = `indelible.import.${randomUUID()}`
    await ok(ownStore(opened).create({ id, meta: { 'indelible.partial': 'import' }, encrypt: false }))
    await ok(opened.create({ id: 'half', meta: { 'indelible.partial': 'copy' }, encrypt: false }))
    await ok(opened.close())
    expect(indelible(['remove', '--unfinished', 'a', '--yes', ...store]).status).toBe(2)
    expect(indelible(['remove', '--unfinished', '--yes', ...store])).toMatchObject({
      status: 0,
      stdout: `${id}: removed, unfinished\nhalf: removed, unfinished\n`,
    })
    expect(indelible(['remove', '--unfinished', '--yes', ...store])).toMatchObject({
      status: 0,
      stdout: '',
      stderr: 'this store has no unfinished sessions\n',
    })
    expect(idsIn(store)).toEqual(['a', 'b', 'c'])
  })
  it('removes none if one is missing', () => {
    const store = filled()
    expect(indelible(['remove', 'a', 'nobody', '--yes', ...store])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `indelible: this store has no session "nobody"; "indelible list --store ${store[1]}" shows its sessions; nothing was changed\n`,
    })
    expect(idsIn(store)).toEqual(['a', 'b', 'c'])
  })
  it.each([['remove'], ['erase', '0'], ['encryption destroy']])(
    '%s requires a full id and suggests it',
    (name, ...rest) => {
      const store = filled()
      indelible(['rename', 'a', 'kept', ...store])
      indelible(['fork', 'a', '--id', 'whole-session', ...store])
      const keys = join(folder, `${stores}.keys`)
      indelible(['encryption', 'new', keys])
      expect(indelible([...name.split(' '), 'whole', ...rest, '--yes', '--key-file', keys, ...store])).toMatchObject({
        status: 1,
        stdout: '',
        stderr:
          'indelible: "whole" is only the beginning of an id; did you mean whole-session? This can\'t be undone, so write the whole id. Nothing was changed\n',
      })
      expect(idsIn(store)).toEqual(['a', 'b', 'c', 'whole-session'])
    },
  )
  it('does not ask without a terminal', () => {
    const store = filled()
    expect(indelible(['remove', 'a', ...store], { input: 'yes\n' })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('remove needs --yes, because there is no terminal to ask') as string,
    })
    expect(indelible(['remove', '--yes', ...store])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('remove needs a SESSION') as string,
    })
    expect(idsIn(store)).toEqual(['a', 'b', 'c'])
  })
  it.each(['y\r', '\r', 'yes yes\r', '\u0004'])('removes nothing if the answer is %j', async (input) => {
    const store = filled()
    const removed = await runCommand({ args: ['remove', 'a', ...store], terminal: 100, typed: true, input })
    expect(removed).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing was removed') as string })
    expect(removed.stderr).toContain('Remove a (19 messages) permanently? Type yes: ')
    expect(idsIn(store)).toEqual(['a', 'b', 'c'])
  })
  it('destroys no key if the answer is not yes', async () => {
    const store = filled()
    const keys = join(folder, `${stores}.keys`)
    indelible(['encryption', 'new', keys])
    indelible(['import', join(root, 'examples/coding-agent.json'), '--id', 'k', '--key-file', keys, ...store])
    const destroy = ['encryption', 'destroy', 'k', '--key-file', keys, ...store]
    const refused = await runCommand({ args: destroy, terminal: 100, typed: true, input: 'no\r' })
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing was destroyed') as string })
    expect(refused.stderr).toContain('Nobody will be able to read session k any more. Destroy its key? Type yes: ')
    expect(indelible(['show', 'k', '--key-file', keys, ...store]).status).toBe(0)
    const destroyed = await runCommand({ args: destroy, terminal: 100, typed: true, input: 'yes\r' })
    expect(destroyed).toMatchObject({ status: 0, stdout: 'k: its key is destroyed\n' })
  })
  it.each([
    ['yes', ['b', 'c'], 'a: removed', 0],
    ['\u0003', ['a', 'b', 'c'], 'nothing was removed', 130],
  ] as const)('accepts %j as an answer on a terminal', async (typed, left, said, code) => {
    const store = filled()
    const pty = spawn(process.execPath, [main, 'remove', 'a', ...store], {
      cols: 100,
      rows: 30,
      env: { ...process.env, NO_COLOR: '1' },
    })
    let shown = ''
    let answered = false
    pty.onData((data) => {
      shown += data
      if (answered || !shown.includes('Remove a (19 messages) permanently? Type yes: ')) return
      answered = true
      pty.write(typed < ' ' ? typed : `${typed}\r`)
    })
    expect(await new Promise((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))).toBe(code)
    expect(shown).toContain(said)
    expect(idsIn(store)).toEqual(left)
  })
})
