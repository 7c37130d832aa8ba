/** docs/start/test.md: its agent and its test are files that Vitest runs, as a reader would. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { root } from '../../../../scripts/run.ts'
import { docsProvider } from '../../../../test/docs-provider.ts'

const folder = join(root, '.cache/docs-test')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Run Vitest in the folder. */
const vitest = (env: {
  readonly [name: string]: string
}): Promise<{ readonly code: number | null; readonly said: string }> =>
  new Promise((resolve) => {
    const { CI: _, VITEST: __, ...rest } = process.env
    const args = [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--root',
      folder,
      '--config',
      join(folder, 'vitest.config.ts'),
    ]
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...rest, ANTHROPIC_API_KEY: 'none', NO_COLOR: '1', ...env },
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    child.on('close', (code) => resolve({ code, said: output }))
  })

it('its example records a file of at most 6 kB, then needs no provider, and fails for another question', async () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const page = readFileSync(join(root, 'docs/start/test.md'), 'utf8')
  const files = [...page.matchAll(/^```ts (\S+)\n(.*?)^```$/gms)].map(([, name = '', code = '']) => ({ name, code }))
  expect(files.map(({ name }) => name)).toEqual(['agent.ts', 'agent.test.ts'])
  for (const { name, code } of files) writeFileSync(join(folder, name), code)
  expect(files[1]?.code.trimEnd().split('\n').length).toBeLessThanOrEqual(10)
  const config = {
    resolve: { conditions: ['@indelible/source'] },
    ssr: { resolve: { conditions: ['@indelible/source'] } },
  }
  writeFileSync(join(folder, 'vitest.config.ts'), `export default ${JSON.stringify(config)}\n`)
  const provider = await docsProvider()
  const { ANTHROPIC_BASE_URL = '' } = provider.variables
  const recorded = await vitest({ ANTHROPIC_BASE_URL, INDELIBLE_REPLAY: 'record' })
  expect([recorded.code, recorded.code === 0 ? '' : recorded.said]).toEqual([0, ''])
  expect(provider.requests).toHaveLength(2)
  await provider.close()
  expect(statSync(join(folder, 'weather.json')).size).toBeLessThanOrEqual(6000)

  const replayed = await vitest({ CI: 'true' })
  expect([replayed.code, replayed.code === 0 ? '' : replayed.said]).toEqual([0, ''])

  const test = files[1]?.code as string
  writeFileSync(join(folder, 'agent.test.ts'), test.replace('in Oslo', 'in Bergen'))
  const changed = await vitest({})
  expect(changed.code).toBe(1)
  for (const text of ['in Oslo', 'in Bergen', 'INDELIBLE_REPLAY=record']) expect(changed.said).toContain(text)
})
