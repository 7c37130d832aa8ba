/**
 * The uses of a history in code that parses: a walk over its syntax tree that knows, of names and expressions, whether
 * they are the history or a list made of it.
 *
 * It follows values through names, fields, `this`, promises, functions of the code and the callbacks they are given,
 * without regard to the order in which things happen: what a name may ever stand for, it stands for everywhere.
 */
import { callLibrary, callMethod, callNamed, callValue, construct, constructorName } from './calls.ts'
import { copyFields, elementOf, fieldOf, setField } from './fields.ts'
import { elementsOf, isFunction, isNode, nodeAt, nodesAt, textAt, type Node } from './node.ts'
import { bindingOf, scopeOf } from './scope.ts'
import type { Binding, Scope } from './value.ts'
import {
  concatenated,
  fromOutside,
  holderOf,
  join,
  joined,
  listOf,
  nothing,
  textsOf,
  thingOf,
  unmade,
  type Value,
} from './value.ts'
import { learn, learnField, learnName, thingAt, use, type Use, type Walk } from './walk.ts'

/**
 * The uses in a program, by what the history is called, and what an object is called that has it.
 *
 * Cost    some passes over its tree, until nothing more is learnt of its names
 */
export const usesIn = (program: Node, names: ReadonlySet<string>, holders: ReadonlySet<string>): readonly Use[] => {
  const walk: Walk = {
    names,
    holders,
    scopes: new Map(),
    things: new Map(),
    uses: [],
    learnt: true,
    named: false,
    inside: undefined,
    self: fromOutside,
    parent: nothing,
    inLoopTest: false,
  }
  for (const named of [false, true]) {
    walk.named = named
    walk.learnt = true
    for (let pass = 0; walk.learnt && pass < mostPasses; pass++) {
      walk.uses = []
      walk.learnt = false
      inside(program, scopeOf(program, undefined, walk.scopes), walk)
    }
  }
  return walk.uses
}

/** Each pass follows what is used before it is assigned one step further. */
const mostPasses = 12

/** Visit everything in a node. */
const inside = (node: Node, scope: Scope, walk: Walk): void => {
  for (const field of Object.keys(node)) {
    const value = node[field]
    if (isNode(value)) visit(value, scope, walk)
    else if (Array.isArray(value))
      for (const each of value as readonly unknown[]) if (isNode(each)) visit(each, scope, walk)
  }
}

/** Visit a node, and say what value it gives. */
const visit = (node: Node | undefined, scope: Scope, walk: Walk): Value => {
  if (node === undefined) return nothing
  const handler = handlers.get(node.type)
  if (handler !== undefined) return handler(node, scope, walk) ?? nothing
  if (!node.type.startsWith('TS')) inside(node, scope, walk) // what is left of TypeScript are types
  return fromOutside
}

/** What a node gives; undefined: nothing that matters. */
type Handler = (node: Node, scope: Scope, walk: Walk) => Value | undefined

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
  if (binding === undefined && (strangers.has(name) || name === 'undefined')) return nothing
  if (binding !== undefined && !isGiven(binding, walk)) return binding.value
  // Free, or given from outside (a parameter, an import): then its name says what it is.
  const value = binding?.value ?? fromOutside
  if (value.list === undefined && walk.names.has(name)) {
    use(node, undefined, walk)
    return join(value, listOf('history'))
  }
  return walk.holders.has(name) ? join(value, holderOf('history')) : join(value, fromOutside)
}

/** Whether a name gets its value from outside, and nothing in the code says what it is. */
const isGiven = ({ given }: Binding, walk: Walk): boolean =>
  given !== undefined && (!isFunction(given) || (walk.named && !thingAt(given, 'function', walk).called))

/** Objects that every program finds, and that have no history. */
const strangers: ReadonlySet<string> = new Set([
  'localStorage',
  'sessionStorage',
  'document',
  'navigator',
  'process',
  'console',
  'Math',
])

