/** Whatever a provider, a program's file or an attacker sends, the work grows with its size, not with the square of it. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { anthropic } from 'indelible/codecs/anthropic'
import { gemini } from 'indelible/codecs/gemini'
import { JoinedCompletion } from 'indelible/internal/codecs'
import { root } from '../../scripts/run.ts'
import { withSmallStack } from '../small-stack.ts'

// In a process of its own: only code that V8 compiles after the count began is counted. Code that is optimized, or compiled again after
// a collection, would be counted in part, from run to run another one.
const exactCounts = ['--no-flush-bytecode', '--no-opt', '--no-maglev', '--no-sparkplug']
it('four times the input takes at most five times the steps', () => {
  const printed = execFileSync(
    process.execPath,
    [...exactCounts, '--conditions=@indelible/source', join(root, 'test/steps/grow.ts')],
    { encoding: 'utf8', maxBuffer: 100_000_000 },
  )
  const grown = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly name: string; readonly steps: readonly [number, number] })
  expect(grown.length).toBeGreaterThan(300)
  expect(grown.filter(({ steps: [few] }) => few === 0)).toEqual([])
  expect(grown.filter(({ steps: [few, many] }) => many / few > 5)).toEqual([])
})

const each = <T>(make: (index: number) => T): T[] => Array.from({ length: 20_000 }, (_, at) => make(at))

it('an answer or a request with many fields or calls ends no call stack', () => {
  const unknown = each((at) => [`field${at}`, at] as const)
  withSmallStack(unknown, () => {
    expect(isRight(anthropic.decode({ messages: [], ...Object.fromEntries(unknown) }))).toBe(true)
    expect(isRight(gemini.decode({ contents: [], ...Object.fromEntries(unknown) }))).toBe(true)
    const calls = each((index) => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }))
    expect(new JoinedCompletion().take({ choices: [{ delta: { tool_calls: calls } }] }).length).toBe(calls.length)
  })
})

it('a part of a streamed chat without a type is a part', () => {
  const joined = new JoinedCompletion()
  for (const content of [[{ text: 'a' }], [{ text: 'b' }], [null], [{ text: 'c' }]])
    joined.take({ choices: [{ delta: { content } }] })
  expect(joined.body).toMatchObject({
    choices: [{ message: { content: [{ text: 'ab' }, { type: 'text', text: 'null' }, { text: 'c' }] } }],
  })
})
