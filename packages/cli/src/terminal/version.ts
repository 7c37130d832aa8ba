/** The version of the command's package. */
import { existsSync, readFileSync } from 'node:fs'

/** From the nearest package.json: the command runs from its sources, built or bundled. */
export const version = (): string => {
  let folder = new URL('../', import.meta.url)
  while (!existsSync(new URL('package.json', folder))) folder = new URL('../', folder)
  return (JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { readonly version: string }).version
}