/** The names that a property may have; undefined, if that is not known. */
const keysOf = (node: Node, field: string, scope: Scope, walk: Walk): readonly string[] | undefined => {
  const property = nodeAt(node, field)
  if (property === undefined) return undefined
  if (node['computed'] === true) {
    const { texts } = visit(property, scope, walk)
    return texts.size === 0 ? undefined : [...texts]
  }
  if (property.type === 'Literal') return [String(property['value'])]
  const name = textAt(property, 'name')
  return name === undefined ? undefined : [property.type === 'PrivateIdentifier' ? `#${name}` : name]
}

const member: Handler = (node, scope, walk) => {
  const on = visit(nodeAt(node, 'object'), scope, walk)
  const names = keysOf(node, 'property', scope, walk)
  const at = nodeAt(node, 'property') ?? node
  const object = nodeAt(node, 'object')
  // `Array.prototype.filter` is a method of any list, like `[].filter`.
  if (object?.type === 'Identifier' && textAt(object, 'name') === 'Array' && names?.[0] === 'prototype')
    return thingOf(thingAt(node, 'array', walk))
  if (names !== undefined) return joined(names.map((name) => fieldOf(on, name, at, walk)))
  if (on.list !== undefined) use(at, isLastIndex(at) ? 'last' : 'find', walk)
  return elementOf(on)
}

/** `list.length - 1` */
const isLastIndex = (index: Node): boolean =>
  index.type === 'BinaryExpression' &&
  index['operator'] === '-' &&
  nodeAt(index, 'right')?.['value'] === 1 &&
  textAt(nodeAt(nodeAt(index, 'left') ?? index, 'property') ?? index, 'name') === 'length'

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

const argumentsOf = (node: Node, scope: Scope, walk: Walk): readonly Value[] =>
  nodesAt(node, 'arguments').map((argument) => {
    const value = visit(argument, scope, walk)
    return argument.type === 'SpreadElement' && value.list === undefined ? elementOf(value) : value
  })

const call: Handler = (node, scope, walk) => {
  const callee = unwrapped(nodeAt(node, 'callee'))
  if (callee === undefined) return fromOutside
  if (callee.type === 'Super') return void construct(walk.parent, argumentsOf(node, scope, walk), walk)
  if (callee.type !== 'MemberExpression') {
    const value = visit(callee, scope, walk)
    const given = argumentsOf(node, scope, walk)
    const name = callee.type === 'Identifier' && isFree(callee, scope) ? textAt(callee, 'name') : undefined
    return (
      (name === undefined ? undefined : callNamed(name, given, callee, walk)) ?? callValue(value, given, node, walk)
    )
  }
  const object = unwrapped(nodeAt(callee, 'object'))
  const on = visit(object, scope, walk)
  const names = keysOf(callee, 'property', scope, walk)
  const given = argumentsOf(node, scope, walk)
  const at = nodeAt(callee, 'property') ?? callee
  if (names === undefined) return callValue(elementOf(on), given, at, walk)
  const library = object?.type === 'Identifier' && isFree(object, scope) ? textAt(object, 'name') : undefined
  return joined(
    names.map(
      (name) =>
        (library === undefined ? undefined : callLibrary(library, name, given, callee, walk)) ??
        callMethod(on, name, given, at, walk),
    ),
  )
}

const isFree = (node: Node, scope: Scope): boolean => {
  const binding = bindingOf(textAt(node, 'name') ?? '', scope)
  return binding === undefined || binding.given !== undefined
}

