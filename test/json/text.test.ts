import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/json/index.ts'
import { rounds } from '../rounds.ts'
import { Outputs } from '../outputs.ts'

const problem = (text: string): string => {
  const answer = parseJson(text)
  if (isRight(answer)) throw new Error('expected a problem')
  const { line, column, expected, found } = answer.left
  return `${line}:${column} expected ${expected}, found ${found}`
}

describe('parseJson reports the position of the first error', () => {
  it.each([
    ['', '1:1 expected a value, found the end'],
    ['  \n ', '2:2 expected a value, found the end'],
    ['<html>', '1:1 expected a value, found "<"'],
    ['[1,]', '1:4 expected a value, found "]"'],
    ['[1 2]', '1:4 expected , or ], found "2"'],
    ['[1', '1:3 expected , or ], found the end'],
    ['[', '1:2 expected a value, found the end'],
    ['{"a":1,}', '1:8 expected a key in double quotes, found "}"'],
    ['{"a" 1}', '1:6 expected a colon, found "1"'],
    ['{a:1}', '1:2 expected a key in double quotes, or }, found "a"'],
    ["{'a':1}", '1:2 expected a key in double quotes, or }, found "\'"'],
    ['[\n  {},\n  nope\n]', '3:3 expected a value, found "nope"'],
    ['{"a":tru}', '1:6 expected a value, found "tru"'],
    ['[01]', '1:3 expected , or ], found "1"'],
    ['[-]', '1:2 expected a value, found "-"'],
    ['[1.]', '1:3 expected , or ], found "."'],
    ['1 2', '1:3 expected the end, found "2"'],
    ['"a', '1:3 expected a closing quote, found the end'],
    ['"a\nb"', '1:3 expected an escape like \\n in place of a control character, found "\\n"'],
    ['"\\x"', '1:2 expected one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX, found "\\\\"'],
    ['"\\u12"', '1:2 expected one of the escapes'],
    ['[🙂]', '1:2 expected a value, found "🙂"'],
    ['NaN', '1:1 expected a value, found "NaN"'],
    ['\ufeff{}', '1:1 expected a value'],
  ])('%j', (text, expected) => expect(problem(text)).toContain(expected))

  it('agrees with JSON.parse on any text with any damage', () => {
    const damaged = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.nat({ max: 2 }),
        fc.constantFrom('', ',', '"', '}', ']', '{', ':', '\\', 'x', '0', '-', '.', 'e', '\n', ' '),
      )
      .map(
        ([text, at, removed, added]) =>
          text.slice(0, at % (text.length + 1)) + added + text.slice((at % (text.length + 1)) + removed),
      )
    const outputs = new Outputs()
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string({ unit: fc.constantFrom(...'[]{},:"\\ntrue01-.eE \n') })), (text) => {
        const answer = parseJson(text)
        outputs.add(answer)
        if (isLeft(answer)) {
          expect(answer.left.expected).not.toMatch(/JSON/) // those would be the engine's words, for want of our own
          // What stands before the error can be continued to JSON; what is there can't.
          expect(answer.left.offset).toBeLessThanOrEqual(text.length)
        } else expect(answer.right).toEqual(JSON.parse(text))
      }),
      { numRuns: rounds(300, 3000) },
    )
    outputs.expectToBe('e97912563590809b')
  })
  it('reads nesting of any depth without recursion', () =>
    expect(problem(`${'['.repeat(1_000_000)}x`)).toBe('1:1000001 expected a value, found "x"'))
})
