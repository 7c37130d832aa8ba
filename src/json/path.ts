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
    else if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(step)) text += `[${JSON.stringify(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

const mostSteps = 12
