/** What a chat is told twice, what another chat under its id was told, what it hands on at its size, and what it lost. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { assistant, memoryStore, textOf, toolCall, toolResult, user, type Message, type Store } from 'indelible'
import {
  createChat,
  historyActivities,
  type Chat,
  type ChatEnd,
  type ChatOptions,
  type ChatSignal,
  type ChatState,
} from '@indelible/workflows/activities'
import { hydrate, parseHistoryJson, type MessageRef } from '@indelible/workflows/refs'
import { scriptedModel, tool, type Model } from 'indelible/run'
import { sqliteStore } from 'indelible/store/sqlite'
import { ok } from '../../../../test/task-results.ts'
import { begun, registryOf, wanted } from './engine.ts'
import type { ToolResultPart } from 'indelible/internal/message'

const echo: Model = {
  name: 'm',
  stream: (request, signal) =>
    scriptedModel([{ role: 'assistant', content: [{ type: 'text', text: `re: ${textOf(request.messages.at(-1) as Message)}` }] }]).stream(request, signal), // oxfmt-ignore
}

/** A chat that is told these signals, one whenever it waits, until it ends or continues. */
const talk = async (
  store: Store,
  options: Omit<ChatOptions, 'model'>,
  signals: readonly ChatSignal[],
): Promise<{ readonly end: ChatEnd; readonly said: readonly string[]; readonly left: readonly ChatSignal[] }> => {
  const activities = historyActivities({ store, registry: registryOf(echo) })
  const chat = createChat({ ...options, model: wanted })
  const waiting = [...signals]
  const end = await chat.run({
    activities,
    wait: async () => {
      const next = waiting.shift()
      if (next === undefined) throw new Error('it waits for more')
      chat.signal(next)
    },
  })
  const { history } = end.state
  const messages = (await ok(hydrate(store, chat.history))).view().toArray()
  expect(JSON.stringify(end.state).length).toBeLessThan(10_000)
  expect(parseHistoryJson(JSON.parse(JSON.stringify(history)))).toMatchObject({ _tag: 'Right' })
  return { end, said: messages.map((message) => `${message.role}: ${textOf(message)}`), left: waiting }
}

const message = async (store: Store, text: string, id?: string): Promise<ChatSignal> => {
  const activities = historyActivities({ store, registry: registryOf(echo) })
  const { ref } = await activities.appendMessage({ action: `said ${text}`, message: user(text) })
  return { type: 'message', ref, ...(id !== undefined && { id }) }
}

it('a signal delivered twice counts once, also after the chat continued as new', async () => {
  const store = memoryStore()
  const [hello, more] = [await message(store, 'hello', 'a'), await message(store, 'more', 'b')]
  const first = await talk(store, { id: 'w', continueAt: { calls: 1 } }, [hello, hello])
  expect(first.end.type).toBe('continue')
  const { state } = first.end
  const next = await talk(store, { id: 'w', state }, [hello, more, { type: 'stop', id: 's' }, more, { type: 'end' }])
  expect(next.said).toEqual(['user: hello', 'assistant: re: hello', 'user: more', 'assistant: re: more'])
})

it('its status tells a query which activity a chat is at, and what waits', async () => {
  const store = memoryStore()
  const model = scriptedModel([assistant(toolCall('a', 'look', '{}'), toolCall('b', 'pay', '{}')), assistant('Paid.')])
  const activities = historyActivities({
    store,
    registry: registryOf(model),
    tools: ['look', 'pay'].map((name) => tool({ name, parameters: {}, run: () => 'done' })),
  })
  const chat = createChat({ id: 'w', model: wanted, needsApproval: ({ name }) => name === 'pay' })
  const seen: unknown[] = []
  const see = (): void => {
    const { phase, turn, len, waiting } = chat.status()
    seen.push([phase, turn, len, waiting.map(({ id }) => id)])
  }
  const signals: ChatSignal[] = [
    await message(store, 'go'),
    { type: 'approval', callId: 'b', allowed: true },
    { type: 'end' },
  ]
  await chat.run({
    activities: {
      ...activities,
      stream: (input) => (see(), activities.stream(input)),
      runTool: (input) => (see(), activities.runTool(input)),
    },
    wait: async () => {
      see()
      chat.signal(signals.shift() as ChatSignal)
    },
  })
  see()
  expect(seen).toEqual([
    ['idle', 0, 0, []],
    ['model', 1, 1, []],
    ['approval', 1, 2, ['b']],
    ['tools', 1, 2, []],
    ['tools', 1, 2, []],
    ['model', 1, 4, []],
    ['idle', 1, 5, []],
    ['idle', 1, 5, []],
  ])
})

