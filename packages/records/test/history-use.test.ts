/** The example that summarizes a file of records, as a process. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'

const example = join(root, 'packages/records/examples/history-use.ts')
const folder = mkdtempSync(join(tmpdir(), 'indelible-history-use-'))

const runOn = (lines: readonly string[], ...names: readonly string[]) => {
  const file = join(folder, 'calls.jsonl')
  writeFileSync(file, lines.join('\n'))
  const args = ['--conditions=@indelible/source', example, file, ...names]
  return spawnSync(process.execPath, args, { encoding: 'utf8' })
}

it('prints how often, by which patterns, and in which lines code uses the history', () => {
  const record = { callId: 'c1', programSource: 'const bad = conversationHistory.filter((r) => r.bad)\n\u001b[31m' }
  const { status, stdout, stderr } = runOn([
    JSON.stringify(record),
    '',
    '{"callId":"c2","programSource":"return 1"}',
    '{"cut',
    '{"historyAccessDetected":true,"historyQueryPatterns":["map","filter"]}',
    '{"msg":"started"}',
  ])
  expect(stdout).toContain('history used in 2 of 3 calls\nfilter   2\nmap      1\n')
  expect(stdout).toContain('line 1: filter  "const bad = conversationHistory.filter((r) => r.bad)"')
  expect(stdout).toMatch(/^line 6 was left out: has no callId/m)
  expect(stdout).not.toContain('\u001b')
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'line 4 is not JSON\n' })
})

it('finds the history by the names that it is given', () => {
  const line = JSON.stringify({ callId: 'c1', programSource: 'return past.map(String)' })
  expect(runOn([line]).stdout).toMatch(/^history used in 0 of 1 calls/)
  expect(runOn([line], 'past').stdout).toMatch(/^history used in 1 of 1 calls\nmap {6}1\n/)
})
