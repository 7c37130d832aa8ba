/** Our constructors and guards are fp-ts's: they make the same objects, and each other's functions take them. */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { describe, expect, it } from 'vitest'
import { isLeft, isRight, left, right } from '../../src/either/index.ts'

describe('Either', () => {
  it('has the shape of fp-ts objects', () => {
    expect(left('no')).toStrictEqual(E.left('no'))
    expect(right(1)).toStrictEqual(E.right(1))
  })
  it('works with the functions of fp-ts, and fp-ts values work with ours', () => {
    const half = (n: number): E.Either<string, number> => (n % 2 === 0 ? right(n / 2) : left(`${n} is odd`))
    expect(pipe(right(8), E.chain(half), E.chain(half))).toEqual(E.right(2))
    expect(pipe(right(6), E.chain(half), E.chain(half), E.mapLeft(String))).toEqual(E.left('3 is odd'))
    expect([E.isLeft(left(1)), E.isRight(right(1)), isLeft(E.left(1)), isRight(E.right(1))]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect([isLeft(E.right(1)), isRight(E.left(1))]).toEqual([false, false])
  })
})
