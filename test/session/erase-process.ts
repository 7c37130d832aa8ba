/**
 * A process that erases messages of a session in a SQLite store, and kills itself at a step of what it does to the file.
 *
 *     PATH STEP POSITION…
 *
 * STEP counts statements from 1, each before and after it is run. It ends with code 0 if there were fewer.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { eraseMessages } from '../../src/session/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const [path = '', last = '0', ...positions] = process.argv.slice(2)
const store = await sqliteStore({ path })
let steps = 0
const step = (): void => {
  steps += 1
  if (steps === Number(last)) process.kill(process.pid, 'SIGKILL')
}
for (const [prototype, names] of [
  [DatabaseSync.prototype, ['exec']],
  [StatementSync.prototype, ['run', 'get', 'all']],
] as const)
  for (const name of names) {
    const plain = (prototype as unknown as { readonly [name: string]: (...given: unknown[]) => unknown })[name]
    Object.assign(prototype, {
      [name](this: unknown, ...given: unknown[]): unknown {
        step()
        const found = plain?.apply(this, given)
        step()
        return found
      },
    })
  }
await eraseMessages(store, 's', positions.map(Number), { reason: 'asked to', by: 'ann' })
await store.close()
