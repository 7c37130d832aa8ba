/** README's program, as README says: killed while the model answers, run again, and a word of its file changed. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../scripts/run.ts'
import { docsProvider } from './docs-provider.ts'
import { areBundled, command } from './programs.ts'
import { anthropicEvents } from './run/wire.ts'

const readme = readFileSync(`${root}README.md`, 'utf8')
const source = /^```ts\n(import Anthropic.*?)^```$/ms.exec(readme)?.[1] ?? ''
const shown = /^```\n(\$ node agent\.mjs\n.*?)^```$/ms.exec(readme)?.[1] ?? ''

it('the README program does what README shows: the tool runs once and the changed word is found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-readme-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // Beside the project's modules, so that its imports are found.
  const agent = join(root, '.cache/readme/agent.mjs')
  mkdirSync(join(root, '.cache/readme'), { recursive: true })
  writeFileSync(agent, source)

  let hangs = true
  const provider = await docsProvider(({ body }) => {
    const isAnswer = JSON.stringify(body['messages']).includes('tool_result')
    if (!isAnswer) return undefined
    if (hangs) return { events: [], hang: true }
    return { events: anthropicEvents({ text: 'Order 4711 is refunded.', calls: [] }) }
  })
  onTestFinished(() => provider.close())
  // As it is installed: built, and without the tests' way to the sources.
  const installed = areBundled && { NODE_OPTIONS: '' }
  const env = { ...process.env, ...provider.variables, ...installed, NO_COLOR: '1' }
  const start = () => spawn(process.execPath, [agent], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []

  const first = start()
  lines.push('$ node agent.mjs\n')
  first.stdout.on('data', (text: Buffer) => lines.push(String(text)))
  while (provider.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  first.kill('SIGKILL')
  await once(first, 'close')
  lines.push('^C\n', '$ node agent.mjs\n')

  hangs = false
  const second = start()
  second.stdout.on('data', (text: Buffer) => lines.push(String(text)))
  await once(second, 'close')

  const verify = (): void => {
    lines.push('$ npx indelible verify ticket-812 --store agent.db\n')
    const args = [command, 'verify', 'ticket-812', '--store', 'agent.db']
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })
    lines.push((stdout + stderr).replaceAll(/head \d+:[0-9a-f]{64}/g, 'head 13:…')) // rows differ with the time that a step takes
  }
  verify()
  const change = /sqlite3 agent\.db "(.+)"/.exec(shown)?.[1] ?? ''
  lines.push(`$ sqlite3 agent.db "${change}"\n`)
  const database = new DatabaseSync(join(folder, 'agent.db'))
  database.exec(change)
  database.close()
  verify()
  expect(lines.join('')).toBe(shown)
})
