/** The lint rules that docs/tasks.md names, tried by oxlint on right and wrong uses of tasks. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'

const folder = join(root, 'test/fixtures/lint')

interface Report {
  readonly diagnostics: readonly {
    readonly code: string
    readonly labels: readonly { readonly span: { readonly line: number } }[]
  }[]
}

it('the lint rule finds exactly the tasks that are never awaited or called', () => {
  const { stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/oxlint'),
    ['--type-aware', '--format=json', '-c', join(folder, '.oxlintrc.json'), join(folder, 'tasks.ts')],
    {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}` },
    },
  )
  expect(stdout, stderr).toMatch(/^\{/)
  const found = (JSON.parse(stdout) as Report).diagnostics.map(
    ({ code, labels }) => `${labels[0]?.span.line} ${/\((.+)\)/.exec(code)?.[1]}`,
  )
  const marked = readFileSync(join(folder, 'tasks.ts'), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const rule = /\/\/ ([a-z-]+)$/.exec(line)?.[1]
      return rule === undefined ? [] : [`${index + 1} ${rule}`]
    })
  expect(marked.length).toBe(6)
  expect(found.toSorted()).toEqual(marked.toSorted())
})
