import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, mend, toolCall, toolResult, user, type Message } from 'indelible'
import { codecs } from 'indelible/codecs'
import type { Transcript } from '@indelible/transcripts'
import { Outputs } from '../../../test/outputs.ts'
import { oneIn } from '../../../test/rounds.ts'
import { conversation, everyPart } from '../../../test/messages.ts'
import { commands, groups } from '../src/commands.ts'
import type { Command } from '../src/terminal/command.ts'
import { commandHelp, firstHelp, programHelp } from '../src/terminal/help.ts'
import * as report from '../src/terminal/report.ts'
import {
  fitColumns,
  fitMiddle,
  wrapHanging,
  oneLine,
  padEnd,
  padStart,
  ranges,
  shellWord,
  widthOf,
  wrapText,
} from '../src/terminal/screen.ts'
import { gistOf, timeline, timelineJson, type TimelineOptions } from '../src/terminal/timeline.ts'

describe('terminal text functions', () => {
  it.each<readonly [string, number]>([
    ['', 0],
    ['abc', 3],
    ['äöü', 3],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한국', 4],
    ['🙂', 2],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['ｆｕｌｌ', 8],
    ['…', 1],
  ])('measure %j as %i columns', (text, width) => expect(widthOf(text)).toBe(width))
  it('cut between characters, never within one', () => {
    expect(fitColumns('abcdef', 6)).toBe('abcdef')
    expect(fitColumns('abcdef', 5)).toBe('abcd…')
    expect(fitColumns('日本語', 5)).toBe('日本…')
    expect(fitColumns('日本語', 4)).toBe('日…')
    expect(fitColumns('a👩‍👩‍👧b', 3)).toBe('a…')
    expect(fitColumns('abc', 1)).toBe('…')
    expect(fitColumns('abc', 0)).toBe('')
    expect(fitColumns('abc', -3)).toBe('')
  })
  it('cut text of narrow characters like any other', () => {
    const characters = ['a', 'é', '–', '…', '\u0301', '\ufe0f', '©', '日', '\u00ad', '\u200d']
    const wrong: string[] = []
    for (let number = 0; number < 10 ** 4; number += oneIn(7)) {
      const text = Array.from(String(number).padStart(4, '0'), (digit) => characters[Number(digit)]).join('')
      for (const columns of [1, 2, 3]) {
        const whole = widthOf(text) <= columns ? text : fitColumns(`${text}日日`, columns)
        if (fitColumns(text, columns) !== whole) wrong.push(text)
      }
    }
    expect(wrong).toEqual([])
  })
  it('pad to a width', () =>
    expect([padEnd('日', 4), padStart('ab', 4), padEnd('abc', 2)]).toEqual(['日  ', '  ab', 'abc']))
  it('turn any text into one line without cursor movements', () => {
    expect(oneLine('  a\n\n\tb\r\nc ')).toBe('a b c')
    expect(oneLine('\u001b[31mred\u001b[0m \u001b]0;title\u0007x\u001b[2J\u0008\u0000\u009b1m')).toBe('red x1m')
    expect(oneLine('safe\u202etxt.exe\u2066')).toBe('safetxt.exe')
    expect(oneLine('\ud83d')).toBe('')
    expect(oneLine('x'.repeat(10_000_000)).length).toBe(4000)
  })
  it('quote words that a shell would interpret', () => {
    for (const word of ['a.db', 'postgres://a@b:1/c', "it's; $(date) `x` \\ ? *", ''])
      expect(spawnSync('sh', ['-c', `printf %s ${shellWord(word)}`], { encoding: 'utf8' }).stdout).toBe(word)
  })
})

