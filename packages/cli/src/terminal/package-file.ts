/** Files of this package: finds the nearest folder with a package.json, whether run from source, built or bundled. */
import { existsSync } from 'node:fs'

const folder = ((): URL => {
  let at = new URL('../', import.meta.url)
  while (!existsSync(new URL('package.json', at))) at = new URL('../', at)
  return at
})()

export const packageFile = (path: string): URL => new URL(path, folder)
