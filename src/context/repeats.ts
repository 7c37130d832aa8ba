/** When a tool call is the same as another: the name, and the arguments as JSON. */
import type { ToolCallPart } from '../message/index.ts'

export const callKey = ({ name, arguments: given }: Pick<ToolCallPart, 'name' | 'arguments'>): string => {
  try {
    return `${name} ${JSON.stringify(sorted(JSON.parse(given)))}`
  } catch {
    return `${name} ${given.trim()}`
  }
}

const sorted = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, sorted(field)]))
}
