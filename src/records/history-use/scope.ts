/** Scopes: which names are declared where, so that a name is told from another one of the same spelling. */
import { elementsOf, isFunction, isNode, nodeAt, nodesAt, textAt, type Node } from './node.ts'
import { nothing, type Binding, type Scope } from './value.ts'

/** The binding of a name; undefined if nothing in the code declares it. */
export const bindingOf = (name: string, scope: Scope): Binding | undefined => {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const binding = at.bindings.get(name)
    if (binding !== undefined) return binding
  }
  return undefined
}

/** The scope of a program, function, block or loop, made once with everything that is declared in it. */
export const scopeOf = (node: Node, parent: Scope | undefined, scopes: Map<Node, Scope>): Scope => {
  const known = scopes.get(node)
  if (known !== undefined) return known
  const scope: Scope = { parent, bindings: new Map() }
  scopes.set(node, scope)
  if (isFunction(node)) {
    for (const parameter of nodesAt(node, 'params')) declare(parameter, node, scope)
    if (node.type === 'FunctionExpression') declare(nodeAt(node, 'id'), undefined, scope)
    hoist(nodeAt(node, 'body'), scope)
  } else if (node.type === 'Program') hoist(node, scope)
  else if (node.type === 'CatchClause') declare(nodeAt(node, 'param'), undefined, scope)
  for (const statement of [
    ...nodesAt(node, 'body'),
    ...nodesAt(node, 'cases').flatMap((each) => nodesAt(each, 'consequent')),
    nodeAt(node, 'init'),
    nodeAt(node, 'left'),
  ])
    declareStatement(statement, scope)
  return scope
}

const declareStatement = (given: Node | undefined, scope: Scope): void => {
  const exported = given?.type === 'ExportNamedDeclaration' || given?.type === 'ExportDefaultDeclaration'
  const statement = exported ? nodeAt(given, 'declaration') : given
  if (statement === undefined || statement['declare'] === true) return // `declare` tells of what is outside
  if (statement.type === 'VariableDeclaration')
    for (const each of nodesAt(statement, 'declarations')) declare(nodeAt(each, 'id'), undefined, scope)
  else if (['FunctionDeclaration', 'ClassDeclaration', 'TSEnumDeclaration'].includes(statement.type))
    declare(nodeAt(statement, 'id'), undefined, scope)
  else if (statement.type === 'ImportDeclaration')
    for (const each of nodesAt(statement, 'specifiers')) declare(nodeAt(each, 'local'), statement, scope)
}

/** `var` belongs to the function around it, however deep it stands. */
const hoist = (node: Node | undefined, scope: Scope): void => {
  if (node === undefined) return
  if (node.type === 'VariableDeclaration' && node['kind'] === 'var') declareStatement(node, scope)
  for (const field of Object.keys(node)) {
    const value = node[field]
    for (const each of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      if (isNode(each) && !isFunction(each)) hoist(each, scope)
  }
}

/** Every name in a pattern. */
const declare = (pattern: Node | undefined, given: Node | undefined, scope: Scope): void => {
  switch (pattern?.type) {
    case 'Identifier': {
      const name = textAt(pattern, 'name') ?? ''
      if (!scope.bindings.has(name)) scope.bindings.set(name, { value: nothing, given })
      return
    }
    case 'AssignmentPattern':
      return declare(nodeAt(pattern, 'left'), given, scope)
    case 'RestElement':
      return declare(nodeAt(pattern, 'argument'), given, scope)
    case 'TSParameterProperty':
      return declare(nodeAt(pattern, 'parameter'), given, scope)
    case 'ArrayPattern':
      for (const each of elementsOf(pattern)) declare(each, given, scope)
      return
    case 'ObjectPattern':
      for (const each of nodesAt(pattern, 'properties'))
        declare(each.type === 'Property' ? nodeAt(each, 'value') : each, given, scope)
      return
    default:
  }
}
