/** The tools of a request, each with its name, in the formats of all providers. */
import { isObject } from 'indelible/internal/json'

export interface NamedTool {
  readonly name: string
  /** The definition of the tool, with its name, description and parameters. */
  readonly definition: unknown
}

/** The tools of a request in their order; empty if it is not a list. */
export const namedTools = (tools: unknown): readonly NamedTool[] => (Array.isArray(tools) ? tools.flatMap(toolsIn) : [])

const toolsIn = (tool: unknown, index: number): readonly NamedTool[] => {
  if (!isObject(tool)) return [{ name: `tool ${index}`, definition: tool }]
  const { functionDeclarations: declared = tool['function_declarations'] } = tool
  if (Array.isArray(declared))
    return declared.map((tool: unknown, at) => ({ name: nameOf(tool) ?? `function ${at}`, definition: tool }))
  // A built-in Gemini tool is an object under its name.
  const name = nameOf(tool['function']) ?? nameOf(tool) ?? Object.keys(tool)[0] ?? `tool ${index}`
  return [{ name, definition: tool }]
}

const nameOf = (tool: unknown): string | undefined => {
  const name = isObject(tool) ? (tool['name'] ?? tool['type']) : undefined
  return typeof name === 'string' ? name : undefined
}

/** A name that a client chose, for a sentence. */
export const shortName = (name: string): string => (name.length > 64 ? `${name.slice(0, 63)}…` : name)
