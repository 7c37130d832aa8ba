/** The other half of a run: resumes it from its saved state, with its session in the same store, once it is approved. */
import { readFileSync } from 'node:fs'
import { RunState } from '@openai/agents-core'
import { agentsSession } from '../src/index.ts'
import { orThrow } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { approvingAgent, runner } from './openai-agents-agent.ts'

const [path = '', saved = ''] = process.argv.slice(2)
const store = await orThrow(sqliteStore({ path }))
const agent = approvingAgent()
const state = await RunState.fromString(agent, readFileSync(saved, 'utf8'))
for (const waiting of state.getInterruptions()) state.approve(waiting)
const done = await runner.run(agent, state, { session: agentsSession(store, { sessionId: 'chat' }) })
process.stdout.write(String(done.finalOutput))