it('an id reused after its chat ended is a new chat if it names its run', async () => {
  const store = memoryStore()
  const answers: (readonly string[])[] = []
  for (const run of ['run 1', 'run 2'])
    answers.push((await talk(store, { id: 'w', run }, [await message(store, `asked in ${run}`), { type: 'end' }])).said)
  expect(answers).toEqual(['run 1', 'run 2'].map((run) => [`user: asked in ${run}`, `assistant: re: asked in ${run}`]))
})

it('a chat continues as new at its size limit while messages wait, and loses none', async () => {
  const store = memoryStore()
  const [chatSignal, two, three] = [
    await message(store, 'one'),
    await message(store, 'two'),
    await message(store, 'three'),
  ]
  const coming = [two, three]
  const activities = historyActivities({ store, registry: registryOf(echo) })
  const ends: string[] = []
  let state: ChatState | undefined
  for (;;) {
    const chat = createChat({ id: 'w', model: wanted, continueAt: { calls: 1 }, ...(state !== undefined && { state }) })
    if (state === undefined) for (const signal of [chatSignal, { type: 'end' } as const]) chat.signal(signal)
    const end = await chat.run({
      activities: {
        ...activities,
        stream: async (input) => {
          for (const signal of coming.splice(0, 1)) chat.signal(signal) // while a step runs
          return activities.stream(input)
        },
      },
      wait: () => Promise.reject(new Error('it waits for more')),
    })
    ends.push(end.type)
    state = JSON.parse(JSON.stringify(end.state)) as ChatState
    if (end.type === 'continue') continue
    const output = (await ok(hydrate(store, chat.history))).view().toArray().map(textOf)
    expect(output).toEqual(['one', 're: one', 'two', 're: two', 'three', 're: three'])
    break
  }
  expect(ends).toEqual(['continue', 'continue', 'ended'])
})

describe('a chat continues as new once', () => {
  /** Whether a chat with this limit continues after one answer; otherwise it waits. The bytes of what it called. */
  const isFull = async (continueAt: ChatOptions['continueAt'], pad = ''): Promise<readonly [boolean, number]> => {
    const store = memoryStore()
    let bytes = 0
    const { stream, ...rest } = historyActivities({ store, registry: registryOf(echo) })
    const counted: typeof stream = async (input) => {
      const output = { ...(await stream(input)), pad }
      bytes += JSON.stringify(input).length + JSON.stringify(output).length
      return output
    }
    const chat = createChat({ id: 'w', model: wanted, ...(continueAt && { continueAt }) })
    chat.signal(await message(store, 'one'))
    const waits = new Error('it waits')
    const running = chat.run({ activities: { ...rest, stream: counted }, wait: () => Promise.reject(waits) })
    const end = await running.catch((error: unknown) => error)
    if (end !== waits) expect(end).toMatchObject({ type: 'continue' })
    return [end !== waits, bytes]
  }

  it('its calls have as many bytes, in and out, as the limit', async () => {
    const [, bytes] = await isFull({ bytes: 1e6 })
    expect((await isFull({ bytes }))[0]).toBe(true)
    expect((await isFull({ bytes: bytes + 1 }))[0]).toBe(false)
    expect(await isFull({ bytes: 0 })).toEqual([true, 0])
  })

  it('they have 25 million bytes, by default', async () => {
    const [isDefaultFull, bytes] = await isFull(undefined)
    expect(isDefaultFull).toBe(false)
    expect((await isFull(undefined, 'x'.repeat(25_000_000 - bytes)))[0]).toBe(true)
    expect((await isFull(undefined, 'x'.repeat(25_000_000 - bytes - 1)))[0]).toBe(false)
  })

  it('there are as many calls as the limit', async () => {
    expect((await isFull({ calls: 1 }))[0]).toBe(true)
    expect((await isFull({ calls: 2 }))[0]).toBe(false)
  })
})

