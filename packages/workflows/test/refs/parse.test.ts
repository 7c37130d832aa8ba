import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { codecs } from 'indelible/codecs'
import { createRefHistory, hydrate, parseHistoryJson, persist } from '@indelible/workflows/refs'
import { memoryStore, settle } from 'indelible'
import { deriveContext } from 'indelible/context'
import { manageHistory } from '@indelible/workflows/activities'
import { partOfContent } from '../../src/refs/content-block.ts'
import { ok } from '../../../../test/task-results.ts'
import { id, read, refused } from './saved.ts'

describe('a saved ref history', () => {
  it('is read back unchanged, from JSON and from its text', () => {
    const refs = createRefHistory({
      scope: 'a/b',
      session: 's',
      from: [
        { blockIds: [id('a'), id('b')], role: 'tool' },
        { blockIds: [id('c')], role: 'developer' },
      ],
    })
    const text = JSON.stringify(refs)
    for (const saved of [JSON.parse(text), text, refs.toJSON()]) {
      const { format, history } = read('refs', saved)
      expect(format).toBe('indelible.refs')
      expect(JSON.stringify(history)).toBe(text)
      expect(history.append({ blockIds: [id('d')], role: 'user' })).toBe(2)
    }
    expect(refs.len).toBe(2)
  })
  it('by a newer version is reported as such', () => {
    expect(parseHistoryJson({ type: 'indelible.refs', version: 4, anything: true })).toEqual({
      _tag: 'Left',
      left: { _tag: 'NewerRefs', found: 4, supported: 3 },
    })
    expect(refused({ type: 'indelible.refs', version: 4 })).toContain('update the library')
  })
  it('is not read if damaged, and the fault has the path', () => {
    const good = { type: 'indelible.refs', version: 1, scope: 'default', refs: [{ blockIds: [id('a')], role: 'user' }] }
    expect(refused({ ...good, version: '1' })).toBe('version should be 1, 2 or 3, found "1"')
    expect(refused({ ...good, scope: '' })).toBe('scope should be the name of a scope, found ""')
    expect(refused({ ...good, session: '' })).toBe('session should be the id of a session, found ""')
    expect(refused({ ...good, refs: {} })).toBe('refs should be an array of refs, found an empty object')
    expect(refused({ ...good, refs: [...good.refs, null] })).toBe(
      'refs[1] should be a ref: { blockIds, role }, found null',
    )
    expect(refused({ ...good, refs: [{ blockIds: [id('a'), 'x'], role: 'user' }] })).toBe(
      'refs[0].blockIds[1] should be the id of a block: 64 lowercase hexadecimal digits, found "x"',
    )
    expect(refused({ ...good, refs: [{ blockIds: [], role: 'user' }] })).toContain(
      'refs[0].blockIds should be one or more ids',
    )
    expect(refused({ ...good, refs: [{ blockIds: [id('a')], role: 'bot' }] })).toBe(
      'refs[0].role should be a role, found "bot"',
    )
    expect(refused(JSON.stringify(good).slice(0, -1))).toMatch(/should be JSON: at line 1, column \d+/)
    expect(refused({ ...good, messages: [] })).toBe(
      'messages should be absent, because this format has no such field, found an empty array',
    )
    expect(refused({ ...good, refs: [{ ...good.refs[0], page: 'plan' }] })).toContain('refs[0].page should be absent')
    for (const version of [0, 1.5, -1, null]) expect(refused({ ...good, version })).toContain('version should be 1')
  })
  it('references only its own scope and blocks', () => {
    for (const saved of [
      { type: 'indelible.refs', version: 1, scope: 'a\ud800', refs: [] },
      '{"type":"indelible.refs","version":1,"scope":"a\\ud800","refs":[]}',
    ])
      expect(refused(saved)).toContain(
        'scope should be an unambiguous value, found a value that has half a surrogate pair',
      )
    expect(refused('{"type":"indelible.refs","version":1,"scope":"a","scope":"b","refs":[]}')).toBe(
      'scope should be an unambiguous value, found a value that occurs twice',
    )
    expect(refused({ type: 'llm2', refs: [{ blockKeys: ['k\udc00'], role: 'user' }] })).toContain(
      'refs[0].blockKeys[0] should be an unambiguous value',
    )
    expect(refused('[{"flowId":"f","blockIds":["a"],"blockIds":["b"],"role":"user"}]')).toContain(
      '[0].blockIds should be an unambiguous value',
    )
    expect(isLeft(parseHistoryJson('{"type":"indelible.refs","version":2,"scope":"a","scope":"b"}')) && 'newer').toBe(
      'newer',
    )
  })
})

