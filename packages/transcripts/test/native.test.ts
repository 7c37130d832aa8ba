/** Sessions written for programs: what their readers read of them, and that nothing a message says names a place. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { faultMessage, mend, type Message, type Part } from 'indelible'
import { assistant, image, reasoning, system, toolCall, toolResult, user } from 'indelible'
import { nativePrograms, readTranscript, writeNative, type Native, type NativeProgram } from '@indelible/transcripts'
import { Outputs } from '../../../test/outputs.ts'
import { rounds } from '../../../test/rounds.ts'
import type { ToolResultPart } from 'indelible/internal/message'

const id = '0b0f5e8a-6c1d-4f2e-9a3b-112233445566'
const options = { id, now: Date.parse('2026-11-23T08:00:00.000Z'), cwd: '/work/a b' } as const
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A value that no longer need be equal, because a loss names it. */
const changed = Symbol('changed')
type Loss = Native['losses'][number]

const json = (text: string): unknown => {
  try {
    return JSON.parse(text === '' ? '{}' : text) as unknown
  } catch {
    return text
  }
}

const bytes = (part: Part): string | undefined =>
  part.type === 'image' || part.type === 'file' ? ('data' in part.source ? part.source.data : 'url') : undefined

/** The items of a settled conversation, less what the losses name. */
const itemsOf = (messages: Iterable<Message>, losses: readonly Loss[] = []): readonly object[] => {
  const all = [...messages]
  const lossesAt = (position: number, ...path: readonly (string | number)[]): readonly string[] =>
    losses
      .filter((loss) => loss.position === position && path.every((step, index) => loss.path[index] === step))
      .map(({ reason }) => reason)
  const answers = new Map<string, readonly [number, number, ToolResultPart]>()
  all.forEach(({ content }, position) =>
    content.forEach((part, index) => {
      if (part.type === 'tool_result') answers.set(part.callId, [position, index, part])
    }),
  )
  const items: object[] = []
  for (const [position, { role, content }] of all.entries()) {
    if (
      losses.some(
        (loss) =>
          loss.position === position && loss.path.length === 0 && /is a (?:system|developer) message/.test(loss.reason),
      )
    )
      continue
    const isAssistant = role === 'assistant' || content.some(({ type }) => type === 'tool_call')
    const who = isAssistant ? 'assistant' : 'user'
    for (const [index, part] of content.entries()) {
      if (part.type === 'tool_result') continue
      const reasons = lossesAt(position, 'content', index)
      if (part.type === 'tool_call') {
        const [at, place, { content: parts, isError = false }] = answers.get(part.id) ?? [
          0,
          0,
          { content: [] } as never,
        ]
        const lost = (...path: readonly (string | number)[]): boolean =>
          lossesAt(at, 'content', place, ...path).length > 0
        const text = parts
          .flatMap((resultPart) =>
            resultPart.type === 'text' && resultPart.text.trim() !== '' ? [resultPart.text] : [],
          )
          .join('\n')
        const images = parts.flatMap((resultPart) => bytes(resultPart) ?? [])
        const lostAt = (name: string): boolean => lossesAt(position, 'content', index, name).length > 0
        items.push({
          who,
          name: lostAt('name') ? changed : part.name,
          args: lostAt('arguments') ? changed : json(part.arguments),
          result: lost('content') ? changed : { text, images },
          isError: lost('isError') ? changed : isError,
        })
        continue
      }
      if (reasons.some((reason) => reason.endsWith('left out'))) continue
      const text = part.type === 'text' || part.type === 'reasoning' || part.type === 'refusal' ? part.text : undefined
      if (text === '' && reasons.length === 0) continue
      if (reasons.some((reason) => !reason.startsWith('follows'))) items.push({ who, text: changed })
      else items.push(text === undefined ? { who, data: bytes(part) } : { who, text })
    }
  }
  return items
}

/** Items with `changed` where the others have something else. */
const alike = (read: readonly object[], wanted: readonly object[]): readonly object[] =>
  read.map((item, index) =>
    Object.fromEntries(
      Object.entries(item).map(([name, value]) => [
        name,
        (wanted[index] as { readonly [name: string]: unknown } | undefined)?.[name] === changed
          ? changed
          : (value as unknown),
      ]),
    ),
  )