const create: Handler = (node, scope, walk) => {
  const callee = unwrapped(nodeAt(node, 'callee')) ?? node
  const value = visit(callee, scope, walk)
  const given = argumentsOf(node, scope, walk)
  const name = isFree(callee, scope) ? textAt(callee, 'name') : undefined
  if (name !== undefined && collections.has(name) && given[0]?.list !== undefined) return listOf('derived')
  if (name === 'Promise') {
    const resolver = thingAt(node, 'resolver', walk)
    return join(callValue(given[0] ?? nothing, [thingOf(resolver)], node, walk), resolver.rest)
  }
  const made = construct(value, given, walk)
  if (made !== nothing) return made
  // An object that the code makes itself. It may have the history if it is given it.
  if (given.some(({ list, holder }) => list !== undefined || holder !== undefined)) return fromOutside
  const thing = thingAt(node, 'object', walk)
  learn(thing, 'rest', fromOutside, walk)
  return thingOf(thing)
}

const collections: ReadonlySet<string> = new Set(['Set', 'Map', 'Array'])

/** A pattern gets a value. */
const bind = (pattern: Node | undefined, value: Value, scope: Scope, walk: Walk): void => {
  switch (pattern?.type) {
    case 'Identifier':
      return learnName(bindingOf(textAt(pattern, 'name') ?? '', scope), value, walk)
    case 'AssignmentPattern':
      return bind(nodeAt(pattern, 'left'), join(value, visit(nodeAt(pattern, 'right'), scope, walk)), scope, walk)
    case 'RestElement':
      return bind(nodeAt(pattern, 'argument'), value, scope, walk)
    case 'TSParameterProperty': {
      const parameter = nodeAt(pattern, 'parameter')
      bind(parameter, value, scope, walk)
      const name = parameter?.type === 'AssignmentPattern' ? nodeAt(parameter, 'left') : parameter
      if (name?.type === 'Identifier')
        setField(walk.self, textAt(name, 'name'), identifier(name, scope, walk) ?? nothing, name, walk)
      return
    }
    case 'ArrayPattern':
      if (value.list !== undefined) use(pattern, 'slice', walk)
      for (const [index, each] of elementsOf(pattern).entries())
        if (each?.type === 'RestElement') bind(each, value.list === undefined ? value : listOf('derived'), scope, walk)
        else
          bind(
            each,
            value.list === undefined ? elementAt(value, index, each ?? pattern, walk) : fromOutside,
            scope,
            walk,
          )
      return
    case 'ObjectPattern':
      for (const each of nodesAt(pattern, 'properties')) {
        if (each.type !== 'Property') bind(each, value.list === undefined ? value : nothing, scope, walk)
        else {
          const names = keysOf(each, 'key', scope, walk)
          const found = names?.map((name) => fieldOf(value, name, each, walk))
          bind(nodeAt(each, 'value'), found === undefined ? elementOf(value) : joined(found), scope, walk)
        }
      }
      return
    case 'MemberExpression':
      return write(pattern, value, scope, walk)
    default:
      if (pattern !== undefined && wrappers.has(pattern.type)) bind(unwrapped(pattern), value, scope, walk)
  }
}

const elementAt = (value: Value, index: number, at: Node, walk: Walk): Value =>
  [...value.things].some(({ fields }) => fields.has(String(index)))
    ? fieldOf(value, String(index), at, walk)
    : elementOf(value)

/** An assignment to a member: of the history, in the place of it, or of an object of the code. */
const write = (target: Node, value: Value, scope: Scope, walk: Walk): void => {
  const at = unwrapped(target)
  if (at?.type !== 'MemberExpression') return
  const on = visit(nodeAt(at, 'object'), scope, walk)
  for (const name of keysOf(at, 'property', scope, walk) ?? [undefined])
    setField(on, name, value, nodeAt(at, 'property') ?? at, walk)
}

const assignment: Handler = (node, scope, walk) => {
  const target = unwrapped(nodeAt(node, 'left'))
  const right = visit(nodeAt(node, 'right'), scope, walk)
  const operator = node['operator']
  const left =
    operator === '=' || target?.type !== 'Identifier' ? nothing : (identifier(target, scope, walk) ?? nothing)
  const value = operator === '+=' ? concatenated(left, right) : right
  bind(target, value, scope, walk)
  // `history ??= []` gives what was there, where something was.
  return operator === '+=' ? value : join(value, left)
}

