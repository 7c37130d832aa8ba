/** Locates the strings of a JSON text. */
import { endOfString, jsonIn } from '../json/index.ts'

/** A string in JSON text, between its quotes. */
export interface WrittenString {
  readonly start: number
  readonly end: number
  readonly isKey: boolean
  /** The key whose value it is. */
  readonly name: string | undefined
  /** Its object or array. */
  readonly within: Container
}

/** An object or array in JSON text. */
export interface Container {
  /** Whether it is, or is inside, a tool's arguments or result, where key names belong to the tool. */
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

/** The strings of a JSON object or array; undefined for any other text. */
export const stringsOf = (text: string): readonly WrittenString[] | undefined => {
  return /^\s*[[{]/.test(text) && jsonIn(text) !== undefined ? stringsIn(text) : undefined
}

/** The strings of a JSON text, in order. Not recursive: a text can be nested deeper than the call stack. */
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
      const end = endOfString(text, start) as number
      token.lastIndex = colon.lastIndex = end + 1
      const isKey = colon.test(text)
      strings.push({ start, end, isKey, name, within })
      name = text.slice(start, end) // of a value until the next comma or bracket
      continue
    }
    if (sign === '{' || sign === '[') {
      around.push(within)
      within = { isForeign: within.isForeign || (name !== undefined && foreign.has(name)) }
    } else if (sign !== ',') within = around.pop() as Container
    name = undefined
  }
  return strings
}