const widths = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('terminal output at every width', () => {
  const messages: readonly Message[] = [
    ...conversation(),
    everyPart,
    user(''),
    assistant('', toolCall('open', 'look', { at: 'x'.repeat(200) })),
    toolResult('none', 'one\ntwo\nthree'),
    { role: 'assistant', content: [{ type: 'reasoning', text: '' }] },
    { role: 'assistant', content: [{ type: 'erased' }] as never },
    user('日本語 '.repeat(40)),
  ]
  const history = createHistory<Message>()
  const kinds = ['plan', 'constraint', 'preference'] as const
  for (const [index, message] of messages.entries())
    history.append(message, index % 4 === 3 ? kinds[index % 3] : undefined)
  const view = history.view()
  const options = (columns: number, more: Partial<TimelineOptions> = {}): TimelineOptions => ({
    ...{ kinds: [], from: 0, to: messages.length, columns },
    ...{ paint: (style: string, text: string) => (style === 'none' ? text : `<${style}>${text}</>`), ...more },
  })
  const timeOf = (position: number): number | undefined =>
    position % 5 === 4 ? undefined : Date.UTC(2026, 10, 22, 22, 30) + position * 1_200_000

  it('matches recorded timelines, with no line too wide', () => {
    const seen = new Outputs()
    const some: Partial<TimelineOptions> = { kinds: ['plan', 'evidence'], from: -8, to: -1 }
    for (const columns of [1, 10, 11, ...widths(28, 46), ...widths(60, 72), ...widths(94, 102), 140])
      for (const more of [columns % 2 === 0 ? {} : some, { timeOf }]) {
        const lines = [...timeline(view, options(columns, more))]
        const bare = lines.map((line) => line.replaceAll(/<[a-z/]*>/g, ''))
        if (columns >= 60) expect(bare.filter((line) => widthOf(line) > columns)).toEqual([])
        seen.add(lines)
      }
    seen.add(
      [...timeline(createHistory<Message>().view(), options(80))],
      [...timelineJson(view, options(0, { timeOf }))],
    )
    seen.add(messages.map(gistOf))
    seen.expectToBe('0d0adfed6b293d52')
  })

  it('matches recorded reports', () => {
    const damage = widths(1, 22).map((line) => ({
      line: line * 1000,
      reason: `reason ${line}`,
      offset: line % 2 ? 7 : undefined,
    }))
    const losses = codecs['openai-chat'].encode(messages, { allow: 'unsettled' })
    const { repairs } = mend(messages)
    const read = widths(0, 30).map((line) => ({ line, path: ['a', line % 23], reason: 'is another' }))
    const origin = { version: '1', id: 'i', title: 'A title', models: ['a', 'b'], aside: { x: 1, y: 2000 } }
    const times = [{}, { started: 'a' }, { started: 'a', ended: 'a' }, { started: 'a', ended: 'b' }]
    const usage = [undefined, { input: 1000, output: 2 }, { input: 1, output: 2, cacheRead: 3000 }]
    const seen = new Outputs()
    for (const columns of [10, 40, 80])
      for (const count of [0, 1, 2, 8, 9, 20, 21, 22]) {
        const some = damage.slice(0, count) as never
        seen.add([...report.damageLines(some, columns)], ...report.leftOutLines('it', some))
        seen.add(report.readLossLines(read.slice(0, count) as never, columns))
        const alike = read.slice(0, count).map(({ line, reason }) => ({ line, reason, path: ['a', line % 2] }))
        seen.add(report.readLossLines(alike as never, columns))
        seen.add(report.writtenLines({ repairs: repairs.slice(0, count), losses: [] }, columns))
        if (losses._tag === 'Right')
          seen.add(report.writtenLines({ repairs: [], losses: losses.right.losses.slice(0, count) }, columns))
        const output: string[] = []
        report.tellReadLosses(
          's',
          read.slice(0, count) as never,
          { tell: (lines: string[]) => output.push(...lines), columns } as never,
        )
        seen.add(output)
      }
    for (const time of times)
      for (const used of usage)
        for (const more of [{}, { models: [], aside: {} }])
          seen.add([
            ...report.originLines(
              { origin: { ...origin, ...time, usage: used, ...more }, notes: [] } as unknown as Transcript,
              80,
            ),
          ])
    seen.add([...report.originLines({ origin: { models: [], aside: {} }, notes: [1, 2] } as unknown as Transcript, 80)])
    seen.expectToBe('f070c4219dc1484b')
  })

  it('matches recorded help, wrapped at 80 columns', () => {
    const command = (name: string, options: Command['options'], about: string): Command => ({
      ...{ name, synopsis: `${name} FILE [--to FORMAT]`, purpose: `does what ${name} does, in few words or in more` },
      ...{ usage: [`${name} FILE`, `${name} FILE --to FORMAT --out FILE --more 'of it'`], about, options },
      ...{ ...(options['to'] && { examples: [`indelible ${name} a.json`] }), run: async () => undefined },
    })
    const samples = [
      command(
        'import',
        { to: { value: 'FORMAT', help: 'the format; default: that of the input, if it can be told' } },
        'One.',
      ),
      command(
        'other',
        { json: { help: 'prints JSON' } },
        `A paragraph ${'of words '.repeat(20)}.\n\nAnd one more:\n  a    line that stays\n  bb   another ${'and so on '.repeat(9)}\n  cc\nand its end.`,
      ),
      command('show', {}, 'No option,\nin two lines.'),
    ]
    const seen = new Outputs()
    for (const columns of [...widths(30, 82), 200]) {
      seen.add(programHelp([{ title: 'Group', commands: samples }], columns), firstHelp(samples, columns))
      seen.add(...samples.map((sample) => commandHelp(sample, columns)))
    }
    expect(programHelp(groups, 200)).toEqual(programHelp(groups))
    for (const command of commands) expect(commandHelp(command, 200)).toEqual(commandHelp(command))
    seen.expectToBe('7c715fd38a2a62dc')
  })

  it('cuts and wraps texts as recorded, with all words', () => {
    const text = 'one  two three-and-a-half 日本語 seven'
    const line = `  \u001b[31mname\u001b[39m   ${text}`
    const seen = new Outputs()
    for (const columns of widths(1, 60)) {
      for (const cut of [fitColumns(text, columns), fitMiddle(text, columns)])
        expect(widthOf(cut)).toBeLessThanOrEqual(columns)
      if (columns >= widthOf(text)) expect([fitColumns(text, columns), fitMiddle(text, columns)]).toEqual([text, text])
      expect(wrapText(text, columns).join(' ')).toBe(text)
      expect(wrapHanging(line, columns).join(' ').split(/ +/)).toEqual(line.split(/ +/))
      seen.add(
        fitColumns(text, columns),
        fitMiddle(text, columns),
        wrapText(text, columns),
        wrapHanging(line, columns),
        wrapHanging(line, columns, 9),
      )
    }
    seen.expectToBe('1a97b3aafd5ffd8f')
  })
})

it('positions print as ranges', () => {
  for (const [positions, text] of [
    [[], ''],
    [[3], '3'],
    [[0, 1], '0-1'],
    [[1, 3, 4, 5, 9], '1, 3-5, 9'],
  ] as const)
    expect(ranges(positions)).toBe(text)
})
