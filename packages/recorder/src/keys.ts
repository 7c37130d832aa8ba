/** Request fields and parts of URLs that hold a key: their values are never recorded. */
import { isObject, type Json } from 'indelible/json/kit'

/** A value without the texts of fields named like a key. Schemas of such fields, which are objects, are kept. */
export const withoutKeys = <T extends Json>(value: T, hidden = false): T =>
  (typeof value === 'string'
    ? hidden
      ? keyPlaceholder
      : withoutKeysOfUrl(value)
    : Array.isArray(value)
      ? value.map((one: Json) => withoutKeys(one, hidden))
      : isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, one]) => [
              name,
              withoutKeys(one as Json, hidden || name === 'headers' || (typeof one === 'string' && isKey(name))),
            ]),
          )
        : value) as T

/** The text that replaces a key. */
const keyPlaceholder = '[a key, not recorded]'

/** The URL of an MCP server may hold its key in the query, or a password. */
const withoutKeysOfUrl = (text: string): string =>
  /^https?:\/\/\S+$/i.test(text)
    ? text
        .replace(/^(https?:\/\/)[^/?#@]+@/i, `$1${keyPlaceholder}@`)
        .replaceAll(/([?&])([^=&#?]{1,80})=[^&#]+/g, (pair, sign: string, name: string) =>
          name.toLowerCase() === 'key' || isKey(name) ? `${sign}${name}=${keyPlaceholder}` : pair,
        )
    : text

/** Such as `api_key`, `authorization`, `authorization_token`, `accessToken`, `client-secret`. */
const isKey = (name: string): boolean =>
  /^(?:.{1,40}[_-])?(?:api_?key|authorization|password|secret|token|cookie)$/.test(inSnake(name))

const inSnake = (name: string): string =>
  name
    .slice(0, 80)
    .replaceAll(/[A-Z]+/g, (letters) => `_${letters.toLowerCase()}`)
    .replaceAll(/[_-]+/g, '_')
    .replace(/^_/, '')
