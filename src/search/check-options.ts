/** Checks options by name. */
import { describe, isObject, optionsOf, type OptionNames } from '../json/index.ts'

/** A test for an option, and its description. */
interface ExpectedOption {
  readonly is: (value: unknown) => boolean
  readonly words: string
}

export const aFlag: ExpectedOption = { is: (value) => typeof value === 'boolean', words: 'true or false' }
export const aText: ExpectedOption = { is: (value) => typeof value === 'string', words: 'a string' }
export const anObject: ExpectedOption = { is: isObject, words: 'an object' }
export const aSignal: ExpectedOption = {
  is: (value) => isObject(value) && typeof value['aborted'] === 'boolean',
  words: 'a signal, such as that of an AbortController',
}
export const aListOfTexts: ExpectedOption = {
  is: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  words: 'a list of strings',
}
export const aFunction: ExpectedOption = { is: (value) => typeof value === 'function', words: 'a function' }
/** Limited to the range of `Date`. */
export const aTime: ExpectedOption = {
  is: (value) => typeof value === 'number' && Math.abs(value) <= 8.64e15,
  words: 'a time in milliseconds since 1970',
}
export const wholeFrom = (least: number, most: number): ExpectedOption => ({
  is: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  words: `a whole number from ${least} to ${most}`,
})
export const oneOf = (known: readonly string[]): ExpectedOption => ({
  is: (value) => known.includes(value as string),
  words: `one of ${known.map((each) => `'${each}'`).join(', ')}`,
})

/**
 * A copy of the options after checking their names and values.
 *
 * @throws TypeError that names the option
 */
export const checkOptions = <T extends object>(
  call: string,
  input: T,
  expected: { readonly [name in keyof T]-?: ExpectedOption },
): T => {
  const options = optionsOf(call, input, expected as unknown as OptionNames<T>) // only the names matter here
  for (const [name, value] of Object.entries(options)) {
    const { is, words } = expected[name as keyof T]
    if (value !== undefined && !is(value))
      throw new TypeError(`${call}: \`${name}\` must be ${words}, found ${describe(value)}`)
  }
  return options
}
