/** Locates the strings and numbers of a JSON text. */
import { endOfString, jsonIn } from '../json/index.ts'

/** A string in JSON text, between its quotes, or a number. */
export interface WrittenString {
  readonly start: number
  readonly end: number
  /** Where its key begins, with the quotes; without a key, where it begins itself. */
  readonly from: number
  readonly isKey: boolean
  readonly isNumber: boolean
  /** The key whose value it is. */
  readonly name: string | undefined
  readonly within: Container
}

/** An object or array in JSON text. */
interface Container {
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

/** The strings of a JSON object or array, and its numbers if wanted; undefined for any other text. */
export const stringsOf = (text: string, numbers: boolean): readonly WrittenString[] | undefined => {
  return /^\s*[[{]/.test(text) && jsonIn(text) !== undefined ? stringsIn(text, numbers) : undefined
}

/** The strings of a JSON text, in order. Not recursive: a text can be nested deeper than the call stack. */
export const stringsIn = (text: string, numbers = false): readonly WrittenString[] => {
  const strings: WrittenString[] = []
  const around: Container[] = []
  let within: Container = { isForeign: false }
  let name: string | undefined
  let from = 0
  const token = numbers ? /["{}[\],]|-?\d[\d.eE+-]*/g : /["{}[\],]/g
  const colon = /\s*:/y
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [sign] = found
    if (sign === '"') {
      const start = token.lastIndex
      const end = endOfString(text, start) as number
      token.lastIndex = colon.lastIndex = end + 1
      const isKey = colon.test(text)
      if (name === undefined) from = start - 1
      strings.push({ start, end, from, isKey, isNumber: false, name, within })
      name = isKey ? text.slice(start, end) : undefined
      continue
    }
    if (sign === '{' || sign === '[') {
      around.push(within)
      within = { isForeign: within.isForeign || (name !== undefined && foreign.has(name)) }
    } else if (sign === '}' || sign === ']') within = around.pop() as Container
    else if (sign !== ',') {
      const { index: start } = found
      const end = token.lastIndex
      strings.push({ start, end, from: name === undefined ? start : from, isKey: false, isNumber: true, name, within })
    }
    name = undefined
  }
  return strings
}
