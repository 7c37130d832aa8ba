/**
 * Which public names and members have no docstring.
 */
import { relative } from 'node:path'
import { entries } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'
import { declared, exportsOf, fileAt, list, nameOf, node, type File, type Node } from './declarations.ts'

/** Whether a docstring stands directly before a place. */
const isDocumented = ({ text, docs }: File, start: number): boolean =>
  docs.some((end) => end <= start && /^\s*(?:\|\s*)?$/.test(text.slice(end, start)))

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

/** The types of a provider's format, whose documentation says what the members are. */
const isWire = ({ path }: File): boolean => /codecs.(?:src.)?[\w-]+.(?:ui-)?wire\.ts$/.test(path)

/** Every public name and member, with its place in the sources and whether it has a docstring. */
export const publicNames = (): readonly { readonly place: string; readonly documented: boolean }[] => {
  const seen = new Map<string, boolean>()
  for (const { source } of entries)
    for (const name of exportsOf(fileAt(source))) {
      const [found] = declared(fileAt(source), name)
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
