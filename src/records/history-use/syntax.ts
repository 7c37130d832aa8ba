/**
 * The uses of a history in code that parses: a walk over its syntax tree that knows, of names and expressions, whether
 * they are the history or a list made of it.
 *
 * It follows names through assignments, destructuring, parameters of functions that are called by name, and what those
 * return; not through fields of other objects.
 */
import { elementsOf, isFunction, isNode, nodeAt, nodesAt, textAt, type Node } from './node.ts'
import { functions, methods, patternsOf, type HistoryPattern, type Kind, type Method } from './pattern.ts'
import { bindingOf, scopeOf, type Binding, type Scope } from './scope.ts'

/** A place that reads the history, or (with a pattern) does something with it. */
export interface Use {
  readonly offset: number
  readonly pattern: HistoryPattern | undefined
}

/** The uses in a program. Cost: a few passes over its tree, until nothing more is learnt of its names. */
export const usesIn = (program: Node, names: ReadonlySet<string>): readonly Use[] => {
  const walk: Walk = { names, scopes: new Map(), returned: new Map(), uses: [], learnt: true, inside: undefined, inLoopTest: false }
  for (let pass = 0; walk.learnt && pass < mostPasses; pass++) {
    walk.uses = []
    walk.learnt = false
    inside(program, scopeOf(program, undefined, walk.scopes), walk)
  }
  return walk.uses
}

/** Each pass follows what is used before it is assigned one step further. */
const mostPasses = 8

interface Walk {
  readonly names: ReadonlySet<string>
  readonly scopes: Map<Node, Scope>
  /** What kind of value functions return. */
  readonly returned: Map<Node, Kind>
  uses: Use[]
  /** Whether this pass has learnt the kind of a name, or of what a function returns. */
  learnt: boolean
  /** The function that is being walked. */
  inside: Node | undefined
  inLoopTest: boolean
}

/** Visit everything in a node. */
const inside = (node: Node, scope: Scope, walk: Walk): void => {
  for (const field of Object.keys(node)) {
    const value = node[field]
    if (isNode(value)) visit(value, scope, walk)
    else if (Array.isArray(value)) for (const each of value as readonly unknown[]) if (isNode(each)) visit(each, scope, walk)
  }
}

/** Visit a node, and say what kind of value it gives. */
const visit = (node: Node | undefined, scope: Scope, walk: Walk): Kind | undefined => {
  if (node === undefined) return undefined
  const handler = handlers.get(node.type)
  if (handler !== undefined) return handler(node, scope, walk)
  if (!node.type.startsWith('TS')) inside(node, scope, walk) // what is left of TypeScript are types
  return undefined
}

type Handler = (node: Node, scope: Scope, walk: Walk) => Kind | undefined

const use = (node: Node, pattern: HistoryPattern | undefined, walk: Walk): void => {
  walk.uses.push({ offset: node.start, pattern: pattern === 'count' && walk.inLoopTest ? 'iterate' : pattern })
}

const useAll = (node: Node, method: Method, on: Kind, walk: Walk): Kind | undefined => {
  for (const pattern of patternsOf(method, on)) use(node, pattern, walk)
  return method.gives === 'same' ? on : method.gives
}

/** Either of two values: the history, if one of them is. */
const either = (left: Kind | undefined, right: Kind | undefined): Kind | undefined =>
  left === 'history' || right === 'history' ? 'history' : (left ?? right)

const learn = (binding: Binding | undefined, kind: Kind | undefined, walk: Walk): void => {
  if (binding === undefined || kind === undefined || either(binding.kind, kind) === binding.kind) return
  binding.kind = either(binding.kind, kind)
  walk.learnt = true
}

const inner =
  (field: string): Handler =>
  (node, scope, walk) =>
    visit(nodeAt(node, field), scope, walk)

const block: Handler = (node, scope, walk) => {
  inside(node, scopeOf(node, scope, walk.scopes), walk)
  return undefined
}

