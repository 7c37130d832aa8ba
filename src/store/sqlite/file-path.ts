/** The path of a store's file, from a path or a `file:` URL. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe } from '../../json/index.ts'

/**
 * The absolute path of a file. `file:agent.db` is relative, as in SQLite; `file:///var/agent.db` is absolute.
 *
 * @param call the function, for the error
 * @param option the name of the option, for the error
 * @throws TypeError for another value, `:memory:`, another URL, and a URL with parameters, which are SQLite's and mean nothing here
 */
export const filePath = (call: string, option: string, given: unknown): string => {
  if (typeof given !== 'string' || given === '')
    throw new TypeError(
      `${call} needs a path: \`${option}\` is ${describe(given)}; expected the path of the store's file`,
    )
  if (given === ':memory:') throw new TypeError(`${call} keeps a file: memoryStore() is the store in memory`)
  const refuse = (reason: string): never => {
    throw new TypeError(`${call}: \`${option}\` is ${describe(given)}, ${reason}`)
  }
  const scheme = /^([a-z][a-z\d+.-]+):/i.exec(given)?.[1]?.toLowerCase() // a single letter is a drive of Windows
  if (scheme !== undefined && scheme !== 'file' && /^[^:]+:\/\//.test(given))
    return refuse('a URL of another kind; expected a path or a file: URL')
  if (scheme !== 'file') return resolve(given)
  if (/[?#]/.test(given))
    return refuse('a URL with parameters; pass the path alone, and `readOnly` or `create: false` as options')
  try {
    return given.slice('file:'.length).startsWith('/')
      ? fileURLToPath(given)
      : resolve(decodeURIComponent(given.slice(5)))
  } catch (error) {
    return refuse(`which is no URL of a local file: ${String((error as Error).message)}`)
  }
}
