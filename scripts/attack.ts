/**
 * `npm run attack`: every suite that plays an attacker, at full size, closed by the minutes of each. `INDELIBLE_ROUNDS` is the
 * share of that size (see test/rounds.ts). Its list is scripts/attacks.ts. CONTRIBUTING.md says which command runs which tests.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suites } from './attacks.ts'
import { summaryPath, type Summary } from './reporter.ts'
import { isBuilt, root, run, runAside } from './run.ts'

process.env['INDELIBLE_ROUNDS'] ??= 'full'

/** Scripts that attack, and need more than Node. */
const scripts: { readonly [what: string]: string } = { 'bundles, by two verifiers': 'scripts/verifiers.ts' }

const say = (line: string): void => void process.stdout.write(`${line}\n`)

mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(summaryPath, { force: true })
if (!isBuilt() && !run(process.execPath, ['scripts/build.ts'])) process.exit(1) // the page's files are of the built page

let isGood = true
const files = Object.values(suites).flat()
const reporters = ['--reporter=default', '--reporter=./scripts/reporter.ts']
const tests = await runAside('vitest', ['run', '--silent=passed-only', ...reporters, ...files], 'inherit')
if (!tests.good) isGood = false
const { passed, failed, leftOut, files: timed } = JSON.parse(readFileSync(summaryPath, 'utf8')) as Summary
const seconds = new Map<string, number>()
for (const [path, milliseconds] of timed) seconds.set(path, (seconds.get(path) ?? 0) + milliseconds / 1000)
for (const [what, names] of Object.entries(suites)) {
  const all = names.map((name) => seconds.get(name))
  const missing = names.filter((_, index) => all[index] === undefined)
  if (missing.length > 0) isGood = false
  const sum = all.reduce<number>((total, one) => total + (one ?? 0), 0)
  say(`${sum.toFixed(0).padStart(6)} s  ${what}${missing.length === 0 ? '' : `: ${missing.join(', ')} did not run`}`)
}
for (const [what, script] of Object.entries(scripts)) {
  const from = Date.now()
  const { good, said: output } = await runAside(process.execPath, [script])
  if (!good) isGood = false
  say(`${((Date.now() - from) / 1000).toFixed(0).padStart(6)} s  ${what}: ${output.trimEnd()}`)
}
for (const { name, reason } of leftOut) say(`left out: ${name}: ${reason ?? 'NO REASON IS GIVEN'}`)
say(`${passed} passed, ${failed} failed, at ${process.env['INDELIBLE_ROUNDS']} of the full size`)
process.exitCode = isGood ? 0 : 1