describe('a ref history saved without a scope', () => {
  it('gets the given scope', () => {
    const scope = 'team a'
    for (const saved of [
      null,
      [],
      [{ role: 'user', content: 'hi' }],
      { type: 'llm2', refs: [{ blockKeys: [id('a')], role: 'user' }] },
      [{ flowId: 'f', blockIds: ['a'], role: 'user' }],
    ]) {
      const [result, usual] = [parseHistoryJson(saved, { scope }), parseHistoryJson(saved)]
      expect([!isLeft(result) && result.right.history.scope, !isLeft(usual) && usual.right.history.scope]).toEqual([
        scope,
        'default',
      ])
    }
    const ours = parseHistoryJson(createRefHistory({ scope: 'its own' }), { scope })
    expect(isLeft(ours)).toBe(true) // a handle is no JSON
    expect(parseHistoryJson(createRefHistory({ scope: 'its own' }).toJSON(), { scope })).toMatchObject({
      right: { history: { scope: 'its own' } },
    })
    for (const saved of [null, { type: 'llm2', refs: [{ blockKeys: ['a'], role: 'user' }] }])
      expect(() => parseHistoryJson(saved, { scope: '' })).toThrow(TypeError)
  })
})

describe('an empty legacy history', () => {
  it('is undefined or an empty list', () => {
    for (const saved of [[], null, '[]', 'null']) {
      const { format, history, losses } = read('messages', saved)
      expect([format, history.len, losses]).toEqual(['chat', 0, []])
    }
  })
})

it('a content block whose empty text Go left out has an empty text', () => {
  expect(partOfContent({ type: 'text' })).toEqual({ type: 'text', text: '' })
})

