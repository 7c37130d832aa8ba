/** What a program keeps for each session that is open and idle, in bytes of the heap after a collection: no time is measured. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it('an idle session takes few bytes, also one that was opened', () => {
  const program = join(import.meta.dirname, 'idle-process.ts')
  const output = execFileSync(process.execPath, ['--expose-gc', '--conditions=@indelible/source', program], {
    encoding: 'utf8',
  })
  const { created, opened } = JSON.parse(output) as { readonly created: number; readonly opened: number }
  expect(created).toBeGreaterThan(2000) // or nothing was measured
  expect(created).toBeLessThan(3300)
  expect(opened).toBeGreaterThan(created)
  expect(opened).toBeLessThan(3800)
})
