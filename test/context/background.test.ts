/** Summaries in the background: no call waits for one, and the next compaction takes those that are ready. */
import { placeNote } from '../../src/notes/internal.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, toolCall, toolResult, user, type Message } from 'indelible'
import type { Note } from '../../src/notes/internal.ts'
import {
  deriveContext,
  modelSummarizer,
  prepareSummaries,
  summariesInBackground,
  type DerivedContext,
  type SummaryFault,
} from 'indelible/context'

const step = (index: number): readonly Message[] => [
  assistant('Looking.', toolCall(`c${index}`, 'read', { path: `src/${index}.ts` })),
  toolResult(`c${index}`, `export const value${index} = ${index}\n`.repeat(30)),
]

describe('background summaries', () => {
  it('a summarizer does not change', () => {
    expect(Object.isFrozen(modelSummarizer('acme-1', () => ''))).toBe(true)
  })
  it('are made one batch at a time while the agent continues, and used at the next epoch', async () => {
    const history = createHistory<Message>({ from: [user('Fix the build.')] })
    const notes: Note[] = []
    let [running, most, calls] = [0, 0, 0]
    const complete = async (prompt: string): Promise<string> => {
      expect(prompt).toContain('tool: export const value')
      most = Math.max(most, (running += 1))
      calls += 1
      await wait(5)
      running -= 1
      return `Read some files (${calls}).`
    }
    const summaries = summariesInBackground({
      summarizer: modelSummarizer('acme-1', complete),
      append: (made) => {
        for (const note of made) placeNote(note, history.len)
        notes.push(...made)
      },
      chunkTokens: 1500,
      keepTokens: 1500,
    })
    let previous: DerivedContext | undefined
    const seen: number[] = []
    for (let index = 0; index < 60; index++) {
      for (const message of step(index)) history.append(message)
      const derived = deriveContext(history.view(), { budget: 6000, notes, previous })
      if (isLeft(derived)) throw new Error(derived.left._tag)
      // A summary that comes between epochs changes nothing that was sent.
      if (previous?.epoch === derived.right.epoch) expect(derived.right.stablePrefix).toBe(previous.messages.length)
      previous = derived.right
      seen.push([...previous.sources].filter(({ type }) => type === 'summary').length)
      summaries.offer(history.view(), notes)
      await wait(1)
    }
    await summaries.idle()
    expect(most).toBe(1)
    expect(calls).toBeGreaterThan(3)
    expect(seen[0]).toBe(0)
    expect(Math.max(...seen)).toBeGreaterThan(0)
    const ranges = notes.flatMap((note) => (note.type === 'summary' ? [[note.from, note.to] as const] : []))
    for (const [index, [from]] of ranges.entries()) expect(from).toBeGreaterThanOrEqual(ranges[index - 1]?.[1] ?? 0)
  })
  it('treat an append that resolves to a Left as failed, like one that throws', async () => {
    const history = createHistory<Message>({
      from: [user('Go.'), ...Array.from({ length: 60 }, (_, n) => step(n)).flat()],
    })
    const told: unknown[] = []
    for (const append of [() => left('full'), async () => left('full'), () => Promise.reject(new Error('full'))]) {
      const summaries = summariesInBackground({
        summarizer: { model: 'acme-1', summarize: () => 'short' },
        append,
        onFault: (fault) => told.push(fault._tag),
      })
      summaries.offer(history.view(), [])
      await summaries.idle()
    }
    expect(told).toEqual(['AppendFailed', 'AppendFailed', 'AppendFailed'])
  })
  it('append nothing where there is nothing to summarize, or no summary succeeds', async () => {
    const long = createHistory<Message>({
      from: [user('Go.'), ...Array.from({ length: 60 }, (_, n) => step(n)).flat()],
    })
    const short = createHistory<Message>({ from: [user('Go.')] })
    const appended: unknown[] = []
    const output: string[] = []
    const summaries = summariesInBackground({
      summarizer: { model: 'acme-1', summarize: () => Promise.reject(new Error('busy')) },
      append: (made) => appended.push(made),
      onFault: ({ _tag }) => output.push(_tag),
    })
    for (const history of [short, long]) {
      summaries.offer(history.view(), [])
      await summaries.idle()
    }
    expect([appended, output]).toEqual([[], ['SummarizerFailed']])
  })
  it('refuse an unusable text for its range only, and do not pay for it again', async () => {
    const history = createHistory<Message>({
      from: [user('Go.'), ...Array.from({ length: 60 }, (_, n) => step(n)).flat()],
    })
    for (const [text, why] of [
      ['word '.repeat(1000), /^the summarizer returned a text of 1,?\d+ tokens; expected at most 300$/],
      ['half \ud800', /half a surrogate pair/],
      ['', /an empty string/],
      [5, /found 5|returned 5/],
    ] as const) {
      const notes: Note[] = []
      const told: SummaryFault[] = []
      let calls = 0
      const summarizer = { model: 'acme-1', summarize: () => ((calls += 1) === 2 ? (text as string) : 'short') }
      const summaries = summariesInBackground({
        summarizer,
        append: (made) => notes.push(...made),
        onFault: (fault) => told.push(fault as SummaryFault),
        chunkTokens: 1000,
        keepTokens: 1000,
      })
      for (const _ of [1, 2]) {
        summaries.offer(history.view(), notes)
        await summaries.idle()
      }
      expect(calls).toBeGreaterThan(4)
      expect([notes.length, told.length]).toEqual([calls - 1, 1])
      expect((told[0] as SummaryFault & { readonly cause: Error }).cause.message).toMatch(why)
      calls = 0
      const prepared = await prepareSummaries(history.view(), [], summarizer, { chunkTokens: 1000, keepTokens: 1000 })()
      expect(isLeft(prepared) && prepared.left.done.length).toBe(calls - 1)
    }
  })
  it('report a failure, keep finished summaries, and are tried again', async () => {
    const history = createHistory<Message>({
      from: [user('Go.'), ...Array.from({ length: 60 }, (_, n) => step(n)).flat()],
    })
    const notes: Note[] = []
    const output: string[] = []
    let calls = 0
    const summaries = summariesInBackground({
      summarizer: {
        model: 'acme-1',
        summarize: () => ((calls += 1) === 2 ? Promise.reject(new Error('busy')) : 'short'),
      },
      append: (made) => notes.push(...made),
      onFault: (fault) => {
        output.push(fault._tag)
        throw new Error('nobody listens')
      },
      chunkTokens: 1000,
      keepTokens: 1000,
    })
    summaries.offer(history.view(), notes)
    expect(calls).toBe(0) // the caller goes on first
    await summaries.idle()
    expect([output, notes.length]).toEqual([['SummarizerFailed'], 1])
    summaries.offer(history.view(), notes)
    await summaries.idle()
    expect(notes.length).toBeGreaterThan(2)
  })
})
