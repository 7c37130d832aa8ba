/** The version of the package that the command is of. */
import { readFileSync } from 'node:fs'

export const version = (): string => {
  const found = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string
  }
  return found.version
}
