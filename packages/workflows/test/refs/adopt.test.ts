import { describe, expect, it } from 'vitest'
import { adoptHistory, hydrate, persist, refsFaultMessage, type AdoptOptions } from '@indelible/workflows/refs'
import { memoryStore } from 'indelible'
import { fault, ok } from '../../../../test/task-results.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'
import { encoded, read } from './saved.ts'

describe('keyed refs', () => {
  const blocks = {
    block_1: {
      id: 'x',
      type: 'text',
      text: 'fix the build',
      metadata: { persistence: { blockKey: 'block_1' }, sidekick: { contextType: 'UserFeedback' } },
    },
    block_2: {
      id: '',
      type: 'reasoning',
      reasoning: { text: '', summary: 'looking', encryptedContent: 'enc', signature: 'c2ln' },
    },
    block_3: {
      id: '',
      type: 'tool_use',
      toolUse: { id: 'c1', name: 'run', arguments: '{"cmd":"make"}', signature: null },
      cacheControl: 'ephemeral',
    },
    block_4: {
      id: '',
      type: 'tool_result',
      toolResult: {
        toolCallId: 'c1',
        name: 'run',
        isError: true,
        content: [
          { type: 'text', text: 'no rule' },
          { type: 'image', image: { url: 'data:image/png;base64,aGk=' } },
        ],
      },
    },
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

  it('are adopted: their content is read at its source and becomes refs here', async () => {
    const theirs = keyValueMap(
      new Map(Object.entries(blocks).map(([key, block]) => [`flow_1:msg:${key}`, encoded(block)])),
    )
    const pending = await ok(adoptHistory(theirs, read('keyed', saved).history, { scope: 'team-a', session: 's' }))
    expect(pending.view().toArray()).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'fix the build', meta: { llm2: { contextType: 'UserFeedback' } } },
          { type: 'file', source: { type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' } },
        ],
        meta: { indelible: { mark: 'feedback' } },
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: '', summary: ['looking'], signature: 'c2ln', encrypted: 'enc' },
          {
            type: 'tool_call',
            id: 'c1',
            name: 'run',
            arguments: '{"cmd":"make"}',
            meta: { llm2: { cacheControl: 'ephemeral' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            callId: 'c1',
            name: 'run',
            isError: true,
            content: [
              { type: 'text', text: 'no rule' },
              { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGk=' } },
            ],
          },
          { type: 'tool_result', callId: 'c2', content: [{ type: 'text', text: 'as it was once' }] },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'provider', provider: 'llm2', raw: blocks.block_6 },
          { type: 'refusal', text: 'no' },
        ],
      },
    ])
    const store = memoryStore({ scope: 'team-a' })
    const stored = await ok(persist(store, pending))
    expect(JSON.parse(JSON.stringify(stored))).toMatchObject({ type: 'indelible.refs', scope: 'team-a', session: 's' })
    expect((await ok(hydrate(store, read('refs', JSON.stringify(stored)).history))).view().toArray()).toEqual(
      pending.view().toArray(),
    )
  })
  it('keep all block fields, unknown ones beside it', async () => {
    const extra = (...path: readonly string[]): string => `said at ${path.join('.')}`
    const held = {
      text: undefined,
      reasoning: 'reasoning',
      tool_use: 'toolUse',
      tool_result: 'toolResult',
      refusal: 'refusal',
      image: 'image',
      file: 'file',
    } as const
    const needed = {
      text: {},
      reasoning: { text: 't' },
      tool_use: { id: 'c', name: 'n', arguments: '{}' },
      tool_result: {
        toolCallId: 'c',
        text: 'in text',
        content: [{ type: 'text', text: 'in content', more: extra('inner') }],
      },
      refusal: { reason: 'no' },
      image: { url: 'https://x.y/z' },
      file: { url: 'https://x.y/z' },
    }
    for (const [type, place] of Object.entries(held) as [keyof typeof held, string | undefined][]) {
      const block = {
        type,
        citations: [extra('citations')],
        metadata: {
          trace: extra('trace'),
          persistence: { blockKey: 'k' },
          sidekick: { contextType: 'Summary', note: extra('sidekick') },
        },
        ...(place === undefined ? { text: 'words' } : { [place]: { ...needed[type], odd: extra('odd') } }),
      }
      const keyed = read('keyed', { type: 'llm2', refs: [{ blockKeys: ['k'], role: 'assistant' }] }).history
      const pending = await ok(adoptHistory(keyValueMap(new Map([['k', encoded(block)]])), keyed))
      const output = JSON.stringify(pending.view().toArray())
      for (const text of JSON.stringify(block).match(/said at [a-z]+|in text|in content|words|https:[^"]+/g) ?? [])
        expect([type, output]).toEqual([type, expect.stringContaining(text)])
      expect(output).not.toContain('blockKey')
    }
  })
  it('are not adopted if content is missing or invalid', async () => {
    const map = new Map(Object.entries(blocks).map(([key, block]) => [key, encoded(block)]))
    const keyed = read('keyed', saved).history
    const keyOf = (key: string): string => key
    map.delete('block_3')
    expect(refsFaultMessage(await fault('MissingKeys', adoptHistory(keyValueMap(map), keyed, { keyOf })))).toContain(
      '1 of the keys, the first "block_3"',
    )
    map.set('block_3', encoded({ type: 'tool_use', toolUse: { id: 7 } }))
    expect(refsFaultMessage(await fault('MalformedContent', adoptHistory(keyValueMap(map), keyed, { keyOf })))).toBe(
      '"block_3", toolUse.id should be a string, found 7',
    )
    for (const bytes of [Uint8Array.of(0xff), new TextEncoder().encode('{'), encoded(null)]) {
      map.set('block_3', bytes)
      await fault('MalformedContent', adoptHistory(keyValueMap(map), keyed, { keyOf }))
    }
    await fault('Io', adoptHistory({ mget: () => Promise.reject(new Error('x')) }, keyed))
    for (const options of [{ scope: '' }, { session: '\n' }])
      expect(() => adoptHistory(keyValueMap(map), keyed, options)).toThrow(TypeError)
    for (const values of [[], ['text', 'text'], Array.from({ length: 99 }, () => encoded(blocks.block_1))])
      await fault('Io', adoptHistory({ mget: async () => values as never }, keyed))
  })
  it('are requested in chunks, each key once', async () => {
    const refs = [
      ...Array.from({ length: 1100 }, (_, index) => ({ blockKeys: [`k${index}`], role: 'user' })),
      { blockKeys: ['k7', 'k1099'], role: 'user' },
    ]
    const { history } = read('keyed', { type: 'llm2', refs })
    const calls: number[] = []
    const theirs = {
      mget: async (keys: readonly string[]) => (
        calls.push(keys.length),
        keys.map((key) => encoded({ type: 'text', text: key }))
      ),
    }
    const adopted = await ok(adoptHistory(theirs, history))
    expect(calls.splice(0)).toEqual([500, 500, 100])
    expect(
      adopted
        .view()
        .toArray()
        .flatMap(({ content }) => content.map((part) => part.type === 'text' && part.text)),
    ).toEqual([...refs.flatMap(({ blockKeys }) => blockKeys)])
    await ok(adoptHistory(theirs, history, { keysPerCall: 1000 }))
    expect(calls.splice(0)).toEqual([1000, 100])
    await ok(adoptHistory(theirs, read('keyed', { type: 'llm2', refs: [{ blockKeys: null, role: 'user' }] }).history))
    expect(calls).toEqual([])
  })
  it('are stored under their flow unless the key is absolute or `keyOf` decides', async () => {
    const asked = async (saved: unknown, options?: AdoptOptions): Promise<readonly string[]> => {
      const keys: string[] = []
      await ok(
        adoptHistory(
          { mget: async (given) => (keys.push(...given), given.map(() => encoded(blocks.block_1))) },
          read('keyed', saved).history,
          options,
        ),
      )
      return keys
    }
    const refs = [{ blockKeys: ['block_1', 'f:msg:0:block:x'], role: 'user' }]
    expect(await asked({ type: 'llm2', flowId: 'flow_1', refs })).toEqual(['flow_1:msg:block_1', 'f:msg:0:block:x'])
    expect(await asked({ type: 'llm2', refs })).toEqual(['block_1', 'f:msg:0:block:x'])
    expect(await asked({ type: 'llm2', flowId: 'flow_1', refs }, { keyOf: (key) => `x/${key}` })).toEqual([
      'x/block_1',
      'x/f:msg:0:block:x',
    ])
  })
  it("have a message's purpose in any version's words", async () => {
    for (const [contextType, mark] of [
      ['SelfReviewFeedback', 'self_review'],
      ['AutoReviewFeedback', 'self_review'],
      ['TestResult', 'test_result'],
      ['Summary', 'summary'],
      ['UserFeedback', 'feedback'],
    ] as const) {
      const theirs = keyValueMap(
        new Map([['k', encoded({ type: 'text', text: 'x', metadata: { sidekick: { contextType } } })]]),
      )
      const adopted = await ok(
        adoptHistory(theirs, read('keyed', { type: 'llm2', refs: [{ blockKeys: ['k'], role: 'user' }] }).history),
      )
      for (const history of [adopted, read('messages', [{ role: 'user', content: 'x', contextType }]).history])
        expect(history.view().at(0)?.meta?.['indelible']).toEqual({ mark })
    }
  })
})
