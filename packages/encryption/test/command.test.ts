/** Encrypted sessions at the command line. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { runCommand } from '../../cli/test/command-run.ts'
import { folder, indelible } from '../../cli/test/indelible.ts'

const at = (name: string): string => join(folder, `encryption-${name}`)
const store = ['--store', at('sessions.db')]
const keys = ['--key-file', at('agents.keys')]
const example = join(root, 'examples/coding-agent.json')
/** What is shown of a session, whatever its name and whenever it was imported. */
const sameOf = (text: string): string => text.replaceAll('secret', 'plain').replaceAll(/\d\d:\d\d:\d\d/g, 'time')

it('the command creates keys, encrypts imports, rotates and destroys keys', () => {
  const made = indelible(['encryption', 'new', at('agents.keys')])
  expect([made.status, made.stderr]).toEqual([0, expect.stringContaining('keep a copy')])
  expect(statSync(at('agents.keys')).mode & 0o77).toBe(0)
  expect(indelible(['encryption', 'new', at('agents.keys')]).stderr).toContain('exists already')

  expect(indelible(['import', example, '--id', 'secret', ...store, ...keys]).status).toBe(0)
  expect(indelible(['import', example, '--id', 'plain', ...store]).status).toBe(0)
  const plain = sameOf(indelible(['show', 'plain', ...store]).stdout)
  const shown = indelible(['show', 'secret', ...store], { env: { INDELIBLE_KEY_FILE: at('agents.keys') } })
  expect(sameOf(shown.stdout)).toBe(plain)
  const lacking = indelible(['show', 'secret', ...store])
  expect([lacking.status, lacking.stdout]).toEqual([1, ''])
  expect(lacking.stderr).toMatch(/"secret" is encrypted.*pass the key ring: --key-file FILE$/m)
  expect(indelible(['verify', 'secret', ...store]).stdout).toMatch(/^secret: good, .*; encrypted, and not read$/m)
  expect(indelible(['verify', 'secret', ...store, ...keys]).stdout).toMatch(/^secret: good, .*[0-9a-f…]$/m)
  expect(indelible(['list', ...store]).status).toBe(0)

  const before = readFileSync(at('agents.keys'), 'utf8')
  expect(indelible(['encryption', 'rotate', ...store, ...keys]).stdout).toMatch(
    /^2 keys wrapped by \w+: those of the encrypted sessions, and one of each scope$/m,
  )
  expect(readFileSync(at('agents.keys'), 'utf8').split('\n').length).toBe(before.split('\n').length + 1)
  expect(sameOf(indelible(['show', 'secret', ...store, ...keys]).stdout)).toBe(plain)

  const copy = indelible(['copy', 'secret', '--from', at('sessions.db'), '--to', at('copy.db')])
  expect([copy.status, copy.stderr]).toEqual([
    0,
    'secret: encrypted; if its receipts name tools and instructions, they were not copied: that needs --key-file FILE\n',
  ])
  expect(indelible(['encryption', 'destroy', 'secret', ...store, ...keys]).stderr).toContain('--yes')
  expect(indelible(['encryption', 'destroy', 'secret', '--yes', ...store, ...keys]).stdout).toBe(
    'secret: its key is destroyed\n',
  )
  for (const where of [store, ['--store', at('copy.db')]])
    expect(indelible(['show', 'secret', ...where, ...keys]).stderr).toMatch(/the key \w+ was destroyed at \d{4}-/)
  expect(indelible(['verify', 'secret', ...store, ...keys]).stdout).toMatch(
    /^secret: good, .*; encrypted, and not read$/m,
  )
})

it('two concurrent rotations of a key file lose no key: the second is refused or follows', async () => {
  const own = ['--key-file', at('twice.keys'), '--store', at('twice.db')]
  indelible(['encryption', 'new', at('twice.keys')])
  for (const id of ['a', 'b', 'c']) expect(indelible(['import', example, '--id', id, ...own]).status).toBe(0)
  const rotated = await Promise.all([1, 2, 3].map(() => runCommand({ args: ['encryption', 'rotate', ...own] })))
  for (const id of ['a', 'b', 'c']) expect(indelible(['show', id, ...own])).toMatchObject({ status: 0, stderr: '' })
  const refused = rotated.filter(({ status }) => status !== 0)
  for (const { status, stderr } of refused)
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/twice\.keys: another process is changing it; nothing was changed/),
    ])
  const keysIn = readFileSync(at('twice.keys'), 'utf8')
    .split('\n')
    .filter((line) => /^\w+:\S/.test(line))
  expect(keysIn.length).toBe(1 + rotated.length - refused.length)
  expect(indelible(['encryption', 'rotate', ...own]).status).toBe(0)
})

