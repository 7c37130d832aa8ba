/** Every adapter on PostgreSQL. */
import { afterAll, afterEach, describe } from 'vitest'
import { postgresStore } from '@indelible/postgres'
import { startPostgres, noPostgres } from './postgres-server.ts'
import { aiSdkCases } from '../../ai-sdk/test/ai-sdk-cases.ts'
import { claudeCases } from '../../claude-agent/test/claude-agent-cases.ts'
import { langgraphCases } from '../../langgraph/test/langgraph-cases.ts'
import { agentsCases } from '../../openai-agents/test/openai-agents-cases.ts'
import type { Place } from '../../../test/session/adapter-stores.ts'
import { inboxCases } from '../../../test/run/inbox-cases.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

const server = await startPostgres()
const opened: (() => Promise<unknown>)[] = []
// A fast machine would open more connections than the server has before the first are idle for long enough to be closed.
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})
afterAll(() => server?.stop())

let count = 0
/** A scope of one schema for each: its tables are made once. */
const place: Place = {
  name: 'PostgreSQL',
  fresh: async () => {
    const store = await postgresStore({
      timeout: 600_000,
      connectionString: server?.url ?? '',
      schema: `adapters ${process.pid}`,
      scope: `scope ${count++}`,
      connections: 2,
    })
    opened.push(() => store.close()())
    return store
  },
}

describe('openai-agents, in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => agentsCases(place, 4))
describe('ai-sdk, in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => aiSdkCases(place, 4))
describe('claude-agent, in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => claudeCases(place, 4))
describe('langgraph, in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => langgraphCases(place, 4))
describe('the inbox, in PostgreSQL', leftOutIf(server === undefined, noPostgres), () => inboxCases(place))
