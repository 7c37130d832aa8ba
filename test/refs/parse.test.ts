import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { adoptHistory, codecs, createRefHistory, faultMessage, hydrate, memoryStore, parseHistoryJson, persist, settle, type AdoptOptions, type BlockId, type ParsedHistory } from 'indelible'
import { deriveContext, manageHistory } from 'indelible/context'
import { fault, ok } from '../answers.ts'
import { keyValueMap } from '../store/key-value-map.ts'

const id = (digit: string): BlockId => digit.repeat(64) as BlockId

const read = <Kind extends ParsedHistory['kind']>(kind: Kind, saved: unknown): Extract<ParsedHistory, { kind: Kind }> => {
  const parsed = parseHistoryJson(saved)
  if (isLeft(parsed)) throw new Error(faultMessage(parsed.left))
  expect(parsed.right.kind).toBe(kind)
  return parsed.right as Extract<ParsedHistory, { kind: Kind }>
}

const refused = (saved: unknown): string => {
  const parsed = parseHistoryJson(saved)
  if (!isLeft(parsed)) throw new Error('it was read')
  return faultMessage(parsed.left)
}

const encoded = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

describe('what we have saved', () => {
  it('is read back as it was, from JSON and from its text', () => {
    const refs = createRefHistory({ scope: 'a/b', session: 's', from: [{ blockIds: [id('a'), id('b')], role: 'tool' }, { blockIds: [id('c')], role: 'developer' }] })
    const text = JSON.stringify(refs)
    for (const saved of [JSON.parse(text), text, refs.toJSON()]) {
      const { format, history } = read('refs', saved)
      expect(format).toBe('indelible.refs')
      expect(JSON.stringify(history)).toBe(text)
      expect(history.append({ blockIds: [id('d')], role: 'user' })).toBe(2)
    }
    expect(refs.len).toBe(2)
  })
  it('by a newer version is named as that', () => {
    expect(parseHistoryJson({ type: 'indelible.refs', version: 2, anything: true })).toEqual({ _tag: 'Left', left: { _tag: 'NewerRefs', found: 2, supported: 1 } })
    expect(refused({ type: 'indelible.refs', version: 2 })).toContain('update the library')
  })
  it('and was damaged since is not read, and the fault says where', () => {
    const good = { type: 'indelible.refs', version: 1, scope: 'default', refs: [{ blockIds: [id('a')], role: 'user' }] }
    expect(refused({ ...good, version: '1' })).toBe('version should be 1, found "1"')
    expect(refused({ ...good, scope: '' })).toBe('scope should be the name of a scope, found ""')
    expect(refused({ ...good, session: '' })).toBe('session should be the id of a session, found ""')
    expect(refused({ ...good, refs: {} })).toBe('refs should be an array of refs, found an empty object')
    expect(refused({ ...good, refs: [...good.refs, null] })).toBe('refs[1] should be a ref: { blockIds, role }, found null')
    expect(refused({ ...good, refs: [{ blockIds: [id('a'), 'x'], role: 'user' }] })).toBe('refs[0].blockIds[1] should be the id of a block: 64 lowercase hexadecimal digits, found "x"')
    expect(refused({ ...good, refs: [{ blockIds: [], role: 'user' }] })).toContain('refs[0].blockIds should be one or more ids')
    expect(refused({ ...good, refs: [{ blockIds: [id('a')], role: 'bot' }] })).toBe('refs[0].role should be a role, found "bot"')
    expect(refused(JSON.stringify(good).slice(0, -1))).toMatch(/should be JSON: at line 1, column \d+/)
  })
})

describe('an empty legacy history', () => {
  it('is nothing, or an empty list', () => {
    for (const saved of [[], null, '[]', 'null']) {
      const { format, history, losses } = read('messages', saved)
      expect([format, history.len, losses]).toEqual(['chat', 0, []])
    }
  })
})

