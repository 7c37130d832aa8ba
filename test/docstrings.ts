/**
 * Which public names and members have no docstring. The sources are parsed: from each entry of the packages to the
 * declarations that it exports, by way of named re-exports.
 */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'vite'
import { entries, entriesOf, packages } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'

/** A node of the syntax tree, as far as it is looked at here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

interface File {
  readonly path: string
  readonly text: string
  readonly body: readonly Node[]
  /** Where the docstrings of the file end. */
  readonly docs: readonly number[]
}

const files = new Map<string, File>()

const fileAt = (path: string): File => {
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

/** Whether a docstring stands directly before a place. */
const isDocumented = ({ text, docs }: File, start: number): boolean =>
  docs.some((end) => end <= start && /^\s*(?:\|\s*)?$/.test(text.slice(end, start)))

const list = (value: unknown): readonly Node[] => (Array.isArray(value) ? (value as readonly Node[]) : [])
const node = (value: unknown): Node | undefined =>
  typeof value === 'object' && value !== null ? (value as Node) : undefined
const nameOf = (value: unknown): string => {
  const { name, value: literal } = (node(value) ?? {}) as { readonly name?: string; readonly value?: unknown }
  return name ?? String(literal)
}

/** What a file exports under a name: the statement, and the declaration in it. */
const declared = (
  file: File,
  name: string,
): { readonly file: File; readonly statement: Node; readonly declaration: Node } | undefined => {
  for (const statement of file.body) {
    if (statement.type !== 'ExportNamedDeclaration') {
      if (named(statement, name)) return { file, statement, declaration: statement }
      continue
    }
    const declaration = node(statement['declaration'])
    if (declaration !== undefined) {
      if (named(declaration, name)) return { file, statement, declaration }
      continue
    }
    for (const specifier of list(statement['specifiers']))
      if (nameOf(specifier['exported']) === name) {
        const from = node(statement['source'])?.['value']
        const target = typeof from === 'string' ? fileAt(sourceOf(file, from)) : file
        const found = declared(target, nameOf(specifier['local']))
        if (found !== undefined) return found
      }
  }
  return undefined
}

const named = (declaration: Node, name: string): boolean =>
  declaration.type === 'VariableDeclaration'
    ? list(declaration['declarations']).some(({ id }) => nameOf(id) === name)
    : declaration['id'] !== undefined && nameOf(declaration['id']) === name

/** The file that a re-export names: beside its own, or behind an entry of a package. */
const sourceOf = ({ path }: File, from: string): string =>
  doors.find(({ name }) => name === from)?.source ?? join(dirname(path), from)

/** Members of a declaration, with the place before which a docstring stands. */
const membersOf = (declaration: Node): readonly Member[] => {
  if (declaration.type === 'TSInterfaceDeclaration')
    return list(node(declaration['body'])?.['body']).flatMap((member) => memberOf(member))
  if (declaration.type === 'ClassDeclaration') return list(node(declaration['body'])?.['body']).flatMap(classMemberOf)
  if (declaration.type === 'TSTypeAliasDeclaration') return membersOfType(node(declaration['typeAnnotation']))
  return []
}

interface Member {
  readonly name: string
  readonly start: number
  /** Where the arm of the union begins that has it: a docstring there speaks of all of its members. */
  readonly arm?: number | undefined
}

const membersOfType = (type: Node | undefined, arm?: number): readonly Member[] => {
  if (type?.type === 'TSTypeLiteral') return list(type['members']).flatMap((member) => memberOf(member, arm))
  if (type?.type === 'TSUnionType') return list(type['types']).flatMap((arm) => membersOfType(arm, arm.start))
  if (type?.type === 'TSIntersectionType') return list(type['types']).flatMap((part) => membersOfType(part, arm))
  return []
}

/** What tells the members of a union apart says itself what it is. */
const isDiscriminant = (member: Node): boolean =>
  node(node(member['typeAnnotation'])?.['typeAnnotation'])?.type === 'TSLiteralType'

const memberOf = (member: Node, arm?: number): readonly Member[] =>
  (member.type === 'TSPropertySignature' || member.type === 'TSMethodSignature') && !isDiscriminant(member)
    ? [{ name: nameOf(member['key']), start: member.start, arm }]
    : []

const classMemberOf = (member: Node): readonly Member[] =>
  ['PropertyDefinition', 'MethodDefinition'].includes(member.type) &&
  node(member['key'])?.type !== 'PrivateIdentifier' &&
  member['kind'] !== 'constructor' &&
  member['override'] !== true &&
  member['computed'] !== true &&
  member['accessibility'] !== 'private'
    ? [{ name: nameOf(member['key']), start: member.start }]
    : []

const doors = packages.flatMap((one) => entriesOf(one, true))

const exportsOf = (file: File): readonly string[] =>
  file.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const declaration = node(statement['declaration'])
    if (declaration?.type === 'VariableDeclaration')
      return list(declaration['declarations']).map(({ id }) => nameOf(id))
    if (declaration !== undefined) return [nameOf(declaration['id'])]
    return list(statement['specifiers']).map(({ exported }) => nameOf(exported))
  })

/** The types of a provider's format, whose documentation says what the members are. */
const isWire = ({ path }: File): boolean => /codecs.[\w-]+.(?:ui-)?wire\.ts$/.test(path)

/** Every public name and member, with its place in the sources and whether it has a docstring. */
export const publicNames = (): readonly { readonly place: string; readonly documented: boolean }[] => {
  const seen = new Map<string, boolean>()
  for (const { source } of entries)
    for (const name of exportsOf(fileAt(source))) {
      const found = declared(fileAt(source), name)
      if (found === undefined) continue // of another package
      const { file, statement, declaration } = found
      const line = (start: number): number => file.text.slice(0, start).split('\n').length
      const place = (start: number, of: string): string => `${relative(root, file.path)}:${line(start)} ${of}`
      seen.set(place(statement.start, name), isDocumented(file, statement.start))
      if (isWire(file)) continue // the members are the provider's own
      // One docstring speaks of a declaration that is one line, and of an arm of a union.
      const inLine = line(declaration.start) === line(declaration.end)
      for (const member of membersOf(declaration))
        seen.set(
          place(member.start, `${name}.${member.name}`),
          isDocumented(file, inLine ? statement.start : (member.arm ?? member.start)) ||
            isDocumented(file, member.start),
        )
    }
  return [...seen].map(([place, documented]) => ({ place, documented }))
}
