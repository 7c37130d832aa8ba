/** docs/errors.md against the declarations: each `_tag` of a public type has one row, under the entry that declares it. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'vite'
import { describe, expect, it } from 'vitest'
import { namesOf } from '../scripts/api.ts'
import { entries, packages } from '../scripts/packages.ts'
import { errorRows } from './error-rows.ts'

/** The tags of an `Either`. */
const outcomes = new Set(['Left', 'Right'])

/** A type's declaration: where it is, the tags in it, and the types that it names. */
interface Declared {
  readonly file: string
  readonly tags: readonly string[]
  readonly names: readonly string[]
}

const isNode = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const nameIn = (node: unknown): string | undefined =>
  isNode(node) && typeof node['name'] === 'string' ? node['name'] : undefined

/** Every node of a syntax tree, without the filters of `Extract` and `Exclude`, which declare nothing. */
const nodesOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] => {
  if (!isNode(value)) return []
  if (Array.isArray(value)) return value.flatMap(nodesOf)
  const params = isNode(value['typeArguments']) ? value['typeArguments']['params'] : undefined
  const isFiltered = ['Extract', 'Exclude'].includes(nameIn(value['typeName']) ?? '') && Array.isArray(params)
  return [value, ...(isFiltered ? nodesOf(params[0]) : Object.values(value).flatMap(nodesOf))]
}

const declared = new Map<string, readonly Declared[]>()
for (const { folder } of packages)
  for (const path of readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts')) continue
    const file = join(folder, 'src', path)
    for (const statement of parseSync(file, readFileSync(file, 'utf8')).program.body) {
      const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
      if (!isNode(node)) continue
      const name = nameIn(node['id'])
      if (
        name === undefined ||
        (node['type'] !== 'TSTypeAliasDeclaration' && node['type'] !== 'TSInterfaceDeclaration')
      )
        continue
      const inside = nodesOf(node)
      const one: Declared = {
        file,
        tags: inside
          .filter(({ type, key }) => type === 'TSPropertySignature' && nameIn(key) === '_tag')
          .flatMap(({ typeAnnotation }) =>
            nodesOf(typeAnnotation).flatMap(({ type, value }) =>
              type === 'Literal' && typeof value === 'string' ? [value] : [],
            ),
          ),
        names: inside.flatMap(({ type, typeName }) => (type === 'TSTypeReference' ? [nameIn(typeName) ?? ''] : [])),
      }
      declared.set(name, [...(declared.get(name) ?? []), one])
    }
  }

/** The entry of a file: the one whose folder is the nearest above it. */
const entryOf = (file: string): string =>
  entries
    .filter(({ source }) => !relative(dirname(source), file).startsWith('..'))
    .toSorted((a, b) => dirname(b.source).length - dirname(a.source).length)[0]?.name ?? `${file}: no entry`

/** The tags of the public types, and of all types that those name: `entry _tag`. */
const publicTags = new Set<string>()
const seen = new Set<string>()
const visit = (name: string): void => {
  if (seen.has(name)) return
  seen.add(name)
  for (const { file, tags, names } of declared.get(name) ?? []) {
    for (const tag of tags) if (!outcomes.has(tag)) publicTags.add(`${entryOf(file)} ${tag}`)
    names.forEach(visit)
  }
}
entries.flatMap((entry) => namesOf(entry).types).forEach(visit)

/** The rows of the page: `entry _tag`, with what is said of it. */
const rows = errorRows.map(({ entry, tag, when, todo }) => ({ name: `${entry} ${tag}`, when, todo }))

describe('docs/errors.md', () => {
  it('has exactly one row per public fault tag, under its entry', () => {
    expect(publicTags.size).toBeGreaterThan(100)
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...publicTags].toSorted())
  })
  it('describes in sentences when each fault happens and what to do', () => {
    expect(rows.filter(({ when, todo }) => !when.endsWith('.') || !todo.endsWith('.'))).toEqual([])
  })
})