describe('refs by llm2', () => {
  it('whose keys are ids of blocks are refs', () => {
    for (const name of ['blockKeys', 'blockIds']) {
      const { format, history } = read('refs', { type: 'llm2', refs: [{ [name]: [id('a')], role: 'user' }, { [name]: [id('b'), id('c')], role: 'assistant' }] })
      expect(format).toBe('llm2')
      expect(history.refs()).toEqual([{ blockIds: [id('a')], role: 'user' }, { blockIds: [id('b'), id('c')], role: 'assistant' }])
    }
    expect(read('refs', { type: 'llm2', refs: [] }).history.len).toBe(0)
    expect(read('refs', { type: 'llm2', refs: null }).history.len).toBe(0)
  })
  it('are hydrated like ours, if they are of blocks of ours', async () => {
    const store = memoryStore()
    const stored = await ok(persist(store, read('messages', [{ role: 'user', content: 'hello' }]).history))
    const { history } = read('refs', { type: 'llm2', refs: stored.refHistory().refs().map(({ blockIds, role }) => ({ blockKeys: blockIds, role })) })
    expect((await ok(hydrate(store, history))).view().toArray()).toEqual(stored.view().toArray())
  })
  it('by keys of its own are read under either name, with a flow or without', () => {
    const { history } = read('keyed', { type: 'llm2', flowId: 'flow_1', workspaceId: 'ws_1', refs: [{ blockKeys: ['block_1', 'block_2'], role: 'user' }, { blockIds: ['block_3'], blockKeys: null, role: 'assistant' }, { blockKeys: null, role: 'assistant' }] })
    expect(history).toMatchObject({ len: 3, flowId: 'flow_1', workspaceId: 'ws_1', scope: 'default' })
    expect(history.refs().map(({ keys }) => keys)).toEqual([['block_1', 'block_2'], ['block_3'], []])
    const bare = read('keyed', [{ flowId: 'f', blockIds: ['f:msg:0:block:x'], role: 'user' }, { flowId: 'f', blockIds: [], role: 'assistant' }])
    expect([bare.format, bare.history.len]).toEqual(['llm2', 2])
    expect(read('refs', [{ flowId: 'f', blockIds: [id('a')], role: 'user' }]).history.len).toBe(1)
  })
  it('that are damaged are not read', () => {
    expect(refused({ type: 'llm2', refs: 'x' })).toBe('refs should be an array of refs, found "x"')
    expect(refused({ type: 'llm2', refs: [7] })).toBe('refs[0] should be a ref, found 7')
    expect(refused({ type: 'llm2', refs: [{ blockKeys: ['a', 7], role: 'user' }] })).toBe('refs[0].blockKeys should be an array of keys, found an array')
    expect(refused([{ flowId: 'f', blockIds: ['a'], role: 'user' }, { flowId: 'f', blockIds: ['a'], role: 'robot' }])).toContain('[1].role should be one of system')
  })

  const blocks = {
    block_1: { id: 'x', type: 'text', text: 'fix the build', metadata: { persistence: { blockKey: 'block_1' }, sidekick: { contextType: 'UserFeedback' } } },
    block_2: { id: '', type: 'reasoning', reasoning: { text: '', summary: 'looking', encryptedContent: 'enc', signature: 'c2ln' } },
    block_3: { id: '', type: 'tool_use', toolUse: { id: 'c1', name: 'run', arguments: '{"cmd":"make"}', signature: null }, cacheControl: 'ephemeral' },
    block_4: { id: '', type: 'tool_result', toolResult: { toolCallId: 'c1', name: 'run', isError: true, content: [{ type: 'text', text: 'no rule' }, { type: 'image', image: { url: 'data:image/png;base64,aGk=' } }] } },
    block_5: { id: '', type: 'tool_result', toolResult: { toolCallId: 'c2', text: 'as it was once' } },
    block_6: { id: '', type: 'mcp_call', mcpCall: { server: 's', tool: 't' } },
    block_7: { id: '', type: 'refusal', refusal: { reason: 'no' } },
    block_8: { id: '', type: 'file', file: { url: 'https://example.com/a.pdf', mimeType: 'application/pdf' } },
  }
  const saved = {
    type: 'llm2',
    flowId: 'flow_1',
    refs: [
      { blockKeys: ['block_1', 'block_8'], role: 'user' },
      { blockKeys: ['block_2', 'block_3'], role: 'assistant' },
      { blockKeys: ['block_4', 'block_5'], role: 'user' },
      { blockKeys: ['block_6', 'block_7'], role: 'assistant' },
    ],
  }

  it('are adopted: their content is read from where it is, and becomes refs here', async () => {
    const theirs = keyValueMap(new Map(Object.entries(blocks).map(([key, block]) => [`flow_1:msg:${key}`, encoded(block)])))
    const pending = await ok(adoptHistory(theirs, read('keyed', saved).history, { scope: 'team-a', session: 's' }))
    expect(pending.view().toArray()).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'fix the build', meta: { llm2: { contextType: 'UserFeedback' } } }, { type: 'file', source: { type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' } }], meta: { indelible: { mark: 'feedback' } } },
      { role: 'assistant', content: [{ type: 'reasoning', text: '', summary: ['looking'], signature: 'c2ln', encrypted: 'enc' }, { type: 'tool_call', id: 'c1', name: 'run', arguments: '{"cmd":"make"}', meta: { llm2: { cacheControl: 'ephemeral' } } }] },
      {
        role: 'tool',
        content: [
          { type: 'tool_result', callId: 'c1', name: 'run', isError: true, content: [{ type: 'text', text: 'no rule' }, { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGk=' } }] },
          { type: 'tool_result', callId: 'c2', content: [{ type: 'text', text: 'as it was once' }] },
        ],
      },
      { role: 'assistant', content: [{ type: 'provider', provider: 'llm2', raw: blocks.block_6 }, { type: 'refusal', text: 'no' }] },
    ])
    const store = memoryStore({ scope: 'team-a' })
    const stored = await ok(persist(store, pending))
    expect(JSON.parse(JSON.stringify(stored))).toMatchObject({ type: 'indelible.refs', scope: 'team-a', session: 's' })
    expect((await ok(hydrate(store, read('refs', JSON.stringify(stored)).history))).view().toArray()).toEqual(pending.view().toArray())
  })
  it('are not adopted where content is missing or is none', async () => {
    const map = new Map(Object.entries(blocks).map(([key, block]) => [key, encoded(block)]))
    const keyed = read('keyed', saved).history
    const keyOf = (key: string): string => key
    map.delete('block_3')
    expect(faultMessage(await fault('MissingKeys', adoptHistory(keyValueMap(map), keyed, { keyOf })))).toContain('1 of the keys, the first "block_3"')
    map.set('block_3', encoded({ type: 'tool_use', toolUse: { id: 7 } }))
    expect(faultMessage(await fault('MalformedContent', adoptHistory(keyValueMap(map), keyed, { keyOf })))).toBe('"block_3", toolUse.id should be a string, found 7')
    for (const bytes of [Uint8Array.of(0xff), new TextEncoder().encode('{'), encoded(null)]) {
      map.set('block_3', bytes)
      await fault('MalformedContent', adoptHistory(keyValueMap(map), keyed, { keyOf }))
    }
    await fault('Io', adoptHistory({ mget: () => Promise.reject(new Error('x')) }, keyed))
    for (const values of [[], ['text', 'text'], Array.from({ length: 99 }, () => encoded(blocks.block_1))]) await fault('Io', adoptHistory({ mget: async () => values as never }, keyed))
  })
  it('are asked for in chunks, each key once', async () => {
    const refs = [...Array.from({ length: 1100 }, (_, index) => ({ blockKeys: [`k${index}`], role: 'user' })), { blockKeys: ['k7', 'k1099'], role: 'user' }]
    const { history } = read('keyed', { type: 'llm2', refs })
    const calls: number[] = []
    const theirs = { mget: async (keys: readonly string[]) => (calls.push(keys.length), keys.map((key) => encoded({ type: 'text', text: key }))) }
    const adopted = await ok(adoptHistory(theirs, history))
    expect(calls.splice(0)).toEqual([500, 500, 100])
    expect(adopted.view().toArray().flatMap(({ content }) => content.map((part) => part.type === 'text' && part.text))).toEqual([...refs.flatMap(({ blockKeys }) => blockKeys)])
    await ok(adoptHistory(theirs, history, { keysPerCall: 1000 }))
    expect(calls.splice(0)).toEqual([1000, 100])
    await ok(adoptHistory(theirs, read('keyed', { type: 'llm2', refs: [{ blockKeys: null, role: 'user' }] }).history))
    expect(calls).toEqual([])
  })
  it('stand under their flow, unless the key is whole, or where `keyOf` says', async () => {
    const asked = async (saved: unknown, options?: AdoptOptions): Promise<readonly string[]> => {
      const keys: string[] = []
      await ok(adoptHistory({ mget: async (given) => (keys.push(...given), given.map(() => encoded(blocks.block_1))) }, read('keyed', saved).history, options))
      return keys
    }
    const refs = [{ blockKeys: ['block_1', 'f:msg:0:block:x'], role: 'user' }]
    expect(await asked({ type: 'llm2', flowId: 'flow_1', refs })).toEqual(['flow_1:msg:block_1', 'f:msg:0:block:x'])
    expect(await asked({ type: 'llm2', refs })).toEqual(['block_1', 'f:msg:0:block:x'])
    expect(await asked({ type: 'llm2', flowId: 'flow_1', refs }, { keyOf: (key) => `x/${key}` })).toEqual(['x/block_1', 'x/f:msg:0:block:x'])
  })
  it('say what a message was there for in the words of any version', async () => {
    for (const [contextType, mark] of [['SelfReviewFeedback', 'self_review'], ['AutoReviewFeedback', 'self_review'], ['TestResult', 'test_result'], ['Summary', 'summary'], ['UserFeedback', 'feedback']] as const) {
      const theirs = keyValueMap(new Map([['k', encoded({ type: 'text', text: 'x', metadata: { sidekick: { contextType } } })]]))
      const adopted = await ok(adoptHistory(theirs, read('keyed', { type: 'llm2', refs: [{ blockKeys: ['k'], role: 'user' }] }).history))
      for (const history of [adopted, read('messages', [{ role: 'user', content: 'x', contextType }]).history]) expect(history.view().at(0)?.meta?.['indelible']).toEqual({ mark })
    }
  })
})

describe('a legacy list of chat messages', () => {
  it('is read as OpenAI has it', () => {
    const wire = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is in a.ts?' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a.ts"}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'export {}' },
      { role: 'assistant', content: 'Nothing.' },
    ]
    const { history } = read('messages', wire)
    const settled = settle(history.view())
    if (isLeft(settled)) throw new Error('not settled')
    const written = codecs['openai-chat'].encode(settled.right)
    expect(!isLeft(written) && written.right.wire).toEqual(wire)
  })
  it('is read in camel case, with every field written out', async () => {
    const empty = { toolCalls: null, name: '', toolCallId: '', isError: false, cacheControl: '' }
    const { history, losses } = read('messages', [
      { ...empty, role: 'system', content: 'Be brief.', cacheControl: 'ephemeral', contextType: 'InitialInstructions' },
      { ...empty, role: 'user', content: 'no, the other one', contextType: 'UserFeedback' },
      { ...empty, role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'read', arguments: '{}', signature: 'c2ln' }] },
      { ...empty, role: 'tool', content: 'no such file', name: 'read', toolCallId: 'c1', isError: true },
      { ...empty, role: 'assistant', content: 'It is not there.' },
    ])
    expect(losses).toEqual([])
    expect(history.view().toArray()).toMatchObject([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }], meta: { llm2: { cacheControl: 'ephemeral', contextType: 'InitialInstructions' } } },
      { role: 'user', content: [{ type: 'text', text: 'no, the other one' }], meta: { indelible: { mark: 'feedback' } } },
      { role: 'assistant', content: [{ type: 'tool_call', id: 'c1', name: 'read', arguments: '{}', meta: { llm2: { signature: 'c2ln' } } }] },
      { role: 'tool', content: [{ type: 'tool_result', callId: 'c1', name: 'read', isError: true, content: [{ text: 'no such file' }] }] },
      { role: 'assistant', content: [{ text: 'It is not there.' }] },
    ])
    expect(isLeft(settle(history.view()))).toBe(false)
    expect(manageHistory(history.view(), { maxChars: 1000 }).retained).toContain(1)
    const store = memoryStore()
    const stored = await ok(persist(store, history))
    expect((await ok(hydrate(store, stored.refHistory()))).view().toArray()).toEqual(history.view().toArray())
    expect(isLeft(deriveContext(stored.view(), { budget: 10_000 }))).toBe(false)
  })
  it('says what was lost', () => {
    expect(read('messages', [{ role: 'user', content: 'half \ud83d' }]).losses).toMatchObject([{ position: 0, path: ['content'] }])
  })
  it('is refused where it is none, and the fault says where', () => {
    expect(refused([{ role: 'user', content: 'a' }, { role: 'robot', content: 'b' }])).toBe('[1].role should be one of system, developer, user, assistant, tool, function, found "robot"')
    expect(refused([{ role: 'tool', content: 'x' }])).toContain('[0].tool_call_id should be a string')
    expect(refused([{ role: 'assistant', content: 'x', toolCalls: [{ id: 7 }] }])).toContain('[0].tool_calls[0].id should be a string')
    expect(refused(['text'])).toContain('[0] should be an object')
  })
})

describe('anything else', () => {
  it('is named', () => {
    expect(refused({ type: 'llm3', refs: [] })).toContain('found an object of the type "llm3"')
    expect(refused({ messages: [] })).toContain('found an object with messages')
    expect(refused(7)).toContain('found 7')
    expect(refused(undefined)).toContain('plain JSON data')
    expect(refused('hello')).toContain('should be JSON')
    expect(refused({ type: 'indelible.refs', version: 1, scope: 'a', refs: [], more: () => 1 })).toContain('plain JSON data')
  })
  it('never throws, whatever it is', () => {
    const field = fc.constantFrom('type', 'version', 'scope', 'session', 'refs', 'role', 'blockIds', 'blockKeys', 'flowId', 'content', 'toolCalls', 'tool_calls', 'toolCallId', 'x')
    const some = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, fc.constantFrom('indelible.refs', 'llm2', 'user', 'tool', 1, 2, null, true, id('a'), 'key', undefined), fc.anything(), fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(field, tie('value'), { maxKeys: 5 })),
    })).value
    fc.assert(fc.property(some, (value) => void parseHistoryJson(value)), { numRuns: 2000 })
  })
})
