/** Which messages are the same one, however a client writes them, and which are not. */
import { expect, it } from 'vitest'
import { assistant, image, orThrow, reasoning, text, toolCall, toolResult, user, type Message } from 'indelible'
import { codecs } from 'indelible/codecs'
import { provider, refusal } from 'indelible/message'
import { partialParse } from '@anthropic-ai/sdk/_vendor/partial-json-parser/parser'
import { partialJson } from '../src/messages/partial-json.ts'
import { chainOf, emptyChain, extendChain, identityOf } from '../src/messages/identity.ts'
import { sentDigestOf } from '../src/conversations/receipt.ts'
import { withoutMarks } from '../src/requests/wire.ts'

const url = 'https://example.com/a.png'

/** Of each list, all are one message; those of different lists are different ones. */
const same: { readonly [what: string]: readonly Message[] } = {
  instructions: [
    { role: 'system', content: [text('Be brief.')] },
    { role: 'developer', content: [text('Be '), text('brief.')] },
    { role: 'system', content: [text('Be brief.')], id: 'm', name: 'n', meta: { a: 1 } },
    { role: 'system', content: [text(''), text('Be brief.'), reasoning('hm')] },
  ],
  'the same, of a user': [user('Be brief.')],
  'the same, of a model': [assistant('Be brief.'), assistant(reasoning('hm'), 'Be brief.')],
  'the same, of a tool': [{ role: 'tool', content: [text('Be brief.')] }],
  'a part less': [user('Be brief')],
  nothing: [assistant(), assistant(''), assistant(reasoning('hm'))],
  'a refusal': [assistant(refusal('Be brief.'))],
  'an image': [user(image({ type: 'url', url })), user('', image({ type: 'url', url }))],
  'an image behind a text': [user('a', image({ type: 'url', url }))],
  'a text behind an image': [user(image({ type: 'url', url }), 'a')],
  'another image': [user(image({ type: 'url', url: `${url}?` }))],
  'an image by its bytes': [
    user(image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' })),
    user(image({ type: 'base64', mediaType: 'image/jpeg', data: 'aGk=' })),
  ],
  'a call': [
    assistant(toolCall('c', 'f', '{"a":1,"b":[{"c":2,"d":3}]}')),
    assistant(toolCall('c', 'f', '{ "b": [{"d":3,"c":2}], "a": 1, "none": null }')),
  ],
  'a call with another list': [assistant(toolCall('c', 'f', '{"a":1,"b":[{"c":3,"d":2}]}'))],
  'a call of another id': [assistant(toolCall('d', 'f', '{"a":1,"b":[{"c":2,"d":3}]}'))],
  'a call of another name': [assistant(toolCall('c', 'g', '{"a":1,"b":[{"c":2,"d":3}]}'))],
  'a call without arguments': [assistant(toolCall('c', 'f', '')), assistant(toolCall('c', 'f', '{}'))],
  'a call with half an argument': [
    assistant(toolCall('c', 'f', '{"a":1,"b":[{"c":2},{"d')),
    assistant(toolCall('c', 'f', '{"a":1,"b":[{"c":2},{}]}')),
  ],
  'a call with arguments that are not JSON': [assistant(toolCall('c', 'f', 'ls -l'))],
  'a result': [
    toolResult('c', 'done'),
    { role: 'tool', content: [...toolResult('c', 'done').content, ...toolResult('c', 'done').content] },
  ],
  'a result of another call': [toolResult('d', 'done')],
  'another result': [toolResult('c', 'done.')],
  'what only a provider knows': [assistant(provider('p', { a: 1, b: 2 })), assistant(provider('p', { b: 2, a: 1 }))],
  'what another provider knows': [assistant(provider('q', { a: 1, b: 2 }))],
}

it('message identities are equal exactly for equal content', () => {
  const ids = Object.entries(same).map(([what, messages]) => [what, [...new Set(messages.map(identityOf))]] as const)
  expect(ids.filter(([, found]) => found.length !== 1)).toEqual([])
  const all = ids.flatMap(([, found]) => found)
  expect(new Set(all).size).toBe(all.length)
})

it("arguments that broke off anywhere are read as the provider's client reads them", () => {
  const whole = String.raw` { "a"}" : [ -1.5e3 , true , null , "x\" , { } , [ 10 ] ] , "b" : { "c" : false , "d" : "é" } } `
  const parsed = (text: string): unknown => {
    try {
      return partialParse(text) as unknown
    } catch {
      return undefined
    }
  }
  for (let end = 0; end <= whole.length; end++)
    expect([end, partialJson(whole.slice(0, end))]).toEqual([end, parsed(whole.slice(0, end))])
  for (const odd of ['ls -l', '{"a":1}}', '[}', '{"a" 1}', '[1 2', 'nul', '{a:1', '{"a":1,}', '{"a":tru', '{"a":12'])
    expect([odd, partialJson(odd)]).toEqual([odd, parsed(odd)])
})

it('a message recorded with less keeps the digest of its content', () => {
  const digest = identityOf(user('a long text'))
  expect(identityOf({ ...user('a lon…'), meta: { indelible: { digest } } })).toBe(digest)
  for (const meta of [{}, { indelible: {} }, { indelible: { digest: 1 } }, { indelible: 'digest' }, { digest }])
    expect(identityOf({ ...user('a long text'), meta })).toBe(digest)
})

it('a chain has a digest for each prefix of a conversation', () => {
  const talk = [user('a'), assistant('b'), user('a')]
  const chain = chainOf(talk)
  expect([chain.length, chain[0], new Set(chain).size]).toEqual([4, emptyChain, 4])
  for (const length of [0, 1, 2, 3]) expect(chainOf(talk.slice(0, length))).toEqual(chain.slice(0, length + 1))
  expect(chainOf(talk.slice(1), chain[1])).toEqual(chain.slice(1))
  expect(extendChain(chain[2] as string, user('a'))).toBe(chain[3])
})

it('a message without its cache marks is the message that a client without them sends', () => {
  const sent = (marks: object) => [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a', ...marks },
        { type: 'text', text: 'b', other: { kept: 1 }, ...marks },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'c' }, title: 'd', ...marks },
      ],
    },
  ]
  const read = (marks: object) => orThrow(codecs.anthropic.decode(sent(marks) as never)).messages
  const marked = read({ cache_control: { type: 'ephemeral' } })
  expect(JSON.stringify(marked)).toContain('cache_control')
  expect(marked.map(withoutMarks)).toEqual(read({}))
  expect(read({}).map(withoutMarks)).toEqual(read({}))
})

it('a message is read once, wherever it is in a conversation', () => {
  let reads = 0
  const message = {
    role: 'user',
    get content() {
      reads++
      return [text('a')]
    },
  } as Message
  const [alone, after] = [chainOf([message]), chainOf([user('b'), message])]
  expect(reads).toBe(1)
  expect(after.at(-1)).toBe(chainOf([user('b'), user('a')]).at(-1))
  expect(chainOf([message])).toEqual(alone)
  expect(alone).toEqual(chainOf([user('a')]))
  expect(sentDigestOf(message)).toBe(sentDigestOf(user('a')))
  const sent = reads
  sentDigestOf(message)
  expect(reads).toBe(sent)
})

it('the digest of a message as it was sent leaves out what only the record has', () => {
  const recorded: Message = { ...user('a'), id: 'm1', meta: { indelible: { digest: 'd' }, openai: { name: 'n' } } }
  expect(sentDigestOf(recorded)).toBe(sentDigestOf({ ...user('a'), meta: { openai: { name: 'n' } } }))
  expect(sentDigestOf(recorded)).not.toBe(sentDigestOf(user('a')))
})