const readBack = (native: Native): readonly Message[] => {
  const read = readTranscript(native.lines.join('\n'))
  if (isLeft(read)) throw new Error(faultMessage(read.left))
  expect(read.right.damage).toEqual([])
  expect(read.right.losses).toEqual([])
  expect(read.right.origin.id).toBe(native.id)
  return read.right.messages
}

const expectEqual = (messages: readonly Message[], program: NativeProgram): Native => {
  const native = writeNative(messages, program, options)
  const expected = itemsOf(mend(messages).messages, native.losses)
  const isOpened = native.losses.some(({ reason }) => reason.startsWith('begins with the assistant'))
  const wanted = isOpened ? [{ who: 'user', text: '(start)' }, ...expected] : expected
  if (native.turns === 0) {
    expect(wanted).toEqual([])
    return native
  }
  const read = readBack(native)
  expect(alike(itemsOf(read), wanted)).toEqual(wanted)
  const calls = read.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_call' ? [part] : [])))
  expect(calls.filter((call) => !/^[\w-]{1,64}$/.test(call.id) || !/^[a-z_][\w-]{0,63}$/i.test(call.name))).toEqual([])
  expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length)
  return native
}

const hostile = fc.constantFrom('../../../../tmp/evil', '/etc/passwd', 'a\0b', '..', 'ses_../x', '\u202e', '__proto__')
const someText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ' \n', '/help me', '?', '<system-reminder>x</system-reminder>', '\ud800', '<session_context>'),
  hostile,
)
const someId = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('c1', 'c2', 'c3', 'call_0', 'toolu_4') },
  hostile,
  fc.string(),
)
const picture = fc.oneof(
  fc.constant({ type: 'base64', mediaType: 'image/png', data: pixel } as const),
  fc.constant({ type: 'base64', mediaType: 'image/svg+xml', data: pixel } as const),
  fc.constant({ type: 'base64', mediaType: 'image/png', data: 'not base64' } as const),
  fc.constant({ type: 'url', url: 'https://example.com/a.png' } as const),
  fc.constant({ type: 'url', url: 'file:///etc/passwd' } as const),
)
const resultPart = fc.oneof(
  someText.map((text) => ({ type: 'text', text }) as const),
  picture.map((source) => ({ type: 'image', source }) as const),
  fc.constant({ type: 'provider', provider: 'acme', raw: { a: 1 } } as const),
)
const somePart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: someText.map((text): Part => ({ type: 'text', text })) },
  { weight: 2, arbitrary: picture.map((source): Part => ({ type: 'image', source })) },
  fc.constant<Part>({
    type: 'file',
    name: '../../x',
    source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' },
  }),
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        someId,
        fc.oneof(fc.constant('look'), someText),
        fc.oneof(fc.json(), fc.constant('{"a":{"b":[1,"x"]}}'), fc.string()),
      )
      .map(([callId, name, args]): Part => ({ type: 'tool_call', id: callId, name, arguments: args })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(someId, fc.array(resultPart, { maxLength: 3 }), fc.boolean())
      .map(([callId, content, isError]): Part => ({
        type: 'tool_result',
        callId,
        content,
        isError,
      })),
  },
  someText.map((text): Part => ({ type: 'reasoning', text, signature: 'secret', encrypted: 'secret' })),
  fc.constant<Part>({ type: 'refusal', text: 'no' }),
  fc.constant<Part>({ type: 'provider', provider: 'acme', raw: {} }),
)
const someMessages = fc.array(
  fc.record({
    role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'developer'),
    content: fc.array(somePart, { maxLength: 4 }),
  }) as fc.Arbitrary<Message>,
  { maxLength: 8 },
)

const digests: Readonly<Record<NativeProgram, string>> = {
  'claude-code': '5001a25d574c8d0a',
  codex: '4ef2742259e2832f',
  gemini: '197ca3361d5fda93',
  opencode: 'bfe66905a41f06d6',
  pi: '81d08102c6fbff73',
}