describe('llm2 refs', () => {
  it('with block ids as keys become refs', () => {
    for (const name of ['blockKeys', 'blockIds']) {
      const { format, history } = read('refs', {
        type: 'llm2',
        refs: [
          { [name]: [id('a')], role: 'user' },
          { [name]: [id('b'), id('c')], role: 'assistant' },
        ],
      })
      expect(format).toBe('llm2')
      expect(history.refs()).toEqual([
        { blockIds: [id('a')], role: 'user' },
        { blockIds: [id('b'), id('c')], role: 'assistant' },
      ])
    }
    expect(read('refs', { type: 'llm2', refs: [] }).history.len).toBe(0)
    expect(read('refs', { type: 'llm2', refs: null }).history.len).toBe(0)
  })
  it('are hydrated if they are of our blocks', async () => {
    const store = memoryStore()
    const stored = await ok(persist(store, read('messages', [{ role: 'user', content: 'hello' }]).history))
    const { history } = read('refs', {
      type: 'llm2',
      refs: stored
        .refHistory()
        .refs()
        .map(({ blockIds, role }) => ({ blockKeys: blockIds, role })),
    })
    expect((await ok(hydrate(store, history))).view().toArray()).toEqual(stored.view().toArray())
  })
  it('with its own keys are read under either name, with and without a flow', () => {
    const { history } = read('keyed', {
      type: 'llm2',
      flowId: 'flow_1',
      workspaceId: 'ws_1',
      refs: [
        { blockKeys: ['block_1', 'block_2'], role: 'user' },
        { blockIds: ['block_3'], blockKeys: null, role: 'assistant' },
        { blockKeys: null, role: 'assistant' },
      ],
    })
    expect(history).toMatchObject({ len: 3, flowId: 'flow_1', workspaceId: 'ws_1', scope: 'default' })
    expect(history.refs().map(({ keys }) => keys)).toEqual([['block_1', 'block_2'], ['block_3'], []])
    expect(
      [history, history.refs(), ...history.refs(), ...history.refs().map(({ keys }) => keys)].every(Object.isFrozen),
    ).toBe(true)
    const bare = read('keyed', [
      { flowId: 'f', blockIds: ['f:msg:0:block:x'], role: 'user' },
      { flowId: 'f', blockIds: [], role: 'assistant' },
    ])
    expect([bare.format, bare.history.len]).toEqual(['llm2', 2])
    expect(read('refs', [{ flowId: 'f', blockIds: [id('a')], role: 'user' }]).history.len).toBe(1)
  })
  it('have keys under one of two names, or the same under both', () => {
    const keysOf = (ref: object) =>
      read('keyed', { type: 'llm2', refs: [{ ...ref, role: 'user' }] }).history.refs()[0]?.keys
    for (const none of [null, []]) {
      expect(keysOf({ blockKeys: ['a', 'b'], blockIds: none })).toEqual(['a', 'b'])
      expect(keysOf({ blockKeys: none, blockIds: ['a', 'b'] })).toEqual(['a', 'b'])
    }
    expect(keysOf({ blockKeys: ['a', 'b'], blockIds: ['a', 'b'] })).toEqual(['a', 'b'])
    for (const blockIds of [['b', 'a'], ['a'], ['a', 'b', 'c']])
      expect(refused({ type: 'llm2', refs: [{ blockKeys: ['a', 'b'], blockIds, role: 'user' }] })).toContain(
        'refs[0].blockIds',
      )
  })
  it('may have unknown fields, which are listed', () => {
    const { history, losses } = read('keyed', {
      type: 'llm2',
      model: 'x',
      refs: [
        { blockKeys: ['a'], role: 'user' },
        { blockKeys: ['b'], role: 'user', flowId: 'f', usage: { tokens: 7 } },
      ],
    })
    expect(losses).toEqual([
      { position: 0, path: ['model'], reason: 'is not a field of llm2: left out' },
      { position: 1, path: ['usage'], reason: 'is not a field of llm2: left out' },
    ])
    expect(history.refs()).toEqual([
      { keys: ['a'], role: 'user' },
      { keys: ['b'], role: 'user', flowId: 'f' },
    ])
    expect(
      read('refs', { type: 'llm2', model: 'x', refs: [{ blockKeys: [id('a')], role: 'user' }] }).losses,
    ).toMatchObject([{ path: ['model'] }])
  })
  it('are refused if damaged', () => {
    expect(refused({ type: 'llm2', refs: 'x' })).toBe('refs should be an array of refs, found "x"')
    expect(refused({ type: 'llm2', refs: [7] })).toBe('refs[0] should be a ref, found 7')
    expect(refused({ type: 'llm2', refs: [{ blockKeys: ['a', 7], role: 'user' }] })).toBe(
      'refs[0].blockKeys[1] should be a key, found 7',
    )
    expect(refused({ type: 'llm2', refs: [{ blockKeys: 'a', blockIds: ['b'], role: 'user' }] })).toBe(
      'refs[0].blockKeys should be an array of keys, found "a"',
    )
    expect(refused({ type: 'llm2', refs: [{ blockKeys: ['a'], blockIds: ['b'], role: 'user' }] })).toContain(
      'refs[0].blockIds should be the same as blockKeys',
    )
    expect(refused({ type: 'llm2', flowId: 7, refs: [] })).toBe('flowId should be a string, found 7')
    expect(refused({ type: 'llm2' })).toBe('refs should be an array of refs, found nothing')
    expect(refused({ type: 'llm2', messages: [{ role: 'user', content: 'hi' }] })).toContain(
      'refs should be an array of refs',
    )
    expect(refused({ type: 'llm2', refs: [{ role: 'user' }] })).toBe(
      'refs[0].blockKeys should be an array of keys, found nothing',
    )
    expect(
      refused([
        { flowId: 'f', blockIds: ['a'], role: 'user' },
        { flowId: 'f', blockIds: ['a'], role: 'robot' },
      ]),
    ).toContain('[1].role should be one of system')
  })
})