const identifier: Handler = (node, scope, walk) => {
  const name = textAt(node, 'name') ?? ''
  const binding = bindingOf(name, scope)
  if (binding !== undefined && (binding.kind !== undefined || !binding.given)) return binding.kind
  // Free, or given from outside (a parameter, an import): then its name says what it is.
  if (!walk.names.has(name)) return undefined
  use(node, undefined, walk)
  return 'history'
}

/** The name of a property, where it is known. */
const propertyOf = (node: Node, field: string): string | undefined => {
  const property = nodeAt(node, field)
  if (property === undefined) return undefined
  if (property.type === 'Literal') return String(property['value'])
  if (property.type === 'TemplateLiteral' && nodesAt(property, 'expressions').length === 0)
    return ((nodesAt(property, 'quasis')[0]?.['value'] ?? {}) as { readonly cooked?: string }).cooked
  return node['computed'] === true ? undefined : textAt(property, 'name')
}

const member: Handler = (node, scope, walk) => {
  const on = visit(nodeAt(node, 'object'), scope, walk)
  const property = nodeAt(node, 'property')
  const name = propertyOf(node, 'property')
  if (node['computed'] === true) visit(property, scope, walk)
  if (name !== undefined && walk.names.has(name)) {
    use(property ?? node, undefined, walk)
    return 'history'
  }
  if (on === undefined) return undefined
  const at = property ?? node
  if (name === 'length' || name === 'size' || name === 'len') use(at, 'count', walk)
  else if (node['computed'] === true && (name === undefined || /^\d+$/.test(name))) use(at, isLastIndex(property) ? 'last' : 'find', walk)
  return undefined
}

/** `list.length - 1` */
const isLastIndex = (index: Node | undefined): boolean =>
  index?.type === 'BinaryExpression' && index['operator'] === '-' && nodeAt(index, 'right')?.['value'] === 1 && propertyOf(nodeAt(index, 'left') ?? index, 'property') === 'length'

/** `-1`: counted from the end */
const isNegative = (node: Node | undefined): boolean => node?.type === 'UnaryExpression' && node['operator'] === '-'

const unwrapped = (node: Node | undefined): Node | undefined => {
  let at = node
  while (at !== undefined && wrappers.has(at.type)) at = nodeAt(at, 'expression')
  return at
}

const wrappers: ReadonlySet<string> = new Set([
  'ChainExpression',
  'ParenthesizedExpression',
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
])

const call: Handler = (node, scope, walk) => {
  const callee = unwrapped(nodeAt(node, 'callee'))
  const given = nodesAt(node, 'arguments')
  if (callee === undefined) return undefined
  const name = callee.type === 'Identifier' ? textAt(callee, 'name') : propertyOf(callee, 'property')
  const object = callee.type === 'MemberExpression' ? unwrapped(nodeAt(callee, 'object')) : undefined

  // Array.prototype.filter.call(history, …)
  const borrowed = name === 'call' || name === 'apply' ? methods.get(propertyOf(object ?? callee, 'property') ?? '') : undefined
  if (borrowed !== undefined) {
    const [on] = given.map((argument) => visit(argument, scope, walk))
    return on === undefined ? visit(object, scope, walk) : useAll(object ?? callee, borrowed, on, walk)
  }

  const on = callee.type === 'MemberExpression' ? visit(object, scope, walk) : undefined
  if (callee.type === 'MemberExpression' && callee['computed'] === true) visit(nodeAt(callee, 'property'), scope, walk)
  if (on === undefined && callee.type !== 'MemberExpression' && !isFunction(callee)) visit(callee, scope, walk)
  const kinds = given.map((argument) => visit(argument, scope, walk))

  if (on !== undefined) {
    const method = methods.get(name ?? '')
    const at = nodeAt(callee, 'property') ?? callee
    if (method === undefined) return undefined
    if (name === 'at' && isNegative(given[0])) return useAll(at, { patterns: ['last'] }, on, walk)
    return useAll(at, method, on, walk)
  }
  const made = isFunction(callee) ? new Map([[callee, scope]]) : callee.type === 'Identifier' ? bindingOf(name ?? '', scope)?.functions : undefined
  if (made !== undefined && made.size > 0) {
    const kind = callMade(made, kinds, walk)
    if (isFunction(callee)) visit(callee, scope, walk) // only now: its parameters are known
    return kind
  }
  const listed = kinds.find((kind) => kind !== undefined)
  const taking = listed !== undefined && takesLists(callee, object, name, scope) ? functions.get(name ?? '') : undefined
  return taking === undefined || listed === undefined ? undefined : useAll(callee, taking, listed === 'history' && name === 'from' ? 'history' : 'derived', walk)
}

