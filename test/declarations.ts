/**
 * The sources of the entries, parsed: from a name that an entry exports to the statements that declare it, by way of
 * named re-exports and imports.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from 'vite'
import { entriesOf, packages } from '../scripts/packages.ts'

/** A node of the syntax tree, as far as it is looked at here. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface File {
  readonly path: string
  readonly text: string
  readonly body: readonly Node[]
  /** Where the docstrings of the file end. */
  readonly docs: readonly number[]
}

const files = new Map<string, File>()

/** A parsed source file. */
export const fileAt = (path: string): File => {
  const known = files.get(path)
  if (known !== undefined) return known
  const text = readFileSync(path, 'utf8')
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const docs = comments.flatMap(({ type, value, end }) => (type === 'Block' && value.startsWith('*') ? [end] : []))
  const file = { path, text, body: program.body as unknown as readonly Node[], docs }
  files.set(path, file)
  return file
}

export const list = (value: unknown): readonly Node[] => (Array.isArray(value) ? (value as readonly Node[]) : [])
export const node = (value: unknown): Node | undefined =>
  typeof value === 'object' && value !== null ? (value as Node) : undefined
export const nameOf = (value: unknown): string => {
  const { name, value: literal } = (node(value) ?? {}) as { readonly name?: string; readonly value?: unknown }
  return name ?? String(literal)
}

/** A statement of a file that declares a name, with the declaration in it. */
export interface Declared {
  readonly file: File
  readonly name: string
  readonly statement: Node
  readonly declaration: Node
}

/** The statements that declare what a name means in a file: several for overloads, none if another package declares it. */
export const declared = (file: File, name: string): readonly Declared[] => {
  const here = file.body.flatMap((statement) => {
    const declaration = node(statement['declaration']) ?? statement
    return named(declaration, name) ? [{ file, name, statement, declaration }] : []
  })
  if (here.length > 0) return here
  for (const statement of file.body) {
    const source = node(statement['source'])?.['value']
    const target = typeof source === 'string' ? sourceOf(file, source) : undefined
    for (const specifier of list(statement['specifiers'])) {
      const isExport = statement.type === 'ExportNamedDeclaration'
      const [known, from] = isExport ? ['exported', 'local'] : ['local', 'imported']
      if (nameOf(specifier[known ?? '']) !== name) continue
      if (target !== undefined) return declared(fileAt(target), nameOf(specifier[from ?? '']))
    }
  }
  return []
}

const named = (declaration: Node, name: string): boolean =>
  declaration.type === 'VariableDeclaration'
    ? list(declaration['declarations']).some(({ id }) => nameOf(id) === name)
    : declaration['id'] !== undefined && nameOf(declaration['id']) === name

/** The file that an import or a re-export names: beside its own, or behind an entry of a package of this repository. */
const sourceOf = ({ path }: File, from: string): string | undefined =>
  from.startsWith('.') ? join(dirname(path), from) : doors.find(({ name }) => name === from)?.source

const doors = packages.flatMap((one) => entriesOf(one, true))

/** The names that a file exports. */
export const exportsOf = (file: File): readonly string[] =>
  file.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const declaration = node(statement['declaration'])
    if (declaration?.type === 'VariableDeclaration')
      return list(declaration['declarations']).map(({ id }) => nameOf(id))
    if (declaration !== undefined) return [nameOf(declaration['id'])]
    return list(statement['specifiers']).map(({ exported }) => nameOf(exported))
  })
