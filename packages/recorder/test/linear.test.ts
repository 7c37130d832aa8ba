/**
 * The recorder's work is linear in foreign text: paths and answers of some megabytes, for which quadratic work would take
 * hours, end within the test's limit.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listSessions, memoryStore } from 'indelible'
import { createRecorder } from '@indelible/recorder'
import { root } from '../../../scripts/run.ts'
import { modelIn } from '../src/apis/api.ts'
import { apiOf } from '../src/requests/wire.ts'

const many = 5_000_000

it.each([
  ['slashes', '/'.repeat(many)],
  ['letters', 'a'.repeat(many)],
  ['colons', ':'.repeat(many)],
  ['threads', '/threads/'.repeat(many / 10)],
  ['messages', '/messages'.repeat(many / 10)],
])('finds the API in linear time for a path of many %s', (_, long) => {
  for (const url of [`http://x/v1${long}x`, `/v1${long}x`, `http://x/${long}x`])
    expect(apiOf({ method: 'POST', url })).toBeUndefined()
  expect(apiOf({ method: 'POST', url: `http://x/${long}/chat/completions` })?.name).toBe('openai-chat')
  expect(modelIn(`/v1/${long}/models/x:generateContent`)).toBe('x')
})

it('finds the API and model after slashes, too', () => {
  const nameOf = (path: string) => apiOf({ method: 'POST', url: `https://x.y/a${path}` })?.name
  expect(nameOf('/v1/messages//?beta=true')).toBe('anthropic')
  expect(nameOf('/v1/threads/t1/messages')).toBeUndefined()
  expect(nameOf('/threads/messages')).toBe('anthropic')
  expect(nameOf('/anthropic/models/claude-x:rawPredict')).toBe('anthropic')
  expect(nameOf('/v1beta/models/gemini-x:generateContent')).toBe('gemini')
  expect([modelIn('/models/a:b:generateContent'), modelIn('/models/:x'), modelIn('/models/x')]).toEqual([
    'a:b',
    undefined,
    undefined,
  ])
})

it.each([
  ['that nobody closes', '<a>'.repeat(700_000)],
  ['of many names', Array.from({ length: 200_000 }, (_, index) => `<a${index}>`).join('')],
  ['of texts that may be summaries', '<a>a summary of some words</a>'.repeat(50_000)],
])('finds a summary in linear time in an answer of elements %s', async (_, content) => {
  const store = memoryStore()
  const recorder = createRecorder({ store })
  const call = async (messages: readonly object[], answer: string): Promise<void> => {
    const header = (name: string): string | undefined => (name === 'session-id' ? 'mine' : undefined)
    const observed = recorder.observe({ method: 'POST', url: 'http://x/chat/completions', header })
    observed?.sent(JSON.stringify({ model: 'm', messages }))
    observed?.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
    const message = { role: 'assistant', content: answer }
    observed?.chunk(new TextEncoder().encode(JSON.stringify({ choices: [{ finish_reason: 'stop', message }] })))
    observed?.end()
    await recorder.settled()
  }
  await call([{ role: 'user', content: 'one' }], content)
  await call([{ role: 'user', content: `another ${content}` }], 'two')
  expect(recorder.summary()).toMatchObject({ calls: 2, lost: 0 })
  expect((await listSessions(store)).sessions.length).toBeGreaterThan(0)
})

/**
 * Expressions that are asked about a bounded number of characters, or about text of our own: by their file and source.
 * Others that may match anywhere begin with something fixed, or are tried again at each character of a run.
 */
const bounded: ReadonlySet<string> = new Set([
  String.raw`cli/record.ts \/+$`, // an address that the user gives
  String.raw`evidence/witness.ts \/+$`, // the same
  String.raw`run/model/scripted.ts \s*\S+|\s+$`, // a script of a test
  "context/showing/excerpt.ts ^[.!?:'’–—-]+|[.!?:'’–—…-]+$", // of the first 4,000 characters
  String.raw`context/showing/excerpt.ts (?<![\w@.~/-])(?:[\w@.~-]*\/)+[\w@.~-]+|\b\w+(?:[_.]\w+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b`, // of the first 16,000
  String.raw`records/history-use.ts ([\w$]+) = (?:async )?\([^()]*\) => $`, // of the 200 characters before a use
  String.raw`records/history-use.ts (?:[\w$]+(?:\(\))?[?!]?\.)*[\w$]*$`, // the same
])

it('no unanchored regular expression starts with a repetition that can fail', () => {
  const src = join(root, 'src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const found = files.flatMap((file) =>
    [...readFileSync(join(src, file), 'utf8').replaceAll(comments, '').matchAll(literals)]
      .map(([, pattern = '', flags = '']) => ({ pattern, flags }))
      .filter(repeatsFirst)
      .map(({ pattern }) => `${file} ${pattern}`),
  )
  expect(found.length).toBeGreaterThan(0) // it sees those that are bounded
  expect(found.filter((one) => !bounded.has(one))).toEqual([])
})

const comments = /\/\*\*?\s[^]*?\*\/|^\s*\/\/.*$/gm

/** Regular expressions where an expression may stand: their sources and flags. */
const literals = /(?<=[(,=:[!&|?{}>]\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\n\\])*\]|[^/\n\\[])+)\/([dgimsuvy]*)/g

/** Whether a way through an expression begins with an unbounded repetition, and goes on behind it. */
const repeatsFirst = ({ pattern, flags }: { readonly pattern: string; readonly flags: string }): boolean =>
  !flags.includes('y') &&
  alternativesOf(pattern).some((way) => {
    const unit =
      /^(?:\\b|\(\?<[!=](?:[^()\\]|\\.|\[(?:\\.|[^\]])*\])*\)|\((?:\?:|\?<\w+>)?)*(?:\[(?:\\.|[^\]])*\]|\\p\{[^}]*\}|\\.|[^\\^$|()])([+*]|\{\d+,\})\??(.*)$/s.exec(
        way,
      )
    const boundary = /^(?:\(\?:)?\\b/.test(way) // a run of letters has one beginning
    return unit !== null && !boundary && !/^\)*$/.test(unit[2] as string)
  })

/** The alternatives of an expression, outside of groups. */
const alternativesOf = (pattern: string): readonly string[] => {
  const ways = ['']
  let depth = 0
  for (const [token] of pattern.matchAll(/\[(?:\\.|[^\]])*\]|\\.|[^]/g)) {
    if (token === '(') depth++
    if (token === ')') depth--
    if (token === '|' && depth === 0) ways.push('')
    else ways[ways.length - 1] += token
  }
  return ways
}
