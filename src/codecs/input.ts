/** Converts call arguments: text in a message, an object in the formats of Anthropic and Gemini. */
import { admit, formatPath, inspectJson, isLeft, isObject, isTooDeep, ownFields } from '../json/index.ts'
import { mutableCopy } from './residual.ts'

interface Input {
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
  const { input, losses, refused } = ownFields(parsedInput(text))
  if (isObject(input)) return { input: input as { [name: string]: unknown }, losses }
  return {
    input: { arguments: text },
    losses: [`${refused ?? 'are not a JSON object'}: written as { "arguments": … }`],
  }
}

/** The parsed arguments, with losses for anything in the text that can't be kept. Empty text means no arguments. */
export const parsedInput = (
  text: string,
): { readonly input?: unknown; readonly losses: readonly string[]; readonly refused?: string } => {
  if (text.trim() === '') return { input: {}, losses: none }
  const read = inspectJson(text)
  if (isLeft(read)) return { losses: none }
  const { value, findings } = read.right
  // No client could write such a request.
  if (text.length > 2000 && isTooDeep(value)) return { losses: none, refused: 'are nested deeper than 1000 levels' }
  if (findings.length === 0) return { input: value, losses: none }
  const admitted = admit(value)
  if (isLeft(admitted)) return { losses: none, refused: `${formatPath(admitted.left.path)} ${admitted.left.reason}` }
  return {
    input: mutableCopy(admitted.right.value),
    losses: findings.map(({ path, reason }) => `${formatPath(path) || 'the value'} ${reason}`),
  }
}

const none: readonly string[] = []
