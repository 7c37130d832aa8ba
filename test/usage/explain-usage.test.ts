/** The account of stored sessions: receipts, imported files, forks, and what is missing or broken. */
import { createSession, forkSession, memoryStore, openSession, user, assistant, type Store } from 'indelible'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import { eraseMessages } from 'indelible/session'
import { describe, expect, it } from 'vitest'
import { isLeft } from '../../src/json/index.ts'
import { explainUsage } from '../../src/usage/index.ts'

const receipt = { type: 'receipt', len: 2, contextDigest: 'a'.repeat(64), model: 'claude-opus-4-5' } as const

const usageOf = (input: number, cacheRead: number) => ({ input, output: 5, cacheRead, cacheWrite: input - cacheRead })

const recorded = (at: number, details: object = {}) => ({
  sent: [[0, 1]],
  api: 'anthropic',
  at,
  duration: 1000,
  ...details,
})

const started = async (store: Store = memoryStore()) => ({
  store,
  session: await createSession(store, { id: 's', messages: [user('a'), assistant('b')] }),
})

const causesIn = async (store: Store, id = 's'): Promise<readonly (readonly string[])[]> =>
  (await explainUsage(store, id)).explained.map(({ parts }) => parts.map(({ cause }) => cause))

describe('explainUsage', () => {
  it('explains the calls of a recording by what the recorder saw', async () => {
    const { store, session } = await started()
    const at = 1_767_225_600_000
    const broke = { where: 'tools', because: 'the tool list changed: +search' }
    await session.note({ ...receipt, usage: usageOf(9000, 0), details: recorded(at) })
    await session.note({ ...receipt, usage: usageOf(9100, 9000), details: recorded(at + 10_000) })
    await session.note({ ...receipt, usage: usageOf(9200, 0), details: recorded(at + 20_000, { broke }) })
    await session.note({ ...receipt, usage: usageOf(9300, 0), details: recorded(at + 30_000) })
    await session.note({ ...receipt, usage: usageOf(9400, 0), details: recorded(at + 400_000) })
    const compacted = { where: 'messages', change: 'compaction', because: 'the client compacted the conversation' }
    await session.note({ ...receipt, usage: usageOf(4000, 0), details: recorded(at + 410_000, { broke: compacted }) })
    expect(await causesIn(store)).toEqual([
      ['first', 'answer'],
      ['read', 'new', 'answer'],
      ['tools', 'new', 'answer'],
      ['missed', 'new', 'answer'],
      ['expired', 'new', 'answer'],
      ['compaction', 'answer'],
    ])
    const { explained, calls, dollars } = await explainUsage(store, 's')
    expect(explained[2]?.parts[0]).toMatchObject({ known: 'proved', because: 'the tool list changed: +search' })
    expect(explained.map(({ pause }) => pause).slice(0, 2)).toEqual([undefined, 9000])
    expect(calls).toBe(6)
    expect(dollars).toBeCloseTo(
      explained.reduce((sum, call) => sum + (call.dollars ?? 0), 0),
      12,
    )
  })

  it('names a change of the effort, of parameters that a later receipt shares with an earlier one', async () => {
    const { store, session } = await started()
    const first = session.notes().length
    await session.note({
      ...receipt,
      usage: usageOf(9000, 0),
      parameters: { thinking: { type: 'disabled' } },
      details: recorded(0),
    })
    await session.note({ ...receipt, usage: usageOf(9100, 9000), details: { ...recorded(1), like: first } })
    await session.note({
      ...receipt,
      usage: usageOf(9200, 0),
      parameters: { thinking: { type: 'enabled' } },
      details: recorded(2),
    })
    expect(await causesIn(store)).toEqual([
      ['first', 'answer'],
      ['read', 'new', 'answer'],
      ['effort', 'new', 'answer'],
    ])
  })

  it('counts the calls that a fork shares in its original', async () => {
    const { store, session } = await started()
    await session.note({ ...receipt, usage: usageOf(9000, 0) })
    await new Promise((resolve) => setTimeout(resolve, 5))
    await forkSession(store, 's', { id: 'fork' })
    const fork = await openSession(store, 'fork')
    await fork.note({ ...receipt, usage: usageOf(9100, 9000) })
    const { calls, explained } = await explainUsage(store, 'fork')
    expect(calls).toBe(1)
    expect(explained.map(({ isShared = false }) => isShared)).toEqual([true, false])
    expect(explained[1]?.parts.map(({ cause }) => cause)).toEqual(['read', 'new', 'answer'])
  })

  it('explains an imported file call by call, and its sums where the file has no more', async () => {
    const line = (id: string, parentId: string | null, time: string, usage: object): string =>
      JSON.stringify({
        ...{ type: 'message', id, parentId, timestamp: time },
        message: { role: 'assistant', content: [], model: 'claude-opus-4-5', usage },
      })
    const file = [
      '{"type":"session","version":3,"id":"pi","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}',
      line('1', null, '2026-01-01T00:00:00.000Z', { input: 3, output: 5, cacheRead: 0, cacheWrite: 9000 }),
      line('2', '1', '2026-01-01T00:20:00.000Z', { input: 3, output: 5, cacheRead: 0, cacheWrite: 9100 }),
    ].join('\n')
    const read = readTranscript(file)
    if (isLeft(read)) throw new Error(read.left._tag)
    const store = memoryStore()
    await importTranscript(store, read.right)
    expect(await causesIn(store, 'pi')).toContainEqual(['expired', 'ends', 'new', 'answer'])
    const uses = [{ model: 'claude-opus-4-5', day: '2026-01-01', calls: 7, input: 100, output: 5, cacheRead: 40 }]
    await createSession(store, { id: 'old', metadata: { from: { format: 'pi-session', uses } } })
    const { calls, explained } = await explainUsage(store, 'old')
    expect([calls, explained[0]?.parts.map(({ cause, tokens }) => [cause, tokens])]).toEqual([
      7,
      [
        ['read', 40],
        ['unknown', 60],
        ['answer', 5],
      ],
    ])
  })

  it.each([
    [{ type: 'tools_changed', cache_missed_input_tokens: 9000 }, 'tools', 'reported'],
    [{ type: 'system_changed' }, 'system', 'reported'],
    [{ type: 'messages_changed' }, 'messages', 'reported'],
    [{ type: 'previous_message_not_found' }, 'unknown', 'unknown'],
    [{ type: 'toString' }, 'unknown', 'unknown'],
    ['tools_changed', 'unknown', 'unknown'],
    [null, 'unknown', 'unknown'],
  ])('names the reason for a missed cache that the provider reports: %j', async (reason, cause, known) => {
    const line = (type: string, uuid: string, parentUuid: string | null, message: object): string =>
      JSON.stringify({
        ...{ type, uuid, parentUuid, sessionId: 'claude', version: '2.1.0', cwd: '/', userType: 'external' },
        ...{ isSidechain: false, timestamp: '2026-01-01T00:00:00.000Z', message },
      })
    const answer = (id: string, cacheRead: number, more: object = {}): object => ({
      ...{
        id,
        type: 'message',
        role: 'assistant',
        model: 'claude-opus-4-5',
        content: [{ type: 'text', text: 'Yes.' }],
      },
      usage: {
        input_tokens: 3,
        output_tokens: 5,
        cache_read_input_tokens: cacheRead,
        cache_creation_input_tokens: 9000,
      },
      ...more,
    })
    const file = [
      line('user', 'u1', null, { role: 'user', content: 'Look.' }),
      line('assistant', 'a1', 'u1', answer('msg_1', 0)),
      line('user', 'u2', 'a1', { role: 'user', content: 'Again.' }),
      line('assistant', 'a2', 'u2', answer('msg_2', 0, { diagnostics: { cache_miss_reason: reason } })),
    ].join('\n')
    const read = readTranscript(file)
    if (isLeft(read)) throw new Error(read.left._tag)
    const store = memoryStore()
    await importTranscript(store, read.right)
    const { explained } = await explainUsage(store, 'claude')
    expect(explained[1]?.parts.find(({ tokens }) => tokens === 9000)).toMatchObject({ cause, known })
    expect(explained[1]?.change?.cause).toBe(known === 'reported' ? cause : undefined)
  })

  it('is empty for a session without calls, and keeps the counts when a message is erased', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', erasable: true, messages: [user('secret'), assistant('b')] })
    expect(await explainUsage(store, 's')).toMatchObject({ calls: 0, dollars: 0, explained: [], causes: [] })
    await session.note({ ...receipt, usage: usageOf(9000, 0) })
    await session.close()
    const before = await explainUsage(store, 's')
    expect(before).toMatchObject({
      calls: 1,
      causes: [
        { cause: 'first', tokens: 9000 },
        { cause: 'answer', tokens: 5 },
      ],
    })
    await eraseMessages(store, 's', [1])
    expect(await explainUsage(store, 's')).toEqual(before)
    expect(isLeft(await explainUsage(store, 'none')())).toBe(true)
  })

  it.each([
    [{ from: { calls: 'x' } }],
    [{ from: { calls: { calls: [[0, 1, 2]], models: null } } }],
    [{ from: { calls: { calls: { length: 3 }, models: [] } } }],
    [{ from: 7 }],
  ])('reads metadata that is something else as no calls: %j', async (metadata) => {
    const store = memoryStore()
    await createSession(store, { id: 's', metadata: metadata as never })
    expect(await explainUsage(store, 's')).toMatchObject({ calls: 0, explained: [] })
  })
})
