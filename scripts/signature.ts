/** The signatures of public values and the fields of options objects, a line each, as the sources state them. */
import { declared, fileAt, list, nameOf, node, type Declared, type File, type Node } from '../test/declarations.ts'

/** The types that programs call, whose members API.md lists like those of options. */
const called: ReadonlySet<string> = new Set([
  ...['History', 'View', 'Session', 'SessionReader', 'Store', 'BlockStore', 'KeyValueStore'],
  ...['RunStream', 'RunResult', 'SessionLease', 'Redactor', 'CallLog', 'RefHistory', 'Recorder', 'Model'],
])

/** The signatures of a name that a file exports: several for overloads. Empty where another package declares it. */
export const signaturesOf = (source: string, name: string): readonly string[] => {
  const found = declared(fileAt(source), name)
  const overloads = found.filter(({ declaration }) => declaration.type === 'TSDeclareFunction')
  return (overloads.length > 0 ? overloads : found).flatMap((declared) => {
    const signature = signatureOf(declared)
    return signature === undefined ? [] : [`${name}${signature}`]
  })
}

/**
 * The options that exported names take, by name, each with its fields and those that it extends. A reader needs the fields
 * of an object of options also where its type is not exported.
 */
export const optionsOf = (source: string, names: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const options = new Map<string, readonly string[]>()
  const add = (file: File, name: string): void => {
    const fields = declared(file, name).flatMap(fieldsOfType)
    if ((name.endsWith('Options') || called.has(name)) && fields.length > 0) options.set(name, fields)
  }
  for (const name of names) {
    add(fileAt(source), name)
    for (const { file, declaration } of declared(fileAt(source), name))
      for (const [option] of namesIn({ file, declaration }).matchAll(/\b[A-Z]\w*Options\b/g)) add(file, option)
  }
  return options
}

/** The text of a declaration in which its options are named: a signature, or the members of a type. */
const namesIn = (one: Pick<Declared, 'file' | 'declaration'>): string =>
  one.declaration.type.startsWith('TSDeclare') || !one.declaration.type.startsWith('TS')
    ? list(one.declaration['declarations'])
        .map(({ id }) => signatureOf({ ...one, name: nameOf(id), statement: one.declaration }) ?? '')
        .concat(signatureOf({ ...one, name: '', statement: one.declaration }) ?? '')
        .join(' ')
    : textOf(one.file, one.declaration)

const fieldsOfType = ({ file, declaration }: Declared): readonly string[] => {
  if (declaration.type === 'TSTypeAliasDeclaration') return fieldsIn(file, node(declaration['typeAnnotation']))
  if (declaration.type !== 'TSInterfaceDeclaration') return []
  const own = list(node(declaration['body'])?.['body'])
    .filter(({ type }) => type === 'TSPropertySignature' || type === 'TSMethodSignature')
    .map((member) => textOf(file, member).replace(/^readonly /, ''))
  const parents = list(declaration['extends']).flatMap(({ expression, typeArguments }) =>
    typeArguments ? [] : declared(file, nameOf(expression)).flatMap(fieldsOfType),
  )
  return [...own, ...parents]
}

/** The parts of an alias: each a field, or the type as it is written. */
const fieldsIn = (file: File, type: Node | undefined): readonly string[] => {
  if (type?.type === 'TSIntersectionType') return list(type['types']).flatMap((part) => fieldsIn(file, part))
  if (type?.type === 'TSTypeLiteral')
    return list(type['members']).map((member) => textOf(file, member).replace(/^readonly /, ''))
  return type === undefined ? [] : [`and ${textOf(file, type)}`]
}

const signatureOf = ({ file, name, declaration }: Declared): string | undefined => {
  if (/^(?:FunctionDeclaration|TSDeclareFunction)$/.test(declaration.type)) return callOf(file, declaration)
  if (declaration.type === 'ClassDeclaration') {
    const constructor = list(node(declaration['body'])?.['body']).find(({ kind }) => kind === 'constructor')
    const parent = node(declaration['superClass'])
    const built = constructor && node(constructor['value'])
    return `${built ? callOf(file, built) : parent ? '' : '()'}: a class${parent ? `, extends ${textOf(file, parent)}` : ''}`
  }
  const declarator = list(declaration['declarations']).find(({ id }) => nameOf(id) === name)
  if (declarator === undefined) return undefined
  const stated = node(node(node(declarator['id'])?.['typeAnnotation'])?.['typeAnnotation'])
  if (stated !== undefined) return `: ${textOf(file, stated)}`
  const value = node(declarator['init'])
  if (value === undefined) return undefined
  if (value.type === 'ArrowFunctionExpression' || value.type === 'FunctionExpression') return callOf(file, value)
  const cast = node(value['typeAnnotation'])
  const isConst = cast !== undefined && nameOf(cast['typeName']) === 'const'
  return cast === undefined || isConst
    ? ` = ${textOf(file, node(value['expression']) ?? value)}`
    : `: ${textOf(file, cast)}`
}

const callOf = (file: File, { typeParameters, params, returnType }: Node): string => {
  const generic = node(typeParameters)
  const result = node(returnType)
  const shown = list(params).map((parameter) => parameterOf(file, parameter))
  return `${generic ? textOf(file, generic) : ''}(${shown.join(', ')})${result ? textOf(file, result) : ''}`
}

const parameterOf = (file: File, parameter: Node): string => {
  const target = node(parameter['left'])
  const inner = target ?? node(parameter['parameter']) ?? parameter
  if (inner !== parameter && target === undefined) return parameterOf(file, inner)
  const type = node(inner['typeAnnotation'])
  const name =
    inner.type === 'ObjectPattern'
      ? 'options'
      : inner.type === 'RestElement'
        ? `...${nameOf(inner['argument'])}`
        : nameOf(inner)
  const isOptional = target !== undefined || inner['optional'] === true
  return `${name}${isOptional ? '?' : ''}${type ? textOf(file, type) : ''}`
}

/** A piece of source in one line, without comments. */
const textOf = ({ text }: File, { start, end }: Node): string =>
  text
    .slice(start, end)
    .replaceAll(/\/\*[^]*?\*\/|(?<![:'"`])\/\/[^\n]*/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([([{<]) (?=[^ ])/g, (all, open: string) => (open === '{' ? all : open))
    .replaceAll(/,? (?=[)\]>](?![=]))/g, '')
    .replaceAll(/(?<=[:(<]) ?\| /g, (all) => (all.startsWith(' ') ? ' ' : ''))
    .replace(/[;,]$/, '')
    .trim()