const declarator: Handler = (node, scope, walk) => {
  const value = nodeAt(node, 'init')
  if (value !== undefined) bind(nodeAt(node, 'id'), visit(value, scope, walk), scope, walk)
  return undefined
}

const change: Handler = (node, scope, walk) => {
  const target = unwrapped(nodeAt(node, 'argument'))
  const changes = node.type === 'UpdateExpression' || node['operator'] === 'delete'
  if (changes && target?.type === 'MemberExpression') return void write(target, nothing, scope, walk)
  const value = visit(target, scope, walk)
  if (node['operator'] !== '-') return undefined
  return textsOf(value.texts.size === 0 ? ['-'] : [...value.texts].map((text) => `-${text}`))
}

const functionNode: Handler = (node, scope, walk) => {
  const made = thingAt(node, 'function', walk, { node, scope })
  const own = scopeOf(node, scope, walk.scopes)
  const name = textAt(nodeAt(node, 'id') ?? node, 'name')
  if (name !== undefined)
    learnName(bindingOf(name, node.type === 'FunctionExpression' ? own : scope), thingOf(made), walk)
  const { inside: outer, self } = walk
  walk.inside = made
  if (node.type !== 'ArrowFunctionExpression') {
    const instance = thingAt(node, 'instance', walk)
    if (!made.fields.has('prototype')) learnField(made, 'prototype', thingOf(instance), walk)
    walk.self = made.self === nothing && walk.named ? fromOutside : made.self
  }
  const otherwise = walk.named ? fromOutside : nothing
  for (const [index, parameter] of nodesAt(node, 'params').entries()) {
    const value = made.called ? (made.given[index] ?? nothing) : otherwise
    if (parameter.type === 'RestElement') {
      const all = thingAt(parameter, 'array', walk)
      learn(all, 'rest', made.called ? joined(made.given.slice(index).filter(Boolean)) : otherwise, walk)
      bind(parameter, thingOf(all), own, walk)
    } else bind(parameter, value, own, walk)
  }
  const body = nodeAt(node, 'body')
  const value = visit(body, own, walk)
  if (body?.type !== 'BlockStatement') learn(made, 'returned', value, walk)
  if (node['generator'] === true) learn(made, 'returned', thingOf(thingAt(node, 'array', walk)), walk)
  walk.inside = outer
  walk.self = self
  return thingOf(made)
}

const classNode: Handler = (node, scope, walk) => {
  const made = thingAt(node, 'class', walk)
  const instance = thingAt(node, 'instance', walk)
  if (!made.fields.has('prototype')) learnField(made, 'prototype', thingOf(instance), walk)
  const name = textAt(nodeAt(node, 'id') ?? node, 'name')
  if (name !== undefined) learnName(bindingOf(name, scope), thingOf(made), walk)
  for (const decorator of nodesAt(node, 'decorators')) visit(decorator, scope, walk)
  const { self, parent } = walk
  const base = nodeAt(node, 'superClass')
  walk.parent = visit(base, scope, walk)
  learn(made, 'parent', walk.parent, walk)
  for (const each of walk.parent.things) learn(instance, 'parent', each.fields.get('prototype') ?? nothing, walk)
  for (const each of nodesAt(nodeAt(node, 'body') ?? node, 'body')) {
    const on = each['static'] === true ? made : instance
    walk.self = thingOf(on)
    if (each.type === 'StaticBlock') block(each, scope, walk)
    else element(each, on, made, scope, walk)
  }
  walk.self = self
  walk.parent = parent
  return thingOf(made)
}

