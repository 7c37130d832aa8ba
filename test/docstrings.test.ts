import { describe, expect, it } from 'vitest'
import { publicNames } from './docstrings.ts'
import { apiTypes } from '../scripts/api.ts'
import { publicValues, unexportedResults, unnamedTypes } from './signatures.ts'

it('every public name and member has a docstring', () => {
  const names = publicNames()
  expect(names.length).toBeGreaterThan(1500)
  expect(names.filter(({ documented }) => !documented).map(({ place }) => place)).toEqual([])
})

describe('public types', () => {
  it('a public signature names every type that an entry exports', () => {
    expect(unnamedTypes()).toEqual([])
  })
  // A program that exports what a function answered, and has declaration files, could not be compiled.
  it('an entry exports every type that the result of a public function names', () => {
    expect(unexportedResults()).toEqual([])
  })
  it('are at most 404, each entry counted', () => {
    expect(apiTypes()).toBeLessThanOrEqual(404)
    expect(apiTypes()).toBeGreaterThan(300)
  })
})

it('has at most 300 public values, including the members of exported objects', () => {
  expect(publicValues()).toBeLessThanOrEqual(300)
  expect(publicValues()).toBeGreaterThan(250)
})
