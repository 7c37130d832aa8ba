/**
 * Everything that is derived of, and recalled from, fixed records: digests of it, in outputs.txt. Weights, shares and bounds
 * of the policies have no law that a property could state, and a change of one should be seen. `npm test` looks at half of
 * them; with INDELIBLE_ROUNDS=full all are compared, and written by --update.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  assistant,
  image,
  reasoning,
  system,
  toolCall,
  toolResult,
  user,
  type Message,
  type PageKind,
  type View,
} from 'indelible'
import { rangeDigest, type Note } from '../../src/notes/kit.ts'
import {
  degrade,
  deriveContext,
  manageHistory,
  paged,
  prepareSummaries,
  recall,
  recallTool,
  replay,
  window,
  type DerivedContext,
  type DeriveOptions,
  type Policy,
} from 'indelible/context'
import { extractive } from '../../src/context/kit.ts'
import { recordOf } from './conversations.ts'
import { languages } from './languages.ts'
import { isFull } from '../rounds.ts'

const file = (name: string, lines: number): string =>
  Array.from({ length: lines }, (_, line) => `export const ${name}${line} = '${name} of line ${line}'`).join('\n')
const failure = (name: string): string =>
  `${file(name, 30)}\nerror: no such file src/${name}.ts\n  at run (src/${name}.ts:${name.length}:2)\n${'.'.repeat(400)}`
const step = (index: number): Message[] => {
  const [name, call] = [`part${index}`, `call_${index}`]
  const steps: Message[][] = [
    [
      assistant('Looking.', toolCall(call, 'read_file', { path: `src/${name}.ts` })),
      toolResult(call, file(name, 10 + 7 * index)),
    ],
    [
      assistant(
        toolCall(call, 'bash', { command: `npm test -- ${name}` }),
        toolCall(`${call}b`, 'todo', { done: index }),
      ),
      toolResult(call, failure(name), { isError: true }),
      toolResult(`${call}b`, 'ok'),
    ],
    [
      assistant(
        reasoning('hm '.repeat(50)),
        `I changed src/${name}.ts, because ${name} was wrong. ${'It works. '.repeat(index)}`,
      ),
    ],
    [user(index % 2 === 0 ? 'ok, continue' : `You must never touch src/${name}.ts again. Use tabs.`)],
  ]
  return steps[index % steps.length] as Message[]
}
const coding = [
  system('You fix bugs. Always answer in English.'),
  user(
    `Fix the build of src/index.ts. ${'It is urgent. '.repeat(20)}`,
    image({ type: 'url', url: 'https://example.com/a.png' }),
  ),
  ...Array.from({ length: 44 }, (_, index) => step(index)).flat(),
  user('Now look at src/part8.ts again, and tell me why `part8` fails.'),
  ...step(8),
  ...step(9),
]
const spoken = Object.values(languages).flatMap(({ said }) => said)
const records: Readonly<Record<string, View<Message>>> = {
  coding: recordOf(coding),
  tagged: recordOf(coding, [
    'bootstrap',
    'plan',
    undefined,
    'evidence',
    'preference',
    'constraint',
    'plan',
  ] as PageKind[]),
  talk: recordOf(
    spoken.map((said, index) => (index % 2 === 0 ? user(said) : assistant(`${said} ${'Yes. '.repeat(index % 5)}`))),
  ),
  broken: recordOf([
    assistant(toolCall('a', 'read_file', { path: 'a.ts' })),
    user('Meanwhile?'),
    toolResult('a', file('late', 90)),
    toolResult('b', 'to nothing'),
    ...coding.slice(2, 30),
    assistant(toolCall('open', 'read_file', '{"path": "b')),
  ]),
  'with a long end': recordOf([
    ...coding.slice(0, 12),
    user(`Compare this: ${file('long', 400)}`),
    assistant(toolCall('long', 'read_file', { path: 'long.ts' })),
    toolResult('long', file('long', 400)),
    assistant(`It is the same. ${'So it is. '.repeat(300)}`),
  ]),
}
const policies: Readonly<Record<string, Policy>> = {
  paged: paged(),
  'paged, full': paged({ lowWater: 0.9 }),
  window,
  degrading: {
    name: 'degrading',
    choose: 'always',
    select: (selection) =>
      degrade(
        selection,
        selection.candidates.map(({ level }) => level),
      ),
  },
}

const short = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)

const lineOf = (context: DerivedContext): string => {
  const { messages, sources, residency, dropped, provenance, tokens, activeFrom, stableTokens, cost, epoch } = context
  const counts = Object.entries(Object.groupBy([...residency], (level) => level)).map(
    ([level, all]) => `${all?.length} ${level}`,
  )
  const all = [messages, sources, residency, dropped, provenance, activeFrom, stableTokens, cost].map((one) =>
    JSON.stringify(one),
  )
  return `${tokens} tokens, epoch ${epoch}, ${counts.join(', ')}, ${short(all)}`
}

it('contexts, replays, summaries and search results match the recorded digests', async () => {
  const lines: string[] = []
  const derive = (name: string, view: View<Message>, options: DeriveOptions): DerivedContext | undefined => {
    const derived = deriveContext(view, options)
    lines.push(`${name}: ${isLeft(derived) ? JSON.stringify(derived.left) : lineOf(derived.right)}`)
    return isLeft(derived) ? undefined : derived.right
  }
  for (const [index, [of, view]] of Object.entries(records).entries()) {
    const isEven = index % 2 === 0
    const notes: Note[] = [
      { type: 'pin', position: 7 },
      {
        type: 'summary',
        from: 2,
        to: 6,
        text: 'Two files were read.',
        model: 'm',
        sourceDigest: rangeDigest(view.slice(2, 6)),
      },
    ]
    for (const budget of isFull ? [400, 1200, 3000, 8000] : isEven ? [400, 8000] : [1200, 3000]) {
      for (const [name, policy] of Object.entries(policies))
        derive(`${of}, ${name}, ${budget}`, view, { budget, policy })
      derive(`${of}, notes, ${budget}`, view, { budget, notes, prices: { cached: 0.5, fresh: 2 }, systemTokens: 50 })
      let previous: DerivedContext | undefined
      for (const length of [view.length >> 1, view.length - 9, view.length - 1, view.length])
        previous = derive(`${of}, grown to ${length}, ${budget}`, view.slice(0, length), { budget, previous })
      if (budget !== 1200 && budget !== 8000) continue
      const { calls, tokens, cost, ...more } = replay(view, { budget, now: () => 0 })
      lines.push(`${of}, replay, ${budget}: ${calls} calls, ${tokens} tokens, cost ${cost.toFixed(1)}, ${short(more)}`)
      for (const limit of [{ maxTokens: budget }, { maxChars: 4 * budget }])
        lines.push(`${of}, managed, ${JSON.stringify(limit)}: ${short(manageHistory(view, { ...limit, notes }))}`)
    }
    for (const chunkTokens of [300, 2000])
      lines.push(
        `${of}, summaries of ${chunkTokens}: ${short(await prepareSummaries(view, [], extractive, { chunkTokens })())}`,
      )
    const queries = [
      'part8',
      'error: no such file',
      'why was part12 wrong?',
      'März Rechnung',
      'serveur',
      'tabs',
      'the it of',
    ]
    for (const [at, query] of queries.entries())
      for (const around of isFull ? [0, 2] : [(at + index) % 2 === 0 ? 0 : 2]) {
        const found = recall(view, { query }, { around, limit: 4 })
        const hits = isLeft(found)
          ? [found.left._tag]
          : found.right.map(({ position, score }) => `${position} ${score?.toFixed(3)}`)
        lines.push(`${of}, "${query}", ${around} around: ${hits.join(', ')}, ${short(found)}`)
      }
    const tool = recallTool(() => view, { maxCharacters: 900 })
    const toolSays = (input: object): unknown => {
      try {
        return tool.run(input)
      } catch (error) {
        return String(error)
      }
    }
    const inputs = [
      { position: 3 },
      { position: 3, offset: 100 },
      { query: 'part8' },
      { query: 'part24100' },
      { query: ' ' },
    ]
    for (const input of [...inputs, { position: 99 }, { position: -1 }, {}])
      lines.push(`${of}, tool ${JSON.stringify(input)}: ${short(toolSays(input))}`)
  }
  if (isFull) return await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('outputs.txt')
  const recorded = new Set(readFileSync(new URL('outputs.txt', import.meta.url), 'utf8').split('\n'))
  expect(lines.filter((line) => !recorded.has(line))).toEqual([])
})
