/**
 * One agent, recorded between it and the scripted provider: it reads a file, is resumed, and compacts. Prints JSON: what
 * was recorded after each step, beside what the agent's own files say. Started by `run.ts` where there is no way out.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { listSessions, openSession, type Message, type Session } from 'indelible'
import type { Note } from '../src/notes/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { readTranscript } from '@indelible/transcripts'
import { readTranscriptDatabase } from '@indelible/transcripts/sqlite'
import { compare } from './compare.ts'
import { stage } from './stage.ts'

/** What one step left. */
export interface Step {
  readonly step: string
  readonly milliseconds: number
  /** The sessions, but for those of which no message is in the agent's files, such as one that makes a title. */
  readonly sessions: number
  readonly others: number
  readonly forks: number
  readonly calls: number
  readonly messages: number
  readonly retracted: number
  readonly compactions: number
  readonly beside: number
  readonly wrong: readonly string[]
}

const { agent, program, place, folder, ...there } = await stage()
const path = join(folder, 'sessions.db')

/** The command, as it is installed. */
const main = join(import.meta.dirname, '../packages/cli/dist/bin/main.js')

const run = (args: readonly string[]): Promise<string | undefined> =>
  there.run(process.execPath, [main, 'record', '--store', path, '--', program, ...args])

/** The conversation as the agent's own files say it. */
const transcript = (): readonly Message[] => {
  const [file] = globSync(join(place.home, agent.transcript))
  if (file === undefined) throw new Error('it has left no session file')
  const read = file.endsWith('.db') ? readTranscriptDatabase(file) : readTranscript(readFileSync(file))
  if (isLeft(read)) throw new Error(`its session file can't be read: ${JSON.stringify(read.left)}`)
  return read.right.messages as readonly Message[]
}

/** What `indelible show --check` says of the agent's own files that it can't read whole, those of sub-agents too. */
const damaged = (): readonly string[] => {
  const files = globSync(join(place.home, agent.files ?? agent.transcript))
  if (files.length === 0) return ['it has left no session file']
  return files.flatMap((file) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'show', '--check', file], {
      encoding: 'utf8',
    })
    return status === 0 && stdout.includes('damage: none') ? [] : [`${file}: ${stdout.slice(-500)}${stderr}`]
  })
}

/** What the recorder notes where a client has compacted its conversation. */
const isCompaction = (note: Note): boolean => note.type === 'application' && note.namespace === 'indelible.recorder'

const receipts = (session: Session): number => [...session.notes()].filter(({ type }) => type === 'receipt').length

const looked = async (step: string, milliseconds: number, failed: string | undefined): Promise<Step> => {
  const store = await sqliteStore({ path })
  const { sessions: listed } = await listSessions(store, { limit: 1000 })
  const sessions = await Promise.all(listed.map(({ id }) => openSession(store, id)))
  const kept = transcript()
  const compared = sessions.map((session) => ({
    session,
    ...compare(session.conversation() as Iterable<Message>, kept),
  }))
  // The one that says the most of what the agent's files say.
  const [best, ...rest] = compared.toSorted((a, b) => a.differences.length - b.differences.length)
  const answers = new Set(
    kept.filter(({ role }) => role === 'assistant').map(({ content }) => JSON.stringify(content[0])),
  )
  const isPart = ({ session }: { readonly session: Session }): boolean =>
    [...session.conversation()].some(
      ({ role, content }) => role === 'assistant' && answers.has(JSON.stringify(content[0])),
    )
  const parts = rest.filter(isPart)
  const wrong = [...(failed === undefined ? [] : [failed]), ...(best?.differences ?? ['nothing is recorded'])]
  const all = best?.session
  const result: Step = {
    step,
    milliseconds,
    sessions: compared.length - rest.length + parts.length,
    others: rest.length - parts.length,
    forks: sessions.filter((session) => session.forkedFrom !== undefined).length,
    calls: sessions.reduce((sum, session) => sum + receipts(session), 0),
    messages: all?.conversation().length ?? 0,
    retracted: all === undefined ? 0 : all.view().length - all.conversation().length,
    compactions: all === undefined ? 0 : [...all.notes()].filter(isCompaction).length,
    beside: best?.beside ?? 0,
    wrong,
  }
  await store.close()
  return result
}

/**
 * What is wrong about a step in which two sub-agents worked side by side: each has a session with what it was asked and its
 * own answers, and nothing was retracted for it.
 */
const withHelpers = async (from: Step, step: Step): Promise<Step> => {
  const store = await sqliteStore({ path })
  const { sessions } = await listSessions(store, { limit: 1000 })
  const wrong = [...step.wrong]
  const all = await Promise.all(sessions.map(({ id }) => openSession(store, id)))
  for (const [side, other] of [
    ['left', 'right'],
    ['right', 'left'],
  ] as const) {
    const own = all.filter((session) => {
      const text = JSON.stringify([...session.conversation()])
      return text.includes(`helper ${side}`) && !text.includes('two helpers')
    })
    const said = own.map((session) => [...session.conversation()])
    if (own.length !== 1) wrong.push(`helper ${side} is in ${own.length} sessions`)
    if (JSON.stringify(said).includes(`helper ${other}`)) wrong.push(`helper ${side} is jumbled with ${other}`)
    const last = JSON.stringify(said[0]?.findLast(({ role }) => role === 'assistant')?.content ?? '')
    if (!last.includes(`helper ${side}`)) wrong.push(`helper ${side} says at last ${last}`)
    if (own.some((session) => session.view().length !== session.conversation().length))
      wrong.push(`messages of helper ${side} were retracted`)
  }
  if (step.retracted !== from.retracted || step.forks !== from.forks) wrong.push('something was retracted, or forked')
  await store.close()
  return { ...step, wrong }
}

const steps: Step[] = []
const step = async (title: string, ...questions: readonly (readonly string[])[]): Promise<void> => {
  const from = Date.now()
  let failed: string | undefined
  for (const args of questions) failed ??= await run(args)
  steps.push(await looked(title, Date.now() - from, failed))
}

await step('reads a file', agent.ask('Please read note.txt and tell me its second word.', false))
await step('resumed', agent.ask('And what was the first?', true))
if (agent.compact !== undefined)
  await step('compacted by command', agent.compact, agent.ask('Please read note.txt again.', true))
if (agent.isNamed)
  await step(
    'compacted by itself',
    agent.ask('This fills the window.', true),
    agent.ask('What did I ask before?', true),
  )
await step('and resumed', agent.ask('Is there more?', true))
const before = steps.at(-1) as Step
await step('two sub-agents', agent.ask('Please let two helpers read it for you.', true))
const helped = await withHelpers(before, steps.pop() as Step)
steps.push({ ...helped, wrong: [...helped.wrong, ...damaged()] })
await there.close()
process.stdout.write(JSON.stringify(steps))
