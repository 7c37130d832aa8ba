/**
 * What a start of the built command, and an import of the built library, take of the processor, beside a start of Node
 * alone: each a process of its own, taking turns; the command with the code that a start before has compiled and without
 * it. `list` reads a store of one session. Node imports the bundle `dist/node`; the files of `dist` one by one are measured
 * beside it.
 *
 *     node start.ts [ROUNDS]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { machine } from './measure.ts'

const root = join(import.meta.dirname, '..')
const command = join(root, 'packages/cli/dist/bin/main.js')
const folder = mkdtempSync(join(tmpdir(), 'indelible-start-'))
const taken = join(folder, 'taken')
const atEnd = join(folder, 'at-end.cjs')
const nothing = join(folder, 'nothing.mjs')
writeFileSync(
  atEnd,
  `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(taken)}, JSON.stringify(process.cpuUsage())))`,
)
writeFileSync(nothing, '')

/** A program that imports these files of `dist`. */
const importing = (name: string, files: readonly string[]): string => {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(path, files.map((file) => `import ${JSON.stringify(join(root, 'dist', file))}\n`).join(''))
  return path
}
const imports = [
  { name: "import 'indelible'", args: [importing('root', ['node/index.js'])], env: {} },
  { name: "import 'indelible', file by file", args: [importing('root-files', ['index.js'])], env: {} },
  {
    name: "import 'indelible' and 'indelible/store/sqlite'",
    args: [importing('sqlite', ['node/index.js', 'node/store/sqlite/index.js'])],
    env: {},
  },
  {
    name: "import 'indelible' and 'indelible/store/sqlite', file by file",
    args: [importing('sqlite-files', ['index.js', 'store/sqlite/index.js'])],
    env: {},
  },
]

/** Milliseconds of the processor that a process takes, until it begins to end. */
const spent = (args: readonly string[], more: NodeJS.ProcessEnv = {}): number => {
  const { status, stderr } = spawnSync(process.execPath, ['--require', atEnd, ...args], {
    env: { ...process.env, XDG_CACHE_HOME: folder, INDELIBLE_STORE: join(folder, 'a.db'), ...more },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  const { user, system } = JSON.parse(readFileSync(taken, 'utf8')) as NodeJS.CpuUsage
  return (user + system) / 1000
}

try {
  spent([command, 'import', join(root, 'examples/coding-agent.json')])
  const commands = ['--version', '--help', 'list'].flatMap((argument) => [
    { name: `indelible ${argument}`, args: [command, argument], env: {} },
    {
      name: `indelible ${argument}, nothing compiled`,
      args: [command, argument],
      env: { NODE_DISABLE_COMPILE_CACHE: '1' },
    },
  ])
  const starts = [{ name: 'Node alone', args: [nothing], env: {} }, ...imports, ...commands]
  const times = new Map(starts.map(({ name }) => [name, [] as number[]]))
  for (const { args, env } of starts) spent(args, env) // the first start compiles
  for (let round = 0; round < Number(process.argv[2] ?? 5); round++)
    for (const { name, args, env } of starts) times.get(name)?.push(spent(args, env))
  console.log(`${machine()}, load ${loadavg()[0]?.toFixed(0)}\n\n| processor time | median | least |\n|---|---:|---:|`)
  for (const [name, all] of times) {
    const sorted = all.toSorted((a, b) => a - b)
    console.log(`| ${name} | ${sorted[sorted.length >> 1]?.toFixed(0)} ms | ${sorted[0]?.toFixed(0)} ms |`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
