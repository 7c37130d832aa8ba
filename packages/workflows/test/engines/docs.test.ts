/** The code in docs/workflows.md that runs on engines stands in files that are tested there: it must not drift from them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../../scripts/run.ts'

const page = readFileSync(join(root, 'docs/workflows.md'), 'utf8')
const blocks = [...page.matchAll(/^```js\n\/\/ (engines\/\S+)\n(.*?)^```$/gms)].map(
  ([, file = '', code = '']) => [file, code] as const,
)
const lines = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

it.each(blocks)('%s contains the code on the documentation page', (file, code) => {
  expect(lines(readFileSync(join(root, file), 'utf8'))).toContain(lines(code))
})

it('each unexecuted block of the page names its file', () => {
  expect(blocks.length).toBe([...page.matchAll(/^```js$/gm)].length)
  expect(blocks.length).toBeGreaterThan(4)
})
