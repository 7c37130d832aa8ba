/** The id of a file's session, from its first lines or its name, without a reader for its format. */
import { isObject, jsonIn } from 'indelible/internal/json'
import { startOf } from '../sources/codex-base.ts'
import { idOf } from '../sources/machine-sessions.ts'
import type { FoundFile } from '../sources/agent-sessions.ts'

/** The id under which the session of a file is kept. */
export const sessionIdIn = async (found: FoundFile): Promise<string> => {
  const named = usableId(idOf(found))
  if (found.rows !== undefined) return named
  const start = String(await startOf(found.path, startLength).catch(() => '')) // the file is reported when it is kept
  for (const line of start.split('\n', mostLines)) {
    const id = idInLine(jsonIn(line))
    if (id !== undefined && isUsable(id)) return id
  }
  const [, id] = /"sessionId"\s*:\s*"([^"\\]+)"/.exec(start) ?? []
  return id !== undefined && isUsable(id) ? id : named
}

/** An id without characters that ids can't have, of at most 200 bytes. */
export const usableId = (name: string): string => {
  const bytes = Buffer.from(name.replaceAll(/\p{Cc}/gu, '').toWellFormed())
  const text = bytes
    .subarray(0, 200)
    .toString()
    .replace(/\uFFFD+$/, '')
  return text === '' || text.startsWith('indelible.') ? `session-${text}` : text
}

const idInLine = (entry: unknown): string | undefined => {
  if (!isObject(entry)) return undefined
  const { type, payload, data } = entry as { readonly [field: string]: unknown }
  const beside = type === 'session_meta' ? payload : type === 'session.start' ? data : entry
  if (!isObject(beside)) return undefined
  const { sessionId, agentId, id } = beside as { readonly [field: string]: unknown }
  const own = typeof sessionId === 'string' ? sessionId : type === 'session_meta' || type === 'session' ? id : undefined
  if (typeof own !== 'string' || own === '') return undefined
  return typeof agentId === 'string' && agentId !== '' ? `${own}.agent-${agentId}` : own
}

/** An id that looks like a path, or can't be that of a session, is not used. */
const isUsable = (id: string): boolean =>
  Buffer.byteLength(id) <= 200 && !/^[/\\~]|^[a-z]:[/\\]|(?:^|[/\\])\.{1,2}(?:[/\\]|$)|\p{Cc}|^indelible\./iu.test(id)

const mostLines = 40

/** In bytes. */
const startLength = 1 << 16
