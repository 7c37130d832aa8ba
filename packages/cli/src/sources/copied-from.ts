/**
 * The calls that a file has only copies of: Claude Code writes the history of a session into the files of sub-agents that continue
 * it (`/btw`, compaction), and pi into the files of forks.
 */
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isObject, jsonIn } from 'indelible/internal/json'
import { readTranscriptStream } from '@indelible/transcripts'
import { bytesOfFile, startOf } from './codex-base.ts'

/** The `callIds` of the file that a file was copied from; undefined if it names none, or that is not there. */
export const callsOfOriginal = async (path: string): Promise<ReadonlySet<string> | undefined> => {
  const original = sessionOfSubAgent(path) ?? (await originalOfFork(path))
  return original === undefined ? undefined : callsIn(original).catch(() => undefined)
}

const sessionOfSubAgent = (path: string): string | undefined => {
  const session = /^(.+)[/\\]subagents[/\\].*agent-[^/\\]*\.jsonl$/.exec(path)?.[1]
  return session === undefined ? undefined : `${session}.jsonl`
}

/** The file that the header of a fork of pi names, near the fork: a folder of sessions may have been moved. */
const originalOfFork = async (path: string): Promise<string | undefined> => {
  if (!path.endsWith('.jsonl')) return undefined
  const start = await startOf(path, longestHeader).catch(() => '')
  const header = jsonIn(String(start).split('\n', 1)[0] ?? '')
  const named = isObject(header) && header['type'] === 'session' ? header['parentSession'] : undefined
  if (typeof named !== 'string') return undefined
  const steps = named.split(/[/\\]/)
  const nearest = [steps.slice(-1), steps.slice(-2)]
  for (let folder = dirname(path), level = 0; level < highest; folder = dirname(folder), level++)
    for (const last of nearest) {
      const found = join(folder, ...last)
      if (found !== path && (await stat(found).catch(() => undefined))?.isFile() === true) return found
    }
  return undefined
}

/** How many folders above a fork its original is looked for. */
const highest = 4

/** In bytes. */
const longestHeader = 1 << 16

const callsIn = async (path: string): Promise<ReadonlySet<string>> => {
  const { size, mtimeMs } = await stat(path)
  const stamp = `${path} ${size} ${mtimeMs}`
  if (latest?.stamp === stamp) return latest.calls
  const calls = new Set<string>()
  for await (const event of readTranscriptStream(bytesOfFile(path)))
    if (event.type === 'end') for (const id of event.origin.callIds ?? []) calls.add(id)
  latest = { stamp, calls }
  return calls
}

/** Several sub-agents of one session are read one after another. */
let latest: { readonly stamp: string; readonly calls: ReadonlySet<string> } | undefined
