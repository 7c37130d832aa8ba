/** What a session store of the Claude Agent SDK must do, on any store. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { openSession, orThrow, textOf, user, type Store } from 'indelible'
import { claudeSessionStore, type ClaudeEntry } from '@indelible/claude-agent'
import { verified, type Place } from '../../../test/session/adapter-stores.ts'
import type { ClaudeKey, FoldSummary } from '../src/wire.ts'

export const key: ClaudeKey = { projectKey: '-home-ada', sessionId: 's' }
export const line = (uuid: string, parentUuid: string | null, text: string): ClaudeEntry => ({
  type: 'user',
  uuid,
  parentUuid,
  sessionId: 's',
  timestamp: '2026-01-01T00:00:00.000Z',
  message: { role: 'user', content: text },
})

/** Counts lines, as the SDK's own function counts whatever it does. */
export const fold: FoldSummary = (previous, { sessionId }, entries, options) => ({
  sessionId,
  mtime: options?.mtime ?? previous?.mtime ?? 0,
  data: { lines: Number(previous?.data['lines'] ?? 0) + entries.length, last: entries.at(-1)?.type },
})

const sorted = (values: readonly unknown[] | null): readonly unknown[] =>
  (values ?? []).map((value) => JSON.stringify(value)).toSorted()

