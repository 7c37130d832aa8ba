/** Converts call arguments: text in a message, an object in the formats of Anthropic and Gemini. */
import { admit, formatPath, inspectJson, isLeft, isObject, jsonIn, type Json } from '../json/index.ts'
import { mutableCopy } from './residual.ts'

export interface Input {
  readonly input: { [name: string]: unknown }
  /** What could not be kept. */
  readonly losses: readonly string[]
}

/**
 * The text as the object that the APIs require ("tool_use.input: Input should be a valid
 * dictionary"). Empty text means no arguments. Text that is not a JSON object goes into one field.
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
  if (isLeft(admitted)) {
    const { path, reason } = admitted.left
    return { input: { arguments: text }, losses: [`${formatPath(path)} ${reason}: written as { "arguments": … }`] }
  }
  return {
    input: mutableCopy(admitted.right.value as Json) as { [name: string]: unknown }, // an object stays an object
    losses: findings.map(({ path, reason }) => `${formatPath(path)} ${reason}`),
  }
}

/** Arguments as the original JSON value; the text if it is no longer JSON. */
export const valueOf = (text: string): unknown => {
  const value = jsonIn(text)
  return value === undefined ? text : value
}

const none: readonly string[] = []
