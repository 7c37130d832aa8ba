/** `indelible context` as a person runs it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run.ts'
import { widthOf } from '../../src/cli/screen.ts'

const example = join(root, 'examples/coding-agent.json')

const indelible = (args: readonly string[], columns = 100) =>
  spawnSync(process.execPath, [join(root, 'src/cli/main.ts'), ...args], { encoding: 'utf8', input: '', env: { PATH: process.env['PATH'], COLUMNS: String(columns) } })

describe('indelible context', () => {
  it('prints what would be sent, and where it comes from', () => {
    const { status, stdout, stderr } = indelible(['context', example, '--budget', '800'])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^coding-agent\.json: openai-chat, 19 messages\ncontext: \d+ messages, \d+ of 800 tokens \(the record takes [\d,]+\); policy:paged, epoch:\d, degraded\n/)
    expect(stdout).toMatch(/^0 full {18}system +\d+ {2}You are a coding agent\./m)
    expect(stdout).toMatch(/^\d+–\d+ pointer +user +\d+ {2}\[\d+–\d+ are not shown: /m)
  })
  it('--explain gives the reason for every page', () => {
    const { stdout } = indelible(['context', example, '--budget', '800', '--explain'])
    expect(stdout).toMatch(/^ {4}0 {2}system {5}bootstrap {5}full {8}instructions and rules fall last$/m)
    expect(stdout).toMatch(/^ +3 {2}tool +evidence +structured +shortened: could fall to pointer$/m)
    expect(stdout).toMatch(/^ +6 {2}tool +evidence +pointer +at its minimum: paged needs the room$/m)
    expect(stdout).toMatch(/^ {3}17 {2}user +conversation +full +of the active turn, which fits$/m)
    expect(stdout.match(/^ {3,4}\d+ {2}/gm)).toHaveLength(19)
  })
  it('a record that fits is said to', () => {
    const { stdout } = indelible(['context', example, '--explain'])
    expect(stdout).toMatch(/policy:paged, epoch:0, whole\n/)
    expect(stdout.match(/the whole record fits the budget$/gm)).toHaveLength(19)
  })
  it('--json is one object: messages, sources, and with --explain every page', () => {
    const context = JSON.parse(indelible(['context', example, '--budget', '800', '--at', '10', '--explain', '--json']).stdout) as { readonly messages: readonly object[]; readonly sources: readonly object[]; readonly pages: readonly object[] }
    expect(context).toMatchObject({ budget: 800, length: 10, digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string })
    expect(context.sources.length).toBe(context.messages.length)
    expect(context.pages[0]).toEqual({ position: 0, role: 'system', page: 'bootstrap', residency: 'full', minimum: 'structured', reason: 'instructions and rules fall last' })
  })
  it.each([30, 60, 100])('fits %i columns', (columns) => {
    const lines = indelible(['context', example, '--budget', '800', '--explain'], columns).stdout.split('\n').slice(2)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })
  it('says what does not fit', () => {
    const { status, stderr } = indelible(['context', example, '--budget', '40'])
    expect([status, stderr]).toEqual([1, expect.stringMatching(/the least that must be sent takes \d+ tokens, but the budget is 40; most of it, \d+, is /) as string])
  })
  it('oracle is no policy to send by', () => {
    const { status, stderr } = indelible(['context', example, '--policy', 'oracle'])
    expect([status, stderr]).toEqual([2, expect.stringContaining('there is no policy "oracle"; expected paged, reset, incremental, window') as string])
  })
})
