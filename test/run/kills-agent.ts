/**
 * An agent with two real tools on a durable session: `kills-agent.ts PATH SESSION PROVIDER URL LEDGER`. It says on standard
 * output what it was told, one JSON array a line, after that was told.
 */
import { appendFileSync, writeSync } from 'node:fs'
import { resume, tool, turn, type RunEvent, type RunStream } from '../../src/run/index.ts'
import { openSession } from '../../src/session/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { modelOf, type Provider } from './soak-turns.ts'

const [path = '', id = '', provider = 'chat', url = '', ledger = ''] = process.argv.slice(2)
const store = await sqliteStore({ path, wait: 60_000 })
const session = await openSession(store, id)
const model = modelOf(provider as Provider, url)
const tools = [
  tool({
    name: 'charge',
    parameters: { type: 'object' },
    run: (_, { call }) => {
      appendFileSync(ledger, `${call.id}\n`)
      return `charged, receipt of ${call.id}`
    },
  }),
  tool({
    name: 'mail',
    parameters: { type: 'object' },
    run: () => new Promise((resolve) => setTimeout(() => resolve('sent'), 40)),
  }),
]

const tell = (event: RunEvent): void => {
  if (event.type === 'model_event' && event.event.type === 'block_end') {
    const { part } = event.event
    if (part.type === 'text') writeSync(1, `${JSON.stringify(['text', part.text])}\n`)
    if (part.type === 'tool_call') writeSync(1, `${JSON.stringify(['call', part.arguments])}\n`)
  }
  if (event.type === 'tool_call_start') writeSync(1, `${JSON.stringify(['started', event.call.id])}\n`)
  if (event.type === 'tool_result') writeSync(1, `${JSON.stringify(['result', event.result.callId])}\n`)
}
const settings = { model, tools, ttl: 500, handlers: [tell], journalEvery: { ms: 20 }, limits: { maxSteps: 3 } }
const ended = async (stream: RunStream<never> | { result: () => PromiseLike<unknown> }): Promise<void> =>
  void (await stream.result())
await ended(resume(session, settings))
for (let count = 0; ; count++) await ended(turn(session, `question ${count}`, settings))
