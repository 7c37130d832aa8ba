/** The command as a person runs it: a real process, its output, its exit code. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/run.ts'

export const main: string = join(root, 'src/cli/main.ts')

/** A folder for the files of one test file. */
export const folder: string = mkdtempSync(join(tmpdir(), 'indelible-cli-'))

export const written = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

export const indelible = (
  args: readonly string[],
  options: { readonly columns?: number; readonly input?: string; readonly env?: object } = {},
): { readonly status: number | null; readonly stdout: string; readonly stderr: string; readonly lines: readonly string[] } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: 'utf8',
    input: options.input ?? '',
    maxBuffer: 1 << 28,
    env: { PATH: process.env['PATH'], COLUMNS: String(options.columns ?? 100), NODE_COMPILE_CACHE: join(root, '.cache/compiled'), ...options.env },
  })
  return { status, stdout, stderr, lines: stdout.split('\n') }
}
