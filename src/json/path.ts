/** Where inside a value: object keys and array indexes from the root. The empty path is the value itself. */
export type Path = readonly (string | number)[]

/**
 * A path as a person writes it: `content[0].meta["a b"]`.
 *
 * The root is `root` (default: the empty string). Of a path longer than 12 steps the middle is left out.
 */
export const formatPath = (path: Path, root = ''): string => {
  const steps = path.length <= longest ? path : [...path.slice(0, 6), '…', ...path.slice(-5)]
  let text = root
  for (const step of steps) {
    if (step === '…') text += '…'
    else if (typeof step === 'number') text += `[${step}]`
    else if (!plainKey.test(step)) text += `[${JSON.stringify(step)}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}

const longest = 12
const plainKey = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u
