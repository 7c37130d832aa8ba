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
export const filePath = (call: string, option: string, value: unknown): string => {
  if (typeof value !== 'string' || value === '')
    throw new TypeError(
      `${call} needs a path: \`${option}\` is ${describe(value)}; expected the path of the store's file`,
    )
  if (value === ':memory:') throw new TypeError(`${call} keeps a file: memoryStore() is the store in memory`)
  const refuse = (reason: string): never => {
    throw new TypeError(`${call}: \`${option}\` is ${describe(value)}, ${reason}`)
  }
  const scheme = /^([a-z][a-z\d+.-]+):/i.exec(value)?.[1]?.toLowerCase() // a single letter is a drive of Windows
  if (scheme !== undefined && scheme !== 'file' && /^[^:]+:\/\//.test(value))
    return refuse('a URL of another kind; expected a path or a file: URL')
  if (scheme !== 'file') return resolve(value)
  if (/[?#]/.test(value))
    return refuse('a URL with parameters; pass the path alone, and `readOnly` or `create: false` as options')
  try {
    return value.slice('file:'.length).startsWith('/')
      ? fileURLToPath(value)
      : resolve(decodeURIComponent(value.slice(5)))
  } catch (error) {
    return refuse(`which is no URL of a local file: ${String((error as Error).message)}`)
  }
}
