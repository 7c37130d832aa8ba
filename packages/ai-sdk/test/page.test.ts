/** A page of `useChat` over runs with approvals: what it builds from streams is what `loadChat` gives, in any order. */
import { readUIMessageStream, simulateReadableStream, type UIMessage, type UIMessageChunk } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, memoryStore, text, toolCall, user, type Message, type Part } from 'indelible'
import { inputsOf, resume, scriptedModel, tool, turn, type RunStream } from 'indelible/run'
import { aiSdkModel, approvalsIn, chatStore, toUIMessageStream, type ChatStore } from '@indelible/ai-sdk'
import { rounds } from '../../../test/rounds.ts'

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

interface Page {
  readonly message: UIMessage | undefined
  readonly chunks: readonly UIMessageChunk[]
}

/** What a page builds from a stream. An error of the SDK's reader fails the test. */
const read = async (stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<Page> => {
  const chunks: UIMessageChunk[] = []
  const [seen, shown] = stream.tee()
  const reading = (async () => {
    for await (const chunk of seen as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk)
  })()
  let last = message
  const given = message && { message: structuredClone(message) }
  for await (const each of readUIMessageStream({ stream: shown, terminateOnError: true, ...given })) last = each
  await reading
  return { message: last, chunks }
}

const ran: string[] = []
const toolNamed = (name: string, needsApproval: boolean) =>
  tool({
    name,
    parameters: { type: 'object' },
    needsApproval,
    run: (_, { call }) => {
      ran.push(call.id)
      return `${name} done`
    },
  })
/** Run by the page. */
const locate = tool({ name: 'locate', parameters: { type: 'object' } })
const tools = [toolNamed('look', false), toolNamed('pay', true), toolNamed('send', true), locate]

const chatOf = async (): Promise<ChatStore & { readonly id: string }> => {
  const chats = chatStore(memoryStore())
  return { ...chats, id: await chats.createChat({ id: 'c' }) }
}

const question = (id: string): UIMessage => ({ id, role: 'user', parts: [{ type: 'text', text: 'Pay the bill.' }] })
const asked: Message = { ...user('Pay the bill.'), id: 'u1' }

const isWaiting = (part: UIMessage['parts'][number]): boolean =>
  'state' in part &&
  (part.state === 'approval-requested' || (part.type === 'tool-locate' && part.state === 'input-available'))

/**
 * What `addToolApprovalResponse` and `addToolOutput` do to a message: each waiting call in its turn is approved, denied, or
 * left; one that the page runs gets an output, an error, or nothing.
 */
const respond = (message: UIMessage, choices: readonly ('approve' | 'deny' | 'leave')[]): UIMessage => {
  let next = 0
  const parts = message.parts.map((part) => {
    if (!isWaiting(part)) return part
    const choice = choices[next++ % choices.length]
    if (choice === 'leave') return part
    if (!('approval' in part)) {
      const given =
        choice === 'approve'
          ? { state: 'output-available', output: { city: 'Oslo', at: [59.9, 10.7] } }
          : { state: 'output-error', errorText: 'No permission.' }
      return { ...part, ...given } as typeof part
    }
    const decision = choice === 'approve' ? { approved: true } : { approved: false, reason: 'Too much.' }
    return { ...part, state: 'approval-responded', approval: { ...part.approval, ...decision } }
  })
  return { ...message, parts: parts as UIMessage['parts'] }
}

const textPart = fc.constantFrom('I pay it.', 'Wait.', 'ß💧').map((said): Part => text(said))
const reasoning = fc.constant<Part>({ type: 'reasoning', text: 'hm', signature: 's' })
const step = fc.record({
  said: fc.array(fc.oneof(textPart, reasoning), { maxLength: 2 }),
  calls: fc.array(fc.constantFrom('look', 'pay', 'send', 'locate', 'nothing'), { minLength: 1, maxLength: 3 }),
})
const deed = fc.record({
  choices: fc.array(fc.constantFrom('approve' as const, 'deny' as const, 'leave' as const), {
    minLength: 1,
    maxLength: 3,
  }),
  /** Whether the page is loaded anew, its copy is saved before the run goes on, and the run gets the page's messages. */
  reloads: fc.boolean(),
  saves: fc.boolean(),
  continues: fc.boolean(),
  /** Whether the first request is sent again before. */
  retries: fc.boolean(),
})

describe('a page of a run with approvals', () => {
  it('shows what loadChat gives, whatever is approved, denied, reloaded, saved or sent again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 3 }),
        fc.array(deed, { minLength: 1, maxLength: 6 }),
        async (steps, deeds) => {
          ran.length = 0
          const { id, openChat, loadChat, saveChat } = await chatOf()
          let call = 0
          const answers = [
            ...steps.map(({ said: parts, calls }) =>
              assistant(...parts, ...calls.map((name) => toolCall(`c${call++}`, name, { n: call }))),
            ),
            assistant('Done.'),
          ]
          const model = scriptedModel(answers)
          const settings = { model, tools }
          const post = async (): Promise<RunStream<never>> =>
            turn(await openChat(id), asked, { ...settings, id: 'u1' }) as RunStream<never>
          const check = async (page: Page): Promise<UIMessage> => {
            const chat = await loadChat(id)
            expect(asJson(page.message)).toEqual(asJson(chat.at(-1)))
            expect(chat).toHaveLength(2)
            return page.message as UIMessage
          }
          let shown = await check(await read(toUIMessageStream(await post())))
          for (const { choices, reloads, saves, continues, retries } of deeds) {
            if (retries) shown = await check(await read(toUIMessageStream(await post())))
            if (!shown.parts.some(isWaiting)) break
            if (reloads) shown = (await loadChat(id)).at(-1) as UIMessage
            shown = respond(shown, choices)
            const messages = [question('u1'), shown]
            const { len } = await openChat(id)
            if (saves) await saveChat({ chatId: id, messages })
            const session = await openChat(id)
            expect(session.len).toBe(len) // the copy of a waiting answer is recorded once, by its run
            const options = continues ? { originalMessages: messages } : {}
            const stream = toUIMessageStream(
              resume(session, { ...settings, ...approvalsIn(messages, session) }),
              options,
            )
            const old = shown
            shown = await check(await read(stream, continues ? shown : undefined))
            await saveChat({ chatId: id, messages: [question('u1'), old] }) // late, by another tab
            expect(asJson((await loadChat(id)).at(-1))).toEqual(asJson(shown))
          }
          // Each call ran at most once.
          expect(new Set(ran).size).toBe(ran.length)
        },
      ),
      { numRuns: rounds(60, 3000) },
    )
  })

  it('streams an answer that was given before, with all its steps, from the record', async () => {
    const { id, openChat, loadChat } = await chatOf()
    const model = scriptedModel([assistant('I look.', toolCall('c1', 'look', '{}')), assistant('Done.')])
    const ask = async (whenBusy: 'wait' | 'queue') =>
      toUIMessageStream(turn(await openChat(id), asked, { model, tools, id: 'u1', whenBusy }))
    const first = await read(await ask('wait'))
    const stored = asJson((await loadChat(id)).at(-1))
    for (const whenBusy of ['wait', 'queue'] as const) {
      const again = await read(await ask(whenBusy))
      expect(asJson(again.message)).toEqual(stored)
      expect(again.chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
    }
    expect(asJson(first.message)).toEqual(stored)
  })

  it('shows the whole message of a run that continues the answer of a dead one', async () => {
    const { id, openChat, loadChat } = await chatOf()
    const session = await openChat(id)
    await session.append([user('Pay.'), assistant('I look.', toolCall('c1', 'look', '{}'))])
    await session.append({ role: 'tool', content: [{ type: 'tool_result', callId: 'c1', content: [text('seen')] }] })
    const page = await read(toUIMessageStream(resume(session, { model: scriptedModel([assistant('Done.')]), tools })))
    expect(asJson(page.message)).toEqual(asJson((await loadChat(id)).at(-1)))
  })

  it('keeps what was shown when its stop button cancels the stream', async () => {
    const { id, openChat, loadChat } = await chatOf()
    const model = scriptedModel([assistant('Argo it is, the ship of Jason and of fifty heroes.')], { pause: 5 })
    const answer = turn(await openChat(id), asked, { model, id: 'u1' })
    const reader = toUIMessageStream(answer).getReader()
    let shown = ''
    while (shown.length < 8) {
      const { value } = await reader.read()
      if (value?.type === 'text-delta') shown += value.delta
    }
    await reader.cancel()
    expect((await answer.result()).stopReason).toBe('cancelled')
    const [, kept] = await loadChat(id)
    const [, part] = kept?.parts ?? []
    expect(part?.type === 'text' && part.text.startsWith(shown)).toBe(true)
    const last = (await openChat(id)).conversation().at(-1)
    expect(last?.meta?.['indelible']).toMatchObject({ interrupted: true })
    expect(inputsOf(await openChat(id))).toMatchObject([{ id: 'u1', state: 'cancelled' }])
  })

  it('shows every part of an answer live as it is loaded: sources, files, tools that the provider ran', async () => {
    const { id, openChat, loadChat } = await chatOf()
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: 1, reasoning: undefined },
    }
    const said = (textId: string, delta: string) => [
      { type: 'text-start' as const, id: textId },
      { type: 'text-delta' as const, id: textId, delta },
      { type: 'text-end' as const, id: textId },
    ]
    const source = {
      type: 'source' as const,
      sourceType: 'url' as const,
      id: 's1',
      url: 'https://example.com',
      title: 'E',
    }
    const paper = {
      type: 'source' as const,
      sourceType: 'document' as const,
      id: 's2',
      mediaType: 'text/plain',
      title: 'P',
    }
    const chunks = [
      { type: 'stream-start' as const, warnings: [] },
      source,
      { type: 'text-start' as const, id: 'empty' },
      { type: 'text-end' as const, id: 'empty' },
      ...said('a', 'I searched.'),
      { type: 'tool-call' as const, toolCallId: 'w', toolName: 'web', input: '{"q":"x"}', providerExecuted: true },
      { type: 'tool-result' as const, toolCallId: 'w', toolName: 'web', result: { hits: 1 } },
      paper,
      { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'iVBORw0KGgo=' } },
      ...said('b', 'There.'),
      { type: 'finish' as const, finishReason: { unified: 'stop' as const, raw: 'stop' }, usage },
    ]
    const model = aiSdkModel(
      new MockLanguageModelV4({
        doStream: async () => ({ stream: simulateReadableStream({ chunks: chunks as never }) }),
      }),
    )
    const page = await read(toUIMessageStream(turn(await openChat(id), asked, { model, id: 'u1' })))
    const stored = (await loadChat(id)).at(-1)
    expect(asJson(page.message)).toEqual(asJson(stored))
    expect(stored?.parts.map(({ type }) => type)).toEqual([
      'step-start',
      'source-url',
      'text',
      'tool-web',
      'source-document',
      'file',
      'text',
    ])
    expect(stored?.parts.find(({ type }) => type === 'tool-web')).toMatchObject({
      state: 'output-available',
      output: { hits: 1 },
      providerExecuted: true,
    })
  })

  it('leaves a call that the page runs as input-available, beside one that needs an approval, and takes both answers', async () => {
    const { id, openChat, loadChat } = await chatOf()
    const model = scriptedModel([
      assistant(toolCall('a', 'locate', { n: 1 }), toolCall('b', 'pay', {})),
      assistant('Ok.'),
    ])
    const first = await read(toUIMessageStream(turn(await openChat(id), asked, { model, tools, id: 'u1' })))
    const states = (message: UIMessage | undefined): readonly unknown[] =>
      (message?.parts ?? []).flatMap((part) => ('state' in part && 'toolCallId' in part ? [part.state] : []))
    expect(states(first.message)).toEqual(['input-available', 'approval-requested'])
    expect(first.chunks.filter(({ type }) => type === 'tool-approval-request')).toHaveLength(1)
    const shown = (await loadChat(id)).at(-1) as UIMessage
    expect(states(shown)).toEqual(['input-available', 'approval-requested'])
    const session = await openChat(id)
    const answered = [question('u1'), respond(shown, ['approve'])]
    const decisions = approvalsIn(answered, session)
    expect([decisions.approve.length, decisions.results.length, approvalsIn(answered).results]).toEqual([1, 1, []])
    await read(
      toUIMessageStream(resume(session, { model, tools, ...decisions }), { originalMessages: answered }),
      answered[1],
    )
    // The same request again, as a browser sends it after a lost response.
    const late = await openChat(id)
    const again = await read(toUIMessageStream(resume(late, { model, tools, ...approvalsIn(answered, late) })))
    const stored = (await loadChat(id)).at(-1)
    expect(asJson(again.message)).toEqual(asJson(stored))
    expect(stored?.parts.find((part) => part.type === 'tool-locate')).toMatchObject({
      state: 'output-available',
      output: { city: 'Oslo', at: [59.9, 10.7] },
    })
  })
})
