/** Nodes of a syntax tree, of whatever type: ESTree's, and those that TypeScript adds. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { readonly type?: unknown }).type === 'string' &&
  'start' in value

export const nodeAt = (node: Node, field: string): Node | undefined => {
  const value = node[field]
  return isNode(value) ? value : undefined
}

export const nodesAt = (node: Node, field: string): readonly Node[] => {
  const value = node[field]
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isNode) : []
}

/** The elements of an array or its pattern: a hole keeps its place. */
export const elementsOf = (node: Node): readonly (Node | undefined)[] => {
  const value = node['elements']
  return Array.isArray(value) ? (value as readonly unknown[]).map((each) => (isNode(each) ? each : undefined)) : []
}

export const textAt = (node: Node, field: string): string | undefined => {
  const value = node[field]
  return typeof value === 'string' ? value : undefined
}

export const isFunction = ({ type }: Node): boolean =>
  type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression'
