/** What a step of a run on a session costs to record: round trips and stored bytes, beside a handler that stores deltas and `tool_started` notes only. */
import { statSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assistant, createSession, orThrow, settle, toolCall, user, type Message } from 'indelible'
import { run, sessionHandler, tool, type Model, type RunEvent, type RunHandler } from 'indelible/run'
import type { Session } from 'indelible/session'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'

const steps = 50

/** The handler as it was before the journal. */
const before =
  (session: Session): RunHandler =>
  async (event: RunEvent) => {
    if (event.type === 'history_delta')
      return session.append(event.append as readonly Message[], {
        operation: event.id,
        expectedLen: event.expectedLen,
      })()
    if (event.type !== 'tool_call_start') return
    const { id, name, arguments: given } = event.call
    return session.note({ type: 'tool_started', callId: id, name, arguments: given })()
  }

/** Answers of a text and so many calls, as providers stream them: block by block, without a pause. */
const modelOf = (calls: number): Model => {
  let step = 0
  return {
    name: 'm',
    async *stream() {
      const last = step++ === steps
      const message = last
        ? assistant('Done. '.repeat(20))
        : assistant(
            'I look at that now, and say why. '.repeat(3),
            ...Array.from({ length: calls }, (_, call) =>
              toolCall(`c${step}_${call}`, 'look', `{"path":"src/folder/file-${step}-${call}.ts","lines":[1,200]}`),
            ),
          )
      for (const [index, part] of message.content.entries())
        yield { type: 'block_end', index, block: part.type as 'text' | 'tool_call', part }
      yield {
        type: 'finish',
        message,
        reason: last || calls === 0 ? 'end_turn' : 'tool_calls',
        usage: { input: 1, output: 1 },
      }
    },
  }
}

const counting = (store: Store): { readonly store: Store; readonly appends: () => number } => {
  let appends = 0
  const append: Store['append'] = (id, rows) => {
    appends += 1
    return store.append(id, rows)
  }
  return { store: { ...store, append }, appends: () => appends }
}

const measured = async (
  calls: number,
  characters: number,
  handler: (session: Session) => RunHandler,
): Promise<readonly [appends: number, bytes: number]> => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-journal-'))
  const path = join(folder, 's.db')
  const opened = await sqliteStore({ path, durability: 'os' })
  const { store, appends } = counting(opened)
  const session = await createSession(store, { messages: [user('go')] })
  let file = 0
  // Each result is another text, and they come one after the other.
  const look = tool({
    name: 'look',
    parameters: {},
    run: async () => {
      const mine = (file += 1)
      await new Promise((resolve) => setTimeout(resolve, 2 + 3 * (mine % 7)))
      return `${mine} `.repeat(characters).slice(0, characters)
    },
  })
  const view = orThrow(settle(session.conversation()))
  await run({
    model: modelOf(calls),
    view,
    tools: [look],
    limits: { maxSteps: steps + 1 },
    handlers: [handler(session)],
  }).result()
  await session.close()
  await opened.close()
  const { size } = statSync(path)
  rmSync(folder, { recursive: true })
  return [appends(), size]
}

console.log(
  '| calls a step, characters a result | round trips before | now | | stored bytes before | now | |\n|---|---:|---:|---:|---:|---:|---:|',
)
for (const [calls, characters] of [
  [0, 0],
  [1, 200],
  [1, 2000],
  [1, 20_000],
  [2, 200],
  [2, 2000],
  [2, 20_000],
  [4, 2000],
  [8, 2000],
] as const) {
  const [trips, bytes] = await measured(calls, characters, before)
  const [tripsNow, bytesNow] = await measured(calls, characters, (session) => sessionHandler(session))
  const count = calls === 0 ? 1 : steps + 1
  console.log(
    `| ${calls}, ${characters} | ${(trips / count).toFixed(1)} | ${(tripsNow / count).toFixed(1)} | ${(tripsNow / trips).toFixed(2)}× | ${(bytes / count).toFixed(0)} | ${(bytesNow / count).toFixed(0)} | ${(bytesNow / bytes).toFixed(2)}× |`,
  )
}
