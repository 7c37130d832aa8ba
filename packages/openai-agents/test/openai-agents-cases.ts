/** What a session of the Agents SDK must do, on any store. */
import { MemorySession, type AgentInputItem } from '@openai/agents-core'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { image, openCalls, settle, textOf, user } from 'indelible'
import { AgentsSession, agentsSession, copyItems } from '@indelible/openai-agents'
import { verified, type Place } from '../../../test/session/adapter-stores.ts'

export const userItem = (text: string): AgentInputItem => ({ role: 'user', content: [{ type: 'input_text', text }] })
export const answered = (text: string): AgentInputItem => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})
export const call = (callId: string, name = 'look'): Extract<AgentInputItem, { type: 'function_call' }> => ({
  type: 'function_call',
  callId,
  name,
  arguments: '{}',
  status: 'completed',
})
const result = (callId: string): AgentInputItem => ({
  type: 'function_call_result',
  callId,
  name: 'look',
  status: 'completed',
  output: { type: 'text', text: 'a cat' },
})

/** Items with values that JSON has no word for. */
const strange = (): AgentInputItem[] =>
  [
    {
      ...userItem('odd'),
      id: undefined,
      providerData: { at: new Date(5), minus: -0, not: Number.NaN, none: undefined },
    },
    {
      type: 'function_call_result',
      callId: 'c',
      name: 'f',
      status: 'completed',
      output: { type: 'image', image: { data: new Uint8Array([0, 255, 7]), mediaType: 'image/png' } },
    },
    { type: 'unknown', providerData: { list: [1, undefined, 3n], half: '\ud800', deep: { ['__proto__']: 1 } } },
    { role: 'user', content: 'plain', later: { unknown: ['field'] } },
  ] as unknown as AgentInputItem[]

