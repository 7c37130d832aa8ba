/** The arguments of a call: text in a message, an object in the wires of Anthropic and Gemini. */
import { admit, formatPath, inspectJson, isLeft, isObject, jsonIn, type Json } from '../json/index.ts'
import { thaw } from './residual.ts'

export interface Input {
  readonly input: { [name: string]: unknown }
  /** What of the text does not come through. */
  readonly losses: readonly string[]
}

/**
 * The text as the object that the APIs want ("tool_use.input: Input should be a valid dictionary"). No text is no
 * arguments; text that is no JSON object stands whole under one name.
 *
 * @example
 * inputOf('{"a": 1}') // { input: { a: 1 }, losses: [] }
 * inputOf('ls -l').input // { arguments: 'ls -l' }
 */
export const inputOf = (text: string): Input => {
  if (text.trim() === '') return { input: {}, losses: none }
  const read = inspectJson(text)
  if (isLeft(read) || !isObject(read.right.value))
    return { input: { arguments: text }, losses: ['are not a JSON object: written as { "arguments": … }'] }
  const { value, findings } = read.right
  if (findings.length === 0) return { input: value as { [name: string]: unknown }, losses: none }
  const admitted = admit(value)
  return {
    input: isLeft(admitted) ? { arguments: text } : (thaw(admitted.right.value as Json) as { [name: string]: unknown }), // an object stays one
    losses: findings.map(({ path, reason }) => `${formatPath(path)} ${reason}`),
  }
}

/** Arguments as the value that they stood as; the text, if somebody has changed it since. */
export const valueOf = (text: string): unknown => {
  const value = jsonIn(text)
  return value === undefined ? text : value
}

const none: readonly string[] = []
