/** Counts what our code executes, by V8's precise coverage. The count does not depend on time. */
import { Session } from 'node:inspector'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { root } from '../../scripts/run.ts'

const session = new Session()
session.connect()

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

const post = (method: string, parameters?: object): Coverage => {
  let result: unknown
  session.post(method, parameters, (error: Error | null, answer: unknown) => {
    if (error !== null) throw error
    result = answer
  })
  return result as Coverage
}

// Before the code runs first: V8 counts blocks in functions that it compiles afterwards.
post('Profiler.enable')
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

const sources = pathToFileURL(join(root, '/')).href
const isOurs = (url: string): boolean => url.startsWith(sources) && /\/src\//.test(url) && !url.includes('node_modules')

/**
 * What some work executes of our code: of each function its most executed block. V8 reports a block apart from the block around it only
 * if their counts differ, so a sum of all blocks could jump where one more was executed.
 */
export const stepsOf = (work: () => void): number => {
  post('Profiler.takePreciseCoverage') // sets all counts to zero
  work()
  let steps = 0
  for (const { url, functions } of post('Profiler.takePreciseCoverage').result)
    if (isOurs(url))
      for (const { ranges } of functions) steps += ranges.reduce((most, { count }) => Math.max(most, count), 0)
  return steps
}
