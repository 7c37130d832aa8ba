/**
 * Bundle the command `indelible`: the program and its threads, in `dist/bin` of its package. A start loads a few files and
 * not five hundred.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin, Rolldown } from 'vite'
import type { Command, Group } from '../packages/cli/src/terminal/command.ts'
import { bundle, type BundleOptions } from './bundle.ts'
import { functionDeclarations } from './bundle-plugins.ts'
import type { Manifest } from './packages.ts'
import { root } from './run.ts'

const startPath = join(root, 'packages/cli/src/command-line.ts')
const tablePath = join(root, 'packages/cli/src/commands.ts')

/** The table of commands as data. A command's own code is a chunk that `run` loads. */
const tableOfData: Plugin = {
  name: 'table-of-data',
  load: {
    filter: { id: tablePath },
    handler: async () => {
      const table = pathToFileURL(tablePath)
      const { groups } = (await import(table.href)) as { readonly groups: readonly Group[] }
      const places = new Map<unknown, string>()
      for (const [, path = ''] of readFileSync(tablePath, 'utf8').matchAll(/^import \{.*\} from '(.+)'$/gm)) {
        const module = (await import(new URL(path, table).href)) as { readonly [name: string]: unknown }
        for (const [name, value] of Object.entries(module)) places.set(value, `(await import('${path}')).${name}`)
      }
      const commandText = (command: Command): string => {
        const place = places.get(command)
        if (place === undefined) throw new Error(`no import of commands.ts has the command ${command.name}`)
        return `{ ...${JSON.stringify(command)}, run: async (call, commands) => ${place}.run(call, commands) }`
      }
      const groupText = ({ title, commands }: Group): string =>
        `{ title: ${JSON.stringify(title)}, commands: [${commands.map(commandText).join()}] }`
      return `export const groups = [${groups.map(groupText).join()}]\nexport const commands = groups.flatMap(({ commands }) => commands)\n`
    },
  },
}

const options: BundleOptions = {
  programs: {
    main: 'packages/cli/src/main.ts',
    'record-thread': 'packages/cli/src/record/record-thread.ts',
  },
  folder: join(root, 'packages/cli/dist/bin'),
  plugins: [tableOfData],
  packages: [/^(@modelcontextprotocol|zod)(\/|$)/],
  licenses: 'LICENSES.md',
}

// A file takes Node up to a millisecond, so what every call loads is one file, and what most commands load is another.
const chunks = new Map((await bundle(options)).map((chunk) => [chunk.fileName, chunk]))
const start = new Set<string>()
const addModules = (chunk: Rolldown.OutputChunk | undefined): void => {
  for (const id of chunk?.moduleIds ?? []) start.add(id)
  for (const name of chunk?.imports ?? []) addModules(chunks.get(name))
}
addModules([...chunks.values()].find(({ facadeModuleId }) => facadeModuleId === startPath))
const bundled = await bundle({
  ...options,
  plugins: [tableOfData, functionDeclarations],
  groups: [
    { name: 'start', test: (id) => start.has(id), priority: 1 },
    { name: 'common', minShareCount: 38 }, // of the dynamic imports, most of which are commands
  ],
})

const manifest = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8')) as Manifest
const known = { ...manifest.dependencies, ...manifest.peerDependencies }
const files = new Set(bundled.map(({ fileName }) => fileName))
const strangers = bundled
  .flatMap(({ imports, dynamicImports }) => imports.concat(dynamicImports))
  .filter((name) => !files.has(name) && !name.startsWith('node:') && !(name in known))
if (strangers.length > 0)
  throw new Error(`the bundled command imports ${strangers.join(', ')}, which packages/cli/package.json does not name`)
