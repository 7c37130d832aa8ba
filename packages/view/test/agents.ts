/** Sessions of a program with sub-agents of sub-agents, as its files have them. */
import type { Store } from 'indelible'
import { orThrow } from 'indelible'
import { importTranscript, readTranscript } from '@indelible/transcripts'

const second = (count: number): string => new Date(Date.UTC(2026, 10, 3, 9) + count * 1000).toISOString()

interface Said {
  readonly at: number
  /** What the user says; or the tools that the agent calls, by the ids of their calls; or results by the same ids. */
  readonly ask?: string
  readonly calls?: { readonly [id: string]: readonly [name: string, input: object] }
  readonly results?: { readonly [id: string]: string | { readonly error: string } }
  readonly answer?: string
}

const resultBlock = ([id, text]: readonly [string, string | { readonly error: string }]): object =>
  typeof text === 'string'
    ? { type: 'tool_result', tool_use_id: id, content: text }
    : { type: 'tool_result', tool_use_id: id, content: text.error, is_error: true }

/** The lines of a file of Claude Code. */
export const claudeLines = (session: string, said: readonly Said[], agent?: string): Uint8Array => {
  let before: string | null = null
  const lines = said.map(({ at, ask, calls, results, answer }, index) => {
    const uuid: string = `${agent ?? 'main'}-${index}`
    const beside = {
      ...{
        uuid,
        parentUuid: before,
        sessionId: session,
        timestamp: second(at),
        cwd: '/work/calendar',
        version: '2.1.34',
      },
      ...{ isSidechain: agent !== undefined, ...(agent !== undefined && { agentId: agent }) },
    }
    before = uuid
    const content =
      calls !== undefined
        ? Object.entries(calls).map(([id, [name, input]]) => ({ type: 'tool_use', id, name, input }))
        : results !== undefined
          ? Object.entries(results).map(resultBlock)
          : answer === undefined
            ? ask
            : [{ type: 'text', text: answer }]
    const role = calls === undefined && answer === undefined ? 'user' : 'assistant'
    const model = role === 'assistant' ? { model: 'claude-opus-4-5', id: uuid, type: 'message' } : {}
    const usage = role === 'assistant' ? { usage: { input_tokens: 900, output_tokens: 40 } } : {}
    return JSON.stringify({ ...beside, type: role, message: { role, content, ...model, ...usage } })
  })
  return new TextEncoder().encode(`${lines.join('\n')}\n`)
}

const add = async (store: Store, id: string, lines: Uint8Array): Promise<void> => {
  await importTranscript(store, orThrow(readTranscript(lines)), { id })
}

/** The prompts of both sub-agents that the first one starts are the same: the results have their ids. */
export const withSubAgents = async (store: Store): Promise<void> => {
  const find = 'Find every place that knows of leap years.'
  await add(
    store,
    'main.agent-a22',
    claudeLines(
      'main',
      [
        { at: 20, ask: 'Read the file with the rules, and say which one is wrong.' },
        { at: 22, calls: { r1: ['Read', { file_path: 'src/year.ts' }] } },
        { at: 23, results: { r1: { error: 'File does not exist.' } } },
        { at: 30, answer: 'There is no such file.' },
      ],
      'a22',
    ),
  )
  await add(
    store,
    'main',
    claudeLines('main', [
      { at: 0, ask: 'Add a test for leap years to the calendar, please.' },
      { at: 2, calls: { b1: ['Bash', { command: 'ls test' }] } },
      { at: 4.5, results: { b1: 'year.test.ts' } },
      {
        at: 8,
        calls: {
          t1: ['Task', { description: 'Find places', prompt: find }],
          t2: ['Task', { description: 'Find places', prompt: find }],
        },
      },
      { at: 60, results: { t1: 'Three places.\nagentId: a33', t2: 'Two places.\nagentId: a11' } },
      { at: 4000, ask: 'Go on.' },
      { at: 4003, calls: { b2: ['Bash', { command: 'npm test' }] } },
    ]),
  )
  await add(
    store,
    'main.agent-a11',
    claudeLines(
      'main',
      [
        { at: 9, ask: find },
        { at: 11, calls: { g1: ['Grep', { pattern: 'leap' }] } },
        { at: 12, results: { g1: 'src/year.ts:3' } },
        {
          at: 19,
          calls: { t3: ['Task', { prompt: 'Read the file with the rules, and say which one is wrong.' }] },
        },
        { at: 31, results: { t3: 'There is no such file.' } },
        { at: 40, answer: 'Two places.' },
      ],
      'a11',
    ),
  )
  await add(
    store,
    'main.agent-a33',
    claudeLines(
      'main',
      [
        { at: 9, ask: find },
        { at: 50, answer: 'Three places.' },
      ],
      'a33',
    ),
  )
}
