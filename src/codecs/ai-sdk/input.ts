/**
 * What a tool is called with: `ai` holds the parsed value, a message the text that the model wrote.
 *
 * Text that is no JSON stands as a string, as `ai` itself keeps such a call; so a string that is no JSON text is read
 * as the text itself, and a custom tool's free text comes through too.
 */
import { admit, formatPath, inspectJson, isLeft, jsonIn, type Json } from '../../json/index.ts'
import { thaw } from '../residual.ts'

/** The arguments that an input was parsed from. None is no text. */
export const argumentsOf = (input: Json | undefined): string => {
  if (input === undefined) return ''
  return typeof input === 'string' && jsonIn(input) === undefined ? input : JSON.stringify(input)
}

/** The input that is written again for one that was read. */
export const inputAgain = (input: Json | undefined): Json =>
  input === undefined || (typeof input === 'string' && input.trim() === '') ? {} : input

/** The input that arguments parse to, and what of the text does not come through. No text is a call without arguments. */
export const inputOf = (args: string): { readonly input: unknown; readonly losses: readonly string[] } => {
  if (args.trim() === '') return { input: {}, losses: none }
  const read = inspectJson(args)
  if (isLeft(read)) return { input: args, losses: none }
  const { value, findings } = read.right
  if (findings.length === 0) return { input: value, losses: none }
  const admitted = admit(value)
  return {
    input: isLeft(admitted) ? args : thaw(admitted.right.value),
    losses: findings.map(({ path, reason }) => `${formatPath(path) || 'the value'} ${reason}`),
  }
}

const none: readonly string[] = Object.freeze([])
