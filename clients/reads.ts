/**
 * One agent, asked twice by itself, and its session file read: `reads.ts NAME FOLDER`. Prints as JSON what of the file does not
 * fit the reader. Started by `run.ts` where there is no way out.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { faultMessage, settle, textOf } from 'indelible'
import { readTranscript } from '@indelible/transcripts'
import { readTranscriptDatabase } from '@indelible/transcripts/sqlite'
import { stage } from './stage.ts'

/** What was read of an agent's session file. */
export interface Reading {
  readonly format: string
  readonly messages: number
  readonly wrong: readonly string[]
}

const { agent, program, place, run, withAddresses, close } = await stage()
const questions = ['tell me its second word', 'And what was the first?'].slice(0, agent.asksOnce === true ? 1 : 2)
let failed: string | undefined
for (const [index, question] of [
  `Please read ${join(place.work, 'note.txt')} and tell me its second word.`,
  'And what was the first?',
]
  .slice(0, questions.length)
  .entries())
  failed ??= await run(program, agent.ask(question, index > 0).map(withAddresses))
await close()

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
    ...questions.flatMap((question) =>
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
