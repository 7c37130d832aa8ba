/** A process that talks until it is killed: `node soak-agent.ts FILE ID PROVIDER URL`. Each length that is stored is a line. */
import { type RunHandler } from '../../src/run/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { done, modelOf, ready, turn, type Provider } from './soak-turns.ts'

const [path = '', id = '', provider = 'chat', url = ''] = process.argv.slice(2)
const store = await done(sqliteStore({ path, wait: 30_000 }))
const session = await ready(store, id)
const model = modelOf(provider as Provider, url)
const acknowledge: RunHandler = (event) => {
  if (event.type === 'history_delta') process.stdout.write(`${session.len}\n`)
}
for (let count = 0; ; count++) await (await turn(session, model, `turn ${count}`, [acknowledge])).result()()
