/**
 * One agent, asked twice by itself, and its session file read: `reads.ts NAME FOLDER`. Prints as JSON what of the file does not
 * fit the reader. Started by `run.ts` where there is no way out.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { faultMessage, settle, textOf } from 'indelible'
import { readTranscript } from '@indelible/transcripts'
import { readTranscriptDatabase } from '@indelible/transcripts/sqlite'
import { providerServer } from '../test/run/provider-server.ts'
import { agents } from './agents.ts'
import { scripted } from './scripted.ts'

/** What was read of an agent's session file. */
export interface Reading {
  readonly format: string
  readonly messages: number
  readonly wrong: readonly string[]
}

const [name, folder = ''] = process.argv.slice(2)
const agent = agents.find((one) => one.name === name)
const program = agent?.program()
if (agent === undefined || program === undefined) throw new Error(`${name} is not here`)

const place = { home: join(folder, 'home'), work: join(folder, 'work') }
mkdirSync(place.home)
mkdirSync(place.work)
const note = join(place.work, 'note.txt')
writeFileSync(note, 'first:alpha\nsecond:beta\n')
agent.prepare?.(place)
const provider = await providerServer(scripted)

const variables: Readonly<Record<string, string>> = {
  OPENAI_BASE_URL: `${provider.url}/v1`,
  OPENAI_API_KEY: 'none',
  ANTHROPIC_BASE_URL: provider.url,
  ANTHROPIC_API_KEY: 'none',
  GOOGLE_GEMINI_BASE_URL: provider.url,
}
const filled = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (all, key: string) => variables[key] ?? all)

const ask = (question: string, goesOn: boolean): Promise<string | undefined> =>
  new Promise((resolve) => {
    const env = Object.fromEntries(Object.entries(agent.env).map(([key, value]) => [key, filled(value)]))
    const child = spawn(program, agent.ask(question, goesOn).map(filled), {
      cwd: place.work,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: place.home, ...variables, ...env },
    })
    let out = ''
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    child.stderr.on('data', (chunk) => (out += String(chunk)))
    const timer = setTimeout(() => child.kill('SIGKILL'), 300_000) // ends a hang
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? undefined : `exit code ${code}: ${out.slice(-1500)}`)
    })
  })

const failed =
  (await ask(`Please read ${note} and tell me its second word.`, false)) ?? (await ask('And what was the first?', true))
await provider.close()

/** What the session file should say, and does not. */
const read = (): Reading => {
  const [file] = globSync(join(place.home, agent.transcript))
  if (file === undefined) return { format: '', messages: 0, wrong: ['it has left no session file'] }
  const transcript = file.endsWith('.db') ? readTranscriptDatabase(file) : readTranscript(readFileSync(file))
  if (isLeft(transcript)) return { format: '', messages: 0, wrong: [faultMessage(transcript.left)] }
  const { format, messages, damage, losses } = transcript.right
  const words = messages.map((message) => `${message.role}: ${textOf(message)}`)
  const settled = settle(messages)
  const wrong = [
    ...damage.map(({ line, reason }) => `line ${line} ${reason}`),
    ...losses.map(({ line, reason }) => `line ${line}: a value ${reason}`),
    ...(isLeft(settled) ? [faultMessage(settled.left)] : []),
    ...['tell me its second word', 'And what was the first?'].flatMap((question) =>
      words.filter((text) => text.startsWith('user: ') && text.includes(question)).length === 1
        ? []
        : [`the question "${question}" is not in it once`],
    ),
    ...(messages.some(({ content }) => content.some(({ type }) => type === 'tool_call')) ? [] : ['it has no call']),
    ...(words.some((text) => text.startsWith('assistant: ') && text.includes('second word is'))
      ? []
      : ['it has no answer']),
  ]
  return { format, messages: messages.length, wrong }
}

const reading = read()
process.stdout.write(
  JSON.stringify([{ ...reading, wrong: [...(failed === undefined ? [] : [failed]), ...reading.wrong] }]),
)
