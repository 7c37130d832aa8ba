/** What the last run of `keep` could not keep: commands that show the store say it first. */
import { existsSync } from 'node:fs'
import type { Call } from '../terminal/command.ts'
import { countText, oneLine } from '../terminal/screen.ts'
import { defaultStorePath, isAddress, storeOptionOf } from '../sources/store.ts'

/** Print a failure of the last run, if there was one. */
export const tellLastFailure = async ({ values, terminal }: Pick<Call, 'values' | 'terminal'>): Promise<void> => {
  const location = storeOptionOf(values, terminal)
  const store = location === undefined || isAddress(location) ? defaultStorePath(terminal.env) : terminal.path(location)
  if (!existsSync(`${store}.keep`)) return
  const { lastFailure } = await import('./run-file.ts')
  const last = lastFailure(store)
  if (last === undefined) return
  const [first = '', ...more] = last.failures
  terminal.tell([
    `not kept by the last run (${new Date(last.at).toISOString()}): ${oneLine(first)}${more.length === 0 ? '' : `, and ${countText(more.length, 'more', 'more')}`}; "indelible keep" tries again`,
  ])
}