/** `Object.groupBy(…)`, `_.filter(…)`, `sortBy(…)`; not `other.includes(…)`. */
const takesLists = (callee: Node, object: Node | undefined, name: string | undefined, scope: Scope): boolean => {
  if (callee.type === 'Identifier') return bindingOf(name ?? '', scope)?.given !== false
  return object?.type === 'Identifier' && libraries.has(textAt(object, 'name') ?? '')
}

const libraries: ReadonlySet<string> = new Set(['Array', 'Object', 'Map', 'Iterator', '_', 'lodash', 'R', 'Ramda'])

/** A call of functions that are known: their parameters get what is given, and it gives what they return. */
const callMade = (made: ReadonlyMap<Node, Scope>, given: readonly (Kind | undefined)[], walk: Walk): Kind | undefined => {
  let kind: Kind | undefined
  for (const [each, scope] of made) {
    for (const [index, parameter] of nodesAt(each, 'params').entries()) bind(parameter, given[index], scopeOf(each, scope, walk.scopes), walk)
    kind = either(kind, walk.returned.get(each))
  }
  return kind
}

/** A pattern gets a value. What it takes out of one that is nothing here may still be the history, by its name. */
const bind = (pattern: Node | undefined, kind: Kind | undefined, scope: Scope, walk: Walk): void => {
  switch (pattern?.type) {
    case 'Identifier':
      return learn(bindingOf(textAt(pattern, 'name') ?? '', scope), kind, walk)
    case 'AssignmentPattern':
      return bind(nodeAt(pattern, 'left'), either(kind, visit(nodeAt(pattern, 'right'), scope, walk)), scope, walk)
    case 'RestElement':
      return bind(nodeAt(pattern, 'argument'), kind && 'derived', scope, walk)
    case 'TSParameterProperty':
      return bind(nodeAt(pattern, 'parameter'), kind, scope, walk)
    case 'ArrayPattern':
      if (kind !== undefined) use(pattern, 'slice', walk)
      for (const each of elementsOf(pattern)) bind(each, each?.type === 'RestElement' ? kind : undefined, scope, walk)
      return
    case 'ObjectPattern':
      for (const each of nodesAt(pattern, 'properties')) bindProperty(each, kind, scope, walk)
      return
    case 'MemberExpression':
      return write(pattern, scope, walk)
    default:
  }
}

const bindProperty = (property: Node, kind: Kind | undefined, scope: Scope, walk: Walk): void => {
  if (property.type !== 'Property') return bind(property, undefined, scope, walk)
  const name = propertyOf(property, 'key')
  if (property['computed'] === true) visit(nodeAt(property, 'key'), scope, walk)
  const isHistory = name !== undefined && walk.names.has(name)
  if (isHistory) use(property, undefined, walk)
  else if (kind !== undefined && name === 'length') use(property, 'count', walk)
  else if (kind !== undefined && name !== undefined && /^\d+$/.test(name)) use(property, 'find', walk)
  bind(nodeAt(property, 'value'), isHistory ? 'history' : undefined, scope, walk)
}

