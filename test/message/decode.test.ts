import * as fc from 'fast-check'
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { decodeMessage, faultMessage } from 'indelible'
import { conversation, everyPart } from '../messages.ts'
import { Outputs } from '../outputs.ts'

const faultText = (input: unknown): string => {
  const answer = decodeMessage(input)
  if (isRight(answer)) throw new Error('expected a fault')
  return faultMessage(answer.left)
}

const part = (content: unknown) => ({ role: 'user', content: [content] })

describe('decodeMessage', () => {
  it.each([...conversation(), everyPart].map((message, index) => [index, message]))(
    'accepts message %i unchanged',
    (_index, message) => {
      expect(decodeMessage(message)).toEqual(right(message))
      expect(decodeMessage(JSON.parse(JSON.stringify(message)))).toEqual(right(message))
    },
  )
  it('gives a frozen copy that shares nothing with its input', () => {
    const input = { role: 'user', content: [{ type: 'text', text: 'a' }] }
    const answer = decodeMessage(input)
    ;(input.content[0] as { text: string }).text = 'b'
    expect(answer).toEqual(right({ role: 'user', content: [{ type: 'text', text: 'a' }] }))
    expect(isRight(answer) && Object.isFrozen(answer.right.content[0])).toBe(true)
  })
  it.each<readonly [unknown, string]>([
    [undefined, 'the message is undefined; a message is plain JSON data'],
    [null, 'the message should be a message object, found null'],
    ['hi', 'the message should be a message object, found "hi"'],
    [[], 'the message should be a message object, found an empty array'],
    [{}, 'role should be one of system, developer, user, assistant, tool, found nothing'],
    [{ role: 'robot', content: [] }, 'role should be one of system, developer, user, assistant, tool, found "robot"'],
    [{ role: 'user' }, 'content should be an array of parts, found nothing'],
    [{ role: 'user', content: 'hi' }, 'content should be an array of parts, found "hi"'],
    [
      { role: 'user', content: [], colour: 1 },
      'colour should be one of the fields role, content, id, name, meta, found a field that is not known',
    ],
    [{ role: 'user', content: [], id: 7 }, 'id should be a string, found 7'],
    [{ role: 'user', content: [], name: null }, 'name should be a string, found null'],
    [
      { role: 'user', content: [], meta: [] },
      'meta should be an object with one member per namespace, found an empty array',
    ],
    [part('hi'), 'content[0] should be a part object, found "hi"'],
    [
      part({}),
      'content[0].type should be one of text, image, file, provider, tool_call, tool_result, reasoning, refusal, erased, found nothing',
    ],
    [
      part({ type: 'video' }),
      'content[0].type should be one of text, image, file, provider, tool_call, tool_result, reasoning, refusal, erased, found "video"',
    ],
    [part({ type: 'constructor' }), 'found "constructor"'],
    [part({ type: ['text'], text: 'a' }), 'refusal, erased, found an array'],
    [part({ type: 'text' }), 'content[0].text should be a string, found nothing'],
    [part({ type: 'text', text: 1 }), 'content[0].text should be a string, found 1'],
    [part({ type: 'text', text: '', 'a b': 1 }), 'content[0]["a b"] should be one of the fields type, text, meta'],
    [
      part({ type: 'image', source: { type: 'path' } }),
      'content[0].source.type should be one of url, base64, block, found "path"',
    ],
    [
      part({ type: 'image', source: { type: 'base64', data: '' } }),
      'content[0].source.mediaType should be a string, found nothing',
    ],
    [
      part({ type: 'file', source: { type: 'block', id: 'A'.repeat(64) } }),
      'content[0].source.id should be 64 lowercase hexadecimal digits',
    ],
    [
      part({ type: 'tool_call', id: '', name: '', arguments: {} }),
      'content[0].arguments should be a string, found an empty object',
    ],
    [
      part({ type: 'tool_result', callId: '', content: [{ type: 'tool_call' }] }),
      'content[0].content[0].type should be one of text, image, file, provider, found "tool_call"',
    ],
    [
      part({ type: 'tool_result', callId: '', content: [], isError: 'yes' }),
      'content[0].isError should be true or false, found "yes"',
    ],
    [part({ type: 'reasoning', text: '', summary: ['', 1] }), 'content[0].summary[1] should be a string, found 1'],
    [part({ type: 'provider', provider: 'x' }), 'content[0].raw should be a value, found nothing'],
    [part({ type: 'text', text: undefined }), 'content[0].text should be a string, found nothing'],
    [{ role: 'user', content: [], meta: { a: () => 1 } }, 'meta.a is a function; a message is plain JSON data'],
    [new Date(0), 'the message is an instance of Date'],
    [{ role: 'x'.repeat(1000), content: [] }, '… (1002 characters)'],
    [{ role: 'x'.repeat(38), content: [] }, `found "${'x'.repeat(38)}"`],
    [{ role: 'x'.repeat(39), content: [] }, `found "${'x'.repeat(39)}… (41 characters)`],
  ])('refuses %j', (input, message) => expect(faultText(input)).toContain(message))

  it('never throws for any input', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
          withSparseArray: true,
          withTypedArray: true,
          withObjectString: true,
        }),
        (input) => {
          const answer = decodeMessage(input)
          if (isLeft(answer)) expect(faultMessage(answer.left).length).toBeGreaterThan(10)
        },
      ),
    )
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new RangeError('mine')
        },
      },
    )
    expect(faultText(hostile)).toContain('could not be read')
    const nameless = new Proxy(
      {},
      {
        ownKeys: () => {
          throw Object.create(null) as Error
        },
      },
    )
    expect(faultText(nameless)).toContain('could not be read')
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    expect(faultText(revoked.proxy)).toContain('could not be read')
  })
  it('gives messages or faults with a path for near misses', () => {
    const near = fc.record(
      {
        role: fc.constantFrom('user', 'tool', 'x', 1),
        content: fc.array(
          fc.record(
            {
              type: fc.constantFrom('text', 'tool_result', 'reasoning', 'x'),
              text: fc.constantFrom('a', 1, null),
              callId: fc.string(),
              content: fc.constantFrom([], [{ type: 'text', text: 'a' }], [{}], 'a'),
            },
            { requiredKeys: ['type'] },
          ),
        ),
        id: fc.constantFrom('a', 1),
      },
      { requiredKeys: [] },
    )
    const outputs = new Outputs()
    fc.assert(
      fc.property(near, (input) => {
        const answer = decodeMessage(input)
        outputs.add(answer)
        if (isRight(answer)) expect(answer.right).toEqual(input)
        else expect(answer.left.path.length).toBeGreaterThan(0)
      }),
    )
    outputs.expectToBe('c20c9c3e32a3b18d')
  })
})