it('a rotation with a ring that lacks a key changes nothing', () => {
  const own = ['--key-file', at('partial.keys'), '--store', at('partial.db')]
  indelible(['encryption', 'new', at('partial.keys')])
  expect(indelible(['import', example, '--id', 's', ...own]).status).toBe(0)
  const whole = readFileSync(at('partial.keys'), 'utf8')
  indelible(['encryption', 'new', at('strange.keys'), '--keys-in', 'partial.keys.db'])
  const strange = readFileSync(at('strange.keys'), 'utf8').replace('strange', 'encryption-partial')
  writeFileSync(at('strange.keys'), strange.replace(/keys-in: .*/, `keys-in: ${at('partial.keys.db')}`))
  const before = readFileSync(at('strange.keys'), 'utf8')
  const rotated = indelible(['encryption', 'rotate', '--key-file', at('strange.keys'), '--store', at('partial.db')])
  expect([rotated.status, rotated.stderr]).toEqual([1, expect.stringContaining('which the key ring lacks')])
  expect([readFileSync(at('strange.keys'), 'utf8'), readFileSync(at('partial.keys'), 'utf8')]).toEqual([before, whole])
})

it('a rotation through a link changes the file that it leads to', () => {
  const own = ['--store', at('linked.db'), '--key-file']
  indelible(['encryption', 'new', at('linked.keys')])
  symlinkSync(at('linked.keys'), at('link.keys'))
  expect(indelible(['import', example, '--id', 's', ...own, at('linked.keys')]).status).toBe(0)
  expect(indelible(['encryption', 'rotate', ...own, at('link.keys')]).status).toBe(0)
  expect(lstatSync(at('link.keys')).isSymbolicLink()).toBe(true)
  expect(indelible(['show', 's', ...own, at('linked.keys')]).status).toBe(0)
})

it('the command keeps keys unreadable for others', () => {
  const old = process.umask(0o022)
  try {
    expect(indelible(['encryption', 'new', at('own.keys')]).status).toBe(0)
    const own = ['--key-file', at('own.keys'), '--store', at('own.db')]
    expect(indelible(['import', example, '--id', 's', ...own]).status).toBe(0)
    writeFileSync(at('own.keys.new'), '', { mode: 0o644 }) // left by somebody
    expect(indelible(['encryption', 'rotate', ...own]).status).toBe(0)
    for (const name of ['own.keys', 'own.keys.db'])
      expect([name, statSync(at(name)).mode & 0o777]).toEqual([name, 0o600])
    chmodSync(at('own.keys.db'), 0o644) // as an earlier version made it
    expect(indelible(['show', 's', ...own]).status).toBe(0)
    expect(statSync(at('own.keys.db')).mode & 0o007).toBe(0)
  } finally {
    process.umask(old)
  }
})

it("the command names the missing key and shows a fork's own messages", () => {
  const own = ['--key-file', at('fork.keys'), '--store', at('fork.db')]
  const run = (...words: readonly string[]): ReturnType<typeof indelible> => indelible([...words, ...own])
  for (const name of ['fork.keys', 'other.keys']) indelible(['encryption', 'new', at(name)])
  expect(run('import', example, '--id', 'p').status).toBe(0)
  expect(run('fork', 'p', '--at', '3', '--id', 'f').status).toBe(0)
  expect(run('append', 'f', 'of the fork').status).toBe(0)

  const wrong = indelible(['show', 'p', '--store', at('fork.db'), '--key-file', at('other.keys')])
  expect(wrong.stderr).toMatch(/the session was encrypted with another key ring or key file/)
  expect(run('prove', 'p', '1').stderr).toMatch(/message 1 of "p" can't be proven alone: the session is encrypted/)

  expect(run('encryption', 'destroy', 'p', '--yes').status).toBe(0)
  const shown = run('show', 'f')
  expect([shown.status, shown.stdout]).toEqual([0, expect.stringMatching(/^ *3 .*user.*of the fork$/m)])
  expect(shown.stderr).toMatch(/its first 3 messages can't be read: .*was destroyed at/)
  expect(run('show', 'f', '3').stdout).toContain('of the fork')
  for (const words of [
    ['show', 'f', '1'],
    ['export', 'f', '--to', 'indelible'],
  ])
    expect(run(...words).stderr).toMatch(
      /it shares its first 3 messages with "p", and for those the key \w+ was destroyed/,
    )
})

it('the command reports missing wrapped keys', () => {
  const own = ['--key-file', at('gone.keys'), '--store', at('gone.db')]
  indelible(['encryption', 'new', at('gone.keys')])
  expect(statSync(at('gone.keys.db')).mode & 0o777).toBe(0o600)
  indelible(['import', example, '--id', 's', ...own])
  renameSync(at('gone.keys.db'), at('elsewhere.db'))
  const before = readFileSync(at('gone.keys'), 'utf8')
  for (const words of [
    ['show', 's'],
    ['import', example, '--id', 't'],
    ['encryption', 'rotate'],
  ]) {
    const { status, stderr } = indelible([...words, ...own])
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/gone\.keys\.db: does not exist; it has the wrapped keys/),
    ])
  }
  expect([existsSync(at('gone.keys.db')), readFileSync(at('gone.keys'), 'utf8')]).toEqual([false, before])
  renameSync(at('elsewhere.db'), at('gone.keys.db'))
  expect(indelible(['show', 's', ...own]).status).toBe(0)

  const nowhere = indelible(['encryption', 'new', at('nowhere.keys'), '--keys-in', at('no/such.db')])
  expect([nowhere.status, existsSync(at('nowhere.keys'))]).toEqual([1, false])
  expect(nowhere.stderr).toMatch(/no\/such\.db: its folder does not exist/)
})