export const agentsCases = ({ fresh }: Place, runs: number): void => {
  it('returns deeply equal items and nothing shared', async () => {
    const store = await fresh()
    const session = agentsSession(store, { sessionId: 's' })
    expect(await session.getItems()).toEqual([])
    expect(await store.info('s')()).toMatchObject({ _tag: 'Left', left: { _tag: 'NoSuchLog' } }) // reading creates nothing
    const items = [userItem('hi'), call('1'), call('2'), result('1'), result('2'), answered('A cat.'), ...strange()]
    await session.addItems(items)
    const again = agentsSession(store, { sessionId: 's' })
    expect(await again.getItems()).toStrictEqual(items)
    ;(await again.getItems())[0] = userItem('changed')
    ;(items[0] as { content: unknown }).content = 'changed'
    expect((await session.getItems(100))[0]).toEqual(userItem('hi'))
    expect(await session.getItems(2)).toStrictEqual(strange().slice(-2))
    expect(await session.getItems(0)).toEqual([])
    await expect(session.addItems([{ ...userItem('f'), later: () => 1 } as unknown as AgentInputItem])).rejects.toThrow(
      "later is a function, which can't be stored",
    )
    for (const item of [5, 'text', null, [userItem('in a list')]])
      await expect(session.addItems([item as unknown as AgentInputItem])).rejects.toThrow(
        'each item of a session must be an object',
      )
    expect((await session.getItems()).length).toBe(items.length)
  })

  it('records the first items even if nobody read them before', async () => {
    const session = agentsSession(await fresh(), { sessionId: 's', initialItems: [userItem('first')] })
    expect((await session.record()).view().toArray().map(textOf)).toEqual(['first'])
  })

  it("replaces function calls as the SDK's own session does, also with one id", async () => {
    const initialItems = [call('1'), userItem('a'), call('2'), call('1'), result('1'), call('2'), call('3')]
    const mutations = ['2', '1', '4'].map((callId) => ({
      type: 'replace_function_call' as const,
      callId,
      replacement: call(callId, 'renamed'),
    }))
    const [theirs, ours] = [
      new MemorySession({ initialItems }),
      agentsSession(await fresh(), { sessionId: 's', initialItems }),
    ]
    for (const session of [theirs, ours]) await session.applyHistoryMutations({ mutations })
    expect(await ours.getItems()).toEqual(await theirs.getItems())
    expect(JSON.stringify(await ours.getItems()).match(/renamed/g)?.length).toBe(2)
    const { size } = (await ours.record()).head()
    await ours.applyHistoryMutations({ mutations: [] })
    expect((await ours.record()).head().size).toBe(size)
  })

  it('reads as a conversation: calls pair with results, open ones are recognized', async () => {
    const session = agentsSession(await fresh(), { sessionId: 's' })
    await session.addItems([userItem('look')])
    await session.addItems([call('1'), call('2'), result('1'), result('2'), answered('A cat.'), call('3')])
    const conversation = (await session.record()).conversation()
    expect(openCalls(conversation).map(({ id }) => id)).toEqual(['3'])
    expect(settle(conversation.slice(0, 4).toArray())._tag).toBe('Right')
    expect(conversation.slice(4, 5).toArray().map(textOf)).toEqual(['A cat.'])
    await (await session.record()).append(user('and this, by our own hand'))
    expect((await session.getItems()).at(-1)).toEqual({
      type: 'message',
      role: 'user',
      content: 'and this, by our own hand',
    })
  })

  it('is a class that programs can extend and patch', async () => {
    const store = await fresh()
    class Loud extends AgentsSession {
      readonly heard: number[] = []
      override async addItems(items: AgentInputItem[]): Promise<void> {
        this.heard.push(items.length)
        await super.addItems(items)
      }
    }
    const session = new Loud(store, { sessionId: 's' })
    await session.addItems([userItem('a'), answered('b')])
    session.clearSession = async () => void session.heard.push(-1)
    await session.clearSession()
    expect([session.heard, (await session.getItems()).length]).toEqual([[2, -1], 2])
    await agentsSession(store, { sessionId: 's' }).clearSession()
    expect(await session.getItems()).toEqual([])
    expect(session instanceof AgentsSession).toBe(true)
  })

  it('matches a list, by two handles in turn', async () => {
    const item = fc.oneof(
      fc.string().map(userItem),
      fc.string().map(answered),
      fc.constantFrom('1', '2').map((id) => call(id)),
      fc.constantFrom('1', '2').map(result),
      fc.constantFrom(...strange()),
    )
    const items = fc.array(item, { maxLength: 4 })
    const deed = fc.oneof(
      fc.record({ type: fc.constant('add' as const), items }),
      fc.record({ type: fc.constant('pop' as const) }),
      fc.record({ type: fc.constant('clear' as const) }),
      fc.record({ type: fc.constant('compact' as const), items }),
      fc.record({ type: fc.constant('mutate' as const), callId: fc.constantFrom('1', '2') }),
      fc.record({ type: fc.constant('suffix' as const), count: fc.nat(3), items }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(deed, fc.boolean()), { maxLength: 12 }), async (deeds) => {
        const store = await fresh()
        const handles = [agentsSession(store, { sessionId: 's' }), agentsSession(store, { sessionId: 's' })] as const
        let model: AgentInputItem[] = []
        let ever = 0
        for (const [index, [done, which]] of deeds.entries()) {
          const session: AgentsSession = handles[which ? 0 : 1]
          if (done.type === 'add') {
            await session.addItems(done.items)
            model.push(...done.items)
          } else if (done.type === 'pop') expect(await session.popItem()).toStrictEqual(model.pop())
          else if (done.type === 'clear') {
            await session.clearSession()
            model = []
          } else if (done.type === 'compact') {
            await session.replaceHistoryWithCompaction(done.items)
            model = [...done.items]
          } else if (done.type === 'mutate') {
            const theirs = new MemorySession({ initialItems: model })
            const mutations = [
              { type: 'replace_function_call' as const, callId: done.callId, replacement: call(done.callId, 'new') },
            ]
            await Promise.all([theirs, session].map((one) => one.applyHistoryMutations({ mutations })))
            model = await theirs.getItems()
          } else {
            const args = {
              operationId: `op ${index}`,
              transaction: {
                type: 'replace_suffix' as const,
                expectedSuffix: model.slice(Math.max(0, model.length - done.count)),
                replacement: done.items,
              },
            }
            const theirs = new MemorySession({ initialItems: model })
            const [they, we] = await Promise.allSettled([
              theirs.applyHistoryTransaction(args),
              session.applyHistoryTransaction(args),
            ])
            expect(we.status).toBe(they.status)
            if (we.status === 'fulfilled') await handles[which ? 1 : 0].applyHistoryTransaction(args) // a retry changes nothing
            model = await theirs.getItems()
          }
          expect(await handles[which ? 1 : 0].getItems()).toStrictEqual(model)
          expect(await session.getItems(2)).toStrictEqual(model.slice(-2))
          const { len } = await session.record()
          expect(len).toBeGreaterThanOrEqual(ever) // nothing is ever taken out of the record
          ever = len
        }
        if (ever > 0) await verified(store, 's')
      }),
      { numRuns: runs },
    )
  })

  it('keeps everything in the verified record after pops, clears and rewrites', async () => {
    const store = await fresh()
    const session = agentsSession(store, { sessionId: 's', initialItems: [userItem('first')] })
    await session.addItems([call('1'), result('1'), answered('second')])
    await session.popItem()
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: '1', replacement: call('1', 'renamed') }],
    })
    await session.clearSession()
    await session.addItems([userItem('third')])
    await session.replaceHistoryWithCompaction([userItem('in short')])
    await session.applyHistoryTransaction({
      operationId: 'o',
      transaction: {
        type: 'replace_suffix',
        expectedSuffix: [userItem('in short')],
        replacement: [userItem('fourth')],
      },
    })
    expect(await session.getItems()).toEqual([userItem('fourth')])
    const record = await session.record()
    const texts = record.view().toArray().map(textOf)
    for (const text of ['first', 'second', 'third', 'in short', 'fourth']) expect(texts).toContain(text)
    await verified(store, 's')
  })

  it('does not store unchanged items again, whatever the order of their fields', async () => {
    const initialItems = [userItem('a'), ...strange(), userItem('b')]
    const session = agentsSession(await fresh(), { sessionId: 's', initialItems })
    await session.popItem()
    const { len } = await session.record()
    expect(len).toBe(initialItems.length)
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed)
      if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
      return Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([key, one]) => [key, reversed(one)]),
      )
    }
    const item = { ...userItem('odd'), id: undefined, providerData: { none: undefined, bytes: new Uint8Array([1]) } }
    for (const expectedSuffix of [reversed([item]), [item]] as AgentInputItem[][]) {
      const other = agentsSession(await fresh(), { sessionId: 's', initialItems: [item] as never })
      const transaction = { type: 'replace_suffix' as const, expectedSuffix, replacement: [] }
      await other.applyHistoryTransaction({ operationId: 'o', transaction })
      expect(await other.getItems()).toEqual([])
    }
  })

  it("refuses a suffix that is no list with the SDK's own error", async () => {
    const session = agentsSession(await fresh(), { sessionId: 's', initialItems: [userItem('first')] })
    for (const expectedSuffix of ['first', {}, null] as never[])
      await expect(
        session.applyHistoryTransaction({
          operationId: 'o',
          transaction: { type: 'replace_suffix', expectedSuffix, replacement: [] },
        }),
      ).rejects.toThrow('Session history suffix transaction fields are invalid.')
    expect(await session.getItems()).toEqual([userItem('first')])
  })

  it('changes nothing in a transaction with another suffix', async () => {
    const session = agentsSession(await fresh(), {
      sessionId: 's',
      initialItems: [userItem('first'), userItem('second')],
    })
    for (const expectedSuffix of [[userItem('first')], [userItem('zeroth'), userItem('first'), userItem('second')]])
      await expect(
        session.applyHistoryTransaction({
          operationId: 'o',
          transaction: { type: 'replace_suffix', expectedSuffix, replacement: [userItem('other')] },
        }),
      ).rejects.toThrow('suffix no longer matches the transaction precondition. Nothing was changed.')
    expect(await session.getItems()).toEqual([userItem('first'), userItem('second')])
  })

  it('refuses a message that references a stored block as an item', async () => {
    const store = await fresh()
    const session = agentsSession(store, { sessionId: 's', initialItems: [userItem('first')] })
    const record = await session.record()
    const [id] = await store.putBlocks([Buffer.from('hi')])
    await record.append(user(image({ type: 'block', id: id as never })))
    await expect(session.getItems()).rejects.toThrow('a message references a stored block')
  })

  it('stores each item of two concurrent handles once, and each pop returns another one', async () => {
    const store = await fresh()
    const handles = [1, 2].map(() => agentsSession(store, { sessionId: 's' }))
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        handles[index % 2]?.addItems([userItem(`${index}`), answered(`${index}`)]),
      ),
    )
    const items = (await handles[0]?.getItems()) ?? []
    expect(items.map((item) => JSON.stringify(item)).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, index) => [userItem(`${index}`), answered(`${index}`)])
        .flat()
        .map((item) => JSON.stringify(item))
        .toSorted(),
    )
    const popped = await Promise.all(Array.from({ length: 20 }, (_, index) => handles[index % 2]?.popItem()))
    expect(popped.map((item) => JSON.stringify(item)).toSorted()).toEqual(
      items.map((item) => JSON.stringify(item)).toSorted(),
    )
    expect(await handles[1]?.popItem()).toBeUndefined()
  })

  it('distinguishes transactions with one name, also across handles', async () => {
    const store = await fresh()
    const [a, b] = [agentsSession(store, { sessionId: 's' }), agentsSession(store, { sessionId: 's' })]
    const append = (text: string) => ({
      operationId: 'o',
      transaction: { type: 'append_items' as const, items: [userItem(text)] },
    })
    await a.applyHistoryTransaction(append('a'))
    await b.applyHistoryTransaction(append('a'))
    await expect(b.applyHistoryTransaction(append('b'))).rejects.toThrow('already applied with a different transaction')
    await expect(b.applyHistoryTransaction({ ...append('a'), operationId: ' ' })).rejects.toThrow('non-empty string')
    expect(await a.getItems()).toEqual([userItem('a')])
    await b.clearSession()
    await a.applyHistoryTransaction(append('b'))
    expect(await b.getItems()).toEqual([userItem('b')])
  })

  it("migrates the SDK's own sessions in and out", async () => {
    const old = new MemorySession({ initialItems: [userItem('hi'), call('1'), result('1'), answered('A cat.')] })
    const session = agentsSession(await fresh(), { sessionId: 's' })
    expect(await copyItems(old, session)).toBe(4)
    await expect(copyItems(old, session)).rejects.toThrow('already has items')
    const full = Object.assign(new MemorySession(), { addItems: () => Promise.reject(new Error('it is full')) })
    await expect(copyItems(session, full)).rejects.toThrow('it is full')
    const back = new MemorySession()
    await copyItems(session, back)
    expect(await back.getItems()).toEqual(await old.getItems())
  })
}
