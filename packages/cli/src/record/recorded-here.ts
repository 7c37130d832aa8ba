/** The list of sessions that were recorded on this machine, by this user: only their tool calls are run again unasked. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isLeft } from 'indelible/internal/json'
import { describeSession, verifySession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { defaultStorePath } from '../sources/store.ts'
import type { Terminal } from '../terminal/command.ts'

/** The path of the list; undefined for a process without a home. */
const pathIn = (env: Terminal['env']): string | undefined =>
  ['XDG_DATA_HOME', 'HOME', 'LOCALAPPDATA'].some((name) => env[name])
    ? join(dirname(defaultStorePath(env)), 'recorded-here.jsonl')
    : undefined

/** Note that sessions were recorded here. A session is known by its id and the root of its rows, which nobody can imitate. */
export const noteRecordedHere = async (store: Store, ids: readonly string[], env: Terminal['env']): Promise<void> => {
  const path = pathIn(env)
  if (path === undefined) return
  const lines: string[] = []
  for (const id of ids) {
    const info = await describeSession(store, id)()
    if (!isLeft(info)) lines.push(`${JSON.stringify([id, info.right.head.size, info.right.head.root])}\n`)
  }
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    appendFileSync(path, lines.join(''), { mode: 0o600 })
  } catch {
    // The folder can't be written. `rerun` then asks for --trust-session.
  }
}

/** Whether a session was recorded here and has not changed since. */
export const isRecordedHere = async (store: Store, id: string, env: Terminal['env']): Promise<boolean> => {
  const path = pathIn(env)
  let lines: readonly string[] = []
  try {
    lines = path === undefined ? [] : readFileSync(path, 'utf8').split('\n')
  } catch {
    // Nothing was recorded here.
  }
  const start = `[${JSON.stringify(id)},`
  const verified = await verifySession(store, id)()
  if (isLeft(verified)) return false
  const { size, root } = verified.right.head
  return lines.findLast((line) => line.startsWith(start)) === JSON.stringify([id, size, root])
}
