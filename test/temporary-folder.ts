/** Once a run of the tests: what they write to the system's folder for temporary files goes with the run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let isMade = false

/** Each project of the configuration calls this. A path of a Unix socket may have 104 bytes, so the name is short. */
export default (): (() => void) => {
  if (isMade) return () => {}
  isMade = true
  const folder = mkdtempSync(join(tmpdir(), 'tests-'))
  process.env['TMPDIR'] = folder
  return () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
    } catch (error) {
      console.warn(`${folder} could not be removed: ${String(error)}`)
    }
  }
}
