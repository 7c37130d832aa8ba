/**
 * The packages of this repository, the library first. Run as a program with a version it sets that version in all of them,
 * and in what they ask of each other: `node scripts/packages.ts 0.4.0`.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.ts'

/** What is read of a package.json. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly private?: boolean
  readonly engines: { readonly node: string }
  readonly exports: { readonly [entry: string]: { readonly '@indelible/source': string } | string }
  readonly imports?: { readonly [alias: string]: { readonly [condition: string]: string } }
  readonly dependencies?: { readonly [name: string]: string }
  readonly devDependencies?: { readonly [name: string]: string }
  readonly peerDependencies?: { readonly [name: string]: string }
}

/** A package: its folder, and what its package.json says. */
export interface Package {
  readonly folder: string
  readonly manifest: Manifest
}

/** All packages. */
export const packages: readonly Package[] = [
  root,
  ...readdirSync(join(root, 'packages'))
    .toSorted()
    .map((name) => join(root, 'packages', name)),
].flatMap((folder) => {
  const path = join(folder, 'package.json')
  return existsSync(path) ? [{ folder, manifest: JSON.parse(readFileSync(path, 'utf8')) as Manifest }] : []
})

/** What users import: an entry, as `indelible/session`, and the source file that it leads to. */
export interface Entry {
  readonly name: string
  readonly source: string
}

/** The entries of a package, patterns spelled out. Those under `internal`, which other programs get no promise of, are left out unless asked for. */
export const entriesOf = ({ folder, manifest }: Package, internal = false): readonly Entry[] =>
  Object.entries(manifest.exports).flatMap(([entry, to]) => {
    if (typeof to === 'string' || (entry.startsWith('./internal') && !internal)) return []
    const source = to['@indelible/source']
    const named = (star: string): Entry => ({
      name: `${manifest.name}${entry.slice(1)}`.replace('*', star),
      source: join(folder, source.replace('*', star)),
    })
    if (!source.includes('*')) return [named('')]
    const inside = readdirSync(join(folder, source.slice(0, source.indexOf('*'))))
    return inside.map(named).filter((entry) => existsSync(entry.source))
  })

/** The entries of all packages. */
export const entries: readonly Entry[] = packages.flatMap((one) => entriesOf(one))

if (import.meta.main) {
  const [version = ''] = process.argv.slice(2)
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new TypeError(`a version like 0.4.0 was expected, not "${version}"`)
  for (const { folder, manifest } of packages) {
    const path = join(folder, 'package.json')
    const text = readFileSync(path, 'utf8')
    const old = manifest.version.replaceAll('.', '\\.')
    const ours = new RegExp(`("(?:version|indelible|@indelible/[\\w-]+)": )"${old}"`, 'g')
    writeFileSync(path, text.replaceAll(ours, `$1"${version}"`))
  }
}
