/** fp-ts's guards, with types that narrow each member of a union of Eithers: fp-ts's own infer one failure for all. */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'
import * as E from '#fp-ts/Either'

export const isLeft: <T extends Either<unknown, unknown>>(either: T) => either is Extract<T, Left<unknown>> =
  E.isLeft as never

export const isRight: <T extends Either<unknown, unknown>>(either: T) => either is Extract<T, Right<unknown>> =
  E.isRight as never