describe.each(nativePrograms)('a written session of %s', (program) => {
  it('reads back as the conversation except for its listed losses', () => {
    const messages = [
      user('Look at this.', { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: pixel } }),
      assistant('I look.', toolCall('c1', 'look', { at: [1] }), toolCall('c2', 'look', {})),
      toolResult('c1', 'a cat'),
      toolResult('c2', 'no dog', { isError: true }),
      assistant('A cat.'),
      user('And now?'),
    ]
    const { losses, repairs } = expectEqual(messages, program)
    expect([repairs, losses.map(({ reason }) => reason)]).toEqual([
      [],
      program === 'codex' ? ['the program does not mark failed calls'] : [],
    ])
  })

  it('has images in results, distinct ids, and no blank content', () => {
    const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: pixel } } as const
    const messages: readonly Message[] = [
      user('Look.', ' \n'),
      assistant(toolCall('../a', 'look', {}), toolCall('call-0', 'look', {}), toolCall('c', 'a b', {})),
      {
        role: 'tool',
        content: [{ type: 'tool_result', callId: '../a', content: [{ type: 'text', text: 'a cat' }, image] }],
      },
      toolResult('call-0', 'a dog'),
      toolResult('c', 'no bird'),
    ]
    const { losses, lines } = expectEqual(messages, program)
    expect(losses.map(({ reason }) => reason)).toEqual([
      'is blank: left out',
      'is not an id that providers accept: written as call-1',
      'is not a name that providers accept: written as a_b',
    ])
    const all = lines.join('\n')
    expect([all.split(pixel).length, all.includes('../a'), all.includes('" \\n"')]).toEqual([2, false, false])
  })

  it('reads back as any random conversation except for its listed losses', () => {
    const outputs = new Outputs()
    fc.assert(
      fc.property(someMessages, (messages) => {
        const native = expectEqual(messages, program)
        outputs.add(native)
        const all = native.lines.join('\n')
        expect(all).not.toContain('secret')
        expect(all).not.toContain('\\ud800')
      }),
      { numRuns: rounds(30, 1000) },
    )
    outputs.expectToBe(digests[program])
  })

  it('has an id and path derived only from the options', () => {
    const place = (messages: readonly Message[]) => {
      const native = writeNative(messages, program, options)
      return [native.id, ...native.place]
    }
    const usual = place([user('hi')])
    expect(usual.every((step) => /^[\w. -]+$/.test(step) && !/^\.+$/.test(step))).toBe(true)
    const evil = '../../../../tmp/evil'
    const message: Message = {
      ...user(evil),
      id: evil,
      name: evil,
      meta: { codex: { cwd: evil }, [program]: { sessionId: evil } },
    }
    expect(place([message, assistant(toolCall(evil, evil, {}))])).toEqual(usual)
  })

  it('continues after 200 calls whose ids are all the same', () => {
    const messages = Array.from({ length: 200 }, (_, index) => [
      assistant(toolCall('c', 'look', { index })),
      toolResult('c', String(index)),
    ]).flat()
    const native = expectEqual([user('go'), ...messages], program)
    expect(native.repairs.length).toBe(199)
  })
})

it("another provider's reasoning becomes text or is dropped; its signature is never written", () => {
  const thought = reasoning('hm', { signature: 'sig', encrypted: 'enc' })
  for (const program of nativePrograms)
    for (const how of ['own', 'text', 'omit'] as const) {
      const { lines, losses } = writeNative([user('hi'), assistant(thought, 'ho')], program, {
        ...options,
        reasoning: how,
      })
      const text = lines.join('\n')
      expect(/"(?:sig|enc)"/.test(text)).toBe(false)
      expect(text.includes('"hm"')).toBe(how !== 'omit')
      expect(losses.map(({ reason }) => reason)).toEqual([
        how === 'omit' ? 'is reasoning: left out' : 'is reasoning: written as text, without its signature',
      ])
    }
})

it("a program's own reasoning is written unchanged on request", () => {
  const own: readonly (readonly [NativeProgram, Message])[] = [
    [
      'claude-code',
      {
        ...assistant(reasoning('hm', { signature: 'sig' }), 'ho'),
        meta: { 'anthropic-response': { model: 'claude-x' } },
      },
    ],
    [
      'codex',
      { ...assistant(reasoning('', { summary: ['hm'], encrypted: 'enc' }), 'ho'), meta: { codex: { timestamp: 't' } } },
    ],
    [
      'pi',
      {
        ...assistant(reasoning('hm', { signature: 'sig' }), 'ho'),
        meta: { 'pi-session': { api: 'a', provider: 'p', model: 'm' } },
      },
    ],
  ]
  for (const [program, message] of own) {
    const native = writeNative([user('hi'), message], program, { ...options, reasoning: 'own' })
    expect(native.losses).toEqual([])
    const [part] = readBack(native)[1]?.content ?? []
    const { type, signature, encrypted } = part as { type: string; signature?: string; encrypted?: string }
    expect([type, signature ?? encrypted]).toEqual(['reasoning', program === 'codex' ? 'enc' : 'sig'])
    expect(writeNative([user('hi'), message], program, options).lines.join('')).not.toMatch(/"(?:sig|enc)"/)
  }
})

