/** Tokens, budgets, shortened text: what a representation is made of. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, image, system, toolCall, toolResult, user, type Message } from 'indelible'
import { estimateTokens, usableTokens } from 'indelible/context'
import { elidedCharacters, foldText, headAndTail, outline, shortArguments } from '../../src/context/showing/shorten.ts'
import { searchWordsIn } from '../../src/ranking/internal.ts'
import { excerptOf } from '../../src/context/showing/excerpt.ts'
import { cutText } from '../../src/context/showing/represent.ts'
import { isSubstantive } from '../../src/message/internal.ts'
import { textTokens } from '../../src/context/counting/tokens.ts'
import { anyCharacters } from '../any-characters.ts'
import type { ToolResultPart } from '../../src/message/message.ts'

const anyText = fc.oneof(
  anyCharacters(400).map((text) => text.toWellFormed()),
  fc.string({ unit: fc.constantFrom('🙂', 'a', ' ', '\n', 'é', '。'), maxLength: 3000 }),
)

describe('estimated tokens', () => {
  it('count a word as about 1, and letters past the fifth as a fraction', () => {
    expect([textTokens(''), textTokens('word'), textTokens('four common small words')]).toEqual([0, 2, 5])
    expect(textTokens('x'.repeat(800))).toBe(481)
  })
  it('count digits in groups of three, including the space before', () => {
    expect([textTokens('123'), textTokens('1234567'), textTokens('a 1 2 3')]).toEqual([2, 4, 8])
  })
  it('count extra white space and line ends, but no single space', () => {
    expect([textTokens(' '), textTokens(' '.repeat(1600)), textTokens('\n\n')]).toEqual([0, 128, 1])
  })
  it('count control characters as white space, and no sign', () => {
    expect(['\t', '\x7f', '!'].map((one) => textTokens(one.repeat(100)))).toEqual([21, 21, 26])
  })
  it('count non-ASCII characters by script', () => {
    expect([textTokens('é'.repeat(100)), textTokens('字'.repeat(100)), textTokens('🙂'.repeat(100))]).toEqual([
      34, 76, 300,
    ])
  })
  it('count 4 more per message and 1,600 for an image of unknown size', () => {
    expect([
      estimateTokens(user('')),
      estimateTokens(user('word')),
      estimateTokens(user(image({ type: 'url', url: 'x' }))),
    ]).toEqual([4, 6, 1604])
  })
  it('never decrease with more text', () => {
    fc.assert(fc.property(anyText, anyText, (a, b) => textTokens(a + b) >= textTokens(a)))
  })
})

describe('budgets', () => {
  it('leave room for the answer, for provider overhead, and for estimation error', () => {
    expect(usableTokens({ window: 200_000, completion: 8_000 })).toBe(170_956)
    expect(usableTokens({ window: 8_192, completion: 100_000 })).toBe(3_686) // the answer takes at most a quarter
    expect(usableTokens({ window: 2_000, completion: 500 })).toBe(0)
    expect(usableTokens(1234.5)).toBe(1234)
  })
  it.each([NaN, -1, Infinity])('refuse %s', (budget) => {
    expect(() => usableTokens(budget)).toThrow(/^budget is .*; expected a number of tokens/)
    expect(() => usableTokens({ window: 1000, completion: budget })).toThrow(/^budget\.completion is /)
  })
})

describe('shorter text', () => {
  it('folds white space, blank lines and repeated lines, and keeps indentation', () => {
    expect(foldText('a  b \t c  \r\n\r\n\r\n    indented\nsame\nsame\nsame\nend')).toBe(
      'a b c\n\n    indented\nsame [×3]\nend',
    )
  })
  it('keeps head and tail and states how much it omits', () => {
    const short = headAndTail('abcdefghij'.repeat(10), 30, elidedCharacters)
    expect(short).toBe('abcdefghijabcdefghij\n[… 70 of 100 characters omitted …]\nabcdefghij')
  })
  it("keeps in an outline the first line, headings, rules, and each paragraph's first sentence", () => {
    const filler = 'This sentence is here to take room and says nothing else. '.repeat(8)
    const short = outline(
      `You fix bugs.\n\n# Style\n${filler}\nYou must never push to main.\n\n${filler}`,
      300,
      elidedCharacters,
    )
    expect(short).toMatch(
      /^You fix bugs\.\n# Style\nYou must never push to main\.\nThis sentence is here to take room and says nothing else\.\n\[… [\d,]+ of [\d,]+ characters omitted …\]$/,
    )
  })
  it('keeps shortened arguments valid JSON and objects objects', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 }), { maxKeys: 30, noNullPrototype: true })
    fc.assert(
      fc.property(json, fc.integer({ min: 10, max: 200 }), (value, limit) => {
        const short: unknown = JSON.parse(shortArguments(JSON.stringify(value), limit))
        expect(typeof short === 'object' && short !== null && !Array.isArray(short)).toBe(true)
      }),
    )
    expect(shortArguments('{"path": "a.ts"}', 20)).toBe('{"path": "a.ts"}')
    expect(shortArguments(JSON.stringify({ path: 'a.ts', content: 'x'.repeat(5000) }), 90)).toHaveLength(161)
    expect(shortArguments('{not json '.repeat(90), 60)).toMatch(/^\{not json .*omitted/s)
  })
})

describe('representations', () => {
  const recorded = { position: 7, kind: 'evidence' } as const
  const answer = (output: string, isError = false): Message =>
    toolResult('c1', output, { name: 'run', ...(isError && { isError }) })

  it('keep head and tail of a long result, with its size and how to recall it, and omit ids and meta', () => {
    const message = { ...answer(`start ${'x'.repeat(3000)} end`), id: 'm1', meta: { id: 'm1' } }
    const cut = cutText(message, 200, recorded, false)
    const [part] = cut.content as readonly [ToolResultPart]
    expect(part.content).toEqual([
      {
        type: 'text',
        text: expect.stringMatching(
          /^start x+\n\[… 2,8\d\d of 3,010 characters omitted; call recall with {"position": 7} …\]\nx+ end$/,
        ) as string,
      },
    ])
    expect([cut.role, part.callId, part.name]).toEqual(['tool', 'c1', 'run'])
    expect(Object.keys(cut)).toEqual(['role', 'content'])
    expect(Object.isFrozen(cut) && Object.isFrozen(part.content)).toBe(true)
  })

  it("of a rule in a tool's result are the recorded message itself, also where its text is longer than a cut", () => {
    const message = { ...answer('You must never push to main. '.repeat(9)), meta: { id: 'm1' } }
    expect(cutText(message, 60, { position: 0, kind: 'constraint' }, true)).toBe(message)
    expect(cutText(message, 60, recorded, true)).not.toHaveProperty('meta')
  })
})

describe('user messages that begin a turn', () => {
  it.each([
    'continue',
    'OK',
    'ok, go on',
    'Yes please.',
    'go ahead!',
    'y',
    'keep going…',
    'Thanks, continue',
    '继续',
    '',
    ' '.repeat(150),
    `ok,${'\n'.repeat(150)}go on`,
  ])('exclude %j', (output) => {
    expect(isSubstantive(user(output))).toBe(false)
  })
  it.each(['fix the build', 'ok, now fix the other test', 'continue with the docs', 'yes, but use tabs', 'no'])(
    'include %j',
    (output) => {
      expect(isSubstantive(user(output))).toBe(true)
    },
  )
  it('include an image, and exclude tool results and other roles', () => {
    expect(isSubstantive(user(image({ type: 'url', url: 'x' })))).toBe(true)
    expect(isSubstantive(toolResult('c', 'fix the build'))).toBe(false)
    expect(isSubstantive({ role: 'user', content: [...toolResult('c', 'fix the build').content] })).toBe(false)
    expect(isSubstantive(system('fix the build'))).toBe(false)
  })
})

describe('a line in a marker', () => {
  const lineOf = (output: string): string => {
    const call = { message: assistant('', toolCall('1', 'bash', { command: 'ls' })), position: 0 }
    return excerptOf([call, { message: toolResult('1', output), position: 1 }])
  }
  it('names the paths and identifiers of a long result, each once', () => {
    const output = `${'.'.repeat(80)} //src/a.ts src/a.ts, read_file (x/ y//z/k) parseRow ../lib/b/`
    expect(lineOf(output)).toBe('0 bash ls: 142 characters, //src/a.ts src/a.ts read_file y//z/k parseRow ../lib/b')
  })
  it('leaves out names of fewer than 6 and more than 80 characters', () => {
    const [short, long, longest] = ['a/b.c', `src/${'x'.repeat(76)}`, `src/${'y'.repeat(77)}`]
    const output = `${short} ${longest} ${long} ${long} ${'.'.repeat(80)}`
    expect(lineOf(output)).toBe(`0 bash ls: ${output.length} characters, ${long}`)
  })
  // A search that starts anew within a word or a path takes minutes for these.
  it.each(['a', '-', '/', 'a-', '0f'])('ends for results of %j only', { timeout: 60_000 }, (unit) => {
    for (let times = 0; times < 100; times++)
      expect(lineOf(unit.repeat(16_000 / unit.length))).toBe('0 bash ls: 16,000 characters')
  })
})

it('only English words are searched by their stem', () => {
  const terms = [...searchWordsIn('Cats counted v8s as дома')].map(({ terms: [term] }) => term)
  expect(terms).toEqual(['cat', 'count', 'v8s', 'as', 'дома'])
})

it('words of scripts without spaces become pairs, and a mark of theirs inside a Latin word stays in it', () => {
  expect([...searchWordsIn('cーa漢字かな ーA 漢')].map(({ text }) => text)).toEqual([
    'cーa',
    '漢字',
    '字か',
    'かな',
    'ー',
    'a',
    '漢',
  ])
})

it('words are compared by their first 32 characters, and longer ones are not taken apart', () => {
  const termsOf = (word: string): readonly string[] => [...searchWordsIn(word)].flatMap(({ terms }) => terms)
  const [a, b] = ['я'.repeat(31), 'я'.repeat(32)]
  expect([a, `${a}о`, b, `${b}о`].map(termsOf)).toEqual([[a], [`${a}о`], [b], [b]])
  const long = `${'я'.repeat(28)}дЁё` // 31 characters, and a hump
  expect([`${long}о`, `${long}оо`].map((word) => termsOf(word).length)).toEqual([3, 1])
})
