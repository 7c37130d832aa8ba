/** Lists as long as a store: no call has the items of such a list as its arguments, which fails at about 130,000 of them. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSession, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { command } from '../../../test/programs.ts'
import { folder } from './indelible.ts'

/** With this stack, calls fail at fewer arguments than there are sessions. */
const stack = '--stack-size=84'
const sessions = 11_000

it('the command lists and sums up more sessions than a call can have arguments', async () => {
  const path = join(folder, 'many.db')
  const store = await sqliteStore({ path })
  for (let first = 0; first < sessions; first += 1000)
    await Promise.all(Array.from({ length: 1000 }, (_, index) => createSession(store, { id: `s${first + index}` })))
  const session = await createSession(store, { id: 'calls' })
  await session.append(user('hello'))
  const receipt = { type: 'receipt', len: 1, contextDigest: '0'.repeat(64), model: 'gpt-5.5' } as const
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
  for (let first = 0; first < sessions; first += 1000)
    await Promise.all(Array.from({ length: 1000 }, () => session.note({ ...receipt, usage })))
  await store.close()
  const probe = `try { Math.max(...Array.from({ length: ${sessions} }, Number)) } catch { process.exitCode = 3 }`
  expect(spawnSync(process.execPath, [stack, '-e', probe]).status).toBe(3)
  for (const [args, lines] of [
    [['list', '--limit', '130000'], sessions + 2],
    [['list', '--scopes'], 2],
    [['list', '--where', 'messages>0'], 2],
    [['spend', '--by', 'session'], 2],
    [['spend', '--by', 'day,model'], 2],
  ] as const) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [stack, command, ...args, '--store', path], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      env: { ...process.env, NODE_OPTIONS: '--conditions=@indelible/source' },
    })
    expect([args, status, stderr]).toEqual([args, 0, ''])
    expect([args, stdout.split('\n').length - 1]).toEqual([args, lines])
  }
}, 300_000)

it('no call in the command or the page spreads a list into its arguments, except a list of known length', () => {
  const known = [
    'Math.max(17, ...options', // of a command
    'Math.max(...column.map(({ length }) => length))', // of a table of policies
    'lines.push(...sessions.slice(0, 10)',
    'Highlight(...ranges)', // at most 500
    'Math.min(...series.value', // a series for each policy
    'Math.min(...(money ?? [])',
    'run(...own.map(', // the columns of a table
    'join(folder, ...', // the steps of a path
    'rowsOf(calls.store, id, ...rangeOf(query))', // the two ends of a range
    'update(...', // of a reducer
  ]
  const found = ['packages/cli/src', 'packages/view/src', 'packages/view/page/src'].flatMap((place) =>
    readdirSync(join(root, place), { recursive: true, encoding: 'utf8' }).flatMap((name) => {
      if (!/\.tsx?$/.test(name)) return []
      const code = readFileSync(join(root, place, name), 'utf8').replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, '')
      const calls = [...code.matchAll(/\b[\w.]+\((?:[^()[\]{}\n]*, )?\.\.\.[^\n]*/g)].filter(
        ([call]) => !/^\w+\(\.\.\.\w+: /.test(call),
      )
      return calls.flatMap(([call]) => (known.some((start) => call.includes(start)) ? [] : [`${name}: ${call}`]))
    }),
  )
  expect(found).toEqual([])
})