it('the command lists sessions unread without their key and what a destroyed key affects', () => {
  const [keyed, bare] = [
    ['--key-file', at('said.keys'), '--store', at('said.db')],
    ['--store', at('said.db')],
  ]
  indelible(['encryption', 'new', at('said.keys')])
  indelible(['import', example, '--id', 'sec', ...keyed])
  indelible(['import', example, '--id', 'plain', ...bare])
  indelible(['fork', 'sec', '--at', '3', '--id', 'f', ...keyed])

  expect(indelible(['spend', 'sec', ...bare]).stderr).toMatch(/^1 encrypted session was not read: sec; .*--key-file/m)
  expect(indelible(['spend', ...bare]).stderr).toMatch(/2 encrypted sessions were not read: f, sec; .*--key-file/)
  expect(indelible(['search', 'test', '--session', 'sec', ...bare])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('sec: was not searched') as string,
  })
  const page = ['export', 'sec', '--to', 'html', '--out']
  expect(indelible([...page, at('sec.html'), ...bare]).stderr).toMatch(
    /contains the messages in encrypted form: .*--key-file/,
  )
  const redacted = indelible([...page, at('red.html'), '--redact', ...keyed])
  expect(redacted.stderr).toContain('redacted: no secrets')
  indelible(['append', 'plain', `ghp_${'aB3dE6gH9k'.repeat(4).slice(0, 36)}`, ...bare])
  const taken = indelible(['export', 'plain', '--to', 'html', '--out', at('taken.html'), '--redact', ...bare])
  expect(taken.stderr).toMatch(/redacted: [1-9]\d* secrets? \(/)
  expect(redacted.stderr).not.toContain('as it is stored')
  for (const range of [
    ['--from', '9999'],
    ['--from', '5', '--until', '3'],
  ]) {
    const { status, stderr } = indelible([...page, at('none.html'), ...range, ...keyed])
    expect([status, stderr, existsSync(at('none.html'))]).toEqual([1, expect.stringContaining('and none from'), false])
  }

  const plain = indelible(['encryption', 'destroy', 'plain', '--yes', ...keyed])
  expect([plain.status, plain.stderr]).toEqual([
    1,
    expect.stringContaining('plain: is not encrypted, so it has no key'),
  ])
  const ended = indelible(['encryption', 'destroy', 'sec', '--yes', ...keyed])
  expect(ended.status).toBe(0)
  expect(ended.stderr).toMatch(/forks that lose the messages they share with sec: f$/m)
  expect(ended.stderr).toMatch(/a backup of .*said\.keys\.db from before still has the key/)
  expect(indelible(['fork', 'f', '--id', 'ff', ...keyed]).status).toBe(1)
  expect(indelible(['list', ...bare]).stdout).not.toMatch(/\bff\b/)
  expect(indelible(['spend', ...keyed])).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/were not read: f, sec; .*destroyed/) as string,
  })

  writeFileSync(at('r.sh'), 'echo')
  const notKeys = indelible(['list', ...bare, '--key-file', at('r.sh')])
  expect(notKeys.stderr).toContain('"indelible encryption new FILE"')
  expect(indelible(['list', '--limit', '0', ...bare]).stderr).toContain('--limit 0 prints no session')
})
