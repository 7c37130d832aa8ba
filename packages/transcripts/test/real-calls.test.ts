/** The account of every call of the real files, compared with counts that are read from the files in another way. */
import { readdirSync } from 'node:fs'
import { memoryStore } from 'indelible'
import { usageDollars } from 'indelible/internal/prices'
import { explainCalls, sumCalls } from 'indelible/internal/usage'
import { explainUsage, type ExplainedCall } from 'indelible/usage'
import { describe, expect } from 'vitest'
import { importTranscript } from '@indelible/transcripts'
import { spentIn } from '@indelible/transcripts/internal'
import { itShared, readShared, shared } from '../../../test/real-transcripts.ts'
import { read } from './reading.ts'

/** What a file counts of a call; `cost` where the program computed one. */
interface RawCall {
  readonly model: string
  /** Input that was not read from the cache, read, written, and the output. */
  readonly tokens: readonly [fresh: number, read: number, written: number, output: number]
  readonly cost?: number
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

/** JSON values that follow each other, each ending with a bracket at the start of a line. */
const valuesOf = (text: string) =>
  text.split(/(?<=^[}\]])\n/m).flatMap((part) => (part.trim() === '' ? [] : [JSON.parse(part)].flat()))

/** Counts all calls of a file, by its name. */
const counters: { readonly [name: string]: (text: string) => readonly RawCall[] } = {
  'claude-code-opus-4-5.jsonl': (text) => {
    const answers = new Map(
      linesOf(text).flatMap(({ type, message }) => (type === 'assistant' ? [[message.id, message] as const] : [])),
    )
    return Array.from(answers.values(), ({ model, usage }) => ({
      model,
      tokens: [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens],
    })) // oxfmt-ignore
  },
  'codex-gpt-5-2.jsonl': (text) => {
    let model = ''
    let total = 0
    return linesOf(text).flatMap(({ type, payload }): readonly RawCall[] => {
      if (type === 'turn_context') ({ model } = payload)
      const info = type === 'event_msg' && payload.type === 'token_count' ? payload.info : null
      if (info === null || info.total_token_usage.total_tokens === total) return []
      total = info.total_token_usage.total_tokens
      const { input_tokens: input, cached_input_tokens: cached, output_tokens: output } = info.last_token_usage
      return [{ model, tokens: [input - cached, cached, 0, output] }]
    })
  },
  'coding-agent.pi-session.jsonl': (text) =>
    linesOf(text)
      .flatMap(({ message }) => (message?.usage === undefined ? [] : [message]))
      .filter(({ usage }) => usage.input + usage.cacheRead + usage.cacheWrite + usage.output > 0)
      .map(({ model, usage }) => ({
        model,
        tokens: [usage.input, usage.cacheRead, usage.cacheWrite, usage.output],
        cost: usage.cost.total,
      })),
  'gemini-cli-3-pro-preview.json': (text) =>
    valuesOf(JSON.stringify(JSON.parse(text).messages))
      .filter(({ tokens }) => tokens !== undefined && tokens !== null)
      .map(({ model, tokens }) => ({
        model,
        tokens: [tokens.input - tokens.cached, tokens.cached, 0, tokens.output + tokens.thoughts],
      })),
  'opencode-claude-opus-4-6.jsonl': opencode,
  'opencode-gpt-5-2-codex.jsonl': opencode,
}

function opencode(text: string): readonly RawCall[] {
  return valuesOf(text)
    .filter(({ role, tokens }) => role === 'assistant' && tokens !== undefined)
    .map(({ modelID, tokens, cost }) => ({
      model: modelID,
      tokens: [tokens.input, tokens.cache.read, tokens.cache.write, tokens.output + tokens.reasoning] as const,
      cost,
    }))
    .filter(({ tokens }) => tokens.some((count) => count > 0))
}

/** The tokens of a call by its parts' causes alone. */
const countsOf = ({ model, usage, parts }: ExplainedCall) => {
  const sum = (isOf: (cause: string) => boolean): number =>
    parts.reduce((all, { cause, tokens }) => (isOf(cause) ? all + tokens : all), 0)
  const [read, output] = [sum((cause) => cause === 'read'), sum((cause) => cause === 'answer')]
  const written = usage?.cacheWrite ?? 0
  const input = sum((cause) => cause !== 'answer')
  return [model.replace(/ \(\w+\)$/, ''), input - read - written, read, written, output].join(' ')
}

const names = (): readonly string[] => readdirSync(shared('transcripts')).filter((name) => !name.startsWith('README'))

describe('the account of real files', () => {
  itShared.each(Object.keys(counters))('%s: each call has the counts of the file, and its cost', async (name) => {
    const text = readShared(`transcripts/${name}`)
    const raw = counters[name]?.(text) ?? []
    expect(raw.length).toBeGreaterThan(20)
    const found: ExplainedCall[] = []
    for (let pick = 0, count = 1; pick < count; pick++) {
      const transcript = read(text, { pick })
      ;({ count } = transcript)
      const explained = explainCalls(spentIn(transcript))
      found.push(...explained)
      const store = memoryStore()
      const { id } = await importTranscript(store, transcript, { id: 'imported' })
      expect((await explainUsage(store, id)).explained).toEqual(explained)
    }
    const expected = raw.map(({ model, tokens }) => [model, ...tokens].join(' '))
    expect(found.map(countsOf).toSorted()).toEqual(expected.toSorted())
    for (const { model, usage, parts, dollars } of found) {
      const cost = usageDollars(model, usage ?? { input: 0, output: 0 })
      expect(parts.reduce((sum, part) => sum + (part.dollars ?? 0), 0)).toBeCloseTo(cost ?? 0, 9)
      expect(dollars ?? 0).toBeCloseTo(cost ?? 0, 9)
    }
    const known = raw.map(({ model, tokens: [fresh, cacheRead, cacheWrite, output], cost }) => ({
      dollars: usageDollars(model, { input: fresh + cacheRead + cacheWrite, cacheRead, cacheWrite, output }),
      cost,
    }))
    const sum = known.reduce((all, { dollars = 0 }) => all + dollars, 0)
    expect(sumCalls(found).dollars).toBeCloseTo(sum, 9)
    // The program's own price of each call that has one here.
    for (const { dollars, cost } of known)
      if (dollars !== undefined && cost !== undefined) expect(dollars).toBeCloseTo(cost, 9)
  })

  itShared('no other file has counts, and of Claude Code nothing that was sent again is unknown', () => {
    for (const name of names()) {
      if (name in counters) continue
      expect([name, spentIn(read(readShared(`transcripts/${name}`)))]).toEqual([name, []])
    }
    const { dollars, causes } = sumCalls(explainCalls(spentIn(read(readShared('transcripts/claude-code-opus-4-5.jsonl')))))
    expect((causes.find(({ cause }) => cause === 'unknown')?.dollars ?? 0) / dollars).toBeLessThan(0.01)
  }) // oxfmt-ignore
})
