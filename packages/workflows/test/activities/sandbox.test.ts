/** The workflow's side where a workflow runs: bundled, in a context with nothing in it but the language. */
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { expect, it } from 'vitest'
import { build } from 'vite'
import { hydrate, parseHistoryJson, type RefHistoryJson } from '@indelible/workflows/refs'
import { memoryStore } from 'indelible'
import { historyActivities, type HistoryActivities } from '@indelible/workflows/activities'
import { scriptedModel } from 'indelible/run'
import { assistant, user } from 'indelible/message'
import { root } from '../../../../scripts/run.ts'
import { ok } from '../../../../test/task-results.ts'

it('a chat step runs in a sandbox with real activities outside, and replays identically', async () => {
  const entry = join(root, 'packages/workflows/test/activities/workflow.ts')
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    root,
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, minify: false, lib: { entry, formats: ['iife'], name: 'workflow' } },
  })
  const [output] = Array.isArray(built) ? built : [built]
  const chunk = output !== undefined && 'output' in output ? output.output[0] : undefined
  const code = chunk?.type === 'chunk' ? chunk.code : ''
  const context = createContext(Object.create(null))
  const forbidden = `for (const name of ['Date', 'setTimeout', 'setInterval', 'crypto', 'performance', 'fetch', 'process', 'AbortController'])
    Object.defineProperty(globalThis, name, { get() { throw new Error(name + ' in a workflow') } })
    Math.random = () => { throw new Error('Math.random in a workflow') };`
  const main = runInContext(`${forbidden}${code};workflow.main`, context) as (
    activities: Pick<HistoryActivities, 'stream'>,
    ref: string,
  ) => Promise<string>

  const store = memoryStore()
  const hosted = historyActivities({ store, registry: { openai: { apiKey: 'k', model: () => model } } })
  const model = scriptedModel([assistant('one'), assistant('two')])
  const { ref } = await hosted.appendMessage({ action: 'm', message: user('hello') })
  const log: string[] = []
  const first = await main(
    {
      stream: async (input) => {
        const answer = await hosted.stream(input)
        log.push(JSON.stringify(answer))
        return answer
      },
    },
    JSON.stringify(ref),
  )
  // A replay: the engine answers from its log, and nothing is called.
  const replayed = await main({ stream: async () => JSON.parse(log.shift() ?? '') as never }, JSON.stringify(ref))
  expect(replayed).toBe(first)
  const { history } = JSON.parse(first) as { readonly history: RefHistoryJson }
  const parsed = parseHistoryJson(history)
  if (parsed._tag === 'Left' || parsed.right.kind !== 'refs') throw new Error('not refs')
  expect((await ok(hydrate(store, parsed.right.history))).view().toArray()).toEqual([
    user('hello'),
    assistant('one'),
    assistant('two'),
  ])
})
