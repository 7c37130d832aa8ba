/** A conversation as Markdown: what was said, and reasoning, calls and results folded. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  file,
  image,
  reasoning,
  system,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import { root } from '../../../scripts/run.ts'
import { markdownOf } from '../src/files/markdown.ts'
import { folder, indelible } from './indelible.ts'

const written = (messages: readonly Message[], title?: string): string =>
  [...markdownOf(createHistory<Message>({ from: messages }).view(), title)].join('\n')

describe('a conversation as Markdown', () => {
  it('has each call with its result, folded, and one heading for each speaker in a row', () => {
    expect(
      written(
        [
          user('Read it.'),
          assistant(toolCall('c1', 'read', { path: 'a.txt' })),
          toolResult('c1', 'one\ntwo\n'),
          assistant('It says one, two.'),
        ],
        'A  file\nread',
      ).split('\n'),
    ).toEqual([
      ...['# A file read', '', '## User', '', 'Read it.', '', '## Assistant', ''],
      ...['<details>', '<summary>read({"path":"a.txt"})</summary>', ''],
      ...['```json', '{', '  "path": "a.txt"', '}', '```', '', '```', 'one', 'two', '```', '', '</details>', ''],
      ...['It says one, two.', ''],
    ])
  })
  it('has arguments as they were written if they are nested deeper than the call stack', () => {
    const deep = `${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}`
    expect(written([assistant(toolCall('c1', 'read', deep))])).toContain(deep)
  })
  it('says what has no text: a missing result, an empty one, images, files, reasoning that only the provider can read', () => {
    const text = written([
      assistant(reasoning('', { encrypted: 'e' }), toolCall('c1', 'x', {}), toolCall('c2', 'y', {})),
      toolResult('c2', []),
      user(
        image({ type: 'base64', data: 'AAAA', mediaType: 'image/png' }),
        file({ type: 'url', url: 'https://example.com/a.pdf' }, { name: 'a.pdf' }),
      ),
      { role: 'user', content: [{ type: 'erased' }] },
    ])
    for (const line of [
      '*(reasoning that only the provider can read)*',
      '*(no result)*',
      '*(empty result)*',
      '*(image, image/png, 3 bytes)*',
      '*(file, a.pdf: <https://example.com/a.pdf>)*',
      '*(erased)*',
    ])
      expect(text.split('\n')).toContain(line)
  })
  it('holds what would end a fold, a fence or a summary', () => {
    const text = written([
      system('Rules.</details>'),
      assistant(reasoning('</DETAILS>\nso'), toolCall('c1', '</summary><b>', { text: '</summary>' })),
      toolResult('c1', 'a\n````\n</details>\n', { isError: true }),
      toolResult('c9', 'of no call'),
    ])
    expect(text).toContain('Rules.&lt;/details>')
    expect(text).toContain('&lt;/DETAILS>\nso')
    expect(text).toContain('<summary>&lt;/summary&gt;&lt;b&gt;({"text":"&lt;/summary&gt;"}): error</summary>')
    expect(text).toContain('`````\na\n````\n</details>\n`````')
    expect(text).toContain('<summary>Result</summary>')
    const outside = text.replaceAll(/^(`{3,})\w*\n[^]*?^\1$/gm, '')
    expect(outside.match(/<details>/g)?.length).toBe(outside.match(/<\/details>/g)?.length)
  })
})

describe('indelible export --to markdown', () => {
  it('writes a file and a session, with its title', () => {
    const example = join(root, 'examples/coding-agent.json')
    const direct = indelible(['export', example, '--to', 'markdown'])
    expect(direct.status).toBe(0)
    expect(direct.stdout).toMatch(/^## System\n\n<details>\n<summary>Instructions<\/summary>\n/)
    const store = join(folder, 'markdown.db')
    indelible(['import', example, '--store', store, '--id', 'agent'])
    indelible(['rename', 'agent', 'Billing', '--store', store])
    const out = join(folder, 'agent.md')
    const { status, stderr } = indelible(['export', 'agent', '--store', store, '--to', 'markdown', '--out', out])
    expect([status, stderr]).toEqual([0, `agent: written to ${out} as markdown\n`])
    expect(readFileSync(out, 'utf8')).toBe(`# Billing\n\n${direct.stdout}`)
  })
})