it('instructions and program-added text are dropped', () => {
  const messages = [
    system('Be brief.'),
    user('<environment_context>\n<cwd>/x</cwd>\n</environment_context>'),
    user('<system-reminder>Mind the list.</system-reminder>', 'hi'),
  ]
  for (const program of nativePrograms) {
    const { losses, turns, lines } = writeNative(messages, program, options)
    expect([turns, losses.length, /brief|cwd>|Mind/.test(lines.join(''))]).toEqual([1, 3, false])
  }
})

it('a session is named by the first words of the user, also after an image', () => {
  const source = { type: 'base64', mediaType: 'image/png', data: pixel } as const
  for (const [first, title] of [
    [user(image(source), 'Look  at\nthis. ' + 'x'.repeat(90)), `Look at this. ${'x'.repeat(66)}`],
    [user(image(source)), 'conversation'],
  ] as const) {
    const read = readTranscript(writeNative([first], 'opencode', options).lines.join('\n'))
    expect(isLeft(read) ? read.left : read.right.origin.title).toBe(title)
  }
})

it('options that cannot form a path are refused', () => {
  const bad: readonly object[] = [
    { id: '../x' },
    { id: id.toUpperCase() },
    { now: NaN },
    { now: 1e15 },
    { cwd: 'work' },
    { project: '..' },
    { project: 'a/b' },
    { nowhere: 1 },
  ]
  for (const one of bad)
    expect(() => writeNative([user('hi')], 'gemini', { ...options, ...one } as typeof options)).toThrow(TypeError)
  expect(() => writeNative([user('hi')], 'vim' as NativeProgram, options)).toThrow(TypeError)
})

it('a call id colliding with a numbered one is renamed, and Claude Code keeps its result', () => {
  const once = [assistant(toolCall('toolu_25', 'look', {})), toolResult('toolu_25', 'a cat')]
  for (const program of nativePrograms) {
    const { lines, losses, repairs } = writeNative([user('go'), ...once, ...once], program, options)
    expect([repairs.length, losses.map(({ reason }) => reason)]).toEqual([
      1,
      ["is another call's id with a number: written as call-1"],
    ])
    expect(lines.join('')).not.toContain('toolu_25_2')
  }
})

it('sub-agent calls are named, and messages between Codex agents are written as text', () => {
  const raw = { type: 'agent_message', content: [{ type: 'input_text', text: 'Read it, left.' }] }
  const messages: readonly Message[] = [
    { role: 'user', content: [{ type: 'provider', provider: 'openai-responses', raw }] },
    assistant(toolCall('c1', 'Agent', { prompt: 'Read it.' })),
    toolResult('c1', 'It is beta.'),
  ]
  for (const program of nativePrograms) {
    const { losses, lines } = writeNative(messages, program, options)
    expect(losses.map(({ reason }) => reason)).toEqual([
      'is from another agent of the program: written as text',
      'calls a sub-agent: its result is written, but not its own conversation',
    ])
    for (const text of ['Read it, left.', 'It is beta.']) expect(lines.join('\n')).toContain(text)
  }
})

it("Claude Code's folder for a long path has its start and a checksum", () => {
  const folderFor = (cwd: string) => writeNative([user('hi')], 'claude-code', { ...options, cwd }).place[1]
  expect(folderFor(`/${'a'.repeat(199)}`)).toBe(`-${'a'.repeat(199)}`)
  const long = `/${'a.b_'.repeat(75)}`
  expect(folderFor(long)).toMatch(/^-(?:a-b-){49}a-b-?-[0-9a-z]{1,6}$/)
  expect(folderFor(`${long}c`)?.slice(0, 200)).toBe(folderFor(long)?.slice(0, 200))
  expect(folderFor(`${long}c`)).not.toBe(folderFor(long))
})
