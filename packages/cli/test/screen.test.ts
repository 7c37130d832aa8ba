import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { fit, oneLine, padEnd, padStart, shellWord, widthOf } from '../src/terminal/screen.ts'

describe('the screen', () => {
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
  ])('%j takes %i columns', (text, width) => expect(widthOf(text)).toBe(width))
  it('cuts between characters, never within one', () => {
    expect(fit('abcdef', 6)).toBe('abcdef')
    expect(fit('abcdef', 5)).toBe('abcd…')
    expect(fit('日本語', 5)).toBe('日本…')
    expect(fit('日本語', 4)).toBe('日…')
    expect(fit('a👩‍👩‍👧b', 3)).toBe('a…')
    expect(fit('abc', 1)).toBe('…')
    expect(fit('abc', 0)).toBe('')
    expect(fit('abc', -3)).toBe('')
  })
  it('fills up to a width', () =>
    expect([padEnd('日', 4), padStart('ab', 4), padEnd('abc', 2)]).toEqual(['日  ', '  ab', 'abc']))
  it('makes one line of any text, and lets nothing through that moves a cursor', () => {
    expect(oneLine('  a\n\n\tb\r\nc ')).toBe('a b c')
    expect(oneLine('\u001b[31mred\u001b[0m \u001b]0;title\u0007x\u001b[2J\u0008\u0000\u009b1m')).toBe('red x1m')
    expect(oneLine('safe\u202etxt.exe\u2066')).toBe('safetxt.exe')
    expect(oneLine('\ud83d')).toBe('')
    expect(oneLine('x'.repeat(10_000_000)).length).toBe(4000)
  })
  it('quotes a word for a shell that the shell would read otherwise', () => {
    for (const word of ['a.db', 'postgres://a@b:1/c', "it's; $(date) `x` \\ ? *", ''])
      expect(spawnSync('sh', ['-c', `printf %s ${shellWord(word)}`], { encoding: 'utf8' }).stdout).toBe(word)
  })
})
