/** What the examples of the docs call to check what their comments say. */
import { expect } from 'vitest'

export const check = (expression: () => unknown, expected: unknown): void => {
  expect(expression()).toEqual(expected)
}

export const checkThrows = (statement: () => unknown, text: string): void => {
  expect(statement).toThrow(text)
}

export const checkAwaited = async (expression: () => Promise<unknown>, expected: unknown): Promise<void> => {
  expect(await expression()).toEqual(expected)
}

export const checkRejects = async (statement: () => Promise<unknown>, text: string): Promise<void> => {
  await expect(statement).rejects.toThrow(text)
}
