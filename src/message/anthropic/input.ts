/** The arguments of a call: text in a message, an object in the wire. */
import { isObject } from '../wire.ts'

export interface Input {
  readonly input: { [name: string]: unknown }
  /** What of the text does not come through. */
  readonly loss?: string
}

/**
 * The text as the object that the API wants ("tool_use.input: Input should be a valid dictionary"). No text is no
 * arguments; text that is no JSON object stands whole under one name.
 *
 * @example
 * inputOf('{"a": 1}') // { input: { a: 1 } }
 * inputOf('ls -l').input // { arguments: 'ls -l' }
 */
export const inputOf = (text: string): Input => {
  if (text.trim() === '') return { input: {} }
  const value = parsed(text)
  if (!isObject(value)) return raw(text)
  const worst = unsafe.test(text) ? worstNumber(text) : undefined
  if (worst === undefined) return { input: value as { [name: string]: unknown } }
  if (!Number.isFinite(Number(worst))) return raw(text)
  return { input: value as { [name: string]: unknown }, loss: `has the number ${worst.slice(0, 40)}, which is read as ${Number(worst)}` }
}

const raw = (text: string): Input => ({ input: { arguments: text }, loss: 'are no JSON object: said as { "arguments": … }' })

/** Undefined for what is no JSON. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only a long or scientific number can be changed by reading it. */
const unsafe = /\d{16}|\d\.\d{15}|\d[eE]/

/** The first number that is not what it was once it is read; one that is out of range before all others. */
const worstNumber = (json: string): string | undefined => {
  let worst: string | undefined
  for (const [number] of json.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').matchAll(/-?\d[\d.eE+-]*/g)) {
    const read = Number(number)
    if (!Number.isFinite(read)) return number
    if (worst === undefined && decimal(String(read)) !== decimal(number)) worst = number
  }
  return worst
}

/** One spelling for each decimal: its digits without zeros around them, and the power of ten. */
const decimal = (number: string): string => {
  const [mantissa = '', exponent = '0'] = number.replace(/^-/, '').toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end -= 1
  const significant = digits.slice(0, end).replace(/^0+/, '')
  return significant === '' ? '0' : `${significant}e${Number(exponent) - fraction.length + digits.length - end}`
}
