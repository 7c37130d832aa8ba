/**
 * A thread that runs command lines, one after the other, for tests that want what a process would give and not the
 * process. It runs the function that the program runs, with streams, environment and folder of its own.
 */
import { enableCompileCache } from 'node:module'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { runCommand, type CommandLine, type RunResult } from './command-run.ts'

const run = (line: CommandLine): Promise<RunResult> => {
  const { env = {} } = line
  // What drivers and clients look up themselves.
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value
  return runCommand(line)
}

enableCompileCache(process.env['NODE_COMPILE_CACHE'])
let answer: ((result: RunResult) => void) | undefined
// As a process that ends with an error: whoever waits for this thread can't see it end.
process.on('unhandledRejection', (error) =>
  answer?.({ status: 1, stdout: '', stderr: error instanceof Error ? String(error.stack) : String(error) }),
)
process.on('exit', (status) => {
  Atomics.store(workerData as Int32Array, 0, 1)
  answer?.({ status, stdout: '', stderr: 'the command ended the process' })
})
parentPort?.on(
  'message',
  async ({ line, port, ready }: { line: CommandLine; port: MessagePort; ready: Int32Array }) => {
    answer = (result) => {
      answer = undefined
      port.postMessage(result)
      port.close()
      Atomics.store(ready, 0, 1)
      Atomics.notify(ready, 0)
    }
    const result = await run(line)
    answer?.(result)
  },
)
