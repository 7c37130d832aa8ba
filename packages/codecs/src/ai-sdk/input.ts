/**
 * Tool inputs: `ai` holds the parsed value, a message the model's text.
 *
 * Text that is not JSON stays a string, as in `ai` itself. A string that is not JSON text is
 * therefore read as the text, which also supports the free text of custom tools.
 */
import { jsonIn, ownFields, type Json } from 'indelible/internal/json'
import { parsedInput } from 'indelible/internal/codecs'

/** The arguments text of an input; empty if there is none. */
export const argumentsOf = (input: Json | undefined): string => {
  if (input === undefined) return ''
  return typeof input === 'string' && jsonIn(input) === undefined ? input : JSON.stringify(input)
}

/** The input that encoding would write for an input that was read. */
export const inputToWrite = (input: Json | undefined): Json =>
  input === undefined || (typeof input === 'string' && input.trim() === '') ? {} : input

/** The parsed arguments, or their text if they are not JSON. */
export const inputOf = (args: string): { readonly input: unknown; readonly losses: readonly string[] } => {
  const { input, losses } = ownFields(parsedInput(args))
  return { input: input === undefined ? args : input, losses }
}
