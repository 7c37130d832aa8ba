/** The run loop: what a step and a streamed event cost beside the peers' loops, on models that answer at once. */
import { Agent, Runner, tool as agentTool, type Model as AgentModel, type StreamEvent } from '@openai/agents'
import { simulateReadableStream, stepCountIs, streamText, tool as aiTool, jsonSchema } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { assistant, createHistory, settle, toolCall, user, type Message } from 'indelible'
import { run, tool, type Model, type ModelEvent } from 'indelible/run'
import { machine, measure, report } from './measure.ts'

const steps = 20
const settled = settle(createHistory<Message>({ from: [user('go')] }).view())
if (settled._tag === 'Left') throw new Error('not settled')
const view = settled.right
const usage = { input: 1, output: 1 }

/** `steps` answers that call a tool after `pieces` pieces of text, then one that only says so. */
const ours = (pieces: number): Model => {
  let step = 0
  return {
    name: 'm',
    async *stream(): AsyncGenerator<ModelEvent> {
      const last = step++ === steps
      for (let piece = 0; piece < pieces; piece++) yield { type: 'text_delta', index: 0, block: 'text', text: 'word ' }
      const message = last
        ? assistant('word '.repeat(pieces))
        : assistant('word '.repeat(pieces), toolCall(`c${step}`, 'noop', '{}'))
      yield { type: 'finish', message, reason: last ? 'end_turn' : 'tool_calls', usage }
    },
  }
}

const aiUsage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
}
const ais = (pieces: number): MockLanguageModelV4 => {
  let step = 0
  return new MockLanguageModelV4({
    doStream: async () => {
      const last = step++ === steps
      return {
        stream: simulateReadableStream({
          initialDelayInMs: null,
          chunkDelayInMs: null,
          chunks: [
            { type: 'stream-start', warnings: [] },
            { type: 'text-start', id: 't' },
            ...Array.from({ length: pieces }, () => ({ type: 'text-delta' as const, id: 't', delta: 'word ' })),
            { type: 'text-end', id: 't' },
            ...(last ? [] : [{ type: 'tool-call' as const, toolCallId: `c${step}`, toolName: 'noop', input: '{}' }]),
            {
              type: 'finish',
              usage: aiUsage,
              finishReason: { unified: last ? ('stop' as const) : ('tool-calls' as const), raw: 'x' },
            },
          ],
        }),
      }
    },
  })
}

const agents = (pieces: number): AgentModel => {
  let step = 0
  return {
    getResponse: () => Promise.reject(new Error('only streams')),
    async *getStreamedResponse(): AsyncIterable<StreamEvent> {
      const last = step++ === steps
      yield { type: 'response_started' }
      for (let piece = 0; piece < pieces; piece++) yield { type: 'output_text_delta', delta: 'word ' }
      const said = {
        type: 'message' as const,
        id: `m${step}`,
        role: 'assistant' as const,
        status: 'completed' as const,
        content: [{ type: 'output_text' as const, text: 'word '.repeat(pieces) }],
      }
      const call = {
        type: 'function_call' as const,
        id: `f${step}`,
        callId: `c${step}`,
        name: 'noop',
        status: 'completed' as const,
        arguments: '{}',
      }
      yield {
        type: 'response_done',
        response: {
          id: `r${step}`,
          usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
          output: last ? [said] : [said, call],
        },
      }
    },
  }
}

const noop = tool({ name: 'noop', parameters: { type: 'object' }, run: () => 'ok' })
const aiNoop = aiTool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => 'ok' })
const agentNoop = agentTool({
  name: 'noop',
  description: 'does nothing',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
  strict: false,
  execute: () => 'ok',
})
const runner = new Runner({ tracingDisabled: true })

const contenders = (pieces: number, operations: number): Parameters<typeof measure>[0] => [
  {
    name: 'indelible',
    operations,
    prepare: () => async () => {
      const stream = run({ model: ours(pieces), view, tools: [noop] })
      for await (const _ of stream);
      const ended = await stream.result()()
      if (ended._tag === 'Left' || ended.right.counts.toolCalls !== steps) throw new Error('not run to its end')
    },
  },
  {
    name: 'ai, streamText',
    operations,
    prepare: () => async () => {
      const answered = streamText({
        model: ais(pieces),
        messages: [{ role: 'user', content: 'go' }],
        tools: { noop: aiNoop },
        stopWhen: stepCountIs(steps + 1),
      })
      for await (const _ of answered.stream);
      if ((await answered.steps).length !== steps + 1) throw new Error('not run to its end')
    },
  },
  {
    name: '@openai/agents',
    operations,
    prepare: () => async () => {
      const answered = await runner.run(
        new Agent({ name: 'a', instructions: 'i', model: agents(pieces), tools: [agentNoop] }),
        'go',
        { stream: true, maxTurns: steps + 2 },
      )
      for await (const _ of answered);
      await answered.completed
      if (answered.rawResponses.length !== steps + 1) throw new Error('not run to its end')
    },
  },
]

console.log(
  `${machine()}\nA run of ${steps} steps with one tool call each, and an answer. The models answer at once, the tools do nothing.`,
)
report('One step', [['1 piece of text a step', await measure(contenders(1, steps + 1), 9)]])
report('One streamed event', [['500 pieces a step', await measure(contenders(500, 500 * (steps + 1)), 5)]])
