/** `show --calls` and `stats` count the same calls of an imported session: what one lists and what is beside it are the sums of the other. */
import { expect, it } from 'vitest'
import { orThrow } from 'indelible'
import { summedCalls } from 'indelible/internal/usage'
import { exportOf, readTranscript } from '@indelible/transcripts'
import { figuresOf, otherCallsOf } from '../src/calls/call-figures.ts'
import { callsOf, type CallRecord } from '../src/calls/model-calls.ts'
import { agentFiles } from '../../transcripts/test/agent-files.ts'
import { samples } from '../../transcripts/test/samples.ts'
import { fileOf } from '../../transcripts/test/leaves.ts'

const files = {
  ...Object.fromEntries(Object.entries(agentFiles).map(([name, { file }]) => [name, file])),
  ...Object.fromEntries(Object.entries(samples).map(([name, sample]) => [name, fileOf(sample.input, sample.layout)])),
}

it.each(Object.entries(files))('%s', (_, file) => {
  const transcript = orThrow(readTranscript(file))
  const { metadata } = exportOf(transcript)
  const record: CallRecord = {
    info: { value: { created: 0, metadata: metadata as never } },
    entries: transcript.messages.map((message, position) => ({
      ...{ position, row: position, at: undefined, message },
      state: undefined,
    })) as CallRecord['entries'],
    notes: [],
  }
  const figures = figuresOf(record, callsOf(record))
  const listed = figures.filter(({ isShared, isCounted }) => isCounted && !isShared)
  const others = otherCallsOf(record, figures)
  const uses = transcript.format === 'indelible' ? [] : summedCalls(metadata['from'])
  const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0)
  expect([
    listed.length + others.calls,
    sum(listed, ({ input }) => input) + others.usage.input,
    sum(listed, ({ output }) => output) + others.usage.output,
  ]).toEqual([
    sum(uses, ({ calls = 0 }) => calls),
    sum(uses, ({ usage }) => usage?.input ?? 0),
    sum(uses, ({ usage }) => usage?.output ?? 0),
  ])
  expect(Math.min(others.calls, others.usage.input, others.usage.output)).toBeGreaterThanOrEqual(0)
})
