/**
 * The types of this repository that public signatures name, and the number of public values and types. `isolatedDeclarations` makes
 * every exported declaration state its types, so the sources show all names that a declaration file will have.
 */
import { relative } from 'node:path'
import { entries } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'
import { declared, exportsOf, fileAt, list, nameOf, node, type Declared, type File, type Node } from './declarations.ts'

/** The declarations that entries export, each with its first name. */
const exported = new Map<Node, Declared & { readonly publicName: string }>()
for (const { name: entry, source } of entries)
  for (const name of exportsOf(fileAt(source)))
    for (const one of declared(fileAt(source), name))
      if (!exported.has(one.declaration)) exported.set(one.declaration, { ...one, publicName: `${entry} ${name}` })

/** The declarations that public signatures name, directly or by way of other types: each once, by its place. */
export const namedDeclarations = (): ReadonlyMap<Node, Declared> => {
  const named = new Map<Node, Declared>()
  const visited = new Set<Node>()
  const visit = ({ file, declaration }: Declared): void => {
    if (visited.has(declaration)) return
    visited.add(declaration)
    for (const one of referencesOf(declaration).flatMap((name) => declared(file, name))) {
      if (one.declaration === declaration) continue
      named.set(one.declaration, one)
      visit(one)
    }
  }
  for (const one of exported.values()) visit(one)
  return named
}

/** Exported types that no public signature names. */
export const unnamedTypes = (): readonly string[] => {
  const named = namedDeclarations()
  return [...exported].flatMap(([declaration, { publicName }]) =>
    declaration.type.startsWith('TS') && isType(declaration) && !named.has(declaration) ? [publicName] : [],
  )
}

/** Types that the result of a public function names directly, and that no entry exports. */
export const unexportedResults = (): readonly string[] => {
  const unexported = new Set<string>()
  for (const { file, declaration, publicName } of exported.values())
    for (const result of resultsOf(declaration))
      for (const one of referencesOf(result).flatMap((name) => declared(file, name)))
        if (isType(one.declaration) && !exported.has(one.declaration))
          unexported.add(`${publicName}: ${relative(root, one.file.path).replaceAll('\\', '/')} ${one.name}`)
  return [...unexported]
}

/** The types of what a declared function answers, in each of its forms. */
const resultsOf = (declaration: Node): readonly Node[] => {
  const functions =
    declaration.type === 'VariableDeclaration'
      ? list(declaration['declarations']).map(({ init }) => init)
      : [declaration]
  return functions.flatMap((value) => node(node(value)?.['returnType']) ?? [])
}

/** Whether a declaration needs a name in a signature. A class that is only declared is a brand, which nobody may name. */
const isType = ({ type, declare }: Node): boolean =>
  /^TS(?:Interface|TypeAlias)Declaration$/.test(type) || (type === 'ClassDeclaration' && declare !== true)

/** The names that the types of a declaration refer to, without its own type parameters. */
const referencesOf = (declaration: Node): readonly string[] => {
  const parameters = new Set<string>()
  const found = new Set<string>()
  const walk = (at: Node): void => {
    if (at['accessibility'] === 'private' || node(at['key'])?.type === 'PrivateIdentifier') return
    if (at.type === 'TSTypeParameter') parameters.add(nameOf(at['name']))
    if (at.type === 'TSMappedType') parameters.add(nameOf(at['key']))
    const parent = /Heritage|Implements/.test(at.type) ? at['expression'] : at['superClass']
    const reference = node(at['typeName'] ?? at['exprName'] ?? parent)
    if (reference !== undefined) found.add(nameOf(reference))
    for (const [field, value] of Object.entries(at))
      if (!isHidden(at, field))
        for (const child of [value].flat()) if (typeof node(child)?.type === 'string') walk(child as Node)
  }
  walk(declaration)
  return [...found].filter((name) => !parameters.has(name))
}

/** Whether a field is not in a signature: a body, or a value whose type is stated. */
const isHidden = (at: Node, field: string): boolean => {
  if (field === 'body') return at.type.includes('Function')
  if (field === 'right') return at.type === 'AssignmentPattern'
  if (field === 'init') return isObject(node(at['id'])?.['typeAnnotation'])
  if (field === 'value') return isObject(at['typeAnnotation'])
  if (field === 'expression' && /^TS(?:As|Satisfies)Expression$/.test(at.type))
    return nameOf(node(at['typeAnnotation'])?.['typeName']) !== 'const'
  return false
}

const isObject = (value: unknown): boolean => node(value) !== undefined

/** The number of public values, each counted once, and of the members of exported objects. */
export const publicValues = (): number =>
  [...exported.values()]
    .filter(({ declaration }) => !declaration.type.startsWith('TS'))
    .reduce((sum, one) => sum + 1 + membersOf(one).size, 0)

/** The members of an exported object, whose type is an interface. */
const membersOf = ({ file, declaration }: Declared): Set<string> => {
  const [declarator] = list(declaration['declarations'])
  const type = node(node(node(declarator?.['id'])?.['typeAnnotation'])?.['typeAnnotation'])
  return type === undefined ? new Set() : membersOfInterface(file, nameOf(type['typeName']))
}

const membersOfInterface = (file: File, name: string): Set<string> => {
  const members = new Set<string>()
  for (const one of declared(file, name)) {
    const inside = list(node(one.declaration['body'])?.['body'])
    if (inside.some(({ type }) => type === 'TSCallSignatureDeclaration')) continue // a function
    for (const { key } of inside) members.add(nameOf(key))
    for (const { expression } of list(one.declaration['extends']))
      for (const member of membersOfInterface(one.file, nameOf(expression))) members.add(member)
  }
  return members
}
