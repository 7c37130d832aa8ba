/** The files of the built page. */
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

export interface Asset {
  readonly type: string
  readonly bytes: Uint8Array
}

/** The files by path, without a leading slash. */
export type Assets = ReadonlyMap<string, Asset>

/** In the package, which the built command finds by its name: it has this code, and not the page. */
const place = new URL(
  'dist/page/',
  pathToFileURL(createRequire(import.meta.url).resolve('@indelible/view/package.json')),
)

const types: { readonly [ending: string]: string } = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/**
 * Read the page.
 *
 * @throws Error if it was not built
 */
export const readAssets = async (): Promise<Assets> => {
  let names: readonly string[]
  try {
    names = await readdir(place, { recursive: true })
  } catch (cause) {
    const { message } = cause as Error
    throw new Error(`the page can't be read: ${message}; if it is not built, run "npm run build"`, { cause })
  }
  const files = names.flatMap((name) => {
    const type = types[/\.(\w+)$/.exec(name)?.[1] ?? '']
    return type === undefined ? [] : [{ name: name.replaceAll('\\', '/'), type }]
  })
  return new Map(
    await Promise.all(
      files.map(async ({ name, type }): Promise<[string, Asset]> => {
        const bytes = await readFile(new URL(name, place))
        return [name, { type, bytes }]
      }),
    ),
  )
}
