import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/** Nothing but loopback is there: no program can reach a provider, whatever it is told. */
const alone = ['-rn', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"']
const isAlone = spawnSync('unshare', [...alone, 'true']).status === 0
if (!isAlone) process.stdout.write("left out: the Claude Agent SDK's program (no network namespace can be made here)\n")

it.skipIf(!isAlone)('the Claude Agent SDK resumes from the store without its local files', () => {
  const program = fileURLToPath(new URL('claude-program.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync('unshare', [...alone, process.execPath, '--no-warnings', program], {
    encoding: 'utf8',
    timeout: 110_000,
  })
  expect([status, stderr]).toEqual([0, ''])
  const seen = JSON.parse(stdout) as { readonly first: { readonly id: string } }
  expect(seen).toEqual({
    first: { id: seen.first.id, result: 'answer 1 to 2 messages', errors: 0 },
    second: { id: seen.first.id, result: 'answer 2 to 4 messages', errors: 0 },
    isGone: true,
    remembered: true,
    listed: [[true, 'Remember the word heron.']],
    messages: ['user', 'assistant', 'user', 'assistant'],
    roles: ['user', 'assistant', 'user', 'assistant'],
    missing: [],
    damage: 0,
    imported: true,
    verified: true,
  })
})
