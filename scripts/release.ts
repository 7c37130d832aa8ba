/**
 * `npm run release -- --dry-run`: what a release of this version would publish. It checks the names, versions, licences and the
 * changelog, packs the packages and uses them as users do (`smoke.ts`, with publint and are-the-types-wrong), and prints the tag, the
 * section of the changelog, and what a person has to decide. Without `--dry-run` it publishes, which only the workflow
 * `.github/workflows/release.yml` may: on the tag of this version, with provenance.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packages, type Package } from './packages.ts'
import { output, root, run } from './run.ts'

/** The section of a changelog about a version, without its heading. Undefined if there is none, or it is empty. */
export const sectionOf = (changelog: string, version: string): string | undefined =>
  changelog
    .split(/^## /m)
    .find((section) => section.startsWith(`${version}\n`))
    ?.slice(version.length)
    .trim() || undefined

/** What keeps packages from being released, a sentence each. */
export const obstacles = (released: readonly Package[], changelog: string): readonly string[] => {
  const [library] = released
  if (library === undefined) return ['there is no package']
  const { version, license } = library.manifest
  const names = new Set(released.map(({ manifest }) => manifest.name))
  return [
    ...(sectionOf(changelog, version) === undefined ? [`CHANGELOG.md has no section about ${version}`] : []),
    ...released.flatMap(({ folder, manifest }) => {
      const { name, exports } = manifest
      const place = basename(folder)
      return [
        ...(name === 'indelible' || name === `@indelible/${place}` ? [] : [`${name} is in the folder ${place}`]),
        ...(manifest.version === version ? [] : [`${name} has the version ${manifest.version}, not ${version}`]),
        ...(manifest.license === license && license !== undefined
          ? []
          : [`${name} has the licence ${manifest.license}`]),
        ...(manifest.private === true ? [`${name} is private`] : []),
        ...(exports['./package.json'] === './package.json' ? [] : [`${name} does not export its package.json`]),
        ...['README.md', 'LICENSE'].flatMap((file) =>
          existsSync(join(folder, file)) ? [] : [`${name} has no ${file}`],
        ),
        ...Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies }).flatMap(([other, range]) =>
          names.has(other) && range !== version ? [`${name} asks for ${other} ${range}, not ${version}`] : [],
        ),
      ]
    }),
  ]
}

/** Packages in an order in which each comes after those that it depends on. */
export const inOrder = (released: readonly Package[]): readonly Package[] => {
  const ordered: Package[] = []
  const add = (one: Package): void => {
    if (ordered.includes(one)) return
    for (const other of released) if (other.manifest.name in (one.manifest.dependencies ?? {})) add(other)
    ordered.push(one)
  }
  for (const one of released) add(one)
  return ordered
}

/** What no program can decide. */
const decisions = [
  'the names `indelible` and `@indelible` in the registry: who owns them there',
  'the address of the repository, for `repository` in each package.json: the registry refuses provenance without it',
  'the trusted publisher of each package: this repository, workflow release.yml, environment `release`',
  'the address for reports in SECURITY.md, and the one of the site',
  'whether formats and names are final: from the first release on, what a version wrote opens in each later one',
]

const release = (isDry: boolean): boolean => {
  const { version } = (packages[0] as Package).manifest
  const tag = `v${version}`
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const found = [...obstacles(packages, changelog)]
  if (output('git', ['status', '--porcelain']).trim() !== '')
    found.push('the checkout has changes that are not committed')
  if (!isDry && process.env['GITHUB_REF'] !== `refs/tags/${tag}`)
    found.push(`only the workflow on the tag ${tag} publishes`)
  for (const one of found) process.stderr.write(`not ready: ${one}\n`)
  if (found.length > 0) return false
  if (!run('npm', ['run', 'build']) || !run('npm', ['run', 'smoke'])) return false
  const ordered = inOrder(packages)
  if (!isDry)
    return ordered.every(({ folder }) => run('npm', ['publish', '--provenance', '--access', 'public'], folder))
  process.stdout.write(
    [
      `\ntag: ${tag}`,
      `packages, in this order: ${ordered.map(({ manifest }) => manifest.name).join(', ')}`,
      `\n${sectionOf(changelog, version)}`,
      '\nA person decides:',
      ...decisions.map((decision) => `- ${decision}`),
      '',
    ].join('\n'),
  )
  return true
}

if (import.meta.main && !release(process.argv.includes('--dry-run'))) process.exitCode = 1