/** A member of a class. */
const element = (node: Node, on: ReturnType<typeof thingAt>, made: typeof on, scope: Scope, walk: Walk): void => {
  for (const decorator of nodesAt(node, 'decorators')) visit(decorator, scope, walk)
  const names = keysOf(node, 'key', scope, walk)
  const given = nodeAt(node, 'value')
  if (node['kind'] === 'constructor' && given !== undefined)
    learn(thingAt(given, 'function', walk, { node: given, scope }), 'self', thingOf(on), walk)
  const value = visit(given, scope, walk)
  if (node['kind'] === 'constructor') learnField(made, constructorName, value, walk)
  // A field that only has a type says nothing of what is in it.
  else if (given !== undefined) for (const name of names ?? []) learnMember(node, name, value, on, walk)
}

/** A getter stands for what it returns. */
const learnMember = (node: Node, name: string, value: Value, on: ReturnType<typeof thingAt>, walk: Walk): void => {
  if (node['kind'] !== 'get' && node['kind'] !== 'set') return learnField(on, name, value, walk)
  for (const each of value.things) {
    learn(each, 'self', thingOf(on), walk)
    if (node['kind'] === 'get') learnField(on, name, each.returned, walk)
  }
}

const object: Handler = (node, scope, walk) => {
  const made = thingAt(node, 'object', walk)
  let value = thingOf(made)
  for (const each of nodesAt(node, 'properties')) {
    if (each.type === 'SpreadElement') {
      const spread = visit(each, scope, walk)
      copyFields(spread, value, each, walk)
      value = join(value, unmade(spread))
    } else {
      const names = keysOf(each, 'key', scope, walk)
      const field = visit(nodeAt(each, 'value'), scope, walk)
      if (names === undefined) learn(made, 'rest', field, walk)
      for (const name of names ?? []) learnMember(each, name, field, made, walk)
    }
  }
  return value
}

const array: Handler = (node, scope, walk) => {
  const made = thingAt(node, 'array', walk)
  let value = thingOf(made)
  for (const [index, each] of elementsOf(node).entries()) {
    const found = visit(each, scope, walk)
    if (each?.type !== 'SpreadElement') learnField(made, String(index), found, walk)
    else if (found.list !== undefined) value = join(value, listOf('derived'))
    else learn(made, 'rest', elementOf(found), walk)
  }
  return value
}

const enumeration: Handler = (node, scope, walk) => {
  const made = thingAt(node, 'object', walk)
  for (const each of nodesAt(nodeAt(node, 'body') ?? node, 'members')) {
    const id = nodeAt(each, 'id') ?? each
    learnField(made, textAt(id, 'name') ?? String(id['value']), visit(nodeAt(each, 'initializer'), scope, walk), walk)
  }
  learnName(bindingOf(textAt(nodeAt(node, 'id') ?? node, 'name') ?? '', scope), thingOf(made), walk)
  return undefined
}

