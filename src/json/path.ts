import { exec, stringify } from './builtins.ts'
import { build } from './list.ts'

/** Where inside a value: object keys and array indexes from the root. The empty path is the value itself. */
export type Path = readonly (string | number)[]

/**
 * A path as a person writes it: `content[0].meta["a b"]`.
 *
 * Of a path longer than 12 steps the middle is left out.
 *
 * @param root what the value is called. Default: the empty string
 */
export const formatPath = (path: Path, root = ''): string => {
  let text = root
  for (let index = 0; index < path.length; index++) {
    if (path.length > longest && index === 6) {
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

/** One path and another from there. */
export const joinPaths = (first: Path, then: Path): Path =>
  build(
    first.length + then.length,
    (index) => (index < first.length ? first[index] : then[index - first.length]) as string | number,
  )

const longest = 12
const plainKey = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u
