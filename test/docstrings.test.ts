import { describe, expect, it } from 'vitest'
import { publicNames } from './docstrings.ts'
import { namedTypes, publicValues } from './signatures.ts'

it('every public name and member has a docstring', () => {
  const names = publicNames()
  expect(names.length).toBeGreaterThan(1500)
  expect(names.filter(({ documented }) => !documented).map(({ place }) => place)).toEqual([])
})

describe('a type is public if and only if a public signature names it', () => {
  const { unexported, unnamed } = namedTypes()
  it('an entry exports every type that a public signature names', () => {
    // `Checked` and its helpers compute the sentences that `Recordable` shows. No value has such a type.
    expect(unexported.filter((place) => !place.startsWith('src/json/recordable.ts Checked,'))).toEqual([])
  })
  it('a public signature names every type that an entry exports', () => {
    expect(unnamed).toEqual([])
  })
})

it('has at most 300 public values, including the members of exported objects', () => {
  expect(publicValues()).toBeLessThanOrEqual(300)
  expect(publicValues()).toBeGreaterThan(250)
})
