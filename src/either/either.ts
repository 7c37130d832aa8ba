/** fp-ts's functions, with types that name no alias (declarations are read without it), and that narrow unions. */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'
import * as E from '#fp-ts/Either'

export const left: <F = never, A = never>(fault: F) => Either<F, A> = E.left

export const right: <F = never, A = never>(value: A) => Either<F, A> = E.right

/** Whether it is a failure. For a union of Eithers, narrows to the failures of each; fp-ts's own infers one for all. */
export const isLeft: <T extends Either<unknown, unknown>>(either: T) => either is Extract<T, Left<unknown>> =
  E.isLeft as never

/** Whether it is a value. */
export const isRight: <T extends Either<unknown, unknown>>(either: T) => either is Extract<T, Right<unknown>> =
  E.isRight as never
