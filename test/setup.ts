/**
 * Before every test file: helpers get new folders, properties draw from one seed, and the processes that tests start find what
 * earlier ones compiled.
 *
 * A check of a change must not fail by another change's luck. `INDELIBLE_SEED=random` draws a new seed for each property;
 * a number is that seed. fast-check prints the seed of what failed.
 */
import { join } from 'node:path'
import { configureGlobal, readConfigureGlobal } from 'fast-check'
import { beforeEach } from 'vitest'
import { root } from '../scripts/run.ts'
import { forEachFile } from './for-each-file.ts'
import { isOnlyInCheck, onlyInCheck } from './only-in-check.ts'

const asked = process.env['INDELIBLE_SEED']
if (asked !== 'random') configureGlobal({ ...readConfigureGlobal(), seed: Number(asked ?? 20_261_122) })

process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache/compiled')

for (const renew of forEachFile) renew()

beforeEach(({ task, skip }) => {
  if (isOnlyInCheck(task.file.filepath, task.fullTestName)) skip(onlyInCheck)
})
