/** The strings of a JSON text: where each stands. */
import { endOfString, jsonIn } from '../json/index.ts'

/** A string of a JSON text, between its quotes. */
export interface WrittenString {
  readonly start: number
  readonly end: number
  readonly isKey: boolean
  /** The key that it is the value of. */
  readonly name: string | undefined
  /** The object or the array that it stands in. */
  readonly within: Container
}

/** An object or an array of a JSON text. */
export interface Container {
  /** The arguments or the result of a tool, or inside of them: their names are the tool's own. */
  readonly isForeign: boolean
}

const foreign: ReadonlySet<string> = new Set([
  'args',
  'arguments',
  'input',
  'output',
  'parameters',
  'partialArgs',
  'rawInput',
  'rawOutput',
  'response',
  'result',
  'structuredContent',
  'toolUseResult',
])

/** The strings of a text that is a JSON object or array; undefined if it is something else. */
export const stringsOf = (text: string): readonly WrittenString[] | undefined => {
  return /^\s*[[{]/.test(text) && jsonIn(text) !== undefined ? stringsIn(text) : undefined
}

/** The strings of a JSON text, in order. It keeps its own stack: a text can be nested more deeply than calls can. */
export const stringsIn = (text: string): readonly WrittenString[] => {
  const strings: WrittenString[] = []
  const around: Container[] = []
  let within: Container = { isForeign: false }
  let name: string | undefined
  const token = /["{}[\],]/g
  const colon = /\s*:/y
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [sign] = found
    if (sign === '"') {
      const start = token.lastIndex
      const end = endOfString(text, start) ?? text.length
      token.lastIndex = colon.lastIndex = end + 1
      const isKey = colon.test(text)
      strings.push({ start, end, isKey, name: isKey ? undefined : name, within })
      name = isKey ? text.slice(start, end) : undefined
      continue
    }
    if (sign === '{' || sign === '[') {
      around.push(within)
      within = { isForeign: within.isForeign || (name !== undefined && foreign.has(name)) }
    } else if (sign !== ',') within = around.pop() ?? within
    name = undefined
  }
  return strings
}
