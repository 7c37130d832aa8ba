/**
 * One agent, recorded between it and a provider with a prompt cache: it is resumed, has other tools, comes back after a pause, and
 * compacts. `indelible spend` must name each cause, from the recording and from the agent's own file. Prints JSON. Started by
 * `run.ts` where there is no way out.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agents } from './agents.ts'
import { PromptCache } from './prompt-cache.ts'
import { stage } from './stage.ts'

/** What one look at the costs found. */
export interface SpendStep {
  readonly step: string
  readonly causes: readonly string[]
  readonly wrong: readonly string[]
}

const losesCache = agents.find(({ name }) => name === process.argv[2])?.losesCache
if (losesCache === undefined) throw new Error(`${process.argv[2]} is not tried with this`)
const cache = new PromptCache(losesCache.block)
const { agent, program, place, folder, ...there } = await stage(cache)
const path = join(folder, 'sessions.db')
const main = join(import.meta.dirname, '../packages/cli/dist/bin/main.js')

/** Longer than any cache is kept. */
const pause = 26 * 3_600_000

// The clock of the recorder goes on by the pause. The agent's own clock can't: the times of its file are moved instead.
const clock = join(folder, 'clock.mjs')
writeFileSync(
  clock,
  `const later = Number(process.env.CLIENTS_LATER ?? 0)
const now = Date.now
Date.now = () => now() + later
`,
)

/** Ask the agent, recorded `later` milliseconds after now. */
const ask = (args: readonly string[], later = 0): Promise<string | undefined> => {
  const record = ['--import', clock, main, 'record', '--store', path, '--', program]
  return there.run(process.execPath, [...record, ...args, ...losesCache.usual], {
    CLIENTS_LATER: String(later),
  })
}

const wrong: string[] = []
const step = async (what: string, args: readonly string[], later = 0): Promise<void> => {
  const failed = await ask(args, later)
  if (failed !== undefined) wrong.push(`${what}: ${failed}`)
}
await step('a question', agent.ask('Please read note.txt and tell me its second word.', false))
await step('resumed', agent.ask('And what was the first?', true))
await step('other tools', [...agent.ask('Is there a third?', true), ...losesCache.otherTools])
await step('the same tools again', agent.ask('And a fourth?', true))
const paused = Date.now()
cache.clear()
await step('after a pause', agent.ask('And a fifth?', true), pause)
if (agent.compact !== undefined) await step('compaction', agent.compact, pause)
else await step('compaction', agent.ask('This fills the window.', true), pause)
await step('after the compaction', agent.ask('What did I ask before?', true), pause)
await there.close()

/** A session file of the agent with the times after the pause moved by it. */
const withPause = (text: string): string =>
  text.replaceAll(/"(?:timestamp|createdAt)":"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (field, time: string) =>
    Date.parse(time) < paused ? field : field.replace(time, new Date(Date.parse(time) + pause).toISOString()),
  )

const spend = (...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'spend', ...args, '--by', 'cause', '--json'], {
    encoding: 'utf8',
  })
  const rows = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { cause: string }]))
  return { causes: rows.map(({ cause }) => cause), failed: status === 0 ? [] : [stderr.slice(-1000)] }
}

/** Which of the causes are not named, or are named without having been there. */
const lookAt = (
  title: string,
  args: readonly string[],
  expected: readonly string[],
  forbidden: readonly string[],
): SpendStep => {
  const { causes, failed } = spend(...args)
  return {
    step: title,
    causes,
    wrong: [
      ...failed,
      ...expected.filter((cause) => !causes.includes(cause)).map((cause) => `${cause} is not named`),
      ...forbidden.filter((cause) => causes.includes(cause)).map((cause) => `${cause} is named`),
    ],
  }
}

const named = ['tools', 'expired', 'compaction', 'read', 'first']
const [file = ''] = globSync(join(place.home, agent.transcript))
const copy = join(folder, 'paused.jsonl')
writeFileSync(copy, withPause(readFileSync(file, 'utf8')))
const steps = [
  lookAt('recorded', ['--store', path], named, ['unknown', 'uncounted']),
  lookAt('imported', [copy], named, ['uncounted']),
]
process.stdout.write(JSON.stringify([{ step: 'asked', causes: [], wrong }, ...steps]))