describe('a legacy list of chat messages', () => {
  it("is read in OpenAI's spelling", () => {
    const wire = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is in a.ts?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a.ts"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'export {}' },
      { role: 'assistant', content: 'Nothing.' },
    ]
    const { history } = read('messages', wire)
    const settled = settle(history.view())
    if (isLeft(settled)) throw new Error('not settled')
    const written = codecs['openai-chat'].encode(settled.right)
    expect(!isLeft(written) && written.right.wire).toEqual(wire)
  })
  it('is read in camelCase with every field written out', async () => {
    const empty = { toolCalls: null, name: '', toolCallId: '', isError: false, cacheControl: '' }
    const { history, losses } = read('messages', [
      { ...empty, role: 'system', content: 'Be brief.', cacheControl: 'ephemeral', contextType: 'InitialInstructions' },
      { ...empty, role: 'user', content: 'no, the other one', contextType: 'UserFeedback' },
      {
        ...empty,
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'c1', name: 'read', arguments: '{}', signature: 'c2ln' }],
      },
      { ...empty, role: 'tool', content: 'no such file', name: 'read', toolCallId: 'c1', isError: true },
      { ...empty, role: 'assistant', content: 'It is not there.' },
    ])
    expect(losses).toEqual([])
    expect(history.view().toArray()).toMatchObject([
      {
        role: 'system',
        content: [{ type: 'text', text: 'Be brief.' }],
        meta: { llm2: { cacheControl: 'ephemeral', contextType: 'InitialInstructions' } },
      },
      {
        role: 'user',
        content: [{ type: 'text', text: 'no, the other one' }],
        meta: { indelible: { mark: 'feedback' } },
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool_call', id: 'c1', name: 'read', arguments: '{}', meta: { llm2: { signature: 'c2ln' } } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool_result', callId: 'c1', name: 'read', isError: true, content: [{ text: 'no such file' }] },
        ],
      },
      { role: 'assistant', content: [{ text: 'It is not there.' }] },
    ])
    expect(isLeft(settle(history.view()))).toBe(false)
    expect(manageHistory(history.view(), { maxChars: 1000 }).retained).toContain(1)
    const store = memoryStore()
    const stored = await ok(persist(store, history))
    expect((await ok(hydrate(store, stored.refHistory()))).view().toArray()).toEqual(history.view().toArray())
    expect(isLeft(deriveContext(stored.view(), { budget: 10_000 }))).toBe(false)
  })
  it('is read in mixed spellings without loss', () => {
    const [only] = [(message: object) => read('messages', [message]).history.view().at(0)]
    expect(only({ role: 'tool', tool_call_id: 'c', isError: true, content: 'x' })).toEqual({
      role: 'tool',
      content: [{ type: 'tool_result', callId: 'c', isError: true, content: [{ type: 'text', text: 'x' }] }],
    })
    expect(only({ role: 'tool', tool_call_id: 'c', toolCallId: '', content: 'x' })?.content).toMatchObject([
      { callId: 'c' },
    ])
    const call = { id: 'c', type: 'function', function: { name: 'n', arguments: '{}' } }
    expect(only({ role: 'assistant', contextType: '', content: 'x', tool_calls: [call] })?.content).toEqual([
      { type: 'text', text: 'x' },
      { type: 'tool_call', id: 'c', name: 'n', arguments: '{}' },
    ])
    expect(only({ role: 'assistant', content: '', toolCalls: [call] })?.content).toEqual([
      { type: 'tool_call', id: 'c', name: 'n', arguments: '{}' },
    ])
    expect(only({ role: 'assistant', content: null, toolCalls: [], tool_calls: [call] })?.content).toMatchObject([
      { id: 'c' },
    ])
    expect(only({ role: 'user', content: 'x', contextType: '', createdAt: 5 })).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'x' }],
      meta: { 'openai-chat': { fields: { createdAt: 5 } } },
    })
    expect(
      only({
        role: 'assistant',
        content: 'x',
        toolCalls: [{ id: 'c', name: 'n', arguments: '{}', signature: 's', index: 7 }],
        function_call: { name: 'f', arguments: '' },
      })?.content,
    ).toMatchObject([
      { type: 'text' },
      { type: 'tool_call', id: 'c', meta: { llm2: { signature: 's' }, 'openai-chat': { fields: { index: 7 } } } },
      { type: 'tool_call', name: 'f' },
    ])
  })
  it('keeps calls in a tool message as they are, and marks its results as errors', () => {
    const calls = [{ id: 'd', name: 'n', arguments: '{}', signature: 's' }]
    const saved = { role: 'tool', content: 'no', toolCallId: 'c', isError: true, toolCalls: calls }
    const found = read('messages', [saved]).history.view().at(0)
    expect(found).toMatchObject({ content: [{ type: 'tool_result', callId: 'c', isError: true }] })
    expect(JSON.stringify(found)).toContain(JSON.stringify(calls))
  })
  it('lists losses', () => {
    expect(read('messages', [{ role: 'user', content: 'half \ud83d' }]).losses).toMatchObject([
      { position: 0, path: ['content'] },
    ])
    expect(read('messages', '[{"role":"user","content":"LOST","content":"hi"}]').losses).toMatchObject([
      { position: 0, path: ['content'], reason: 'occurs twice: the last one is used' },
    ])
    expect(read('messages', '[{"role":"user","content":"half \\ud83d"}]').losses).toMatchObject([
      { position: 0, path: ['content'] },
    ])
  })
  it('is refused if invalid, and the fault has the path', () => {
    expect(
      refused([
        { role: 'user', content: 'a' },
        { role: 'robot', content: 'b' },
      ]),
    ).toBe('[1].role should be one of system, developer, user, assistant, tool, function, found "robot"')
    expect(refused([{ role: 'tool', content: 'x' }])).toContain('[0].tool_call_id should be a string')
    expect(refused([{ role: 'assistant', content: 'x', toolCalls: [{ id: 7 }] }])).toContain(
      '[0].tool_calls[0].id should be a string',
    )
    expect(refused(['text'])).toContain('[0] should be an object')
    expect(refused([{ role: 'tool', content: 'x', isError: false }])).toContain('[0].tool_call_id should be a string')
    expect(
      refused([{ role: 'assistant', content: 'x', toolCalls: { id: 'c', name: 'n', arguments: '{}' } }]),
    ).toContain('[0].toolCalls should be an array of calls')
    expect(
      refused([{ role: 'assistant', content: 'x', toolCalls: [{ id: 'a', name: 'n' }], tool_calls: [{ id: 'b' }] }]),
    ).toContain('[0].toolCalls should be absent or empty if tool_calls is present')
    expect(refused([{ role: 'tool', content: 'x', toolCallId: 'a', tool_call_id: 'b' }])).toContain(
      '[0].toolCallId should be the same as tool_call_id',
    )
    expect(refused([{ role: 'tool', content: 'x', toolCallId: 7 }])).toContain('[0].toolCallId should be a string')
    expect(refused([{ id: 'x', role: 'user', parts: [{ type: 'text', text: 'hi' }] }])).toBe(
      '[0] should be a message, with content or calls, found an object with "id", "role", "parts"',
    )
  })
})

