/** Refs with workflows, messages appended without reading the content, options of an older function. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, image, memoryStore, orThrow, user } from 'indelible'
import { translateChatOptions } from '@indelible/workflows/activities'
import {
  adoptHistory,
  appendMessages,
  createPendingHistory,
  createRefHistory,
  growRefTree,
  hydrate,
  parseHistoryJson,
  persist,
  refsOf,
  type RefHistory,
} from '@indelible/workflows/refs'
import { id } from './saved.ts'

const refsIn = (saved: unknown): RefHistory => {
  const parsed = orThrow(parseHistoryJson(saved))
  if (parsed.kind !== 'refs') throw new Error(`it has the kind ${parsed.kind}`)
  return parsed.history
}

describe('the workflow of a ref', () => {
  it('is that of its pending history, and stays through storing, JSON, reading, extending and trees', async () => {
    const store = memoryStore()
    const stored = await persist(store, createPendingHistory({ from: [user('a'), assistant('b')], flowId: 'flow_1' }))
    const saved = JSON.parse(JSON.stringify(stored)) as { readonly version: number }
    expect(saved.version).toBe(3)
    const history = await hydrate(store, refsIn(saved))
    const pending = history.extend({ flowId: 'flow_2' })
    pending.append(user('c'))
    const longer = await persist(store, pending)
    const unnamed = (await persist(store, longer.extend())).extend()
    unnamed.append(user('d'))
    const all = (await persist(store, unnamed)).refHistory()
    const flows = ['flow_1', 'flow_1', 'flow_2', undefined]
    expect(all.refs().map(({ flowId }) => flowId)).toEqual(flows)
    const tree = await growRefTree(store, undefined, all.refs())
    if (tree !== undefined) all.keep(tree)
    expect((await refsOf(store, refsIn(all.toReference()))).map(({ flowId }) => flowId)).toEqual(flows)
    const other = memoryStore()
    const copied = await persist(other, (await hydrate(store, all)).extend())
    expect(
      copied
        .refHistory()
        .refs()
        .map(({ flowId }) => flowId),
    ).toEqual(flows)
  })

  it('is read from a history of another system, of the ref or of the whole history', async () => {
    const refs = [
      { flowId: 'flow_1', blockIds: [id('a')], role: 'user' },
      { blockIds: [id('b')], role: 'assistant' },
    ]
    const read = refsIn({ type: 'llm2', flowId: 'flow_0', refs })
    expect(read.refs().map(({ flowId }) => flowId)).toEqual(['flow_1', 'flow_0'])
    const keyed = orThrow(
      parseHistoryJson({
        type: 'llm2',
        flowId: 'flow_0',
        refs: [
          { ...refs[0], blockIds: ['x'] },
          { ...refs[1], blockIds: ['y'] },
        ],
      }),
    )
    if (keyed.kind !== 'keyed') throw new Error('it should have keys')
    const bytes = new TextEncoder().encode('{"type": "text", "text": "hello"}')
    const adopted = await adoptHistory({ mget: async (keys) => keys.map(() => bytes) }, keyed.history)
    adopted.append(user('and?'))
    const stored = await persist(memoryStore(), adopted)
    expect(
      stored
        .refHistory()
        .refs()
        .map(({ flowId }) => flowId),
    ).toEqual(['flow_1', 'flow_0', undefined])
  })

  it('is a text; anything else is refused with its place', () => {
    expect(() => createRefHistory({ from: [{ blockIds: [id('a')], role: 'user', flowId: '' }] })).toThrow('flowId')
    expect(() => createPendingHistory({ flowId: '' })).toThrow('`flowId`')
    const bad = parseHistoryJson({
      type: 'indelible.refs',
      version: 3,
      scope: 'default',
      refs: [{ blockIds: [id('a')], role: 'user', flowId: 5 }],
    })
    expect(isLeft(bad) && bad.left).toMatchObject({ path: ['refs', 0, 'flowId'] })
    expect(
      JSON.parse(JSON.stringify(createRefHistory({ from: [{ blockIds: [id('a')], role: 'user' }] }))),
    ).toMatchObject({ version: 1 })
  })
})

describe('messages appended to a parsed history', () => {
  it('are stored, and their refs follow those that were not read', async () => {
    const store = memoryStore()
    const saved = JSON.stringify(await persist(store, createPendingHistory({ from: [user('a')] })))
    const history = refsIn(saved)
    const picture = image({ type: 'base64', data: btoa('x'.repeat(2000)), mediaType: 'image/png' })
    expect(await appendMessages(store, history, [user('b', picture), assistant('c')], { flowId: 'f' })).toEqual([1, 2])
    expect(history.refs().map(({ flowId }) => flowId)).toEqual([undefined, 'f', 'f'])
    const all = await hydrate(store, refsIn(JSON.stringify(history)))
    expect(all.view().toArray()).toEqual([user('a'), user('b', picture), assistant('c')])
    expect(await appendMessages(store, history, [])).toEqual([])
  })

  it('leave the history unchanged after a fault', async () => {
    const history = createRefHistory({ scope: 'elsewhere' })
    const outcome = await appendMessages(memoryStore(), history, [user('a')])()
    expect([isLeft(outcome) && outcome.left._tag, history.len]).toEqual(['OtherScope', 0])
    expect(() => appendMessages(memoryStore(), history, [{ role: 'user' } as never])).toThrow('content should be')
    expect(() => appendMessages(memoryStore(), {} as never, [])).toThrow('expected a history of refs')
    expect(() => appendMessages(memoryStore(), history, 'a' as never)).toThrow('array of messages')
  })
})

describe('options of the older stream function', () => {
  const old = {
    params: {
      messages: [{ role: 'user', content: 'hi', contextType: 'UserFeedback' }],
      tools: [{ name: 'read', description: 'Reads.', parameters: { type: 'object' } }],
      toolChoice: { type: 'required', name: '' },
      parallelToolCalls: false,
      temperature: 0.1,
      provider: 'anthropic',
      model: 'claude-opus-5',
    },
    secrets: { key: 'sk-secret' },
    workspaceId: 'ws_1',
    flowId: 'flow_1',
    flowActionId: 'fa_1',
  }

  it('become the input of a step, in the words of the provider, and a history', () => {
    const { options, history, flowId, losses } = orThrow(translateChatOptions(old))
    expect(options).toEqual({
      action: 'fa_1',
      model: { name: 'claude-opus-5', type: 'anthropic' },
      tools: [{ name: 'read', description: 'Reads.', parameters: { type: 'object' } }],
      parameters: { temperature: 0.1, tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    })
    expect([history.kind, history.history.len, flowId]).toEqual(['messages', 1, 'flow_1'])
    expect(losses.map(({ path }) => path.join('.'))).toEqual(['secrets', 'workspaceId'])
    expect(JSON.stringify([options, losses])).not.toContain('sk-secret')
    const tool = { ...old.params, toolChoice: { Type: 'tool', Name: 'read' } }
    const parameters = (provider: string): unknown =>
      orThrow(translateChatOptions({ ...old, params: { ...tool, provider } })).options.parameters
    expect(parameters('openai')).toEqual({
      temperature: 0.1,
      tool_choice: { type: 'function', function: { name: 'read' } },
      parallel_tool_calls: false,
    })
    expect(parameters('google')).toEqual({
      temperature: 0.1,
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['read'] } },
    })
  })

  it('in the field names of Go, with unset fields', () => {
    const { params, ...rest } = old
    const go = {
      Params: {
        ...params,
        toolChoice: { type: '' },
        temperature: null,
        parallelToolCalls: null,
        provider: '',
        tools: null,
      },
      Secrets: rest.secrets,
      FlowActionId: 'fa_1',
    }
    expect(orThrow(translateChatOptions(go)).options).toEqual({ action: 'fa_1', model: { name: 'claude-opus-5' } })
  })

  it('are refused with the path of what is wrong', () => {
    const pathOf = (saved: unknown): unknown => {
      const read = translateChatOptions(saved)
      return isLeft(read) && read.left._tag === 'UnreadableHistory' ? read.left.path : read
    }
    expect(pathOf({ ...old, flowActionId: '' })).toEqual(['flowActionId'])
    expect(pathOf({ ...old, params: { ...old.params, tools: [{}] } })).toEqual(['params', 'tools', 0, 'name'])
    expect(pathOf({ ...old, params: { ...old.params, toolChoice: { type: 'maybe' } } })).toEqual([
      'params',
      'toolChoice',
      'type',
    ])
    expect(pathOf({ ...old, params: { ...old.params, messages: [{ role: 'user' }] } })).toEqual([
      'params',
      'messages',
      0,
    ])
    expect(pathOf({ flowActionId: 'x' })).toEqual(['params'])
    expect(pathOf(5)).toEqual([])
    expect(pathOf({ ...old, extra: () => 1 })).toEqual([])
  })
})
