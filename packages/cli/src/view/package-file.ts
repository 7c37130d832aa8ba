/** Files of this package: the nearest folder with a package.json, whether this runs as source, built or in a bundle. */
import { existsSync } from 'node:fs'

const folder = ((): URL => {
  let at = new URL('../', import.meta.url)
  while (!existsSync(new URL('package.json', at))) at = new URL('../', at)
  return at
})()

/** The address of a file, by its path in the package. */
export const packageFile = (path: string): URL => new URL(path, folder)
