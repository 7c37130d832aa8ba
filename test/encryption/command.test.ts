/** Encrypted sessions at the command line. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'
import { folder, indelible } from '../cli/indelible.ts'

const at = (name: string): string => join(folder, `encryption-${name}`)
const store = ['--store', at('sessions.db')]
const keys = ['--key-file', at('agents.keys')]
const example = join(root, 'examples/coding-agent.json')

it('makes keys, encrypts what is imported, rotates and destroys', () => {
  const made = indelible(['encryption', 'new', at('agents.keys')])
  expect([made.status, made.stderr]).toEqual([0, expect.stringContaining('keep a copy')])
  expect(statSync(at('agents.keys')).mode & 0o77).toBe(0)
  expect(indelible(['encryption', 'new', at('agents.keys')]).stderr).toContain('exists already')

  expect(indelible(['import', example, '--id', 'secret', ...store, ...keys]).status).toBe(0)
  expect(indelible(['import', example, '--id', 'plain', ...store]).status).toBe(0)
  const plain = indelible(['show', 'plain', ...store]).stdout
  const shown = indelible(['show', 'secret', ...store], { env: { INDELIBLE_KEY_FILE: at('agents.keys') } })
  expect(shown.stdout.replaceAll('secret', 'plain')).toBe(plain)
  const lacking = indelible(['show', 'secret', ...store])
  expect([lacking.status, lacking.stdout]).toEqual([1, ''])
  expect(lacking.stderr).toMatch(/"secret" is encrypted.*give the key ring: --key-file FILE$/m)
  expect(indelible(['verify', 'secret', ...store]).stdout).toMatch(/^secret: good, .*; encrypted, and not read$/m)
  expect(indelible(['verify', 'secret', ...store, ...keys]).stdout).toMatch(/^secret: good, .*[0-9a-f…]$/m)
  expect(indelible(['list', ...store]).status).toBe(0)

  const before = readFileSync(at('agents.keys'), 'utf8')
  expect(indelible(['encryption', 'rotate', ...store, ...keys]).stdout).toMatch(/^2 keys wrapped by \w+$/m)
  expect(readFileSync(at('agents.keys'), 'utf8').split('\n').length).toBe(before.split('\n').length + 1)
  expect(indelible(['show', 'secret', ...store, ...keys]).stdout.replaceAll('secret', 'plain')).toBe(plain)

  const copy = indelible(['copy', 'secret', '--from', at('sessions.db'), '--to', at('copy.db')])
  expect([copy.status, copy.stderr]).toEqual([0, ''])
  expect(indelible(['encryption', 'destroy', 'secret', ...store, ...keys]).stderr).toContain('--yes')
  expect(indelible(['encryption', 'destroy', 'secret', '--yes', ...store, ...keys]).stdout).toBe(
    'secret: its key is destroyed\n',
  )
  for (const where of [store, ['--store', at('copy.db')]])
    expect(indelible(['show', 'secret', ...where, ...keys]).stderr).toMatch(/its key \w+ was destroyed at \d{4}-/)
  expect(indelible(['verify', 'secret', ...store, ...keys]).stdout).toMatch(
    /^secret: good, .*; encrypted, and not read$/m,
  )
})
