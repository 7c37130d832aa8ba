/** The version of the command's package. */
import { readFileSync } from 'node:fs'
import { packageFile } from './package-file.ts'

export const version = (): string => {
  const found = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
    readonly version: string
  }
  return found.version
}
