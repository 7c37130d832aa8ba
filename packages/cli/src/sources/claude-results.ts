/**
 * Tool results that Claude Code stores in separate files next to the session, whose lines contain
 * only the preview sent to the model. The complete result becomes a note after the message.
 *
 * Source  Claude Code 2.1.330: `<session>/tool-results/<name>.txt` (2026-11)
 */
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { textOf, type Message } from 'indelible/message'
import type { Transcript } from '@indelible/transcripts'

/** Add the results that Claude Code stores in separate files. Missing and very large ones are left out. */
export const withResultFiles = async (path: string, transcript: Transcript): Promise<Transcript> => {
  if (transcript.format !== 'claude-code') return transcript
  const folder = dirname(path)
  const session = basename(folder) === 'subagents' ? dirname(folder) : join(folder, basename(path, '.jsonl'))
  const found: Transcript['notes'][number][] = []
  for (const [position, { content }] of transcript.messages.entries())
    for (const part of content) {
      if (part.type !== 'tool_result') continue
      // Only the name is taken from the file, so it can't redirect the read elsewhere.
      const said = textOf({ role: 'tool', content: part.content as Message['content'] })
      const name = said.includes('persisted-output') ? /tool-results[/\\](\w[\w.-]*)/.exec(said)?.[1] : undefined
      const text = name === undefined ? undefined : await textOfFile(join(session, 'tool-results', name))
      if (name === undefined || text === undefined) continue
      const note = {
        type: 'application',
        namespace: 'claude-code',
        content: { result: part.callId, file: name, text },
      } as const
      found.push({ position: position + 1, note })
    }
  if (found.length === 0) return transcript
  const notes = [...transcript.notes, ...found].toSorted((one, other) => one.position - other.position)
  return Object.freeze({ ...transcript, notes: Object.freeze(notes) })
}

const textOfFile = async (path: string): Promise<string | undefined> => {
  const bytes = await readFile(path).catch(() => undefined)
  return bytes === undefined || bytes.length > longest ? undefined : bytes.toString().toWellFormed()
}

/** In bytes. */
const longest = 16 * 1024 * 1024