const loopOver: Handler = (node, outer, walk) => {
  const scope = scopeOf(node, outer, walk.scopes)
  const over = visit(nodeAt(node, 'right'), scope, walk)
  if (over.list !== undefined) use(node, 'iterate', walk)
  const each = node.type === 'ForOfStatement' ? elementOf(over) : nothing
  const left = nodeAt(node, 'left')
  for (const target of left?.type === 'VariableDeclaration'
    ? nodesAt(left, 'declarations').map((declared) => nodeAt(declared, 'id'))
    : [left])
    bind(target, each, scope, walk)
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

const caught: Handler = (node, outer, walk) => {
  const scope = scopeOf(node, outer, walk.scopes)
  bind(nodeAt(node, 'param'), fromOutside, scope, walk)
  visit(nodeAt(node, 'body'), scope, walk)
  return undefined
}

const template: Handler = (node, scope, walk) => {
  const values = nodesAt(node, 'expressions').map((each) => visit(each, scope, walk))
  const texts = nodesAt(node, 'quasis').map(({ value }) =>
    textsOf([((value ?? {}) as { readonly cooked?: string }).cooked ?? '']),
  )
  return texts.reduce((text, next, index) => concatenated(concatenated(text, values[index - 1] ?? nothing), next))
}

const binary: Handler = (node, scope, walk) => {
  const left = visit(nodeAt(node, 'left'), scope, walk)
  const right = visit(nodeAt(node, 'right'), scope, walk)
  return node['operator'] === '+' ? concatenated(left, right) : undefined
}

const literal: Handler = ({ value }) =>
  typeof value === 'string' || typeof value === 'number' ? textsOf([String(value)]) : undefined

const yielding: Handler = (node, scope, walk) => {
  const value = visit(nodeAt(node, 'argument'), scope, walk)
  const made = walk.inside
  if (made?.code === undefined) return fromOutside
  const all = node['delegate'] === true
  if (all && value.list !== undefined) learn(made, 'returned', listOf('derived'), walk)
  learn(thingAt(made.code.node, 'array', walk), 'rest', all ? elementOf(value) : value, walk)
  return fromOutside
}

const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['Identifier', identifier],
  ['MemberExpression', member],
  ['CallExpression', call],
  ['NewExpression', create],
  ['ObjectExpression', object],
  ['ArrayExpression', array],
  ['Literal', literal],
  ['TemplateLiteral', template],
  ['BinaryExpression', binary],
  ['SpreadElement', inner('argument')],
  ['AwaitExpression', inner('argument')],
  ['YieldExpression', yielding],
  ['ThisExpression', (_node, _scope, walk) => walk.self],
  ...[...wrappers].map((type) => [type, inner('expression')] as const),
  [
    'LogicalExpression',
    (node, scope, walk) => join(visit(nodeAt(node, 'left'), scope, walk), visit(nodeAt(node, 'right'), scope, walk)),
  ],
  [
    'ConditionalExpression',
    (node, scope, walk) => {
      visit(nodeAt(node, 'test'), scope, walk)
      return join(visit(nodeAt(node, 'consequent'), scope, walk), visit(nodeAt(node, 'alternate'), scope, walk))
    },
  ],
  [
    'SequenceExpression',
    (node, scope, walk) =>
      nodesAt(node, 'expressions')
        .map((each) => visit(each, scope, walk))
        .at(-1),
  ],
  ['AssignmentExpression', assignment],
  [
    'VariableDeclaration',
    (node, scope, walk) => (node['declare'] === true ? undefined : void inside(node, scope, walk)),
  ],
  ['VariableDeclarator', declarator],
  ['UpdateExpression', change],
  ['UnaryExpression', change],
  ['FunctionDeclaration', functionNode],
  ['FunctionExpression', functionNode],
  ['ArrowFunctionExpression', functionNode],
  ['ClassDeclaration', classNode],
  ['ClassExpression', classNode],
  [
    'ReturnStatement',
    (node, scope, walk) => {
      const value = visit(nodeAt(node, 'argument'), scope, walk)
      if (walk.inside !== undefined) learn(walk.inside, 'returned', value, walk)
      return undefined
    },
  ],
  ['Program', block],
  ['BlockStatement', block],
  ['StaticBlock', block],
  ['SwitchStatement', block],
  ['CatchClause', caught],
  ['ForOfStatement', loopOver],
  ['ForInStatement', loopOver],
  ['ForStatement', loop],
  ['WhileStatement', loop],
  ['DoWhileStatement', loop],
  ['LabeledStatement', inner('body')],
  // Names that are no values.
  ...['BreakStatement', 'ContinueStatement', 'MetaProperty', 'ImportDeclaration', 'ExportAllDeclaration'].map(
    (type) => [type, () => undefined] as const,
  ),
  // What TypeScript adds that runs.
  ...['TSModuleDeclaration', 'TSExportAssignment'].map(
    (type) =>
      [
        type,
        (node: Node, scope: Scope, walk: Walk) =>
          visit(nodeAt(node, 'body') ?? nodeAt(node, 'expression'), scope, walk),
      ] as const,
  ),
  ['TSModuleBlock', block],
  ['TSEnumDeclaration', enumeration],
])
