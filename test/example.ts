/** What the examples of the docs call to check what their comments say. */
import { expect } from 'vitest'

export const check = (expression: () => unknown, expected: unknown): void => {
  expect(expression()).toEqual(expected)
}

export const checkThrows = (statement: () => unknown, text: string): void => {
  expect(statement).toThrow(text)
}
