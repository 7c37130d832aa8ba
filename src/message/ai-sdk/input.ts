/**
 * What a tool is called with: `ai` holds the parsed value, a message the text that the model wrote.
 *
 * Text that is no JSON stands as a string, as `ai` itself keeps such a call; so a string that is no JSON text is read
 * as the text itself, and a custom tool's free text comes through too.
 */
import type { Json } from '../../json/index.ts'

/** The arguments that an input was parsed from. None is no text. */
export const argumentsOf = (input: Json | undefined): string => {
  if (input === undefined) return ''
  return typeof input === 'string' && parsed(input) === undefined ? input : JSON.stringify(input)
}

/** The input that is written again for one that was read. */
export const inputAgain = (input: Json | undefined): Json =>
  input === undefined || (typeof input === 'string' && input.trim() === '') ? {} : input

/** The input that arguments parse to. No text is a call without arguments. */
export const inputOf = (args: string): { readonly input: unknown; readonly lost?: string } => {
  if (args.trim() === '') return { input: {} }
  const found = parsed(args)
  if (found === undefined) return { input: args }
  return losesNumbers(args) ? { input: found.value, lost: 'has a number that parsing changes' } : { input: found.value }
}

/** The value of JSON text; undefined if it is none. */
export const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Whether JSON text has a number with more digits, or a greater exponent, than JavaScript's numbers hold. */
const losesNumbers = (text: string): boolean => {
  if (!longNumber.test(text)) return false
  return [...text.matchAll(stringOrNumber)].some(([token]) => !token.startsWith('"') && decimal(token) !== decimal(String(Number(token))))
}

/** What may be one: sixteen digits, or an exponent. Most texts have none. */
const longNumber = /\d[\d.]{15}|\d[eE]/
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** A number's digits without leading and trailing zeros, and the power of ten of the last. */
const decimal = (text: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  return kept === '' ? '0' : `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`
}
