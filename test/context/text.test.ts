/** Tokens, budgets, shortened text: what a representation is made of. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  image,
  reasoning,
  system,
  toolCall,
  toolResult,
  user,
  type Message,
  type ToolResultPart,
} from 'indelible'
import { estimateTokens, usableTokens } from 'indelible/context'
import { degradationPath, pageKinds } from 'indelible/pages'
import { represent } from '../../src/context/kit.ts'
import {
  cutEnd,
  elidedCharacters,
  foldAndCut,
  foldText,
  headAndTail,
  outline,
  shortArguments,
  sliceWhole,
} from '../../src/context/showing/shorten.ts'
import { wordsIn } from '../../src/context/recall/words.ts'
import { briefOf } from '../../src/context/showing/brief.ts'
import { cutText } from '../../src/context/showing/represent.ts'
import { settling } from '../../src/context/deriving/settling.ts'
import { levelOfPage } from '../../src/context/deriving/unit.ts'
import { isSubstantive } from '../../src/context/deriving/substantive.ts'
import { textTokens } from '../../src/context/counting/tokens.ts'
import { anyCharacters } from '../any-characters.ts'

const wellFormed = (text: string): boolean => text.isWellFormed()
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
  it('folds only the ends of a long text, at the cost of the kept part', () => {
    expect(foldAndCut(`a  b\n${'x'.repeat(5000)}\n\n\n\nend`, 30, elidedCharacters)).toBe(
      'a b\nxxxxxxxxxxxxxxxx\n[… 4,982 of 5,012 characters omitted …]\nxxxxx\n\nend',
    )
  })
  it('never splits a code point', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 300 }), (text, limit) => {
        fc.pre(wellFormed(text))
        for (const short of [
          foldText(text),
          headAndTail(text, limit, elidedCharacters),
          foldAndCut(text, limit, elidedCharacters),
          sliceWhole(text, limit >> 1, limit),
          cutEnd(text, limit),
          outline(text, limit, elidedCharacters),
          shortArguments(JSON.stringify({ text }), limit),
        ])
          expect(wellFormed(short)).toBe(true)
      }),
    )
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

it('a page whose kind has no compressed form stays full where its unit is compressed', () => {
  const full = pageKinds.filter((kind) => levelOfPage('compressed', kind) === 'full')
  expect(full).toEqual(pageKinds.filter((kind) => !degradationPath(kind).includes('compressed')))
  expect(full).toContain('constraint')
  expect(pageKinds.filter((kind) => levelOfPage('structured', kind) !== 'structured')).toEqual([])
})

it('a unit knows the tool of each of its calls', () => {
  for (const ids of [['c1'], ['c1', 'c2']]) {
    const reading = settling(new Map())
    const messages = [
      assistant(...ids.map((id) => toolCall(id, `tool of ${id}`, {}))),
      ...ids.map((id) => toolResult(id, 'x')),
    ]
    const units = messages.flatMap((message, position) => [reading.push(message, 'evidence', position)].flat())
    expect(units).toMatchObject([{ tools: new Map(ids.map((id) => [id, `tool of ${id}`])) }])
  }
})

describe('representations', () => {
  const recorded = { position: 7, kind: 'evidence' } as const
  const answer = (said: string, isError = false): Message =>
    toolResult('c1', said, { name: 'run', ...(isError && { isError }) })
  const partOf = (message: Message): ToolResultPart => message.content[0] as ToolResultPart
  const saidBy = (message: Message): string =>
    partOf(message)
      .content.map((part) => (part.type === 'text' ? part.text : part.type))
      .join()

  it('show the message itself at full', () => {
    const message = assistant(reasoning('why'), 'x')
    expect(represent(message, 'full', recorded)).toBe(message)
  })
  it('keep role, name, calls and pairing ids, and omit reasoning, ids and meta', () => {
    const message: Message = {
      role: 'assistant',
      id: 'msg_1',
      name: 'agent',
      meta: { a: 1 },
      content: [
        reasoning('why', { signature: 's' }),
        { type: 'text', text: 'Looking.', meta: { b: 2 } },
        toolCall('c1', 'run', '{}'),
      ],
    }
    for (const level of ['compressed', 'structured'] as const)
      expect(represent(message, level, recorded)).toEqual({
        role: 'assistant',
        name: 'agent',
        content: [{ type: 'text', text: 'Looking.' }, toolCall('c1', 'run', '{}')],
      })
  })
  it('mark a message that had only reasoning', () => {
    expect(represent(assistant(reasoning('why')), 'compressed', recorded)).toEqual(
      assistant('[position 7: reasoning omitted]'),
    )
  })
  it('compressed: show head and tail of an answer with its size and how to recall it', () => {
    expect(saidBy(represent(answer('line\n'.repeat(3) + 'x'.repeat(5000)), 'compressed', recorded))).toMatch(
      /^line \[×3\]\nx+\n\[… 4,\d+ of 5,\d+ characters omitted; call recall with \{"position": 7\} …\]\nx+$/,
    )
  })
  it('compressed: refer to the position of an identical answer', () => {
    expect(saidBy(represent(answer('x'.repeat(500)), 'compressed', { ...recorded, sameAs: () => 3 }))).toBe(
      '[same result as position 3]',
    )
  })
  it('structured: list tool, status, size, first error line and files', () => {
    const said = `Compiling src/a.ts and src/b.ts\n${'ok\n'.repeat(200)}src/b.ts:12: error: no such module\nfatal: stop`
    expect(saidBy(represent(answer(said, true), 'structured', recorded))).toBe(
      '[run: error; 678 characters; 203 lines; error: src/b.ts:12: error: no such module; files: src/a.ts src/b.ts; call recall with {"position": 7}]',
    )
    expect(saidBy(represent(answer('done'), 'structured', recorded))).toBe('done')
    const silent = `\n  out of luck\n${'more\n'.repeat(40)}`
    expect(saidBy(represent(answer(silent, true), 'structured', recorded))).toMatch(/^\[run: error; .*; error: out of luck; call/) // oxfmt-ignore
    expect(saidBy(represent(answer(silent), 'structured', recorded))).toMatch(/^\[run: ok; [^a-z]* characters; [^a-z]* lines; call/) // oxfmt-ignore
    expect(saidBy(represent(answer(`${'ok\n'.repeat(40)}an early example`), 'structured', recorded))).not.toContain(
      'error',
    )
    expect(saidBy(represent(answer(`${'ok\n'.repeat(40)}ENOENT: open a`), 'structured', recorded))).toContain('; error: ENOENT: open a; ') // oxfmt-ignore
    const path = (length: number): string => `src/${'x'.repeat(length - 7)}.ts`
    expect(saidBy(represent(answer(`${path(120)} ${path(121)}`), 'structured', recorded))).toContain(`; files: ${path(120)}; `) // oxfmt-ignore
  })
  it('replace an image with a line describing it', () => {
    const message = user(image({ type: 'base64', mediaType: 'image/png', data: 'A'.repeat(4000) }))
    expect(represent(message, 'structured', { position: 2, kind: 'conversation' })).toEqual(
      user('[image image/png, 3,000 bytes; call recall with {"position": 2}]'),
    )
  })
  it('keep more text of a rule than of talk', () => {
    const rules = `${'Never touch the vendored code. '.repeat(30)}`
    const length = (kind: 'constraint' | 'conversation'): number =>
      JSON.stringify(represent(system(rules), 'structured', { position: 0, kind })).length
    expect(length('constraint')).toBeGreaterThan(2 * length('conversation'))
  })
  it("of a rule in a tool's result are the recorded message itself, also where its text is longer than a cut", () => {
    const message = { ...answer('You must never push to main. '.repeat(9)), meta: { id: 'm1' } }
    expect(cutText(message, 60, { position: 0, kind: 'constraint' }, true)).toBe(message)
    expect(cutText(message, 60, recorded, true)).not.toHaveProperty('meta')
  })
  it('are frozen', () => {
    const shown = represent(answer('x'.repeat(5000)), 'compressed', recorded)
    for (const value of [shown, shown.content, shown.content[0], partOf(shown).content, partOf(shown).content[0]])
      expect(Object.isFrozen(value)).toBe(true)
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
  ])('exclude %j', (said) => {
    expect(isSubstantive(user(said))).toBe(false)
  })
  it.each(['fix the build', 'ok, now fix the other test', 'continue with the docs', 'yes, but use tabs', 'no'])(
    'include %j',
    (said) => {
      expect(isSubstantive(user(said))).toBe(true)
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
  const lineOf = (said: string): string => {
    const call = { message: assistant('', toolCall('1', 'bash', { command: 'ls' })), position: 0 }
    return briefOf([call, { message: toolResult('1', said), position: 1 }], { from: 0, to: 2 }).text
  }
  it('names the paths and identifiers of a long result, each once', () => {
    const said = `${'.'.repeat(80)} //src/a.ts src/a.ts, read_file (x/ y//z/k) parseRow ../lib/b/`
    expect(lineOf(said)).toBe('0 bash ls: 142 characters, //src/a.ts src/a.ts read_file y//z/k parseRow ../lib/b')
  })
  it('leaves out names of fewer than 6 and more than 80 characters', () => {
    const [short, long, longest] = ['a/b.c', `src/${'x'.repeat(76)}`, `src/${'y'.repeat(77)}`]
    const said = `${short} ${longest} ${long} ${long} ${'.'.repeat(80)}`
    expect(lineOf(said)).toBe(`0 bash ls: ${said.length} characters, ${long}`)
  })
  it.each(['user', 'assistant', 'beside a call'] as const)('has words up to a length: %s', (who) => {
    const most = { user: 240, assistant: 200, 'beside a call': 80 }[who]
    const wordsOf = (length: number): string => `${'x'.repeat(most - 11)} ${'y'.repeat(length)}`
    const shown = (said: string): string | undefined => {
      const call = who === 'beside a call' ? [toolCall('1', 'look', {})] : []
      const message = who === 'user' ? user(said) : assistant(said, ...call)
      return briefOf([{ message, position: 0 }], { from: 0, to: 1 }).text.split('\n')[0]
    }
    expect(shown(wordsOf(9))?.split(': ')[1]).toBe(wordsOf(9))
    expect(shown(wordsOf(10))?.split(': ')[1]).toBe(`${'x'.repeat(most - 11)} …`)
  })
  it('has the arguments of a call up to 60 characters, and its error up to 140', () => {
    const called = (a: string, b: string, error = ''): string => {
      const call = { message: assistant('', toolCall('1', 'f', { a, b })), position: 0 }
      const result = {
        type: 'tool_result',
        callId: '1',
        isError: true,
        content: [{ type: 'text', text: error }],
      } as const
      return briefOf([call, { message: { role: 'tool', content: [result] }, position: 1 }], { from: 0, to: 2 }).text
    }
    const [a, b] = ['a'.repeat(30), 'b'.repeat(29)]
    expect(called(a, b)).toContain(`f ${a} ${b}: `)
    expect(called(a, `${b}b`)).not.toContain(`${b}b`)
    const error = `Error: ${'e'.repeat(133)}`
    expect(called('', '', error)).toContain(`failed, ${error}`)
    expect(called('', '', `${error}e`)).not.toContain(`${error}e`)
  })
  it('without any words has the role of the first message', () => {
    const brief = (said: readonly Message[], from = 3) =>
      briefOf(
        said.map((message, index) => ({ message, position: from + index })),
        { from, to: from + said.length },
        () => 5,
      )
    expect(brief([user(''), assistant('')])).toEqual({
      from: 3,
      to: 5,
      text: '3 user: …',
      tokens: 6,
      positions: [3, 4],
    })
    expect(brief([])).toEqual({ from: 3, to: 3, text: '3 nothing: …', tokens: 6, positions: [] })
    expect(brief([user('vendored'), assistant('')]).text).toBe('3 user: vendored')
    const outside = [{ message: user('a'), position: 2 }, { message: user('b'), position: 3 }, { message: user('c'), position: 4 }] // oxfmt-ignore
    expect(briefOf(outside, { from: 3, to: 4 }).positions).toEqual([3])
  })
  // A search that starts anew within a word or a path takes minutes for these.
  it.each(['a', '-', '/', 'a-', '0f'])('ends for results of %j only', { timeout: 60_000 }, (unit) => {
    for (let times = 0; times < 100; times++)
      expect(lineOf(unit.repeat(16_000 / unit.length))).toBe('0 bash ls: 16,000 characters')
  })
})

it('only English words are searched by their stem', () => {
  const terms = [...wordsIn('Cats counted v8s as дома')].map(({ terms: [term] }) => term)
  expect(terms).toEqual(['cat', 'count', 'v8s', 'as', 'дома'])
})

it('words of scripts without spaces become pairs, and a mark of theirs inside a Latin word stays in it', () => {
  expect([...wordsIn('cーa漢字かな ーA 漢')].map(({ said }) => said)).toEqual([
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
  const termsOf = (word: string): readonly string[] => [...wordsIn(word)].flatMap(({ terms }) => terms)
  const [a, b] = ['я'.repeat(31), 'я'.repeat(32)]
  expect([a, `${a}о`, b, `${b}о`].map(termsOf)).toEqual([[a], [`${a}о`], [b], [b]])
  const long = `${'я'.repeat(28)}дЁё` // 31 characters, and a hump
  expect([`${long}о`, `${long}оо`].map((word) => termsOf(word).length)).toEqual([3, 1])
})
