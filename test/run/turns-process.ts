/**
 * A process that takes turns on a session that others use too: `turns-process.ts PATH SESSION NAME WHEN-BUSY COUNT FROM`. Started
 * again after it was killed, it takes the last turn again: one that was answered is not answered again.
 */
import { writeSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { assistant, faultMessage, textOf, type Message } from '../../src/index.ts'
import { tool, turn, type Model } from '../../src/run/index.ts'
import { openSession } from '../../src/session/index.ts'
import { openAt } from '../session/open-at.ts'

const later = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Calls a tool, then says what the user said. */
const model: Model = {
  name: 'echo',
  async *stream({ messages }) {
    const last = [...messages].at(-1) as Message
    const asked = textOf([...messages].findLast(({ role }) => role === 'user') as Message)
    await later(2)
    const message: Message =
      last.role === 'tool'
        ? assistant(`re: ${asked}`)
        : { role: 'assistant', content: [{ type: 'tool_call', id: `call ${asked}`, name: 'look', arguments: '{}' }] }
    for (const [index, part] of message.content.entries())
      yield { type: 'block_end', index, block: part.type as 'text' | 'tool_call', part }
    yield {
      type: 'finish',
      message,
      reason: last.role === 'tool' ? 'end_turn' : 'tool_calls',
      usage: { input: 1, output: 1 },
    }
  },
}
const look = tool({ name: 'look', parameters: {}, idempotent: true, run: () => later(2) })

const [path = '', id = '', name = '', whenBusy = 'wait', count = '1', from = '0'] = process.argv.slice(2)
const store = await openAt(path)
const session = await openSession(store, id)
for (let index = Number(from); index < Number(count); index++) {
  for (;;) {
    const ended = await turn(session, `${name} ${index}`, {
      model,
      tools: [look],
      id: `${name} ${index}`,
      whenBusy: whenBusy as 'wait' | 'queue',
      unfinished: 'retry',
      ttl: 1000,
      holder: name,
    }).result()()
    // On a machine that gives it no time for a second it loses the session while it runs, and another one goes on.
    if (isLeft(ended) && ended.left._tag === 'LeaseLost') continue
    const reason = isLeft(ended) ? faultMessage(ended.left) : ended.right.stopReason
    const { response } = isLeft(ended) ? { response: undefined } : ended.right
    if (response !== undefined && textOf(response) === `re: ${name} ${index}`) break
    throw new Error(`${name} ${index}: ${reason}: ${JSON.stringify(response)}`)
  }
  writeSync(1, `${index}\n`)
}
await session.close()
await store.close()
