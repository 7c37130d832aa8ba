/** Vitest's reporter for `npm test`: failures as Vitest prints them, and a summary for `scripts/test.ts`. */
import { existsSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'
import { isQuick, onlyInCheck, testsOnlyInCheck } from '../test/only-in-check.ts'
import { root } from './run.ts'

/** Where the summary of the last run is. */
export const summaryPath: string = join(root, '.cache/tests.json')

export interface Summary {
  readonly passed: number
  readonly failed: number
  /** The number of tests that only `npm run check` runs. */
  readonly onlyInCheck: number
  /** Other tests that did not run, each with its reason. */
  readonly leftOut: readonly { readonly name: string; readonly reason: string | undefined }[]
  /** Files that could not be loaded, and errors that belong to no test. */
  readonly broken: readonly string[]
  /** Milliseconds of each test file's tests, longest first. */
  readonly files: readonly (readonly [path: string, milliseconds: number])[]
}

const reasonOf = (test: TestCase): string | undefined => {
  const { note } = test.result() as { readonly note?: string }
  let at: TestCase | TestSuite | TestModule = test
  while (at.type !== 'module') {
    const { leftOut } = at.meta() as { readonly leftOut?: string }
    if (leftOut !== undefined) return leftOut
    at = at.parent
  }
  return note
}

/** Writes the summary of a run. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { readonly message: string }[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const stateIs = (state: string) => tests.filter((test) => test.result().state === state)
    const nameOf = (test: TestCase): string => `${relative(root, test.module.moduleId)} > ${test.fullName}`
    const leftOut = stateIs('skipped').map((test) => ({ name: nameOf(test), reason: reasonOf(test) }))
    const names = new Set(tests.map((test) => `${test.module.moduleId} > ${test.fullName}`))
    const unknown = [...testsOnlyInCheck].flatMap(([path, own]) =>
      [...own].flatMap((name) => (names.has(`${path} > ${name}`) ? [] : [`${relative(root, path)} > ${name}`])),
    )
    const summary: Summary = {
      passed: stateIs('passed').length,
      failed: stateIs('failed').length + stateIs('pending').length,
      onlyInCheck: leftOut.filter(({ reason }) => reason === onlyInCheck).length,
      leftOut: leftOut.filter(({ reason }) => reason !== onlyInCheck),
      broken: [
        ...modules.flatMap((module) => module.errors().map(({ message }) => `${module.moduleId}: ${message}`)),
        ...errors.map(({ message }) => message),
        // Without the real transcripts there are no tests of each of their files.
        ...(isQuick && existsSync(join(root, '../shared/data'))
          ? unknown.map((name) => `test/only-in-check.txt names no test: ${name}`)
          : []),
      ],
      files: modules
        .map((module) => [relative(root, module.moduleId), Math.round(module.diagnostic().duration)] as const)
        .toSorted(([, a], [, b]) => b - a),
    }
    writeFileSync(summaryPath, JSON.stringify(summary))
  }
}
