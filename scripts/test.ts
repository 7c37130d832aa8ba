/** `npm test`: every check there is, in one run, closed by one line that counts them. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, runAside } from './run.ts'

const report = join(root, '.cache/vitest.json')
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(report, { force: true })

type Step = readonly [name: string, command: string, args: readonly string[]]

const build: Step = ['build', process.execPath, ['scripts/build.ts']]
const smoke: Step = ['smoke', process.execPath, ['scripts/smoke.ts']]
/** What is written. */
const checks: readonly Step[] = [
  ['format', 'oxfmt', ['--check']],
  ['lint', 'oxlint', ['--deny-warnings']],
  ['types', 'tsc', ['-p', 'tsconfig.json']],
  ['types without Node', 'tsc', ['-p', 'tsconfig.portable.json']],
  ['types of benches', 'tsc', ['-p', 'bench/tsconfig.json']],
  ['types in a browser', 'tsc', ['-p', 'tsconfig.browser.json']],
  ['types of the page', 'tsc', ['-p', 'page/tsconfig.json']],
  ['types of its tests', 'tsc', ['-p', 'test/page/tsconfig.json']],
]

let passed = 0
let failed = 0
let skipped = 0

const told = (name: string, good: boolean, from: number): boolean => {
  process.stdout.write(`${good ? 'ok  ' : 'FAIL'} ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)\n`)
  return good
}
const counted = (good: boolean): void => {
  if (good) passed += 1
  else failed += 1
}

const step = async ([name, command, args]: Step, output: 'pipe' | 'inherit' = 'pipe'): Promise<boolean> => {
  const from = Date.now()
  const { good, said } = await runAside(command, args, output)
  process.stdout.write(said)
  return told(name, good, from)
}

counted(await step(['examples in docs', process.execPath, ['scripts/extract-docs.ts', '--examples']])) // their types are checked too

const built = step(build)
const packed = async (): Promise<void> => {
  counted(await built)
  counted(await step(smoke))
}
let testsGood = false
const written = async (): Promise<void> => {
  for (const check of checks) counted(await step(check))
  await built // some tests serve the built page
  const reports = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  testsGood = await step(['tests', 'vitest', ['run', ...reports]], 'inherit') // counted one by one, below
}
await Promise.all([packed(), written()])

try {
  const counts = JSON.parse(readFileSync(report, 'utf8')) as {
    readonly numPassedTests: number
    readonly numFailedTests: number
    readonly numPendingTests: number
    readonly testResults: readonly {
      readonly assertionResults: readonly {
        readonly fullName: string
        readonly status: string
        readonly failureMessages: readonly string[] | null
      }[]
    }[]
  }
  passed += counts.numPassedTests
  failed += counts.numFailedTests
  skipped = counts.numPendingTests
  for (const { fullName, status, failureMessages } of counts.testResults.flatMap((file) => file.assertionResults))
    if (status === 'passed' && (failureMessages?.length ?? 0) > 0)
      process.stdout.write(`passed only at the second try: ${fullName}\n${failureMessages?.[0] ?? ''}\n`)
  if (!testsGood && counts.numFailedTests === 0) failed += 1 // a file that did not load, or a type error
} catch (error) {
  failed += 1
  process.stdout.write(`FAIL the test runner left no report: ${String(error)}\n`)
}

process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
process.exitCode = failed === 0 ? 0 : 1
