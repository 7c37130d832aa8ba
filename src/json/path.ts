import { exec, stringify } from './builtins.ts'
import { buildArray } from './list.ts'

/** A place inside a value: object keys and array indexes from the root. The empty path is the value itself. */
export type Path = readonly (string | number)[]

/**
 * A path in JavaScript notation: `content[0].meta["a b"]`.
 *
 * The middle of a path longer than 12 steps is omitted.
 *
 * @param root the name of the value. Default: the empty string
 */
export const formatPath = (path: Path, root = ''): string => {
  let text = root
  for (let index = 0; index < path.length; index++) {
    if (path.length > mostSteps && index === 6) {
      text += '…'
      index = path.length - 5
    }
    const step = path[index] as string | number
    if (typeof step === 'number') text += `[${step}]`
    else if (exec(plainKey, step) === null) text += `[${stringify(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

export const joinPaths = (first: Path, then: Path): Path =>
  buildArray(
    first.length + then.length,
    (index) => (index < first.length ? first[index] : then[index - first.length]) as string | number,
  )

const mostSteps = 12
const plainKey = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u
