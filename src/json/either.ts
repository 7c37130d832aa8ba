/**
 * The functions of fp-ts's Either that the library calls, in fp-ts's types: their values are fp-ts's, and its
 * functions take them. `fp-ts/lib/Either.js` is CommonJS, of which a bundler keeps all 27 kB.
 */
import type { Either, Left, Right } from 'fp-ts/lib/Either.js'

/** A failure. */
export const left = <E = never, A = never>(e: E): Either<E, A> => ({ _tag: 'Left', left: e })

/** A value. */
export const right = <E = never, A = never>(a: A): Either<E, A> => ({ _tag: 'Right', right: a })

/** Whether it is a failure. Of several Eithers it may be, those of each. */
export const isLeft = <T extends Either<unknown, unknown>>(either: T): either is Extract<T, Left<unknown>> =>
  either._tag === 'Left'

/** Whether it is a value. */
export const isRight = <T extends Either<unknown, unknown>>(either: T): either is Extract<T, Right<unknown>> =>
  either._tag === 'Right'

/** What a function makes of the value; a failure as it is. fp-ts calls it `map`. */
export const mapRight = <E, A, B>(either: Either<E, A>, make: (value: A) => B): Either<E, B> =>
  isLeft(either) ? either : right(make(either.right))

/** What a function makes of each item; or its first failure. fp-ts calls it `traverse`. */
export const eachRight = <Item, E, A>(items: Iterable<Item>, read: (item: Item) => Either<E, A>): Either<E, A[]> => {
  const values: A[] = []
  for (const item of items) {
    const value = read(item)
    if (isLeft(value)) return value
    values.push(value.right)
  }
  return right(values)
}
