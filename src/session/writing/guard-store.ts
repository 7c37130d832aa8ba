import type { Either } from 'fp-ts/lib/Either.js'
import { left } from '../../json/index.ts'
import type { StoreFaultOf } from '../../store/index.ts'

/** Turns an exception of a third-party store into an `Io` fault. */
export const guardStore = async <F, T>(
  operation: string,
  work: () => Promise<Either<F, T>>,
): Promise<Either<F | StoreFaultOf<'Io'>, T>> => {
  try {
    return await work()
  } catch (cause) {
    return left({ _tag: 'Io', operation, cause })
  }
}