describe('the steps of a turn', () => {
  const usage = { input: 1, output: 1 }
  const waits = new Error('it waits')
  /** A chat whose model calls a tool at each step, or says nothing; what it did until it waited for more. */
  const stepsOf = async (
    options: Partial<ChatOptions>,
    { says = true, during }: { readonly says?: boolean; readonly during?: (chat: Chat, step: number) => void } = {},
    later: readonly string[] = [],
  ) => {
    const store = memoryStore()
    const { runTool: _, stream: __, ...rest } = historyActivities({ store, registry: registryOf(echo) })
    const refOf = async (text: string) => (await rest.appendMessage({ action: text, message: user(text) })).ref
    const chat = createChat({ id: 'w', model: wanted, ...options })
    const coming = [...later]
    let steps = 0
    const refusals: (string | undefined)[] = []
    chat.signal(await message(store, 'one'))
    const running = chat.run({
      activities: {
        ...rest,
        stream: async () => {
          steps += 1
          during?.(chat, steps)
          const calls = [{ id: `c${steps}`, name: 'f' }]
          if (!says) return { reason: 'end_turn', usage, calls: [] }
          return { ref: await refOf(`step ${steps}`), reason: 'tool_calls', usage, calls }
        },
        runTool: async ({ refused, action }) => {
          refusals.push(refused)
          return { ref: await refOf(action) }
        },
      },
      wait: async () => {
        const next = coming.shift()
        if (next === undefined) throw waits
        chat.signal(await message(store, next))
      },
    })
    expect(await running.catch((error: unknown) => error)).toBe(waits)
    return { steps, refusals }
  }

  it('are at most 50 by default, or as many as the option says', async () => {
    for (const [options, most] of [
      [{}, 50],
      [{ maxSteps: 3 }, 3],
    ] as const) {
      const { steps, refusals } = await stepsOf(options)
      expect([steps, refusals.length]).toEqual([most, most])
    }
  })

  it('end with the tools of the step in which the chat is stopped, which are not run', async () => {
    const stop = (chat: Chat, step: number): void => void (step === 2 && chat.signal({ type: 'stop' }))
    const { steps, refusals } = await stepsOf({}, { during: stop })
    expect([steps, refusals.length]).toEqual([2, 2])
    expect([refusals[0], typeof refusals[1]]).toEqual([undefined, 'string'])
  })

  it('may be one in which the model says nothing: the next message has its turn', async () => {
    expect(await stepsOf({}, { says: false }, ['two', 'three'])).toEqual({
      ...{ steps: 3, refusals: [] },
    })
  })
})

