/** The commands that a message advises can be pasted: they have the place that the call was given. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { withPlace } from '../src/sources/advice.ts'
import { commands } from '../src/commands.ts'
import { folder, indelible, writeTestFile } from './indelible.ts'

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each([
  ['"indelible list" shows its sessions', '"indelible list --store \'a b.db\' --scope x" shows its sessions'],
  ['  indelible show s1', "  indelible show s1 --store 'a b.db' --scope x"],
  ['  indelible show s1 --scope y', "  indelible show s1 --scope y --store 'a b.db'"],
  ['"indelible index" adds them', '"indelible index --store \'a b.db\'" adds them'], // it takes no scope
  ['"indelible key new" makes one', '"indelible key new" makes one'],
  [`"indelible show 'a b.db'" prints it`, `"indelible show 'a b.db' --scope x" prints it`], // the store is no store
  ['Try: indelible list --help', 'Try: indelible list --help'],
  ['an indelible record', 'an indelible record'],
])('%s', (line, whole) => {
  expect(withPlace(line, { store: 'a b.db', scope: 'x' }, commands)).toBe(whole)
  expect(withPlace(line, {}, commands)).toBe(line)
})

it('advice names the key file if the command has one, and not for a command that creates one', () => {
  const values = { store: 'a.db', 'key-file': 'k' }
  for (const [line, whole] of [
    ['"indelible encryption new" makes it', '"indelible encryption new" makes it'],
    ['"indelible encryption check" looks', '"indelible encryption check --store a.db" looks'],
    ['"indelible show new" shows it', '"indelible show new --store a.db --key-file k" shows it'],
  ] as const)
    expect(withPlace(line, values, commands)).toBe(whole)
})

it('advice contains no password', () => {
  for (const store of [
    'postgres://ann:secret@host:5432/db?schema=s',
    'postgres://ann@host:5432/db?schema=s&password=secret',
  ])
    expect(withPlace('"indelible list"', { store }, commands)).toBe(
      `"indelible list --store 'postgres://ann@host:5432/db?schema=s'"`,
    )
})

it('advice is complete in errors and messages', () => {
  const store = join(folder, 'here.db')
  const place = ['--store', store, '--scope', 'mine']
  expect(indelible(['show', 'none', ...place]).stderr).toContain(
    `"indelible import FILE --store ${store} --scope mine"`,
  )
  const file = writeTestFile('calls.json', JSON.stringify([{ role: 'user', content: 'go' }]))
  indelible(['import', file, '--id', 'a', ...place])
  expect(indelible(['show', 'none', ...place]).stderr).toContain(`"indelible list --store ${store} --scope mine"`)
  expect(indelible(['list', '--tree', ...place]).stderr).toContain(
    `"indelible fork SESSION --store ${store} --scope mine"`,
  )
})
