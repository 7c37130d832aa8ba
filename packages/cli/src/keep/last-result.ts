/** What the last run of `keep` could not keep, and how long ago it was: commands that show the store say it first. */
import { existsSync } from 'node:fs'
import type { Call } from '../terminal/command.ts'
import { countText, oneLine } from '../terminal/screen.ts'
import { defaultStorePath, fileOfStore } from '../sources/store.ts'

const dayMs = 86_400_000

/**
 * Print a failure of the last run, if there was one; and if `keep` should run by itself, when it last did, if that was more than
 * a day ago: a path of its hooks may be gone.
 */
export const tellLastResult = async (
  { values, terminal }: Pick<Call, 'values' | 'terminal'>,
  now: number = Date.now(),
): Promise<void> => {
  const store = fileOfStore(values, terminal) ?? defaultStorePath(terminal.env)
  if (!existsSync(`${store}.keep`)) return
  const { lastResult } = await import('./run-file.ts')
  const last = lastResult(store)
  if (last === undefined) return
  const [first, ...more] = last.failures
  if (first !== undefined)
    terminal.tell([
      `not kept by the last run (${new Date(last.at).toISOString()}): ${oneLine(first)}${more.length === 0 ? '' : `, and ${countText(more.length, 'more', 'more')}`}; "indelible keep" tries again`,
    ])
  const days = Math.floor((now - last.at) / dayMs)
  if (days < 1) return
  const { hasInstalled } = await import('../install/edits.ts')
  if (hasInstalled('keep', terminal.env))
    terminal.tell([
      `last kept ${countText(days, 'day')} ago; if agents worked since, the hooks no longer find this command: "indelible keep --install" installs them again`,
    ])
}