describe('a lost block in a chat', () => {
  /** A chat of these messages in a file, with the blocks of some positions deleted from it; what its model is sent next. */
  const sentAfter = async (
    messages: readonly Message[],
    lost: readonly number[],
    limit: ChatOptions['limit'] = undefined,
  ) => {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-lost-'))
    try {
      const path = join(folder, 'store.db')
      const store = await ok(sqliteStore({ path }))
      const refs = await begun(store, messages)
      const db = new DatabaseSync(path)
      for (const position of lost) {
        const ids = refs.refs()[position]?.blockIds ?? []
        for (const id of ids) db.prepare('DELETE FROM block WHERE id = ?').run(Buffer.from(id, 'hex'))
      }
      db.close()
      const sent: (readonly Message[])[] = []
      const model: Model = {
        name: 'm',
        stream: (request, signal) => {
          sent.push([...request.messages] as readonly Message[])
          return echo.stream(request, signal)
        },
      }
      const faults: string[] = []
      const activities = historyActivities({
        store,
        registry: registryOf(model),
        onFailure: ({ _tag }) => faults.push(_tag),
      })
      const step = await activities
        .stream({ action: 'a', history: refs, model: wanted, ...(limit !== undefined && { limit }) })
        .catch((error: unknown) => error)
      const managed = await activities.manage({ history: refs, maxChars: 2000 }).catch((error: unknown) => error)
      await store.close()
      return { step, managed, sent: sent[0] ?? [], faults }
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  const call = (id: string) => ({ type: 'tool_call', id, name: 'read', arguments: '{}' }) as const
  const messages: readonly Message[] = [
    user('one'),
    { role: 'assistant', content: [call('c1'), call('c2'), call('c3')] },
    toolResult('c1', 'first'),
    toolResult('c2', 'second'),
    toolResult('c3', 'third'),
    assistant('read'),
    user('two'),
  ]
  const notice = '[The content of this message was lost and can no longer be read.]'
  const said = (sent: readonly Message[]): readonly string[] =>
    sent.map(({ role, content }) => {
      const shown = content.map(
        (part) =>
        part.type === 'text' ? part.text : part.type === 'tool_call' ? part.id : `${(part as ToolResultPart).callId}: ${textOf(part as never)}`, // oxfmt-ignore
      )
      return `${role} ${shown.join(' ')}`
    })

  it.each([
    [
      'of a result: it still answers its call',
      [3],
      [
        'user one',
        'assistant c1 c2 c3',
        'tool c1: first',
        `tool c2: ${notice}`,
        'tool c3: third',
        'assistant read',
        'user two',
      ],
    ],
    [
      'of all results',
      [2, 3, 4],
      [
        'user one',
        'assistant c1 c2 c3',
        `tool c1: ${notice}`,
        `tool c2: ${notice}`,
        `tool c3: ${notice}`,
        'assistant read',
        'user two',
      ],
    ],
    [
      'of the calls: their results are left out; with a limit they are messages of their own',
      [1],
      ['user one', `assistant ${notice}`, 'assistant read', 'user two'],
    ],
    [
      'of what was said',
      [0, 5],
      [
        `user ${notice}`,
        'assistant c1 c2 c3',
        'tool c1: first',
        'tool c2: second',
        'tool c3: third',
        `assistant ${notice}`,
        'user two',
      ],
    ],
  ] as const)('becomes a placeholder and the chat continues: %s', async (_, lost, expected) => {
    // oxfmt-ignore
    const { step, managed, sent, faults } = await sentAfter(messages, lost)
    expect(said(sent)).toEqual(expected)
    expect(step).toMatchObject({ reason: 'end_turn', lost: lost.length })
    expect(managed).toMatchObject({ lost: lost.length })
    expect(faults).toEqual(['MissingBlock', 'MissingBlock'])
    const limited = await sentAfter(messages, lost, { maxChars: 100_000 })
    const pointed = limited.sent.map((message) =>
      textOf(message).includes('a tool result that does not directly follow its call'),
    )
    if (!pointed.includes(true)) expect(said(limited.sent)).toEqual(expected)
    expect(pointed.filter(Boolean).length).toBe((lost as readonly number[]).includes(1) ? 3 : 0)
  })

  it('of the question is a failure, because there is nothing to answer', async () => {
    const { step, sent } = await sentAfter(messages, [6])
    expect(step).toMatchObject({ tag: 'MissingBlock' })
    expect(sent).toEqual([])
  })
})

it("a tool's error for which the host has no text ends the chat with that error, and is asked about once", async () => {
  const store = memoryStore()
  const calling: Model = {
    name: 'm',
    stream: (request, signal) => scriptedModel([assistant(toolCall('c', 'f', {}))]).stream(request, signal),
  }
  const broken = new Error('the tool is gone')
  const asked: unknown[] = []
  const chat = createChat({ id: 'chat', model: wanted })
  chat.signal(await message(store, 'go'))
  const ran = chat.run({
    activities: {
      ...historyActivities({ store, registry: registryOf(calling) }),
      runTool: () => Promise.reject(broken),
    },
    wait: () => Promise.reject(new Error('it waits for more')),
    failure: (error) => void asked.push(error),
  })
  await expect(ran).rejects.toBe(broken)
  expect(asked).toEqual([broken])
})

it('a chat continues from its own state also where messages name the workflow that they come from', () => {
  const ref = { blockIds: ['ab'.repeat(32)], role: 'user', flowId: 'flow' } as unknown as MessageRef
  const first = createChat({ id: 'w', model: wanted })
  first.signal({ type: 'message', ref })
  const history = first.history.toReference()
  expect(history.version).toBe(3)
  const next = createChat({ id: 'w', model: wanted, state: { history, turn: 1 } })
  expect(next.history.toReference()).toEqual(history)
  expect(() =>
    createChat({ id: 'w', model: wanted, state: { history: { ...history, version: 4 as never }, turn: 1 } }),
  ).toThrow('state.history should be the JSON of a reference history')
})
