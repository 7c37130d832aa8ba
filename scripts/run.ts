/** Running other programs from the scripts. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('..', import.meta.url))

/** Run a program with the terminal's own output. True if it ended well. */
export const run = (command: string, args: readonly string[], cwd: string = root): boolean =>
  spawnSync(executable(command), args, { cwd, stdio: 'inherit' }).status === 0

/** Run a program beside others. Its output comes at its end, or as it goes. */
export const runAside = (
  command: string,
  args: readonly string[],
  output: 'pipe' | 'inherit' = 'pipe',
): Promise<{ readonly good: boolean; readonly said: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(executable(command), args, { cwd: root, stdio: ['ignore', output, output] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
    child.on('error', reject)
    child.on('close', (status) => resolve({ good: status === 0, said }))
  })

/** Run a program and return what it wrote; throws with all of its output if it failed. */
export const output = (command: string, args: readonly string[], cwd: string = root): string => {
  const { status, stdout, stderr, error } = spawnSync(executable(command), args, { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed (${status})\n${stdout}${stderr}`, { cause: error })
  return stdout
}

/** Whether `dist` holds what is written now: nothing that the build reads is newer than the page, which it makes last. */
export const isBuilt = (): boolean => {
  const page = join(root, 'packages/view/dist/page/index.html')
  if (!existsSync(page)) return false
  const { mtimeMs } = statSync(page)
  const names = readdirSync(join(root, 'packages'))
  const sources = ['src', 'packages/view/page', ...names.map((name) => `packages/${name}/src`)].flatMap((folder) =>
    ['', ...readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })].map((name) => join(folder, name)),
  )
  const folders = ['.', ...names.map((name) => `packages/${name}`)]
  const settings = folders.flatMap((folder) =>
    ['package.json', 'tsconfig.build.json'].map((name) => join(folder, name)),
  )
  return [...sources, ...settings]
    .filter((path) => existsSync(join(root, path)))
    .every((path) => statSync(join(root, path)).mtimeMs <= mtimeMs)
}

/** The project's own copy of a tool, whatever else the machine has. npm and git are the machine's. */
const executable = (command: string): string =>
  isAbsolute(command) || command === 'npm' || command === 'git' ? command : join(root, 'node_modules/.bin', command)