describe('a mixed list of refs and messages', () => {
  it('is refused, never read as empty', () => {
    const message = { role: 'assistant', content: 'SECRET' }
    for (const ref of [
      { flowId: 'f', blockIds: ['f:msg:1'], role: 'user' },
      { blockIds: [id('a')], role: 'user' },
      { blockKeys: null, role: 'user' },
    ]) {
      expect(refused([ref, message])).toBe(
        '[1] should be a ref, which has no content of its own, found an object with "role", "content"',
      )
      expect(refused([message, ref])).toMatch(
        /^\[1\] should be a message, because the first item of the list is one, found an object with/,
      )
      expect(refused({ type: 'llm2', refs: [ref, message] })).toContain('refs[1] should be a ref')
    }
    expect(refused([{ ...message, blockKeys: ['a'] }])).toContain('[0] should be a ref, which has no content')
    expect(refused([{ flowId: 'f', role: 'user' }])).toContain('[0] should be a message, with content or calls')
  })
})

describe('any other saved value', () => {
  it('is reported with what it is', () => {
    expect(refused({ type: 'llm3', refs: [] })).toContain('found an object of the type "llm3"')
    expect(refused({ messages: [] })).toContain('found an object with "messages"')
    expect(refused(7)).toContain('found 7')
    expect(refused(undefined)).toContain('plain JSON data')
    expect(refused('hello')).toContain('should be JSON')
    expect(refused({ type: 'indelible.refs', version: 1, scope: 'a', refs: [], more: () => 1 })).toContain(
      'plain JSON data',
    )
  })
})
