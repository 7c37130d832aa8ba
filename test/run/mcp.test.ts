/** Tools of an MCP server through the official client, and what their results and bytes become. */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { assistant, createSession, file, image, memoryStore, text, toolCall } from 'indelible'
import { invoke, mcpTools, scriptedModel, tool, turn, type Tool } from 'indelible/run'
import type { ToolResultPart } from '../../src/message/message.ts'

const png = btoa('\u0089PNG\r\n\u001a\n')

const results: Readonly<Record<string, object>> = {
  say: { content: [{ type: 'text', text: 'hello' }] },
  draw: {
    content: [
      { type: 'text', text: 'A picture.' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/mpeg' },
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'content', mimeType: 'text/plain' } },
      { type: 'resource', resource: { uri: 'file:///a.pdf', blob: 'AAAA', mimeType: 'application/pdf' } },
      { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
    ],
  },
  fail: { content: [{ type: 'text', text: 'no such row' }], isError: true },
  rows: { content: [], structuredContent: { rows: [1, 2] } },
}

/** A server with these results, behind the official client. Its list has two pages. */
const connected = async (): Promise<{
  readonly client: Client
  readonly calls: unknown[]
  readonly cancelled: unknown[]
}> => {
  const [near, far] = InMemoryTransport.createLinkedPair()
  const calls: unknown[] = []
  const cancelled: unknown[] = []
  const names = [...Object.keys(results), 'hang']
  const answer = (
    method: string,
    params: { readonly name?: string; readonly cursor?: string; readonly protocolVersion?: string },
  ) => {
    if (method === 'initialize')
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      }
    if (method === 'tools/list') {
      const page = params.cursor === 'more' ? names.slice(2) : names.slice(0, 2)
      const tools = page.map((name) => ({
        name,
        description: `Does ${name}.`,
        inputSchema: { type: 'object', properties: {} },
        annotations: name === 'say' ? { readOnlyHint: true } : {},
      }))
      return { tools, ...(params.cursor === undefined && { nextCursor: 'more' }) }
    }
    calls.push(params)
    return results[params.name ?? '']
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport has no other way
  far.onmessage = (message) => {
    const { id, method, params = {} } = message as { id?: number; method: string; params?: object }
    if (method === 'notifications/cancelled') cancelled.push(params)
    if (id === undefined) return
    const result = answer(method, params)
    if (result !== undefined) void far.send({ jsonrpc: '2.0', id, result } as never)
    else if (method !== 'tools/call')
      void far.send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } } as never)
  }
  await far.start()
  const client = new Client({ name: 'c', version: '1' })
  await client.connect(near)
  return { client, calls, cancelled }
}

const resultOf = (tools: readonly Tool[], name: string): Promise<ToolResultPart> =>
  invoke(toolCall('c1', name, { q: 1 }), new Map(tools.map((tool) => [tool.name, tool])), new AbortController().signal)

describe('mcpTools', () => {
  it('makes a tool of each that the server lists, with all pages', async () => {
    const { client } = await connected()
    const tools = await mcpTools(client, { prefix: 'db_', needsApproval: (name) => name === 'fail' })
    expect(tools.map(({ name, needsApproval, idempotent }) => [name, needsApproval, idempotent])).toEqual([
      ['db_say', false, true],
      ['db_draw', false, false],
      ['db_fail', true, false],
      ['db_rows', false, false],
      ['db_hang', false, false],
    ])
    expect(tools[0]).toMatchObject({ description: 'Does say.', parameters: { type: 'object' } })
    await expect(mcpTools({} as never)).rejects.toThrow('mcpTools takes a connected client')
  })

  it('turns results into parts; an error stays an error', async () => {
    const { client, calls } = await connected()
    const tools = await mcpTools(client)
    expect((await resultOf(tools, 'say')).content).toEqual([text('hello')])
    expect(calls).toEqual([{ name: 'say', arguments: { q: 1 } }])
    expect((await resultOf(tools, 'draw')).content).toEqual([
      text('A picture.'),
      image({ type: 'base64', data: png, mediaType: 'image/png' }),
      file({ type: 'base64', data: 'AAAA', mediaType: 'audio/mpeg' }),
      text('[resource file:///a.txt]\ncontent'),
      file({ type: 'base64', data: 'AAAA', mediaType: 'application/pdf' }, { name: 'file:///a.pdf' }),
      text('[resource b: file:///b.txt]'),
    ])
    expect(await resultOf(tools, 'fail')).toMatchObject({ isError: true, content: [text('no such row')] })
    expect(await resultOf(tools, 'rows')).toMatchObject({
      content: [text('{"rows":[1,2]}')],
      meta: { mcp: { structuredContent: { rows: [1, 2] } } },
    })
  })

  it('in a turn: results are recorded, and a cancelled run cancels the call', async () => {
    const { client, calls, cancelled } = await connected()
    const tools = await mcpTools(client)
    const session = await createSession(memoryStore(), { id: 's' })
    const model = scriptedModel([
      assistant(toolCall('c1', 'draw', {})),
      assistant('fine'),
      assistant(toolCall('c2', 'hang', {})),
    ])
    await turn(session, 'draw', { model, tools }).result()
    expect(session.view().at(2)?.content[0]).toMatchObject({
      type: 'tool_result',
      content: expect.arrayContaining([expect.objectContaining({ type: 'image' })]) as unknown,
    })
    const hanging = turn(session, 'hang', { model, tools })
    while (calls.length < 2) await new Promise(setImmediate) // the server has the call
    hanging.cancel()
    await hanging.result()
    while (cancelled.length === 0) await new Promise(setImmediate)
    expect(cancelled.length).toBe(1)
  })
})

describe('the output of any tool', () => {
  const outputOf = (output: unknown): Promise<ToolResultPart> =>
    resultOf([tool({ name: 'f', parameters: {}, run: () => output })], 'f')

  it('bytes are a file, or an image by their first bytes', async () => {
    const bytes = new Uint8Array([1, 2, 3])
    const octets = file({ type: 'base64', data: 'AQID', mediaType: 'application/octet-stream' })
    for (const output of [bytes, Buffer.from(bytes), bytes.buffer, new DataView(bytes.buffer)])
      expect((await outputOf(output)).content).toEqual([octets])
    expect((await outputOf(new Uint8Array([0, 1, 2, 3]).subarray(1))).content).toEqual([octets])
    expect((await outputOf(Uint8Array.from(atob(png), (one) => one.charCodeAt(0)))).content).toEqual([
      image({ type: 'base64', data: png, mediaType: 'image/png' }),
    ])
  })

  it.each([
    [{ content: 'text' }],
    [{ content: [] }],
    [{ content: [{ type: 'text' }] }],
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'row', id: 1 },
        ],
      },
    ],
    [{ content: ['a'] }],
  ])('an object of its own stays JSON: %j', async (output) => {
    expect((await outputOf(output)).content).toEqual([text(JSON.stringify(output))])
  })
})
