/** Reads JSON that broke off, as the providers' clients do. */
import { endOfString, isLeft, parseJson } from 'indelible/internal/json'

/**
 * The value of JSON text up to the point where it broke off: an incomplete last value is left out, and open lists and
 * objects are closed. Undefined if the text is something other than JSON. Cost: O(text).
 *
 * Source  `partialParse` of `@anthropic-ai/sdk` 1.11.0, which builds the `input` of a streamed call (2026-11)
 * @example
 * partialJson('{"path":"a.txt","text":"long te') // { path: 'a.txt' }
 */
export const partialJson = (text: string): unknown => {
  const open: string[] = []
  let isKey = false
  let end = 0
  let at = 0
  // A number ends with the next sign: more digits may be missing.
  const token = /\s*(?:[{}[\],:"]|(?:true|false|null)(?![a-z])|-?\d[\d.eE+-]*(?=[\s,\]}]))/y
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const sign = found[0].trimStart()
    if (sign === '{' || sign === '[') open.push(sign === '{' ? '}' : ']')
    else if ((sign === '}' || sign === ']') && open.pop() !== sign) return undefined
    if (sign === '"') {
      const close = endOfString(text, token.lastIndex)
      if (close === undefined) break
      token.lastIndex = close + 1
    }
    at = token.lastIndex
    // Nothing can end after a key, a colon or a comma.
    if (sign !== ',' && sign !== ':' && !(sign === '"' && isKey)) end = at
    isKey = sign === '{' || (sign === ',' && open.at(-1) === '}')
  }
  if (!/^\s*(?:"|[a-z]*$|-?[\d.eE+-]*$)/.test(text.slice(at))) return undefined
  const parsed = parseJson(text.slice(0, end) + open.toReversed().join(''))
  return isLeft(parsed) ? undefined : parsed.right
}