/** An assignment to a member: of the history, or in the place of it. */
const write = (target: Node, scope: Scope, walk: Walk): void => {
  const at = unwrapped(target)
  if (at?.type !== 'MemberExpression') return
  const name = propertyOf(at, 'property')
  const on = visit(nodeAt(at, 'object'), scope, walk)
  if (at['computed'] === true) visit(nodeAt(at, 'property'), scope, walk)
  const isHistory = name !== undefined && walk.names.has(name)
  if (isHistory) use(nodeAt(at, 'property') ?? at, undefined, walk)
  if (isHistory || on === 'history') use(nodeAt(at, 'property') ?? at, 'write', walk)
}

const assignment: Handler = (node, scope, walk) => {
  const target = unwrapped(nodeAt(node, 'left'))
  const value = nodeAt(node, 'right')
  const kind = visit(value, scope, walk)
  bind(target, kind, scope, walk)
  remember(target, value, scope)
  if (node['operator'] === '=' || target === undefined) return kind
  // `history ??= []` gives what was there, where something was.
  return target.type === 'Identifier' ? either(kind, identifier(target, scope, walk)) : kind
}

const declarator: Handler = (node, scope, walk) => {
  const value = nodeAt(node, 'init')
  const kind = visit(value, scope, walk)
  bind(nodeAt(node, 'id'), kind, scope, walk)
  remember(nodeAt(node, 'id'), value, scope)
  return undefined
}

/** That a name stands for a function. */
const remember = (target: Node | undefined, given: Node | undefined, scope: Scope): void => {
  const value = unwrapped(given)
  if (target?.type === 'Identifier' && value !== undefined && isFunction(value)) bindingOf(textAt(target, 'name') ?? '', scope)?.functions.set(value, scope)
}

const change: Handler = (node, scope, walk) => {
  const target = unwrapped(nodeAt(node, 'argument'))
  const changes = node.type === 'UpdateExpression' || node['operator'] === 'delete'
  if (changes && target?.type === 'MemberExpression') write(target, scope, walk)
  else visit(target, scope, walk)
  return undefined
}

const functionNode: Handler = (node, scope, walk) => {
  const own = scopeOf(node, scope, walk.scopes)
  const outer = walk.inside
  walk.inside = node
  for (const parameter of nodesAt(node, 'params')) bind(parameter, undefined, own, walk)
  const body = nodeAt(node, 'body')
  const kind = visit(body, own, walk)
  if (body?.type !== 'BlockStatement') returns(node, kind, walk)
  walk.inside = outer
  return undefined
}

const returns = (made: Node | undefined, kind: Kind | undefined, walk: Walk): void => {
  if (made === undefined || kind === undefined || either(walk.returned.get(made), kind) === walk.returned.get(made)) return
  walk.returned.set(made, kind)
  walk.learnt = true
}

const loopOver: Handler = (node, outer, walk) => {
  const scope = scopeOf(node, outer, walk.scopes)
  const kind = visit(nodeAt(node, 'right'), scope, walk)
  if (kind !== undefined) use(node, 'iterate', walk)
  const left = nodeAt(node, 'left')
  for (const each of left?.type === 'VariableDeclaration' ? nodesAt(left, 'declarations').map((declared) => nodeAt(declared, 'id')) : [left]) bind(each, undefined, scope, walk)
  visit(nodeAt(node, 'body'), scope, walk)
  return undefined
}

/** `for (let i = 0; i < history.length; i++)` goes through it. */
const loop: Handler = (node, outer, walk) => {
  const scope = scopeOf(node, outer, walk.scopes)
  visit(nodeAt(node, 'init'), scope, walk)
  walk.inLoopTest = true
  visit(nodeAt(node, 'test'), scope, walk)
  walk.inLoopTest = false
  visit(nodeAt(node, 'update'), scope, walk)
  visit(nodeAt(node, 'body'), scope, walk)
  return undefined
}

