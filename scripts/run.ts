/** Running other programs from the scripts. */
import { spawnSync } from 'node:child_process'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('..', import.meta.url))

/** Run a program with the terminal's own output. True if it ended well. */
export const run = (command: string, args: readonly string[], cwd: string = root): boolean =>
  spawnSync(executable(command), args, { cwd, stdio: 'inherit' }).status === 0

/** Run a program and return what it wrote; throws with all of its output if it failed. */
export const output = (command: string, args: readonly string[], cwd: string = root): string => {
  const { status, stdout, stderr, error } = spawnSync(executable(command), args, { cwd, encoding: 'utf8' })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed (${status})\n${stdout}${stderr}`, { cause: error })
  return stdout
}

/** The project's own copy of a tool, whatever else the machine has. npm itself is the machine's. */
const executable = (command: string): string =>
  isAbsolute(command) || command === 'npm' ? command : join(root, 'node_modules/.bin', command)
