/**
 * Results of tools that Claude Code keeps in files of their own, beside the session: its lines contain the preview that
 * the model got. The complete result becomes a note after the message.
 *
 * Source  Claude Code 2.1.330: `<session>/tool-results/<name>.txt` (2026-11)
 */
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { textOf, type Message } from 'indelible/message'
import type { Transcript } from '@indelible/transcripts'

/** Add the results that Claude Code keeps in files of their own. Missing and very large ones are left out. */
export const withResultFiles = async (path: string, transcript: Transcript): Promise<Transcript> => {
  if (transcript.format !== 'claude-code') return transcript
  const folder = dirname(path)
  const session = basename(folder) === 'subagents' ? dirname(folder) : join(folder, basename(path, '.jsonl'))
  const found: Transcript['notes'][number][] = []
  for (const [position, { content }] of transcript.messages.entries())
    for (const part of content) {
      if (part.type !== 'tool_result') continue
      // The name alone is taken from the file: it says no place to read from.
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
