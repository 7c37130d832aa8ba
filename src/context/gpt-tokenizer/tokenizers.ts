/** Exact tokenizers for OpenAI models, from the optional peer `gpt-tokenizer`. */
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import type { Tokenizer } from '../index.ts'

/**
 * The tokens of a text by o200k_base, the tokenizer of gpt-4o and later OpenAI models. Text that
 * looks like a special token (`<|endoftext|>`) counts as plain text.
 *
 * Cost    O(characters): about ten times that of `textTokens`
 *
 * @example
 * deriveContext(view, { budget: 32_000, tokenizer: o200k })
 */
export const o200k: Tokenizer = (text) => countO200k(text, plainText)

/** The tokens of a text by cl100k_base, the tokenizer of gpt-4 and gpt-3.5. */
export const cl100k: Tokenizer = (text) => countCl100k(text, plainText)

const plainText = { disallowedSpecial: new Set<string>() }
