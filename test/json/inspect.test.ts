import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { formatPath, inspectJson } from '../../src/json/index.ts'
import { mostFindings } from '../../src/json/inspect.ts'
import { rounds } from '../rounds.ts'

const findingsOf = (text: string): readonly string[] => {
  const inspected = inspectJson(text)
  if (isLeft(inspected)) throw new Error('not JSON')
  expect(inspected.right.value).toEqual(JSON.parse(text))
  return inspected.right.findings.map(({ path, line, reason }) => `${line} ${formatPath(path)}: ${reason}`)
}

describe('inspectJson finds where a parsed value differs from its text', () => {
  it.each<readonly [string, readonly string[]]>([
    ['{"a":1,"a":2}', ['1 a: occurs twice: the last one is used']],
    ['{"a":1,"\\u0061":2}', ['1 a: occurs twice: the last one is used']],
    [
      '{"a":{"b":[0,{"c":1,"c":1,"c":1}]}}',
      ['1 a.b[1].c: occurs twice: the last one is used', '1 a.b[1].c: occurs twice: the last one is used'],
    ],
    ['{"__proto__":1,"__proto__":{}}', ['1 __proto__: occurs twice: the last one is used']],
    ['{"a":1,"b":{"a":1}}', []],
    ['{\n "a": 1,\n\n "a": 2}', ['4 a: occurs twice: the last one is used']],
    ['\n{"a":1,"a":2}', ['2 a: occurs twice: the last one is used']],
    ['12345678901234567890', ['1 : is 12345678901234567890: read as 12345678901234567000']],
    ['[9007199254740992, 9007199254740993]', ['1 [1]: is 9007199254740993: read as 9007199254740992']],
    [
      '[1e999,-1e999]',
      ['1 [0]: is 1e999, which is out of range: read as null', '1 [1]: is -1e999, which is out of range: read as null'],
    ],
    ['{"n":0.1000000000000000055}', ['1 n: is 0.1000000000000000055: read as 0.1']],
    ['[1e-400]', ['1 [0]: is 1e-400: read as 0']],
    ['[-0, -0.0]', ['1 [0]: is -0: read as 0', '1 [1]: is -0.0: read as 0']],
    ['[1.0, 1e2, 0.10, 1E+2, 100e-2, 0e9, 0.0, 12300, 1e21, 1.5e-7, 0.000001, 123456789012345680000]', []],
    [
      '["\\ud83d", "\\ud83d\\ude42", {"\\uDE42": 1}]',
      [
        '1 [0]: has half a surrogate pair, which is no character: read as U+FFFD',
        '1 [2]["�"]: is a key with half a surrogate pair: read as U+FFFD',
      ],
    ],
    ['["\ud83d"]', ['1 [0]: has half a surrogate pair, which is no character: read as U+FFFD']],
    ['{"a:b": "c\\\\", "\\"": [true, false, null, {}, []], "2": 1, "1": 2}', []],
    [`[${'9'.repeat(400)}]`, [`1 [0]: is ${'9'.repeat(40)}… (400 characters), which is out of range: read as null`]],
  ])('%s', (text, expected) => expect(findingsOf(text)).toEqual(expected))

  it('shares its empty list between texts, so nobody can change it', () => {
    const inspected = inspectJson('[true]')
    expect(isLeft(inspected) || Object.isFrozen(inspected.right.findings)).toBe(true)
  })
  it('finds nothing in any output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        expect(findingsOf(JSON.stringify(JSON.parse(JSON.stringify(value)), undefined, space))).toEqual([])
      }),
    )
  })
  it('finds exactly the numbers whose decimal value changes', () => {
    const written = fc.tuple(
      fc.constantFrom('', '-'),
      fc.bigInt({ min: 0n, max: 10n ** 25n }),
      fc.option(fc.stringMatching(/^\d{1,20}$/)),
      fc.option(fc.integer({ min: -30, max: 30 })),
    )
    fc.assert(
      fc.property(written, ([sign, whole, fraction, power]) => {
        const text = `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${power === null ? '' : `e${power}`}`
        // As fractions of whole numbers: exact on both sides.
        const exact = (number: string): readonly [bigint, bigint] => {
          const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
          const [digits = '', decimals = ''] = mantissa.split('.')
          const scale = Number(exponent) - decimals.length
          return [BigInt(digits + decimals) * 10n ** BigInt(Math.max(0, scale)), 10n ** BigInt(Math.max(0, -scale))]
        }
        const [a, b] = [exact(text.replace(/^-/, '')), exact(String(Number(text)).replace(/^-/, ''))]
        const survives = a[0] * b[1] === b[0] * a[1] && !Object.is(Number(text), -0)
        expect(findingsOf(text).length).toBe(survives ? 0 : 1)
      }),
      { numRuns: rounds(100, 500) },
    )
  })
  it('walks 100,000 levels without recursion, and stops listing at a bound', () => {
    const deep = `${'[{"a":'.repeat(50_000)}1e999${'}]'.repeat(50_000)}`
    const inspected = inspectJson(deep)
    expect(!isLeft(inspected) && inspected.right.findings.map(({ path }) => path.length)).toEqual([100_000])
    const many = inspectJson(`[${Array.from({ length: mostFindings + 50 }, () => '1e999').join(',')}]`)
    expect(!isLeft(many) && [many.right.findings.length, many.right.findings.at(-1)?.reason]).toEqual([
      mostFindings + 1,
      'and there are more such places after it',
    ])
  })
})
