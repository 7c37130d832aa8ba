/** What a start of the built command loads: every file and every byte takes time before the first line. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { writeTestFile } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-start-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { bin } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8')) as {
  readonly bin: { readonly indelible: string }
}
const command = join(root, 'packages/cli', bin.indelible)
const store = join(folder, 'start.db')

interface Loaded {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  readonly files: readonly string[]
  readonly bytes: number
  readonly builtIns: readonly string[]
  /** How many of `Intl.Segmenter` were made: the first takes as long as 20 files. */
  readonly segmenters: number
}

const counting = pathToFileURL(
  writeTestFile(
    'counting.mjs',
    `import { registerHooks } from 'node:module'
import { writeFileSync } from 'node:fs'
const loaded = { files: [], bytes: 0, builtIns: [], segmenters: 0 }
registerHooks({
  load(url, context, next) {
    const result = next(url, context)
    if (url.startsWith('node:')) loaded.builtIns.push(url)
    else {
      loaded.files.push(url.replace(/^.*\\//, ''))
      loaded.bytes += result.source?.length ?? 0
    }
    return result
  },
})
Intl.Segmenter = class extends Intl.Segmenter {
  constructor(...args) {
    super(...args)
    loaded.segmenters += 1
  }
}
process.on('exit', () => writeFileSync(process.env.LOADED, JSON.stringify(loaded)))
`,
  ),
).href

const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Loaded => {
  const path = join(folder, 'loaded.json')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', counting, command, ...args], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, LOADED: path, INDELIBLE_STORE: store, ...env },
  })
  const loaded = JSON.parse(readFileSync(path, 'utf8')) as Omit<Loaded, 'status' | 'stdout' | 'stderr'>
  return { status, stdout, stderr, ...loaded }
}

describe('starting the command', () => {
  it.each([[['--version']], [['--help']], [['list', '--help']], [[]]])(
    'without work loads four files and no store: %j',
    (args) => {
      const { files, bytes, builtIns, segmenters } = start(args)
      expect(files.length).toBeLessThanOrEqual(4)
      expect(bytes).toBeLessThan(200_000)
      for (const heavy of ['sqlite', 'crypto', 'zlib', 'http', 'child_process', 'worker_threads', 'readline'])
        expect(builtIns).not.toContain(`node:${heavy}`)
      expect(segmenters).toBe(0)
    },
  )
  it('for list loads store readers only, no transcripts, keys, servers or threads', () => {
    expect(start(['import', join(root, 'examples/coding-agent.json')])).toMatchObject({ status: 0 })
    const { status, stdout, files, bytes, builtIns, segmenters } = start(['list'])
    expect(status).toBe(0)
    expect(stdout).toContain('billing period…') // cut, and not by the segmenter
    expect(files.length).toBeLessThan(40)
    expect(bytes).toBeLessThan(950_000)
    for (const heavy of ['http', 'child_process', 'worker_threads', 'readline'])
      expect(builtIns).not.toContain(`node:${heavy}`)
    expect(segmenters).toBe(0)
  })
  it('without COMMAND prints the first commands and fails', () => {
    const { status, stdout, stderr } = start([])
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^Usage: indelible COMMAND/)
    expect(stderr).toContain('import FILE')
    expect(stderr).toContain('"indelible --help" lists all commands')
  })
  it("caches compiled code in the user's cache folder once", () => {
    const caches = join(folder, 'caches')
    const env = { XDG_CACHE_HOME: caches, NODE_COMPILE_CACHE: undefined }
    const cachedFiles = (): readonly string[] => readdirSync(caches, { recursive: true, encoding: 'utf8' }).toSorted()
    start(['--version'], env)
    const first = cachedFiles()
    expect(first[0]).toBe('indelible')
    expect(first.length).toBeGreaterThan(2)
    start(['--version'], env)
    expect(cachedFiles()).toEqual(first)
    // The specification has it that a relative one is ignored.
    start(['--version'], { ...env, XDG_CACHE_HOME: 'caches-here' })
    expect(readdirSync(folder)).not.toContain('caches-here')
  })
  it('checks the Node version before loading anything else', () => {
    const code = readFileSync(command, 'utf8')
    expect(code).not.toMatch(/^\s*(?:import|export)\b[^(]*\bfrom\b|^\s*import\s*["']/m)
    expect(code.indexOf('needs Node 22.16')).toBeLessThan(code.indexOf('import('))
  })
})

it('npm start ends quietly if the reader of its output stops reading', () => {
  const script = writeTestFile(
    'long.ts',
    `import ${JSON.stringify(pathToFileURL(join(root, 'scripts/closed-pipe.ts')).href)}
for (let line = 0; line < 100_000; line++) {
  process.stdout.write(\`line \${line}\\n\`)
  await new Promise(setImmediate)
}
`,
  )
  expect(readFileSync(join(root, 'scripts/start.ts'), 'utf8')).toContain("import './closed-pipe.ts'")
  const { stdout, stderr } = spawnSync('sh', ['-c', '"$0" "$1" | head -n 2', process.execPath, script], {
    encoding: 'utf8',
  })
  expect([stdout, stderr]).toEqual(['line 0\nline 1\n', ''])
})
