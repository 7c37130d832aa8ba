/**
 * What commands print, whole: of one conversation in a file, and of what is done with it in a store. In screens.txt, as a pipe
 * has it, and in screens-shown.txt what only reads, as two terminals show it: a narrow one, and a wide one with colours.
 */
import { copyFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { folder, indelible, writeTestFile, type CommandOptions } from './indelible.ts'

const example = join(root, 'examples/coding-agent.json')

it("every command's output matches the recorded screens", async () => {
  const store = ['--store', join(folder, 'screens.db')]
  const small = writeTestFile(
    'small.json',
    '[{"role":"user","content":"hi"},{"role":"assistant","content":"a needle"}]',
  )
  const other = writeTestFile('other.json', '[{"role":"user","content":"hi"},{"role":"assistant","content":"hay"}]')
  const damaged = writeTestFile('damaged.jsonl', '{"type":"session","id":"s","timestamp":"t","cwd":"/"}\n{"nothing\n')
  const lines: readonly (readonly string[])[] = [
    ['show', example],
    ['show', example, '--kind', 'evidence', '--from', '3', '--to', '8'],
    ['show', example, '2'],
    ['show', example, '3', '--full'],
    ['show', example, '1-4'],
    ['show', example, '99'],
    ['spend', example],
    ['spend', example, '--by', 'day,model'],
    ['spend', example, '--by', 'content'],
    ['stats', example],
    ['diff', small, other],
    ['diff', small, small],
    ['show', '--check', example],
    ['show', '--check', damaged],
    ['export', small, '--to', 'anthropic'],
    ['export', example, '--to', 'openai-responses', '--out', join(folder, 'screens-out.json')],
    ['context', example, '--budget', '1200', '--explain'],
    ['context', example, '--budget', '60'],
    ['context', '--compare', example, '--budget', '1k,4k'],
    ['context', '--compare', example, '--budget', '1k', '--policy', 'window'],
    ['context', '--compare', example, '--budget', '1k', '--policy', 'best'],
    ['import', example, ...store],
    ['import', small, '--id', 's', ...store],
    ['import', small, '--id', 's', ...store],
    ['append', 's', 'and more', ...store],
    ['append', 's', 'a plan', '--page', 'plan', ...store],
    ['note', 's', 'a note', ...store],
    ['pin', 's', '1', ...store],
    ['retag', 's', '0', 'constraint', ...store],
    ['rename', 's', 'A title', ...store],
    ['fork', 's', '--at', '1', '--id', 'f', ...store],
    ['rewind', 's', '--to', '3', ...store],
    ['list', ...store],
    ['list', '--limit', '1', ...store],
    ['list', '--scopes', ...store],
    ['list', '--tree', 's', ...store],
    ['show', 's', ...store],
    ['show', 's', '0', ...store],
    ['show', 's', '0-', '--json', ...store],
    ['spend', 's', ...store],
    ['diff', 's', 'f', ...store],
    ['search', 'needle', ...store],
    ['search', 'nothing of it', ...store],
    ['search', 'month', ...store],
    ['index', ...store],
    ['search', 'needle OR more', '--limit', '2', ...store],
    ['verify', 's', ...store],
    ['verify', '--all', '--deep', ...store],
    ['hold', 's', '--reason', 'a case', ...store],
    ['remove', 's', '--yes', ...store],
    ['hold', '--release', 's', ...store],
    ['ledger', 'update', ...store],
    ['ledger', 'verify', ...store],
    ['ledger', 'show', ...store],
    ['erase', 'f', '0', '--yes', ...store],
    ['repair', ...store],
    ['compact', ...store],
    ['copy', 's', '--from', join(folder, 'screens.db'), '--to', join(folder, 'screens-copy.db')],
    ['remove', 'f', '--yes', ...store],
    ['show', 'nobody', ...store],
    ['shwo', 'nobody'],
  ]
  const screenOf = (line: readonly string[], options: CommandOptions = {}): string => {
    const { status, stdout, stderr } = indelible(line, options)
    return `$ indelible ${line.join(' ')}\n${stdout}${stderr}= ${status}\n`
  }
  copyFileSync(example, join(folder, basename(example)))
  const shown: string[] = []
  const screens = lines.map((line) => {
    if (reads.has(line[0] as string)) {
      // Without folders, whose names would move the ends of lines.
      const bare = line.map((argument) => argument.replace(folder, '.').replace(example, basename(example)))
      const here = (columns: number): CommandOptions => ({ cwd: folder, terminal: columns, columns })
      shown.push(screenOf(bare, here(48)), screenOf(bare, { ...here(110), colour: true }))
    }
    return screenOf(line)
  })
  await expect(withoutChance(screens.join('\n'))).toMatchFileSnapshot('screens.txt')
  await expect(withoutChance(shown.join('\n'))).toMatchFileSnapshot('screens-shown.txt')
})

/** Commands that change nothing. */
const reads: ReadonlySet<string> = new Set('show spend diff context list search verify'.split(' '))

/** Without what differs in every run. */
const withoutChance = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/\u001b\[(\d+)m/g, '<$1>')
    .replaceAll(folder, 'FOLDER')
    .replaceAll(root, 'ROOT')
    .replaceAll(/ +[\d.,]+ [nµm]?s\b/g, ' SOME')
    .replaceAll(/ +median +p99/g, ' median p99')
    .replaceAll(/\d+ bytes before, \d+ after/g, 'SOME bytes before and after')
    .replaceAll(/\b[0-9a-f]{8,}(?:…|\b)/g, 'HASH')
    .replaceAll(/"at": ?\d+/g, '"at":TIME')
    .replaceAll(/\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?/g, 'TIME')
    .replaceAll(/\d\d:\d\d:\d\d/g, 'TIME')
