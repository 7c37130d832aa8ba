/** What modules export is shared by everybody who imports it: nobody can change it. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../scripts/run.ts'

/** Values of a class hold their state where no property of them reaches it, or it is their purpose to change. */
const isPlain = (value: unknown): value is object =>
  Array.isArray(value) ||
  (typeof value === 'object' &&
    value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value) as null))

it('every exported object is frozen', async () => {
  const open: string[] = []
  for (const path of globSync(['src/**/index.ts', 'packages/*/src/index.ts'], { cwd: root }).toSorted())
    for (const [name, value] of Object.entries((await import(join(root, path))) as object))
      if (isPlain(value) && !Object.isFrozen(value)) open.push(`${path} ${name}`)
  expect(open).toEqual([])
})