const property: Handler = (node, scope, walk) => {
  if (node['computed'] === true) visit(nodeAt(node, 'key'), scope, walk)
  for (const decorator of nodesAt(node, 'decorators')) visit(decorator, scope, walk)
  visit(nodeAt(node, 'value'), scope, walk)
  return undefined
}

/** `[...history]`, `new Set(history)` */
const listOf =
  (field: string): Handler =>
  (node, scope, walk) => {
    const kinds = nodesAt(node, field).map((each) => visit(each, scope, walk))
    const spread = node.type === 'ArrayExpression' ? nodesAt(node, field).some(({ type }, index) => type === 'SpreadElement' && kinds[index] !== undefined) : collections.has(textAt(nodeAt(node, 'callee') ?? node, 'name') ?? '') && kinds[0] !== undefined
    if (field === 'arguments') visit(nodeAt(node, 'callee'), scope, walk)
    return spread ? 'derived' : undefined
  }

const collections: ReadonlySet<string> = new Set(['Set', 'Map', 'Array'])

const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['Identifier', identifier],
  ['MemberExpression', member],
  ['CallExpression', call],
  ['NewExpression', listOf('arguments')],
  ['ArrayExpression', listOf('elements')],
  ['SpreadElement', inner('argument')],
  ['AwaitExpression', inner('argument')],
  ...[...wrappers].map((type) => [type, inner('expression')] as const),
  ['LogicalExpression', (node, scope, walk) => either(visit(nodeAt(node, 'left'), scope, walk), visit(nodeAt(node, 'right'), scope, walk))],
  [
    'ConditionalExpression',
    (node, scope, walk) => {
      visit(nodeAt(node, 'test'), scope, walk)
      return either(visit(nodeAt(node, 'consequent'), scope, walk), visit(nodeAt(node, 'alternate'), scope, walk))
    },
  ],
  ['SequenceExpression', (node, scope, walk) => nodesAt(node, 'expressions').map((each) => visit(each, scope, walk)).at(-1)],
  ['AssignmentExpression', assignment],
  ['VariableDeclaration', (node, scope, walk) => (node['declare'] === true ? undefined : void inside(node, scope, walk))],
  ['VariableDeclarator', declarator],
  ['UpdateExpression', change],
  ['UnaryExpression', change],
  ['FunctionDeclaration', functionNode],
  ['FunctionExpression', functionNode],
  ['ArrowFunctionExpression', functionNode],
  ['ReturnStatement', (node, scope, walk) => void returns(walk.inside, visit(nodeAt(node, 'argument'), scope, walk), walk)],
  ['Program', block],
  ['BlockStatement', block],
  ['StaticBlock', block],
  ['SwitchStatement', block],
  ['CatchClause', block],
  ['ForOfStatement', loopOver],
  ['ForInStatement', loopOver],
  ['ForStatement', loop],
  ['WhileStatement', loop],
  ['DoWhileStatement', loop],
  ['Property', property],
  ['PropertyDefinition', property],
  ['AccessorProperty', property],
  ['MethodDefinition', property],
  ['LabeledStatement', inner('body')],
  // Names that are no values.
  ...['BreakStatement', 'ContinueStatement', 'MetaProperty', 'ImportDeclaration', 'ExportAllDeclaration'].map((type) => [type, () => undefined] as const),
  // What TypeScript adds that runs.
  ...['TSModuleDeclaration', 'TSExportAssignment', 'TSEnumMember'].map((type) => [type, (node: Node, scope: Scope, walk: Walk) => visit(nodeAt(node, 'body') ?? nodeAt(node, 'expression') ?? nodeAt(node, 'initializer'), scope, walk)] as const),
  ['TSModuleBlock', block],
  ['TSEnumDeclaration', (node, scope, walk) => void inside(node, scope, walk)],
])
