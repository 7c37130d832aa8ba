/**
 * The functions of fp-ts's Either that the library uses, with fp-ts's types, so that values are compatible
 * with fp-ts. `fp-ts/lib/Either.js` is CommonJS, and a bundler would include all 27 kB of it.
 */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'

export const left = <E = never, A = never>(e: E): Either<E, A> => ({ _tag: 'Left', left: e })

export const right = <E = never, A = never>(a: A): Either<E, A> => ({ _tag: 'Right', right: a })

/** Whether it is a failure. For a union of Eithers, narrows to the failures of each. */
export const isLeft = <T extends Either<unknown, unknown>>(either: T): either is Extract<T, Left<unknown>> =>
  either._tag === 'Left'

export const isRight = <T extends Either<unknown, unknown>>(either: T): either is Extract<T, Right<unknown>> =>
  either._tag === 'Right'

/** Applies a function to the value; a failure is returned unchanged. fp-ts calls it `map`. */
export const mapRight = <E, A, B>(either: Either<E, A>, make: (value: A) => B): Either<E, B> =>
  isLeft(either) ? either : right(make(either.right))

/** Applies a function to each item; returns its first failure. fp-ts calls it `traverse`. */
export const eachRight = <Item, E, A>(items: Iterable<Item>, read: (item: Item) => Either<E, A>): Either<E, A[]> => {
  const values: A[] = []
  for (const item of items) {
    const value = read(item)
    if (isLeft(value)) return value
    values.push(value.right)
  }
  return right(values)
}
