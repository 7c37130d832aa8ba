/**
 * `npm test`: every check there is, in one run, closed by one line that counts them. `npm run check`, which is
 * `test.ts --full`, does the same at full size, and uses the packed package as its users do.
 *
 * The checks run beside the tests. `INDELIBLE_ROUNDS` is the share of the full size (see test/rounds.ts). `npm test` keeps
 * the files of its tests in memory where there is room: on a slow disk they wait for `fsync` most of the time. At full size
 * they are on the disk.
 */
import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { summaryPath, type Summary } from './reporter.ts'
import { root, runAside } from './run.ts'

const isFull = process.argv.includes('--full')
if (isFull) process.env['INDELIBLE_ROUNDS'] ??= 'full'
else process.env['INDELIBLE_QUICK'] = 'yes' // test/only-in-check.ts
const isBundled = !isFull || Number(process.env['INDELIBLE_ROUNDS']) < 1
if (isBundled) process.env['INDELIBLE_PROGRAMS'] = 'bundled' // test/programs.ts

mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(summaryPath, { force: true })

/** A new folder for temporary files, open to all users as `/tmp` is; in memory, if that is asked for and has room for one. */
const temporaryFolder = (isInMemory: boolean): string => {
  const folder = mkdtempSync(isInMemory && hasRoom('/dev/shm') ? '/dev/shm/indelible-' : join(tmpdir(), 'i-')) // paths of sockets are short
  chmodSync(folder, 0o1777)
  return folder
}
const hasRoom = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= 4e9
  } catch {
    return false
  }
}
const folder = temporaryFolder(!isFull)
process.env['TMPDIR'] = folder
process.on('exit', () => {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 }) // a program that a test has ended may still write
  } catch (error) {
    process.stderr.write(`${folder} could not be removed: ${String(error)}\n`)
  }
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

type Step = readonly [name: string, command: string, args: readonly string[]]

const node = process.execPath
const examples: Step = ['examples in docs', node, ['scripts/extract-docs.ts', '--examples']] // their types are checked too
const build: Step = ['build', node, ['scripts/build.ts', ...(isFull ? [] : ['--no-check'])]] // types are checked beside it
const programs: Step = ['what tests start, bundled', node, ['scripts/programs.ts']]
const counts: Step = ['what an append costs', node, ['--conditions=@indelible/source', 'scripts/counts.ts']]
const packed: Step = ['the packed package', node, ['scripts/smoke.ts']]
const checks: readonly Step[] = [
  ['format', 'oxfmt', ['--check']],
  ['types', 'tsc', ['-p', 'tsconfig.json', '--singleThreaded']],
  ['types without Node', 'tsc', ['-p', 'tsconfig.portable.json', '--singleThreaded']],
  ['types in a browser', 'tsc', ['-p', 'packages/view/page/tsconfig.json', '--singleThreaded']],
  ...(isFull ? ([['types of benches', 'tsc', ['-p', 'bench/tsconfig.json']]] satisfies Step[]) : []),
]
const lint: Step = ['lint', 'oxlint', ['--deny-warnings']]
const tests: Step = [
  'tests',
  'vitest',
  ['run', '--silent=passed-only', '--reporter=default', '--reporter=./scripts/reporter.ts'],
]

let passed = 0
let failed = 0

const step = async ([name, command, args]: Step, output: 'pipe' | 'inherit' = 'pipe'): Promise<boolean> => {
  const from = Date.now()
  const { good, said: text } = await runAside(command, args, output)
  const seconds = ((Date.now() - from) / 1000).toFixed(1)
  process.stdout.write(`${good ? '' : text}${good ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`)
  return good
}
const check = async (one: Step): Promise<void> => {
  if (await step(one)) passed += 1
  else failed += 1
}

await check(examples)
let testsEndedWell = false
const built = check(build)
const buildAndTest = async (): Promise<void> => {
  await built // some tests serve the built page
  if (isBundled) await check(programs)
  testsEndedWell = await step(tests, 'inherit') // counted one by one, below
}
const checkAll = async (): Promise<void> => {
  for (const one of checks) await check(one)
  await built // the linter follows imports of packages into what is built
  await check(lint)
}
await Promise.all([buildAndTest(), checkAll()])
if (isFull) for (const step of [counts, packed]) await check(step)

let leftOut: Summary['leftOut'] = []
try {
  const summary = JSON.parse(readFileSync(summaryPath, 'utf8')) as Summary
  passed += summary.passed
  failed += summary.failed + summary.broken.length
  leftOut = summary.leftOut
  if (summary.onlyInCheck > 0) process.stdout.write(`only in npm run check: ${summary.onlyInCheck} tests\n`)
  for (const { name, reason } of leftOut) {
    process.stdout.write(`left out: ${name}: ${reason ?? 'NO REASON IS GIVEN'}\n`)
    if (reason === undefined) failed += 1
  }
  for (const error of summary.broken) process.stdout.write(`FAIL ${error}\n`)
  if (!testsEndedWell && summary.failed + summary.broken.length === 0) failed += 1
} catch (error) {
  failed += 1
  process.stdout.write(`FAIL the test runner left no summary: ${String(error)}\n`)
}

process.stdout.write(`${passed} passed, ${failed} failed${leftOut.length > 0 ? `, ${leftOut.length} skipped` : ''}\n`)
process.exitCode = failed === 0 ? 0 : 1