export const claudeCases = ({ fresh }: Place, runs: number): void => {
  it('returns deeply equal lines, keys in order, each id once', async () => {
    const entry = fc
      .tuple(
        fc.constantFrom('user', 'assistant', 'mode', 'summary', 'to-come'),
        fc.option(fc.constantFrom('1', '2', '3', '4'), { nil: undefined }),
        fc.dictionary(fc.constantFrom('z', 'a', '10', '2', 'é', 'half'), fc.jsonValue({ maxDepth: 2 })),
        fc.constantFrom('', 'text', '\ud800 half a pair', '\u2028'),
      )
      .map(
        ([type, uuid, rest, text]) =>
          Object.assign({ type }, uuid !== undefined && { uuid }, rest, { text }) as ClaudeEntry,
      )
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.array(entry, { maxLength: 4 }), fc.boolean(), fc.constantFrom(undefined, 'subagents/a')), {
          maxLength: 8,
        }),
        async (batches) => {
          const store = await fresh()
          const handles = [claudeSessionStore(store), claudeSessionStore(store)] as const
          const model = new Map<string | undefined, ClaudeEntry[]>()
          for (const [entries, which, subpath] of batches) {
            const at = subpath === undefined ? key : { ...key, subpath }
            await handles[which ? 0 : 1].append(at, entries)
            const there = model.get(subpath) ?? []
            for (const added of entries)
              if (added.uuid === undefined || there.every(({ uuid }) => uuid !== added.uuid)) there.push(added)
            if (there.length > 0) model.set(subpath, there)
            const loaded = await handles[which ? 1 : 0].load(at)
            expect(JSON.stringify(loaded)).toBe(JSON.stringify(there.length > 0 ? there : null))
          }
          expect(await handles[0].listSubkeys(key)).toEqual(model.has('subagents/a') ? ['subagents/a'] : [])
          expect((await handles[0].listSessions(key.projectKey)).map(({ sessionId }) => sessionId)).toEqual(
            model.has(undefined) ? ['s'] : [],
          )
          if (model.has(undefined)) await verified(store, handles[0].idOf(key))
        },
      ),
      { numRuns: runs },
    )
  })

  it('keeps projects, sessions and sub-agents apart, also with long paths', async () => {
    const sessions = claudeSessionStore(await fresh())
    const keys: readonly ClaudeKey[] = [
      key,
      { ...key, subpath: 'subagents/agent-1' },
      { ...key, sessionId: 's/subagents' },
      { projectKey: '-home-ada/s', sessionId: 'x' },
      { projectKey: 'p'.repeat(240), sessionId: '1' },
      { projectKey: 'p'.repeat(240), sessionId: '2' },
      { projectKey: 'tenant\u0000\n', sessionId: 's' },
    ]
    for (const [index, at] of keys.entries()) await sessions.append(at, [{ type: `${index}` }])
    for (const [index, at] of keys.entries()) expect(await sessions.load(at)).toEqual([{ type: `${index}` }])
    expect(await sessions.load({ ...key, sessionId: 'never' })).toBeNull()
    expect((await sessions.listSessions('p'.repeat(240))).map(({ sessionId }) => sessionId).toSorted()).toEqual([
      '1',
      '2',
    ])
    const [{ mtime } = { mtime: 0 }] = await sessions.listSessions('-home-ada/s')
    expect(Number.isInteger(mtime) && mtime > 1e12).toBe(true)
  })

  it('deletes exactly what is requested', async () => {
    const store = await fresh()
    const sessions = claudeSessionStore(store)
    const sub = { ...key, subpath: 'subagents/a' }
    const other = { ...key, sessionId: 'other' }
    for (const at of [key, sub, { ...key, subpath: 'subagents/b' }, other]) await sessions.append(at, [{ type: 'a' }])
    await sessions.delete?.(sub)
    expect(await sessions.listSubkeys(key)).toEqual(['subagents/b'])
    await sessions.delete?.(key)
    await sessions.delete?.({ ...key, sessionId: 'never' })
    expect([await sessions.load(key), await sessions.listSubkeys(key), await sessions.load(other)]).toEqual([
      null,
      [],
      [{ type: 'a' }],
    ])
    await sessions.append(key, [{ type: 'again', uuid: '1' }])
    expect(await sessions.load(key)).toEqual([{ type: 'again', uuid: '1' }])
    expect('delete' in claudeSessionStore(store, { canDelete: false })).toBe(false)
  })

  it('stores each line of two concurrent writers once, in one order for all', async () => {
    const store = await fresh()
    const writers = [1, 2, 3].map(() => claudeSessionStore(store, { fold }))
    const batches = Array.from({ length: 9 }, (_, index) => [
      line(`${index}`, null, `${index}`),
      line(`shared ${index % 3}`, null, 'retried'),
      { type: 'mode', n: index },
    ])
    await Promise.all(batches.map((batch, index) => writers[index % 3]?.append(key, batch)))
    const loaded = await Promise.all(writers.map((writer) => writer.load(key)))
    expect(loaded[1]).toEqual(loaded[0])
    expect(loaded[2]).toEqual(loaded[0])
    const once = new Map(batches.flat().map((entry) => [entry.uuid ?? JSON.stringify(entry), entry]))
    expect(sorted(loaded[0] ?? null)).toEqual(sorted([...once.values()]))
    expect(await writers[0]?.listSessionSummaries?.(key.projectKey)).toMatchObject([
      { sessionId: 's', data: { lines: once.size } },
    ])
  })

  it('summarizes everything appended, also by a writer that keeps no summary', async () => {
    const store = await fresh()
    const [summing, other] = [claudeSessionStore(store, { fold }), claudeSessionStore(store)]
    expect(other.listSessionSummaries).toBeUndefined()
    await summing.append(key, [{ type: 'a' }])
    await other.append(key, [{ type: 'b' }, { type: 'c' }]) // as if this process died before its summary
    await summing.append({ ...key, subpath: 'subagents/x' }, [{ type: 'd' }])
    const [summary, ...more] = (await summing.listSessionSummaries?.(key.projectKey)) ?? []
    expect([summary?.data, more]).toEqual([{ lines: 3, last: 'c' }, []])
    expect(await summing.listSessions(key.projectKey)).toEqual([{ sessionId: 's', mtime: summary?.mtime }])
  })

  it.each<readonly [string, unknown]>([
    ['is text', 'none'],
    ['has data that is not an object', { data: 'none', folded: 2 }],
    ['does not say how many lines it has', { data: { lines: 2, last: 'b' } }],
  ])('rebuilds a summary that %s from all lines', async (_, wrong) => {
    const store = await fresh()
    const summing = claudeSessionStore(store, { fold })
    await summing.append(key, [{ type: 'a' }, { type: 'b' }])
    const session = await orThrow(openSession(store, summing.idOf(key)))
    await orThrow(session.update((metadata) => void (metadata['summary'] = wrong as never)))
    await session.close()
    const another = claudeSessionStore(store, { fold }) // the other one has its metadata
    expect((await another.listSessionSummaries?.(key.projectKey))?.map(({ data }) => data)).toEqual([
      { lines: 2, last: 'b' },
    ])
  })

  it('does not summarize an existing line again', async () => {
    const folded: number[] = []
    const counting: FoldSummary = (previous, given, entries, options) => {
      folded.push(entries.length)
      return fold(previous, given, entries, options)
    }
    const sessions = claudeSessionStore(await fresh(), { fold: counting })
    for (const id of ['1', '1', '2']) await sessions.append(key, [line(id, null, id)])
    expect(folded).toEqual([1, 1])
  })

  it('reads as a conversation and reports missing lines', async () => {
    const store = await fresh()
    const sessions = claudeSessionStore(store)
    await sessions.append(key, [line('1', null, 'hi'), { type: 'mode', mode: 'plan', sessionId: 's' }])
    await sessions.append(key, [line('3', '2', 'and then')])
    const read = await sessions.readSession(key)
    expect(read?.transcript.format).toBe('claude-code')
    expect(read?.missing).toEqual(['2'])
    expect(read?.transcript.messages.map(textOf)).toContain('and then')
    expect(await sessions.readSession({ ...key, sessionId: 'never' })).toBeUndefined()
    await annotated(store, sessions.idOf(key))
    expect((await sessions.load(key))?.length).toBe(3)
    const last = line('4', '3', 'in the end')
    await claudeSessionStore(store).append(key, [last])
    expect((await sessions.load(key))?.slice(3)).toEqual([last])
  })
}

/** A record of Claude's can be appended to like any other: its lines stay what they are. */
const annotated = async (store: Store, id: string): Promise<void> => {
  const session = await openSession(store, id)
  await session.append(user('beside the lines'))
  await session.note({ type: 'pin', position: 0 })
  for (const content of [null, { uuid: '4' }]) await session.note({ type: 'application', namespace: 'other', content })
  await verified(store, id)
}
