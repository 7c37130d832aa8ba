/**
 * A process that creates a SQLite store and kills itself at a step of what it does to the file.
 *
 *     PATH STEP
 *
 * STEP counts statements from 1, each before and after it is run. It ends with code 0 if there were fewer.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const [path = '', last = '0'] = process.argv.slice(2)
let steps = 0
const step = (): void => {
  steps += 1
  if (steps === Number(last)) process.kill(process.pid, 'SIGKILL')
}

const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (text) {
  if (this.location() === null) return exec.call(this, text) // in memory
  for (const statement of text.match(/(?:--.*|[^;-]|-(?!-))+/g) ?? []) {
    if (statement.replaceAll(/--.*/g, '').trim() === '') continue
    step()
    exec.call(this, statement)
    step()
  }
}
const { get } = StatementSync.prototype as { get: (...given: unknown[]) => unknown }
Object.assign(StatementSync.prototype, {
  get(this: StatementSync, ...given: unknown[]): unknown {
    const found = get.apply(this, given)
    step()
    return found
  },
})
const store = await sqliteStore({ path })
await store.close()
