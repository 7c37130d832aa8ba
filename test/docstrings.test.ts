import { expect, it } from 'vitest'
import { publicNames } from './docstrings.ts'

it('every public name and member has a docstring', () => {
  const names = publicNames()
  expect(names.length).toBeGreaterThan(1500)
  expect(names.filter(({ documented }) => !documented).map(({ place }) => place)).toEqual([])
})
