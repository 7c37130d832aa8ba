/** When a tool call is the same as another: the name, and the arguments as JSON. */
import type { ToolCallPart } from '../../message/index.ts'

/** Equal for calls that ask the same. Found out once for each recorded call. */
export const callKey = (call: ToolCallPart): string => {
  const known = keys.get(call)
  if (known !== undefined) return known
  const key = keyOf(call)
  keys.set(call, key)
  return key
}

const keys = new WeakMap<ToolCallPart, string>()

const keyOf = ({ name, arguments: given }: ToolCallPart): string => {
  try {
    return `${name} ${JSON.stringify(sorted(JSON.parse(given)))}`
  } catch {
    return `${name} ${given.trim()}`
  }
}

const sorted = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  )
}
