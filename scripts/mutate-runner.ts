/** The process of `npm run mutate` that keeps Vitest loaded: it is sent tests to run, and answers what failed. */
import { join, relative } from 'node:path'
import { inspect } from 'node:util'
import { BaseSequencer, createVitest, type Reporter, type TestSpecification } from 'vitest/node'

/** What the runner is asked. */
export interface Question {
  /** Files whose text is another than it was. */
  readonly changed: readonly string[]
  readonly tests: readonly string[]
}
/** What it answers. */
export interface Outcome {
  /** The tests that failed, and other errors. */
  readonly failed: readonly string[]
  /** Milliseconds of each test file. */
  readonly took: readonly (readonly [path: string, milliseconds: number])[]
}

class InGivenOrder extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files)
  }
}

const [root = '', bail] = process.argv.slice(2)
let failed: string[] = [] // of this run: Vitest's own result still has those of earlier ones
const reporter: Reporter = {
  onTestCaseResult: (test) => {
    if (test.result().state === 'failed') failed.push(`${relative(root, test.module.moduleId)} > ${test.fullName}`)
  },
  onTestSuiteResult: (suite) =>
    void failed.push(...suite.errors().map(({ message }) => `${suite.fullName}: ${message}`)),
  onTestModuleEnd: (module) =>
    void failed.push(...module.errors().map(({ message }) => `${module.moduleId}: ${message}`)),
}
const sequence = { sequencer: InGivenOrder }
/** All tests but one, which reads the code's own text, and would find the marks. */
const testNamePattern = /^(?!.*is not bypassed)/
const vitest = await createVitest({
  root,
  watch: false,
  bail: Number(bail),
  reporters: [reporter],
  maxWorkers: 1,
  sequence,
  testNamePattern,
})
await vitest.standalone()
const specifications = await vitest.globTestSpecifications()

const answer = async ({ changed, tests }: Question): Promise<Outcome> => {
  failed = []
  for (const path of changed) vitest.invalidateFile(join(root, path))
  const asked = tests.flatMap((path) => specifications.filter(({ moduleId }) => moduleId === join(root, path)))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(asked)
  const took = testModules.map(
    (testModule) => [relative(root, testModule.moduleId), testModule.diagnostic().duration] as const,
  )
  return { failed: [...failed, ...unhandledErrors.map((error) => inspect(error))], took }
}
process.on('message', (question: Question) => void answer(question).then((outcome) => process.send?.(outcome)))
process.on('disconnect', () => process.exit())
process.send?.('ready')
