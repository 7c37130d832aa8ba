/** A reference history where a workflow runs: bundled, in a context of its own with nothing in it but the language. */
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { beforeAll, expect, it } from 'vitest'
import { build } from 'vite'
import { root } from '../../../../scripts/run.ts'

let code: string

beforeAll(async () => {
  const entry = join(root, 'packages/workflows/src/refs/index.ts')
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    root,
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, minify: false, lib: { entry, formats: ['iife'], name: 'refs' } },
  })
  const [output] = Array.isArray(built) ? built : [built]
  const chunk = output !== undefined && 'output' in output ? output.output[0] : undefined
  code = chunk?.type === 'chunk' ? chunk.code : ''
})

/** What no deterministic sandbox lets through: each throws as soon as it is touched. */
const forbidden = `
  for (const name of ['Date', 'setTimeout', 'setInterval', 'queueMicrotask', 'crypto', 'performance', 'fetch', 'process', 'require', 'Buffer', 'TextDecoder', 'WeakRef', 'FinalizationRegistry'])
    Object.defineProperty(globalThis, name, { get() { throw new Error(name + ' in a workflow') } })
  Math.random = () => { throw new Error('Math.random in a workflow') }
`

const workflow = `
  const id = (digit) => digit.repeat(64)
  const history = refs.createRefHistory({ scope: 'team', session: 's' })
  history.append({ blockIds: [id('a')], role: 'user' })
  history.append({ blockIds: [id('b'), id('c')], role: 'assistant' })
  const again = refs.parseHistoryJson(JSON.parse(JSON.stringify(history)))
  again.right.history.append({ blockIds: [id('d')], role: 'tool' })
  const read = [again.right.history.toJSON(), null, [{ role: 'user', content: 'hello' }], { type: 'llm2', refs: [{ blockKeys: ['k'], role: 'user' }] }, { type: 'indelible.refs', version: 9 }].map((saved) => {
    const parsed = refs.parseHistoryJson(saved)
    return parsed._tag === 'Right' ? [parsed.right.kind, parsed.right.history.len] : parsed.left
  })
  JSON.stringify([history, again.right.history, read])
`

const once = (): string => {
  const context = createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } })
  return runInContext(`'use strict';${forbidden};${code};${workflow}`, context, { timeout: 5000 }) as string
}

it('refs run without clock, randomness, timers and I/O', () => {
  const [history, again, read] = JSON.parse(once()) as readonly [{ refs: unknown[] }, { refs: unknown[] }, unknown]
  expect([history.refs.length, again.refs.length]).toEqual([2, 3])
  expect(read).toEqual([
    ['refs', 3],
    ['messages', 0],
    ['messages', 1],
    ['keyed', 1],
    { _tag: 'NewerRefs', found: 9, supported: 3 },
  ])
})

it('refs replay to the same bytes', () => {
  expect(once()).toBe(once())
})

it('the sandbox reports any access', () => {
  const context = createContext(Object.create(null))
  expect(() => runInContext(`${forbidden};${code};new Date()`, context)).toThrow('Date in a workflow')
})
