/**
 * Tool results that Claude Code stores in separate files next to the session, whose lines contain
 * only the preview sent to the model. The complete result becomes a note after the message.
 *
 * Source  Claude Code 2.1.330: `<session>/tool-results/<name>.txt` (2026-11)
 */
import { readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { textOf, type Message } from 'indelible/message'
import type { Transcript } from '@indelible/transcripts'

/** Add the results that Claude Code stores in separate files. Missing and very large ones, and links, are left out. */
export const withResultFiles = async (path: string, transcript: Transcript): Promise<Transcript> => {
  if (transcript.format !== 'claude-code') return transcript
  const folder = dirname(path)
  const session = basename(folder) === 'subagents' ? dirname(folder) : join(folder, basename(path, '.jsonl'))
  const found: Transcript['notes'][number][] = []
  for (const [position, { content }] of transcript.messages.entries())
    for (const part of content) {
      if (part.type !== 'tool_result') continue
      // Only the name is taken from the file, so it can't redirect the read elsewhere.
      const resultText = textOf({ role: 'tool', content: part.content as Message['content'] })
      const name = resultText.includes('persisted-output')
        ? /tool-results[/\\](\w[\w.-]*)/.exec(resultText)?.[1]
        : undefined
      const text = name === undefined ? undefined : await textOfResult(session, name)
      if (name === undefined || text === undefined) continue
      const note = {
        type: 'application',
        namespace: 'claude-code',
        content: { result: part.callId, file: name, text },
        calls: [part.callId],
      } as const
      found.push({ position: position + 1, note })
    }
  if (found.length === 0) return transcript
  const notes = [...transcript.notes, ...found].toSorted((a, b) => a.position - b.position)
  return Object.freeze({ ...transcript, notes: Object.freeze(notes) })
}

/** The text of a result. No link is followed: in files from somebody else it could lead to a private file. */
const textOfResult = async (session: string, name: string): Promise<string | undefined> => {
  const folder = await realpath(dirname(session)).catch(() => '')
  const path = join(folder, basename(session), 'tool-results', name)
  try {
    const found = await stat(path)
    if ((await realpath(path)) !== path || !found.isFile() || found.size > longest) return undefined
    return (await readFile(path)).toString().toWellFormed()
  } catch {
    return undefined
  }
}

/** In bytes. */
const longest = 16 * 1024 * 1024
