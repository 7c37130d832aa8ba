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
import { levelReasons } from '../../view/src/texts/level-reason.ts'
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
    expect(stdout).toMatch(/^ {4}0 {2}system {5}bootstrap {5}full {8}instructions and rules stay$/m)
    expect(stdout).toMatch(/^ +6 {2}tool +evidence +structured +older: a line in the marker of messages 2–11$/m)
    expect(indelible(['context', example, '--budget', '800', '--explain']).stdout).toMatch(
      /^ +11 {2}tool +evidence +pointer +older: the marker of messages \d+–\d+ has no line of it$/m,
    )
    expect(stdout).toMatch(
      /^ {3}17 {2}user +conversation +full +among the newest messages, which are sent as recorded$/m,
    )
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
      reason: 'the whole record fits the budget',
    })
  })
  it('has no reasons without --explain', () => {
    const { stdout } = indelible(['context', example, '--budget', '800', '--json'])
    expect(JSON.parse(stdout)).not.toHaveProperty('pages')
    expect(indelible(['context', example, '--budget', '800']).stdout).not.toContain('instructions and rules stay')
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
        '\n       instructions and rules stay',
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
    const sources: readonly ContextSource[] = [
      { type: 'clone', position: 0 },
      { type: 'summary', from: 1, to: 4, model: 'm' },
      { type: 'representation', level: 'compressed', from: 4, to: 5 },
      { type: 'representation', level: 'pointer', from: 5, to: 9, briefs: [6] },
      { type: 'representation', level: 'pointer', from: 10, to: 11 },
      { type: 'representation', level: 'compressed', from: 12, to: 13 },
    ]
    const reason = (level: ResidencyLevel | undefined, position: number, kind: PageKind = 'evidence'): string =>
      levelReasons({ activeFrom: 9, residency: { at: () => level }, sources })(position, kind)
    expect([1, 3].map((position) => reason('pointer', position))).toEqual(
      Array(2).fill('in the summary of messages 1–3, by m'),
    )
    expect(reason('structured', 6)).toBe('older: a line in the marker of messages 5–8')
    const only = (range: string): string => `older: the marker of ${range} has no line of it`
    expect([reason('pointer', 5), reason('pointer', 8), reason(undefined, 10)]).toEqual([
      only('messages 5–8'),
      only('messages 5–8'),
      only('message 10'),
    ])
    expect([reason('full', 0, 'bootstrap'), reason('structured', 0, 'constraint')]).toEqual([
      'instructions and rules stay',
      'instructions and rules stay; all of them are too much, so they are outlined',
    ])
    expect([reason('full', 9), reason('compressed', 9)]).toEqual([
      "the user's latest question stays",
      "the user's latest question stays; its middle is cut",
    ])
    expect(reason('full', 4)).toBe("the user's first message and what `keep` names stay")
    expect([reason('full', 11), reason('compressed', 12)]).toEqual([
      'among the newest messages, which are sent as recorded',
      'among the newest messages, but cut: it takes more of the budget than one message may',
    ])
    const whole = levelReasons({ activeFrom: 0, residency: { at: () => 'full' }, sources: [] })
    expect(whole(3, 'evidence')).toBe('the whole record fits the budget')
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
