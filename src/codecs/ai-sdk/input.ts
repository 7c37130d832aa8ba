/**
 * Tool inputs: `ai` holds the parsed value, a message the model's text.
 *
 * Text that is not JSON stays a string, as in `ai` itself. A string that is not JSON text is
 * therefore read as the text, which also supports the free text of custom tools.
 */
import { admit, formatPath, inspectJson, isLeft, jsonIn, type Json } from '../../json/index.ts'
import { mutableCopy } from '../residual.ts'

/** The arguments text of an input; empty if there is none. */
export const argumentsOf = (input: Json | undefined): string => {
  if (input === undefined) return ''
  return typeof input === 'string' && jsonIn(input) === undefined ? input : JSON.stringify(input)
}

/** The input that encoding would write for an input that was read. */
export const inputToWrite = (input: Json | undefined): Json =>
  input === undefined || (typeof input === 'string' && input.trim() === '') ? {} : input

/** The parsed arguments, with losses for anything in the text that can't be kept. Empty text means no arguments. */
export const inputOf = (args: string): { readonly input: unknown; readonly losses: readonly string[] } => {
  if (args.trim() === '') return { input: {}, losses: none }
  const read = inspectJson(args)
  if (isLeft(read)) return { input: args, losses: none }
  const { value, findings } = read.right
  if (findings.length === 0) return { input: value, losses: none }
  const admitted = admit(value)
  if (isLeft(admitted)) return { input: args, losses: none }
  return {
    input: mutableCopy(admitted.right.value),
    losses: findings.map(({ path, reason }) => `${formatPath(path) || 'the value'} ${reason}`),
  }
}

const none: readonly string[] = Object.freeze([])
