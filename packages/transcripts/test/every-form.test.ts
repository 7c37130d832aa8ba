/** Every format is read the same with any line ends and byte order mark, among blank lines, before NULs, and in any pieces. */
import { expect, it } from 'vitest'
import { orThrow } from 'indelible'
import { readTranscript, readTranscriptStream, type TranscriptEvent } from '@indelible/transcripts'
import { assembleTranscript } from '@indelible/transcripts/internal'
import { agentFiles } from './agent-files.ts'
import { fileOf } from './leaves.ts'
import { samples } from './samples.ts'

const files = {
  ...Object.fromEntries(Object.entries(agentFiles).map(([name, { file }]) => [name, file])),
  ...Object.fromEntries(Object.entries(samples).map(([name, { input, layout }]) => [name, fileOf(input, layout)])),
}
// Blank lines of Aider's Markdown belong to its texts.
const { Aider: _, ...ofJson } = files

const isOfLines = (file: string): boolean => file.trimEnd().includes('\n') && !file.includes('\n ')

it.each(Object.entries(ofJson))('%s', async (_name, file) => {
  const { format, messages, damage } = orThrow(readTranscript(file))
  const forms: readonly (string | Uint8Array)[] = [
    `\ufeff${file}`,
    Buffer.from(`\ufeff${file}`),
    Buffer.from(`\ufeff${file}`, 'utf16le'),
    file.replaceAll('\n', '\r\n'),
    file.trimEnd(),
    `\n\n${file.replaceAll('\n', '\n\n')}`,
    ...(isOfLines(file) ? [file.trimEnd().replaceAll('\n', '')] : []),
  ]
  for (const form of forms) expect(orThrow(readTranscript(form))).toMatchObject({ format, messages, damage })
  for (const form of [`${file}\0\0\0\n`, ...(isOfLines(file) ? [`\0\0${file}`] : [])]) {
    const read = orThrow(readTranscript(form))
    expect(read).toMatchObject({ format, messages })
    expect(read.damage.length).toBe(damage.length + 1)
  }
  const bytes = Buffer.from(file)
  for (const size of [1, 7]) {
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const events: TranscriptEvent[] = []
    for await (const event of readTranscriptStream(source())) events.push(event)
    expect(orThrow(assembleTranscript(events))).toMatchObject({ format, messages, damage })
  }
})
