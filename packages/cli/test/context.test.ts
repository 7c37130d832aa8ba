/** `indelible context` as a person runs it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { openSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../../scripts/run.ts'
import type { ContextSource } from 'indelible/context'
import type { PageKind, ResidencyLevel } from 'indelible/pages'
import { residencyReason } from '../../view/src/texts/residency-reason.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { indelible as runCommand, type CommandEnded } from './indelible.ts'

const example = join(root, 'examples/coding-agent.json')

const indelible = (args: readonly string[], columns = 100): CommandEnded => runCommand(args, { columns })

describe('indelible context', () => {
  it('prints singular for one', () => {
    const one = join(mkdtempSync(join(tmpdir(), 'indelible-one-')), 'one.json')
    writeFileSync(one, '[{"role":"user","content":"hi"}]')
    expect(indelible(['context', one]).stdout).toMatch(/^context: 1 message, /m)
  })
  it('prints the context to send and the source of each message', () => {
    const { status, stdout, stderr } = indelible(['context', example, '--budget', '2200'])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^coding-agent\.json: openai-chat, 19 messages\ncontext: \d+ messages, [\d,]+ of 2,200 tokens \(the whole record: [\d,]+\); epoch:\d, shortened\nderived from the record now; a recorded call may have been sent something else\n/,
    )
    expect(stdout).toMatch(/^0 full +system +\d+ {2}You are a coding agent\./m)
    expect(stdout).toMatch(/^\d+–\d+ pointer +user +\d+ {2}\[Messages \d+–\d+ are shortened /m)
  })
  it('--explain gives the reason for every page', () => {
    const { stdout } = indelible(['context', example, '--budget', '2200', '--explain'])
    expect(stdout).toMatch(/^ {4}0 {2}system {5}bootstrap {5}full {8}instructions and rules are shortened last$/m)
    expect(stdout).toMatch(/^ +6 {2}tool +evidence +structured +a line in the marker of its range: paged made room$/m)
    expect(indelible(['context', example, '--budget', '800', '--explain']).stdout).toMatch(
      /^ +3 {2}tool +evidence +pointer +at its minimum: paged made room$/m,
    )
    expect(stdout).toMatch(/^ {3}17 {2}user +conversation +full +part of the active turn, which fits$/m)
    expect(stdout.match(/^ {3,4}\d+ {2}/gm)).toHaveLength(19)
  })
  it('accepts a stored session and applies its notes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-context-'))
    const store = join(folder, 'store.db')
    try {
      expect(indelible(['import', example, '--store', store]).status).toBe(0)
      const before = indelible(['context', 'coding-agent', '--store', store, '--budget', '2200', '--explain'])
      expect([before.status, before.stdout]).toEqual([
        0,
        expect.stringMatching(/^ +6 {2}tool +evidence +structured/m) as unknown,
      ])
      const opened = await sqliteStore({ path: store })()
      if (isLeft(opened)) throw new Error(opened.left._tag)
      const session = await openSession(opened.right, 'coding-agent')()
      if (isLeft(session)) throw new Error(session.left._tag)
      expect((await session.right.note({ type: 'pin', position: 6 })())._tag).toBe('Right')
      await opened.right.close()()
      const { stdout } = indelible(['context', 'coding-agent', '--store', store, '--budget', '2200', '--explain'])
      expect(stdout).toMatch(/^ +6 {2}tool +constraint +(full|structured)/m)
      expect(indelible(['context', 'coding-agent', '--store', store, '--at', '3']).stdout).toMatch(
        /^context: 5 messages.*interrupted/m,
      )
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
  it('reports that a record fits', () => {
    const { stdout } = indelible(['context', example, '--explain'])
    expect(stdout).toMatch(/epoch:0, whole\n/)
    expect(stdout.match(/the whole record fits the budget$/gm)).toHaveLength(19)
  })
  it('--json is one object: messages, sources, and with --explain every page', () => {
    const context = JSON.parse(
      indelible(['context', example, '--budget', '800', '--at', '10', '--explain', '--json']).stdout,
    ) as {
      readonly messages: readonly object[]
      readonly sources: readonly object[]
      readonly pages: readonly object[]
    }
    expect(context).toMatchObject({
      budget: 800,
      length: 10,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    })
    expect(context.sources.length).toBe(context.messages.length)
    expect(context.pages[0]).toEqual({
      position: 0,
      role: 'system',
      page: 'bootstrap',
      residency: 'full',
      minimum: 'structured',
      reason: 'instructions and rules are shortened last',
    })
  })
  it('has no reasons without --explain', () => {
    const { stdout } = indelible(['context', example, '--budget', '800', '--json'])
    expect(JSON.parse(stdout)).not.toHaveProperty('pages')
    expect(indelible(['context', example, '--budget', '800']).stdout).not.toContain('instructions and rules are')
  })
  it.each([30, 60, 100])('fits %i columns', (columns) => {
    const lines = indelible(['context', example, '--budget', '800', '--explain'], columns).stdout.split('\n').slice(2)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })
  it('gives the content 30 columns beside the facts, or a line of its own', () => {
    const args = ['context', example, '--budget', '800']
    const headingAt = (columns: number): readonly [facts: string, next: string] => {
      const { lines } = indelible(args, columns)
      const at = lines.findIndex((line) => line.startsWith('source '))
      return [lines[at] ?? '', lines[at + 1] ?? '']
    }
    const [heading] = headingAt(200)
    const facts = heading.replace(/ {2}content$/, '')
    const least = facts.length + 2 + 30
    expect(headingAt(least)[0]).toBe(heading)
    expect(headingAt(least - 1)).toEqual([facts, '  content'])
  })
  it("prints full reasons at 60 columns, below the page if they don't fit beside it", () => {
    const reasonBelow = (columns: number): boolean =>
      indelible(['context', example, '--budget', '800', '--explain'], columns).stdout.includes(
        '\n       instructions and rules are shortened last',
      )
    const beside =
      /^ {4}0 {2}system .*$/m.exec(indelible(['context', example, '--budget', '800', '--explain'], 200).stdout)?.[0] ??
      ''
    expect([reasonBelow(beside.length), reasonBelow(beside.length - 1)]).toEqual([false, true])
    const wide = indelible(['context', example, '--budget', '800', '--explain', '--json'], 60).stdout
    const { pages } = JSON.parse(wide) as { readonly pages: readonly { readonly reason: string }[] }
    const narrow = indelible(['context', example, '--budget', '800', '--explain'], 60).stdout.replaceAll(
      /\n {7}(?=\S)/g,
      ' ',
    )
    for (const { reason } of pages) expect(narrow).toContain(reason)
  })
  it('gives each level of each page its reason', () => {
    type Of = Parameters<typeof residencyReason>[0]
    const reason = (level: ResidencyLevel | undefined, kind: PageKind, position = 3, more: Partial<Of> = {}): string =>
      residencyReason(
        { epoch: 1, activeFrom: 10, residency: { at: () => level }, sources: [], ...more },
        position,
        kind,
        'P',
      )
    expect(reason('full', 'evidence', 3, { epoch: 0 })).toBe('the whole record fits the budget')
    const summary = { type: 'summary', from: 2, to: 4, model: 'm' } as ContextSource
    const summarized = (position: number): string => reason('full', 'evidence', position, { sources: [summary] })
    const replaced = 'replaced by a summary of m'
    const kept = 'P keeps it: worth its tokens'
    expect([1, 2, 3, 4].map(summarized)).toEqual([kept, replaced, replaced, kept])
    expect(reason('full', 'constraint')).toBe('instructions and rules are shortened last')
    expect([9, 10, 11].map((position) => reason('full', 'evidence', position))).toEqual([
      kept,
      'part of the active turn, which fits',
      'part of the active turn, which fits',
    ])
    expect([9, 10, 11].map((position) => reason('compressed', 'evidence', position))).toEqual([
      'shortened: pointer would be allowed',
      "the user's question stays readable; only its middle may be cut",
      'part of the active turn, which alone exceeds the budget',
    ])
    expect(reason('pointer', 'evidence')).toBe('at its minimum: P made room')
    expect(reason(undefined, 'evidence')).toBe('at its minimum: P made room')
    expect(reason('structured', 'constraint')).toBe('at its minimum: P made room')
    expect(reason('structured', 'evidence')).toBe('a line in the marker of its range: P made room')
    expect(reason('pointer', 'constraint')).toBe('shortened: less is not allowed')
  })
  it('reports what does not fit', () => {
    const { status, stderr } = indelible(['context', example, '--budget', '40'])
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(
        /the smallest context that may be sent takes \d+ tokens, but the budget is 40; the largest part, \d+, is /,
      ) as string,
    ])
  })
  it('lists the policies for an unknown one', () => {
    const { status, stderr } = indelible(['context', example, '--policy', 'best'])
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('there is no policy "best"; expected paged, window') as string,
    ])
  })
})

it('the error for a too small budget mentions pins only if there are some', () => {
  expect(indelible(['context', example, '--budget', '20'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /takes [\d,]+ tokens, but the budget is 20(?!.*unpin).*; use a larger budget/,
    ) as string,
  })
})
