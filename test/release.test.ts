/** What keeps a release from being published. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packages, type Manifest, type Package } from '../scripts/packages.ts'
import { inOrder, obstacles, sectionOf } from '../scripts/release.ts'

const changelog = '# Changelog\n\n## 0.4.0\n\n- One thing.\n\n## 0.3.0\n\n- Another.\n'

const made = (
  place: string,
  manifest: Partial<Manifest>,
  files: readonly string[] = ['README.md', 'LICENSE'],
): Package => {
  const folder = join(mkdtempSync(join(tmpdir(), 'release-')), place)
  mkdirSync(folder)
  for (const file of files) writeFileSync(join(folder, file), '')
  const { name, version } = { name: `@indelible/${place}`, version: '0.4.0' }
  const exports = { './package.json': './package.json' }
  return { folder, manifest: { name, version, license: 'MIT', engines: { node: '>=22' }, exports, ...manifest } }
}
const library = made('main', { name: 'indelible' })

it('finds nothing in the way of the packages of this repository, but for what a version lacks', () => {
  const version = packages[0]?.manifest.version ?? ''
  expect(obstacles(packages, changelog.replace('0.4.0', version))).toEqual([])
})

it('takes the section of a version', () => {
  expect(sectionOf(changelog, '0.4.0')).toBe('- One thing.')
  expect(sectionOf(changelog, '0.3.0')).toBe('- Another.')
  expect(sectionOf(changelog, '0.4')).toBeUndefined()
})

it.each<[string, Package, string]>([
  ['another version', made('a', { version: '0.3.0' }), '@indelible/a has the version 0.3.0, not 0.4.0'],
  ['another name', made('a', { name: '@indelible/b' }), '@indelible/b is in the folder a'],
  ['another licence', made('a', { license: 'ISC' }), '@indelible/a has the licence ISC'],
  ['a private package', made('a', { private: true }), '@indelible/a is private'],
  ['no licence file', made('a', {}, ['README.md']), '@indelible/a has no LICENSE'],
  ['no package.json in exports', made('a', { exports: {} }), '@indelible/a does not export its package.json'],
  [
    'an older dependency',
    made('a', { dependencies: { indelible: '0.3.0' } }),
    '@indelible/a asks for indelible 0.3.0, not 0.4.0',
  ],
])('names %s', (_what, one, sentence) => {
  expect(obstacles([library, one], changelog)).toEqual([sentence])
})

it('names a version without a section', () => {
  expect(obstacles([made('main', { name: 'indelible', version: '0.5.0' })], changelog)).toEqual([
    'CHANGELOG.md has no section about 0.5.0',
  ])
})

it('orders packages after those that they depend on', () => {
  const command = made('cli', { dependencies: { '@indelible/view': '0.4.0', indelible: '0.4.0' } })
  const view = made('view', { dependencies: { indelible: '0.4.0' } })
  expect(inOrder([command, view, library]).map(({ manifest }) => manifest.name)).toEqual([
    'indelible',
    '@indelible/view',
    '@indelible/cli',
  ])
})
