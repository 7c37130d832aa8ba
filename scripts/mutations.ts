/** The places of a file's code that can be changed, for `npm run mutate`: no types, no texts. */
import { parseSync } from 'vite'

/** A change of one place. */
export interface Mutation {
  readonly path: string
  readonly line: number
  readonly start: number
  readonly end: number
  /** What takes its place. */
  readonly to: string
  /** A semicolon, where a line that begins with a bracket would continue the one above. */
  readonly lead: '' | ';'
  /** Whether the place runs when its file is loaded. */
  readonly isTop: boolean
}
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly value?: unknown
  readonly operator?: string
  readonly computed?: boolean
  readonly label?: unknown
  readonly [child: string]: unknown
}

const turned: { readonly [operator: string]: string } = {
  ...{ '===': '!==', '!==': '===', '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
  ...{ '&&': '||', '||': '&&', '??': '&&', '+=': '-=', '-=': '+=' },
}

/** Every change of a file, in the order of its syntax tree. */
export const mutationsOf = (path: string, code: string): readonly Mutation[] => {
  const mutations: Mutation[] = []
  const textOf = (node: unknown): string => code.slice((node as Node).start, (node as Node).end)
  const visit = (node: Node, parent: Node, isTop: boolean, statement: number): void => {
    const isStatement = node.type === 'ExpressionStatement' && /Program|Block|SwitchCase/.test(parent.type)
    const from = isStatement ? node.start : statement
    for (const [to, { start, end } = node] of changesOf(node, textOf)) {
      const line = code.slice(0, start).split('\n').length
      mutations.push({ path, line, start, end, to, lead: start === from ? ';' : '', isTop })
    }
    const isInside = /Function|PropertyDefinition|StaticBlock/.test(node.type)
    for (const [key, value] of Object.entries(node)) {
      if (key === 'key' && node.computed !== true) continue
      if (key === 'init' && isOptionNames(node['id'], textOf)) continue
      if (key === 'arguments' && textOf(node['callee']) === 'optionsOf') continue // its names, and what it is called
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
        if (isCode(child)) visit(child, node, isTop && !isInside, from)
    }
  }
  const program = parseSync(path, code).program as unknown as Node
  visit(program, program, true, -1)
  return mutations
}

/** What can stand in place of a node, or of one of its children. */
const changesOf = (node: Node, textOf: (node: unknown) => string): readonly (readonly [to: string, at?: Node])[] => {
  const { operator = '', left, right, argument, value } = node
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression': {
      const isSum = /^[+-]$/.test(operator) && [left, right].some((value) => typeof (value as Node).value === 'number')
      const sign = isSum ? (operator === '+' ? '-' : '+') : turned[operator]
      // A bracket, because ?? may not stand beside && or ||.
      return sign === undefined ? [] : [[`${textOf(left)} ${sign} (${textOf(right)})`]]
    }
    case 'UnaryExpression':
      return operator === '!' ? [[textOf(argument)]] : []
    case 'IfStatement':
    case 'ConditionalExpression':
      return [
        ['false', node['test'] as Node],
        ['true', node['test'] as Node],
      ]
    case 'AwaitExpression':
      return [[textOf(argument)]]
    case 'Literal':
      if (typeof value === 'boolean') return [[String(!value)]]
      return typeof value === 'number' ? [[String(value + 1)]] : []
    case 'CallExpression': {
      const name = textOf(node['callee'])
      const given = (node['arguments'] as readonly Node[]).map(textOf).join(', ')
      if (/(^|\.)freeze$/.test(name)) return [[`(${given})`]]
      return name === 'left' || name === 'right' ? [[`${name === 'left' ? 'right' : 'left'}(${given})`]] : []
    }
    case 'ExpressionStatement': {
      const expression = node['expression'] as Node
      return /^(Call|Await|Assignment)Expression$/.test(expression.type) ? [['void 0', expression]] : []
    }
    case 'ContinueStatement':
      return node.label === null ? [['break', node]] : []
    default:
      return []
  }
}

/** Whether a variable is a table of option names, of which only the names are read. */
const isOptionNames = (id: unknown, textOf: (node: unknown) => string): boolean =>
  isCode(id) && /^\w*(option|setting)Names\b|: OptionNames\b/i.test(textOf(id))

const isCode = (child: unknown): child is Node => {
  const type = (child as Partial<Node> | null)?.type
  if (typeof type !== 'string') return false
  return !/^(TS|Import|ExportAll)/.test(type) || /^(TS(As|NonNull|Satisfies)|Import)Expression$/.test(type)
}

/** The file with a call at each of these places, which says that the place was reached. */
export const withMarks = (code: string, marks: readonly (readonly [call: string, Mutation])[]): string => {
  const inserts = marks.flatMap(([call, { start, end, to, lead }]): [at: number, order: number, text: string][] => {
    const [before, after] = to === 'break' ? [`{${call};`, '}'] : [`${lead}(${call},`, ')']
    return [
      [start, -end, before],
      [end, -start, after],
    ]
  })
  let marked = ''
  let from = 0
  let last = ''
  // What ends at a place comes first, inner before outer; then what begins there, outer before inner.
  const isEnd = (text: string): number => Number(text.length > 1)
  for (const [at, , text] of inserts.toSorted(
    ([at, order, text], [otherAt, otherOrder, other]) =>
      at - otherAt || isEnd(text) - isEnd(other) || order - otherOrder,
  )) {
    // Of several that begin one statement only the outer one may have the semicolon.
    const isInner = at === from && last.length > 1
    marked += code.slice(from, at) + (isInner ? text.replace(/^;/, '') : text)
    from = at
    last = text
  }
  return marked + code.slice(from)
}
